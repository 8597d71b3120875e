"""Retrieval metrics as defined by HippoRAG, bootstrap confidence intervals, and scores of answers."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from graphrag_rdf.extract.names import CJK

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
    """The arithmetic mean; 0.0 without values."""
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


# --- scores of answers -----------------------------------------------------------------------------


_ARTICLES = {
    "en": {"a", "an", "the"},
    "de": {*("ein", "eine", "einen", "einem", "eines", "einer"), *("der", "die", "das", "den", "dem", "des")},
}
_YES_NO = frozenset({"yes", "no", "noanswer"})


def tokens_of(text: str, language: str | None = None) -> list[str]:
    """The tokens for comparing answers.

    Args:
        language: BCP 47 tag, whose articles are left out; None: those of English.
    """
    lower = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(c for c in lower if not unicodedata.category(c).startswith("P"))
    articles = _ARTICLES.get((language or "en").partition("-")[0], set())
    return [token for token in CJK.sub(r" \g<0> ", plain).split() if token not in articles]


def exact_match(answer: str, expected: Sequence[str], language: str | None = None) -> float:
    """1.0 if the answer is one of the expected ones."""
    given = tokens_of(answer, language)
    return float(any(given == tokens_of(text, language) for text in expected))


def token_f1(answer: str, expected: Sequence[str], language: str | None = None) -> float:
    """The best F1 of tokens over the expected answers."""
    given = tokens_of(answer, language)
    return max((_f1(given, tokens_of(text, language)) for text in expected), default=0.0)


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    whole = {" ".join(given), " ".join(wanted)}
    if len(whole) == 1:
        return 1.0
    shared = sum((Counter(given) & Counter(wanted)).values())
    if not shared or whole & _YES_NO:
        return 0.0
    precision, recall = shared / len(given), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def contained(texts: Sequence[str], expected: Sequence[str], *, words: bool = False) -> float:
    """1.0 if the texts contain one of the expected answers, regardless of case, accents and punctuation.

    Args:
        words: only as whole words, so that 2024 does not contain 24; CJK texts anywhere.
    """
    found = fold(" ".join(texts))
    wanted = filter(None, map(fold, expected))
    return float(
        any(
            text in found if not words or CJK.search(text) else f" {text} " in f" {found} " for text in wanted
        )
    )


def yes_or_no(expected: Sequence[str]) -> bool:
    """Whether the expected answer is yes or no, which no evidence contains."""
    return bool(expected) and {fold(text) for text in expected} <= _YES_NO


def fold(text: str) -> str:
    """Text without differences of case, width, accents and punctuation, for containment."""
    flat = unicodedata.normalize("NFKD", text).casefold()
    flat = "".join(c if c.isalnum() else " " for c in flat if unicodedata.category(c) != "Mn")
    return " ".join(flat.split())
