"""The services `triples` (a pattern) and `sparql`."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import pyoxigraph as ox
from pydantic import BaseModel, ConfigDict, Field
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from starlette.requests import HTTPConnection

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PROV, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import Term, from_sparql_json, spellings, text_of
from graphrag_rdf.rdf.wording import phrase_of
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import read_request
from graphrag_rdf.server.jobs import job_of
from graphrag_rdf.server.routes.sparql import forms_for
from graphrag_rdf.server.service import client_of, service_of
from graphrag_rdf.store.base import Row, Store, languages_of
from graphrag_rdf.wings.trustgraph.terms import from_wire, to_wire, triple_to_wire, untyped

Reply: TypeAlias = tuple[dict[str, Any], bool]
"""A response, and whether it is the last one to its request."""
Replies: TypeAlias = AsyncIterator[Reply]
Found: TypeAlias = dict[str, Any]
"""A triple in the clients' JSON."""

Limit = Annotated[int, Field(ge=1, le=1_000_000)]
_ANY_GRAPH = (None, "*")
_READ, _GIVEN = 100, 95
"""TrustGraph's client reads 100 triples of a thing and takes them for all: it gets fewer, in our order."""
_IN_ORDER = 1000
"""Triples of a thing that are put in order before they are cut."""
_NUMBERED = re.compile(r"[:/](\d+)\Z")
"""The end of an IRI of a numbered thing."""


class Wire(BaseModel):
    """A request; keys that are not known are other versions'."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class _Batches(Wire):
    limit: Limit = 10_000
    streaming: bool = False
    batch_size: Annotated[int, Field(ge=1, alias="batch-size")] = 20


class TriplesRequest(_Batches):
    """A pattern; a missing part stands for anything.

    Attributes:
        g: missing or `*`: all graphs; empty: the graph of facts.
    """

    s: Any = None
    p: Any = None
    o: Any = None
    g: str | None = None


class SparqlRequest(_Batches):
    """A query."""

    query: str


async def triples(connection: HTTPConnection, request: Mapping[str, Any]) -> Replies:
    """Triples that match a pattern."""
    require(connection, "read")
    asked = read_request(TriplesRequest, dict(request))
    store = service_of(connection).engine.store
    with service_of(connection).concurrency.slot(client_of(connection)):
        matches = await asyncio.to_thread(look_up, store, asked)
    for batch, last in _batches(matches, asked):
        yield {"response": batch}, last


def _batches(matches: Sequence[Any], asked: _Batches) -> Iterator[tuple[Sequence[Any], bool]]:
    size = asked.batch_size if asked.streaming else max(1, len(matches))
    for start in range(0, max(1, len(matches)), size):
        yield matches[start : start + size], start + size >= len(matches)


def look_up(store: Store, asked: TriplesRequest) -> list[Found]:
    """See `triples`.

    Raises:
        Problem: 400 when a part is not a term.
    """
    s, p, o = (None if part is None else from_wire(part) for part in (asked.s, asked.p, asked.o))
    if not isinstance(s, NamedNode | None) or not isinstance(p, NamedNode | None):
        return []  # subjects that are blank nodes have no name that lasts
    graph = _graph(store, asked.g)
    if isinstance(o, Triple):
        return _statements(store, s, p, o, graph, asked)
    if isinstance(o, BlankNode):
        return []
    if (s, p, o) == (None, TG.query, None):
        rows = store.select("gateway/questions", limit=asked.limit)
        return [triple_to_wire(row["s"], TG.query, row["o"], Graphs.RETRIEVAL) for row in rows]
    of_traces = asked.g == Graphs.RETRIEVAL.value
    if (s, p) == (None, PROV.wasDerivedFrom) and isinstance(o, NamedNode) and of_traces:
        steps = store.select("gateway/steps", node=o)
        if steps:  # else the trace is not ours
            after = _next_steps(steps, o)[: asked.limit]
            return [triple_to_wire(step, PROV.wasDerivedFrom, o, Graphs.RETRIEVAL) for step in after]
    return _matching(store, s, p, o, graph, asked)


_SHOWN = (
    *(TG.Grounding, TG.Exploration, TG.Focus, TG.Synthesis, TG.Analysis, TG.Observation, TG.Decomposition),
    *(TG.Finding, TG.Plan, TG.StepResult, TG.Conclusion),
)
"""Classes of the steps that the client shows: no decisions; and no reranking of chunks, see below."""
_OF_CHUNKS = "urn:trustgraph:docrag:"


def _next_steps(rows: Sequence[Row], node: NamedNode) -> list[Term]:
    """The steps that the client shows after one: each comes once, after the latest that it derives from.

    Steps that it does not know are passed over.
    """
    before: defaultdict[Term, set[Term]] = defaultdict(set)
    places: dict[Term, int] = {}
    shown: dict[Term, None] = {}
    for place, row in enumerate(rows):  # in the order of time
        step = row["step"]
        before[step].add(row["before"])
        places[step] = place
        reranks = row["type"] == TG.Focus and text_of(step).startswith(_OF_CHUNKS)
        if row["type"] in _SHOWN and not reranks:
            shown[step] = None

    def latest(step: Term) -> Term | None:
        """None for what derives from itself alone: anybody can store such a trace."""
        steps: set[Term] = set()
        ahead, seen = [step], {step}
        while ahead:
            for step_before in before[ahead.pop()] - seen:
                seen.add(step_before)
                if step_before in shown or step_before not in places:  # the question is in no row
                    steps.add(step_before)
                else:
                    ahead.append(step_before)
        return max(steps, key=lambda place_of: places.get(place_of, -1), default=None)

    return [step for step in shown if node == latest(step)]


def _graph(store: Store, name: str | None) -> NamedNode | None:
    """The graph that a client names; None for any, and for that of facts."""
    if name in (*_ANY_GRAPH, ""):
        return None
    try:
        graph = NamedNode(name or "")
    except ValueError:
        raise Problem(400, tr("{name!r} is not the IRI of a graph").format(name=name)) from None
    return store.renderer.trace_graph if graph == Graphs.RETRIEVAL else graph


def _matching(
    store: Store,
    s: NamedNode | None,
    p: NamedNode | None,
    o: Term | None,
    graph: NamedNode | None,
    asked: TriplesRequest,
) -> list[Found]:
    by_text = o is not None and untyped(o) and (s is not None or p is not None)
    thing = s is not None and p is None and o is None
    most = _GIVEN if thing and asked.limit <= _READ else asked.limit
    objects: Sequence[Term | None] = [None if by_text else o]
    if o is not None and untyped(o) and not by_text:  # names have the language of their document
        objects = spellings([text_of(o)], languages_of(store.select))
    rows = [
        row if object_ is None else {"o": object_, **row}
        for object_ in objects
        for row in store.select(
            "gateway/triples",
            subject=_one(s),
            predicate=_one(p),
            object=_one(object_),
            text=_one(o if by_text else None),
            named=_one(graph),
            facts_only=asked.g == "",
            limit=max(most, _IN_ORDER) if thing else most,
        )
    ]
    bound = {name: term for name, term in (("s", s), ("p", p), ("o", o), ("g", graph)) if term is not None}
    bound_rows: list[Row] = [{**bound, **row} for row in rows]
    if not thing:
        bound_rows = bound_rows[:most]
    if not bound_rows and p == RDFS.label and s is not None and o is None and graph is None:
        bound_rows = _called(store, s)
    if s is not None and o is None:
        bound_rows = [*_added(store, s, p, graph, asked), *_ordered(store, s, bound_rows)][:most]
    facts = store.renderer.facts_graph
    graphs = (row.get("g") for row in bound_rows)
    return [
        triple_to_wire(row["s"], row["p"], row["o"], None if g == facts else g)
        for row, g in zip(bound_rows, graphs, strict=True)
    ]


def _called(store: Store, s: NamedNode) -> list[Row]:
    """What a relation of facts without a label, such as rdf:type, is called here."""
    anything: dict[str, Any] = {"subject": [], "object": [], "text": [], "named": []}
    used = store.select("gateway/triples", predicate=[s], facts_only=True, limit=1, **anything)
    return [{"s": s, "p": RDFS.label, "o": Literal(phrase_of(s.value))}] if used else []


def _one(term: Term | None) -> list[Term]:
    return [] if term is None else [term]


def _added(
    store: Store, s: NamedNode, p: NamedNode | None, graph: NamedNode | None, asked: TriplesRequest
) -> list[Row]:
    """What the client reads under other names than we write."""
    if asked.g == "":
        return []
    rows = store.select("gateway/added", subject=s)
    return [{"s": s, **row} for row in rows if p in (None, row["p"]) and graph in (None, row["g"])]


def _ordered(store: Store, s: NamedNode, statements: list[Row]) -> list[Row]:
    """The values of each predicate in their order: numbered things by number, parts of a plan as planned."""
    of_plan = any(row["p"] in (TG.planStep, TG.subagentGoal) for row in statements)
    parts = [row["text"] for row in store.select("gateway/parts", step=s)] if of_plan else []
    places = {term: number for number, term in enumerate(parts)}
    groups = {p: number for number, p in enumerate(dict.fromkeys(row["p"] for row in statements))}

    def place(row: Row) -> tuple[int, int]:
        value = row["o"]
        number = _NUMBERED.search(value.value) if isinstance(value, NamedNode) else None
        return groups[row["p"]], int(number[1]) if number else places.get(value, 0)

    return sorted(statements, key=place)


_LINKS: Mapping[NamedNode, NamedNode] = {
    TG.contains: Graphs.SOURCE,
    RDF.reifies: Graphs.SOURCE,
    TG.edge: Graphs.RETRIEVAL,
}
"""Relation to a statement → the graph that has it."""


def _statements(
    store: Store,
    s: NamedNode | None,
    p: NamedNode | None,
    o: Triple,
    graph: NamedNode | None,
    asked: TriplesRequest,
) -> list[Found]:
    """What is related to a statement. A plain literal in it stands for all with its text."""
    stated = (o.subject, o.predicate, o.object)
    if not isinstance(o.subject, NamedNode) or isinstance(o.object, Triple | BlankNode) or asked.g == "":
        return []
    edges = [stated]
    if untyped(o.object):
        subject, predicate, text = stated
        rows = store.select("gateway/literals", subject=subject, predicate=predicate, text=text)
        edges += [(subject, predicate, row["o"]) for row in rows if row["o"] != text]
    statements: list[Found] = []
    for link, place in _LINKS.items():
        at = store.renderer.trace_graph if place == Graphs.RETRIEVAL else place
        if p in (None, link) and graph in (None, at):
            quoted, selected = link == RDF.reifies, link == TG.edge
            rows = store.select(
                "gateway/statements",
                subject=_one(s),
                edges=edges,
                quoted=quoted,
                selected=selected,
                limit=asked.limit,
            )
            for row in rows:
                statement = Triple(row["o_s"], row["o_p"], row["o_o"])
                statements.append(triple_to_wire(row["s"], link, statement, at))
    return statements[: asked.limit]


# --- sparql ---------------------------------------------------------------------------------------------


async def sparql(connection: HTTPConnection, request: Mapping[str, Any]) -> Replies:
    """The result of a query; its default graph is the union of all, as in TrustGraph."""
    require(connection, "read")
    asked = read_request(SparqlRequest, dict(request))
    service = service_of(connection)
    job, _ = await job_of(
        service,
        asked.query,
        *forms_for("application/sparql-results+json, application/n-triples", "rdf12"),
        with_prefixes=True,
        union=True,
    )
    with service.concurrency.slot(client_of(connection)):
        content_type, data = await service.queries.whole(job, service.min_commit(connection))
    if content_type.startswith("application/n-triples"):
        triples = [
            triple_to_wire(t.subject, t.predicate, t.object) for t in ox.parse(data, ox.RdfFormat.N_TRIPLES)
        ]
        yield {"query-type": "construct", "triples": triples[: asked.limit]}, True
        return
    result = json.loads(data)
    if "boolean" in result:
        yield {"query-type": "ask", "ask-result": result["boolean"]}, True
        return
    names = result["head"]["vars"]
    rows = [{"values": list(_values(row, names))} for row in result["results"]["bindings"][: asked.limit]]
    for batch, last in _batches(rows, asked):
        yield {"query-type": "select", "variables": names, "bindings": batch}, last


def _values(row: Mapping[str, Any], names: Iterable[str]) -> Iterator[dict[str, Any] | None]:
    for name in names:
        yield to_wire(from_sparql_json(row[name])) if name in row else None
