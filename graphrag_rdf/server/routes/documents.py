"""`/documents` and `/documents/{id}`: what was read, down to chunks and their facts, also as pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyoxigraph import NamedNode
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.lists.documents import DOCUMENTS
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.access import Access, may
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.pages.citations import citations_around
from graphrag_rdf.server.pages.cited_pages import PDF, CitedPage, cited_pages
from graphrag_rdf.server.pages.links import fact_anchor
from graphrag_rdf.server.pages.lists import history_page, links_of, turns
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import (
    Forms,
    iri_of,
    parameter,
    represent,
    whole_number,
)
from graphrag_rdf.server.routes.lists import list_response
from graphrag_rdf.server.routes.resource import statements
from graphrag_rdf.server.service import Service, service_of
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace.documents import read_failures
from graphrag_rdf.trace.facts import decided_against, fact_of, read_labels
from graphrag_rdf.trace.model import DecisionNote, Fact
from graphrag_rdf.trace.page import Piece, anchor_of, mark, pages_told
from graphrag_rdf.trace.sources import source_tree

_LONGEST = 1000


async def document_list(request: Request) -> Response:
    """The list of documents, with a form to add some."""
    upload = upload_area(request, service_of(request))
    return await list_response(request, DOCUMENTS, upload=upload)


def document_named(request: Request, name: str) -> NamedNode:
    """A document by its IRI, or by the local part of one of ours.

    Raises:
        Problem: 400 when it is no IRI.
    """
    if ":" in name:
        return iri_of(name)
    namespace = service_of(request).engine.settings.extract.namespace
    return iri_of(f"{iris.documents(namespace)}{name}")


async def document(request: Request) -> Response:
    """One document, as `source tree --format json` or as RDF; `id` is an IRI or the local part of ours.

    Its page shows some of its chunks, from `offset` on, or around a `chunk` or a `page`. With `start` and
    `length` it marks these characters of the document's text in the `chunk`, and on the pages of a PDF. With
    the `trace` of an answer it leads to the next of its citations.
    """
    name: str = request.path_params["id"]
    offset, page = whole_number(request, "offset", 0, 10**9), whole_number(request, "page", 0, 10**8)
    chunk = parameter(request, "chunk")
    start, length = (whole_number(request, name, 0, 10**9) for name in ("start", "length"))
    iri = document_named(request, name)
    run = parameter(request, "trace")

    def forms(service: Service) -> Forms:
        store = service.engine.store
        if not store.select("provenance/find-document", name=iri.value):
            raise Problem(404, tr("there is no document {name}").format(name=iri))
        return Forms(
            json=lambda: _tree(store, iri),
            rdf=lambda: statements(store, iri),
            html=lambda: document_page(
                service,
                iri,
                offset,
                chunk=chunk,
                page=page or None,
                cited=(start, length) if length else None,
                run=run,
            ),
        )

    return await represent(request, forms)


def _tree(store: Store, iri: NamedNode) -> Any:
    try:
        return to_json(source_tree(store, iri.value))
    except UsageError as error:
        raise Problem(404, error.message) from None


# --- uploads -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UploadArea:
    """Whether documents can be uploaded.

    Attributes:
        barred: why there are no uploads: `read-only`, `no-tokens`, or `no-link` where a browser gets the role
            by a link; None if there are.
        token: a token is needed.
        most: bytes of one request.
    """

    barred: str | None
    token: bool
    most: int


def upload_area(connection: HTTPConnection, service: Service) -> UploadArea:
    """Whether and how documents can be uploaded from a page of this server."""
    access: Access = connection.app.state.access
    token = not may(connection, "write")
    without = "no-tokens" if access.browsers is None else "no-link"
    barred = "read-only" if service.read_only else without if token and not access.takes("write") else None
    return UploadArea(barred, token, service.settings.max_body_mb << 20)


def report_page(request: Request, service: Service, report: Mapping[str, Any]) -> str:
    """The report of an upload."""
    return render("uploaded", "/documents", report=report, upload=upload_area(request, service))


# --- the page of a document: its text with the facts that were read from it marked ---------------------

_PICTURES = 3
"""Pages of a PDF that are shown beside a chunk."""
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
    run: str | None = None,
) -> str:
    """A document.

    Args:
        offset: chunks to pass over.
        chunk: one that is to be shown.
        page: a page that is to be shown; the first that there is from there on.
        cited: offset in the document's text and length of a quote in `chunk`, which is marked.
        run: of an answer that cites it.
    """
    store, links = service.engine.store, links_of(service)
    about = store.select("provenance/find-document", name=iri.value)[0]
    listed = _listed(store, iri)
    if chunk is not None or page is not None:
        offset = next((n for n, places in enumerate(listed.values()) if _is(places, chunk, page)), 0)
        offset -= offset % CHUNKS
    shown = dict(list(listed.items())[offset : offset + CHUNKS])
    parts = _parts(store, shown, chunk, cited)
    part = next((each for each in parts if each.iri == chunk or (page and page in each.pages)), None)
    beside = None if part is None or about["media_type"] != PDF else part
    pictures = [] if beside is None else _pictures(service, iri, beside, listed, page, cited)
    return render(
        "document",
        "/documents",
        iri=iri.value,
        about=about,
        history=history_page(service, document=iri.value),
        read=about["read"],
        failures=read_failures(store, iri.value),
        on=pages_told,
        parts_shown=parts,
        cited=cited is not None and any(piece.cited for part in parts for piece in part.pieces),
        beside=beside,
        pictures=pictures,
        marked=next((each for each in pictures if each.boxes), None),
        citations=citations_around(service, run, iri, chunk, cited) if run and chunk else None,
        lost=chunk is not None and chunk not in listed,
        stated=[(fact_anchor(fact), fact) for fact in _stated(store, iri)],
        chunks=len(listed),
        first=offset + 1,
        last=offset + len(shown),
        pages=[n for places in shown.values() for row in places if (n := row["page_number"])],
        address=links.document(iri.value),
        href=links,
        **{**turns(links.document(iri.value), CHUNKS, offset, len(shown)), **_end(offset, len(listed))},
    )


def _end(offset: int, chunks: int) -> dict[str, None]:
    return {"after": None} if offset + CHUNKS >= chunks else {}


def _is(places: list[Row], chunk: str | None, page: int | None) -> bool:
    """Whether a chunk is the one, or reaches the page, that was asked for."""
    if chunk is not None:
        first: str = places[0]["chunk"]
        return first == chunk
    return any((row["page_number"] or 0) >= (page or 0) for row in places)


def _listed(store: Store, iri: NamedNode) -> dict[str, list[Row]]:
    """The chunks in order, each with a row for each page that it touches."""
    by_chunk: dict[str, list[Row]] = {}
    for row in store.select("provenance/document-chunks", document=iri, shown=1):
        by_chunk.setdefault(row["chunk"], []).append(row)
    return by_chunk


def _stated(store: Store, document: NamedNode) -> list[Fact]:
    """The facts that the document's metadata state."""
    rows_of_document = sorted(store.select("server/chunk-facts", chunks=[document]), key=_place)
    labels = read_labels(store, [row[name] for row in rows_of_document for name in "spo"])
    return [fact_of(row, labels) for row in rows_of_document]


def _parts(
    store: Store, shown: dict[str, list[Row]], chosen: str | None, cited: tuple[int, int] | None
) -> list[Part]:
    if not shown:
        return []
    chunks = [NamedNode(chunk) for chunk in shown]
    texts = {row["chunk"].value: row["text"] for row in store.select("retrieval/chunks", chunks=chunks)}
    quoted = sorted(store.select("server/chunk-evidence", chunks=chunks), key=_place)
    holding = sorted(store.select("server/chunk-facts", chunks=chunks), key=_place)
    facts = [*quoted, *holding]
    labels = read_labels(store, [row[name] for row in facts for name in "spo"])
    removed = _removed(store, quoted, holding)
    numbers: defaultdict[str, dict[Fact, int]] = defaultdict(dict)
    spans: defaultdict[str, list[tuple[int, int, int | None]]] = defaultdict(list)
    for row in facts:
        chunk, fact = row["chunk"], fact_of(row, labels)
        number = numbers[chunk].setdefault(fact, len(numbers[chunk]) + 1)
        if "offset" in row:  # a row of evidence
            spans[chunk].append((row["offset"], row["length"], number))
    return [
        Part(
            iri=chunk,
            anchor=anchor_of(chunk),
            label=places[0]["label"],
            pages=tuple(n for row in places if (n := row["page_number"]) is not None),
            retired=places[0]["retired"] is not None,
            pieces=mark(
                texts.get(chunk, ""),
                spans[chunk],
                (cited[0] - places[0]["offset"], cited[1]) if cited and chunk == chosen else None,
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


def _pictures(
    service: Service,
    iri: NamedNode,
    part: Part,
    listed: dict[str, list[Row]],
    page: int | None,
    cited: tuple[int, int] | None,
) -> list[CitedPage]:
    """The pages beside a chunk; none if it is from an earlier version, whose bytes are not kept."""
    if part.retired:
        return []
    start, length = cited or (0, 0)
    text = "".join(piece.text for piece in part.pieces)
    inside = start - listed[part.iri][0]["offset"]
    words = text[max(inside, 0) : max(inside + length, 0)]
    numbers = [page] if page else part.pages
    return list(islice(cited_pages(service, iri, numbers, start, words), _PICTURES))


def _place(row: Row) -> tuple[int, int, str]:
    """Where a fact stands in the list of its chunk: an order that takes the engine as long as the query."""
    terms = " ".join(str(row[name]) for name in "spo")
    return row.get("offset", 0), row.get("length", 0), terms


def _removed(store: Store, quoted: list[Row], holding: list[Row]) -> dict[Sequence[object], DecisionNote]:
    """Why facts that were read from quotes do not hold, where somebody decided so."""
    hold = {(row["s"], row["p"], row["o"]) for row in holding}
    edges = [(row["s"], row["p"], row["o"]) for row in quoted]
    return decided_against(store, (edge for edge in edges if edge not in hold))
