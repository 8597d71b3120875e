"""`/entities/{id}`: an entity with its facts, mentions and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, StringConstraints
from pyoxigraph import NamedNode
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.ingest.decisions import Person
from graphrag_rdf.ingest.entity_decisions import merge, split
from graphrag_rdf.ingest.known_links import read_links
from graphrag_rdf.ingest.resolutions import Merge, Resolution
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import local_name, text_of
from graphrag_rdf.server.http.access import may, require
from graphrag_rdf.server.http.body import is_form, read_form
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import read_json, read_request
from graphrag_rdf.server.pages.links import Links
from graphrag_rdf.server.pages.lists import history_page, links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import Forms, iri_of, represent, whole_number
from graphrag_rdf.server.routes.resource import described, statements
from graphrag_rdf.server.service import COMMIT, Service, service_of
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.drawing import Edge, Node, draw_for_screens
from graphrag_rdf.trace.facts import fact_of, label_of, read_labels
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.trace.values import all_as_written, qualifiers_of

if TYPE_CHECKING:
    from markupsafe import Markup


_FURTHEST, _BODY = 100_000, 1 << 16


async def entity(request: Request) -> Response:
    """One entity: the triples with it as subject or object; `id` is an IRI or the local part of one of ours.

    Its page shows its `facts` and `mentions` from these numbers on.
    """
    facts, mentions = (whole_number(request, name, 0, _FURTHEST) for name in ("facts", "mentions"))
    name: str = request.path_params["id"]

    def forms(service: Service) -> Forms:
        namespace = service.engine.settings.extract.namespace
        iri: NamedNode = iri_of(name if ":" in name else f"{namespace}e/{name}")
        triples = statements(service.engine.store, iri)
        if not triples:
            raise Problem(404, tr("nothing is known of {iri}").format(iri=iri))
        return Forms(
            json=lambda: described(iri, triples),
            rdf=lambda: triples,
            html=lambda: entity_page(service, request, iri, facts_from=facts, mentions_from=mentions),
        )

    return await represent(request, forms)


class SameRequest(BaseModel):
    """The body of a decision about an entity.

    Attributes:
        act: `merge` it with another one, or `split` it from those with which it was merged.
        other: label or IRI of the other one, which it then represents.
        by, reason: the person, and the reason.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    act: Literal["merge", "split"]
    other: Annotated[str, StringConstraints(max_length=4000)] | None = None
    by: Annotated[str, StringConstraints(max_length=200)] | None = None
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None


async def decide(request: Request) -> Response:
    """Merge an entity with another one, or split it from others; a form redirects to its page."""
    by_form = is_form(request)
    if by_form:
        form = await read_form(request)
        fields = {name: (form.one(name) or "").strip() or None for name in ("act", "other", "by", "reason")}
        asked = read_request(SameRequest, fields)
    require(request, "write")
    if not by_form:
        asked = await read_json(request, SameRequest, _BODY)
    service = service_of(request)
    service.require_writable()
    engine = service.engine
    name: str = request.path_params["id"]
    iri = iri_of(name if ":" in name else f"{engine.settings.extract.namespace}e/{name}")
    decisions: list[Resolution] = []

    def write() -> int:
        by, who = Person(asked.by).node, asked.by
        with engine.keeping_indexes():
            if asked.act == "split":
                decisions.extend(split(engine, [iri], by=by, name=who, reason=asked.reason))
            else:
                second = engine.entity(asked.other or "")
                wanted = Merge(iri, (iri, second), asked.reason, 1.0)
                decisions.extend(merge(engine, [wanted], by=by, name=who))
        return engine.store.commit_number()

    commit = await service.writes.run(write, long=True)  # after an ingest, not between its chunks
    service.wrote(request, commit)
    headers = {COMMIT: str(commit), "Cache-Control": "no-store"}
    if by_form:
        return RedirectResponse(links_of(service).entity(iri.value), 303, headers)
    return JSONResponse({"decisions": to_json(decisions)}, headers=headers)


# --- the page of an entity -----------------------------------------------------------------------------

_FACTS, _MENTIONS, _DRAWN = 200, 50, 12
"""Facts and sentences on a page, and neighbours in the drawing."""


def entity_page(
    service: Service,
    connection: HTTPConnection,
    iri: NamedNode,
    *,
    facts_from: int = 0,
    mentions_from: int = 0,
) -> str:
    """An entity, together with those that are one with it.

    Args:
        facts_from, mentions_from: facts and sentences to pass over.
    """
    store, links = service.engine.store, links_of(service)
    rows = store.select("server/members", entity=iri)
    members = [row["member"] for row in rows] or [iri]
    canonical = rows[0]["canonical"] if rows else iri
    names = store.select("server/entity-names", members=members)
    facts = store.select("server/entity-facts", members=members, limit=_FACTS, offset=facts_from)
    (count,) = store.select("server/entity-fact-count", members=members)

    mentions = store.select(
        "server/entity-mentions", members=members, limit=_MENTIONS + 1, offset=mentions_from
    )
    labels = read_labels(store, [*members, *(row[name] for row in facts for name in "spo"), *_types(names)])
    out = all_as_written(store, [fact_of(row, labels) for row in facts if row["out"]])
    into = [fact_of(row, labels) for row in facts if not row["out"]]
    beside = zip((*out, *into), qualifiers_of(store, [*out, *into]), strict=True)
    label = label_of(canonical, labels)
    near = store.select("entities/named-with", entity=canonical, limit=_DRAWN)
    called = {text_of(row["value"]) for row in names if row["property"] != RDF.type}
    return render(
        "entity",
        "/entities",
        iri=canonical.value,
        label=label,
        members=[member.value for member in members if member != canonical],
        linked=[(local_name(link.relation.value), link) for link in read_links(store, members)],
        aliases=sorted(called - {label}),
        types=[(text_of(kind), label_of(kind, labels)) for kind in _types(names)],
        out=sorted(out, key=_by_relation),
        into=sorted(into, key=_by_relation),
        qualifiers={(fact.s, fact.p, fact.o): "; ".join(words) for fact, words in beside},
        many=count,
        first=facts_from + 1,
        last=facts_from + len(facts),
        mentions=mentions[:_MENTIONS],
        drawing=None if facts_from else _drawing(label, canonical, members, (*out, *into), near, links),
        explore=f"/graph?{urlencode({'entity': canonical.value})}",
        history=history_page(service, entity=canonical.value),
        href=links,
        deciding=not service.read_only,
        token=not may(connection, "write"),
        turns=_turns(links.entity(iri.value), facts_from, mentions_from, sum(count.values()), len(mentions)),
    )


def _turns(address: str, facts: int, mentions: int, all_facts: int, mentioned: int) -> dict[str, str | None]:
    """The pages before and after, of facts and of mentions; the other of both stays where it is."""

    def at(facts: int, mentions: int, anchor: str) -> str:
        return f"{address}?{urlencode({'facts': facts, 'mentions': mentions})}#{anchor}"

    return {
        "facts_before": at(max(0, facts - _FACTS), mentions, "facts") if facts else None,
        "facts_after": at(facts + _FACTS, mentions, "facts") if facts + _FACTS < all_facts else None,
        "mentions_before": at(facts, max(0, mentions - _MENTIONS), "mentions") if mentions else None,
        "mentions_after": at(facts, mentions + _MENTIONS, "mentions") if mentioned > _MENTIONS else None,
    }


def _types(names: Sequence[Row]) -> list[NamedNode]:
    return [row["value"] for row in names if row["property"] == RDF.type]


def _by_relation(fact: Fact) -> tuple[str, str, str]:
    return fact.p_label, fact.s_label, fact.o_label


def _drawing(
    label: str,
    centre: NamedNode,
    members: Sequence[NamedNode],
    facts: Sequence[Fact],
    near: Sequence[Row],
    links: Links,
) -> Markup | None:
    """The entity with its neighbours by facts and, while there is room, those that sentences name with it."""
    nodes = {centre.value: Node(centre.value, label, None, start=True)}
    edges: dict[tuple[str, str, str], Edge] = {}
    own = {member.value for member in members}
    for fact in facts:
        if not isinstance(fact.o, NamedNode):
            continue
        ends = [centre.value if end in own else end for end in (fact.s.value, fact.o.value)]
        for key, name in zip(ends, (fact.s_label, fact.o_label), strict=True):
            if key not in nodes and len(nodes) <= _DRAWN:
                nodes[key] = Node(key, name, links(key))
        if ends[0] != ends[1] and all(end in nodes for end in ends):
            edges.setdefault((ends[0], ends[1], fact.p_label), Edge(ends[0], ends[1], fact.p_label))
    joined = {end for edge in edges.values() for end in (edge.source, edge.target)}
    for row in near:
        neighbour, count = row["entity"].value, row["count"]
        if neighbour in joined or len(nodes) > _DRAWN:
            continue
        nodes[neighbour] = Node(neighbour, row["name"], links(neighbour))
        title = ngettext("named together in {count} sentence", "named together in {count} sentences", count)
        edges[centre.value, neighbour, ""] = Edge(centre.value, neighbour, title.format(count=count))
    if not edges:
        return None
    return draw_for_screens(
        list(nodes.values()), list(edges.values()), tr("Neighbours of {label}").format(label=label)
    )
