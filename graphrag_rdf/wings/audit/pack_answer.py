"""What a pack says of an answer: `answer.json`, and the files with the cited words.

All of it follows from the RDF of the pack, so that `pack verify` makes it again and compares.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pyoxigraph import NamedNode

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.trace.citations import cited_numbers
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.model import Selected, Trace

_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a document's text that a pack has as a file: the pages of a quote, or a chunk.

    Attributes:
        name: of the file.
        start, length: of the part, in code points of the text.
        text: of a chunk; None of pages.
        pages: number, offset and length of each; none for a chunk.
        stored, original, mime: text and bytes of the document in the blob store, and their type; None of a
            chunk that an edit retired.
    """

    name: str
    document: str
    start: int
    length: int
    text: str | None = None
    pages: tuple[tuple[int, int, int], ...] = ()
    stored: NamedNode | None = None
    original: NamedNode | None = None
    mime: str | None = None


@dataclass(frozen=True, slots=True)
class Cited:
    """A place that the answer cites, or that comes closest to one.

    Attributes:
        hash: SHA-256 of the document; None of one that changed since, or is unknown.
        excerpt: what of the document the pack has; None of facts that were read from no text.
    """

    selection: Selected
    source: Source
    hash: str | None
    excerpt: Excerpt | None


def cited_places(store: Store, trace: Trace) -> list[Cited]:
    """The places that the answer of a trace rests on, in its order."""
    numbers = set(cited_numbers(trace.answer or ""))
    chosen = [each for each in trace.selections if each.marker in numbers or each.closest]
    chosen.sort(key=lambda each: (each.marker or 0, each.rank or 0))
    pairs = [(each, source) for each in chosen for source in each.sources]
    chunks = [NamedNode(chunk) for chunk in sorted({source.chunk for _, source in pairs if source.chunk})]
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in store.select("audit/places", chunks=chunks) if chunks else ():
        rows[row["chunk"]].append(row)
    cited = (Cited(each, source, *_place(source, rows[source.chunk or ""])) for each, source in pairs)
    return list({(place.selection.marker, place.source): place for place in cited}.values())


def _place(source: Source, rows: Sequence[Row]) -> tuple[str | None, Excerpt | None]:
    """The hash of the document, and the excerpt.

    Args:
        rows: of the chunk, one for each page that it touches.
    """
    if not rows:
        return None, None
    row, name = rows[0], f"pages/{file_name(rows[0]['document'])}"
    document, content, start = row["document"], row["content"], row["offset"]
    of_chunk = f"{name}-chunk-{iris.digest(row['chunk'])[:8]}.txt"
    if row["retired"] is not None:
        return None, Excerpt(of_chunk, document, start, len(content), content)
    first = start if source.char_offset is None else source.char_offset
    last = first + max(source.char_length or 1, 1)
    places = [(each["page"], each["page_offset"], each["page_length"]) for each in rows if each["page"]]
    pages = tuple(page for page in places if page[1] < last and first <= page[1] + page[2])
    stored = row["text"], row["original"], row["mime"]
    if not pages:
        return row["hash"], Excerpt(of_chunk, document, start, len(content), content, (), *stored)
    numbers = "-".join(map(str, sorted({pages[0][0], pages[-1][0]})))
    start, length = pages[0][1], pages[-1][1] + pages[-1][2] - pages[0][1]
    return row["hash"], Excerpt(f"{name}-p{numbers}.txt", document, start, length, None, pages, *stored)


def file_name(document: str, suffix: str = "") -> str:
    """A document's IRI as the name of a file: the end of its path, and a hash, as others may end alike."""
    end = _UNSAFE.sub("-", PurePath(document.rstrip("/")).stem).strip("-.")[:60]
    return f"{end or 'document'}-{iris.digest(document)[:8]}{suffix}"


def answer_json(trace: Trace, places: Iterable[Cited]) -> dict[str, Any]:
    """The content of `answer.json`, without the versions of programs."""
    models = {step.model for run in all_runs(trace) for step in run.steps} | {trace.model}
    return {
        "question": trace.question,
        "answer": trace.answer,
        "outcome": trace.outcome,
        "citations": [_citation(trace, place) for place in places],
        "trace": trace.iri,
        "asked": to_json(trace.started),
        "pipeline": trace.kind,
        "pipeline_hash": trace.pipeline_hash,
        "models": sorted(filter(None, models)),
        "parameters": to_json(trace.parameters),
    }


def all_runs(trace: Trace) -> Iterator[Trace]:
    """A trace and all runs below it."""
    yield trace
    for run in trace.runs.values():
        yield from all_runs(run)


def _citation(trace: Trace, place: Cited) -> dict[str, Any]:
    source, selection, excerpt = place.source, place.selection, place.excerpt
    start = source.char_offset if source.verified and excerpt else None
    return {
        "marker": None if selection.marker is None else trace.citation(selection.marker),
        "quote": source.words,
        "fact": selection.fact.text if selection.fact else None,
        "document_hash": place.hash,
        **source.cited(),
        "file": excerpt.name if excerpt else None,
        "file_offset": None if start is None or excerpt is None else start - excerpt.start,
    }
