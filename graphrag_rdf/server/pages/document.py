"""The page of a document: its text with the facts that were read from it marked."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.server.pages.lists import links_of, turns
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.labels import label_of, read_labels
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.trace.page import Piece, anchor_of, mark

CHUNKS = 25
"""Chunks on a page."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk.

    Attributes:
        pages: numbers of the pages that it touches.
        pieces: its text; `markers` count in `facts`, from 1.
    """

    iri: str
    anchor: str
    label: str
    pages: tuple[int, ...]
    retired: bool
    pieces: tuple[Piece, ...]
    facts: tuple[Fact, ...]


def document_page(service: Service, iri: NamedNode, offset: int) -> str:
    """A document.

    Args:
        offset: chunks to pass over.
    """
    store, links = service.engine.store, links_of(service)
    about = store.select("provenance/find-document", name=iri.value)[0]
    listed = _listed(store, iri)
    shown = dict(list(listed.items())[offset : offset + CHUNKS])
    return render(
        "document",
        "/documents",
        iri=iri.value,
        about={name: rows.text(about, name) for name in about},
        parts_shown=_parts(store, shown),
        chunks=len(listed),
        first=offset + 1,
        href=links,
        **{**turns(links.document(iri.value), CHUNKS, offset, len(shown)), **_end(offset, len(listed))},
    )


def _end(offset: int, chunks: int) -> dict[str, None]:
    return {"after": None} if offset + CHUNKS >= chunks else {}


def _listed(store: Store, iri: NamedNode) -> dict[str, list[Row]]:
    """The chunks in order, each with a row for each page that it touches."""
    found: dict[str, list[Row]] = {}
    for row in store.select("provenance/document-chunks", document=iri, shown=1):
        found.setdefault(rows.must(row, "chunk"), []).append(row)
    return found


def _parts(store: Store, shown: dict[str, list[Row]]) -> list[Part]:
    if not shown:
        return []
    chunks = [NamedNode(chunk) for chunk in shown]
    texts = {
        rows.must(r, "chunk"): rows.must(r, "text") for r in store.select("retrieval/chunks", chunks=chunks)
    }
    quoted = store.select("server/chunk-evidence", chunks=chunks)
    facts = [*quoted, *store.select("server/chunk-facts", chunks=chunks)]
    labels = read_labels(store, [row[name] for row in facts for name in "spo"])
    numbers: defaultdict[str, dict[Fact, int]] = defaultdict(dict)
    spans: defaultdict[str, list[tuple[int, int, int | None]]] = defaultdict(list)
    for row in facts:
        chunk, fact = rows.must(row, "chunk"), _fact(row, labels)
        number = numbers[chunk].setdefault(fact, len(numbers[chunk]) + 1)
        if "offset" in row:
            spans[chunk].append((rows.whole(row, "offset") or 0, rows.whole(row, "length") or 0, number))
    return [
        Part(
            iri=chunk,
            anchor=anchor_of(chunk),
            label=rows.must(places[0], "label"),
            pages=tuple(n for row in places if (n := rows.whole(row, "page_number")) is not None),
            retired="retired" in places[0],
            pieces=mark(texts.get(chunk, ""), spans[chunk]),
            facts=tuple(numbers[chunk]),
        )
        for chunk, places in shown.items()
    ]


def _fact(row: Row, labels: dict[str, str]) -> Fact:
    s, p, o = rows.node(row, "s"), rows.node(row, "p"), row["o"]
    assert isinstance(o, NamedNode | Literal)  # noqa: S101 - facts have no other objects
    return Fact(s, p, o, *(label_of(term, labels) for term in (s, p, o)))
