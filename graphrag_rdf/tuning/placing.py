"""How well graded passages are placed, and the search for weights that place them better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Grades: TypeAlias = Mapping[str, int]
"""Passage → 1 for one that should be at the top, -1 for one that should not be there."""

_FACTORS = (4.0, 2.0, 1.4, 1.15)
_LEAST_GAIN = 1e-3
"""A smaller gain is no reason to move a weight."""
_MOST_PASSES = 20


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the passages that were ranked for it.

    Attributes:
        passages: in the order of their IRIs.
        signals: passages × signals, each 0 to 1.
    """

    question: str
    grades: Grades
    passages: tuple[str, ...]
    signals: NDArray[np.float64]


def placing(ranked: Sequence[str], grades: Grades) -> float:
    """How well graded passages are placed in a ranking, 0 to 1: the mean over them.

    One that should be at the top counts 1/(1 + n), where n others stand before it that should not; 0 when it
    is not ranked. With a single such passage that is its reciprocal rank (Voorhees, TREC-8). One that should
    not be there counts 1 less that, where n others stand before it.
    """
    placed = [1.0 - (grade > 0) for grade in grades.values()]
    order = list(grades)
    for sign in (1, -1):
        others = 0
        for passage in ranked:
            if grades.get(passage) == sign:
                gain = 1 / (1 + others)
                placed[order.index(passage)] = gain if sign > 0 else 1 - gain
            else:
                others += 1
    return sum(placed) / len(placed) if placed else 0.0


def rank(example: Example, weights: Sequence[float]) -> list[str]:
    """The passages of an example by the sum of their weighted signals, ties by IRI."""
    import numpy as np

    order = np.argsort(-(example.signals @ np.asarray(weights)), kind="stable")
    return [example.passages[place] for place in order]


def mean_placing(examples: Sequence[Example], weights: Sequence[float]) -> float:
    """The mean over examples."""
    return sum(placing(rank(e, weights), e.grades) for e in examples) / max(1, len(examples))


def search(examples: Sequence[Example], start: Sequence[float]) -> tuple[float, ...]:
    """Weights that place the graded passages of examples best, by coordinate search from `start`.

    One weight at a time is made larger, smaller, a multiple of the others together, or nothing, in steps that
    become finer; what places passages better is kept. Only the ratio of weights matters, so their sum stays
    that of `start`.
    """
    best, value = tuple(start), mean_placing(examples, start)
    for factor in _FACTORS:
        for _ in range(_MOST_PASSES):
            before = value
            for place in range(len(best)):
                best, value = _better(examples, best, value, place, factor)
            if value - before < _LEAST_GAIN:
                break
    total = sum(best)
    return tuple(round(weight * sum(start) / total, 4) for weight in best)


def _better(
    examples: Sequence[Example], best: tuple[float, ...], value: float, place: int, factor: float
) -> tuple[tuple[float, ...], float]:
    others = sum(best) - best[place]
    tried = {weight * step for weight in (best[place], others) for step in (factor, 1 / factor)}
    for weight in sorted((tried | {0.0}) - {best[place]}):
        candidate = (*best[:place], weight, *best[place + 1 :])
        if sum(candidate) > 0:
            found = mean_placing(examples, candidate)
            if found > value + _LEAST_GAIN:
                best, value = candidate, found
    return best, value


Progress: TypeAlias = Callable[[int, int], None]
"""Hears of (questions done, all)."""
