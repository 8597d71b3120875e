"""The pages of a fact, with its sources, and of manual corrections."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import HTTPConnection

from graphrag_rdf.rdf.fact_decisions import FactDecision
from graphrag_rdf.server.pages.ask import lacks
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.facts import Edge, label_of, read_labels
from graphrag_rdf.trace.model import Fact
from graphrag_rdf.trace.sources import FactSource

_ANSWERS = 50
"""Answers on the page of a fact."""


def decisions_page(service: Service, decisions: Sequence[FactDecision], *, every: bool) -> str:
    """Decisions about facts, the newest first.

    Args:
        every: whether undone ones are included.
    """
    said = [fact for one in decisions for fact in (one.fact, one.instead) if fact]
    labels = read_labels(service.engine.store, [term for fact in said for term in fact])

    def shown(decision: FactDecision) -> dict[str, object]:
        return {
            "decision": decision,
            "fact": Fact(*decision.fact, *(label_of(term, labels) for term in decision.fact)),
            "instead": decision.instead
            and Fact(*decision.instead, *(label_of(term, labels) for term in decision.instead)),
        }

    return render(
        "decisions",
        "/facts/decisions",
        decisions=[*map(shown, reversed(decisions))],
        every=every,
        links=links_of(service),
    )


def fact_page(
    service: Service, connection: HTTPConnection, edges: Sequence[Edge], sources: Sequence[FactSource]
) -> str:
    """A fact, or all facts with these labels, with their sources, if any."""
    labels = read_labels(service.engine.store, [term for edge in edges for term in edge])
    found: dict[Fact, list[FactSource]] = {}
    for edge in edges:
        found[Fact(*edge, *(label_of(term, labels) for term in edge))] = []
    for source in sources:
        found.setdefault(source.fact, []).append(source)
    answers = {fact: _answers(service, fact) for fact in found}
    return render(
        "fact",
        "/facts",
        facts=found,
        answers=answers,
        most=_ANSWERS,
        links=links_of(service),
        deciding=not service.read_only and len(found) == 1,
        token=lacks(connection, "write"),
    )


def _answers(service: Service, fact: Fact) -> list[dict[str, object]]:
    """The newest answers for which a fact was selected."""
    found = service.engine.store.select(
        "server/answers-of-fact", s=fact.s, p=fact.p, o=fact.o, limit=_ANSWERS
    )
    return [
        {
            "session": rows.must(row, "session"),
            "time": rows.moment(row, "time"),
            "question": rows.text(row, "question"),
            "marker": rows.whole(row, "marker"),
        }
        for row in found
    ]
