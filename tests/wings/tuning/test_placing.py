"""How well passages are placed, and the search for weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.wings.tuning.weights import Example, mean_placing, placing, rank, search

PASSAGES = tuple("abcdef")


@pytest.mark.parametrize(
    ("ranked", "gold", "value"),
    [
        ("abc", "a", 1.0),
        ("bac", "a", 1 / 2),
        ("bca", "a", 1 / 3),
        ("bc", "a", 0.0),
        ("abc", "ab", 1.0),
        ("acb", "ab", (1 + 1 / 2) / 2),
    ],
)
def test_what_a_ranking_is_worth(ranked: str, gold: str, value: float) -> None:
    assert placing(list(ranked), set(gold)) == pytest.approx(value)


@given(st.permutations(PASSAGES), st.sets(st.sampled_from(PASSAGES), min_size=1))
def test_it_is_between_nothing_and_all_and_best_when_sorted(ranked: list[str], gold: set[str]) -> None:
    best = sorted(ranked, key=lambda passage: passage not in gold)
    assert 0 <= placing(ranked, gold) <= placing(best, gold) + 1e-9
    assert placing(best, gold) == pytest.approx(1)


def examples(seed: int, useful: int, number: int = 20) -> list[Example]:
    """Questions whose one good passage is the first by one of three signals; the others say nothing."""
    random = np.random.default_rng(seed)
    out = []
    for index in range(number):
        signals = random.random((len(PASSAGES), 3))
        good = int(random.integers(len(PASSAGES)))
        signals[good, useful] = 1.0
        out.append(Example(f"q{index}", {PASSAGES[good]}, PASSAGES, signals))
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
    tied = Example("q", {"a"}, PASSAGES, np.ones((len(PASSAGES), 3)))
    assert rank(tied, (1.0, 1.0, 1.0)) == list(PASSAGES)
    nothing = Example("q", {"a"}, (), np.zeros((0, 3)))
    assert rank(nothing, (1.0, 1.0, 1.0)) == []
