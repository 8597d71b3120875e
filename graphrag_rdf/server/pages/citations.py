"""The citations of an answer, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.page import cited as cut_at_markers
from graphrag_rdf.trace.reader import read_trace


@dataclass(frozen=True, slots=True)
class Citations:
    """A citation among those of an answer.

    Attributes:
        number: its place, from 1; None if the answer does not cite it.
        count: of all that lead to a text.
        before, after: addresses of the previous and the next one.
        back: address of the answer.
    """

    question: str
    number: int | None
    count: int
    before: str | None
    after: str | None
    back: str


def citations_around(
    service: Service, run: str, document: NamedNode, chunk: str, cited: tuple[int, int] | None
) -> Citations | None:
    """The citations around one of them; None if there is no such answer.

    Args:
        run: of the answer.
        chunk, cited: the citation: offset and length in the document's text, None for the whole chunk.
    """
    engine = service.engine
    try:
        trace = read_trace(engine.store, find_trace(engine.store, run), engine.blobs)
    except UsageError:
        return None
    links = links_of(service, run)
    markers = {each.marker for each in trace.selections if each.marker is not None}
    in_order = dict.fromkeys(number for _, number in cut_at_markers(trace.answer or "", markers) if number)
    sources = [
        (source, selection.fact)
        for marker in in_order
        for selection in trace.selections
        if selection.marker == marker
        for source in selection.sources
        if source.chunk is not None
    ]
    addresses = [*dict.fromkeys(each for source in sources if (each := links.source(*source)) is not None)]
    here = links.chunk(document.value, chunk, *(cited or ()))
    place = addresses.index(here) if here in addresses else None
    return Citations(
        question=trace.question,
        number=None if place is None else place + 1,
        count=len(addresses),
        before=addresses[place - 1] if place else None,
        after=addresses[place + 1] if place is not None and place + 1 < len(addresses) else None,
        back=links.trace(trace.iri),
    )
