"""Manual corrections: decisions of people to remove or replace facts.

A decision is a node of the system graph, an `rag:FactRetraction`; one that is also an `rag:FactCorrection`
names the fact that holds instead. What documents were found to say stays contained as it was: while a
decision stands, the graph of facts does not assert what it retracts. One that was undone stays too, marked
with `prov:invalidatedAtTime`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, text_of

Statement: TypeAlias = tuple[NamedNode, NamedNode, NamedNode | Literal]

_KEY = "correction/1"


@dataclass(frozen=True, slots=True)
class FactDecision:
    """A decision about a fact.

    Attributes:
        fact: the removed fact.
        instead: the new fact of a correction.
        by: the person.
        label: person and decision, in words.
        with_sentences: whether answers leave out the sentences of the fact too.
        undone: None while it is in effect.
    """

    iri: NamedNode
    fact: Statement
    instead: Statement | None
    by: NamedNode
    label: str
    made: datetime
    reason: str | None = None
    with_sentences: bool = False
    undone: datetime | None = None

    @property
    def kind(self) -> str:
        """`removal` or `correction`."""
        return "removal" if self.instead is None else "correction"

    @property
    def subgraph(self) -> NamedNode:
        """The subgraph with the new fact of a correction."""
        return iris.subgraph(self.iri, _KEY)

    def as_json(self, called: Callable[[Term], str] = text_of) -> dict[str, object]:
        """The keys of `facts list --format json`; terms of facts as N-Triples, times in ISO 8601.

        Args:
            called: the label of a term.
        """
        return {
            "iri": self.iri.value,
            "kind": self.kind,
            "fact": spelled(self.fact, called),
            "instead": None if self.instead is None else spelled(self.instead, called),
            "by": self.by.value,
            "label": self.label,
            "reason": self.reason,
            "with_sentences": self.with_sentences,
            "made": self.made.isoformat(),
            "undone": self.undone.isoformat() if self.undone else None,
        }

    def quads(self) -> Iterator[Quad]:
        """The node, in the system graph."""
        said: list[tuple[NamedNode, Term | None]] = [
            (RDF.type, RAG.FactRetraction),
            (RDFS.label, Literal(self.label)),
            (RAG.retracts, Triple(*self.fact)),
            (RAG.reason, None if self.reason is None else Literal(self.reason)),
            (RAG.withSentences, Literal(True) if self.with_sentences else None),
            (PROV.wasAttributedTo, self.by),
            (PROV.generatedAtTime, datetime_(self.made)),
        ]
        if self.instead is not None:
            said += [(RDF.type, RAG.FactCorrection), (RAG.assertsInstead, Triple(*self.instead))]
        for prop, value in said:
            if value is not None:
                yield Quad(self.iri, prop, value, Graphs.SYSTEM)

    def provenance(self, evidence: list[NamedNode]) -> Iterator[Quad]:
        """Of a correction: the activity, its subgraph, and what reifies the fact there, in the source graph.

        Args:
            evidence: what reified the former fact: the activity used it, and the new is a revision of it.
        """
        assert self.instead is not None  # noqa: S101 - checked by the caller
        subgraph, activity = self.subgraph, iris.activity(self.subgraph)
        claim = iris.evidence(subgraph, *self.instead, "by hand")
        yield prov.source(subgraph, RDF.type, TG.Subgraph)
        yield prov.source(subgraph, RDF.type, PROV.Entity)
        yield prov.source(subgraph, PROV.wasDerivedFrom, self.iri)
        yield prov.source(subgraph, PROV.wasGeneratedBy, activity)
        yield prov.source(activity, RDF.type, PROV.Activity)
        yield prov.source(activity, RDF.type, RAG.HumanEdit)
        yield prov.source(activity, PROV.wasAssociatedWith, self.by)
        yield prov.source(activity, PROV.used, self.iri)
        yield prov.source(activity, PROV.startedAtTime, datetime_(self.made))
        yield prov.source(activity, PROV.endedAtTime, datetime_(self.made))
        yield prov.source(claim, RDF.reifies, Triple(*self.instead))
        yield prov.source(claim, PROV.wasDerivedFrom, subgraph)
        for former in evidence:
            yield prov.source(activity, PROV.used, former)
            yield prov.source(claim, PROV.wasRevisionOf, former)


def spelled(statement: Statement, called: Callable[[Term], str]) -> dict[str, str]:
    """A fact as terms in N-Triples with their labels: `s`, `p`, `o`, `s_label`, …"""
    terms = list(zip("spo", statement, strict=True))
    return {name: str(term) for name, term in terms} | {f"{n}_label": called(term) for n, term in terms}


def text_of_statement(statement: Statement) -> str:
    """A fact as text."""
    return f"({', '.join(text_of(term) for term in statement)})"
