"""Reasoning: what follows from facts and ontologies by rules, in `urn:graph:inferred`.

Each rule is a template `queries/reasoning/{rule}`, named as in the W3C's tables (RDF 1.1 Semantics §9.2.1,
OWL 2 Profiles §4.3). Rules run in turn until none finds anything new. What is known is not inferred again.
The same templates find the premises of a triple. Left out are rules that say the same of everything
(rdfs4, rdfs6, rdfs10, eq-ref), those about lists and restrictions, and those that infer owl:sameAs, since
people decide which entities are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.rdf.terms import Term, node_of, text_of
from graphrag_rdf.store.base import Changes, Store

Profile: TypeAlias = Literal["rdfs", "rl"]

RULES: dict[Profile, tuple[str, ...]] = {
    "rdfs": ("rdfs5", "rdfs11", "rdfs7", "rdfs2", "rdfs3", "rdfs9"),
    "rl": (
        *("rdfs5", "rdfs11", "rdfs7", "prp-eqp1", "prp-eqp2", "prp-inv1", "prp-inv2", "prp-symp", "prp-trp"),
        *("rdfs2", "rdfs3", "rdfs9", "cax-eqc1", "cax-eqc2"),
    ),
}
"""Profile → its rules, in the order in which they run."""

INCONSISTENCIES = ("cax-dw", "prp-fp", "prp-asyp", "prp-irp", "prp-pdw")
"""Templates that find what contradicts an ontology."""

_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Something that contradicts an ontology: the rule that says so, the thing, and what is wrong."""

    rule: str
    focus: str
    message: str


@dataclass(frozen=True, slots=True)
class InferenceReport:
    """What `infer` did.

    Attributes:
        profile: whose rules ran.
        rules: rule → number of triples that it inferred; a triple counts for the first rule that finds it.
        inconsistencies: up to 100 of each rule.
    """

    profile: Profile
    rules: dict[str, int] = field(default_factory=dict)
    inconsistencies: list[Inconsistency] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Derivation:
    """A rule, and premises from which it infers a triple.

    Attributes:
        premises: each with where it is held: `fact`, `ontology` or `inferred`.
    """

    rule: str
    premises: list[tuple[Triple, str]]


def infer(store: Store, profile: Profile) -> InferenceReport:
    """Remove what was inferred, and infer it again, to a fixpoint.

    Each rule is a transaction: a run that is stopped leaves a part of the inferences.
    """
    store.commit(Changes(updates=[("reasoning/clear", {})], content=False))
    report = InferenceReport(profile, dict.fromkeys(RULES[profile], 0))
    while _round(store, report):
        pass
    report.inconsistencies.extend(_inconsistencies(store))
    return report


def _round(store: Store, report: InferenceReport) -> int:
    """Run each rule once; how many triples are new."""
    before = sum(report.rules.values())
    for rule in report.rules:
        new = set(store.construct(f"reasoning/{rule}", edges=[]))
        if new:
            quads = [Quad(t.subject, t.predicate, t.object, Graphs.INFERRED) for t in new]
            store.commit(Changes(add=quads, content=False))
        report.rules[rule] += len(new)
    return sum(report.rules.values()) - before


def _inconsistencies(store: Store) -> list[Inconsistency]:
    return [
        Inconsistency(rule, text_of(row["focus"]), text_of(row["message"]))
        for rule in INCONSISTENCIES
        for row in store.select(f"reasoning/{rule}", limit=_LIMIT)
    ]


def derivations(store: Store, subject: NamedNode, relation: NamedNode, value: Term) -> list[Derivation]:
    """How an inferred triple follows: for each rule that infers it, the premises of one derivation.

    Empty if `urn:graph:inferred` does not have the triple.
    """
    edge = (subject, relation, value)
    held = {text_of(row["held"]) for row in store.select("reasoning/where", edges=[edge])}
    if "inferred" not in held:
        return []
    found = [(rule, store.construct(f"reasoning/{rule}", edges=[edge])) for rule in RULES["rl"]]
    return [Derivation(rule, _placed(store, premises)) for rule, premises in found if premises]


def _placed(store: Store, premises: list[Triple]) -> list[tuple[Triple, str]]:
    """The premises, each with where it is held; twice if two graphs hold it."""
    edges = [(each.subject, each.predicate, each.object) for each in premises]
    rows = store.select("reasoning/where", edges=edges)
    return [(Triple(node_of(row["s"]), node_of(row["p"]), row["o"]), text_of(row["held"])) for row in rows]
