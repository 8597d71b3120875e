"""Export as the tables that Microsoft GraphRAG 3 reads.

Chunks are text units, entities that stand for others are entities. A relationship is all facts from one
entity to another. Its description is what they say. Its weight is that of imported tables, else the number of
chunks that state it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.ms_graphrag.citations import write_citations
from graphrag_rdf.exchange.ms_graphrag.numbered import Cells, Numbered
from graphrag_rdf.exchange.ms_graphrag.tables import COLUMNS, write_table
from graphrag_rdf.rdf.namespaces import RAG, RDF, SKOS
from graphrag_rdf.rdf.terms import Term, local_name, node_of, one_label, text_of, to_python
from graphrag_rdf.store.base import Row, Store, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

Pair = tuple[NamedNode, NamedNode]
_NONE = "NONE"
_MOST_QUOTES = 5  # in the description of a relationship
_DATE = "http://www.w3.org/2001/XMLSchema#date"


@dataclass(slots=True)
class TablesWritten:
    """The result of an export of tables.

    Attributes:
        tables: table → its rows.
        values: facts that are in no relationship, because their object is a literal.
        loops: pairs of names that are one entity, so that their facts are in no relationship.
    """

    tables: dict[str, int] = field(default_factory=dict)
    values: int = 0
    loops: int = 0

    def as_json(self) -> dict[str, Any]:
        """The keys of `export ms-graphrag --counts`."""
        return asdict(self)


def export_tables(engine: Engine, folder: str | Path) -> TablesWritten:
    """Write the tables into a folder, which is made if it is missing.

    Raises:
        UsageError: the store is empty, or a file cannot be written.
        ConfigError: the extra for parquet is not installed.
    """
    path = Path(folder)
    tables = _Tables(engine)
    if not tables.text_units:
        raise UsageError("the store has no chunks to export", hint="ingest documents first")
    values = sum(row["property"] != SKOS.definition for row in engine.store.select("exchange/literals"))
    report = TablesWritten(values=values, loops=tables.loops)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
    for name, columns in COLUMNS.items():
        report.tables[name] = write_table(path / f"{name}.parquet", columns, getattr(tables, name))
    return report


class _Tables:
    """The rows of all tables."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store: Store = engine.store
        self.documents: Numbered[NamedNode] = Numbered()
        self.text_units: Numbered[NamedNode] = Numbered()
        self.entities: Numbered[NamedNode] = Numbered()
        self.relationships: Numbered[Pair] = Numbered()
        self.covariates: Numbered[NamedNode] = Numbered()
        self.communities: Numbered[NamedNode] = Numbered()
        self.community_reports: Numbered[NamedNode] = Numbered()
        self.loops = 0
        self._day = ""
        self._names = _names(self._store)
        self._add_texts()
        self._add_entities()
        self._add_relationships()
        self._add_claims()
        self._refer_back()
        self._add_communities()
        self._add_reports()

    # --- documents and text units ------------------------------------------------------------------------

    def _add_texts(self) -> None:
        for row in self._store.select("exchange/tables-texts"):
            document, chunk, text = node_of(row["document"]), node_of(row["chunk"]), text_of(row["text"])
            if document not in self.documents:
                self._add_document(document, row)
            unit = self.text_units.add(
                chunk,
                text=text,
                n_tokens=count_tokens(text),
                document_id=self.documents.row(document)["id"],
            )
            _list(self.documents.row(document), "text_unit_ids").append(unit["id"])
        for document_ in self.documents:
            if document_["text"] is None:  # the blob store does not have it
                own = {*_list(document_, "text_unit_ids")}
                document_["text"] = "\n\n".join(
                    str(unit["text"]) for unit in self.text_units if unit["id"] in own
                )

    def _add_document(self, document: NamedNode, row: Row) -> None:
        read = str(to_python(row["read"]))
        self._day = max(self._day, read[:10])
        stored = self._engine.blobs.get(node_of(row["stored"])) if "stored" in row else None
        self.documents.add(
            document,
            id=text_of(row["identifier"]) if "identifier" in row else None,
            title=text_of(row["title"]),
            text=stored.decode("utf-8", "replace") if stored is not None else None,
            text_unit_ids=[],
            creation_date=text_of(row["created"]) if "created" in row else read,
        )

    # --- entities and relationships ----------------------------------------------------------------------

    def _add_entities(self) -> None:
        chunks: dict[NamedNode, list[NamedNode]] = defaultdict(list)
        for row in self._store.select("exchange/tables-entities"):
            chunks[node_of(row["entity"])].append(node_of(row["source"]))
        titles = _distinct({entity: self._name(entity) for entity in chunks})
        types, descriptions = self._described(list(chunks))
        for entity in sorted(chunks, key=lambda one: (titles[one], one.value)):
            units = self.text_units.ids(chunks[entity])
            self.entities.add(
                entity,
                title=titles[entity],
                type=", ".join(dict.fromkeys(types.get(entity, ()))).upper(),
                description="\n".join(dict.fromkeys(descriptions.get(entity, ()))),
                text_unit_ids=units,
                frequency=len(units),
                degree=0,
            )

    def _described(self, entities: Iterable[NamedNode]) -> tuple[dict[NamedNode, list[str]], ...]:
        """The types and the descriptions of entities."""
        types: dict[NamedNode, list[str]] = defaultdict(list)
        descriptions: dict[NamedNode, list[str]] = defaultdict(list)
        for row in select_in_batches(self._store, "communities/report-descriptions", "entities", entities):
            if row["p"] == RDF.type:
                label = text_of(row["label"]) if "label" in row else local_name(text_of(row["o"]))
                types[node_of(row["entity"])].append(label)
            else:
                descriptions[node_of(row["entity"])].append(text_of(row["o"]))
        return types, descriptions

    def _add_relationships(self) -> None:
        facts: dict[Pair, dict[tuple[Term, ...], str]] = defaultdict(dict)
        sources: dict[Pair, dict[NamedNode, None]] = defaultdict(dict)
        for row in self._store.select("exchange/tables-relations"):
            pair = node_of(row["one"]), node_of(row["other"])
            label = text_of(row["label"]) if "label" in row else local_name(text_of(row["p"]))
            facts[pair][row["s"], row["p"], row["o"]] = label
            sources[pair][node_of(row["source"])] = None
        self.loops = sum(one == other for one, other in facts)
        weights, said = self._given()
        quotes = self._quotes([fact for own in facts.values() for fact in own if fact not in weights])
        for pair, own in facts.items():
            if pair[0] == pair[1]:
                continue
            units = self.text_units.ids(sources[pair])
            weight = sum(weights[fact] for fact in own if fact in weights)
            texts = [text for fact in own for text in said.get(fact, ())]
            texts += [
                f"{self._title(pair[0])} {label} {self._title(pair[1])}: {' '.join(quotes.get(fact, ()))}"
                for fact, label in own.items()
                if fact not in weights
            ]
            self.relationships.add(
                pair,
                source=self._title(pair[0]),
                target=self._title(pair[1]),
                description="\n".join(dict.fromkeys(text.strip(": ") for text in texts)),
                weight=weight or float(len(units) or 1),
                combined_degree=0,
                text_unit_ids=units,
            )
        self._count_degrees()

    def _given(self) -> tuple[dict[tuple[Term, ...], float], dict[tuple[Term, ...], list[str]]]:
        """The weights and the descriptions of facts in imported tables."""
        weights: Counter[tuple[Term, ...]] = Counter()
        said: dict[tuple[Term, ...], list[str]] = defaultdict(list)
        for row in self._store.select("exchange/tables-weights"):
            fact = row["s"], row["p"], row["o"]
            weights[fact] += float(text_of(row["weight"]))  # type: ignore[assignment]
            if "description" in row:
                said[fact].append(text_of(row["description"]))
        return dict(weights), said

    def _quotes(self, facts: Iterable[tuple[Term, ...]]) -> dict[tuple[Term, ...], list[str]]:
        found: dict[tuple[Term, ...], list[str]] = defaultdict(list)
        for row in select_in_batches(self._store, "communities/report-evidence", "edges", facts):
            own = found[row["s"], row["p"], row["o"]]
            if "quote" in row and len(own) < _MOST_QUOTES:
                own.append(" ".join(text_of(row["quote"]).split()))
        return {fact: list(dict.fromkeys(texts)) for fact, texts in found.items()}

    def _count_degrees(self) -> None:
        near: dict[object, set[object]] = defaultdict(set)
        for row in self.relationships:
            near[row["source"]].add(row["target"])
            near[row["target"]].add(row["source"])
        for row in self.entities:
            row["degree"] = len(near[row["title"]])
        for row in self.relationships:
            row["combined_degree"] = len(near[row["source"]]) + len(near[row["target"]])

    def _name(self, entity: NamedNode) -> str:
        return self._names.get(entity) or local_name(entity.value)

    def _title(self, entity: NamedNode) -> str:
        """The title of an entity; the name of one that has no row."""
        return str(self.entities.row(entity)["title"]) if entity in self.entities else self._name(entity)

    # --- claims ------------------------------------------------------------------------------------------

    def _add_claims(self) -> None:
        rows = self._store.select("exchange/tables-claimed")
        about = {(node_of(row["claim"]), row["link"]): node_of(row["entity"]) for row in rows}
        for row in self._store.select("exchange/tables-claims"):
            claim, chunk, quote = node_of(row["claim"]), node_of(row["chunk"]), text_of(row["quote"])
            if claim in self.covariates:
                known = self.covariates.row(claim)
                known["source_text"] = f"{known['source_text']} {quote}"
                continue
            self.covariates.add(
                claim,
                covariate_type="claim",
                type=text_of(row["type"]).upper(),
                description=text_of(row["description"]),
                subject_id=self._called(row.get("subject"), about.get((claim, RAG.claimSubject))),
                object_id=self._called(row.get("object"), about.get((claim, RAG.claimObject))),
                status=text_of(row["status"]),
                start_date=_date(row.get("start")),
                end_date=_date(row.get("end")),
                source_text=quote,
                text_unit_id=self.text_units.row(chunk)["id"],
            )

    def _called(self, name: Term | None, entity: NamedNode | None) -> str:
        """The title of the subject or object of a claim, its name if it is no entity."""
        if entity is not None and entity in self.entities:
            return self._title(entity)
        return text_of(name) if name is not None else _NONE

    def _refer_back(self) -> None:
        """Have text units list what refers to them."""
        by_id = {unit["id"]: unit for unit in self.text_units}
        for name, rows in (("entity_ids", self.entities), ("relationship_ids", self.relationships)):
            for row in rows:
                for id_ in _list(row, "text_unit_ids"):
                    _list(by_id[id_], name).append(row["id"])
        for row in self.covariates:
            _list(by_id[row["text_unit_id"]], "covariate_ids").append(row["id"])

    # --- communities and reports -------------------------------------------------------------------------

    def _add_communities(self) -> None:
        members: dict[NamedNode, list[NamedNode]] = defaultdict(list)
        chunks: dict[NamedNode, list[NamedNode]] = defaultdict(list)
        for row in self._store.select("exchange/tables-members"):
            kind = members if "member" in row else chunks
            kind[node_of(row["community"])].append(node_of(row["member" if "member" in row else "chunk"]))
        rows = self._store.select("exchange/tables-communities")
        for row in rows:
            community = node_of(row["community"])
            number = len(self.communities)
            own = {*members[community]}
            inside = [pair for pair in self._pairs_of(own) if pair[1] in own]
            self.communities.add(
                community,
                community=number,
                level=int(text_of(row["level"])),
                parent=-1,
                children=[],
                title=f"Community {number}",
                entity_ids=self.entities.ids(members[community]),
                relationship_ids=self.relationships.ids(inside),
                text_unit_ids=self.text_units.ids(chunks[community]),
                period=text_of(row["day"]) if "day" in row else self._day,
                size=len(self.entities.ids(members[community])),
            )
        for row in rows:
            if "parent" in row and node_of(row["parent"]) in self.communities:
                child, parent = (self.communities.row(node_of(row[k])) for k in ("community", "parent"))
                child["parent"] = parent["community"]
                _list(parent, "children").append(child["community"])

    def _pairs_of(self, entities: Iterable[NamedNode]) -> Iterable[Pair]:
        """The relationships that begin at entities."""
        if not hasattr(self, "_outgoing"):
            self._outgoing: dict[NamedNode, list[Pair]] = defaultdict(list)
            for pair in self.relationships.things():
                self._outgoing[pair[0]].append(pair)
        return (pair for entity in sorted(entities, key=str) for pair in self._outgoing.get(entity, ()))

    def _add_reports(self) -> None:
        found = self._store.select("communities/reports", communities=[])
        by_community = {node_of(row["community"]): row for row in found}
        order = [community for community in self.communities.things() if community in by_community]
        for community in order:
            row, own = by_community[community], self.communities.row(community)
            self.community_reports.add(
                node_of(row["report"]),
                **{key: own[key] for key in ("community", "level", "parent", "children", "period", "size")},
                title=text_of(row["title"]),
                summary=text_of(row["summary"]),
                rank=float(text_of(row["rating"])) if "rating" in row else 0.0,
                rating_explanation=text_of(row["explanation"]) if "explanation" in row else "",
                findings=[],
            )
        for report in self.community_reports:
            report["human_readable_id"] = report["community"]
        findings = self._findings()
        for node, listed in findings.items():
            self.community_reports.row(node)["findings"] = listed
        for report in self.community_reports:
            report.update(_content(report))

    def _findings(self) -> Mapping[NamedNode, list[dict[str, str]]]:
        """Report → findings, with citations by number."""
        cited: dict[NamedNode, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for row in self._store.select("exchange/tables-citations"):
            for table, number in self._cited(row):
                if number is not None:
                    cited[node_of(row["finding"])][table].append(number)
        found: dict[NamedNode, dict[NamedNode, dict[str, str]]] = defaultdict(dict)
        reports = list(self.community_reports.things())
        for row in select_in_batches(self._store, "communities/findings", "reports", reports):
            finding = node_of(row["finding"])
            explanation = f"{text_of(row['explanation'])} {write_citations(cited[finding])}".strip()
            own = {"summary": text_of(row["label"]), "explanation": explanation}
            found[node_of(row["report"])].setdefault(finding, own)
        return {report: list(own.values()) for report, own in found.items()}

    def _cited(self, row: Row) -> Iterable[tuple[str, int | None]]:
        if "entity" in row:
            yield "entities", self.entities.number(node_of(row["entity"]))
        elif "one" in row:
            yield "relationships", self.relationships.number((node_of(row["one"]), node_of(row["other"])))
        elif "claim" in row:
            yield "covariates", self.covariates.number(node_of(row["claim"]))
        elif "chunk" in row:
            yield "text_units", self.text_units.number(node_of(row["chunk"]))
        else:
            yield "community_reports", self.community_reports.number(node_of(row["report"]))


def _names(store: Store) -> dict[NamedNode, str]:
    """The names of entities: titles of imported tables, else labels."""
    rows = one_label(store.select("exchange/labels"))
    labels = {node_of(row["thing"]): text_of(row["label"]) for row in rows}
    given = store.select("exchange/tables-titles")
    return labels | {node_of(row["entity"]): text_of(row["title"]) for row in given}


def _list(row: Cells, name: str) -> list[Any]:
    """The list in a cell, made if there is none."""
    found = row.setdefault(name, [])
    assert isinstance(found, list)  # noqa: S101 - the cells are ours
    return found


def _distinct(titles: Mapping[NamedNode, str]) -> dict[NamedNode, str]:
    """Titles of which none is another's: Microsoft GraphRAG knows entities by title only."""
    counts = Counter(titles.values())
    return {
        entity: title if counts[title] == 1 else f"{title} ({local_name(entity.value)})"
        for entity, title in titles.items()
    }


def _date(term: Term | None) -> str:
    if term is None:
        return _NONE
    whole = getattr(term, "datatype", None) == NamedNode(_DATE)
    return f"{text_of(term)}T00:00:00" if whole else text_of(term)


def _content(report: Cells) -> Cells:
    """The report as one text, and as JSON."""
    findings = [dict(finding) for finding in _list(report, "findings")]
    parts = [f"# {report['title']}", str(report["summary"])]
    parts += [f"## {finding['summary']}\n\n{finding['explanation']}" for finding in findings]
    said = {"title": report["title"], "summary": report["summary"], "findings": findings}
    said |= {"rating": report["rank"], "rating_explanation": report["rating_explanation"]}
    return {
        "full_content": "\n\n".join(parts),
        "full_content_json": json.dumps(said, ensure_ascii=False, indent=4),
    }
