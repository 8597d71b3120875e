"""`eval answers`: are answers right, do citations hold, and does the program say when it doesn't know?

Each question is asked with the passages that answer it, and once more without them, of the pipeline and of a
baseline (see `plain`). What came of each is a row; all figures are made from rows.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import GraphRagError, LlmError
from graphrag_rdf.evaluation.corpus import ingest_corpus, passage_iri
from graphrag_rdf.evaluation.evalset import EvalSet, Question
from graphrag_rdf.evaluation.metrics import confidence95, mean
from graphrag_rdf.evaluation.pages import evidence_chunks
from graphrag_rdf.evaluation.plain import Ask, baseline
from graphrag_rdf.evaluation.results_file import ResultsFile
from graphrag_rdf.evaluation.scores import contained, exact_match, fold, token_f1, yes_or_no
from graphrag_rdf.ingest.forget import retire_documents
from graphrag_rdf.prepare import language_of
from graphrag_rdf.replay import copy_of

if TYPE_CHECKING:
    from pathlib import Path

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.work import Progress, Stop

RUNS = ("graph", "bm25", "graph-without-gold", "bm25-without-gold")
SHORTEST = "the shortest answer: a name, a number, a date, or yes or no"
"""What a model is asked to write, unless the settings say otherwise: the expected answers are as short."""

_RESPONSE_TYPE = "synthesis.response_type"
_MARKER = re.compile(r"\s*\[\d+\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+")
_JOBS = 4  # questions at once of a model, if `llm.jobs` says nothing
_ENDING = frozenset({"auth", "model", "connection", "timeout", "rate_limit", "budget"})
"""Failures of a model that the next question would have too."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured.

    Attributes:
        settings: `step.parameter` → value.
        extraction: see `corpus.extractors`.
        titles: whether passages have their titles.
        runs: which of `RUNS`; None: all. Those without gold passages need gold passages.
        limit, seed: ask a random sample of so many questions; None: all, in their order.
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
    options: Options | None = None,
    *,
    reading: Progress | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: Stop | None = None,
) -> dict[str, Any]:
    """Take in the set's corpus, if it has one, and ask its questions, with the gold passages and without.

    Questions whose answer is yes or no are left out of `contain_accuracy`: no evidence holds that word.

    Args:
        engine: the set's passages are added to its store. A store in memory loses the gold ones in the end.
        reading: hears of each passage; `progress` of (questions done, all).
        stop: asked between questions whether to end.

    Returns:
        the keys of `eval answers --format json`, of the rows that there are.

    Raises:
        UsageError: see `ResultsFile`.
        KeyboardInterrupt: stopped before all passages were read.
        LlmError: the model could not be asked at all.
    """
    options = options or Options()
    model = engine.settings.llm.model
    settings = dict(options.settings)
    chosen = engine.pipeline(options.pipeline).with_settings(settings)  # raises before anything is read
    if model is not None and "response_type" in chosen.parameters(with_model=True).get("synthesis", {}):
        settings.setdefault(_RESPONSE_TYPE, SHORTEST)
    runs = _runs(evalset, options.runs)
    asked = sample(evalset.questions, options.limit, options.seed)
    results = ResultsFile(options.keep, _head(engine, evalset, options, settings))
    work = _Work(engine, evalset, options, settings, results, stop, progress)
    todo = work.left(runs, asked)
    work.done, work.total = len(runs) * len(asked) - len(todo), len(runs) * len(asked)
    if evalset.corpus and todo:
        ingest_corpus(engine, evalset, options.extraction, titles=options.titles, progress=reading, stop=stop)
    work.gold = _holding(engine, evalset) if todo else {}
    work.ask_all(engine, [each for each in todo if not _without_gold(each[0])])
    gone = [each for each in todo if _without_gold(each[0])]
    if gone and not work.stopped:
        with _forgotten(engine, evalset) as without:
            work.ask_all(without, gone)
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


def sample(questions: Sequence[Question], limit: int | None, seed: int) -> Sequence[Question]:
    """A random sample, which a larger one of the same seed begins with; all without a limit."""
    if limit is None or limit >= len(questions):
        return questions
    shuffled = [*questions]
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - sampling, not secrecy
    return shuffled[:limit]


# --- asking --------------------------------------------------------------------------------------

_Todo = tuple[str, Question]
"""Name of a run, and what to ask in it."""


@dataclass(slots=True)
class _Work:
    """What is asked, and how far it is.

    Attributes:
        stopped: why it ended early.
        error: what it ended by.
        gold: question → documents, or chunks, that hold its answer.
    """

    engine: Engine
    evalset: EvalSet
    options: Options
    settings: Mapping[str, str]
    results: ResultsFile
    stop: Stop | None
    progress: Callable[[int, int], None] | None
    done: int = 0
    total: int = 0
    stopped: str | None = None
    error: LlmError | None = None
    failed: list[dict[str, str]] = field(default_factory=list)
    gold: Mapping[str, AbstractSet[str]] = field(default_factory=dict)

    def left(self, runs: Sequence[str], asked: Sequence[Question]) -> list[_Todo]:
        """What has no row yet: question by question, so that a part of it compares the runs."""
        known = {(row["run"], row["id"]) for row in self.results.rows}
        return [(run, q) for q in asked for run in runs if (run, q.id) not in known]

    def ask_all(self, engine: Engine, todo: Sequence[_Todo]) -> None:
        """Ask, several at once, and keep a row of each; a failed question is asked again by the next run."""
        if not todo:
            return
        systems = {name: self._system(engine, name) for name in dict.fromkeys(run for run, _ in todo)}
        jobs = engine.settings.llm.jobs or (_JOBS if engine.settings.llm.model else 1)
        waiting = iter(todo)
        running: dict[Future[dict[str, Any]], _Todo] = {}
        with ThreadPoolExecutor(jobs, "question") as threads:
            while True:
                if self.stopped is None and self.stop is not None and self.stop():
                    self.stopped = "interrupted"
                for each in islice(waiting, 0 if self.stopped else jobs - len(running)):
                    running[threads.submit(self._row, systems[each[0]], *each)] = each
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    self._take(future, *running.pop(future))

    def _take(self, future: Future[dict[str, Any]], run: str, question: Question) -> None:
        try:
            self.results.add(future.result())
        except GraphRagError as error:
            self.failed.append({"run": run, "id": question.id, "reason": error.message})
            if isinstance(error, LlmError) and error.kind in _ENDING:
                self.stopped = self.stopped or ("budget" if error.kind == "budget" else "model")
                self.error = self.error or error
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)

    def _system(self, engine: Engine, run: str) -> Ask:
        pipeline = engine.pipeline(self.options.pipeline).with_settings(self.settings)
        if run.startswith("bm25"):
            return baseline(engine, pipeline)
        if engine.settings.llm.model is not None:
            assert engine.gateway is not None  # noqa: S101 - made here, before threads want it
        stored = engine.place is not None and not _without_gold(run)  # else nobody could read the trace

        def ask(question: str) -> dict[str, Any]:
            return _ask(engine, question, self.options.pipeline, self.settings, stored=stored)

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


def _ask(
    engine: Engine, question: str, pipeline: str, settings: Mapping[str, str], *, stored: bool
) -> dict[str, Any]:
    session = last = None
    for last in engine.ask(question, pipeline, settings=settings, stored=stored):
        if last.kind == "session":
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
    """Question → the passages of the set, or the chunks of the store, that hold its answer."""
    found = {q.id: {passage_iri(evalset, index).value for index in q.gold} for q in evalset.questions}
    places = {q.id: (q.document, q.pages) for q in evalset.questions if q.document is not None}
    return found | evidence_chunks(engine, places) if places else found


def _runs(evalset: EvalSet, wanted: Collection[str] | None) -> list[str]:
    """The runs that were asked for and make sense."""
    known = RUNS if wanted is None else [run for run in RUNS if run in wanted]
    return [run for run in known if _gold(evalset) or not _without_gold(run)]


@contextmanager
def _forgotten(engine: Engine, evalset: EvalSet) -> Iterator[Engine]:
    """An engine on a store without any gold passage: a copy, or the store itself if it is in memory."""
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
    """What rows depend on; a file of other rows is not continued."""
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


# --- scores --------------------------------------------------------------------------------------


def score(
    answer: Mapping[str, Any], expected: Sequence[str], gold: AbstractSet[str], language: str | None
) -> dict[str, Any]:
    """What a row says of an answer.

    Args:
        answer: as `ask --format json` prints it.
        expected: answers of which one is enough; without any, what needs them is None.
        gold: documents, or chunks, that hold the answer; empty if they are not known.
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
        "supported": _supported(answer),
        "cited": list(dict.fromkeys(f"{source['title']}: {quote}" for source, quote in cited)),
        "warnings": [
            warning["type"] for warning in answer.get("warnings", ()) if warning["type"] not in _OURS
        ],
        "calls": usage.get("llm_calls", 0),
        "in_tokens": usage.get("in_tokens") or 0,
        "out_tokens": usage.get("out_tokens") or 0,
    }


_OURS = frozenset({"trace_not_stored", "no_llm"})
"""Warnings of how it is measured, not of the answer."""


def _supported(answer: Mapping[str, Any]) -> list[float]:
    """For each number and name of each cited sentence: 1.0 if it stands in what the sentence cites."""
    by_sentence: dict[str, list[str]] = {}
    for citation in answer.get("citations", ()):
        cited = by_sentence.setdefault(citation["sentence"], [])
        cited += [f"{source['quote'] or ''} {source['title']}" for source in citation["sources"]]
        if edge := citation.get("edge"):
            cited.append(f"{edge['s_label']} {edge['p_label']} {edge['o_label']}")
    out: list[float] = []
    for sentence, cited in by_sentence.items():
        text = _MARKER.sub("", sentence)
        evidence = fold(" ".join(cited))
        items = sorted({*_NUMBER.findall(text), *_NAME.findall(text)})
        out += [float(fold(item) in evidence) for item in items]
    return out


def figures(rows: Sequence[Mapping[str, Any]], run: str) -> dict[str, Any]:
    """The figures of a run, and of the same without the gold passages; None where no row says anything."""
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
