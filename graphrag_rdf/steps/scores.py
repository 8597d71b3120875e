"""What follows from scores alone: an order, a cut, a scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

_Found = TypeVar("_Found")


def best(items: Iterable[_Found], score: Callable[[_Found], float], limit: int | None = None) -> list[_Found]:
    """What has the highest scores, best first; equal ones stay in their order.

    Args:
        score: scores that differ by rounding only are equal.
        limit: how many at most.
    """
    return sorted(items, key=lambda item: -round(score(item), 12))[:limit]


def fitting(
    ranked: Sequence[_Found], tokens: Callable[[_Found], int], room: int, least: int = 0
) -> list[_Found]:
    """The first of ranked things, as many as fit together.

    Args:
        tokens: of one.
        room: tokens of all.
        least: so many are taken even if they do not fit.
    """
    totals = accumulate(map(tokens, ranked))
    return [
        item
        for place, (item, total) in enumerate(zip(ranked, totals, strict=True))
        if total <= room or place < least
    ]


def scaled(scores: Sequence[float], equal: float = 1.0) -> list[float]:
    """Scores between the least, which becomes 0, and the most, which becomes 1.

    Args:
        equal: what each becomes if all are the same.
    """
    least, most = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - least) / (most - least) if most > least else equal for score in scores]
