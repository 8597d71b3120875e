"""`eval answers`: measures the correctness of answers and citations, and of declined answers.

The pipeline and a baseline (see `baseline`) answer each question with the gold passages and without them.
Each answer is a row, and all figures are computed from rows.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_rdf.errors import GraphRagError, LlmError, UsageError, system_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.retract import retire_documents
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Schedule, UnexpectedError
from graphrag_rdf.prepare import language_of
from graphrag_rdf.wings.audit.replay import copy_of
from graphrag_rdf.wings.evaluation.baseline import Ask, baseline
from graphrag_rdf.wings.evaluation.corpus import ingest_corpus, passage_iri
from graphrag_rdf.wings.evaluation.evalset import EvalSet, Question
from graphrag_rdf.wings.evaluation.metrics import figures, score
from graphrag_rdf.wings.evaluation.pages import evidence_chunks

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.schedule import Progress, Stop


RUNS = ("graph", "bm25", "graph-without-gold", "bm25-without-gold")
SHORTEST = "the shortest answer: a name, a number, a date, or yes or no"
"""Default form of the answers: the expected answers are as short."""

_Q = TypeVar("_Q")
_RESPONSE_TYPE = "synthesis.response_type"
_JOBS = 4  # concurrent questions with a model, without `llm.jobs`


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a measurement.

    Attributes:
        settings: `step.parameter` → value.
        extraction: see `corpus.extractors`.
        titles: whether to keep the titles of passages.
        runs: some of `RUNS`; None: all. Runs without gold passages need a set with them.
        limit, seed: of a random sample of questions; None: all, in order.
        keep: the file of rows, see `ResultsFile`.
    """

    pipeline: str = "graph_rag"
    settings: Mapping[str, str] = field(default_factory=dict)
    extraction: str = "rules"
    titles: bool = True
    runs: Collection[str] | None = None
    limit: int | None = None
    seed: int = 0
    keep: Path | None = None


def evaluate_answers(
    engine: Engine,
    evalset: EvalSet,
    options: Options,
    *,
    reading: Progress | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: Stop | None = None,
) -> dict[str, Any]:
    """Ingest the set's corpus, if it has one, and ask its questions, with the gold passages and without.

    `contain_accuracy` leaves out questions with the answer yes or no, which no evidence contains.

    Args:
        engine: the passages are added to its store. A store in memory loses the gold ones at the end.
        reading: called for each passage; `progress` with (finished questions, all).
        stop: called between questions; True ends the run.

    Returns:
        the keys of `eval answers --format json`, from the existing rows.

    Raises:
        UsageError: see `ResultsFile`.
        KeyboardInterrupt: stopped before all passages were ingested.
        LlmError: the model cannot be used at all.
    """
    model = engine.settings.llm.model
    settings = dict(options.settings)
    chosen = engine.pipeline(options.pipeline).with_settings(
        settings
    )  # raises before any passage is ingested
    if model is not None and "response_type" in chosen.parameters(with_model=True).get("synthesis", {}):
        settings.setdefault(_RESPONSE_TYPE, SHORTEST)
    runs = _runs(evalset, options.runs)
    asked = sample(evalset.questions, options.limit, options.seed)
    results = ResultsFile(options.keep, _head(engine, evalset, options, settings))
    work = _Work(
        engine=engine,
        results=results,
        stop=stop or (lambda: False),
        progress=progress,
        options=options,
        settings=settings,
    )
    todo = work.left(runs, asked)
    work.done, work.total = len(runs) * len(asked) - len(todo), len(runs) * len(asked)
    if evalset.corpus and todo:
        ingest_corpus(engine, evalset, options.extraction, titles=options.titles, progress=reading, stop=stop)
    work.gold = _holding(engine, evalset) if todo else {}
    work.ask_on(engine, [each for each in todo if not _without_gold(each[0])])
    gone = [each for each in todo if _without_gold(each[0])]
    if gone and not work.stopped:
        with _forgotten(engine, evalset) as without:
            work.ask_on(without, gone)
    ids = {question.id for question in asked}
    rows = [row for row in results.rows if row["id"] in ids and row["run"] in runs]
    if not rows and work.error is not None:
        raise work.error
    return {
        "name": evalset.name,
        "n": len(asked),
        "of": len(evalset.questions),
        "extraction": options.extraction if evalset.corpus else None,
        "embedding_model": engine.settings.embedding.model,
        "rerank_model": engine.settings.rerank.model,
        "model": model,
        "pipeline": options.pipeline,
        "response_type": settings.get(_RESPONSE_TYPE),
        "titles": options.titles,
        "gold": bool(_gold(evalset)) or any(question.document for question in asked),
        **figures(rows, "graph"),
        "baselines": {"bm25": figures(rows, "bm25")} if "bm25" in runs else {},
        "rows": len(rows),
        "rows_missing": work.total - len(rows),
        "stopped": work.stopped,
        "failed": work.failed,
    }


def sample(questions: Sequence[_Q], limit: int | None, seed: int) -> Sequence[_Q]:
    """A random sample; larger samples with the same seed begin with it. All without a limit."""
    if limit is None or limit >= len(questions):
        return questions
    shuffled = [*questions]
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - sampling, not secrecy
    return shuffled[:limit]


# --- asking --------------------------------------------------------------------------------------

_Todo = tuple[str, Question]
"""The name of a run, and a question."""


@dataclass(slots=True, kw_only=True)
class Asking:
    """Questions that are asked concurrently, with a row for each; the next run asks failed questions again.

    Attributes:
        done, total: for `progress`.
        stopped: why it ended early.
        error: that ended it.
    """

    engine: Engine
    results: ResultsFile
    stop: Stop
    progress: Callable[[int, int], None] | None
    done: int = 0
    total: int = 0
    stopped: str | None = None
    error: LlmError | None = None
    failed: list[dict[str, str]] = field(default_factory=list)

    def ask_all(self, todo: Sequence[_Q], row_of: Callable[[_Q], dict[str, Any] | None]) -> None:
        """Ask, and store the rows."""
        llm = self.engine.settings.llm
        try:
            jobs = llm.jobs or (_JOBS if llm.model else 1)
            rows_of = lambda group: [row_of(each) for each in group]  # noqa: E731
            Schedule(rows_of, self._keep, self.stop).run(((each,) for each in todo), jobs)
        except BudgetSpentError as spent:
            hint = tr("raise the budget, and run the same command again to continue")
            self.stopped, self.error = "budget", LlmError(str(spent), "budget", hint)
        except LlmError as error:
            self.stopped, self.error = "model", error
        if self.stopped is None and self.stop():
            self.stopped = "interrupted"

    def fail(self, error: GraphRagError, **question: str) -> None:
        """Note that a question failed. Raises LlmError, which may end the run."""
        self.failed.append({**question, "reason": error.message})
        if isinstance(error, LlmError):
            raise error

    def _keep(self, _: object, outcome: dict[str, Any] | Failure | None) -> None:
        if isinstance(outcome, UnexpectedError):
            raise outcome
        if isinstance(outcome, dict):
            self.results.add(outcome)
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)


@dataclass(slots=True, kw_only=True)
class _Work(Asking):
    """The state of a measurement.

    Attributes:
        gold: question → documents or chunks with its answer.
    """

    options: Options
    settings: Mapping[str, str]
    gold: Mapping[str, AbstractSet[str]] = field(default_factory=dict)

    def left(self, runs: Sequence[str], asked: Sequence[Question]) -> list[_Todo]:
        """The pairs without a row, ordered by question, so that a part of them compares the runs."""
        answered = {(row["run"], row["id"]) for row in self.results.rows}
        return [(run, q) for q in asked for run in runs if (run, q.id) not in answered]

    def ask_on(self, engine: Engine, todo: Sequence[_Todo]) -> None:
        """Ask on the store of this engine, which may lack the gold chunks."""
        systems = {name: self._system(engine, name) for name in dict.fromkeys(run for run, _ in todo)}

        def row_of(each: _Todo) -> dict[str, Any] | None:
            run, question = each
            try:
                return self._row(systems[run], run, question)
            except GraphRagError as error:
                self.fail(error, run=run, id=question.id)
                return None

        self.ask_all(todo, row_of)

    def _system(self, engine: Engine, run: str) -> Ask:
        pipeline = engine.pipeline(self.options.pipeline).with_settings(self.settings)
        if run.startswith("bm25"):
            return baseline(engine, pipeline)
        if engine.settings.llm.model is not None:
            assert engine.gateway is not None  # noqa: S101 - made here, before threads want it
        stored = engine.place is not None and not _without_gold(run)  # otherwise nobody can read the trace

        def ask(question: str) -> dict[str, Any]:
            return ask_once(engine, question, self.options.pipeline, self.settings, stored=stored)

        return ask

    def _row(self, ask: Ask, run: str, question: Question) -> dict[str, Any]:
        begun = time.perf_counter()
        answer = ask(question.q)
        return {
            "run": run,
            "id": question.id,
            "question": question.q,
            "gold": list(question.answers),
            **score(answer, question.answers, self.gold[question.id], language_of(self.engine, question.q)),
            "seconds": round(time.perf_counter() - begun, 3),
            "trace": answer.get("trace"),
        }


def ask_once(
    engine: Engine, question: str, pipeline: str, settings: Mapping[str, str], *, stored: bool
) -> dict[str, Any]:
    """The answer to a question, with the IRI of its trace if it is stored.

    Raises:
        GraphRagError: the run failed; LlmError if the model did.
    """
    session = last = None
    for last in engine.ask(question, pipeline, settings=settings, stored=stored):
        if last.kind == "session" and last.run is None:
            session = last.explain_id
    assert last is not None  # noqa: S101 - a run has at least its last message
    if last.error is not None:
        kind, message, hint = (last.error.get(key) for key in ("kind", "message", "hint"))
        if kind is not None:
            raise LlmError(str(message), kind, hint)  # type: ignore[arg-type]
        raise GraphRagError(str(message), hint)
    return {**(last.answer or {}), "trace": session if stored else None}


def _without_gold(run: str) -> bool:
    return run.endswith("-without-gold")


def _gold(evalset: EvalSet) -> list[int]:
    return sorted({index for question in evalset.questions for index in question.gold})


def _holding(engine: Engine, evalset: EvalSet) -> dict[str, set[str]]:
    """Question → the passages of the set, or the chunks of the store, with its answer."""
    chunks_of = {q.id: {passage_iri(evalset, index).value for index in q.gold} for q in evalset.questions}
    places = {q.id: (q.document, q.pages) for q in evalset.questions if q.document is not None}
    return chunks_of | evidence_chunks(engine, places) if places else chunks_of


def _runs(evalset: EvalSet, wanted: Collection[str] | None) -> list[str]:
    """The wanted runs that the set supports."""
    candidates = RUNS if wanted is None else [run for run in RUNS if run in wanted]
    return [run for run in candidates if _gold(evalset) or not _without_gold(run)]


@contextmanager
def _forgotten(engine: Engine, evalset: EvalSet) -> Iterator[Engine]:
    """An engine on a store without gold passages: a copy, or the store itself if it is in memory."""
    gold = [passage_iri(evalset, index) for index in _gold(evalset)]
    if engine.place is None:
        retire_documents(engine.store, gold, engine.indexer)
        yield engine
        return
    with copy_of(engine, engine.settings) as copied:
        copied.budget = engine.budget
        retire_documents(copied.store, gold, copied.indexer)
        yield copied


def _head(engine: Engine, evalset: EvalSet, options: Options, settings: Mapping[str, str]) -> dict[str, Any]:
    """Everything that rows depend on; a file with another head is not continued."""
    asked = evalset.model_dump_json(exclude={"questions": {"__all__": {"document", "pages"}}})
    return {
        "set": evalset.name,
        "sha256": hashlib.sha256(asked.encode()).hexdigest(),
        "model": engine.settings.llm.model,
        "pipeline": options.pipeline,
        "settings": dict(settings),
        "extraction": options.extraction if evalset.corpus else None,
        "titles": options.titles,
        "embedding_model": engine.settings.embedding.model,
        "rerank_model": engine.settings.rerank.model,
    }


_KIND = "graphrag-rdf eval answers"


class ResultsFile:
    """The first line has the settings of the evaluation, each further line is a row.

    Args:
        path: continued if it exists; an incomplete last line is dropped. None: rows in memory only.
        head: everything that the rows depend on.
        command: that writes the file.

    Attributes:
        rows: of the file, and added ones.

    Raises:
        UsageError: the file cannot be read or written, is of another kind, or was made with other settings.
    """

    def __init__(self, path: Path | None, head: Mapping[str, Any], command: str = _KIND) -> None:
        self.path = path
        self._command = command
        self.rows: list[dict[str, Any]] = []
        if path is None:
            return
        first = {"results_of": command, **json.loads(json.dumps(head))}
        try:
            if path.exists() and path.stat().st_size:
                self._read(path, first)
            else:
                self._write(first)
        except OSError as error:
            raise UsageError(f"{path}: {system_cause(error)}") from error

    def add(self, row: dict[str, Any]) -> None:
        """Add a row, and sync it to disk."""
        self.rows.append(row)
        if self.path is not None:
            self._write(row)

    def _write(self, row: Mapping[str, Any]) -> None:
        assert self.path is not None  # noqa: S101
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self, path: Path, first: Mapping[str, Any]) -> None:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        try:
            head, *self.rows = map(json.loads, whole.splitlines())
            fits = head.get("results_of") == self._command
        except (ValueError, AttributeError):
            fits = False
        if not fits:
            command = self._command.removeprefix("graphrag-rdf ")
            raise UsageError(
                tr("{path} is not a file of {command}").format(path=path, command=command),
                hint=tr("name another file with --out"),
            )
        before, current = _flat(head), _flat(first)
        changed = [key for key in {**current, **before} if before.get(key) != current.get(key)]
        if changed:
            changes = "; ".join(
                f"{key} {_short(before.get(key))}, now {_short(current.get(key))}" for key in changed
            )
            raise UsageError(
                tr("{path} was made with other settings: {told}").format(path=path, told=changes),
                hint=tr("name another file with --out"),
            )
        if len(whole) < len(data):
            os.truncate(path, len(whole))


def _flat(head: Mapping[str, Any]) -> dict[str, Any]:
    """The head with each of its settings under that setting's name."""
    return {**head, "settings": None, **(head.get("settings") or {})}


def _short(value: object) -> str:
    if value is None:
        return "not set"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
