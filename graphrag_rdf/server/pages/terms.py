"""RDF terms as pages show them: IRIs as links, literals with their type, triple terms as triples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Triple

from graphrag_rdf.rdf.namespaces import XSD, prefixed
from graphrag_rdf.rdf.terms import text_of


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
