"""What may not become an entity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.extract.names import reject_reason


@pytest.mark.parametrize(
    "name",
    [
        "Ada Venn",
        "C",
        "R",
        "水",
        "IT",
        "US",
        "WHO",
        "B83",
        "3M",
        "AT&T",
        "Å s",
        "東京",
        "O'Brien",
        "1984 film",
        "My Fair Lady",
        "Seine Valley",
    ],
)
def test_names_pass(name: str) -> None:
    assert reject_reason(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        ("her brother", "possessive"),
        ("Their father", "possessive"),
        ("seine Tochter", "possessive"),
        (" \u200b", "empty"),
        ("x", "too_short"),
        ("N" * 121, "too_long"),
        ("1871", "only_digits"),
        ("12.5 %", "only_digits"),
        ("--", "mostly_symbols"),
        ("a --- * / +", "mostly_symbols"),
        ("he", "stop_word"),
        ("It", "stop_word"),
        ("der", "stop_word"),
        ("NONE", "placeholder"),
        ("n/a", "placeholder"),
    ],
)
def test_noise_is_named(name: str, reason: str) -> None:
    assert reject_reason(name) == reason


def test_limits_are_the_callers() -> None:
    assert reject_reason("D", min_length=1) is None
    assert reject_reason("D", allowed={"D"}) is None
    assert reject_reason("C", allowed=()) == "too_short"
    assert reject_reason("Ada Venn", max_length=5) == "too_long"


@given(st.text())
def test_never_fails(name: str) -> None:
    reject_reason(name)
