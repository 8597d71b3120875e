"""How inferred triples follow, for `ontology explain`."""

from __future__ import annotations

from dataclasses import dataclass

from pyoxigraph import NamedNode, Triple

from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.schema.reasoning import RULES, step
from graphrag_rdf.store.base import Store


@dataclass(frozen=True, slots=True)
class Derivation:
    """A rule, and premises from which it infers a triple.

    Attributes:
        premises: each with where it is held: `fact`, `ontology` or `inferred`.
    """

    rule: str
    premises: list[tuple[Triple, str]]


def derivations(store: Store, subject: NamedNode, relation: NamedNode, value: Term) -> list[Derivation]:
    """How an inferred triple follows: for each rule that infers it, the premises of one derivation.

    Empty if `urn:graph:inferred` does not have the triple.
    """
    edge = (subject, relation, value)
    held = {row["held"] for row in store.select("reasoning/where", edges=[edge])}
    if "inferred" not in held:
        return []
    found = [
        (rule, store.construct("reasoning/rule", **{**step(rule), "edges": [edge]})) for rule in RULES["rl"]
    ]
    return [Derivation(rule, _placed(store, premises)) for rule, premises in found if premises]


def _placed(store: Store, premises: list[Triple]) -> list[tuple[Triple, str]]:
    """The premises, each with where it is held; twice if two graphs hold it."""
    edges = [(each.subject, each.predicate, each.object) for each in premises]
    rows = store.select("reasoning/where", edges=edges)
    return [(Triple(row["s"], row["p"], row["o"]), row["held"]) for row in rows]
