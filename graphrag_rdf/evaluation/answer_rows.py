"""The rows of `eval answers`, and the figures computed from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from graphrag_rdf.evaluation.metrics import (
    confidence95,
    contained,
    exact_match,
    fold,
    mean,
    token_f1,
    yes_or_no,
)
from graphrag_rdf.steps.figures import figures as claimed_figures
from graphrag_rdf.steps.figures import known_figures

_MARKER = re.compile(r"\s*\[\d+\]")
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
        known, folded = known_figures(evidence), fold(evidence)
        out += [float(known.supports(figure)) for figure in claimed_figures(text, language)]
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
    return {
        "questions": len(asked),
        "exact_match": _mean(values("exact_match")),
        "f1": _mean(values("f1")),
        "contained": _mean(values("contained")),
        "contain_accuracy": _mean(contains),
        "contain_n": len(contains),
        "ci95": [round(end, 4) for end in confidence95(contains)],
        "f1_ci95": [round(end, 4) for end in confidence95(values("f1"))],
        "citations_hold": _mean(each("citations_hold")),
        "citation_precision": _mean(each("supported")),
        "answered": _mean([float(row["answered"]) for row in asked]),
        "abstention": _mean([float(not row["answered"]) for row in without]),
        "abstention_n": len(without),
        "warnings": dict(Counter(kind for row in asked for kind in set(row["warnings"])).most_common()),
        "calls": _mean(values("calls")),
        "in_tokens": _mean(values("in_tokens")),
        "out_tokens": _mean(values("out_tokens")),
        "tokens": sum(row["in_tokens"] + row["out_tokens"] for row in (*asked, *without)),
        "seconds_per_question": _mean(values("seconds")),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(mean(values), 4) if values else None
