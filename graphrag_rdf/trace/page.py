"""A trace for people to read: its parts, which the server's page shares, and one self-contained page.

The self-contained page has no script and fetches nothing. Everything is escaped, by the template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from pyoxigraph import Literal, NamedNode

from graphrag_rdf import i18n
from graphrag_rdf.i18n import own_label, tr
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.citations import MARKER
from graphrag_rdf.trace.documents import Source, shown_names
from graphrag_rdf.trace.drawing import Edge, Node, draw_for_screens
from graphrag_rdf.trace.kinds import node_kinds
from graphrag_rdf.trace.lines import printable
from graphrag_rdf.trace.messages import SOURCES_SHOWN
from graphrag_rdf.trace.model import Fact, Selected, Trace
from graphrag_rdf.trace.outcomes import outcome_words
from graphrag_rdf.trace.text import item_words

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment, Template
    from markupsafe import Markup

Href = Callable[[str], str | None]
"""Where a page about an IRI is; None for no link."""

_DRAWN = 14
"""Edges of a drawing: more than that nobody reads."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a chunk's text: `markers` are the numbers of the citations that rest on it.

    Attributes:
        marked: whether a selection rests on it.
        cited: whether it belongs to the quote that the reader followed.
    """

    text: str
    marked: bool
    markers: tuple[int, ...]
    cited: bool = False


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk with its evidence marked."""

    chunk: str
    document: str
    anchor: str
    label: str
    title: str
    location: str
    link: str | None
    retired: str | None
    pieces: tuple[Piece, ...]

    def numbers(self) -> set[int]:
        """Of what was selected in it."""
        return {number for piece in self.pieces for number in piece.markers}


SelectionSources: TypeAlias = tuple[Selected, tuple[Source, ...]]
"""A selection, and those of its sources that are shown together."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a number in the answer rests on.

    Attributes:
        shown: the first sources, by selection.
        more: the others, which the page shows on demand.
    """

    marker: int
    shown: tuple[SelectionSources, ...]
    more: tuple[SelectionSources, ...]

    @property
    def hidden(self) -> int:
        """Number of sources among `more`; a selection without a source counts as one."""
        return sum(len(sources) or 1 for _, sources in self.more)


def evidence_for(marker: int, selections: Iterable[Selected]) -> Evidence:
    """The sources of the selections that share a number, cut after the first `SOURCES_SHOWN`."""
    shown: list[SelectionSources] = []
    more: list[SelectionSources] = []
    room = SOURCES_SHOWN
    for selection in selections:
        if room:
            shown.append((selection, selection.sources[:room]))
        if len(selection.sources) > room or not room:
            more.append((selection, selection.sources[room:]))
        room -= min(room, len(selection.sources) or 1)
    return Evidence(marker, tuple(shown), tuple(more))


@dataclass(frozen=True, slots=True)
class TraceView:
    """What a page of a trace shows.

    Attributes:
        answer: the text in pieces; a citation is a piece with its number.
        cited: the numbers in it; a model is offered more than it cites.
        evidence: what each of them rests on, by number.
        places: of chunks that were ranked or used: label and pages.
        languages: of documents, where they are known.
        language: of an answer that is made of quotes, where all are in one.
        removed: the numbers by which the answer cites facts that hold no more.
        retired: the numbers by which it cites what was edited away or forgotten since.
        drawing: what the answer rests on, as SVG; None when no fact was selected.
    """

    trace: Trace
    answer: tuple[tuple[str, int | None], ...]
    cited: frozenset[int]
    evidence: tuple[Evidence, ...]
    chunks: tuple[ChunkText, ...]
    places: dict[str, str]
    languages: dict[str, str]
    language: str | None
    removed: tuple[int, ...]
    retired: tuple[int, ...]
    drawing: Markup | None

    @property
    def sentences(self) -> list[tuple[str, list[tuple[str, int | None]]]]:
        """The answer in parts that end with citations: their numbers, and the pieces of each."""
        parts: list[list[tuple[str, int | None]]] = [[]]
        for text, number in self.answer:
            if number is None and parts[-1] and parts[-1][-1][1] is not None:
                parts.append([])
            parts[-1].append((text, number))
        return [(" ".join(str(number) for _, number in part if number is not None), part) for part in parts]

    @property
    def anchors(self) -> set[str]:
        """The chunks that are on the page."""
        return {chunk.anchor for chunk in self.chunks}


def trace_view(store: Store, trace: Trace, href: Href) -> TraceView:
    """A trace with the text of each chunk that it used, and the evidence marked in it."""
    items = [item for step in trace.steps for items_of_kind in step.items.values() for item in items_of_kind]
    chunks = [chunk.value for item in items if (chunk := getattr(item, "chunk", None)) is not None]
    chunks += [source.chunk for selection in trace.selections for source in selection.sources if source.chunk]
    places, languages = _places(store, chunks)
    answer = cited(trace.answer or "", {s.marker for s in trace.selections if s.marker is not None})
    numbers = frozenset(number for _, number in answer if number is not None)
    return TraceView(
        trace=trace,
        answer=answer,
        cited=numbers,
        evidence=tuple(
            evidence_for(number, [selection for selection in trace.selections if selection.marker == number])
            for number in sorted(numbers)
        ),
        chunks=tuple(sorted(_chunks(store, trace), key=lambda chunk: not chunk.numbers() & numbers)),
        places=places,
        languages=languages,
        language=_language(trace, languages),
        removed=tuple(sorted({s.marker for s in trace.selections if s.removed and s.marker in numbers})),
        retired=_retired(trace, numbers),
        drawing=_drawing(trace, href, numbers),
    )


def render_page(store: Store, trace: Trace, template: Template | None = None, **more: object) -> str:
    """The self-contained page of a trace.

    Args:
        template: one that extends `trace.html.j2`.
        more: what it prints, or instead of what is given to every page.
    """
    given: dict[str, object] = {
        "view": trace_view(store, trace, no_link),
        "trace": trace,
        "anchor": anchor_of,
        "href": no_link,
        "run": no_link,
        "place": lambda *_: None,
        "chunk_at": lambda *_: None,
        "why": lambda _: None,
    }
    return (template or environment().get_template("trace.html.j2")).render(given | more)


def no_link(iri: str) -> None:
    """What a page without a server knows of the pages about other things."""
    del iri


def cited(answer: str, markers: Iterable[int]) -> tuple[tuple[str, int | None], ...]:
    """Cut an answer at its citations.

    Args:
        markers: numbers that something is cited by; others stay text.

    Returns:
        (text, number or None), which together are the answer.
    """
    numbers, pieces, position = set(markers), [], 0
    for match in MARKER.finditer(answer):
        if int(match[1]) in numbers:
            pieces += [(answer[position : match.start()], None), (match[0], int(match[1]))]
            position = match.end()
    return tuple((text, number) for text, number in [*pieces, (answer[position:], None)] if text)


def anchor_of(chunk: str) -> str:
    """The fragment of a chunk on the page."""
    return "chunk-" + "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in chunk)


def mark(
    text: str, spans: Iterable[tuple[int, int, int | None]], cited: tuple[int, int] | None = None
) -> tuple[Piece, ...]:
    """Cut a text where evidence begins and ends.

    Args:
        text: of a chunk.
        spans: (offset, length, marker) in the text; they may overlap and repeat. What leaves the text is cut.
        cited: offset and length of the quote that the reader followed.

    Returns:
        pieces that together are the text.
    """
    inside = [
        (max(0, start), min(len(text), start + length), number)
        for start, length, number in spans
        if 0 <= start < len(text) and length > 0
    ]
    first, last = (max(0, cited[0]), min(len(text), sum(cited))) if cited else (0, 0)
    followed = (first, last) if first < last else ()
    edges = sorted({0, len(text), *followed, *(edge for start, end, _ in inside for edge in (start, end))})
    pieces = []
    for start, end in pairwise(edges):
        over = [number for begin, stop, number in inside if begin <= start and end <= stop]
        numbers = tuple(sorted({number for number in over if number is not None}))
        pieces.append(Piece(text[start:end], bool(over), numbers, first <= start < end <= last))
    return tuple(pieces)


def _chunks(store: Store, trace: Trace) -> list[ChunkText]:
    sources: dict[str, list[tuple[Source, int | None]]] = {}
    for selection in trace.selections:
        for source in selection.sources:
            sources.setdefault(source.chunk or "", []).append((source, selection.marker))
    chunks = []
    rows = store.select("trace/chunk-texts", session=NamedNode(trace.iri))
    names = shown_names(store, (row["document"] for row in rows))
    for row in rows:
        chunk, offset = row["chunk"], row["offset"]
        spans = [
            (source.char_offset - offset, source.char_length or 0, marker)
            for source, marker in sources.get(chunk, [])
            if source.verified and source.char_offset is not None
        ]
        location, title = row["location"], names.get(row["document"]) or row["title"]
        chunks.append(
            ChunkText(
                chunk=chunk,
                document=row["document"],
                anchor=anchor_of(chunk),
                label=row["label"],
                title=title,
                location=location,
                link=location if location.startswith(("http://", "https://")) else None,
                retired=row["retired"],
                pieces=mark(row["text"], spans),
            )
        )
    return chunks


def _retired(trace: Trace, numbers: Set[int]) -> tuple[int, ...]:
    """Those of the numbers all of whose sources are gone."""
    states: dict[int, set[str]] = {}
    for selection in trace.selections:
        if selection.marker is not None and selection.marker in numbers:
            states.setdefault(selection.marker, set()).update(source.state for source in selection.sources)
    return tuple(
        sorted(
            number
            for number, states_of_number in states.items()
            if states_of_number and "current" not in states_of_number
        )
    )


def _places(store: Store, chunks: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """(chunk → its label and pages, document → its language)."""
    nodes = [NamedNode(chunk) for chunk in dict.fromkeys(chunks)]
    places: dict[str, str] = {}
    languages: dict[str, str] = {}
    pages: dict[str, list[int]] = {}
    for row in store.select("provenance/chunk-places", chunks=nodes) if nodes else ():
        chunk, document = row["chunk"], row["document"]
        number, language = row["page_number"], row["language"]
        pages.setdefault(chunk, []).extend([] if number is None else [number])
        places[chunk] = own_label(row["label"]) + pages_told(pages[chunk])
        if language:
            languages[document] = language
    return places, languages


def pages_told(numbers: Sequence[int]) -> str:
    """On which pages something stands, to be put behind its name; empty where there are none."""
    if not numbers:
        return ""
    first, last = numbers[0], numbers[-1]
    if first == last:
        return tr(", page {number}").format(number=first)
    return tr(", pages {first}–{last}").format(first=first, last=last)


def _language(trace: Trace, languages: Mapping[str, str]) -> str | None:
    """The one language of all that an extractive answer quotes."""
    if not any(step.mode in step.declared.quotes for step in trace.steps):
        return None
    documents = {
        source.document
        for selection in trace.selections
        if selection.marker is not None
        for source in selection.sources
    }
    spoken = {languages.get(document or "") for document in documents}
    return spoken.pop() if len(spoken) == 1 else None


def _drawing(trace: Trace, href: Href, numbers: Set[int]) -> Markup | None:
    """The selected facts around the entities that the run began with: cited ones first, then by rank."""
    centres = {
        item.entity.value
        for step in trace.steps
        for kind in step.declared.items
        if kind.centre
        for item in step.items[kind.key]
    }
    chosen = [s for s in trace.selections if s.fact is not None]
    chosen.sort(key=lambda s: (s.marker not in numbers, s.rank or 0))
    gone = {s.fact for s in chosen if s.removed}
    facts: dict[Fact, bool] = {}
    for selection in chosen:
        assert selection.fact is not None  # noqa: S101 - see above
        facts[selection.fact] = facts.get(selection.fact, False) or selection.marker in numbers
    near = _connected(facts, centres)
    shown = dict(list((near or facts).items())[:_DRAWN])
    nodes: dict[str, Node] = {}
    for fact in shown:
        for term, label in ((fact.s, fact.s_label), (fact.o, fact.o_label)):
            iri = term.value if isinstance(term, NamedNode) else None
            key = _key(term)
            nodes.setdefault(key, Node(key, label, href(iri) if iri else None, key in centres))
    if not nodes:
        return None
    edges = [
        Edge(fact.s.value, _key(fact.o), fact.p_label, strong, gone=fact in gone)
        for fact, strong in shown.items()
    ]
    return draw_for_screens(
        list(nodes.values()),
        edges,
        tr("Facts that were selected for: {question}").format(question=trace.question),
    )


def _connected(facts: Mapping[Fact, bool], centres: Set[str]) -> dict[Fact, bool]:
    """Those connected with such an entity; the others are in the list below the drawing."""
    reached = set(centres)
    waiting = dict(facts)
    connected: set[Fact] = set()
    while fresh := [fact for fact in waiting if {fact.s.value, _key(fact.o)} & reached]:
        for fact in fresh:
            reached |= {fact.s.value, _key(fact.o)}
            del waiting[fact]
        connected.update(fresh)
    return {fact: cited for fact, cited in facts.items() if fact in connected}


def _key(term: NamedNode | Literal) -> str:
    return term.value if isinstance(term, NamedNode) else str(term)


def visible(value: object) -> object:
    """What a page prints in the place of a value: texts lose their controls before they are escaped."""
    if isinstance(value, NamedNode):
        return printable(value.value)
    return printable(value) if type(value) is str else value


PAGE_FILTERS: Mapping[str, Callable[..., str]] = {"outcome": outcome_words, "words": item_words}
"""What the templates of traces use beside Jinja's own."""


def page_loader() -> BaseLoader:
    """The templates beside this module, and those of the kinds of steps by their paths."""
    from jinja2 import ChoiceLoader, FunctionLoader, PackageLoader

    def section(name: str) -> str | None:
        pages = (kind.page for kind in node_kinds().values())
        page = next((page for page in pages if str(page) == name), None)
        return None if page is None else page.read_text("utf-8")

    return ChoiceLoader([PackageLoader("graphrag_rdf.trace", "."), FunctionLoader(section)])


@cache
def environment() -> Environment:
    """Of the templates beside this module."""
    from jinja2 import Environment, StrictUndefined

    jinja = Environment(
        loader=page_loader(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    jinja.filters.update(PAGE_FILTERS)
    i18n.install(jinja)
    return jinja
