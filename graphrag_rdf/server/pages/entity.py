"""The page of an entity: what it is called, what is said of it, and where it is mentioned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.server.pages.links import Links
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.drawing import Edge, Node, draw
from graphrag_rdf.trace.labels import label_of, read_labels
from graphrag_rdf.trace.model import Fact

if TYPE_CHECKING:
    from markupsafe import Markup

_FACTS, _MENTIONS, _DRAWN = 500, 50, 12
"""Facts, sentences, and neighbours in the drawing; a hub has more (ask SPARQL)."""


def entity_page(service: Service, iri: NamedNode) -> str:
    """An entity, together with those that are one with it."""
    store, links = service.engine.store, links_of(service)
    found = store.select("server/members", entity=iri)
    members = [rows.node(row, "member") for row in found] or [iri]
    canonical = rows.node(found[0], "canonical") if found else iri
    names = store.select("server/entity-names", members=members)
    facts = store.select("server/entity-facts", members=members, limit=_FACTS)
    labels = read_labels(store, [*members, *(row[name] for row in facts for name in "spo"), *_types(names)])
    out = [_fact(row, labels) for row in facts if rows.truth(row, "out")]
    into = [_fact(row, labels) for row in facts if not rows.truth(row, "out")]
    label = label_of(canonical, labels)
    called = {text_of(row["value"]) for row in names if row["property"] != RDF.type}
    return render(
        "entity",
        "/entities",
        iri=canonical.value,
        label=label,
        members=[member.value for member in members if member != canonical],
        aliases=sorted(called - {label}),
        types=[(text_of(kind), label_of(kind, labels)) for kind in _types(names)],
        out=sorted(out, key=_by_relation),
        into=sorted(into, key=_by_relation),
        cut=_FACTS if len(facts) == _FACTS else None,
        mentions=store.select("server/entity-mentions", members=members, limit=_MENTIONS),
        text=rows.must,
        drawing=_drawing(label, canonical, members, out, into, links),
        href=links,
        href_document=links.document,
    )


def _types(names: Sequence[Row]) -> list[NamedNode]:
    return [rows.node(row, "value") for row in names if row["property"] == RDF.type]


def _fact(row: Row, labels: dict[str, str]) -> Fact:
    s, p, o = rows.node(row, "s"), rows.node(row, "p"), row["o"]
    assert isinstance(o, NamedNode | Literal)  # noqa: S101 - facts have no other objects
    return Fact(s, p, o, *(label_of(term, labels) for term in (s, p, o)))


def _by_relation(fact: Fact) -> tuple[str, str, str]:
    return fact.p_label, fact.s_label, fact.o_label


def _drawing(
    label: str,
    centre: NamedNode,
    members: Sequence[NamedNode],
    out: Sequence[Fact],
    into: Sequence[Fact],
    links: Links,
) -> Markup | None:
    """The entity and its neighbours."""
    nodes = {centre.value: Node(centre.value, label, None, start=True)}
    edges: dict[tuple[str, str, str], Edge] = {}
    own = {member.value for member in members}
    for fact in (*out, *into):
        if not isinstance(fact.o, NamedNode):
            continue
        ends = [centre.value if end in own else end for end in (fact.s.value, fact.o.value)]
        for key, name in zip(ends, (fact.s_label, fact.o_label), strict=True):
            if key not in nodes and len(nodes) <= _DRAWN:
                nodes[key] = Node(key, name, links(key))
        if ends[0] != ends[1] and all(end in nodes for end in ends):
            edges.setdefault((ends[0], ends[1], fact.p_label), Edge(ends[0], ends[1], fact.p_label))
    return draw(list(nodes.values()), list(edges.values()), f"Neighbours of {label}") if edges else None
