"""Names derived from other names, and the name that a chunk is about."""

from __future__ import annotations

import pytest

from graphrag_rdf.extract.model import Mention
from graphrag_rdf.extract.name_filter import topic_of, topics_of, with_derived_names


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


NAMES = (Mention(0, 6, "Lilith"), Mention(10, 5, "Gallu"))
LONG = "An inquiry into the many causes of the failure of Gallu and other demons of the plain"


@pytest.mark.parametrize(
    ("title", "given", "topic"),
    [
        ("Lilu (mythology)", True, "Lilu"),
        ("The Heron", True, "The Heron"),
        (LONG, True, "Gallu"),
        (LONG.replace("Gallu", "two"), True, None),
        ("Passage 17", False, "Lilith"),
        ("Gallu", False, "Gallu"),
    ],
)
def test_a_title_names_the_topic_unless_it_is_only_the_files_name(
    title: str, given: bool, topic: str | None
) -> None:
    assert topic_of(title, NAMES, given=given) == topic


def test_without_names_a_files_name_is_no_topic() -> None:
    assert topic_of("Passage 17", (), given=False) is None


@pytest.mark.parametrize(
    ("title", "given", "topics"),
    [
        ("The Heron", True, ("The Heron", "Heron")),
        ("Gallu, Ohio", True, ("Gallu, Ohio", "Gallu")),
        ("Come, Gallu", True, ("Come, Gallu",)),
        ("The", True, ("The",)),
        ("Gallu Inc. — Form 10-Q — quarterly period ended July 2, 2023", True, ("Gallu Inc.",)),
        ("Passage 17", False, ("Lilith",)),
        (LONG.replace("Gallu", "two"), True, ()),
    ],
)
def test_a_title_is_also_written_without_its_article_and_its_place(
    title: str, given: bool, topics: tuple[str, ...]
) -> None:
    assert topics_of(title, NAMES, given=given) == topics
