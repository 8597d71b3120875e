"""Which names are alike: by keys, by initials, by 3-grams."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.wings.merging.likeness import Pair, also_called, grams, initials, same_key, similar


def rule_of(one: str, other: str) -> str | None:
    found = [*same_key([(0, one), (1, other)])]
    return found[0].rule if found else None


@pytest.mark.parametrize(
    ("one", "other", "rule"),
    [
        ("U.S.A.", "USA", "punctuation"),
        ("E.M. Halden", "E. M. Halden", "punctuation"),
        ("Smith-Jones", "Smith Jones", "punctuation"),
        ("O'Brien", "O’Brien", "punctuation"),
        ("Trade & Industry", "Trade and Industry", "punctuation"),
        ("Café Tarnay", "Cafe Tarnay", "accents"),
        ("The Hague", "Hague", "article"),
        ("Skell Tidal Power Company Ltd.", "Skell Tidal Power Co.", "legal_form"),
        ("Skell Tidal Power Company Ltd.", "Skell Tidal Power", "firm_name"),
        ("Lintie Company", "Lintie", "firm_name"),
        ("Lintie Co.", "Lintie Company", "legal_form"),
        ("Lintie Station", "Lintie", None),
        ("Krupp GmbH & Co. KG", "Krupp", None),
        ("Captain Alder Finch", "Alder Finch", "title"),
        ("Prof. Dr. Yusuf Demir", "Dr Yusuf Demir", "title"),
        ("Captain Finch", "Finch", None),
        ("Major James Park", "James Park", None),
        ("Mrs John Smith", "John Smith", None),
        ("Siemens A.G.", "Siemens", "firm_name"),
        ("tidal turbines", "tidal turbine", "plural"),
        ("ferries", "ferry", "plural"),
        ("John Adams", "John Adam", None),
        ("the glasses", "glass", "plural"),
        ("Gate 4", "Gate 5", None),
        ("Anna", "Hanna", None),
    ],
)
def test_same_key(one: str, other: str, rule: str | None) -> None:
    assert rule_of(one, other) == rule
    assert rule_of(other, one) == rule


def test_a_group_has_one_pair_less_than_members() -> None:
    names = list(enumerate(["A. Orr", "A Orr", "a orr", "Á. Orr"]))
    assert [(p.one, p.other) for p in same_key(names)] == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (["J. R. Smith", "John R. Smith"], [(0, 1)]),
        (["J.R. Smith", "John Richard Smith"], [(0, 1)]),
        (["J. Smith", "John Smith"], [(0, 1)]),
        (["J. Smith", "John Smith", "James Smith"], []),
        (["J. Smith", "John Smith", "John Richard Smith"], [(0, 1), (0, 2)]),
        (["J. Smith", "Mary Smith"], []),
        (["J. Smith", "John Smythe"], []),
        (["gate a", "gate area"], []),
    ],
)
def test_initials(names: list[str], pairs: list[tuple[int, int]]) -> None:
    assert sorted((p.one, p.other) for p in initials(list(enumerate(names)))) == pairs


@pytest.mark.parametrize(
    ("names", "aliases", "pairs"),
    [
        (["Elspeth Marwick", "E. M. Halden"], [(0, "E.M. Halden")], [("alias", 0, 1)]),
        (["Andrew Orr", "Orr"], [(0, "Orr")], [("short_name", 0, 1)]),
        (["Andrew Orr", "Orr", "Bess Orr"], [(0, "Orr")], []),
        (["Andrew Orr", "Orr", "Bess Marr"], [(0, "Orr"), (2, "Orr")], []),
        (["Andrew Orr"], [(0, "Andrew Orr")], []),
        (["Andrew Orr", "Bess Orr"], [(0, "Uncle"), (1, "Uncle")], []),
    ],
)
def test_also_called(
    names: list[str], aliases: list[tuple[int, str]], pairs: list[tuple[str, int, int]]
) -> None:
    found = also_called(list(enumerate(names)), aliases)
    assert [(p.rule, p.one, p.other) for p in found] == pairs


@pytest.mark.parametrize("head", ["Station", "Club", "County", "Company", "Straße", "Brücke"])
def test_a_head_noun_makes_another_thing(head: str) -> None:
    """A place and what is named after it: neither by a short name nor by spelling."""
    names = [(0, f"Great Lintiemouth {head}"), (1, "Great Lintiemouth")]
    assert [*also_called(names, [(0, "Great Lintiemouth")])] == []
    assert [*similar(names, 0.5)] == []


def test_firms_are_joined_to_firms_before_they_are_to_bare_names() -> None:
    found = [*same_key(list(enumerate(["Lintie", "Lintie Company", "Lintie Co."])))]
    assert [(p.one, p.other, p.rule) for p in found] == [(1, 2, "legal_form"), (0, 1, "firm_name")]


def test_similar_needs_the_same_numbers() -> None:
    names = ["Charles Babbage", "Charles Babage", "Turbine hall 4", "Turbine hall 5", "Louis XIV of France"]
    names.append("Louis XV of France")
    found = [*similar(list(enumerate(names)), 0.7)]
    assert [(p.one, p.other) for p in found] == [(0, 1)]
    assert 0.7 < found[0].score < 1


_NAMES = st.lists(st.text("abcde ", min_size=1, max_size=8), min_size=2, max_size=12)


@given(_NAMES, st.sampled_from([0.5, 0.7, 0.9]))
def test_filtering_by_prefix_loses_no_pair(names: list[str], least: float) -> None:
    """Every pair that all pairs compared would give is found, with the same score, in any order."""
    called = list(enumerate(names))
    found = {(p.one, p.other): p.score for p in similar(called, least)}
    everything = {(p.one, p.other): p.score for p in similar(called, 1e-9)}
    wanted = {pair: score for pair, score in everything.items() if score >= least}
    assert found.keys() == wanted.keys()
    assert all(abs(found[pair] - wanted[pair]) < 1e-12 for pair in found)


@given(st.text(max_size=40))
def test_any_text_has_grams_and_keys(text: str) -> None:
    assert all(len(gram) <= 3 for gram in grams(text))
    assert all(isinstance(pair, Pair) for pair in same_key([(0, text), (1, text)]))


def test_grows_with_the_names_not_with_their_pairs() -> None:
    """20,000 names in seconds, of which a comparison of all pairs would take minutes."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [
        (n, f"Station {n * 7919 % 20011:05d} {letters[n % 26]}{letters[n // 26 % 26]}rn")
        for n in range(20_000)
    ]
    start = time.process_time()
    assert [*similar(names, 0.8)] == []
    assert time.process_time() - start < 30
