"""`tune weights`: learn the weights of the signals of a chunk from an evaluation set, and measure the gain.

The gain is measured on held-out questions (cross-validation), by the retrieval itself rather than by the
model of it that the search uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.steps.exploration import WEIGHTS
from graphrag_rdf.wings.evaluation.evalset import EvalSet
from graphrag_rdf.wings.evaluation.metrics import compared, recall
from graphrag_rdf.wings.hybrid.composite import OWN, RELATIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphrag_rdf.engine import Engine

LEAST = 10
"""Minimum number of questions."""
FOLDS = 5
"""Of the cross-validation."""
REASON = "tune weights"
"""Beginning of the reasons of settings versions that this command writes."""
_DEPTH = 100
_CUTS = (2, 5)
"""Ranks for recall."""
_WEIGHTS: Mapping[str, Mapping[str, str]] = {
    "explore": {name: f"passage_{name}" for name in WEIGHTS},
    "hybrid": {name: f"weight_{RELATIONS.get(name, name)}" for name in (*OWN, *RELATIONS)},
}
"""Kind of step → signal of a chunk → parameter with its weight."""
_TRACE = 1e-9
"""A weight that makes a signal visible without changing ranks."""
_FACTORS = (4.0, 2.0, 1.4, 1.15)
_LEAST_GAIN = 1e-3
"""Smaller gains do not change a weight."""
_MOST_PASSES = 20

Gold: TypeAlias = Mapping[str, Collection[str]]
"""Question → its relevant chunks."""
Rankings: TypeAlias = Mapping[str, Sequence[str]]
"""Question → chunks, the best first."""
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (finished questions, all)."""


class TooFew(GraphRagError):  # noqa: N818
    """There are too few questions to learn from."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a pipeline.

    Attributes:
        step: name of the exploration step.
        kind: of that step.
        values: signal → weight.
        beside: other settings of a question, `step.parameter` → value. They turn off models, which would be
            called too often.
    """

    pipeline: str
    step: str
    kind: str
    values: Mapping[str, float]
    beside: Mapping[str, str]

    def settings(self) -> dict[str, str]:
        """`step.parameter` → value, for a question."""
        names = _WEIGHTS[self.kind]
        weights = {f"{self.step}.{names[name]}": repr(value) for name, value in self.values.items()}
        return {**self.beside, **weights}

    def stored(self) -> dict[str, float]:
        """`pipeline.step.parameter` → value, as in the settings of the store."""
        names = _WEIGHTS[self.kind]
        return {f"{self.pipeline}.{self.step}.{names[name]}": value for name, value in self.values.items()}

    def changed(self, values: Mapping[str, float]) -> Weights:
        """The same with some other values."""
        return replace(self, values={**self.values, **values})


def weights_in_force(engine: Engine, pipeline: str) -> Weights:
    """The current weights of a pipeline.

    Raises:
        UsageError: when the pipeline does not rank by weights.
    """
    engine.live.read()
    definition = engine.pipeline(pipeline).definition
    for step in definition.steps:
        if step.step in _WEIGHTS:
            parameters = step.values()
            values = {name: float(parameters[key]) for name, key in _WEIGHTS[step.step].items()}
            beside = {f"{s.name}.use": "rules" for s in definition.steps if s.step == "ground"}
            beside[f"{step.name}.rerank_weight"] = "0"
            return Weights(pipeline, step.name, step.step, values, beside)
    raise UsageError(
        tr("{pipeline} has no weights to learn").format(pipeline=pipeline),
        hint=tr("graph_rag and hybrid_rag have weights to learn"),
    )


def gold_chunks(evalset: EvalSet, index_of: Mapping[str, int]) -> dict[str, set[str]]:
    """The relevant chunks of each question that has any.

    Args:
        index_of: chunk → index of its passage.
    """
    chunk_of = {index: chunk for chunk, index in index_of.items()}
    gold = {
        question.q: {chunk_of[index] for index in question.gold if index in chunk_of}
        for question in evalset.questions
    }
    return {question: chunks for question, chunks in gold.items() if chunks}


def tune(
    engine: Engine, gold: Gold, weights: Weights, *, progress: Progress | None = None
) -> tuple[Weights, dict[str, Any]]:
    """Learn weights.

    Args:
        engine: on the store with the relevant chunks.
        weights: the current ones, from which the search starts.

    Returns:
        the weights learned from all questions, and the keys of `tune weights --format json`: means before and
        after, with bootstrap intervals; `after` is measured on held-out questions.

    Raises:
        TooFew: for fewer than `LEAST` questions.
    """
    if len(gold) < LEAST:
        raise TooFew(
            tr("{count} questions with gold passages are too few to learn from").format(count=len(gold)),
            hint=tr("{least} are needed").format(least=LEAST),
        )
    questions = sorted(gold, key=lambda q: (hashlib.sha256(q.encode()).digest(), q))
    done = 0

    def retrieve(question: str, current: Weights) -> list[dict[str, Any]]:
        nonlocal done
        results = _retrieve(engine, question, current)
        done += 1
        if progress is not None:
            progress(done, len(questions) * 2)
        return results

    visible = weights.changed({name: _TRACE for name, weight in weights.values.items() if not weight})
    results = {question: retrieve(question, visible) for question in questions}
    names, examples = _examples(results, gold, visible)
    before = {question: _chunks(ranked) for question, ranked in results.items()}
    start = [weights.values[name] for name in names]
    after: dict[str, list[str]] = {}
    for fold in range(FOLDS):
        held_out = questions[fold::FOLDS]
        values = search([e for e in examples if e.question not in held_out], start)
        learned = weights.changed(dict(zip(names, values, strict=True)))
        after |= {question: _chunks(retrieve(question, learned)) for question in held_out}
    learned = weights.changed(dict(zip(names, search(examples, start), strict=True)))
    return learned, {
        "questions": len(questions),
        "helpful": sum(map(len, gold.values())),
        "folds": FOLDS,
        "pipeline": weights.pipeline,
        "weights": {n: {"before": weights.values[n], "after": learned.values[n]} for n in names},
        "measures": _measures(gold, before, after),
    }


def _retrieve(engine: Engine, question: str, weights: Weights) -> list[dict[str, Any]]:
    answer = engine.retrieve(question, k=_DEPTH, pipeline=weights.pipeline, settings=weights.settings())
    results: list[dict[str, Any]] = answer["results"]
    return results


def _chunks(results: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(result["chunk"]) for result in results]


def _measures(gold: Gold, before: Rankings, after: Rankings) -> dict[str, Any]:
    measures: dict[str, Callable[[Sequence[str], Collection[str]], float]] = {"placing": placing}
    measures |= {f"recall_{k}": partial(_recall, k) for k in _CUTS}
    return {
        name: compared(*([measure(ranking[q], gold[q]) for q in after] for ranking in (before, after)))
        for name, measure in measures.items()
    }


def _recall(k: int, ranked: Sequence[str], gold: Collection[str]) -> float:
    return recall(ranked, list(gold), k)


# --- placing of relevant chunks, and the search for weights -----------------------------------------


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its ranked chunks.

    Attributes:
        gold: the relevant ones.
        passages: in the order of their IRIs.
        signals: chunks × signals, each 0 to 1.
    """

    question: str
    gold: Collection[str]
    passages: tuple[str, ...]
    signals: NDArray[np.float64]


def _examples(
    results: Mapping[str, list[dict[str, Any]]], gold: Gold, weights: Weights
) -> tuple[list[str], list[Example]]:
    """(signals in use, examples)."""
    import numpy as np

    used = {n for ranked in results.values() for r in ranked for n, value in r["signals"].items() if value}
    names = [name for name in weights.values if name in used]
    examples = []
    for question, ranked in results.items():
        ordered = sorted(ranked, key=lambda result: str(result["chunk"]))
        rows = [[_signal(result, name, weights.values[name]) for name in names] for result in ordered]
        signals = np.array(rows, dtype=np.float64).reshape(len(ordered), len(names))
        examples.append(Example(question, gold[question], tuple(_chunks(ordered)), signals))
    return names, examples


def _signal(result: dict[str, Any], name: str, weight: float) -> float:
    """The signal of a result, with the confidence that is part of its weight."""
    value, weighed = result["signals"].get(name, 0.0), result["weights"].get(name, 0.0)
    return float(value * weighed / weight)


def placing(ranked: Sequence[str], gold: Collection[str]) -> float:
    """The quality of the places of relevant chunks in a ranking, 0 to 1: the mean over them.

    A relevant chunk counts 1/(1 + n) with n irrelevant chunks before it, or 0 if it is not ranked. For a
    single relevant chunk this is its reciprocal rank (Voorhees, TREC-8).
    """
    total, irrelevant = 0.0, 0
    for chunk in ranked:
        if chunk in gold:
            total += 1 / (1 + irrelevant)
        else:
            irrelevant += 1
    return total / len(gold) if gold else 0.0


def rank(example: Example, weights: Sequence[float]) -> list[str]:
    """The chunks of an example, ordered by the sum of their weighted signals, ties by IRI."""
    import numpy as np

    order = np.argsort(-(example.signals @ np.asarray(weights)), kind="stable")
    return [example.passages[place] for place in order]


def mean_placing(examples: Sequence[Example], weights: Sequence[float]) -> float:
    """The mean over examples."""
    return sum(placing(rank(e, weights), e.gold) for e in examples) / max(1, len(examples))


def search(examples: Sequence[Example], start: Sequence[float]) -> tuple[float, ...]:
    """The weights with the best mean placing, by coordinate search from `start`.

    One weight at a time is made larger, smaller, a multiple of the sum of the others, or zero, in ever finer
    steps. Changes that improve the placing are kept. Only the ratio of weights matters, so their sum stays
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
    rest = sum(best) - best[place]
    scaled = {weight * step for weight in (best[place], rest) for step in (factor, 1 / factor)}
    for weight in sorted((scaled | {0.0}) - {best[place]}):
        candidate = (*best[:place], weight, *best[place + 1 :])
        if sum(candidate) > 0:
            gained = mean_placing(examples, candidate)
            if gained > value + _LEAST_GAIN:
                best, value = candidate, gained
    return best, value
