"""Export as the tables that Microsoft GraphRAG 3 reads.

Chunks are text units, entities that stand for others are entities (`export_facts`). Findings of reports cite
rows by their numbers (`export_communities`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG, SKOS, XSD
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.wings.msgraphrag.export_communities import add_communities, add_reports
from graphrag_rdf.wings.msgraphrag.export_facts import add_entities, add_relationships, names_of_entities
from graphrag_rdf.wings.msgraphrag.exported import Exported, list_in
from graphrag_rdf.wings.msgraphrag.tables import COLUMNS, write_table

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_NONE = "NONE"
"""What Microsoft GraphRAG writes where a claim has no object or date."""


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
        UsageError: the store has no chunks, or a file cannot be written.
        ConfigError: the extra for parquet is not installed.
    """
    path, store = Path(folder), engine.store
    tables = Exported(names_of_entities(store))
    _add_texts(store, engine.blobs, tables)
    if not tables.text_units:
        raise UsageError(tr("the store has no chunks to export"), hint=tr("ingest documents first"))
    add_entities(store, tables)
    add_relationships(store, tables)
    _add_claims(store, tables)
    _refer_back(tables)
    add_communities(store, tables)
    add_reports(store, tables)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            tr("cannot write {path}: {cause}").format(path=path, cause=system_cause(error))
        ) from error
    report = TablesWritten(loops=tables.loops)
    report.values = sum(row["property"] != SKOS.definition for row in store.select("exchange/literals"))
    for name, columns in COLUMNS.items():
        report.tables[name] = write_table(path / f"{name}.parquet", columns, getattr(tables, name))
    return report


def _add_texts(store: Store, blobs: BlobStore, tables: Exported) -> None:
    parts: dict[object, list[str]] = {}
    for row in store.select("exchange/tables-texts"):
        document, text = row["document"], row["text"]
        if document not in tables.documents:
            _add_document(document, row, blobs, tables)
        id_ = tables.documents.row(document)["id"]
        unit = tables.text_units.add(row["chunk"], text=text, n_tokens=count_tokens(text), document_id=id_)
        list_in(tables.documents.row(document), "text_unit_ids").append(unit["id"])
        parts.setdefault(id_, []).append(text)
    for each in tables.documents:
        if each["text"] is None:  # the blob store does not have it
            each["text"] = "\n\n".join(parts[each["id"]])


def _add_document(document: NamedNode, row: Row, blobs: BlobStore, tables: Exported) -> None:
    read = str(row["read"])
    tables.day = max(tables.day, read[:10])
    stored = blobs.get(row["stored"]) if row["stored"] is not None else None
    tables.documents.add(
        document,
        id=row["identifier"],
        title=row["title"],
        text=stored.decode("utf-8", "replace") if stored is not None else None,
        text_unit_ids=[],
        creation_date=row["created"] if row["created"] is not None else read,
    )


def _add_claims(store: Store, tables: Exported) -> None:
    rows = store.select("exchange/tables-claimed")
    about = {(row["claim"], row["link"]): row["entity"] for row in rows}

    def called(name: str | None, entity: NamedNode | None) -> str:
        """The title of the subject or object of a claim, its name if it is no entity."""
        if entity is not None and entity in tables.entities:
            return tables.title(entity)
        return _NONE if name is None else name

    for row in store.select("exchange/tables-claims"):
        claim, quote = row["claim"], row["quote"]
        if claim in tables.covariates:
            known = tables.covariates.row(claim)
            known["source_text"] = f"{known['source_text']} {quote}"
            continue
        tables.covariates.add(
            claim,
            covariate_type="claim",
            type=row["type"].upper(),
            description=row["description"],
            subject_id=called(row["subject"], about.get((claim, RAG.claimSubject))),
            object_id=called(row["object"], about.get((claim, RAG.claimObject))),
            status=row["status"],
            start_date=_date(row["start"]),
            end_date=_date(row["end"]),
            source_text=quote,
            text_unit_id=tables.text_units.row(row["chunk"])["id"],
        )


def _date(term: Literal | None) -> str:
    if term is None:
        return _NONE
    return f"{term.value}T00:00:00" if term.datatype == XSD.date else term.value


def _refer_back(tables: Exported) -> None:
    """Have text units list what refers to them."""
    by_id = {unit["id"]: unit for unit in tables.text_units}
    for unit in tables.text_units:
        unit |= {"entity_ids": [], "relationship_ids": [], "covariate_ids": []}
    for column, rows in (("entity_ids", tables.entities), ("relationship_ids", tables.relationships)):
        for row in rows:
            for id_ in list_in(row, "text_unit_ids"):
                list_in(by_id[id_], column).append(row["id"])
    for row in tables.covariates:
        list_in(by_id[row["text_unit_id"]], "covariate_ids").append(row["id"])
