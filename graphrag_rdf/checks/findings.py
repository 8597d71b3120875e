"""The report of `check`: violations of the integrity of the store and of SHACL shapes, with their sources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode

from graphrag_rdf.checks.integrity import Severity
from graphrag_rdf.checks.shapes import Offence, validate_facts
from graphrag_rdf.rdf.terms import Term, text_of
from graphrag_rdf.store.base import Row, Store, select_in_batches
from graphrag_rdf.trace.facts import label_of, read_labels
from graphrag_rdf.trace.sources import FactSource

USER_SHAPE = "user-shape"
"""The check of results of shapes of the user."""
_MOST = 5  # places of one finding


@dataclass(frozen=True, slots=True)
class Place:
    """Where an offender comes from; the keys are those of `source fact`.

    Attributes:
        quote: None where a whole chunk, or no text at all, is the source.
    """

    chunk: str | None
    document: str
    title: str
    page_number: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation with what it is about.

    Attributes:
        check, severity, focus, message: see `integrity.Violation`; `user-shape` for shapes of the user.
        focus_label: of an entity.
        path, value: of a result of a validation (SHACL §3.6); else None, as shape and component.
        sources: up to five places of the offending fact, evidence, chunk …, or where the focus is named.
    """

    check: str
    severity: Severity
    focus: str
    message: str
    focus_label: str | None = None
    path: str | None = None
    value: str | None = None
    shape: str | None = None
    component: str | None = None
    sources: tuple[Place, ...] = ()


def validated(store: Store, shapes: Sequence[str]) -> list[Finding]:
    """What shapes of the user find in the facts.

    Raises:
        UsageError: see `checks.shapes.validate_facts`.
    """
    return with_sources(store, [_of_offence(each) for each in validate_facts(store, shapes)])


def _of_offence(each: Offence) -> Finding:
    return Finding(
        USER_SHAPE,
        "error" if each.severity == "Violation" else "warning",
        _text(each.focus) or "-",
        each.message,
        each.focus_label,
        _text(each.path),
        _text(each.value),
        _text(each.shape),
        each.component,
        tuple(dict.fromkeys(map(_place, each.sources)))[:_MOST],
    )


def _place(fact_source: FactSource) -> Place:
    source = fact_source.source
    return Place(source.chunk, source.document, source.title, source.page_number, source.words or None)


def _text(term: Term | None) -> str | None:
    return text_of(term) if term is not None else None


def with_sources(store: Store, findings: Sequence[Finding]) -> list[Finding]:
    """Findings with the chunks, pages and quotes of those that have none yet."""
    nodes = {each.focus: node for each in findings if not each.sources and (node := _node(each.focus))}
    asked = sorted(nodes.values(), key=str)
    places = _places(store, asked)
    unplaced = [node for node in asked if node.value not in places]
    named = {
        row["sentence"]: row["node"]
        for row in select_in_batches(store, "checks/named-in", "entities", unplaced)
    }
    sentences = [NamedNode(iri) for iri in sorted(named)]
    texts = {
        row["sentence"].value: row["text"]
        for row in select_in_batches(store, "retrieval/sentence-texts", "sentences", sentences)
    }
    labels = read_labels(store, [NamedNode(iri) for iri in sorted(set(named.values()))])
    for sentence, places_of_sentence in _places(store, sentences).items():
        places[named[sentence]] = [replace(each, quote=texts.get(sentence)) for each in places_of_sentence]
    return [
        replace(
            each,
            sources=each.sources or tuple(places.get(each.focus, ()))[:_MOST],
            focus_label=each.focus_label or _label(each.focus, labels),
        )
        for each in findings
    ]


def _label(iri: str, labels: Mapping[str, str]) -> str | None:
    return label_of(NamedNode(iri), labels) if iri in labels else None


def _places(store: Store, nodes: Sequence[NamedNode]) -> dict[str, list[Place]]:
    places: defaultdict[str, list[Place]] = defaultdict(list)
    for row in select_in_batches(store, "checks/places", "nodes", nodes):
        places[row["node"]].append(_of_row(row))
    return dict(places)


def _of_row(row: Row) -> Place:
    return Place(row["chunk"], row["document"], row["title"], row["page_number"], row["quote"])


def _node(iri: str) -> NamedNode | None:
    try:
        return NamedNode(iri)
    except ValueError:
        return None
