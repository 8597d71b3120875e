"""The recorder: writes each step of a run to the store, and says so once it is there (`written`).

A run is a `prov:Activity` (the session); the question and the steps are entities that it generated, derived
one from another. A step that fails ends the trace with a `tg:Error` node, never a dangling one. A thread
beside the run writes, because storing a step takes about as long as finding what it holds.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from typing import Literal as Choice
from weakref import WeakKeyDictionary, WeakSet

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs, expand
from graphrag_rdf.rdf.terms import Term, datetime_, double, integer, now
from graphrag_rdf.store.base import Changes, QueryRun, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.citations import Style, in_style
from graphrag_rdf.trace.kinds import ERROR, ItemKind, NodeKind, triples
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import CALL, Call
from graphrag_rdf.trace.rows import result_hash

_AGENT = iris.agent("graphrag-rdf")
INLINE_LIMIT = 1 << 16
"""Longer texts, in characters, are in the blob store only. Answers are shorter, so SPARQL reads them."""


@dataclass(frozen=True, slots=True)
class RecordedQuery:
    """A template query as traces keep it.

    Attributes:
        rows: how many it had.
        result: a hash of them, if they decide what is taken.
        cached: whether it was not run again, because the store is the same as when it was.
    """

    template: str
    sparql: str
    rows: int
    ms: int
    result: str | None = None
    cached: bool | None = None


@dataclass(slots=True)
class Step:
    """A step that is being recorded.

    Attributes:
        kind: what it declares.
        iri: its node.
        derived_from: the steps that it derives from.
        quads: what is said of it so far, without its hits.
        head: so many of them say what it is, and name no texts.
        written: so many of them are stored, or being stored.
        hits: what `write_now` stored.
        queries: that it ran.
    """

    kind: NodeKind
    iri: NamedNode
    derived_from: tuple[NamedNode, ...]
    started: datetime
    clock: float
    quads: list[Quad] = field(default_factory=list)
    head: int = 0
    written: int = 0
    hits: list[Quad] = field(default_factory=list)
    queries: list[RecordedQuery] = field(default_factory=list)
    in_tokens: int | None = None
    out_tokens: int | None = None
    model: str | None = None


@dataclass(slots=True)
class _Run:
    """What all branches of a run share."""

    writer: TraceWriter | None
    counts: Counter[str] = field(default_factory=Counter)  # steps and items, by the name of their kind
    texts: list[str] = field(default_factory=list)  # named by what is to be written next
    unwritten: dict[str, Future[None]] = field(default_factory=dict)  # by the number of the message
    messages: int = 0
    ends: dict[NamedNode, None] = field(default_factory=dict)  # steps that no other follows yet, in order
    clock: float = field(default_factory=time.perf_counter)
    steps: list[dict[str, Any]] = field(default_factory=list)
    in_tokens: int | None = None
    out_tokens: int | None = None
    cost_usd: float | None = None
    calls: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)


class TraceRecorder:
    """Records one run.

    Steps that run one after another derive from one another. `branch` gives a recorder of the same run for
    steps that run at the same time; `sub_run` gives one of a run that a step starts.

    Args:
        store: where traces go.
        blobs: where prompts, completions, rendered queries and long answers go.
        graph: the named graph of traces.
        detail: `full` keeps rendered queries, prompts and completions; `summary` leaves them out. `steps`
            also leaves out what steps found and called, for runs whose trace nobody reads.
        stored: False streams the trace without writing it (read-only servers).
        settings: the version of the settings kept in the store that is in force, if any is kept.
        citation_style: of the answer.
        continues: the earlier session that the run goes on with.
        question_types: classes of the question, as prefixed names; they decide the form of IRIs.
        asked_by: what the question derives from: steps of another run that ask it, or the question before it
            in the session that it goes on with.
        parent: what the recorders of that run share.
        run: UUID of the run; None for a random one.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        *,
        graph: NamedNode = Graphs.RETRIEVAL,
        detail: Choice["full", "summary", "steps"] = "full",
        stored: bool = True,
        settings: NamedNode | None = None,
        citation_style: Style = "number",
        continues: NamedNode | None = None,
        question_types: Sequence[str] = (),
        asked_by: Sequence[NamedNode] = (),
        parent: _Run | None = None,
        run: str | None = None,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._graph = graph
        self._detail = detail
        self._settings = settings
        self.citation_style = citation_style
        self._continues = continues
        self._question_types = tuple(question_types)
        self._asked_by = tuple(asked_by)
        self._parent = parent
        self._form = iris.trace_form(question_types)
        self.run = run or iris.new_uuid()
        self.session = iris.session(self.run)
        self.question = iris.question(self.run, self._form)
        self._shared = _Run(TraceWriter(store, blobs, self.session) if stored else None)
        self.last: tuple[NamedNode, ...] = (self.question,)
        """What the next step derives from."""
        self.began = time.monotonic()  # the run has read no text before

    def branch(self, *after: NamedNode) -> TraceRecorder:
        """A recorder of the same run, for a thread of its own, whose next step derives from these steps."""
        recorder = copy.copy(self)
        recorder.last = after or self.last
        return recorder

    def sub_run(self, question_types: Sequence[str] = ()) -> TraceRecorder:
        """A recorder of a run of its own, whose question derives from what the next step would derive from.

        The step that waits for its answer derives from that: `step(kind, after=sub.last)`.
        """
        with self._shared.lock:
            for before in self.last:
                self._shared.ends.pop(before, None)
        return TraceRecorder(
            self._store,
            self._blobs,
            graph=self._graph,
            detail=self._detail,
            stored=self._shared.writer is not None,
            settings=self._settings,
            citation_style=self.citation_style,
            question_types=question_types,
            asked_by=self.last,
            parent=self._shared,
        )

    @property
    def detail(self) -> Choice["full", "summary", "steps"]:
        """What is recorded."""
        return self._detail

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What was recorded, as an answer lists it."""
        return self._shared.steps

    @property
    def in_tokens(self) -> int | None:
        """Tokens that models read; None when unknown."""
        return self._shared.in_tokens

    @property
    def out_tokens(self) -> int | None:
        """Tokens that models wrote; None when unknown."""
        return self._shared.out_tokens

    @property
    def cost_usd(self) -> float | None:
        """What they cost; None when unknown."""
        return self._shared.cost_usd

    @property
    def calls(self) -> int:
        """Calls to models."""
        return self._shared.calls

    @property
    def answer_document(self) -> NamedNode:
        """The text of the answer, as TrustGraph's clients ask for it."""
        return iris.answer_document(self.run, self._form)

    # --- the run -----------------------------------------------------------------------------------

    def begin(
        self,
        question: str,
        *,
        pipeline: str,
        label: str,
        parameters: Mapping[str, Any],
        model: str | None,
        pipeline_hash: str | None = None,
        include: Iterable[NamedNode] = (),
        exclude: Iterable[NamedNode] = (),
    ) -> Iterable[GraphRagResponse]:
        """Record the session and the question; the two explain messages.

        Args:
            include, exclude: entities that must be, or must not be, followed.
        """
        started = now()
        quads = [
            self.quad(self.session, RDF.type, PROV.Activity),
            self.quad(self.session, RDF.type, RAG.Session),
            self.quad(self.session, RDFS.label, Literal(f"{label} session")),
            self.quad(self.session, TG.query, Literal(question)),
            self.quad(self.session, PROV.startedAtTime, datetime_(started)),
            self.quad(self.session, PROV.wasAssociatedWith, _AGENT),
            self.quad(self.session, RAG.pipeline, Literal(pipeline)),
            self.quad(self.session, RAG.parameters, Literal(json.dumps(parameters, sort_keys=True))),
            self.quad(self.session, RAG.commit, integer(self._store.commit_number())),
        ]
        if pipeline_hash:
            quads.append(self.quad(self.session, RAG.pipelineHash, Literal(pipeline_hash)))
        if self._settings is not None:
            quads.append(self.quad(self.session, RAG.settings, self._settings))
        if self._continues is not None:
            quads += [  # both: the store draws no conclusions of its own
                self.quad(self.session, link, self._continues) for link in (RAG.continues, PROV.wasInformedBy)
            ]
        for link, entities in ((RAG.includedEntity, include), (RAG.excludedEntity, exclude)):
            quads += [self.quad(self.session, link, entity) for entity in entities]
        if model:
            quads.append(self.quad(self.session, TG.llmModel, Literal(model)))
        asked = [
            self.quad(self.question, RDF.type, PROV.Entity),
            self.quad(self.question, RDF.type, TG.Question),
            *(self.quad(self.question, RDF.type, expand(name)) for name in self._question_types),
            *(self.quad(self.question, PROV.wasDerivedFrom, step) for step in self._asked_by),
            self.quad(self.question, RDFS.label, Literal(f"{label} Question")),
            self.quad(self.question, TG.query, Literal(question)),
            self.quad(self.question, PROV.generatedAtTime, datetime_(started)),
            self.quad(self.question, PROV.wasGeneratedBy, self.session),
        ]
        self.steps.append({"iri": self.question.value, "type": "question", "started": started.isoformat()})
        self._shared.ends[self.question] = None
        writing = self._write([*quads, *asked])
        yield self._message("session", self.session, quads, writing)
        yield self._message("question", self.question, asked, writing)

    def end(self, outcome: str = "completed", *, stopped_by: str | None = None) -> None:
        """Close the session: `completed`, `unanswered`, `failed` or `cancelled`; all of it is stored then.

        Args:
            stopped_by: what ended the flow, e.g. a limit; None of a sequence.

        Raises:
            StoreError: when the store refuses; the session is still open.
        """
        if self._parent is not None:
            with self._parent.lock:  # the step that waited has not begun, and may never
                self._parent.ends.update(self._shared.ends)
        if self.barred:
            outcome = "cancelled"  # steps are missing
        quads = [
            self.quad(self.session, PROV.endedAtTime, datetime_(now())),
            self.quad(self.session, RAG.outcome, Literal(outcome)),
            self.quad(self.session, RAG.durationMs, integer(self.milliseconds())),
        ]
        if stopped_by is not None:
            quads.append(self.quad(self.session, RAG.stoppedBy, Literal(stopped_by)))
        if self.cost_usd is not None:
            quads.append(self.quad(self.session, RAG.costUsd, double(self.cost_usd)))
        writer = self._shared.writer
        if writer is not None:
            if outcome not in ("completed", "unanswered"):
                writer.recover()
            writer.end(quads)

    def cancel(self) -> None:
        """Close the session of a run that nobody waits for any more.

        If several steps were under way, or a run that one started, an error node joins their ends.
        """
        ends = tuple(self._shared.ends)
        own = {step["iri"] for step in self.steps}
        if len(ends) != 1 or ends[0].value not in own:
            self._end_with_error("cancelled", tr("the client disconnected, or the run was interrupted"))
        self.end("cancelled")

    @property
    def barred(self) -> bool:
        """Whether documents were forgotten meanwhile, so that the trace is not kept."""
        return self._shared.writer is not None and self._shared.writer.barred

    def milliseconds(self) -> int:
        """Wall time of the run so far."""
        return round((time.perf_counter() - self._shared.clock) * 1000)

    # --- steps -------------------------------------------------------------------------------------

    def step(
        self, kind: NodeKind, after: Sequence[NamedNode] = (), label: str = "", number: int | None = None
    ) -> Step:
        """Begin a step.

        Args:
            after: the steps that it derives from; by default the one before it.
            label: for people; by default that of the kind.
            number: which step of its kind it is, from 1; by default they are counted as they begin.
        """
        with self._shared.lock:
            self._shared.counts[f"step {kind.name}"] += 1
            count = number or self._shared.counts[f"step {kind.name}"]
        node = iris.trace_step(kind.name, self.run, self._form, count)
        step = Step(kind, node, tuple(after) or self.last, now(), time.perf_counter())
        for rdf_type in (PROV.Entity, kind.type, *kind.types):
            self.say(step, RDF.type, rdf_type)
        self.say(step, RDFS.label, Literal(label or kind.label))
        for before in step.derived_from:
            self.say(step, PROV.wasDerivedFrom, before)
        self.say(step, PROV.wasGeneratedBy, self.session)
        self.say(step, RAG.startedAt, datetime_(step.started))
        step.head = len(step.quads)
        return step

    def say(self, step: Step, predicate: NamedNode, value: Term) -> None:
        """One triple about a step."""
        step.quads.append(self.quad(step.iri, predicate, value))

    @property
    def keeps_hits(self) -> bool:
        """Whether templates can read hits from the trace."""
        return self._shared.writer is not None and self._detail != "steps" and not self.barred

    def write_now(self, step: Step, quads: Sequence[Quad]) -> None:
        """Have quads of a step in the store before its queries read them, and what the step is.

        Its calls and their texts are written with its end, so that nothing waits for files.

        Args:
            quads: that name no texts.

        Raises:
            StoreError: when the store refuses.
        """
        fresh, step.written = [*step.quads[step.written : step.head], *quads], step.head
        step.hits += quads
        if self._shared.writer is not None:
            self._shared.writer.write(fresh, ()).result()

    def text(self, step: Step, text: str) -> None:
        """The text of a step: in the blob store, and in the graph if it is short enough."""
        self.say(step, RAG.storedText, self.keep_text(text))
        if len(text) <= INLINE_LIMIT:
            self.say(step, TG.content, Literal(text))

    def item(self, step: Step, kind: ItemKind, item: Any, owner: NamedNode | None = None) -> NamedNode:
        """A thing of a step (a selection, seed, sentence …) with its parts; its IRI, which the item has then.

        Args:
            owner: the item that it is a part of.
        """
        if self._detail == "steps":
            return step.iri
        with self._shared.lock:
            number = self._shared.counts[kind.name]
            self._shared.counts[kind.name] += 1
        node = item.iri = iris.trace_item(kind.name, self.run, number, owner or step.iri)
        step.quads.append(self.quad(owner or step.iri, kind.link, node))
        step.quads += [self.quad(node, predicate, value) for predicate, value in triples(item, kind.type)]
        for name, part in kind.parts.items():
            for part_item in getattr(item, name):
                self.item(step, part, part_item, node)
        return node

    def items(self, step: Step, kind: ItemKind, entries: Iterable[Any]) -> None:
        """Several things of a step, in their order (`index`, where they have one)."""
        for index, item in enumerate(entries):
            if hasattr(item, "index"):
                item.index = index
            self.item(step, kind, item)

    def queried(self, step: Step, run: QueryRun) -> NamedNode:
        """Record a template query that a step ran; the IRI of the call."""
        return self._ran(step, _recorded(run))

    def decided(self, step: Step, run: QueryRun) -> None:
        """Record a template query whose rows, in their order, are what was taken.

        The call gets a hash of the rows; `trace verify` runs it again and compares.
        """
        result = None if self._detail == "steps" else result_hash(run.solutions)
        self._ran(step, replace(_recorded(run), result=result))

    def cached(self, step: Step, queries: Iterable[RecordedQuery]) -> None:
        """Record queries whose rows, found before, still hold, but for those that the step has."""
        recorded = {query.sparql for query in step.queries}
        for query in queries:
            if query.sparql not in recorded:
                self._ran(step, replace(query, ms=0, cached=True))

    def _ran(self, step: Step, query: RecordedQuery) -> NamedNode:
        if self._detail == "steps":
            return step.iri
        step.queries.append(query)
        call = Call(
            "template",
            template=query.template,
            rows=query.rows,
            ms=query.ms,
            cached=query.cached,
            sparql=self._kept(query.sparql),
        )
        node = self.item(step, CALL, call)
        if query.result is not None:
            self.say(step, RAG.decidedBy, node)
            step.quads.append(self.quad(node, RAG.resultHash, Literal(query.result)))
        return node

    def called(self, step: Step, call: Call, prompt: str, completion: str) -> None:
        """Record a call to a model, and count its tokens for the step and the run.

        Args:
            call: its prompt and completion are set here.
            prompt, completion: as they were sent and received.
        """
        call.prompt, call.completion = self._kept(prompt), self._kept(completion)
        self.item(step, CALL, call)
        with self._shared.lock:  # a step may call at once
            step.model = call.model
            step.in_tokens = _plus(step.in_tokens, call.in_tokens)
            step.out_tokens = _plus(step.out_tokens, call.out_tokens)
            self._shared.in_tokens = _plus(self.in_tokens, call.in_tokens)
            self._shared.out_tokens = _plus(self.out_tokens, call.out_tokens)
            if call.cost_usd is not None:
                self._shared.cost_usd = (self.cost_usd or 0.0) + call.cost_usd
            self._shared.calls += 1

    def ran(self, step: Step, call: Call, sparql: str) -> None:
        """Record a query that no template made.

        Args:
            call: its text is set here.
        """
        call.sparql = self._kept(sparql)
        self.item(step, CALL, call)

    def reranked(self, step: Step, purpose: str, model: str, texts: int, seconds: float) -> None:
        """Record that a reranker was asked about some texts."""
        asked = f"rerank {purpose}"
        self.item(
            step, CALL, Call("rerank", purpose=asked, model=model, rows=texts, ms=round(seconds * 1000))
        )

    def finish(self, step: Step) -> GraphRagResponse:
        """Begin to write a step to the store, and make its explain message (see `written`)."""
        ended = now()
        self.say(step, PROV.generatedAtTime, datetime_(ended))
        self.say(step, RAG.durationMs, integer(round((time.perf_counter() - step.clock) * 1000)))
        if step.model:
            self.say(step, TG.llmModel, Literal(step.model))
        for predicate, count in ((TG.inToken, step.in_tokens), (TG.outToken, step.out_tokens)):
            if count is not None:
                self.say(step, predicate, integer(count))
        self.last = (step.iri,)
        with self._shared.lock:
            for before in step.derived_from:
                self._shared.ends.pop(before, None)
            self._shared.ends[step.iri] = None
        self.steps.append(
            {
                "iri": step.iri.value,
                "type": step.kind.name,
                "started": step.started.isoformat(),
                "ended": ended.isoformat(),
            }
        )
        return self._message(
            step.kind.name,
            step.iri,
            [*step.quads, *step.hits],
            self._write(step.quads[step.written :]),
            in_token=step.in_tokens,
            out_token=step.out_tokens,
            model=step.model,
        )

    def fail(self, error: Exception, kind: str) -> Iterable[GraphRagResponse]:
        """End the trace with an error node, which derives from all ends so far; the explain message and the
        final message.
        """
        explained = self._end_with_error(kind, str(error))
        more = {key: value for key in ("kind", "hint") if (value := getattr(error, key, None))}
        self.end("failed")  # before anything is seen, so that nobody who leaves now leaves it open
        if self.is_written(explained):
            yield explained
        yield GraphRagResponse(
            message_type="chunk",
            kind="error",
            message_id=self._number(),
            end_of_stream=True,
            end_of_session=True,
            error={"type": "graph-rag-error", "message": str(error), **more},
        )

    def _end_with_error(self, stage: str, reason: str) -> GraphRagResponse:
        if self._shared.writer is not None:
            self._shared.writer.recover()
        step = self.step(ERROR, after=tuple(self._shared.ends))
        self.say(step, RAG.reason, Literal(reason))
        self.say(step, RAG.stage, Literal(stage))
        return self.finish(step)

    def is_written(self, message: GraphRagResponse) -> bool:
        """Whether what a message tells is stored, or it tells nothing that is."""
        writing = self._shared.unwritten.get(message.message_id)
        return writing is None or (writing.done() and writing.exception() is None)

    def written(self, message: GraphRagResponse) -> GraphRagResponse:
        """The message, once what it tells is stored; nobody else may hear of it before.

        Raises:
            StoreError: when the store refused it.
        """
        writing = self._shared.unwritten.pop(message.message_id, None)
        if writing is not None:
            writing.result()
        return message

    def text_chunk(self, text: str, kind: str = "answer") -> GraphRagResponse:
        """A piece of the answer's text, or what a step says on the way to it (thought, action …)."""
        shown = in_style(text, self.citation_style) if kind == "answer" else text
        return GraphRagResponse(message_type="chunk", kind=kind, message_id=self._number(), response=shown)

    def pass_on(self, message: GraphRagResponse, run: TraceRecorder) -> GraphRagResponse:
        """A message of a run that a step of this one started, for whoever reads the messages of this one."""
        return replace(message, message_id=self._number(), run=message.run or run.session.value)

    def final(self, answer: dict[str, Any], model: str | None) -> GraphRagResponse:
        """The last message of a run."""
        return GraphRagResponse(
            message_type="chunk",
            kind="final",
            message_id=self._number(),
            end_of_stream=True,
            end_of_session=True,
            in_token=self.in_tokens,
            out_token=self.out_tokens,
            model=model,
            answer=answer,
        )

    # --- helpers -----------------------------------------------------------------------------------

    def keep_text(self, text: str) -> NamedNode:
        """Have the blob store keep a text, with what is written next (unless nothing is stored); its IRI."""
        self._shared.texts.append(text)
        return iris.stored_object(iris.digest(text))

    def quad(self, s: NamedNode, p: NamedNode, o: Term) -> Quad:
        """A quad of the trace graph."""
        return Quad(s, p, o, self._graph)

    def _kept(self, text: str) -> NamedNode | None:
        return self.keep_text(text) if self._detail == "full" else None

    def _message(
        self, kind: str, node: NamedNode, quads: list[Quad], writing: Future[None] | None, **details: Any
    ) -> GraphRagResponse:
        message = GraphRagResponse(
            message_type="explain",
            kind=kind,
            message_id=self._number(),
            explain_id=node.value,
            explain_graph=self._graph.value,
            explain_triples=tuple(quads),
            **details,
        )
        if writing is not None:
            self._shared.unwritten[message.message_id] = writing
        return message

    def _write(self, quads: list[Quad]) -> Future[None] | None:
        with self._shared.lock:
            texts, self._shared.texts = self._shared.texts, []
            writer = self._shared.writer
            return None if writer is None else writer.write(tuple(quads), texts)

    def _number(self) -> str:
        with self._shared.lock:
            self._shared.messages += 1
            return str(self._shared.messages - 1)


def _recorded(run: QueryRun) -> RecordedQuery:
    return RecordedQuery(run.template, run.sparql, len(run.rows), round(run.seconds * 1000))


def _plus(total: int | None, count: int | None) -> int | None:
    return total if count is None else (total or 0) + count


_threads: WeakKeyDictionary[Store, _WritingThread] = WeakKeyDictionary()
_running: WeakKeyDictionary[Store, WeakSet[TraceWriter]] = WeakKeyDictionary()
_ended: WeakKeyDictionary[Store, list[NamedNode]] = WeakKeyDictionary()
"""Sessions that ended since `watch_runs`."""
_lock = threading.Lock()


def _thread_of(store: Store) -> _WritingThread:
    with _lock:
        return _threads.setdefault(store, _WritingThread())


def end_thread(store: Store) -> None:
    """Wait for all that was begun over a store that is about to be closed, and end its thread."""
    with _lock:
        thread = _threads.pop(store, None)
    if thread is not None:
        thread.end()


def watch_runs(store: Store) -> None:
    """Note runs that end until `bar_runs`: they may have read what is forgotten now."""
    with _lock:
        _ended.setdefault(store, [])


def bar_runs(store: Store) -> list[NamedNode]:
    """Let the runs that are under way write no more steps: they may have read what is forgotten now.

    Only runs of this process are known.

    Returns:
        their sessions, as far as these are stored, and those that ended since `watch_runs`.
    """
    with _lock:
        writers, ended = list(_running.get(store, ())), _ended.pop(store, [])
    for writer in writers:
        writer.barred = True
    if writers:
        _thread_of(store).wait()  # what is being written now is stored then
    return [*ended, *(writer.session for writer in writers if writer.begun)]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a run has written at once.

    Attributes:
        quads: not changed any more.
        texts: those that the quads name.
        last: also written when the run is barred.
        done: when all is stored, or with the error.
    """

    writer: TraceWriter
    quads: Sequence[Quad]
    texts: Sequence[str]
    last: bool
    done: Future[None] = field(default_factory=Future)


class _WritingThread:
    """The one thread for all runs over a store. Whatever waits is one transaction, so a run waits for two at
    most, however many others there are.

    Not a thread for each run: RocksDB draws the heights of what it puts into a skip list from a generator of
    each thread, whose seed is the thread's place in memory. Threads that follow one another have the same
    place, so the same heights come again with every run, and lists become chains that are walked link by
    link.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "trace")
        self._waiting: deque[_Part] = deque()

    def put(self, part: _Part) -> None:
        """Begin to write."""
        self._waiting.append(part)
        try:
            self._thread.submit(self._write)
        except RuntimeError:  # the interpreter is ending, and starts no threads any more
            self._write()

    def wait(self) -> None:
        """Wait for what was begun before."""
        self._thread.submit(lambda: None).result()

    def end(self) -> None:
        """Wait for all that was begun, and end."""
        self._thread.shutdown()

    def _write(self) -> None:
        """Write all that waits: nothing if an earlier call did."""
        parts: list[_Part] = []
        with suppress(IndexError):  # at the interpreter's end several threads may take what waits
            while True:
                parts.append(self._waiting.popleft())
        if parts:
            _store_parts(parts)


def _store_parts(parts: Sequence[_Part]) -> None:
    """Store parts of runs over one store in a transaction; each in its own if that fails."""
    ready = []
    for part in parts:
        if part.writer.failure is not None:
            part.done.set_exception(part.writer.failure)
        elif part.writer.barred and not part.last:
            part.done.set_result(None)
        else:
            ready.append(part)
    if not ready:
        return
    held: list[tuple[BlobStore, NamedNode]] = []
    try:
        for part in ready:
            held += [(part.writer.blobs, part.writer.blobs.put(text, hold=True)) for text in part.texts]
        quads = [quad for part in ready for quad in part.quads]
        ready[0].writer.store.commit(Changes(add=quads, content=False, trace=True))
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        if len(ready) > 1:
            for part in ready:
                _store_parts([part])
            return
        ready[0].writer.failure = error
        ready[0].done.set_exception(error)
    else:
        for part in ready:
            part.writer.begun = True
            part.done.set_result(None)
    finally:
        for blobs, iri in held:
            blobs.release([iri])


class TraceWriter:
    """The writes of one run. After one that failed none is made, until `recover`.

    Args:
        store: where triples go.
        blobs: where long texts go, before the triples that name them.
        session: the run.

    Attributes:
        begun: something is stored.
        barred: nothing more is stored but the end, see `bar_runs`.
        failure: of a write.
    """

    def __init__(self, store: Store, blobs: BlobStore, session: NamedNode) -> None:
        self.store = store
        self.blobs = blobs
        self.session = session
        self.begun = self.barred = False
        self.failure: BaseException | None = None
        with _lock:
            _running.setdefault(store, WeakSet()).add(self)
        self._thread = _thread_of(store)
        self._last: Future[None] | None = None

    def write(self, quads: Sequence[Quad], texts: Sequence[str], *, last: bool = False) -> Future[None]:
        """Begin to write.

        Args:
            quads: not changed any more.
            texts: those that the quads name.
            last: also when the run is barred.

        Returns:
            what is done once all is written, or raises the `StoreError`.
        """
        part = _Part(self, quads, texts, last)
        self._last = part.done
        self._thread.put(part)
        return part.done

    def end(self, quads: Sequence[Quad]) -> None:
        """Write the end of the run, which no text of documents is in, and wait until it is stored.

        Raises:
            StoreError: when the store refuses.
        """
        if self.barred and not self.begun:
            return
        self.write(quads, (), last=True).result()
        with _lock:
            _running[self.store].discard(self)
            if self.store in _ended:
                _ended[self.store].append(self.session)

    def recover(self) -> None:
        """Wait for what was begun, and go on although it failed; raises nothing."""
        if self._last is not None:
            self._last.exception()
        self.failure = None
