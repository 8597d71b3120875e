"""Retrieval metrics as defined by HippoRAG, bootstrap confidence intervals, and scores of answers."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from graphrag_rdf.extract.names import CJK
from graphrag_rdf.steps.figures import figures as claimed_figures
from graphrag_rdf.steps.figures import known_figures
from graphrag_rdf.trace.citations import MARKER
from graphrag_rdf.trace.messages import DOUBT

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
    tokens = tokens_of(answer, language)
    return float(any(tokens == tokens_of(text, language) for text in expected))


def token_f1(answer: str, expected: Sequence[str], language: str | None = None) -> float:
    """The best F1 of tokens over the expected answers."""
    tokens = tokens_of(answer, language)
    return max((_f1(tokens, tokens_of(text, language)) for text in expected), default=0.0)


def _f1(tokens: Sequence[str], wanted: Sequence[str]) -> float:
    whole = {" ".join(tokens), " ".join(wanted)}
    if len(whole) == 1:
        return 1.0
    shared = sum((Counter(tokens) & Counter(wanted)).values())
    if not shared or whole & _YES_NO:
        return 0.0
    precision, recall = shared / len(tokens), shared / len(wanted)
    return 2 * precision * recall / (precision + recall)


def contained(texts: Sequence[str], expected: Sequence[str], *, words: bool = False) -> float:
    """1.0 if the texts contain one of the expected answers, regardless of case, accents and punctuation.

    Args:
        words: only as whole words, so that 2024 does not contain 24; CJK texts anywhere.
    """
    joined = fold(" ".join(texts))
    wanted = filter(None, map(fold, expected))
    return float(
        any(
            text in joined if not words or CJK.search(text) else f" {text} " in f" {joined} "
            for text in wanted
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


_MARKER = re.compile(rf"\s*{MARKER.pattern}")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+")
_OURS = frozenset({"trace_not_stored", "no_llm"})
"""Warnings about the measurement, not the answer."""


def score(
    answer: Mapping[str, Any], expected: Sequence[str], gold: AbstractSet[str], language: str | None
) -> dict[str, Any]:
    """The scores of an answer.

    Args:
        answer: as `ask --format json` prints it.
        expected: alternative answers; without any, scores that need them are None.
        gold: documents or chunks with the answer; empty if unknown.
        language: of the question.
    """
    text = _MARKER.sub("", str(answer.get("answer", ""))).strip()
    answered = bool(answer.get("answered", True))
    cited = [(source, source["quote"] or "") for c in answer.get("citations", ()) for source in c["sources"]]
    quotes = [quote for _, quote in cited]
    usage = answer.get("usage") or {}
    return {
        "answer": answer.get("answer"),
        "answered": answered,
        "exact_match": exact_match(text, expected, language) * answered if expected else None,
        "f1": round(token_f1(text, expected, language) * answered, 4) if expected else None,
        "contained": contained([text], expected, words=True) * answered if expected else None,
        "evidence_contains": contained(quotes, expected) if expected and not yes_or_no(expected) else None,
        **_in_passages(answer, expected),
        "citations_hold": [
            float(
                not gold.isdisjoint((source["document"], source["chunk"])) or contained([quote], expected) > 0
            )
            for source, quote in cited
        ]
        if gold
        else None,
        "supported": _supported(answer, language),
        "cited": list(dict.fromkeys(f"{source['title']}: {quote}" for source, quote in cited)),
        "warnings": [
            warning["type"] for warning in answer.get("warnings", ()) if warning["type"] not in _OURS
        ],
        "calls": usage.get("llm_calls", 0),
        "in_tokens": usage.get("in_tokens") or 0,
        "out_tokens": usage.get("out_tokens") or 0,
    }


def _in_passages(answer: Mapping[str, Any], expected: Sequence[str]) -> dict[str, float | None]:
    """Whether an expected answer is in the first passage, and in the first three; None of answers without
    passages, and of yes and no.
    """
    texts = [passage["text"] for passage in answer.get("passages", ())]
    counts = expected and not yes_or_no(expected) and "passages" in answer
    return {f"passage_{most}": contained(texts[:most], expected) if counts else None for most in (1, 3)}


def _supported(answer: Mapping[str, Any], language: str | None) -> list[float]:
    """For each number and name in a cited sentence: 1.0 if the cited text contains it."""
    by_sentence: dict[str, list[str]] = {}
    for citation in answer.get("citations", ()):
        cited = by_sentence.setdefault(citation["sentence"], [])
        cited += [f"{source['quote'] or ''} {source['title']}" for source in citation["sources"]]
        if edge := citation.get("edge"):
            cited.append(f"{edge['s_label']} {edge['p_label']} {edge['o_label']}")
    out: list[float] = []
    for sentence, cited in by_sentence.items():
        text, evidence = _MARKER.sub("", sentence), " ".join(cited)
        figures, folded = known_figures(evidence), fold(evidence)
        out += [float(figures.supports(figure)) for figure in claimed_figures(text, language)]
        out += [float(fold(name) in folded) for name in sorted({*_NAME.findall(text)})]
    return out


def figures(rows: Sequence[Mapping[str, Any]], run: str) -> dict[str, Any]:
    """The figures of a run, with and without the gold passages; None without rows."""
    asked = [row for row in rows if row["run"] == run]
    without = [row for row in rows if row["run"] == f"{run}-without-gold"]

    def values(key: str) -> list[float]:
        return [row[key] for row in asked if row[key] is not None]

    def each(key: str) -> list[float]:
        return [value for row in asked for value in row[key] or ()]

    contains = values("evidence_contains")
    answered = [row for row in (*asked, *without) if row["answered"] and row["contained"] is not None]
    doubted = [row["contained"] for row in answered if DOUBT in row["warnings"]]
    sure = [row["contained"] for row in answered if DOUBT not in row["warnings"]]
    return {
        "questions": len(asked),
        "exact_match": _mean(values("exact_match")),
        "f1": _mean(values("f1")),
        "contained": _mean(values("contained")),
        "contain_accuracy": _mean(contains),
        "contain_n": len(contains),
        "passage_1": _mean(values("passage_1")),
        "passage_3": _mean(values("passage_3")),
        "ci95": [round(end, 4) for end in confidence95(contains)],
        "f1_ci95": [round(end, 4) for end in confidence95(values("f1"))],
        "citations_hold": _mean(each("citations_hold")),
        "citation_precision": _mean(each("supported")),
        "answered": _mean([float(row["answered"]) for row in asked]),
        "abstention": _mean([float(not row["answered"]) for row in without]),
        "abstention_n": len(without),
        "sure_n": len(sure),
        "sure_contained": _mean(sure),
        "uncertain_n": len(doubted),
        "uncertain_contained": _mean(doubted),
        "warnings": dict(Counter(kind for row in asked for kind in set(row["warnings"])).most_common()),
        "calls": _mean(values("calls")),
        "in_tokens": _mean(values("in_tokens")),
        "out_tokens": _mean(values("out_tokens")),
        "tokens": sum(row["in_tokens"] + row["out_tokens"] for row in (*asked, *without)),
        "seconds_per_question": _mean(values("seconds")),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(mean(values), 4) if values else None
