"""`eval sparql`: how many questions a query answers with the right rows (execution accuracy).

The gold of a question is a query, run on the same store, or its rows. A result is right if some of its
columns have the same set of rows, whatever their names and order. If the gold query sorts, the order counts.
An IRI counts as its label, a number as its value.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import GraphRagError, UsageError, read_text, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import match_key
from graphrag_rdf.rdf.terms import Term, from_sparql_json, text_of
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.sparql.tokens import tokens
from graphrag_rdf.store.base import Answer, Row
from graphrag_rdf.trace.facts import read_labels
from graphrag_rdf.wings.evaluation.answers import Asking, ResultsFile, ask_once, sample
from graphrag_rdf.wings.evaluation.evalset import read_lines
from graphrag_rdf.wings.evaluation.metrics import mean

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.schedule import Stop

COMMAND = "graphrag-rdf eval sparql"


class SparqlQuestion(BaseModel):
    """A question with a query that answers it, or with the rows of its answer.

    Attributes:
        id: default: its number.
        kind: for a figure of its own, e.g. `count`.
        gold: a SELECT or ASK; the program's prefixes need no declaration.
        rows: of the answer; with `gold`, they only show what it returns.
        ordered: whether the order of `rows` counts, without `gold`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    id: str | None = None
    question: str = Field(alias="q")
    kind: str = ""
    gold: str | None = None
    rows: tuple[tuple[str | int | float | bool, ...], ...] | None = None
    ordered: bool = False

    @model_validator(mode="after")
    def _has_gold(self) -> SparqlQuestion:
        if not self.gold and not self.rows:
            raise ValueError(tr("give gold, a query, or rows, which are not empty"))
        return self


@dataclass(frozen=True, slots=True)
class SparqlOptions:
    """The options of a measurement.

    Attributes:
        settings: `step.parameter` → value.
        limit, seed: of a random sample of questions; None: all, in order.
        keep: the file of rows, see `ResultsFile`.
    """

    pipeline: str = "sparql"
    settings: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    seed: int = 0
    keep: Path | None = None


def load_sparql_questions(path: Path) -> list[SparqlQuestion]:
    """Read questions: JSON objects one per line, or in a list (`.json`).

    Raises:
        UsageError: the file is missing, or one is not such a question, or two have the same id.
    """
    if path.suffix == ".json":
        try:
            questions = TypeAdapter(list[SparqlQuestion]).validate_json(read_text(path))
        except ValidationError as error:
            raise UsageError(f"{path}: {short_cause(error)}") from error
    else:
        questions = read_lines(path, SparqlQuestion)
    numbered = [
        question.model_copy(update={"id": question.id or str(n)})
        for n, question in enumerate(questions, start=1)
    ]
    if not numbered:
        raise UsageError(tr("{path} has no questions").format(path=path))
    ((id_, times),) = Counter(question.id for question in numbered).most_common(1)
    if times > 1:
        raise UsageError(tr("{path}: two questions have the id {id}").format(path=path, id=id_))
    return numbered


def evaluate_sparql(
    engine: Engine,
    questions: Sequence[SparqlQuestion],
    options: SparqlOptions,
    *,
    progress: Callable[[int, int], None] | None = None,
    stop: Stop | None = None,
) -> dict[str, Any]:
    """Ask the questions, and compare the rows of each with its gold.

    Args:
        engine: on a store with the documents.
        progress: called with (finished questions, all).
        stop: called between questions; True ends the run.

    Returns:
        the keys of `eval sparql --format json`, from the existing rows.

    Raises:
        UsageError: a gold query fails or returns nothing; see `ResultsFile`.
        LlmError: the model cannot be used at all.
    """
    engine.pipeline(options.pipeline).with_settings(options.settings)  # raises before a question is asked
    asked = sample(questions, options.limit, options.seed)
    golds = {str(question.id): _gold_of(engine, question) for question in asked}
    if engine.settings.llm.model is not None:
        assert engine.gateway is not None  # noqa: S101 - made here, before threads want it
    results = ResultsFile(options.keep, _head(engine, questions, options), COMMAND)
    answered = {row["id"] for row in results.rows}
    todo = [question for question in asked if question.id not in answered]
    work = _Work(
        engine=engine,
        results=results,
        stop=stop or (lambda: False),
        progress=progress,
        done=len(asked) - len(todo),
        total=len(asked),
        options=options,
        golds=golds,
    )
    work.ask_all(todo, work.row_of)
    by_id = {row["id"]: row for row in work.results.rows}
    rows = [by_id[question.id] for question in asked if question.id in by_id]
    if not rows and work.error is not None:
        raise work.error
    return {
        "n": len(asked),
        "of": len(questions),
        "model": engine.settings.llm.model,
        "pipeline": options.pipeline,
        **_figures(rows),
        "kinds": {kind: _figures(rows, kind) for kind in dict.fromkeys(row["kind"] for row in rows) if kind},
        "questions": rows,
        "rows_missing": len(asked) - len(rows),
        "stopped": work.stopped,
        "failed": work.failed,
    }


def _figures(rows: Sequence[Mapping[str, Any]], kind: str | None = None) -> dict[str, Any]:
    counted = [row for row in rows if kind in (None, row["kind"])]
    return {
        "rows": len(counted),
        "right": sum(row["right"] for row in counted),
        "accuracy": mean([float(row["right"]) for row in counted]),
        "answered": mean([float(row["found"] > 0) for row in counted]),
        "calls": mean([row["calls"] for row in counted]),
        "seconds_per_question": mean([row["seconds"] for row in counted]),
    }


@dataclass(slots=True, kw_only=True)
class _Work(Asking):
    """The state of a measurement."""

    options: SparqlOptions
    golds: Mapping[str, Answer]

    def row_of(self, question: SparqlQuestion) -> dict[str, Any] | None:
        """A row, or None if the question failed. Raises LlmError, which may end the run."""
        begun = time.perf_counter()
        try:
            answer = ask_once(
                self.engine, question.question, self.options.pipeline, self.options.settings, stored=True
            )
        except GraphRagError as error:
            self.fail(error, id=str(question.id))
            return None
        result = answer.get("result") or {"template": None, "query": None, "columns": [], "rows": []}
        gold = self.golds[str(question.id)]
        computed = Answer(
            variables=tuple(result["columns"]),
            rows=[{name: from_sparql_json(term) for name, term in row.items()} for row in result["rows"]],
        )
        return {
            "id": question.id,
            "kind": question.kind,
            "question": question.question,
            "right": is_right(self.engine, computed, gold, ordered=_is_ordered(question)),
            "template": result["template"],
            "query": result["query"],
            "found": len(computed.rows or ()),
            "expected": len(gold.rows or ()),
            "warnings": [warning["type"] for warning in answer["warnings"]],
            "calls": answer["usage"]["llm_calls"],
            "seconds": round(time.perf_counter() - begun, 3),
            "trace": answer["trace"],
        }


def _gold_of(engine: Engine, question: SparqlQuestion) -> Answer:
    """The right rows. Cells of given rows are texts."""
    if question.gold is None:
        return rows_of(question)
    try:
        answer = engine.store.query(with_prefixes(question.gold))
    except GraphRagError as error:
        raise UsageError(
            tr("question {id}: its gold query fails: {message}").format(id=question.id, message=error.message)
        ) from error
    if answer.boolean is not None:
        return Answer(variables=("answer",), rows=[{"answer": Literal(answer.boolean)}])
    if not answer.rows:
        raise UsageError(
            tr("question {id}: its gold query returns nothing in this store").format(id=question.id),
            hint=tr("ingest the documents that the questions are about"),
        )
    return answer


def rows_of(question: SparqlQuestion) -> Answer:
    """The rows that a question comes with."""
    rows: list[Row] = [{str(n): Literal(cell) for n, cell in enumerate(row)} for row in question.rows or ()]
    return Answer(rows=rows)


def _is_ordered(question: SparqlQuestion) -> bool:
    """Whether the order of the gold counts: the query sorts outside of brackets."""
    depth = 0
    for token in tokens(question.gold or ""):
        depth += (token.text == "{") - (token.text == "}")
        if depth == 0 and token.text.upper() == "ORDER":
            return True
    return question.gold is None and question.ordered


def is_right(engine: Engine, answer: Answer, gold: Answer, *, ordered: bool) -> bool:
    """Whether a result has the rows of the gold in some of its columns."""
    labels = read_labels(engine.store, _terms([answer, gold]))
    got, wanted = _columns(answer, labels), _columns(gold, labels)
    fitting = [
        [n for n, column in enumerate(got) if set(column) == set(wanted_column)] for wanted_column in wanted
    ]
    expected = _distinct(wanted)
    for chosen in product(*fitting):
        if len(set(chosen)) == len(chosen):
            rows = _distinct([got[n] for n in chosen])
            if rows == expected or (not ordered and set(rows) == set(expected)):
                return True
    return False


def _columns(answer: Answer, labels: Mapping[str, str]) -> list[list[str]]:
    rows = answer.rows or []
    names = answer.variables or tuple(dict.fromkeys(name for row in rows for name in row))
    return [[_key(row.get(name), labels) for row in rows] for name in names]


def _distinct(columns: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(zip(*columns, strict=True)))


def _key(term: Term | None, labels: Mapping[str, str]) -> str:
    """A value as it is compared."""
    if term is None:
        return ""
    text = labels.get(term.value, term.value) if isinstance(term, NamedNode) else text_of(term)
    try:
        return str(Decimal(text).normalize())
    except InvalidOperation:
        return match_key(text)


def _terms(answers: Iterable[Answer]) -> Iterator[Term]:
    return (term for answer in answers for row in answer.rows or () for term in row.values())


def _head(engine: Engine, questions: Sequence[SparqlQuestion], options: SparqlOptions) -> dict[str, Any]:
    """Everything that rows depend on; a file with another head is not continued."""
    asked = "\n".join(question.model_dump_json() for question in questions)
    return {
        "sha256": hashlib.sha256(asked.encode()).hexdigest(),
        "model": engine.settings.llm.model,
        "pipeline": options.pipeline,
        "settings": dict(options.settings),
    }
