"""`tune weights`: learn the weights of a passage's signals, and say honestly what that gains.

What is told of a gain is measured on questions that the weights were not learned from (cross-validation), by
the retrieval itself, not by the model of it that the search works on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.evaluation.metrics import compared, recall
from graphrag_rdf.steps.hybrid import OWN, RELATIONS
from graphrag_rdf.steps.passage_scores import SIGNALS
from graphrag_rdf.tuning.placing import Example, Grades, Progress, placing, search

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

LEAST = 10
"""Questions below which nothing is learned."""
REASON = "tune weights"
"""How versions of the settings begin that were written here."""
_DEPTH = 100
_WEIGHTS: Mapping[str, Mapping[str, str]] = {
    "explore": {name: f"passage_{name}" for name in SIGNALS},
    "hybrid": {name: f"weight_{RELATIONS.get(name, name)}" for name in (*OWN, *RELATIONS)},
}
"""Kind of step → signal of a passage → the parameter that is its weight."""
_TRACE = 1e-9
"""Weight at which a signal is looked at, and changes no rank."""


class TooFew(GraphRagError):  # noqa: N818 - it says what is the matter
    """There is too little to learn from."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a pipeline's passages.

    Attributes:
        step: the name of its step that explores.
        kind: of that step.
        values: signal → weight.
        beside: what else is set for a question, `step.parameter` → value: it is read by rules, and passages
            are not ranked again, also where models are set for that: they would be called too often.
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
        """`pipeline.step.parameter` → value, as the store keeps it."""
        names = _WEIGHTS[self.kind]
        return {f"{self.pipeline}.{self.step}.{names[name]}": value for name, value in self.values.items()}

    def changed(self, values: Mapping[str, float]) -> Weights:
        """With other values for some."""
        return replace(self, values={**self.values, **values})


def weights_in_force(engine: Engine, pipeline: str) -> Weights:
    """The weights that a question would be answered with.

    Raises:
        UsageError: when the pipeline does not rank passages by weights.
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
    raise UsageError(f"{pipeline} has no weights to learn", hint="graph_rag and hybrid_rag have")


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
        engine: on the store that the graded passages are in.
        graded: question → passage → grade.
        weights: those in force, from which the search starts.
        folds: of the cross-validation.
        cuts: also tell recall at these ranks.

    Returns:
        the weights learned from all questions, and what `tune weights --format json` tells of them: means
        before and after with bootstrap intervals; `after` is of questions that they were not learned from.

    Raises:
        TooFew: for fewer than `LEAST` questions.
    """
    if len(graded) < max(LEAST, folds):
        raise TooFew(
            f"{len(graded)} questions with marks or gold passages are too few to learn from",
            hint=f"{max(LEAST, folds)} are needed; graphrag-rdf feedback marks answers",
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
    """(the signals that there are, examples, question → what is ranked now)."""
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
    """A signal as the question weighed it, whose sureness is part of the weights of a result."""
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
