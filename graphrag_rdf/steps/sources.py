"""From what was selected to the characters it rests on: edge → evidence → chunk → page → document.

Facts that were read from no text (imported, by hand) lead to the file or decision that they came from.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term, text_of, to_python
from graphrag_rdf.steps.state import Context, Selection, SourceQuote, Triple
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.recorder import Step


def attach_sources(context: Context, step: Step, selections: Sequence[Selection]) -> None:
    """Give each selection all its sources, in a query for each kind of source."""
    edges = {selection.edge.triple: selection for selection in selections if selection.edge}
    if edges:
        _attach(context, step, "provenance/sources", edges)
        bare = {triple: selection for triple, selection in edges.items() if not selection.sources}
        if bare:
            _attach(context, step, "provenance/containers", bare)
        _attach(context, step, "provenance/origins", edges)
    sentences = {selection.hit.sentence.value: selection for selection in selections if selection.hit}
    if sentences:
        run = context.store.run(
            "provenance/sentence-sources", sentences=[NamedNode(iri) for iri in sorted(sentences)]
        )
        context.recorder.queried(step, run)
        for row in run.rows:
            _add(sentences[text_of(row["sentence"])], row)


def _attach(context: Context, step: Step, template: str, edges: dict[Triple, Selection]) -> None:
    run = context.store.run(template, edges=list(edges))
    context.recorder.queried(step, run)
    for row in run.rows:
        selection = edges.get((row["s"], row["p"], row["o"]))  # type: ignore[arg-type]
        if selection is not None:
            _add(selection, row)


def _add(selection: Selection, row: Row) -> None:
    source = source_quote(row)
    if source not in selection.sources:
        selection.sources = (*selection.sources, source)


def source_quote(row: Row) -> SourceQuote:
    """A row of the provenance templates as a source."""
    chunk = _text(row.get("chunk"))
    if chunk is None:
        return SourceQuote(text_of(row["document"]), text_of(row["title"]), text_of(row["location"]), None)
    quote = _text(row.get("quote"))
    offset = _int(row.get("offset"))
    base = _int(row.get("chunk_offset")) or 0
    located = offset is not None
    return SourceQuote(
        document=text_of(row["document"]),
        title=text_of(row["title"]),
        uri=text_of(row["location"]),
        chunk=chunk,
        page_number=_int(row.get("page_number")),
        char_offset=base + offset if offset is not None else (base if quote is None else None),
        char_length=_int(row.get("length"))
        if located
        else (_int(row.get("chunk_length")) if quote is None else None),
        quote=quote or "",
        verified=located,
        evidence=_text(row.get("evidence")),
        sentence=_text(row.get("sentence")),
    )


def _text(term: Term | None) -> str | None:
    return None if term is None else text_of(term)


def _int(term: Term | None) -> int | None:
    return None if term is None else int(to_python(term))  # type: ignore[arg-type]
