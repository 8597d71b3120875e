"""Facts that contradict: two values where there should be one, and types that exclude each other.

A relation should have one value if a loaded ontology declares it an `owl:FunctionalProperty`, or if nearly
all subjects have one. The second is a guess, and conflicts by it say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term, node_of, text_of
from graphrag_rdf.store.base import Row, Store, select_in_batches
from graphrag_rdf.trace import rows as values
from graphrag_rdf.trace.facts import label_of, read_labels

Rule: TypeAlias = Literal["functional", "nearly-functional", "disjoint-types"]
_Edge = tuple[Term, Term, Term]

SUBJECTS, SHARE = 5, 0.9
"""Fewest subjects, and share of them with one value, to take a relation for one of a single value."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote that supports a fact: document, page where there is one, place in the document's text."""

    document: str
    title: str
    page_number: int | None
    char_offset: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two facts that contradict, with its quotes."""

    s: str
    p: str
    o: str
    o_label: str
    sources: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two facts that contradict.

    Attributes:
        rule: why: the relation is functional, or nearly always has one value; or the types are disjoint.
        subject: the entity that stands for both subjects.
    """

    JSON: ClassVar = ("rule", "subject", "subject_label", "relation", "relation_label", "facts")

    rule: Rule
    subject: str
    subject_label: str
    relation: str
    relation_label: str
    facts: tuple[Side, Side]


def find_conflicts(
    store: Store, *, subjects: int = SUBJECTS, share: float = SHARE, limit: int = 100
) -> list[Conflict]:
    """Facts that contradict, by relation and subject; those with a declared reason first.

    Args:
        subjects, share: see `SUBJECTS`. A share above 1 uses declared functional properties only.
        limit: most pairs of facts by each rule.
    """
    known = store.select("conflicts/single-valued", subjects=subjects, share=share)
    found: list[tuple[Rule, Row]] = []
    for rule, declared in (("functional", True), ("nearly-functional", False)):
        relations = [node_of(row["relation"]) for row in known if values.truth(row, "declared") is declared]
        if relations:
            rows = store.select("conflicts/values", relations=relations, limit=limit)
            found += [(rule, row) for row in rows]  # type: ignore[misc]
    found += [("disjoint-types", row) for row in store.select("conflicts/types", limit=limit)]
    edges = [edge for _, row in found for edge in _edges(row)]
    labels = read_labels(store, [term for edge in edges for term in edge] + [row["who"] for _, row in found])
    quotes = _quotes(store, edges)
    return [
        Conflict(
            rule,
            text_of(row["who"]),
            label_of(row["who"], labels),
            text_of(row["p"]),
            "type" if rule == "disjoint-types" else label_of(row["p"], labels),
            tuple(_side(edge, labels, quotes.get(edge, [])) for edge in _edges(row)),  # type: ignore[arg-type]
        )
        for rule, row in found
    ]


def _edges(row: Row) -> list[_Edge]:
    return [(row["s1"], row["p"], row["o1"]), (row["s2"], row["p"], row["o2"])]


def _side(edge: _Edge, labels: dict[str, str], quotes: Iterable[Quote]) -> Side:
    s, p, o = edge
    return Side(str(s), str(p), str(o), label_of(o, labels), tuple(quotes))


def _quotes(store: Store, edges: list[_Edge]) -> dict[_Edge, list[Quote]]:
    """The quotes of each fact, by title and place."""
    found: dict[_Edge, set[Quote]] = {}
    rows = select_in_batches(store, "provenance/sources", "edges", dict.fromkeys(edges))
    for row in rows:
        start, offset = values.whole(row, "chunk_offset"), values.whole(row, "offset")
        place = None if start is None or offset is None else start + offset
        page = values.whole(row, "page_number")
        quote = Quote(text_of(row["document"]), text_of(row["title"]), page, place, text_of(row["quote"]))
        found.setdefault((row["s"], row["p"], row["o"]), set()).add(quote)
    return {
        edge: sorted(quotes, key=lambda each: (each.title, each.char_offset or 0, each.quote))
        for edge, quotes in found.items()
    }


def is_about(conflict: Conflict, entity: NamedNode) -> bool:
    """Whether a conflict is about an entity, under any of its names."""
    return entity.value in (conflict.subject, *(side.s.strip("<>") for side in conflict.facts))
