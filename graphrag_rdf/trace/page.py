"""A trace as one self-contained page: no script, nothing fetched, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.lines import printable
from graphrag_rdf.trace.model import Source, Trace

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a chunk's text: `markers` are the numbers of the citations that rest on it.

    Attributes:
        marked: whether a selection rests on it.
    """

    text: str
    marked: bool
    markers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk with its evidence marked."""

    anchor: str
    label: str
    title: str
    location: str
    link: str | None
    retired: str | None
    pieces: tuple[Piece, ...]


def render_page(store: Store, trace: Trace) -> str:
    """The page of a trace, with the text of each chunk that it used and the evidence marked in it."""
    chunks = _chunks(store, trace)
    anchors = {chunk.anchor for chunk in chunks}
    return _template().render(trace=trace, chunks=chunks, anchor=anchor_of, anchors=anchors)


def anchor_of(chunk: str) -> str:
    """The fragment of a chunk on the page."""
    return "chunk-" + "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in chunk)


def mark(text: str, spans: Iterable[tuple[int, int, int | None]]) -> tuple[Piece, ...]:
    """Cut a text where evidence begins and ends.

    Args:
        text: of a chunk.
        spans: (offset, length, marker) in the text; they may overlap and repeat. What leaves the text is cut.

    Returns:
        pieces that together are the text.
    """
    inside = [
        (max(0, start), min(len(text), start + length), number)
        for start, length, number in spans
        if 0 <= start < len(text) and length > 0
    ]
    edges = sorted({0, len(text), *(edge for start, end, _ in inside for edge in (start, end))})
    pieces = []
    for start, end in pairwise(edges):
        over = [number for first, last, number in inside if first <= start and end <= last]
        numbers = tuple(sorted({number for number in over if number is not None}))
        pieces.append(Piece(text[start:end], bool(over), numbers))
    return tuple(pieces)


def _chunks(store: Store, trace: Trace) -> list[ChunkText]:
    sources: dict[str, list[tuple[Source, int | None]]] = {}
    for selection in trace.selections:
        for source in selection.sources:
            sources.setdefault(source.chunk or "", []).append((source, selection.marker))
    found = []
    for row in store.select("trace/chunk-texts", session=NamedNode(trace.iri)):
        chunk, offset = rows.must(row, "chunk"), rows.whole(row, "offset") or 0
        spans = [
            (source.char_offset - offset, source.char_length or 0, marker)
            for source, marker in sources.get(chunk, [])
            if source.verified and source.char_offset is not None
        ]
        location = rows.must(row, "location")
        found.append(
            ChunkText(
                anchor=anchor_of(chunk),
                label=rows.must(row, "label"),
                title=rows.must(row, "title"),
                location=location,
                link=location if location.startswith(("http://", "https://")) else None,
                retired=rows.text(row, "retired"),
                pieces=mark(rows.must(row, "text"), spans),
            )
        )
    return found


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("graphrag_rdf.trace", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # whatever is printed loses its controls before it is escaped
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    return environment.get_template("trace.html.j2")
