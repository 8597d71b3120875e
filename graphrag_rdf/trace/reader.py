"""Reading a trace back: its triples in one query, and from them the items that its step kinds declare."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Any

from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import Term, local_name, text_of
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.trace.documents import Source, read_source, with_names
from graphrag_rdf.trace.facts import decided_against, label_of, read_labels
from graphrag_rdf.trace.feedback import read_marks
from graphrag_rdf.trace.foreign import (
    OWN,
    containers_of,
    form_of,
    in_our_terms,
    pipeline_of,
    places_of,
    selected_of,
    steps_of,
    with_undeclared,
)
from graphrag_rdf.trace.kinds import (
    WARNING,
    ItemKind,
    Node,
    NodeKind,
    Statement,
    StepField,
    as_number,
    node_kinds,
    place_in_list,
    read_item,
    value_of,
)
from graphrag_rdf.trace.model import CALL, DecisionNote, Described, Fact, SubRun, Trace, TraceStep
from graphrag_rdf.trace.outcomes import FOREIGN
from graphrag_rdf.trace.values import all_as_written

_EVERYWHERE = (WARNING, CALL)
_NONE: Node = {}
_ERRORS_LAST = TG.Error.__eq__
_OF_ALL_STEPS = frozenset(
    {
        *(RDF.type, RDFS.label, PROV.wasGeneratedBy, PROV.wasDerivedFrom, PROV.generatedAtTime),
        *(RAG.startedAt, RAG.durationMs, RAG.mode, TG.llmModel, TG.inToken, TG.outToken),
        *(kind.link for kind in _EVERYWHERE),
    }
)


def read_trace(
    store: Store,
    iri: NamedNode | str,
    blobs: BlobStore | None = None,
    *,
    with_runs: bool = False,
    above: Set[NamedNode] = frozenset(),
) -> Trace:
    """A trace with all its steps, selections and sources.

    Args:
        iri: its session (see `catalogue.find_trace` for other names of a trace).
        blobs: where answers are that are too long for the graph; without it they are None.
        with_runs: also read the runs that steps started, and those that these started.
        above: runs that are not read again, because they started this one.

    Raises:
        UsageError: when there is no such session.
    """
    session = NamedNode(iri) if isinstance(iri, str) else iri
    reading = Reading(store, session)
    if PROV.startedAtTime not in reading.nodes.get(session, _NONE):
        raise UsageError(
            tr("there is no trace {session}").format(session=session.value),
            hint=tr("graphrag-rdf trace list shows what is stored"),
        )
    node = reading.nodes[session]
    sub_runs = defaultdict(list)
    for row in reading.sub_runs():
        sub_runs[row["step"]].append(SubRun(row["session"], row["question"]))
    steps = _in_order(
        [_step(reading, node, sub_runs[node.value], blobs) for node in reading.steps], reading.before()
    )
    reading.complete()
    above = {*above, session}
    below = (NamedNode(run.session) for step in steps for run in step.sub_runs) if with_runs else ()
    runs = (read_trace(store, run, blobs, with_runs=True, above=above) for run in below if run not in above)
    trace = Trace(
        iri=session.value,
        kind=_first(node, RAG.pipeline) or pipeline_of(session.value, node.get(RDF.type, ())),
        form=reading.form,
        runs={run.iri: run for run in runs},
        label=_first(node, RDFS.label),
        question=_first(node, TG.query) or "",
        question_iri=next((step.iri for step in steps if step.kind == "question"), None)
        or (session.value if TG.Question in node.get(RDF.type, ()) else None),
        started=_moment(node, PROV.startedAtTime),
        ended=_moment(node, PROV.endedAtTime),
        ms=_whole(node, RAG.durationMs),
        outcome=_first(node, RAG.outcome) if reading.form == OWN else FOREIGN,
        stopped_by=_first(node, RAG.stoppedBy),
        model=_first(node, TG.llmModel),
        parameters=json.loads(_first(node, RAG.parameters) or "{}"),
        commit=_whole(node, RAG.commit),
        source_forgotten=bool(_first(node, RAG.sourceForgotten)),
        erased=_moment(node, RAG.erasedAtTime),
        steps=steps,
        marks=tuple(read_marks(store, session)),
        continues=_text(node, RAG.continues),
        pipeline_hash=_first(node, RAG.pipelineHash),
        include=_sorted(node, RAG.includedEntity),
        exclude=_sorted(node, RAG.excludedEntity),
    )
    for selection in trace.selections:
        selection.label = None if selection.marker is None else trace.citation(selection.marker)
    return trace


class Reading:
    """What a trace says, and what else the store knows of the things in it.

    Attributes:
        nodes: node of the trace → predicate → values.
        steps: the question and the steps, in the order of their IRIs.
        form: of `foreign.FORMS`: ours, or another that is read as if it were.
    """

    def __init__(self, store: Store, session: NamedNode) -> None:
        self.store = store
        self.session = session
        nodes: defaultdict[NamedNode, defaultdict[NamedNode, list[Term]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for quad in trace_quads(store, session, with_sources=False):
            if isinstance(quad.subject, NamedNode):  # our traces have no blank nodes
                nodes[quad.subject][quad.predicate].append(quad.object)
        self.nodes: Mapping[NamedNode, Node] = nodes
        self._incomplete: defaultdict[Callable[..., None], list[Any]] = defaultdict(list)
        self.form = form_of(nodes.get(session, _NONE))
        if self.form == OWN:
            self.steps = [
                node
                for node, node_properties in nodes.items()
                if session in node_properties.get(PROV.wasGeneratedBy, ())
            ]
        else:
            self.steps = steps_of(session, nodes)
            in_our_terms(self.steps, nodes, node_kinds())

    def kind(self, node: NamedNode) -> NodeKind:
        """The kind of a step; of one that nobody declared what its own triples say."""
        types = [
            rdf_type for rdf_type in self.nodes[node].get(RDF.type, ()) if isinstance(rdf_type, NamedNode)
        ]
        declared = node_kinds()
        # an observation of TrustGraph that failed is an error, too
        kind = next(
            (declared[rdf_type] for rdf_type in sorted(types, key=_ERRORS_LAST) if rdf_type in declared), None
        )
        if kind is not None and self.form != OWN:
            return with_undeclared(kind, self.nodes[node], self.nodes, _OF_ALL_STEPS)
        return kind or self._undeclared(node, sorted(types, key=str))

    def _undeclared(self, node: NamedNode, types: Sequence[NamedNode]) -> NodeKind:
        own = next((rdf_type for rdf_type in types if rdf_type != PROV.Entity), PROV.Entity)
        name = local_name(own.value).removesuffix("Step").lower() or "step"
        links = {
            predicate
            for predicate, values in self.nodes[node].items()
            if predicate not in _OF_ALL_STEPS and any(value in self.nodes for value in values)
        }
        values = sorted(self.nodes[node].keys() - _OF_ALL_STEPS - links, key=str)
        return NodeKind(
            name,
            own,
            "A step of a kind that this program does not know.",
            fields=tuple(
                StepField(local_name(predicate.value), predicate, read=list) for predicate in values
            ),
            items=tuple(
                ItemKind(local_name(link.value), local_name(link.value), link, None, Described)
                for link in sorted(links, key=str)
            ),
        )

    def items(self, node: NamedNode, kinds: Sequence[ItemKind]) -> dict[str, list[Any]]:
        """The items of a node by the key of their kind, in their order."""
        by_key: dict[str, dict[NamedNode, Any]] = {}
        for kind in kinds:
            items_here = by_key.setdefault(kind.key, {})
            for iri in self.nodes[node].get(kind.link, ()):
                if isinstance(iri, NamedNode) and iri not in items_here and self._is(iri, kind):
                    items_here[iri] = self._item(kind, iri)
        listed = {
            key: [
                items_here[iri]
                for iri in sorted(items_here, key=lambda iri: place_in_list(iri, self.nodes[iri]))
            ]
            for key, items_here in by_key.items()
        }
        for kind in kinds:
            if kind.of_terms:
                listed[kind.key] = self._of_terms(node, kind)
            elif kind.computed is not None and not listed[kind.key]:
                listed[kind.key] = self._to_complete(kind, kind.computed(self, node))
        return listed

    def _of_terms(self, node: NamedNode, kind: ItemKind) -> list[Any]:
        """The items of a kind that is written as triple terms, sorted by these."""
        terms = (term for term in self.nodes[node].get(kind.link, ()) if isinstance(term, Triple))
        items = [kind.make(value_of(term)) for term in sorted(terms, key=str)]
        return self._to_complete(kind, [item for item in items if item is not None])

    def _to_complete(self, kind: ItemKind, items: Sequence[Any]) -> list[Any]:
        if kind.complete is not None:
            self._incomplete[kind.complete] += items
        return [*items]

    def complete(self) -> None:
        """Add to the items that were read what other graphs know of them."""
        for complete, items in self._incomplete.items():
            complete(self, items)

    def _is(self, iri: NamedNode, kind: ItemKind) -> bool:
        return iri in self.nodes and kind.type in (None, *self.nodes[iri].get(RDF.type, ()))

    def _item(self, kind: ItemKind, iri: NamedNode) -> Any:
        if kind.make is Described:
            return Described.of(iri, self.nodes[iri])
        item = read_item(kind.make, self.nodes[iri])
        item.iri = iri
        for name, part in kind.parts.items():
            setattr(item, name, self.items(iri, [part])[part.key])
        if kind.complete is not None:
            self._incomplete[kind.complete].append(item)
        return item

    def sub_runs(self) -> Sequence[Row]:
        """The runs that steps started: `step`, `session`, `question`."""
        if self.form == OWN:
            return self.store.select("trace/sub-runs", session=self.session)
        return self.store.select("trace/foreign-sub-runs", steps=self.steps) if self.steps else ()

    def before(self) -> Mapping[str, int]:
        """Of steps whose times nobody recorded, after how many others they come."""
        if self.form == OWN or not self.steps:
            return {}
        rows = self.store.select("trace/foreign-order", steps=self.steps)
        return {row["step"]: row["before"] for row in rows}

    # --- what other graphs know ----------------------------------------------------------------------

    def subjects(self, predicate: NamedNode, value: Term) -> list[NamedNode]:
        """The nodes of the trace that say this of something."""
        return self._subjects.get((predicate, value), [])

    @cached_property
    def _subjects(self) -> Mapping[tuple[NamedNode, Term], list[NamedNode]]:
        subjects: defaultdict[tuple[NamedNode, Term], list[NamedNode]] = defaultdict(list)
        for node, node_properties in self.nodes.items():
            for predicate, values in node_properties.items():
                for value in values:
                    subjects[predicate, value].append(node)
        return subjects

    def text(self, node: NamedNode, predicate: NamedNode) -> str | None:
        """What a node of the trace says, as text."""
        return _text(self.nodes.get(node, _NONE), predicate)

    def number(self, node: NamedNode, predicate: NamedNode) -> int | None:
        """What a node of the trace says, as a whole number."""
        text = _first(self.nodes.get(node, _NONE), predicate)
        return int(text) if text is not None else None

    def decimal(self, node: NamedNode, predicate: NamedNode) -> float:
        """What a node of the trace says, as a number; 0 if it says nothing."""
        text = _first(self.nodes.get(node, _NONE), predicate)
        return float(text) if text is not None else 0.0

    def labels(self, things: Iterable[Term | None]) -> Callable[[Term | None], str]:
        """What to call things: label, or the end of the IRI."""
        asked = [thing for thing in things if thing is not None]
        labels = read_labels(self.store, asked)
        return lambda thing: "" if thing is None else label_of(thing, labels)

    def facts(self, statements: Iterable[Statement | None]) -> dict[Statement, Fact]:
        """Facts with their labels; None, of one that was erased, is passed over."""
        distinct = list(dict.fromkeys(statement for statement in statements if statement is not None))
        called = self.labels(term for statement in distinct for term in statement)
        facts = all_as_written(self.store, [Fact(*each, *map(called, each)) for each in distinct])
        return dict(zip(distinct, facts, strict=True))

    def removed(self, statements: Iterable[Statement]) -> Mapping[Sequence[object], DecisionNote]:
        """What people decided since against some of the facts."""
        return decided_against(self.store, statements)

    def selects(self, statement: Statement | None) -> bool:
        """Whether a fact was selected in this trace."""
        return statement in self._selected

    @cached_property
    def _selected(self) -> Set[Statement]:
        chosen = (selection for node in self.steps for selection in self.nodes[node].get(TG.selectedEdge, ()))
        facts = (
            self.nodes[selection].get(TG.edge, ()) for selection in chosen if isinstance(selection, NamedNode)
        )
        return {value_of(value_term) for terms in facts for value_term in terms}

    def sentence_texts(self, sentences: Iterable[NamedNode | None]) -> dict[NamedNode, str]:
        """The words of sentences; those that are gone are absent."""
        asked = sorted({sentence for sentence in sentences if sentence is not None}, key=str)
        rows = self.store.select("retrieval/sentence-texts", sentences=asked) if asked else ()
        return {row["sentence"]: row["text"] for row in rows}

    def chunks(self, chunks: Iterable[NamedNode | None]) -> dict[NamedNode, Row]:
        """Rows of `retrieval/chunks`, by chunk; those that are gone are absent."""
        asked = sorted({chunk for chunk in chunks if chunk is not None}, key=str)
        rows = self.store.select("retrieval/chunks", chunks=asked) if asked else ()
        return {row["chunk"]: row for row in rows}

    @cached_property
    def sources(self) -> Mapping[str, list[Source]]:
        """The sources of selections: quotes of facts, sentences, whole chunks where neither says which part,
        what facts came from that were read from no text, and what of all this is gone.
        """
        by_item: defaultdict[str, list[Source]] = defaultdict(list)
        for row in self._source_rows():
            source = read_source(row)
            if source not in by_item[row["item"]]:
                by_item[row["item"]].append(source)
        for row in self.store.select("trace/lost-sources", session=self.session):
            document = row["document"] or ""
            lost = Source(document, "", "", row["chunk"], state="forgotten")
            by_item[row["item"]].append(lost)
        named = iter(with_names(self.store, [source for group in by_item.values() for source in group]))
        return defaultdict(list, {item: [next(named) for _ in group] for item, group in by_item.items()})

    def _source_rows(self) -> Iterator[Row]:
        if self.form != OWN:
            yield from places_of(self.store, self.nodes)
            return
        for name in ("evidence", "sentence-sources", "chunk-sources", "origins"):
            yield from self.store.select(f"trace/{name}", session=self.session)


def _step(
    reading: Reading, node: NamedNode, sub_runs: Sequence[SubRun], blobs: BlobStore | None
) -> TraceStep:
    node_properties, kind = reading.nodes[node], reading.kind(node)
    return TraceStep(
        iri=node.value,
        declared=kind,
        derived_from=_sorted(node_properties, PROV.wasDerivedFrom),
        started=_moment(node_properties, RAG.startedAt),
        ended=_moment(node_properties, PROV.generatedAtTime),
        ms=_whole(node_properties, RAG.durationMs),
        mode=_first(node_properties, RAG.mode),
        model=_first(node_properties, TG.llmModel),
        in_tokens=_whole(node_properties, TG.inToken),
        out_tokens=_whole(node_properties, TG.outToken),
        values={field.key: _value(node_properties, field, blobs) for field in kind.fields},
        items=reading.items(node, (*kind.items, *_EVERYWHERE)),
        sub_runs=tuple(sub_runs),
    )


def _first(node: Node, predicate: NamedNode) -> Any:
    terms = node.get(predicate)
    return value_of(terms[0]) if terms else None


def _whole(node: Node, predicate: NamedNode) -> int | None:
    terms = node.get(predicate)
    return as_number(terms[0], int) if terms else None


def _moment(node: Node, predicate: NamedNode) -> datetime | None:
    """A date and time; None also where a foreign trace has something else there."""
    value = _first(node, predicate)
    if isinstance(value, str):
        with suppress(ValueError):
            value = datetime.fromisoformat(value)
    return value if isinstance(value, datetime) else None


def _text(node: Node, predicate: NamedNode) -> str | None:
    terms = node.get(predicate)
    return text_of(terms[0]) if terms else None


def _sorted(node: Node, predicate: NamedNode) -> tuple[str, ...]:
    return tuple(sorted(text_of(value) for value in node.get(predicate, ())))


def _value(node: Node, field: StepField, blobs: BlobStore | None) -> Any:
    terms = node.get(field.predicate, ())
    if field.read is not None:
        return field.read([value_of(value) for value in terms])
    if terms:
        return value_of(terms[0])
    kept = _first(node, field.stored) if field.stored is not None else None
    return blobs.text(kept.value) if blobs is not None and isinstance(kept, NamedNode) else None


def _in_order(steps: Sequence[TraceStep], places: Mapping[str, int]) -> tuple[TraceStep, ...]:
    """The question, then steps as they began; what began at once in the order in which it derives.

    Args:
        places: of steps without times.
    """
    by_iri = {step.iri: step for step in steps}
    depths: dict[str, int] = {**places}

    def depth(step: TraceStep) -> int:
        if step.iri not in depths:
            depths[step.iri] = 0  # a trace that is written by others may go round
            before = [by_iri[iri] for iri in step.derived_from if iri in by_iri]
            depths[step.iri] = 1 + max(map(depth, before), default=-1)
        return depths[step.iri]

    ordered = sorted(steps, key=lambda step: (depth(step), step.iri))
    return tuple(
        sorted(
            ordered,
            key=lambda step: (step.kind != "question", step.started.timestamp() if step.started else 0),
        )
    )


def trace_quads(store: Store, session: NamedNode, *, with_sources: bool = True) -> list[Quad]:
    """The quads of a trace, with triple terms whatever the store's dialect, sorted for people."""
    quads = _in_graph(store.construct("trace/graph", session=session), Graphs.RETRIEVAL)
    foreign = Quad(session, RDF.type, RAG.Session, Graphs.RETRIEVAL) not in quads
    if foreign:
        quads = _in_graph(store.construct("trace/foreign-graph", session=session), Graphs.RETRIEVAL)
    if with_sources:
        if foreign:
            containers, starts = _foreign_supports(store, quads)
        else:
            containers = store.construct("trace/containers", session=session)
            starts = {row["node"] for row in store.select("trace/supports", session=session)}
        starts |= {triple.subject for triple in containers if isinstance(triple.subject, NamedNode)}
        rows = store.select("trace/source-nodes", starts=sorted(starts, key=str)) if starts else []
        nodes = [row["node"] for row in rows]
        described = store.construct("trace/describe-sources", nodes=nodes)
        quads |= _in_graph([*containers, *described], Graphs.SOURCE)
        quads |= _in_graph(store.construct("trace/describe-decisions", nodes=nodes), Graphs.SYSTEM)
    return sorted(decode(quads) if store.renderer.dialect == "classic" else quads, key=order_of)


def _foreign_supports(store: Store, quads: Iterable[Quad]) -> tuple[list[Triple], set[NamedNode]]:
    """What contains the selected facts of a trace in TrustGraph's form, and the selected chunks."""
    nodes: defaultdict[NamedNode, defaultdict[NamedNode, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for quad in quads:
        if isinstance(quad.subject, NamedNode):
            nodes[quad.subject][quad.predicate].append(quad.object)
    facts, chunks = selected_of(nodes)
    held = containers_of(store, facts)
    return [
        Triple(subgraph, TG.contains, Triple(*fact))
        for fact, subgraphs in held.items()
        for subgraph in subgraphs
    ], {*chunks}


def _in_graph(triples: Iterable[Triple], graph: NamedNode) -> set[Quad]:
    return {Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples}


def order_of(quad: Quad) -> tuple[str, str, bool, str, str]:
    return (
        str(quad.graph_name),
        str(quad.subject),
        quad.predicate != RDF.type,
        str(quad.predicate),
        str(quad.object),
    )
