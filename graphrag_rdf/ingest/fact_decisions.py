"""Decisions of people about facts, as the store has them, and what follows for those who write facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.fact_decisions import FactDecision, Statement
from graphrag_rdf.rdf.terms import Term, node_of, text_of, to_python
from graphrag_rdf.store.base import Changes, Row, Store
from graphrag_rdf.store.updates import canonical_term


def read_fact_decisions(store: Store) -> list[FactDecision]:
    """All decisions about facts in the order in which they were made, undone ones too."""
    found = store.select("facts/decisions")
    if not found:
        return []
    instead = {row["decision"]: _statement(row) for row in store.select("facts/corrections")}
    return [_decision(row, instead.get(row["decision"])) for row in found]


def _decision(row: Row, instead: Statement | None) -> FactDecision:
    made = _moment(row["made"])
    assert made is not None  # noqa: S101 - a shape says so
    return FactDecision(
        iri=node_of(row["decision"]),
        fact=_statement(row),
        instead=instead,
        by=node_of(row["by"]),
        label=text_of(row["label"]),
        made=made,
        reason=text_of(row["reason"]) if "reason" in row else None,
        with_sentences="with_sentences" in row and to_python(row["with_sentences"]) is True,
        undone=_moment(row["undone"]) if "undone" in row else None,
    )


class Withheld:
    """The facts that are not asserted, whatever contains them, as a decision that stands retracts them.

    Args:
        decisions: undone ones do not count.
    """

    def __init__(self, decisions: Iterable[FactDecision]) -> None:
        self._facts = {decision.fact for decision in decisions if decision.undone is None}

    def __contains__(self, fact: object) -> bool:
        """Whether a triple (subject, predicate, object) is one, however its literal is spelled."""
        if not self._facts or not isinstance(fact, tuple):
            return False
        return fact in self._facts or (*fact[:2], canonical_term(fact[2])) in self._facts

    def contained(
        self, subgraph: NamedNode, s: NamedNode, p: NamedNode, o: NamedNode | Literal
    ) -> Iterator[Quad]:
        """A fact as `prov.contained` has it; not asserted if it is withheld."""
        if (s, p, o) not in self:
            yield prov.fact(s, p, o)
        yield prov.contains(subgraph, s, p, o)


def read_withheld(store: Store) -> Withheld:
    """The facts that are withheld as it stands."""
    return Withheld(read_fact_decisions(store))


def withhold(store: Store) -> None:
    """Take out facts that a decision retracts, where something that knew of no decisions asserted them."""
    if store.select("checks/retracted-asserted", limit=1):
        store.commit(Changes(updates=[("facts/withhold", {})]))


def _statement(row: Row) -> Statement:
    return node_of(row["s"]), node_of(row["p"]), row["o"]  # type: ignore[return-value]


def _moment(term: Term) -> datetime | None:
    value = to_python(term)
    return value if isinstance(value, datetime) else None
