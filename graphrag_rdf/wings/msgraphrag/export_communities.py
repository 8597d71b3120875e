"""Communities and reports of an export."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.store.base import Row, Store, select_in_batches
from graphrag_rdf.wings.msgraphrag.citations import write_citations
from graphrag_rdf.wings.msgraphrag.exported import Cells, Exported, Pair, list_in


def add_communities(store: Store, tables: Exported) -> None:
    """Add the communities; their relationships are those between members."""
    found: dict[str, dict[NamedNode, list[NamedNode]]] = {
        "member": defaultdict(list),
        "chunk": defaultdict(list),
    }
    for row in store.select("exchange/tables-members"):
        kind = "member" if row["member"] is not None else "chunk"
        found[kind][row["community"]].append(row[kind])
    outgoing: dict[NamedNode, list[Pair]] = defaultdict(list)
    for pair in tables.relationships.things():
        outgoing[pair[0]].append(pair)
    rows = store.select("exchange/tables-communities")
    for number, row in enumerate(rows):
        community = row["community"]
        members = found["member"][community]
        own = {*members}
        inside = [pair for member in members for pair in outgoing.get(member, ()) if pair[1] in own]
        entities = tables.entities.ids(members)
        tables.communities.add(
            community,
            community=number,
            level=row["level"],
            parent=-1,
            children=[],
            title=f"Community {number}",
            entity_ids=entities,
            relationship_ids=tables.relationships.ids(inside),
            text_unit_ids=tables.text_units.ids(found["chunk"][community]),
            period=row["day"] if row["day"] is not None else tables.day,
            size=len(entities),
        )
    for row in rows:
        if row["parent"] in tables.communities:
            child, parent = (tables.communities.row(row[key]) for key in ("community", "parent"))
            child["parent"] = parent["community"]
            list_in(parent, "children").append(child["community"])


def add_reports(store: Store, tables: Exported) -> None:
    """Add the reports, in the order of their communities; one without a rating has rank 0."""
    rows = {row["community"]: row for row in store.select("communities/reports", communities=[])}
    for community in tables.communities.things():
        if community not in rows:
            continue
        row, own = rows[community], tables.communities.row(community)
        report = tables.community_reports.add(
            row["report"],
            **{key: own[key] for key in ("community", "level", "parent", "children", "period", "size")},
            title=row["title"],
            summary=row["summary"],
            rank=row["rating"] or 0.0,
            rating_explanation=row["explanation"] or "",
        )
        report["human_readable_id"] = own["community"]
    for node, findings in _findings(store, tables).items():
        tables.community_reports.row(node)["findings"] = findings
    for report in tables.community_reports:
        report.update(_content(report))


def _findings(store: Store, tables: Exported) -> Mapping[NamedNode, list[dict[str, str]]]:
    """Report → findings, with citations by number."""
    cited: dict[NamedNode, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in store.select("exchange/tables-citations"):
        for table, number in _cited(row, tables):
            if number is not None:
                cited[row["finding"]][table].append(number)
    found: dict[NamedNode, dict[NamedNode, dict[str, str]]] = defaultdict(dict)
    reports = list(tables.community_reports.things())
    for row in select_in_batches(store, "communities/findings", "reports", reports):
        finding = node_of(row["finding"])
        explanation = f"{text_of(row['explanation'])} {write_citations(cited[finding])}".strip()
        said = {"summary": text_of(row["label"]), "explanation": explanation}
        found[node_of(row["report"])].setdefault(finding, said)
    return {report: list(own.values()) for report, own in found.items()}


def _cited(row: Row, tables: Exported) -> Iterator[tuple[str, int | None]]:
    """The table and the number of what a finding cites; None if it has no row."""
    if row["entity"] is not None:
        yield "entities", tables.entities.number(row["entity"])
    elif row["one"] is not None:
        yield "relationships", tables.relationships.number((row["one"], row["other"]))
    elif row["claim"] is not None:
        yield "covariates", tables.covariates.number(row["claim"])
    elif row["chunk"] is not None:
        yield "text_units", tables.text_units.number(row["chunk"])
    else:
        yield "community_reports", tables.community_reports.number(row["report"])


def _content(report: Cells) -> Cells:
    """The report as one text, and as JSON."""
    findings = list_in(report, "findings")
    parts = [f"# {report['title']}", str(report["summary"])]
    parts += [f"## {finding['summary']}\n\n{finding['explanation']}" for finding in findings]
    said = {"title": report["title"], "summary": report["summary"], "findings": findings}
    said |= {"rating": report["rank"], "rating_explanation": report["rating_explanation"]}
    return {
        "full_content": "\n\n".join(parts),
        "full_content_json": json.dumps(said, ensure_ascii=False, indent=4),
    }
