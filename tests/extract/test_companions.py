"""Names within names, and whom short names stand for."""

from __future__ import annotations

import pytest

from graphrag_rdf.extract.model import Mention
from graphrag_rdf.extract.name_details import with_derived_names


def named(*names: str, topic: str | None = None) -> list[tuple[int, str]]:
    """(place, name) of all that mentions one after another stand for."""
    mentions = [Mention(number * 100, len(name), name) for number, name in enumerate(names)]
    return [(m.offset // 100, m.name) for m in with_derived_names(mentions, topic, "en")]


@pytest.mark.parametrize(
    ("name", "within"),
    [
        ("Ada Moor of Blue Harbour", ["Ada Moor", "Blue Harbour"]),
        ("University of Tarnay", ["Tarnay"]),
        ("Museum of the Sound", []),
        ("Terms of Use", []),
        ("Isle of dreams", []),
        ("Bank of the Isle of Skell", []),
    ],
)
def test_both_sides_of_an_of_are_named_too(name: str, within: list[str]) -> None:
    assert named(name) == [(0, name), *((0, part) for part in within)]


def test_a_short_name_stands_for_the_only_long_one() -> None:
    assert named("Ada Moor", "Moor", "Ada") == [
        (0, "Ada Moor"),
        (1, "Moor"),
        (1, "Ada Moor"),
        (2, "Ada"),
        (2, "Ada Moor"),
    ]


def test_of_two_it_stands_for_the_topic_or_for_none() -> None:
    assert (2, "Ada Moor") not in named("Ada Moor", "Jan Moor", "Moor")
    assert (2, "Jan Moor") in named("Ada Moor", "Jan Moor", "Moor", topic="Jan Moor")


def test_places_stay() -> None:
    (first, second, third) = with_derived_names([Mention(7, 24, "Ada Moor of Blue Harbour")], None, None)
    assert {(m.offset, m.length) for m in (first, second, third)} == {(7, 24)}
