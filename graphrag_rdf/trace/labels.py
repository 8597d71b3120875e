"""Labels of things that traces speak of."""

from __future__ import annotations

from collections.abc import Iterable

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.labels import one_label
from graphrag_rdf.rdf.terms import Term, local_name, text_of
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace import rows


def read_labels(store: Store, terms: Iterable[Term], language: str | None = None) -> dict[str, str]:
    """The label of each IRI among terms, where it has one; of several one in this language (BCP 47)."""
    things = sorted({term for term in terms if isinstance(term, NamedNode)}, key=str)
    if not things:
        return {}
    found = one_label(store.select("trace/labels", things=things), language)
    return {rows.must(row, "thing"): rows.must(row, "label") for row in found}


def label_of(term: Term, labels: dict[str, str]) -> str:
    """A term for people: its label, else the end of its IRI, or a literal's text."""
    if not isinstance(term, NamedNode):
        return text_of(term)
    return labels.get(term.value) or local_name(term.value).replace("-", " ")
