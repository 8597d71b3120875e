"""`tune weights`: learn the weights of a passage's signals, and say honestly what that gains.

What is told of a gain is measured on questions that the weights were not learned from (cross-validation), by
the retrieval itself, not by the model of it that the search works on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.evaluation.metrics import confidence95, mean, recall
from graphrag_rdf.steps.passage_scores import SIGNALS
from graphrag_rdf.tuning.placing import Example, Grades, Progress, placing, search

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

LEAST = 10
"""Questions below which nothing is learned."""
REASON = "tune weights"
"""How versions of the settings begin that were written here."""
_DEPTH = 100
_BY_RULES = {"grounding.use": "rules"}
"""Questions are read by rules, also where a model is set, which would be called hundreds of times."""


class TooFew(GraphRagError):  # noqa: N818 - it says what is the matter
    """There is too little to learn from."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a pipeline's passages.

    Attributes:
        step: the name of its step that explores.
        values: signal → weight.
    """

    pipeline: str
    step: str
    values: Mapping[str, float]

    def settings(self) -> dict[str, str]:
        """`step.parameter` → value, for a question."""
        return {f"{self.step}.passage_{name}": repr(value) for name, value in self.values.items()}

    def stored(self) -> dict[str, float]:
        """`pipeline.step.parameter` → value, as the store keeps it."""
        return {f"{self.pipeline}.{self.step}.passage_{n}": value for n, value in self.values.items()}

    def changed(self, names: Sequence[str], values: Sequence[float]) -> Weights:
        """With other values for some."""
        return Weights(self.pipeline, self.step, {**self.values, **dict(zip(names, values, strict=True))})


def weights_in_force(engine: Engine, pipeline: str) -> Weights:
    """The weights that a question would be answered with.

    Raises:
        UsageError: when the pipeline does not rank passages by activation.
    """
    engine.live.read()
    definition = engine.pipeline(pipeline).definition
    for step in definition.steps:
        if step.step == "explore" and step.use == "activation":
            values = {name: float(step.parameters[f"passage_{name}"]) for name in SIGNALS}
            return Weights(pipeline, step.name, values)
    raise UsageError(f"{pipeline} does not rank passages by activation: it has no weights to learn")


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
        learned = weights.changed(names, search([e for e in examples if e.question not in held], start))
        for question in sorted(held):
            found = _retrieve(engine, question, learned)
            after[question] = [str(result["chunk"]) for result in found["results"]]
            heard()
    learned = weights.changed(names, search(examples, start))
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

    found = {}
    for question in questions:
        found[question] = _retrieve(engine, question, weights)["results"]
        heard()
    there = {name for results in found.values() for result in results for name in result["signals"]}
    names = [name for name in weights.values if name in there]
    examples = []
    for question, results in found.items():
        ordered = sorted(results, key=lambda result: str(result["chunk"]))
        rows = [[result["signals"].get(name, 0.0) for name in names] for result in ordered]
        signals = np.array(rows, dtype=np.float64).reshape(len(ordered), len(names))
        chunks = tuple(str(result["chunk"]) for result in ordered)
        examples.append(Example(question, graded[question], chunks, signals))
    return names, examples, {q: [str(r["chunk"]) for r in results] for q, results in found.items()}


def _retrieve(engine: Engine, question: str, weights: Weights) -> dict[str, Any]:
    settings = {**_BY_RULES, **weights.settings()}
    return engine.retrieve(question, k=_DEPTH, pipeline=weights.pipeline, settings=settings)


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
        out[name] = {
            **_figure("before", old),
            **_figure("after", new),
            **_figure("gain", [b - a for a, b in zip(old, new, strict=True)]),
        }
    return out


def _recall(k: int, ranked: Sequence[str], grades: Grades) -> float:
    return recall(ranked, [passage for passage, grade in grades.items() if grade > 0], k)


def _figure(name: str, values: Sequence[float]) -> dict[str, Any]:
    return {name: round(mean(values), 4), f"{name}_ci95": [round(end, 4) for end in confidence95(values)]}
