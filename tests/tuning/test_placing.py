"""How well passages are placed, and the search for weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.tuning.weights import Example, mean_placing, placing, rank, search

PASSAGES = tuple("abcdef")


@pytest.mark.parametrize(
    ("ranked", "grades", "value"),
    [
        ("abc", {"a": 1}, 1.0),
        ("bac", {"a": 1}, 1 / 2),
        ("bca", {"a": 1}, 1 / 3),
        ("bc", {"a": 1}, 0.0),
        ("abc", {"a": 1, "b": 1}, 1.0),
        ("acb", {"a": 1, "b": 1}, (1 + 1 / 2) / 2),
        ("abc", {"a": -1}, 0.0),
        ("bac", {"a": -1}, 1 / 2),
        ("bc", {"a": -1}, 1.0),
        ("abc", {"a": 1, "b": -1}, (1 + 1 / 2) / 2),
        ("bac", {"a": 1, "b": -1}, (1 / 2 + 0) / 2),
    ],
)
def test_what_a_ranking_is_worth(ranked: str, grades: dict[str, int], value: float) -> None:
    assert placing(list(ranked), grades) == pytest.approx(value)


_GRADES = st.dictionaries(st.sampled_from(PASSAGES), st.sampled_from([1, -1]), min_size=1)


@given(st.permutations(PASSAGES), _GRADES)
def test_it_is_between_nothing_and_all_and_best_when_sorted(
    ranked: list[str], grades: dict[str, int]
) -> None:
    best = sorted(ranked, key=lambda passage: -grades.get(passage, 0))
    assert 0 <= placing(ranked, grades) <= placing(best, grades) + 1e-9 <= 1 + 1e-9


def examples(seed: int, useful: int, number: int = 20) -> list[Example]:
    """Questions whose one good passage is the first by one of three signals; the others say nothing."""
    random = np.random.default_rng(seed)
    out = []
    for index in range(number):
        signals = random.random((len(PASSAGES), 3))
        good = int(random.integers(len(PASSAGES)))
        signals[good, useful] = 1.0
        out.append(Example(f"q{index}", {PASSAGES[good]: 1}, PASSAGES, signals))
    return out


@pytest.mark.parametrize("useful", [0, 1, 2])
@pytest.mark.parametrize("start", [(1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.1, 2.0, 0.5)])
def test_the_search_finds_the_signal_that_tells(useful: int, start: tuple[float, ...]) -> None:
    found = search(examples(1, useful), start)
    assert max(range(3), key=found.__getitem__) == useful
    assert sum(found) == pytest.approx(sum(start), abs=1e-3)
    assert mean_placing(examples(1, useful), found) > 0.95


@settings(max_examples=20)
@given(st.integers(0, 1000), st.tuples(*[st.floats(0.1, 5)] * 3))
def test_it_is_never_worse_on_what_it_learned_from(seed: int, start: tuple[float, ...]) -> None:
    learned_from = examples(seed, seed % 3, number=5)
    found = search(learned_from, start)
    assert mean_placing(learned_from, found) >= mean_placing(learned_from, start) - 1e-3
    assert search(learned_from, start) == found


def test_ties_are_broken_as_retrieval_does() -> None:
    tied = Example("q", {"a": 1}, PASSAGES, np.ones((len(PASSAGES), 3)))
    assert rank(tied, (1.0, 1.0, 1.0)) == list(PASSAGES)
    nothing = Example("q", {"a": 1}, (), np.zeros((0, 3)))
    assert rank(nothing, (1.0, 1.0, 1.0)) == []
