"""Reasoning: what follows from facts and ontologies by rules, in `urn:graph:inferred`.

The rules are the table in `queries/reasoning/rule.rq`, named as in the W3C's tables (RDF 1.1 Semantics
§9.2.1, OWL 2 Profiles §4.3). They run in turn until none finds anything new. What is known is not inferred
again. The same template finds the premises of a triple. Left out are rules that say the same of everything
(rdfs4, rdfs6, rdfs10, eq-ref), those about lists and restrictions, and those that infer owl:sameAs, since
people decide which entities are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pyoxigraph import Literal as RdfLiteral
from pyoxigraph import NamedNode, Quad, Triple

from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.store.base import Changes, Store, in_batches

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
"""Rules of `queries/reasoning/contradictions.rq`."""

_PREMISES = {"prp-trp": 3}
"""Number of premises of a rule, if not 2."""

_AT_ONCE = 50_000
"""Triples of a transaction."""


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Something that contradicts an ontology: the rule that says so, the thing, and what is wrong.

    Attributes:
        premises: the axiom and the facts that contradict it; any may be inferred.
    """

    rule: str
    focus: str
    message: str
    premises: tuple[Triple, ...] = ()

    @property
    def statements(self) -> list[tuple[NamedNode, NamedNode, NamedNode | RdfLiteral]]:
        """The premises, without those that have blank nodes."""
        return [
            (each.subject, each.predicate, each.object)
            for each in self.premises
            if isinstance(each.subject, NamedNode) and isinstance(each.object, NamedNode | RdfLiteral)
        ]


@dataclass(frozen=True, slots=True)
class InferenceReport:
    """What `infer` did.

    Attributes:
        profile: whose rules ran.
        rules: rule → number of triples that it inferred; a triple counts for the first rule that finds it.
        incremental: whether only changes since the last time were looked at.
        new: facts, axioms and inferences that are new since then; empty if all was inferred again.
    """

    profile: Profile
    rules: dict[str, int] = field(default_factory=dict)
    incremental: bool = False
    new: set[Triple] = field(default_factory=set)


@dataclass(slots=True)
class NewTriples:
    """What several updates of inferences found to be new.

    Attributes:
        triples: facts, axioms and inferences.
        is_unknown: an update began from scratch, so that it did not see what is new.
    """

    triples: set[Triple] = field(default_factory=set)
    is_unknown: bool = False

    def note(self, report: InferenceReport) -> None:
        """Add what an update found."""
        self.triples |= report.new
        self.is_unknown = self.is_unknown or not report.incremental


def infer(store: Store, profile: Profile) -> InferenceReport:
    """Remove what was inferred, and infer it again, to a fixpoint.

    Each rule is a transaction: a run that is stopped leaves a part of the inferences, and the next update
    begins from scratch.
    """
    forget_inferences(store)
    report = InferenceReport(profile, dict.fromkeys(RULES[profile], 0))
    for rule in report.rules:
        report.rules[rule] += _write(store, set(_construct(store, rule)))
    if any(report.rules.values()):
        _follow(store, report, Graphs.INFERRED)  # the rules have seen the facts, but not all inferences
    _finish(store, profile)
    return report


def update(store: Store, profile: Profile) -> InferenceReport:
    """Withdraw inferences that do not follow any more, and add those that follow now.

    Deletion is DRed (Gupta, Mumick and Subrahmanian 1993, "Maintaining views incrementally", §4): what has a
    derivation with a lost premise is withdrawn, then what still follows is inferred again. Addition is
    semi-naive: a rule runs once for each premise, which it reads among the new triples only.

    Without a record of the changes (see `is_kept`), or by other rules, it is inferred from scratch.
    """
    if not is_kept(store, profile):
        return infer(store, profile)
    report = InferenceReport(profile, dict.fromkeys(RULES[profile], 0), incremental=True)
    _empty(store, Graphs.LOST, Graphs.NEW)
    _run(store, "lost")
    _spread_losses(store, profile)
    _run(store, "withdraw")
    _empty(store, Graphs.NEW)
    for rule in report.rules:
        found = set(_construct(store, rule, 0, Graphs.LOST, check=True))
        report.rules[rule] += _write(store, found, Graphs.INFERRED, Graphs.NEW)
    _run(store, "gained")
    report.new.update(quad.triple for quad in store.quads(Graphs.NEW))
    _follow(store, report, Graphs.NEW)
    if report.new:  # not what was withdrawn and came back
        report.new.difference_update(quad.triple for quad in store.quads(Graphs.LOST))
    _finish(store, profile)
    return report


def _spread_losses(store: Store, profile: Profile) -> None:
    """Add to the lost triples those inferred ones that have a derivation with a lost premise.

    Not those that also follow from facts that are still there, in one step. They would come back, and so
    would all that follows from them. (Motik et al. 2015, "Incremental update of Datalog materialisation:
    the backward/forward algorithm", search for any such proof; one step finds most and cannot run in
    circles.) This takes axioms for granted, inferred ones too, so it is done only where no axiom is lost.
    """
    spare = not store.ask("reasoning/lost-axioms")
    _spread(store, profile, spare=spare)
    if spare and store.ask("reasoning/lost-axioms"):
        _spread(store, profile, spare=False)


def _spread(store: Store, profile: Profile, *, spare: bool) -> None:
    delta = Graphs.LOST
    while True:
        found: set[Triple] = set()
        for rule, changed in _premises(profile):
            found.update(_construct(store, rule, changed, delta, lost=True))
        _empty(store, Graphs.NEW)
        delta = Graphs.NEW
        if spare and found:
            _write(store, found, delta)
            stay: set[Triple] = set()
            for rule in RULES[profile]:
                stay.update(_construct(store, rule, 0, delta, lost=True, check=True))
            found -= stay
            _empty(store, delta)
        if not found:
            return
        _write(store, found, Graphs.LOST, delta)


def _follow(store: Store, report: InferenceReport, delta: NamedNode) -> None:
    """Infer what follows from the triples of a graph, and from what follows from them, to a fixpoint."""
    while True:
        found: set[Triple] = set()
        for rule, changed in _premises(report.profile):
            new = set(_construct(store, rule, changed, delta))
            report.rules[rule] += _write(store, new)
            found |= new
        if report.incremental:
            report.new.update(found)
        if not found:
            return
        _empty(store, Graphs.NEW)
        _write(store, found, Graphs.NEW)
        delta = Graphs.NEW


def _premises(profile: Profile) -> Iterator[tuple[str, int]]:
    """Each rule with the number of each premise."""
    for rule in RULES[profile]:
        for number in range(1, _PREMISES.get(rule, 2) + 1):
            yield rule, number


def step(
    rule: str, changed: int = 0, delta: NamedNode = Graphs.NEW, *, lost: bool = False, check: bool = False
) -> dict[str, Any]:
    """Parameters of `reasoning/rule`: what the rule finds.

    Args:
        changed: number of the premise that is read in the graph `delta` only; 0 for none.
        lost: conclusions that are inferred and have a derivation with this premise, of before the change;
            else conclusions that are not known.
        check: triples of `delta` that the rule infers; with `lost`, from facts and axioms.
    """
    return {
        "rule": rule,
        "edges": [],
        "changed": changed,
        "delta": delta,
        "lost": lost,
        "check": check,
        "skip": 0,
    }


def _construct(
    store: Store,
    rule: str,
    changed: int = 0,
    delta: NamedNode = Graphs.NEW,
    *,
    lost: bool = False,
    check: bool = False,
) -> list[Triple]:
    """What a rule finds; see `step`."""
    return store.construct("reasoning/rule", **step(rule, changed, delta, lost=lost, check=check))


def _write(store: Store, triples: Iterable[Triple], *graphs: NamedNode) -> int:
    """Add triples to graphs, by default to the inferences; how many there are."""
    number = 0
    for batch in in_batches(triples, _AT_ONCE):
        quads = [
            Quad(t.subject, t.predicate, t.object, graph)
            for graph in graphs or (Graphs.INFERRED,)
            for t in batch
        ]
        store.commit(Changes(add=quads, content=False))
        number += len(batch)
    return number


def _run(store: Store, update: str, **values: Any) -> None:
    store.commit(Changes(updates=[(f"reasoning/{update}", values)], content=False))


def _empty(store: Store, *graphs: NamedNode) -> None:
    _run(store, "empty", graphs=[*graphs])


def _finish(store: Store, profile: Profile) -> None:
    _empty(store, Graphs.LOST, Graphs.NEW, Graphs.CHANGED)
    if store.notes_changes:
        _run(store, "finish", rules=_digest(store, profile))


def is_kept(store: Store, profile: Profile) -> bool:
    """Whether inferences by these rules are complete, but for changes that the store has recorded."""
    return store.notes_changes and store.ask("reasoning/kept", rules=[_digest(store, profile)])


def _digest(store: Store, profile: Profile) -> str:
    """The hash of the rules' queries: of another profile, version or folder of templates it is another."""
    text = "\n".join(store.render("reasoning/rule", **step(rule)) for rule in RULES[profile])
    return hashlib.sha256(text.encode()).hexdigest()


def forget_inferences(store: Store) -> None:
    """Remove what was inferred, and what updates of it need."""
    _run(store, "withdraw")
    _empty(store, Graphs.INFERRED, Graphs.AXIOMS, Graphs.CHANGED, Graphs.LOST, Graphs.NEW)


def find_inconsistencies(store: Store, limit: int = 100) -> Iterator[Inconsistency]:
    """What contradicts the ontologies.

    Args:
        limit: most of each rule.
    """
    for rule in INCONSISTENCIES:
        for row in store.select("reasoning/contradictions", rule=rule, limit=limit):
            named = (("a1", "a2", "a3"), ("focus", "p1", "o1"), ("s2", "p2", "o2"))
            premises = [Triple(*(row[name] for name in names)) for names in named]
            said = tuple(dict.fromkeys(premises))
            yield Inconsistency(rule, row["focus"].value, row["message"], said)
