"""`eval all`: finds the sets of a folder, and measures each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.evaluation.answers import Options, evaluate_answers
from graphrag_rdf.wings.evaluation.evalset import EvalSet
from graphrag_rdf.wings.evaluation.retrieval import evaluate_retrieval

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.schedule import Progress

_SETS = ("", "evalsets")
_PAGES = ("", "pdf")
_QUESTIONS = "questions.jsonl"
_T = TypeVar("_T")


def find_sets(folder: Path) -> tuple[list[Path], list[Path]]:
    """The evaluation sets of a folder, and its questions about pages.

    Evaluation sets are files `*.json` of the folder or of `evalsets/` in it. Questions about pages are files
    `questions.jsonl` of the folder or of `pdf/` in it, beside the PDFs.

    Raises:
        UsageError: there are none.
    """
    sets = [path for below in _SETS for path in sorted((folder / below).glob("*.json"))]
    questions = [path for below in _PAGES if (path := folder / below / _QUESTIONS).is_file()]
    if not sets and not questions:
        raise UsageError(
            tr("{folder} has no evaluation sets").format(folder=folder),
            hint=tr(
                "evaluation sets are files *.json; questions about PDFs are in {questions} next to them"
            ).format(questions=_QUESTIONS),
        )
    return sets, questions


def spread(items: Sequence[_T], limit: int | None) -> Sequence[_T]:
    """At most `limit` items, evenly spread; all without a limit."""
    if limit is None or len(items) <= limit:
        return items
    return [items[place * len(items) // limit] for place in range(limit)]


def evaluate_set(
    engine: Engine,
    evalset: EvalSet,
    measures: Collection[str],
    *,
    limit: int | None = None,
    compare: Sequence[str] = (),
    reading: Progress | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Measure retrieval, answers or both on a set, which is ingested once.

    Args:
        engine: on an empty store, usually in memory; it is changed.
        measures: `retrieval`, `answers` or both.
        limit: maximum number of questions, evenly spread.
        compare: further pipelines for retrieval.
        options: those that `evaluate_retrieval` and `answers.Options` share.

    Returns:
        measure → what its command prints as JSON.

    Raises:
        LlmError: a question failed.
    """
    asked = evalset.model_copy(update={"questions": tuple(spread(evalset.questions, limit))})
    results: dict[str, Any] = {}
    if "retrieval" in measures:
        results["retrieval"] = evaluate_retrieval(
            engine, asked, compare=compare, reading=reading, progress=progress, **options
        )
    if "answers" in measures:  # last, because they remove the gold passages
        results["answers"] = evaluate_answers(engine, asked, Options(**options), progress=progress)
        if failed := results["answers"]["failed"]:
            raise LlmError(failed[0]["reason"], "server")
    return results
