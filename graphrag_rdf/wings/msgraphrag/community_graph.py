"""Communities and reports of the tables, in place of those of an earlier import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import datetime_, now
from graphrag_rdf.store.base import Changes, Store, plain_quads
from graphrag_rdf.store.records import COMMUNITIES
from graphrag_rdf.wings.communities.build import built
from graphrag_rdf.wings.msgraphrag.communities import community_quads, quad, read_communities
from graphrag_rdf.wings.msgraphrag.extraction import COMPONENT
from graphrag_rdf.wings.msgraphrag.found import Found
from graphrag_rdf.wings.msgraphrag.report import TablesReport
from graphrag_rdf.wings.msgraphrag.reports import IMPORTED, Reports
from graphrag_rdf.wings.msgraphrag.tables import Tables

_KEPT = later(
    "the store has communities that were built from all its entities, so communities and reports of the "
    "tables were left out: import into another store to have them"
)


def write_communities(
    store: Store,
    tables: Tables,
    found: Found,
    claims: Mapping[int, Mapping[NamedNode, NamedNode]],
    report: TablesReport,
) -> int:
    """Make the graph of communities what the tables say.

    Args:
        claims: number of a row → claims, with their chunks.

    Returns:
        how many quads were added or removed.
    """
    if not tables.communities:
        for row in tables.community_reports:
            report.note("community_reports", row.name, "unknown_community", str(row.community))
        return 0
    if built(store) is not None:
        report.communities_kept = True
        report.warn("communities_kept", tr(_KEPT))
        return 0
    communities = read_communities(tables, found, report)
    reports = Reports(tables, communities, found, claims, report)
    wanted = {each for one in communities.values() for each in community_quads(one, communities)}
    wanted |= {*reports.quads()}
    if wanted:
        wanted |= {*_record(len(communities))}
    there = {*plain_quads(store, Graphs.COMMUNITY)}
    began = {each for each in there if (each.subject, each.predicate) == (COMMUNITIES, PROV.startedAtTime)}
    gone, new = sorted(there - wanted - began, key=str), sorted(wanted - there, key=str)
    if not gone and not new:
        return 0
    changes = Changes(remove=[*gone, *began], add=new, content=False)
    if wanted:
        changes.add.append(quad(COMMUNITIES, PROV.startedAtTime, datetime_(now())))
    store.commit(changes)
    return len(gone) + len(new)


def _record(number: int) -> Iterator[Quad]:
    """The activity that made the communities."""
    yield quad(COMMUNITIES, RDF.type, PROV.Activity)
    yield quad(COMMUNITIES, RDF.type, RAG.Import)
    yield quad(COMMUNITIES, PROV.wasAssociatedWith, iris.agent(COMPONENT))
    said = json.dumps({"imported": IMPORTED, "communities": number}, sort_keys=True)
    yield quad(COMMUNITIES, RAG.parameters, Literal(said))
