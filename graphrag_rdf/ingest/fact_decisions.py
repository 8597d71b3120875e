"""Facts removed and corrected by hand: decisions that are read, made and undone.

Each change is one transaction. What documents were found to say stays contained, with its evidence. The graph
of facts follows the decisions that stand: writers of facts ask `Withheld` which facts not to assert. A
correction asserts another fact, contained in a subgraph of its own that says who made it and of what it is a
revision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.decisions import PERSON, person_quads
from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.entity_decisions import read_groups, settle
from graphrag_rdf.ingest.gate import Gate, Passed
from graphrag_rdf.ingest.names import KnownNames, as_literal, undrawn, unsettled
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.fact_decisions import FactDecision, Statement, spelled, text_of_statement
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, SKOS, Graphs
from graphrag_rdf.rdf.terms import Term, node_of, now, one_label, text_of, to_python
from graphrag_rdf.store.base import Changes, Row, Store, select_in_batches
from graphrag_rdf.store.updates import canonical_term

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


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


def _statement(row: Row) -> Statement:
    return node_of(row["s"]), node_of(row["p"]), row["o"]


def _moment(term: Term) -> datetime | None:
    value = to_python(term)
    return value if isinstance(value, datetime) else None


_NAMES = (RDFS.label, SKOS.altLabel)


@dataclass(frozen=True, slots=True)
class Person:
    """The person who decides, and why.

    Attributes:
        name: of the person; None for the user of the command line.
        reason: for people; it must not quote documents.
    """

    name: str | None = None
    reason: str | None = None

    @property
    def node(self) -> NamedNode:
        """The agent."""
        return iris.person(self.name) if self.name else PERSON

    def label(self, kind: str) -> str:
        """`removal by …`."""
        return f"{kind} by {self.name or 'hand'}"


@dataclass(slots=True)
class Edited:
    """The effects of a removal, correction or undo.

    Attributes:
        decisions: that were made or undone.
        facts: that no longer hold.
        asserted: facts that hold now and did not.
        sentences: the quoted sentences. Questions still use them unless the decision leaves them out.
        also: facts that still hold and say the same of an entity that is merged with the fact's.
        entities: new ones.
        broken: results of SHACL shapes.
    """

    decisions: list[FactDecision] = field(default_factory=list)
    facts: list[Statement] = field(default_factory=list)
    asserted: list[Statement] = field(default_factory=list)
    sentences: list[NamedNode] = field(default_factory=list)
    also: list[Statement] = field(default_factory=list)
    entities: list[NamedNode] = field(default_factory=list)
    broken: int = 0

    def as_json(self, called: Callable[[Term], str] = text_of) -> dict[str, object]:
        """The keys of `facts remove|correct|undo --format json`; `called` is what people call a term."""
        return {
            "decisions": [decision.as_json(called) for decision in self.decisions],
            "removed": {"chunks": 0, "facts": len(self.facts), "entities": 0},
            "kept_facts": len(self.also),
            "retracted": [spelled(fact, called) for fact in self.facts],
            "asserted": [spelled(fact, called) for fact in self.asserted],
            "sentences": [sentence.value for sentence in self.sentences],
            "also": [spelled(fact, called) for fact in self.also],
            "entities": [entity.value for entity in self.entities],
            "broken": self.broken,
        }


def remove_facts(
    engine: NeededComponents,
    facts: Iterable[Statement],
    person: Person | None = None,
    *,
    with_sentences: bool = False,
    dry_run: bool = False,
) -> Edited:
    """Decide that facts do not hold.

    Args:
        with_sentences: questions leave out the sentences, too, that the facts were quoted from.
        dry_run: write nothing.

    Returns:
        the decisions. A fact that is removed already gets none; its sentences may be left out too.

    Raises:
        UsageError: when a fact is a name, or not one that anything contains.
    """
    person = person or Person()
    before = read_fact_decisions(engine.store)
    out = Edited()
    for fact in dict.fromkeys(facts):
        if fact in Withheld(before):
            if with_sentences:
                _leave_out_sentences(engine, _standing(before, fact), out)
            continue
        _require_contained(engine, fact)
        decision = _decided(before, person, fact, None, with_sentences=with_sentences)
        _note(engine, decision, out)
    if not dry_run:
        _commit(engine, person, out, Changes(add=_quads(out), remove=_assertions(out.facts)))
    return out


def correct_fact(
    engine: NeededComponents,
    fact: Statement,
    instead: Statement,
    person: Person | None = None,
    *,
    names: Iterable[tuple[NamedNode, str]] = (),
    with_sentences: bool = False,
    dry_run: bool = False,
    passed: Passed | None = None,
) -> Edited:
    """Decide that another fact holds in the place of one.

    Args:
        passed: by the gate of SHACL shapes, with other changes; else the correction is validated here.
        names: of new things in the other fact.
        with_sentences, dry_run: as of `remove_facts`. The sentences of a fact that was corrected before can
            be left out later: give the same correction again, or none (`instead` is the fact).

    Raises:
        UsageError: as `remove_facts`; when both are the same, or one of them was removed before.
        BrokenShapesError: the correction breaks SHACL shapes, see `ingest.gate`.
    """
    person = person or Person()
    before = read_fact_decisions(engine.store)
    standing = _standing(before, fact)
    out = Edited()
    if with_sentences and standing and all(instead in (fact, decision.instead) for decision in standing):
        _leave_out_sentences(engine, standing, out)
        if not dry_run:
            _commit(engine, Person(), out, Changes(add=_quads(out)))
        return out
    if fact == instead:
        raise UsageError(tr("the correction equals the fact"), hint=tr("give another --object, or none"))
    if instead[1] in _NAMES:
        raise UsageError(tr("a correction cannot be a name"), hint=tr(_OF_NAMES))
    for one in (fact, instead):
        if one in Withheld(before):
            known = _standing(before, one)[0]
            raise UsageError(
                tr("{one} was removed before: {label}").format(one=text_of_statement(one), label=known.label),
                hint=tr("undo that first: graphrag-rdf facts undo {iri}").format(iri=known.iri.value),
            )
    _require_contained(engine, fact)
    decision = _decided(before, person, fact, instead, with_sentences=with_sentences)
    out.asserted = [instead]
    evidence = _note(engine, decision, out)
    changes = Changes(add=[*_quads(out), *decision.provenance(evidence)], remove=_assertions(out.facts))
    changes.add += prov.contained(decision.subgraph, *instead)
    changes.add += _names(engine, decision, names, out)
    if passed is None:
        passed = Gate(engine).facts([instead], [fact], stage="correction", dry_run=dry_run)
        if passed.results:
            passed.write(changes, [decision.subgraph])
    out.broken = len(passed.results)
    if not dry_run:
        _commit(engine, person, out, changes)
    return out


def undo_facts(
    engine: NeededComponents, decisions: Sequence[FactDecision], *, dry_run: bool = False
) -> Edited:
    """Undo decisions about facts. They stay in the store, marked; facts hold as before."""
    moment = now()
    out = Edited(decisions=[replace(decision, undone=moment) for decision in decisions])
    taken = {decision.iri for decision in decisions}
    before = read_fact_decisions(engine.store)
    withheld, withheld_before = Withheld(d for d in before if d.iri not in taken), Withheld(before)
    facts = list(dict.fromkeys(decision.fact for decision in decisions))
    corrections = [decision for decision in decisions if decision.instead is not None]
    own = {decision.subgraph for decision in corrections}
    out.asserted = [fact for fact in facts if fact not in withheld and _containers(engine, fact) - own]
    for instead in dict.fromkeys(decision.instead for decision in corrections):
        if instead is not None and instead not in withheld_before and _containers(engine, instead) <= own:
            out.facts.append(instead)
    if dry_run or not decisions:
        return out
    changes = Changes(
        updates=[
            ("facts/undo", {"decisions": [decision.iri for decision in decisions], "now": moment}),
            ("facts/assert-again", {"candidates": facts}),
        ]
    )
    if subgraphs := [decision.subgraph for decision in corrections]:
        named = engine.store.select("ingest/contained-in-subgraphs", subgraphs=subgraphs)
        things = {row["s"] for row in named if row["p"] in _NAMES}
        changes.updates += [
            ("facts/retire-subgraphs", {"subgraphs": subgraphs, "now": moment}),
            ("ingest/retract-facts", {"candidates": [d.instead for d in corrections]}),
        ]
        changes.add += unsettled(sorted((node for node in things if isinstance(node, NamedNode)), key=str))
    _settle(engine, changes, out)
    return out


# --- reading -------------------------------------------------------------------------------

_OF_NAMES = later("labels are elected from the names in documents. To join entities, use entities merge")


def _require_contained(engine: NeededComponents, fact: Statement) -> None:
    if fact[1] in _NAMES:
        raise UsageError(
            tr("{fact} is a name, not a fact").format(fact=text_of_statement(fact)), hint=tr(_OF_NAMES)
        )
    if not _containers(engine, fact):
        raise UsageError(
            tr("no document or import states {fact}").format(fact=text_of_statement(fact)),
            hint=tr("graphrag-rdf source fact S P O shows where a fact comes from"),
        )


def _standing(before: Sequence[FactDecision], fact: Statement) -> list[FactDecision]:
    """The decisions that hold about a fact."""
    return [decision for decision in before if decision.undone is None and decision.fact == fact]


def _leave_out_sentences(engine: NeededComponents, standing: Sequence[FactDecision], out: Edited) -> None:
    """Mark standing decisions: their sentences are left out too."""
    for decision in standing:
        if not decision.with_sentences:
            out.decisions.append(replace(decision, with_sentences=True))
            rows = engine.store.select("facts/evidence", edges=[decision.fact])
            out.sentences += dict.fromkeys(node_of(row["sentence"]) for row in rows if "sentence" in row)


def _containers(engine: NeededComponents, fact: Statement) -> set[NamedNode]:
    return {node_of(row["subgraph"]) for row in engine.store.select("facts/containers", edges=[fact])}


def _decided(
    before: Sequence[FactDecision],
    person: Person,
    fact: Statement,
    instead: Statement | None,
    *,
    with_sentences: bool,
) -> FactDecision:
    """A decision. Its IRI depends on the agent, the content, and the number of equal decisions."""
    kind = "removal" if instead is None else "correction"
    made = Counter((d.by, d.fact, d.instead) for d in before)
    number = made[person.node, fact, instead]
    parts = [str(term) for term in (*fact, *(instead or ()))]
    return FactDecision(
        iris.decision(kind, person.node.value, *parts, number),
        fact,
        instead,
        person.node,
        person.label(kind),
        _next_moment(before),
        person.reason,
        with_sentences,
    )


def _next_moment(before: Sequence[FactDecision]) -> datetime:
    """Now, but not before any earlier decision: their order counts."""
    return max([now(), *(decision.made for decision in before)])


def _note(engine: NeededComponents, decision: FactDecision, out: Edited) -> list[NamedNode]:
    """Add a decision to the effects; the evidence of its fact."""
    store, fact = engine.store, decision.fact
    rows = store.select("facts/evidence", edges=[fact])
    out.decisions.append(decision)
    out.facts.append(fact)
    out.sentences += dict.fromkeys(node_of(row["sentence"]) for row in rows if "sentence" in row)
    if isinstance(fact[0], NamedNode):
        also = store.select("facts/said-also", edges=[fact])
        out.also += [(node_of(row["s"]), node_of(row["p"]), row["o"]) for row in also]
    return list(dict.fromkeys(node_of(row["evidence"]) for row in rows))


# --- writing -----------------------------------------------------------------------------


def _quads(out: Edited) -> list[Quad]:
    return [quad for decision in out.decisions for quad in decision.quads()]


def _assertions(facts: Iterable[Statement]) -> list[Quad]:
    return [prov.fact(*fact) for fact in facts]


def _names(
    engine: NeededComponents, decision: FactDecision, names: Iterable[tuple[NamedNode, str]], out: Edited
) -> Iterable[Quad]:
    """The names of the things in a correction, and canonical links of new entities.

    The names are contained in the correction's subgraph, so that they live as long as the fact.
    """
    assert decision.instead is not None  # noqa: S101 - checked by the caller
    s, p, o = decision.instead
    spoken_of = [term for term in decision.instead if isinstance(term, NamedNode)]
    named = {thing: Literal(name) for thing, name in names}
    for row in one_label(engine.store.select("retrieval/labels", things=spoken_of)):
        named.setdefault(node_of(row["thing"]), as_literal(row["label"]))
    known = KnownNames(engine.store)
    known.load(named)
    groups = read_groups(engine.store)
    entities = {s, *([o] if p != RDF.type else [])}
    for thing, name in named.items():
        if thing in entities and known.is_new(thing):
            out.entities.append(thing)
            yield Quad(thing, RAG.canonicalEntity, thing, Graphs.DERIVED)
            if thing in groups:
                known.contest(thing)
        if prop := known.add(thing, name):
            yield prov.fact(thing, prop, name)
        yield prov.contains(decision.subgraph, thing, RDFS.label, name)
    yield from unsettled(known.take_contested())


def _commit(engine: NeededComponents, person: Person, out: Edited, changes: Changes) -> None:
    if not out.decisions:
        return
    if person.name:
        changes.add += person_quads(person.node, person.name)
    _settle(engine, changes, out)


def _settle(engine: NeededComponents, changes: Changes, out: Edited) -> None:
    """Commit, elect labels, and update the indexes. Reports from the sources of removed facts go."""
    rows = select_in_batches(engine.store, "communities/report-evidence", "edges", out.facts)
    sources = dict.fromkeys(node_of(row["source"]) for row in rows if "source" in row)
    drop_made(engine.store, changes, sources=list(sources))
    engine.indexer.recover()
    ends = (end for s, _, o in (*out.facts, *out.asserted) for end in (s, o))
    touched = dict.fromkeys(end for end in ends if isinstance(end, NamedNode))
    changes.add += undrawn(touched)
    engine.store.commit(changes)
    engine.indexer.changed(entities=[*settle(engine.store), *touched, *out.entities])
    engine.indexer.flush(final=True)


__all__ = ["Edited", "Person", "correct_fact", "remove_facts", "undo_facts"]
