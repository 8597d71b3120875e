"""What the store has of the rows of tables after their texts were ingested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.extract.names import fold
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.ingest.names import Minter
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.base import Store, select_in_batches
from graphrag_rdf.wings.msgraphrag.extraction import RELATED
from graphrag_rdf.wings.msgraphrag.report import TablesReport, listed
from graphrag_rdf.wings.msgraphrag.rows import EntityRow, RelationshipRow, TableRow
from graphrag_rdf.wings.msgraphrag.tables import Tables
from graphrag_rdf.wings.msgraphrag.texts import GivenText, chunks_of_units

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

Edge = tuple[NamedNode, NamedNode, NamedNode]


@dataclass(frozen=True, slots=True)
class ImportedEntity:
    """An entity that a row describes: itself, and what stands for it after merges."""

    iri: NamedNode
    canonical: NamedNode
    row: EntityRow


@dataclass(frozen=True, slots=True)
class ImportedEdge:
    """A fact of a relationship, with its quotes in the chunks, and the subgraphs that contain it."""

    fact: Edge
    quotes: tuple[NamedNode, ...]
    subgraphs: tuple[NamedNode, ...]
    row: RelationshipRow


@dataclass(slots=True)
class Found:
    """The things of the store that rows became.

    Attributes:
        chunks: text unit → chunks.
        texts: chunk → text.
        entities, edges: by id and by number of their rows; the first row of a number counts.
        all_entities, all_edges: in the order of the tables.
    """

    chunks: Mapping[str, Sequence[NamedNode]] = field(default_factory=dict)
    texts: Mapping[NamedNode, str] = field(default_factory=dict)
    entities: dict[str | int, ImportedEntity] = field(default_factory=dict)
    edges: dict[str | int, ImportedEdge] = field(default_factory=dict)
    all_entities: list[ImportedEntity] = field(default_factory=list)
    all_edges: list[ImportedEdge] = field(default_factory=list)

    @property
    def canonical(self) -> dict[NamedNode, NamedNode]:
        """Entities that rows describe, with what stands for them."""
        return {entity.iri: entity.canonical for entity in self.all_entities}

    def chunks_of(self, units: Iterable[str]) -> list[NamedNode]:
        """The chunks of text units, in order, each once."""
        return list(dict.fromkeys(chunk for unit in units for chunk in self.chunks.get(unit, ())))


def keys_of(row: TableRow) -> Iterator[str | int]:
    """The id and the number of a row, as far as it has them."""
    if row.id:
        yield row.id
    if row.number is not None:
        yield row.number


def find_imported(engine: Engine, tables: Tables, texts: Sequence[GivenText], report: TablesReport) -> Found:
    """Look up the rows in the store. Rows that it does not have are noted, with the reason."""
    store, extract = engine.store, engine.settings.extract
    written = {chunk.iri: each.text_of(chunk) for each in texts for chunk in each.chunks}
    found = Found(chunks_of_units(texts), written)
    for name, rows in (("documents", tables.documents), ("text_units", tables.text_units)):
        counts = report.tables.get(name)
        if counts is not None:
            known = found.chunks if name == "text_units" else {each.id for each in texts}
            counts.imported = sum(row.id in known for row in rows)
    minter = Minter(extract.namespace)
    fit = CandidateFilter(extract.entity_min_length)
    _find_entities(store, tables, minter, fit, found, report)
    _find_edges(store, tables, minter, fit, found, report)
    return found


def _lacks_units(table: str, row: EntityRow | RelationshipRow, found: Found, report: TablesReport) -> bool:
    """Note text units that are not there; whether there are none."""
    unknown = [unit for unit in row.text_unit_ids if unit not in found.chunks]
    lacks = len(unknown) == len(row.text_unit_ids)
    if unknown or lacks:
        report.note(table, row.name, "no_text_unit" if lacks else "unknown_text_unit", listed(unknown))
    return lacks


def _find_entities(
    store: Store, tables: Tables, minter: Minter, fit: CandidateFilter, found: Found, report: TablesReport
) -> None:
    minted = {row.title: minter.entity(row.title) for row in tables.entities if fold(row.title)}
    nodes = sorted({*minted.values()}, key=str)
    rows = select_in_batches(store, "ingest/canonical-links", "entities", nodes)
    canonical = {row["entity"]: row["canonical"] for row in rows}
    for row in tables.entities:
        if reason := fit.unfit(row.title):
            report.note("entities", row.name, "name", f"{row.title}: {reason}")
        elif not _lacks_units("entities", row, found, report) and minted[row.title] in canonical:
            entity = ImportedEntity(minted[row.title], canonical[minted[row.title]], row)
            found.all_entities.append(entity)
            for key in keys_of(row):
                found.entities.setdefault(key, entity)
    if "entities" in report.tables:
        report.tables["entities"].imported = len(found.all_entities)


def _find_edges(
    store: Store, tables: Tables, minter: Minter, fit: CandidateFilter, found: Found, report: TablesReport
) -> None:
    titles = {fold(row.title) for row in tables.entities}
    p = minter.relation(RELATED)
    wanted: list[tuple[RelationshipRow, Edge]] = []
    for row in tables.relationships:
        unfit = [f"{name}: {reason}" for name in (row.source, row.target) if (reason := fit.unfit(name))]
        if unfit:
            report.note("relationships", row.name, "name", "; ".join(unfit))
        elif not _lacks_units("relationships", row, found, report):
            wanted.append((row, (minter.entity(row.source), p, minter.entity(row.target))))
            if missing := [end for end in (row.source, row.target) if fold(end) not in titles]:
                report.note("relationships", row.name, "undescribed_end", "; ".join(missing))
    evidence = _evidence(store, [edge for _, edge in wanted], found)
    for row, edge in wanted:
        if edge in evidence:
            imported = ImportedEdge(edge, *evidence[edge], row)
            found.all_edges.append(imported)
            for key in keys_of(row):
                found.edges.setdefault(key, imported)
    if "relationships" in report.tables:
        report.tables["relationships"].imported = len(found.all_edges)


Nodes = tuple[NamedNode, ...]


def _evidence(store: Store, edges: Sequence[Edge], found: Found) -> dict[Edge, tuple[Nodes, Nodes]]:
    """The quotes of facts in the imported chunks, and the subgraphs that contain them; only stored facts."""
    quotes: dict[Edge, list[tuple[NamedNode, NamedNode]]] = defaultdict(list)
    subgraphs: dict[Edge, dict[NamedNode, None]] = defaultdict(dict)
    for row in select_in_batches(store, "communities/report-evidence", "edges", [*dict.fromkeys(edges)]):
        edge = row["s"], row["p"], node_of(row["o"])
        subgraph = row["subgraph"]
        if row["evidence"] is not None:
            quotes[edge].append((row["evidence"], subgraph))
        elif row["source"] in found.texts:
            subgraphs[edge][subgraph] = None
    return {
        edge: (tuple(dict.fromkeys(node for node, subgraph in quotes[edge] if subgraph in own)), tuple(own))
        for edge, own in subgraphs.items()
    }
