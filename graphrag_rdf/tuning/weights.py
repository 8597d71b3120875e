"""`tune weights`: learn the weights of the signals of a chunk, and measure the gain.

The gain is measured on held-out questions (cross-validation), by the retrieval itself rather than by the
model of it that the search uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.evaluation.evalset import EvalSet
from graphrag_rdf.evaluation.metrics import compared, recall
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.steps.exploration import WEIGHTS
from graphrag_rdf.steps.hybrid import OWN, RELATIONS
from graphrag_rdf.store.base import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from graphrag_rdf.engine import Engine

LEAST = 10
"""Minimum number of questions."""
REASON = "tune weights"
"""Beginning of the reasons of settings versions that this command writes."""
_DEPTH = 100
_WEIGHTS: Mapping[str, Mapping[str, str]] = {
    "explore": {name: f"passage_{name}" for name in WEIGHTS},
    "hybrid": {name: f"weight_{RELATIONS.get(name, name)}" for name in (*OWN, *RELATIONS)},
}
"""Kind of step → signal of a chunk → parameter with its weight."""
_TRACE = 1e-9
"""A weight that makes a signal visible without changing ranks."""


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
        given = {f"{self.step}.{names[name]}": repr(value) for name, value in self.values.items()}
        return {**self.beside, **given}

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
            given = step.values()
            values = {name: float(given[key]) for name, key in _WEIGHTS[step.step].items()}
            beside = {f"{s.name}.use": "rules" for s in definition.steps if s.step == "ground"}
            beside[f"{step.name}.rerank_weight"] = "0"
            return Weights(pipeline, step.name, step.step, values, beside)
    raise UsageError(
        tr("{pipeline} has no weights to learn").format(pipeline=pipeline),
        hint=tr("graph_rag and hybrid_rag have weights to learn"),
    )


def tune(
    engine: Engine,
    graded: Mapping[str, Grades],
    weights: Weights,
    *,
    folds: int = 5,
    cuts: Sequence[int] = (),
    progress: Progress | None = None,
) -> tuple[Weights, dict[str, Any]]:
    """Learn weights.

    Args:
        engine: on the store with the graded chunks.
        graded: question → chunk → grade.
        weights: the current ones, from which the search starts.
        folds: of the cross-validation.
        cuts: also measure recall at these ranks.

    Returns:
        the weights learned from all questions, and the keys of `tune weights --format json`: means before and
        after, with bootstrap intervals; `after` is measured on held-out questions.

    Raises:
        TooFew: for fewer than `LEAST` questions.
    """
    if len(graded) < max(LEAST, folds):
        raise TooFew(
            tr("{count} questions with feedback or gold passages are too few to learn from").format(
                count=len(graded)
            ),
            hint=tr("{least} are needed; mark answers with: graphrag-rdf feedback").format(
                least=max(LEAST, folds)
            ),
        )
    questions = sorted(graded, key=lambda q: (hashlib.sha256(q.encode()).digest(), q))
    done, total = 0, len(questions) * 2

    def heard() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    names, examples, before = _explore(engine, questions, graded, weights, heard)
    start = [weights.values[name] for name in names]
    after: dict[str, list[str]] = {}
    for fold in range(folds):
        held = {q for place, q in enumerate(questions) if place % folds == fold}
        found = search([e for e in examples if e.question not in held], start)
        learned = weights.changed(dict(zip(names, found, strict=True)))
        for question in sorted(held):
            after[question] = [str(r["chunk"]) for r in _retrieve(engine, question, learned)]
            heard()
    learned = weights.changed(dict(zip(names, search(examples, start), strict=True)))
    return learned, {
        "questions": len(questions),
        "helpful": sum(grade > 0 for grades in graded.values() for grade in grades.values()),
        "wrong": sum(grade < 0 for grades in graded.values() for grade in grades.values()),
        "folds": folds,
        "pipeline": weights.pipeline,
        "weights": {n: {"before": weights.values[n], "after": learned.values[n]} for n in names},
        "measures": _measures(questions, graded, before, after, cuts),
    }


def _explore(
    engine: Engine, questions: Sequence[str], graded: Mapping[str, Grades], weights: Weights, heard: Any
) -> tuple[list[str], list[Example], dict[str, list[str]]]:
    """(signals in use, examples, question → current ranking)."""
    import numpy as np

    seen = weights.changed({name: _TRACE for name, weight in weights.values.items() if not weight})
    found = {}
    for question in questions:
        found[question] = _retrieve(engine, question, seen)
        heard()
    there = {n for results in found.values() for r in results for n, value in r["signals"].items() if value}
    names = [name for name in weights.values if name in there]
    examples = []
    for question, results in found.items():
        ordered = sorted(results, key=lambda result: str(result["chunk"]))
        rows = [[_signal(result, name, seen.values[name]) for name in names] for result in ordered]
        signals = np.array(rows, dtype=np.float64).reshape(len(ordered), len(names))
        chunks = tuple(str(result["chunk"]) for result in ordered)
        examples.append(Example(question, graded[question], chunks, signals))
    return names, examples, {q: [str(r["chunk"]) for r in results] for q, results in found.items()}


def _signal(result: dict[str, Any], name: str, weight: float) -> float:
    """The signal of a result, with the confidence that is part of its weight."""
    value, weighed = result["signals"].get(name, 0.0), result["weights"].get(name, 0.0)
    return float(value * weighed / weight)


def _retrieve(engine: Engine, question: str, weights: Weights) -> list[dict[str, Any]]:
    found = engine.retrieve(question, k=_DEPTH, pipeline=weights.pipeline, settings=weights.settings())
    results: list[dict[str, Any]] = found["results"]
    return results


def _measures(
    questions: Sequence[str],
    graded: Mapping[str, Grades],
    before: Mapping[str, Sequence[str]],
    after: Mapping[str, Sequence[str]],
    cuts: Sequence[int],
) -> dict[str, Any]:
    ways: dict[str, Callable[[Sequence[str], Grades], float]] = {"placing": placing}
    ways |= {f"recall_{k}": partial(_recall, k) for k in cuts}
    out: dict[str, Any] = {}
    for name, way in ways.items():
        old, new = ([way(ranking[q], graded[q]) for q in questions] for ranking in (before, after))
        out[name] = compared(old, new)
    return out


def _recall(k: int, ranked: Sequence[str], grades: Grades) -> float:
    return recall(ranked, [passage for passage, grade in grades.items() if grade > 0], k)


# --- placing of graded chunks, and the search for weights ------------------------------------------


Grades: TypeAlias = Mapping[str, int]
"""Chunk → 1 for a relevant one, -1 for an irrelevant one."""

_FACTORS = (4.0, 2.0, 1.4, 1.15)
_LEAST_GAIN = 1e-3
"""Smaller gains do not change a weight."""
_MOST_PASSES = 20


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its ranked chunks.

    Attributes:
        passages: in the order of their IRIs.
        signals: chunks × signals, each 0 to 1.
    """

    question: str
    grades: Grades
    passages: tuple[str, ...]
    signals: NDArray[np.float64]


def placing(ranked: Sequence[str], grades: Grades) -> float:
    """The quality of the places of graded chunks in a ranking, 0 to 1: the mean over them.

    A relevant chunk counts 1/(1 + n) with n other chunks that are not relevant before it, or 0 if it is not
    ranked. For a single relevant chunk this is its reciprocal rank (Voorhees, TREC-8). An irrelevant chunk
    counts 1 - 1/(1 + n), with n other chunks before it.
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
    """The chunks of an example, ordered by the sum of their weighted signals, ties by IRI."""
    import numpy as np

    order = np.argsort(-(example.signals @ np.asarray(weights)), kind="stable")
    return [example.passages[place] for place in order]


def mean_placing(examples: Sequence[Example], weights: Sequence[float]) -> float:
    """The mean over examples."""
    return sum(placing(rank(e, weights), e.grades) for e in examples) / max(1, len(examples))


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
"""Called with (finished questions, all)."""


# --- grades ----------------------------------------------------------------------------------------


def graded_by_marks(store: Store, pipeline: str) -> dict[str, Grades]:
    """Question → chunk → 1 (helpful) or -1 (wrong), from all marks in traces of a pipeline.

    The majority counts. A mark of a fact or sentence counts for its chunks, and overrides marks of answers
    that cite them.
    """
    votes: dict[str, dict[str, tuple[bool, int]]] = {}
    for row in store.select("trace/marked-passages", pipeline=pipeline):
        chunks = votes.setdefault(text_of(row["question"]), {})
        direct, count = bool(to_python(row["direct"])), int(str(to_python(row["votes"])))
        known = chunks.get(text_of(row["chunk"]))
        if known is None or (direct and not known[0]):
            chunks[text_of(row["chunk"])] = direct, count
    graded = {
        question: {chunk: 1 if count > 0 else -1 for chunk, (_, count) in chunks.items() if count}
        for question, chunks in votes.items()
    }
    return {question: grades for question, grades in graded.items() if grades}


def graded_by_set(evalset: EvalSet, index_of: dict[str, int]) -> dict[str, Grades]:
    """Question → chunk → 1, from the gold passages of an evaluation set.

    Args:
        index_of: chunk → index of its passage.
    """
    chunk_of = {index: chunk for chunk, index in index_of.items()}
    return {
        question.q: {chunk_of[index]: 1 for index in question.gold if index in chunk_of}
        for question in evalset.questions
        if any(index in chunk_of for index in question.gold)
    }
