"""The page of a document: its text with the facts that were read from it marked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.server.pages.links import fact_anchor
from graphrag_rdf.server.pages.lists import links_of, turns
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.documents import read_failures
from graphrag_rdf.trace.facts import decided_against, fact_of, read_labels
from graphrag_rdf.trace.model import DecisionNote, Fact
from graphrag_rdf.trace.page import Piece, anchor_of, mark, pages_told

CHUNKS = 10
"""Chunks on a page: some 20,000 characters, of tables some thousand facts."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk.

    Attributes:
        pages: numbers of the pages that it touches.
        pieces: its text; `markers` count in `facts`, from 1.
        removed: of facts that hold no more as somebody decided, the decision.
    """

    iri: str
    anchor: str
    label: str
    pages: tuple[int, ...]
    retired: bool
    pieces: tuple[Piece, ...]
    facts: tuple[Fact, ...]
    removed: dict[Fact, DecisionNote]


def document_page(
    service: Service,
    iri: NamedNode,
    offset: int,
    *,
    chunk: str | None = None,
    page: int | None = None,
    cited: tuple[int, int] | None = None,
) -> str:
    """A document.

    Args:
        offset: chunks to pass over.
        chunk: one that is to be shown.
        page: a page that is to be shown; the first that there is from there on.
        cited: offset in the document's text and length of a quote in `chunk`, which is marked.
    """
    store, links = service.engine.store, links_of(service)
    about = store.select("provenance/find-document", name=iri.value)[0]
    listed = _listed(store, iri)
    if chunk is not None or page is not None:
        offset = next((n for n, places in enumerate(listed.values()) if _is(places, chunk, page)), 0)
        offset -= offset % CHUNKS
    shown = dict(list(listed.items())[offset : offset + CHUNKS])
    parts = _parts(store, shown, chunk, cited)
    return render(
        "document",
        "/documents",
        iri=iri.value,
        about={name: rows.text(about, name) for name in about},
        read=rows.moment(about, "read"),
        failures=read_failures(store, iri.value),
        on=pages_told,
        parts_shown=parts,
        cited=cited is not None and any(piece.cited for part in parts for piece in part.pieces),
        lost=chunk is not None and chunk not in listed,
        stated=[(fact_anchor(fact), fact) for fact in _stated(store, iri)],
        chunks=len(listed),
        first=offset + 1,
        last=offset + len(shown),
        pages=[n for places in shown.values() for row in places if (n := rows.whole(row, "page_number"))],
        address=links.document(iri.value),
        href=links,
        **{**turns(links.document(iri.value), CHUNKS, offset, len(shown)), **_end(offset, len(listed))},
    )


def _end(offset: int, chunks: int) -> dict[str, None]:
    return {"after": None} if offset + CHUNKS >= chunks else {}


def _is(places: list[Row], chunk: str | None, page: int | None) -> bool:
    """Whether a chunk is the one, or reaches the page, that was asked for."""
    if chunk is not None:
        return rows.must(places[0], "chunk") == chunk
    return any((rows.whole(row, "page_number") or 0) >= (page or 0) for row in places)


def _listed(store: Store, iri: NamedNode) -> dict[str, list[Row]]:
    """The chunks in order, each with a row for each page that it touches."""
    found: dict[str, list[Row]] = {}
    for row in store.select("provenance/document-chunks", document=iri, shown=1):
        found.setdefault(rows.must(row, "chunk"), []).append(row)
    return found


def _stated(store: Store, document: NamedNode) -> list[Fact]:
    """The facts that the document's metadata state."""
    found = sorted(store.select("server/chunk-facts", chunks=[document]), key=_place)
    labels = read_labels(store, [row[name] for row in found for name in "spo"])
    return [fact_of(row, labels) for row in found]


def _parts(
    store: Store, shown: dict[str, list[Row]], chosen: str | None, cited: tuple[int, int] | None
) -> list[Part]:
    if not shown:
        return []
    chunks = [NamedNode(chunk) for chunk in shown]
    texts = {
        rows.must(r, "chunk"): rows.must(r, "text") for r in store.select("retrieval/chunks", chunks=chunks)
    }
    quoted = sorted(store.select("server/chunk-evidence", chunks=chunks), key=_place)
    holding = sorted(store.select("server/chunk-facts", chunks=chunks), key=_place)
    facts = [*quoted, *holding]
    labels = read_labels(store, [row[name] for row in facts for name in "spo"])
    removed = _removed(store, quoted, holding)
    numbers: defaultdict[str, dict[Fact, int]] = defaultdict(dict)
    spans: defaultdict[str, list[tuple[int, int, int | None]]] = defaultdict(list)
    for row in facts:
        chunk, fact = rows.must(row, "chunk"), fact_of(row, labels)
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
            pieces=mark(
                texts.get(chunk, ""),
                spans[chunk],
                (cited[0] - (rows.whole(places[0], "offset") or 0), cited[1])
                if cited and chunk == chosen
                else None,
            ),
            facts=tuple(numbers[chunk]),
            removed={
                fact: removed[fact.s, fact.p, fact.o]
                for fact in numbers[chunk]
                if (fact.s, fact.p, fact.o) in removed
            },
        )
        for chunk, places in shown.items()
    ]


def _place(row: Row) -> tuple[int, int, str]:
    """Where a fact stands in the list of its chunk: an order that takes the engine as long as the query."""
    terms = " ".join(str(row[name]) for name in "spo")
    return rows.whole(row, "offset") or 0, rows.whole(row, "length") or 0, terms


def _removed(store: Store, quoted: list[Row], holding: list[Row]) -> dict[Sequence[object], DecisionNote]:
    """Why facts that were read from quotes do not hold, where somebody decided so."""
    hold = {(row["s"], row["p"], row["o"]) for row in holding}
    edges = [(row["s"], row["p"], row["o"]) for row in quoted]
    return decided_against(store, (edge for edge in edges if edge not in hold))  # type: ignore[misc]
