"""Communities and reports of the tables, in place of those of an earlier import."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.communities.build import CENTRAL, RECORD, built
from graphrag_rdf.communities.report import SCALE
from graphrag_rdf.exchange.ms_graphrag.citations import Citation, parse_citations, without_citations
from graphrag_rdf.exchange.ms_graphrag.elements import reifier
from graphrag_rdf.exchange.ms_graphrag.extraction import COMPONENT
from graphrag_rdf.exchange.ms_graphrag.found import Found, ImportedEdge
from graphrag_rdf.exchange.ms_graphrag.report import TablesReport
from graphrag_rdf.exchange.ms_graphrag.rows import CommunityRow, ReportRow
from graphrag_rdf.exchange.ms_graphrag.tables import Tables
from graphrag_rdf.rdf import community_reports as build
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import Activity
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, XSD, Graphs
from graphrag_rdf.rdf.terms import datetime_, double, integer, now
from graphrag_rdf.store.base import Changes, Store, plain_quads

IMPORTED = "Microsoft GraphRAG"
"""In place of a model's name, which the tables do not have."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_KEPT = (
    "the store has communities that were built from all its entities, so communities and reports of the "
    "tables were left out: import into another store to have them"
)


@dataclass(slots=True)
class _Community:
    """A community of the tables; its members are canonical entities."""

    row: CommunityRow
    iri: NamedNode
    members: list[NamedNode]
    edges: list[ImportedEdge]
    chunks: list[NamedNode] = field(default_factory=list)


def write_communities(
    store: Store,
    tables: Tables,
    found: Found,
    claims: Mapping[int, Sequence[NamedNode]],
    report: TablesReport,
) -> int:
    """Make the graph of communities what the tables say.

    Args:
        claims: number of a row → claims.

    Returns:
        how many quads were added or removed.
    """
    if not tables.communities:
        return 0
    if built(store) is not None:
        report.communities_kept = True
        report.warn("communities_kept", _KEPT)
        return 0
    communities = _read_communities(tables, found, report)
    reports = _Reports(tables, communities, found, claims, report)
    wanted = {quad for each in communities.values() for quad in _community(each, communities)}
    wanted |= {*reports.quads()}
    if wanted:
        wanted |= {*_record(len(communities))}
    there = {*plain_quads(store, Graphs.COMMUNITY)}
    began = {quad for quad in there if (quad.subject, quad.predicate) == (RECORD, PROV.startedAtTime)}
    gone, new = sorted(there - wanted - began, key=str), sorted(wanted - there, key=str)
    if not gone and not new:
        return 0
    changes = Changes(remove=[*gone, *began], add=new, content=False)
    if wanted:
        changes.add.append(_quad(RECORD, PROV.startedAtTime, datetime_(now())))
    store.commit(changes)
    return len(gone) + len(new)


def _quad(s: NamedNode, p: NamedNode, o: NamedNode | Literal) -> Quad:
    return Quad(s, p, o, Graphs.COMMUNITY)


def _record(number: int) -> Iterator[Quad]:
    """The activity that made the communities."""
    yield _quad(RECORD, RDF.type, PROV.Activity)
    yield _quad(RECORD, RDF.type, RAG.Import)
    yield _quad(RECORD, PROV.wasAssociatedWith, iris.agent(COMPONENT))
    said = json.dumps({"imported": IMPORTED, "communities": number}, sort_keys=True)
    yield _quad(RECORD, RAG.parameters, Literal(said))


# --- communities -----------------------------------------------------------------------------------------


def _read_communities(tables: Tables, found: Found, report: TablesReport) -> dict[int, _Community]:
    """Number → community."""
    out: dict[int, _Community] = {}
    for row in tables.communities:
        members = _members(row, found, report)
        edges = _listed_edges(row, found, report)
        if not members:  # before 1.0, rows have no list of entities
            members = list(dict.fromkeys(end for edge in edges for end in _ends(edge, found)))
        if row.community is None:
            report.note("communities", row.name, "malformed", "no community")
        elif row.community in out:
            report.note("communities", row.name, "duplicate", str(row.community))
        elif not members:
            report.note("communities", row.name, "no_members")
        else:
            iri = iris.community(row.level or 0, sorted(member.value for member in members))
            chunks = found.chunks_of(row.text_unit_ids)
            out[row.community] = _Community(row, iri, members, edges, chunks)
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


def _community(each: _Community, all_: Mapping[int, _Community]) -> Iterator[Quad]:
    iri, row = each.iri, each.row
    yield _quad(iri, RDF.type, RAG.Community)
    yield _quad(iri, RAG.level, integer(row.level or 0))
    yield _quad(iri, RAG.memberCount, integer(len(each.members)))
    yield _quad(iri, RAG.edgeCount, integer(len(each.edges)))
    weights = [edge.row.weight if edge.row.weight is not None else 1.0 for edge in each.edges]
    yield _quad(iri, RAG.edgeWeight, double(sum(weights)))
    yield _quad(iri, PROV.wasGeneratedBy, RECORD)
    parent = all_.get(row.parent) if row.parent is not None else None
    if parent is not None:
        yield _quad(iri, DCTERMS.isPartOf, parent.iri)
    for member in each.members:
        yield _quad(iri, PROV.hadMember, member)
    for member in _central(each):
        yield _quad(iri, RAG.centralEntity, member)
    for chunk in each.chunks:
        yield _quad(iri, RAG.textUnit, chunk)
    if row.period and _DAY.fullmatch(row.period[:10]):
        yield _quad(iri, DCTERMS.created, Literal(row.period[:10], datatype=XSD.date))


def _central(each: _Community) -> list[NamedNode]:
    """The members with the greatest weights within it."""
    weights: dict[NamedNode, float] = defaultdict(float)
    for edge in each.edges:
        for end in (edge.fact[0], edge.fact[2]):
            weights[end] += edge.row.weight if edge.row.weight is not None else 1.0
    return sorted(each.members, key=lambda member: (-weights[member], member.value))[:CENTRAL]


# --- reports ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Cited:
    """What a finding cites: nodes, reports among them, and the chunks behind them."""

    nodes: dict[NamedNode, None] = field(default_factory=dict)
    reports: dict[NamedNode, None] = field(default_factory=dict)
    chunks: dict[NamedNode, None] = field(default_factory=dict)

    def add(self, nodes: Iterable[NamedNode], chunks: Iterable[NamedNode]) -> bool:
        """Add nodes with their chunks; whether there are any."""
        nodes = [*nodes]
        if not nodes:
            return False
        self.nodes.update(dict.fromkeys(nodes))
        self.chunks.update(dict.fromkeys(chunks))
        return True


class _Reports:
    """Reports of communities, with citations resolved."""

    def __init__(
        self,
        tables: Tables,
        communities: Mapping[int, _Community],
        found: Found,
        claims: Mapping[int, Sequence[NamedNode]],
        report: TablesReport,
    ) -> None:
        self._found, self._claims, self._report = found, claims, report
        self._communities = communities
        self._units = {unit.number: unit for unit in tables.text_units}
        self._rows: dict[int, ReportRow] = {}
        for row in tables.community_reports:
            if row.community not in communities:
                report.note("community_reports", row.name, "unknown_community", str(row.community))
            elif row.community in self._rows:
                report.note("community_reports", row.name, "duplicate", str(row.community))
            else:
                assert row.community is not None  # noqa: S101 - it is a key
                self._rows[row.community] = row
        self._numbered: dict[int, NamedNode] = {}
        for number, row in self._rows.items():
            self._numbered.setdefault(row.number if row.number is not None else number, self._iri(number))

    def _iri(self, number: int) -> NamedNode:
        return iris.community_report(self._communities[number].iri, _hash(self._rows[number]))

    def quads(self) -> Iterator[Quad]:
        """All reports that have a finding."""
        imported = 0
        for number, row in self._rows.items():
            facts = self._facts(self._communities[number], row)
            if facts is not None:
                imported += 1
                yield from build.report(facts)
        if "community_reports" in self._report.tables:
            self._report.tables["community_reports"].imported = imported

    def _facts(self, community: _Community, row: ReportRow) -> build.ReportFacts | None:
        findings, parts, sources = [], dict[NamedNode, None](), dict.fromkeys(community.chunks)
        for said in row.findings:
            summary, explanation = (str(said.get(key) or "").strip() for key in ("summary", "explanation"))
            cited = self._cited(community, row, f"{summary} {explanation}")
            texts = [without_citations(text) for text in (summary, explanation)]
            if not all(texts):
                texts = [next(filter(None, texts), "")] * 2
            if not cited.nodes or not texts[0]:
                self._report.note("community_reports", row.name, "uncited_finding", summary)
                continue
            findings.append((texts[0], texts[1], [*cited.nodes]))
            parts |= cited.reports
            sources |= cited.chunks
        if not findings:
            self._report.note("community_reports", row.name, "no_findings", row.title)
            return None
        parts.pop(iris.community_report(community.iri, _hash(row)), None)
        return build.ReportFacts(
            community.iri,
            _hash(row),
            row.title,
            without_citations(row.summary) or row.title,
            self._rating(row),
            findings,
            Activity(COMPONENT, [*sources], model=IMPORTED),
            [*parts],
        )

    def _rating(self, row: ReportRow) -> tuple[float, float, str] | None:
        if row.rank is None or not 0 <= row.rank <= SCALE:
            self._report.note("community_reports", row.name, "invalid_rank", str(row.rank))
            return None
        return row.rank, SCALE, row.rank_explanation or ""

    def _cited(self, community: _Community, row: ReportRow, text: str) -> _Cited:
        """What a finding cites."""
        citations, more = parse_citations(text)
        counts, cited = self._report.citations, _Cited()
        counts.more += more
        for citation in citations:
            counts.total += 1
            where = f"{citation.table} {citation.number}"
            if not self._resolve(citation, cited):
                counts.dangling += 1
                self._report.note("community_reports", row.name, "dangling_citation", where)
                continue
            counts.resolved += 1
            if not self._is_inside(citation, community):
                counts.outside += 1
                self._report.note("community_reports", row.name, "outside_citation", where)
        return cited

    def _resolve(self, citation: Citation, cited: _Cited) -> bool:
        """Add what a citation means; whether there is something."""
        found, number = self._found, citation.number
        if citation.table == "entities" and number in found.entities:
            entity = found.entities[number]
            return cited.add([entity.canonical], found.chunks_of(entity.row.text_unit_ids))
        if citation.table == "relationships" and number in found.edges:
            edge = found.edges[number]
            chunks = found.chunks_of(edge.row.text_unit_ids)
            whole = reifier(edge, chunks)
            return cited.add(edge.quotes or ([whole] if whole else edge.subgraphs), chunks)
        if citation.table == "covariates":
            return cited.add(self._claims.get(number, ()), ())
        if citation.table == "text_units" and (unit := self._units.get(number)):
            chunks = found.chunks_of([unit.id])
            return cited.add(chunks, chunks)
        if citation.table == "community_reports" and number in self._numbered:
            cited.reports[self._numbered[number]] = None
            return cited.add([self._numbered[number]], ())
        return False

    def _is_inside(self, citation: Citation, community: _Community) -> bool:
        found, row = self._found, community.row
        if citation.table == "entities":
            return found.entities[citation.number].canonical in community.members
        if citation.table == "relationships" and row.relationship_ids:
            return found.edges[citation.number].row.id in row.relationship_ids
        if citation.table == "text_units":
            return self._units[citation.number].id in row.text_unit_ids
        return True


def _hash(row: ReportRow) -> str:
    findings = [sorted((key, str(value)) for key, value in said.items()) for said in row.findings]
    return iris.digest(repr((row.title, row.summary, row.rank, row.rank_explanation, findings)))
