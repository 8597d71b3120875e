"""Reports of communities of the tables: findings cite what their texts cite by numbers of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.rdf import community_reports as build
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.model_calls import Activity
from graphrag_rdf.wings.communities.report import SCALE
from graphrag_rdf.wings.msgraphrag.citations import Citation, parse_citations, without_citations
from graphrag_rdf.wings.msgraphrag.communities import Community
from graphrag_rdf.wings.msgraphrag.elements import reifier
from graphrag_rdf.wings.msgraphrag.extraction import COMPONENT
from graphrag_rdf.wings.msgraphrag.found import Found
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from graphrag_rdf.wings.msgraphrag.rows import ReportRow
from graphrag_rdf.wings.msgraphrag.tables import Tables

IMPORTED = "Microsoft GraphRAG"
"""In place of a model's name, which the tables do not have."""


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


class Reports:
    """Reports of communities, with citations resolved.

    Args:
        communities: number → community.
        claims: number of a row → claims, with their chunks.
    """

    def __init__(
        self,
        tables: Tables,
        communities: Mapping[int, Community],
        found: Found,
        claims: Mapping[int, Mapping[NamedNode, NamedNode]],
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
        self._number_reports()

    def _number_reports(self) -> None:
        self._numbered.clear()
        for number, row in self._rows.items():
            iri = iris.community_report(self._communities[number].iri, _hash(row))
            self._numbered.setdefault(row.number if row.number is not None else number, iri)

    def quads(self) -> Iterator[Quad]:
        """All reports that have a finding which cites something that the store has."""
        self._leave_out_empty()
        for number, row in self._rows.items():
            yield from build.report(self._facts(self._communities[number], row))
        if "community_reports" in self._report.tables:
            self._report.tables["community_reports"].imported = len(self._rows)

    def _leave_out_empty(self) -> None:
        """Leave out reports without a finding, then those of which all findings cite only these."""
        while empty := [number for number, row in self._rows.items() if not self._has_finding(row)]:
            for number in empty:
                row = self._rows.pop(number)
                self._findings(self._communities[number], row)  # their citations count, too
                self._report.note("community_reports", row.name, "no_findings", row.title)
            self._number_reports()

    def _has_finding(self, row: ReportRow) -> bool:
        for said in row.findings:
            summary, explanation, citations, _ = _read(said)
            cited = _Cited()
            if (summary or explanation) and any(self._resolve(each, cited) for each in citations):
                return True
        return False

    def _facts(self, community: Community, row: ReportRow) -> build.ReportFacts:
        findings, parts, sources = [], dict[NamedNode, None](), dict.fromkeys(community.chunks)
        for summary, explanation, cited in self._findings(community, row):
            findings.append((summary, explanation, [*cited.nodes]))
            parts |= cited.reports
            sources |= cited.chunks
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

    def _findings(self, community: Community, row: ReportRow) -> list[tuple[str, str, _Cited]]:
        """The findings that cite something: summary, explanation, what is cited. Citations are counted."""
        found = []
        for said in row.findings:
            summary, explanation, citations, more = _read(said)
            self._report.citations.more += more
            cited = self._cited(community, row, citations)
            if cited.nodes and (summary or explanation):
                found.append((summary or explanation, explanation or summary, cited))
            else:
                self._report.note("community_reports", row.name, "uncited_finding", summary)
        return found

    def _rating(self, row: ReportRow) -> tuple[float, float, str] | None:
        if row.rank is None or not 0 <= row.rank <= SCALE:
            self._report.note("community_reports", row.name, "invalid_rank", str(row.rank))
            return None
        return row.rank, SCALE, row.rank_explanation or ""

    def _cited(self, community: Community, row: ReportRow, citations: Iterable[Citation]) -> _Cited:
        """What a finding cites."""
        counts, cited = self._report.citations, _Cited()
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
            claims = self._claims.get(number, {})
            return cited.add(claims, claims.values())
        if citation.table == "text_units" and (unit := self._units.get(number)):
            chunks = found.chunks_of([unit.id])
            return cited.add(chunks, chunks)
        if citation.table == "community_reports" and number in self._numbered:
            cited.reports[self._numbered[number]] = None
            return cited.add([self._numbered[number]], ())
        return False

    def _is_inside(self, citation: Citation, community: Community) -> bool:
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


def _read(said: Mapping[str, object]) -> tuple[str, str, list[Citation], int]:
    """A finding: summary and explanation without citations, these, and how often it has "+more"."""
    texts = [str(said.get(key) or "").strip() for key in ("summary", "explanation")]
    citations, more = parse_citations(" ".join(texts))
    summary, explanation = map(without_citations, texts)
    return summary, explanation, citations, more
