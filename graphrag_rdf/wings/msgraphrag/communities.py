"""Communities of the tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, XSD, Graphs
from graphrag_rdf.rdf.terms import double, integer
from graphrag_rdf.store.records import COMMUNITIES
from graphrag_rdf.wings.communities.build import CENTRAL
from graphrag_rdf.wings.msgraphrag.found import Found, ImportedEdge
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from graphrag_rdf.wings.msgraphrag.rows import CommunityRow
from graphrag_rdf.wings.msgraphrag.tables import Tables

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(slots=True)
class Community:
    """A community of the tables; its members are canonical entities."""

    row: CommunityRow
    iri: NamedNode
    members: list[NamedNode]
    edges: list[ImportedEdge]
    chunks: list[NamedNode] = field(default_factory=list)


def quad(s: NamedNode, p: NamedNode, o: NamedNode | Literal) -> Quad:
    """A quad of the graph of communities."""
    return Quad(s, p, o, Graphs.COMMUNITY)


def read_communities(tables: Tables, found: Found, report: TablesReport) -> dict[int, Community]:
    """Number → community."""
    out: dict[int, Community] = {}
    named: set[NamedNode] = set()
    for row in tables.communities:
        members = _members(row, found, report)
        edges = _listed_edges(row, found, report)
        if not members:  # before 1.0, rows have no list of entities
            members = list(dict.fromkeys(end for edge in edges for end in _ends(edge, found)))
        if row.community is None:
            report.note("communities", row.name, "malformed", "no community")
        elif not members:
            report.note("communities", row.name, "no_members")
        else:
            iri = iris.community(_level(row), sorted(member.value for member in members))
            if row.community in out or iri in named:
                report.note("communities", row.name, "duplicate", str(row.community))
                continue
            named.add(iri)
            out[row.community] = Community(row, iri, members, edges, found.chunks_of(row.text_unit_ids))
    for row in tables.communities:
        if unknown := [unit for unit in row.text_unit_ids if unit not in found.chunks]:
            report.note("communities", row.name, "unknown_text_unit", f"{len(unknown)}")
    if "communities" in report.tables:
        report.tables["communities"].imported = len(out)
    return out


def _members(row: CommunityRow, found: Found, report: TablesReport) -> list[NamedNode]:
    known = [found.entities[id_].canonical for id_ in row.entity_ids if id_ in found.entities]
    if len(known) < len(row.entity_ids):
        report.note("communities", row.name, "unknown_entity", f"{len(row.entity_ids) - len(known)}")
    return list(dict.fromkeys(known))


def _listed_edges(row: CommunityRow, found: Found, report: TablesReport) -> list[ImportedEdge]:
    known = [found.edges[id_] for id_ in row.relationship_ids if id_ in found.edges]
    if len(known) < len(row.relationship_ids):
        report.note(
            "communities", row.name, "unknown_relationship", f"{len(row.relationship_ids) - len(known)}"
        )
    return known


def _ends(edge: ImportedEdge, found: Found) -> Iterator[NamedNode]:
    """The canonical ends of an edge that rows describe."""
    for end in (edge.fact[0], edge.fact[2]):
        if end in found.canonical:
            yield found.canonical[end]


def community_quads(each: Community, all_: Mapping[int, Community]) -> Iterator[Quad]:
    """A community with its members and chunks.

    Args:
        all_: number → community.
    """
    iri, row = each.iri, each.row
    yield quad(iri, RDF.type, RAG.Community)
    yield quad(iri, RAG.level, integer(_level(row)))
    yield quad(iri, RAG.memberCount, integer(len(each.members)))
    yield quad(iri, RAG.edgeCount, integer(len(each.edges)))
    weights = [edge.row.weight if edge.row.weight is not None else 1.0 for edge in each.edges]
    yield quad(iri, RAG.edgeWeight, double(sum(weights)))
    yield quad(iri, PROV.wasGeneratedBy, COMMUNITIES)
    parent = all_.get(row.parent) if row.parent is not None else None
    if parent is not None and parent is not each:
        yield quad(iri, DCTERMS.isPartOf, parent.iri)
    for member in each.members:
        yield quad(iri, PROV.hadMember, member)
    for member in _central(each):
        yield quad(iri, RAG.centralEntity, member)
    for chunk in each.chunks:
        yield quad(iri, RAG.textUnit, chunk)
    if row.period and _DAY.fullmatch(row.period[:10]):
        yield quad(iri, DCTERMS.created, Literal(row.period[:10], datatype=XSD.date))


def _central(each: Community) -> list[NamedNode]:
    """The members with the greatest weights within it."""
    weights: dict[NamedNode, float] = defaultdict(float)
    for edge in each.edges:
        for end in (edge.fact[0], edge.fact[2]):
            weights[end] += edge.row.weight if edge.row.weight is not None else 1.0
    return sorted(each.members, key=lambda member: (-weights[member], member.value))[:CENTRAL]


def _level(row: CommunityRow) -> int:
    return max(row.level or 0, 0)
