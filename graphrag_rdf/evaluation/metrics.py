"""Retrieval metrics as HippoRAG defines them, with bootstrap confidence intervals."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Any

_RESAMPLES = 1000
_SEED = 20240607


def recall(ranked: Sequence[Hashable], gold: Sequence[Hashable], k: int) -> float:
    """The share of gold passages among the first k."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold)) if gold else 0.0


def perfect(ranked: Sequence[int], gold: Sequence[int], k: int) -> float:
    """1.0 if all gold passages are among the first k."""
    return float(set(gold) <= set(ranked[:k])) if gold else 0.0


def reciprocal_rank(ranked: Sequence[int], gold: Sequence[int]) -> float:
    """1 / rank of the first gold passage."""
    wanted = set(gold)
    return next((1 / rank for rank, index in enumerate(ranked, start=1) if index in wanted), 0.0)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; 0.0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def confidence95(values: Sequence[float]) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean (Efron 1979), 1,000 resamples, a fixed seed."""
    if not values:
        return 0.0, 0.0
    generator = random.Random(_SEED)  # noqa: S311 - resampling, not secrecy
    means = sorted(mean(generator.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES) - 1]


def compared(before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
    """Means of paired values `before` and `after`, and of their `gain`, each with its interval (`…_ci95`)."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    out: dict[str, Any] = {}
    for name, values in (("before", before), ("after", after), ("gain", gains)):
        out[name] = round(mean(values), 4)
        out[f"{name}_ci95"] = [round(end, 4) for end in confidence95(values)]
    return out
