"""The list of documents, with their failures; and of pairs with the same content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.lists.declaration import Asked, Column, Filter, Item, List, register

if TYPE_CHECKING:
    from pyoxigraph import Triple

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.trace.documents import DocumentSummary


def _documents(engine: Engine, asked: Asked) -> Iterable[DocumentSummary]:
    from graphrag_rdf.trace.documents import list_documents

    return list_documents(engine.store, **asked.values, limit=asked.limit, offset=asked.offset)


def _described(store: Store, items: Sequence[Item]) -> list[Triple]:
    """Documents with their current versions and failures."""
    nodes = [NamedNode(item["iri"]) for item in items]
    described = store.construct("documents/described", documents=nodes) if nodes else []
    return [*store.construct("server/listed", things=nodes), *described]


def _failures(item: Item) -> list[str]:
    """The failures of a document with their remedies; equal ones once."""
    from graphrag_rdf.trace.documents import remedy

    lines = []
    for (stage, reason), times in Counter((f["stage"], f["reason"]) for f in item["failures"]).items():
        message = f"{stage}: {reason}"
        if times > 1:
            message = tr("{failure} ({times:,} chunks)").format(failure=message, times=times)
        lines += [message, f"→ {remedy(stage)}"]
    return lines


def _number(item: Item) -> int | None:
    return len(item["failures"]) or None


def _notes(items: Sequence[Item], asked: Asked) -> Iterable[str]:
    text, failed = asked.values.get("match"), asked.values.get("failed")
    failing = sum(bool(item["failures"]) for item in items)
    if items:
        yield tr("documents: {count:,}").format(count=len(items))
    elif text and not failed:
        message = tr("no path or title has {text!r} in it; to list all: graphrag-rdf documents")
        yield message.format(text=text)
    if failing and not failed:
        yield tr("{count:,} with failures; see: graphrag-rdf documents --failed").format(count=failing)


_COLUMNS = (
    Column("title", later("title"), link="document", note=lambda item: item["path"], sort="title"),
    Column("path", later("path"), "path", page=False, sort="path"),
    Column("bytes", later("size"), "size", sort="size"),
    Column("pages", later("pages"), "count", sort="pages"),
    Column("chunks", later("chunks"), "count", sort="chunks"),
    Column("facts", later("facts"), "count", sort="facts"),
    Column("language", later("lang"), sort="language"),
    Column("added", later("added"), "date", sort="added"),
    Column("failures", later("failures"), "count", _number, sort="failures"),
    Column("failures", later("failures"), value=_failures, below="both", with_filter="failed"),
    Column("mime", sort="type"),
)
_SORTS = tuple(column.sort for column in _COLUMNS if column.sort)

DOCUMENTS = register(
    List(
        "documents",
        later("Documents"),
        """List the documents of the store: size, chunks, facts, language, date and failures.

TEXT is a part of a path or title, or a glob ('*.pdf'). The column facts counts quotes that state a fact.""",
        columns=_COLUMNS,
        filters=(
            Filter("match", "Part of a path or title, or a glob.", "argument", later("Path or title")),
            Filter(
                "failed",
                "List only documents with failures, with the reasons.",
                "flag",
                later("Only with failures"),
            ),
            Filter("sort", "Sort by this; the largest and newest come first.", choices=_SORTS),
            Filter("reverse", "Reverse the order.", "flag"),
            Filter(
                "duplicates",
                "List pairs of documents with the same or nearly the same content instead.",
                "flag",
                instead="duplicates",
            ),
        ),
        command="documents",
        path="/documents",
        examples=(
            "graphrag-rdf documents",
            "graphrag-rdf documents --sort size reports",
            "graphrag-rdf documents '*.pdf' --failed",
            "graphrag-rdf documents --duplicates",
            "graphrag-rdf documents --format jsonl | jq 'select(.facts == 0) | .path'",
        ),
        read=_documents,
        limit=None,
        none=later("no documents"),
        links=((later("Duplicates"), "/documents?duplicates=true"),),
        notes=_notes,
        rdf=_described,
        former={"identity": "path", "media_type": "mime"},
    )
)


def _pairs(engine: Engine, asked: Asked) -> list[dict[str, Any]]:
    del asked
    from graphrag_rdf.ingest.duplicates import find_duplicates

    pairs = find_duplicates(engine.store, engine.blobs)
    return [{**pair.as_json(), "first": pair.first[0], "second": pair.second[0]} for pair in pairs]


def _count_pairs(items: Sequence[Item], asked: Asked) -> Iterable[str]:
    del asked
    if items:
        message = tr(
            "pairs: {count:,}. To remove a document: graphrag-rdf forget; to leave it out: ingest --exclude"
        )
        yield message.format(count=len(items))


register(
    List(
        "duplicates",
        later("Duplicates"),
        "List pairs of documents with the same or nearly the same content.",
        columns=(
            Column("kind", later("kind"), value=lambda item: tr(item["kind"])),
            Column("share", later("share"), "share"),
            Column("first", later("document"), "path", lambda item: item["paths"][0], "term"),
            Column("second", later("other document"), "path", lambda item: item["paths"][1], "term"),
        ),
        read_all=_pairs,
        page=None,
        none=later("no duplicates"),
        links=((later("All documents"), "/documents"),),
        notes=_count_pairs,
    )
)
