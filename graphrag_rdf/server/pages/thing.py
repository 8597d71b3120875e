"""The page of any IRI, with its triples; and RDF terms as pages show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Triple

from graphrag_rdf.rdf.namespaces import RDF, RDFS, TG, XSD, prefixed
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.server.pages.links import resource
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.facts import read_labels

_SHOWN = 200_000
"""Characters of a stored text that the page shows."""


def thing_page(service: Service, iri: NamedNode, found: list[Triple]) -> str:
    """The triples with a thing as subject, as object, and as predicate."""
    labels = read_labels(service.engine.store, [iri, *named_in(found)])
    links = links_of(service)

    def view(term: object) -> TermView:
        return view_term(term, links, labels)

    own = [t for t in found if t.subject == iri]
    types = {t.object for t in own if t.predicate == RDF.type}
    better = links.document(iri.value) if TG.Document in types else links(iri.value)
    label = labels.get(iri.value) or next(
        (text_of(t.object) for t in own if t.predicate == RDFS.label and not isinstance(t.object, Triple)),
        None,
    )
    return render(
        "thing",
        "",
        iri=iri.value,
        stored=_stored(service, iri),
        label=label or prefixed(iri) or iri.value,
        better=better if better != resource(iri.value) else None,
        out=[(view(t.predicate), view(t.object)) for t in own],
        into=[(view(t.subject), view(t.predicate)) for t in found if t.object == iri and t.subject != iri],
        inside=[
            (view(t.subject), view(t.object))
            for t in found
            if isinstance(t.object, Triple) and iri in named_in([t.object]) and t.subject != iri
        ],
        used=[
            (view(t.subject), view(t.object))
            for t in found
            if t.predicate == iri and iri not in (t.subject, t.object)
        ],
    )


def _stored(service: Service, iri: NamedNode) -> str | None:
    """The stored text of a hash IRI: a query, a prompt, the output of a model."""
    data = service.engine.blobs.get(iri) if iri.value.startswith("urn:sha256:") else None
    try:
        text = None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:  # an original in a binary format
        return None
    return text if text is None or len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class TermView:
    """A term.

    Attributes:
        text: its label, prefixed name or IRI; a literal's text.
        iri, href: of an IRI, with its page.
        note: a literal's language or datatype.
        parts: subject, predicate and object of a triple term.
    """

    text: str
    iri: str | None = None
    href: str | None = None
    note: str | None = None
    parts: tuple[TermView, ...] = ()


def named_in(terms: Iterable[object]) -> list[NamedNode]:
    """The IRIs among terms, those inside triple terms too."""
    found: list[NamedNode] = []
    for term in terms:
        if isinstance(term, Triple):
            found += named_in((term.subject, term.predicate, term.object))
        elif isinstance(term, NamedNode):
            found.append(term)
    return found


def view_term(term: object, href: Callable[[str], str | None], labels: Mapping[str, str]) -> TermView:
    """A term.

    Args:
        term: of the engine; None for an unbound variable.
        labels: of IRIs that have one.
    """
    if term is None:
        return TermView("")
    if isinstance(term, Triple):
        parts = (term.subject, term.predicate, term.object)
        return TermView("", parts=tuple(view_term(part, href, labels) for part in parts))
    if isinstance(term, NamedNode):
        return TermView(labels.get(term.value) or prefixed(term) or term.value, term.value, href(term.value))
    if isinstance(term, Literal):
        datatype = None if term.datatype == XSD.string else prefixed(term.datatype) or term.datatype.value
        return TermView(text_of(term), note=f"@{term.language}" if term.language else datatype)
    return TermView(str(term))
