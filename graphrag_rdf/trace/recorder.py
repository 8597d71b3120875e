"""The recorder: writes each step of a run to the store, and says so once it is there (`written`).

A run is a `prov:Activity` (the session); the question and the steps are entities that it generated,
derived one from another. A step that fails ends the trace with a `tg:Error` node, never a dangling one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, double, integer, now
from graphrag_rdf.store.base import QueryRun, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.writing import TraceWriter

_AGENT = iris.agent("graphrag-rdf")
INLINE_LIMIT = 4096
"""Texts longer than this many characters are in the blob store only."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call to a model, as a trace keeps it. Token counts are None when unknown."""

    purpose: str
    model: str
    prompt: str
    completion: str
    in_tokens: int | None
    out_tokens: int | None
    cost_usd: float | None
    seconds: float
    cached: bool
    cached_in_tokens: int | None = None


@dataclass(slots=True)
class Step:
    """A step that is being recorded.

    Attributes:
        kind: grounding, exploration, focus, synthesis, error.
        iri: its node.
        quads: what is said of it so far.
    """

    kind: str
    iri: NamedNode
    derived_from: NamedNode
    started: datetime
    clock: float
    quads: list[Quad] = field(default_factory=list)
    in_tokens: int | None = None
    out_tokens: int | None = None
    model: str | None = None


class TraceRecorder:
    """Records one run.

    Args:
        store: where traces go.
        blobs: where prompts, completions, rendered queries and long answers go.
        graph: the named graph of traces.
        detail: `full` keeps rendered queries, prompts and completions; `summary` leaves them out.
        stored: False streams the trace without writing it (read-only servers).
        settings: the version of the settings kept in the store that is in force, if any is kept.
        continues: the earlier session that the run goes on with.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        *,
        graph: NamedNode = Graphs.RETRIEVAL,
        detail: Choice["full", "summary"] = "full",
        stored: bool = True,
        settings: NamedNode | None = None,
        continues: NamedNode | None = None,
    ) -> None:
        self._store = store
        self._graph = graph
        self._detail = detail
        self._settings = settings
        self._continues = continues
        self.run = iris.new_uuid()
        self.session = iris.session(self.run)
        self._writer = TraceWriter(store, blobs, self.session) if stored else None
        self.question = iris.question(self.run)
        self._last: NamedNode = self.question
        self._texts: list[str] = []  # named by what is to be written next
        self._unwritten: dict[str, Future[None]] = {}  # by the number of the message that tells of it
        self._messages = 0
        self._calls = 0
        self._clock = time.perf_counter()
        self.began = time.monotonic()  # the run has read no text before
        self.steps: list[dict[str, Any]] = []
        self.in_tokens: int | None = None
        self.out_tokens: int | None = None
        self.cost_usd: float | None = None
        self.calls = 0

    # --- the run -----------------------------------------------------------------------------------

    def begin(
        self,
        question: str,
        *,
        pipeline: str,
        question_types: Sequence[NamedNode],
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
            *(self.quad(self.question, RDF.type, kind) for kind in question_types),
            self.quad(self.question, RDFS.label, Literal(f"{label} Question")),
            self.quad(self.question, TG.query, Literal(question)),
            self.quad(self.question, PROV.generatedAtTime, datetime_(started)),
            self.quad(self.question, PROV.wasGeneratedBy, self.session),
        ]
        self.steps.append({"iri": self.question.value, "type": "question", "started": started.isoformat()})
        writing = self._write([*quads, *asked])
        yield self._message("session", self.session, quads, writing)
        yield self._message("question", self.question, asked, writing)

    def end(self, outcome: str = "completed") -> None:
        """Close the session: `completed`, `unanswered`, `failed` or `cancelled`; all of it is stored then.

        Raises:
            StoreError: when the store refuses; the session is still open.
        """
        if self.barred:
            outcome = "cancelled"  # steps are missing
        quads = [
            self.quad(self.session, PROV.endedAtTime, datetime_(now())),
            self.quad(self.session, RAG.outcome, Literal(outcome)),
            self.quad(self.session, RAG.durationMs, integer(self.milliseconds())),
        ]
        if self.cost_usd is not None:
            quads.append(self.quad(self.session, RAG.costUsd, double(self.cost_usd)))
        if self._writer is not None:
            if outcome not in ("completed", "unanswered"):
                self._writer.recover()
            self._writer.end(quads)

    @property
    def barred(self) -> bool:
        """Whether documents were forgotten meanwhile, so that the trace is not kept."""
        return self._writer is not None and self._writer.barred

    def milliseconds(self) -> int:
        """Wall time of the run so far."""
        return round((time.perf_counter() - self._clock) * 1000)

    # --- steps -------------------------------------------------------------------------------------

    def step(self, kind: str, *types: NamedNode) -> Step:
        """Begin a step, derived from the one before it."""
        node = iris.trace_step(kind, self.run)
        step = Step(kind, node, self._last, now(), time.perf_counter())
        for rdf_type in (PROV.Entity, *types):
            self.say(step, RDF.type, rdf_type)
        self.say(step, RDFS.label, Literal(kind.capitalize()))
        self.say(step, PROV.wasDerivedFrom, self._last)
        self.say(step, PROV.wasGeneratedBy, self.session)
        self.say(step, RAG.startedAt, datetime_(step.started))
        return step

    def say(self, step: Step, predicate: NamedNode, value: Term) -> None:
        """One triple about a step."""
        step.quads.append(self.quad(step.iri, predicate, value))

    def item(
        self, step: Step, link: NamedNode, kind: str, index: int, *facts: tuple[NamedNode, Term | None]
    ) -> NamedNode:
        """A numbered thing of a step (a selection, seed, sentence …); facts that are None are left out."""
        node = iris.trace_item(kind, self.run, index)
        self.say(step, link, node)
        step.quads += [self.quad(node, predicate, value) for predicate, value in facts if value is not None]
        return node

    def queried(self, step: Step, run: QueryRun) -> None:
        """Record a template query that a step ran."""
        facts: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, RAG.TemplateCall),
            (RAG.template, Literal(run.template)),
            (RAG.rowCount, integer(len(run.rows))),
            (RAG.durationMs, integer(round(run.seconds * 1000))),
            (RAG.sparql, self._kept(run.sparql)),
        ]
        self._call(step, facts)

    def called(self, step: Step, call: ModelCall) -> None:
        """Record a call to a model, and count its tokens for the step and the run."""
        facts: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, RAG.LlmCall),
            (RAG.purpose, Literal(call.purpose)),
            (TG.llmModel, Literal(call.model)),
            (TG.inToken, _maybe(call.in_tokens)),
            (TG.outToken, _maybe(call.out_tokens)),
            (RAG.cachedInToken, _maybe(call.cached_in_tokens)),
            (RAG.durationMs, integer(round(call.seconds * 1000))),
            (RAG.cached, Literal(call.cached)),
            (RAG.costUsd, None if call.cost_usd is None else double(call.cost_usd)),
            (RAG.prompt, self._kept(call.prompt)),
            (RAG.completion, self._kept(call.completion)),
        ]
        self._call(step, facts)
        step.model = call.model
        step.in_tokens = _plus(step.in_tokens, call.in_tokens)
        step.out_tokens = _plus(step.out_tokens, call.out_tokens)
        self.in_tokens = _plus(self.in_tokens, call.in_tokens)
        self.out_tokens = _plus(self.out_tokens, call.out_tokens)
        if call.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + call.cost_usd
        self.calls += 1

    def reranked(self, step: Step, purpose: str, model: str, texts: int, seconds: float) -> None:
        """Record that a reranker was asked about some texts."""
        facts: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, RAG.RerankCall),
            (RAG.purpose, Literal(f"rerank {purpose}")),
            (TG.llmModel, Literal(model)),
            (RAG.rowCount, integer(texts)),
            (RAG.durationMs, integer(round(seconds * 1000))),
        ]
        self._call(step, facts)

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
        self._last = step.iri
        self.steps.append(
            {
                "iri": step.iri.value,
                "type": step.kind,
                "started": step.started.isoformat(),
                "ended": ended.isoformat(),
            }
        )
        return self._emit(
            step.kind,
            step.iri,
            step.quads,
            in_token=step.in_tokens,
            out_token=step.out_tokens,
            model=step.model,
        )

    def fail(self, error: Exception, kind: str) -> Iterable[GraphRagResponse]:
        """End the trace with an error node; the explain message and the final message."""
        if self._writer is not None:
            self._writer.recover()
        step = self.step("error", TG.Error)
        self.say(step, RAG.reason, Literal(str(error)))
        self.say(step, RAG.stage, Literal(kind))
        explained = self.finish(step)
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

    def is_written(self, message: GraphRagResponse) -> bool:
        """Whether what a message tells is stored, or it tells nothing that is."""
        writing = self._unwritten.get(message.message_id)
        return writing is None or (writing.done() and writing.exception() is None)

    def written(self, message: GraphRagResponse) -> GraphRagResponse:
        """The message, once what it tells is stored; nobody else may hear of it before.

        Raises:
            StoreError: when the store refused it.
        """
        writing = self._unwritten.pop(message.message_id, None)
        if writing is not None:
            writing.result()
        return message

    def text_chunk(self, text: str) -> GraphRagResponse:
        """A piece of the answer's text."""
        return GraphRagResponse(message_type="chunk", kind="answer", message_id=self._number(), response=text)

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
        self._texts.append(text)
        return iris.stored_object(iris.digest(text))

    def quad(self, s: NamedNode, p: NamedNode, o: Term) -> Quad:
        """A quad of the trace graph."""
        return Quad(s, p, o, self._graph)

    def _kept(self, text: str) -> NamedNode | None:
        return self.keep_text(text) if self._detail == "full" else None

    def _call(self, step: Step, facts: list[tuple[NamedNode, Term | None]]) -> None:
        self.item(step, RAG.call, "call", self._calls, *facts, (RAG.index, integer(self._calls)))
        self._calls += 1

    def _emit(self, kind: str, node: NamedNode, quads: list[Quad], **details: Any) -> GraphRagResponse:
        return self._message(kind, node, quads, self._write(quads), **details)

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
            self._unwritten[message.message_id] = writing
        return message

    def _write(self, quads: list[Quad]) -> Future[None] | None:
        texts, self._texts = self._texts, []
        return None if self._writer is None else self._writer.write(tuple(quads), texts)

    def _number(self) -> str:
        self._messages += 1
        return str(self._messages - 1)


def _maybe(count: int | None) -> Literal | None:
    return None if count is None else integer(count)


def _plus(total: int | None, count: int | None) -> int | None:
    return total if count is None else (total or 0) + count
