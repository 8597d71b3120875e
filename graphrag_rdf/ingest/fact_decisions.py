"""Facts removed and corrected by hand: decisions that are made and undone, and their effect.

A removal is an `rag:FactRetraction`; a correction is also an `rag:FactCorrection`, and names the fact that
holds instead. What documents were found to say stays contained, with its evidence. The graph of facts follows
the decisions that stand: writers of facts ask `Withheld` which facts not to assert. A correction asserts
another fact, contained in a subgraph of its own that says who made it and of what it is a revision. Each
change is one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.decisions import (
    Decision,
    Kind,
    Person,
    Property,
    decide,
    flag,
    in_effect,
    numbered,
    read_decisions,
    statement,
    undo,
    value,
)
from graphrag_rdf.ingest.drop_made import drop_made
from graphrag_rdf.ingest.entity_decisions import read_groups, settle
from graphrag_rdf.ingest.gate import Gate, Passed
from graphrag_rdf.ingest.names import KnownNames, as_literal, undrawn, unsettled
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.json_values import listed_attributes
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, SKOS, TG, Graphs
from graphrag_rdf.rdf.terms import (
    Statement,
    Term,
    datetime_,
    now,
    one_label,
    spelled,
    text_of,
    text_of_statement,
)
from graphrag_rdf.store.base import Changes, Store, select_in_batches
from graphrag_rdf.store.updates import canonical_term

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

_KEY = "correction/1"
_NAMES = (RDFS.label, SKOS.altLabel)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDecision(Decision):
    """A decision about a fact.

    Attributes:
        fact: the removed fact.
        instead: the new fact of a correction.
        label: person and decision, in words.
        with_sentences: whether answers leave out the sentences of the fact too.
    """

    JSON = "iri", "kind=kind.name", "by", "label", "reason", "with_sentences", "made", "undone"

    fact: Statement
    instead: Statement | None = None
    label: str
    with_sentences: bool = False

    @property
    def content(self) -> tuple[str, ...]:
        """The terms of both facts."""
        return tuple(str(term) for term in (*self.fact, *(self.instead or ())))

    @property
    def subgraph(self) -> NamedNode:
        """The subgraph with the new fact of a correction."""
        return iris.subgraph(self.iri, _KEY)

    @property
    def terms(self) -> set[Term]:
        """The terms of both facts."""
        return {*self.fact, *(self.instead or ())}

    def in_words(self, called: Callable[[Term], str] = text_of) -> str:
        """See `Decision.in_words`."""
        instead = f" {text_of_statement(self.instead, called)}" if self.instead else ""
        return f"{text_of_statement(self.fact, called)} {tr(self.kind.words)}{instead}"

    def as_json(self, called: Callable[[Term], str] = text_of) -> dict[str, object]:
        """The keys of `facts decisions --format json`; terms of facts as N-Triples, times in ISO 8601.

        Args:
            called: the label of a term.
        """
        facts = {"fact": self.fact, "instead": self.instead}
        columns = {name: fact and spelled(fact, called) for name, fact in facts.items()}
        statement = f"{' '.join(map(str, self.fact))} ."
        return {**listed_attributes(self, self.JSON), **columns, "statement": statement}

    def json_object(self) -> dict[str, object]:
        """The keys, with terms as labels."""
        return self.as_json()

    def provenance(self, evidence: Iterable[NamedNode]) -> Iterator[Quad]:
        """Of a correction: the activity, its subgraph, and what reifies the fact there, in the source graph.

        Args:
            evidence: what reified the former fact: the activity used it, and the new is a revision of it.
        """
        if self.instead is None or self.by is None or self.made is None:
            return
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
        yield from prov.contained(subgraph, *self.instead)


class Withheld:
    """The facts that are not asserted, whatever contains them, as a decision that stands retracts them.

    Args:
        decisions: undone ones do not count.
    """

    def __init__(self, decisions: Iterable[FactDecision]) -> None:
        self._facts = {decision.fact for decision in in_effect(decisions)}

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
    return Withheld(read_decisions(store, FACTS))


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


# --- making and undoing ----------------------------------------------------------------------


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
    before = read_decisions(engine.store, FACTS)
    withheld = Withheld(before)
    drafts: list[FactDecision] = []
    changed: list[FactDecision] = []
    for fact in dict.fromkeys(facts):
        if fact not in withheld:
            _require_contained(engine, fact)
            drafts.append(_draft(person, fact, None, with_sentences=with_sentences))
        elif with_sentences:
            changed += _without_sentences(_standing(before, fact))
    effects = effects_of(engine, [*changed, *numbered(before, drafts)])
    if not dry_run:
        decide(engine, effects.decisions, person.name)
    return effects


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
    before = read_decisions(engine.store, FACTS)
    standing = _standing(before, fact)
    if with_sentences and standing and all(instead in (fact, decision.instead) for decision in standing):
        effects = effects_of(engine, _without_sentences(standing))
        if not dry_run:
            decide(engine, effects.decisions)
        return effects
    _require_correctable(engine, fact, instead, before)
    draft = _draft(person, fact, instead, with_sentences=with_sentences)
    (decision,) = numbered(before, [draft])
    effects = effects_of(engine, [decision])
    changes = Changes(add=[*_names(engine, decision, instead, names, effects)])
    if passed is None:
        passed = Gate(engine).facts([instead], [fact], stage="correction", dry_run=dry_run)
        if passed.results:
            passed.write(changes, [decision.subgraph])
    effects.broken = len(passed.results)
    if not dry_run:
        decide(engine, effects.decisions, person.name, changes)
    return effects


def undo_facts(
    engine: NeededComponents, decisions: Sequence[FactDecision], *, dry_run: bool = False
) -> Edited:
    """Undo decisions about facts; a dry run only reports what that would do."""
    effects = effects_of(engine, [replace(decision, undone=now()) for decision in decisions])
    if not dry_run:
        effects.decisions = undo(engine, decisions)
    return effects


def _require_correctable(
    engine: NeededComponents, fact: Statement, instead: Statement, before: Sequence[FactDecision]
) -> None:
    if fact == instead:
        raise UsageError(tr("the correction equals the fact"), hint=tr("give another --object, or none"))
    if instead[1] in _NAMES:
        raise UsageError(tr("a correction cannot be a name"), hint=tr(_OF_NAMES))
    for each in (fact, instead):
        if each in Withheld(before):
            earlier = _standing(before, each)[0]
            raise UsageError(
                tr("{one} was removed before: {label}").format(
                    one=text_of_statement(each), label=earlier.label
                ),
                hint=tr("undo that first: graphrag-rdf facts undo {iri}").format(iri=earlier.iri.value),
            )
    _require_contained(engine, fact)


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
    return [decision for decision in in_effect(before) if decision.fact == fact]


def _without_sentences(standing: Iterable[FactDecision]) -> list[FactDecision]:
    """Standing decisions that leave out their sentences too, if they did not before."""
    return [replace(decision, with_sentences=True) for decision in standing if not decision.with_sentences]


def _draft(
    person: Person, fact: Statement, instead: Statement | None, *, with_sentences: bool
) -> FactDecision:
    kind = REMOVAL if instead is None else CORRECTION
    return FactDecision(
        kind=kind,
        fact=fact,
        instead=instead,
        by=person.node,
        label=f"{kind.name} by {person.name or 'hand'}",
        reason=person.reason,
        with_sentences=with_sentences,
    )


def _names(
    engine: NeededComponents,
    decision: FactDecision,
    instead: Statement,
    names: Iterable[tuple[NamedNode, str]],
    effects: Edited,
) -> Iterator[Quad]:
    """The names of the things in a correction, and canonical links of new entities.

    The names are contained in the correction's subgraph, so that they live as long as the fact.
    """
    s, p, o = instead
    things = [term for term in instead if isinstance(term, NamedNode)]
    labels = {thing: Literal(name) for thing, name in names}
    for row in one_label(engine.store.select("retrieval/labels", things=things)):
        labels.setdefault(row["thing"], as_literal(row["label"]))
    stored = KnownNames(engine.store)
    stored.load(labels)
    groups = read_groups(engine.store)
    entities = {s, *([o] if p != RDF.type else [])}
    for thing, name in labels.items():
        if thing in entities and stored.is_new(thing):
            effects.entities.append(thing)
            yield Quad(thing, RAG.canonicalEntity, thing, Graphs.DERIVED)
            if thing in groups:
                stored.contest(thing)
        if prop := stored.add(thing, name):
            yield prov.fact(thing, prop, name)
        yield prov.contains(decision.subgraph, thing, RDFS.label, name)
    yield from unsettled(stored.take_contested())


# --- the effect --------------------------------------------------------------------------------


def effects_of(engine: NeededComponents, decisions: Sequence[FactDecision]) -> Edited:
    """What decisions would do that are not written yet, or not undone."""
    store, before = engine.store, read_decisions(engine.store, FACTS)
    effects = Edited(list(decisions))
    undone = [decision for decision in decisions if decision.undone]
    recorded = {decision.iri for decision in before}
    for decision in in_effect(decisions):
        evidence = store.select("facts/evidence", edges=[decision.fact])
        effects.sentences += dict.fromkeys(row["sentence"] for row in evidence if row["sentence"] is not None)
        if decision.iri in recorded:  # its sentences are left out, too
            continue
        effects.facts.append(decision.fact)
        if isinstance(decision.fact[0], NamedNode):
            rows = store.select("facts/said-also", edges=[decision.fact])
            effects.also += [(row["s"], row["p"], row["o"]) for row in rows]
        if decision.instead:
            effects.asserted.append(decision.instead)
    retracted = {decision.iri for decision in undone}
    after, now_withheld = Withheld(d for d in before if d.iri not in retracted), Withheld(before)
    own = {decision.subgraph for decision in undone if decision.instead}
    for fact in dict.fromkeys(decision.fact for decision in undone):
        if fact not in after and _containers(engine, fact) - own:
            effects.asserted.append(fact)
    for instead in dict.fromkeys(decision.instead for decision in undone):
        if instead and instead not in now_withheld and _containers(engine, instead) <= own:
            effects.facts.append(instead)
    return effects


def apply_decisions(engine: NeededComponents, changes: Changes, decisions: Sequence[FactDecision]) -> None:
    """The effect of decisions: commit changes, with the facts that follow; elect labels, and update the
    indexes. Reports from the sources of removed facts go.
    """
    effects = effects_of(engine, decisions)
    if undone := [decision for decision in decisions if decision.undone]:
        _assert_again(engine, changes, undone)
    else:
        changes.remove += [prov.fact(*fact) for fact in effects.facts]
    for decision in in_effect(decisions):
        if decision.instead and decision.instead in effects.asserted:
            rows = engine.store.select("facts/evidence", edges=[decision.fact])
            changes.add += decision.provenance(dict.fromkeys(row["evidence"] for row in rows))
    reports = select_in_batches(engine.store, "communities/report-evidence", "edges", effects.facts)
    sources = dict.fromkeys(row["source"] for row in reports if row["source"] is not None)
    drop_made(engine.store, changes, sources=list(sources))
    engine.indexer.recover()
    ends = (end for s, _, o in (*effects.facts, *effects.asserted) for end in (s, o))
    touched = dict.fromkeys(end for end in ends if isinstance(end, NamedNode))
    changes.add += undrawn(touched)
    engine.store.commit(changes)
    engine.indexer.changed(entities=[*settle(engine.store), *touched])
    engine.indexer.flush(final=True)


def _assert_again(engine: NeededComponents, changes: Changes, undone: Sequence[FactDecision]) -> None:
    """Add to changes what undoing decisions does; they are marked as undone already."""
    changes.updates.append(("facts/assert-again", {"candidates": [*dict.fromkeys(d.fact for d in undone)]}))
    corrections = [decision for decision in undone if decision.instead]
    if not corrections:
        return
    subgraphs = [decision.subgraph for decision in corrections]
    named = engine.store.select("ingest/contained-in-subgraphs", subgraphs=subgraphs)
    things = {row["s"] for row in named if row["p"] in _NAMES}
    changes.updates += [
        ("facts/retire-subgraphs", {"subgraphs": subgraphs, "now": undone[0].undone}),
        ("ingest/retract-facts", {"candidates": [decision.instead for decision in corrections]}),
    ]
    changes.add += unsettled(sorted(things, key=str))


def _containers(engine: NeededComponents, fact: Statement) -> set[NamedNode]:
    return {row["subgraph"] for row in engine.store.select("facts/containers", edges=[fact])}


def _triples(fact: Statement | None) -> list[Triple]:
    return [Triple(*fact)] if fact else []


_kind = partial(
    Kind[FactDecision],
    about="facts",
    effect=apply_decisions,
    record=FactDecision,
    properties={
        "fact": Property(RAG.retracts, statement, _triples),
        "instead": Property(RAG.assertsInstead, statement, _triples),
        "label": Property(RDFS.label, value),
        "with_sentences": Property(RAG.withSentences, flag),
    },
    least=0,
)
REMOVAL = _kind("removal", types=(RAG.FactRetraction,), words=later("does not hold"))
CORRECTION = _kind(
    "correction", types=(RAG.FactRetraction, RAG.FactCorrection), words=later("is corrected to")
)
FACTS: tuple[Kind[FactDecision], ...] = (REMOVAL, CORRECTION)
KINDS = FACTS
