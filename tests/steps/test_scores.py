"""Order, cut and scale by scores alone."""

from __future__ import annotations

from graphrag_rdf.steps.scores import best, fitting, scaled


def test_the_best_come_first_and_equal_ones_stay_in_their_order() -> None:
    scores = {"a": 0.5, "b": 0.1 + 0.2, "c": 0.9, "d": 0.3}
    assert best(scores, scores.__getitem__) == ["c", "a", "b", "d"], "0.1 + 0.2 is 0.3 but for rounding"
    assert best(reversed(scores), scores.__getitem__, 3) == ["c", "a", "d"]
    assert best(scores, scores.__getitem__, 0) == []


def test_what_fits_ends_at_the_first_that_does_not() -> None:
    assert fitting([5, 4, 3, 1], int, 9) == [5, 4]
    assert fitting([10, 1], int, 9) == []
    assert fitting([10, 1], int, 9, least=1) == [10]


def test_scores_between_the_least_and_the_most() -> None:
    assert scaled([2.0, 6.0, 3.0]) == [0.0, 1.0, 0.25]
    assert scaled([4.0, 4.0]) == [1.0, 1.0]
    assert scaled([4.0], equal=0.0) == [0.0]
    assert scaled([]) == []
