"""Entity linking: which things of a reference vocabulary the entities are.

A vocabulary is the active version of a loaded ontology, or an imported file: its SKOS concepts and OWL
individuals. Candidates have the same name (compared as IRIs are minted, by `extract.names.fold`), an
alternative name, a name that differs in writing only, a similar name, or, with an embedding model, one of the
same meaning; a weaker likeness counts only for entities that no stronger one brings a candidate.
`link_context` compares what texts and vocabulary say. `_decide` weighs all of it.

A link is a decision (`resolutions.Link`): `owl:sameAs` for individuals, `skos:exactMatch` for concepts,
or `skos:closeMatch` where names or texts are less sure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.names import fold
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.ingest.decisions import PERSON, decide, numbered, read_decisions
from graphrag_rdf.ingest.entity_decisions import ENTITIES, LINK
from graphrag_rdf.ingest.names import names_of_groups
from graphrag_rdf.ingest.resolutions import Groups, Link, Resolution
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import OWL, SKOS
from graphrag_rdf.rdf.terms import best_label
from graphrag_rdf.store.base import Store, in_batches
from graphrag_rdf.wings.merging.likeness import KEYS, similar
from graphrag_rdf.wings.merging.link_context import Contexts

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents

RULE = iris.agent("graphrag-rdf-link")
"""The agent of these decisions."""
MODEL = iris.agent("graphrag-rdf-link-by-model")
"""The agent of those that a model judged; their reason names it."""
MIN_CONFIDENCE, MARGIN = 0.8, 0.05
ALT_LABEL = 0.95
"""Likeness of an entity's name and an alternative name."""
_SIMILAR, _MEANING = 0.8, 0.9
"""The least cosine of 3-grams, and of embeddings, of names."""
_UNSURE_NAME = 0.89
"""The most that likeness of spelling or meaning can say of names."""
_EXACT_FROM = 0.85
"""Confidence from which a concept is the same, not only close."""
_SEVERAL, _TELLING = 3, 0.34
"""Words of a name, and the fit of texts that so many stand for."""
_NAMED_ALIKE = 0.1
"""Likenesses of names that differ less are the same."""
_BATCH = 50

Outcome = Choice["link", "ambiguous", "mixed", "unsure"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What entities can be linked to.

    Attributes:
        iri: the graph of the version of an ontology, or the subgraph of an imported file.
        names: IRIs that name it: of the ontology, its concept schemes, the file.
        imported: whether it is a file.
    """

    iri: NamedNode
    names: tuple[str, ...]
    imported: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A thing that an entity may be.

    Attributes:
        matched: the name that is alike.
        method: `exact`, `altLabel`, a rule of spelling, `spelling` or `meaning`.
        likeness: of the names, 0 to 1.
        confidence: of the link; 0 for a thing of a disjoint type.
        context: how far the texts fit its description.
    """

    thing: NamedNode
    matched: Literal
    method: str
    likeness: float
    concept: bool
    confidence: float = 0.0
    context: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is decided of an entity and a vocabulary.

    Attributes:
        entity: canonical.
        name: its label.
        outcome: `link`, or why not: `ambiguous` (several things fit), `mixed` (documents mean different
            things), `unsure`.
        best: the surest candidate.
        others: the next ones, surest first.
        evidence: sentences that fit the description of the best one.
        barred: candidates that it is not by a decision.
        by, why: the model that judged it, and its reason; None by rule.
    """

    entity: NamedNode
    name: str
    vocabulary: NamedNode
    outcome: Outcome
    best: Candidate
    others: tuple[Candidate, ...] = ()
    evidence: tuple[NamedNode, ...] = ()
    barred: frozenset[NamedNode] = frozenset()
    by: str | None = None
    why: str | None = None

    @property
    def reason(self) -> str | None:
        """What the model says, for people; without words of documents."""
        return f"{self.by} says: {self.why}" if self.by else None

    @property
    def relation(self) -> NamedNode:
        """The property of the link."""
        if not self.best.concept:
            return OWL.sameAs
        sure = self.best.method not in ("spelling", "meaning") and self.best.confidence >= _EXACT_FROM
        return SKOS.exactMatch if sure else SKOS.closeMatch

    def json_object(self) -> dict[str, object]:
        """The keys of `entities link --format json`."""
        return {
            "entity": self.entity,
            "name": self.name,
            "outcome": self.outcome,
            **_as_json(self.best),
            "relation": self.relation,
            "vocabulary": self.vocabulary,
            "evidence": self.evidence,
            "by": self.by,
            "reason": self.reason,
            "others": [_as_json(other) for other in self.others],
        }


def _as_json(candidate: Candidate) -> dict[str, object]:
    return {
        "thing": candidate.thing,
        "matched": candidate.matched,
        "language": candidate.matched.language,
        "method": candidate.method,
        "confidence": round(candidate.confidence, 4),
        "context": round(candidate.context, 4),
    }


def read_vocabularies(store: Store) -> list[Vocabulary]:
    """All that entities can be linked to."""
    found: dict[NamedNode, tuple[list[str], bool]] = {}
    for row in store.select("linking/vocabularies"):
        names, _ = found.setdefault(row["vocabulary"], ([], row["imported"]))
        names.append(row["name"])
    return [Vocabulary(iri, tuple(names), imported) for iri, (names, imported) in found.items()]


def choose_vocabularies(store: Store, name: str | None) -> list[Vocabulary]:
    """The vocabularies that an IRI names, or all.

    Raises:
        UsageError: there is none.
    """
    every = read_vocabularies(store)
    chosen = [each for each in every if name is None or name in (*each.names, each.iri.value)]
    if not chosen:
        raise UsageError(
            tr("no vocabulary is named {name}").format(name=name)
            if name
            else tr("the store has no vocabulary"),
            hint=tr(
                "load it with graphrag-rdf ontology load FILE, or import it; "
                "graphrag-rdf ontology list shows the IRIs"
            ),
        )
    return chosen


def propose(
    engine: NeededComponents,
    vocabularies: Sequence[Vocabulary],
    *,
    min_confidence: float = MIN_CONFIDENCE,
    margin: float = MARGIN,
    again: bool = False,
) -> list[Proposal]:
    """What is decided of each entity with a candidate, links first, the surest first, ties by IRI.

    Entities with a link into a vocabulary, and its own things, are passed over.

    Args:
        vocabularies: each is linked to by itself.
        min_confidence: of a link.
        margin: by which it must be surer than the next one.
        again: also propose links that were undone.
    """
    decisions = read_decisions(engine.store, ENTITIES)
    entities = {entity: _Entity(names) for entity, names in names_of_groups(engine.store).items()}
    found: list[Proposal] = []
    for vocabulary in vocabularies:
        things = _Things(engine.store, vocabulary)
        open_ = _unlinked(entities, things, decisions, again=again)
        candidates = _candidates(engine, open_, things)
        for batch in in_batches(sorted(candidates, key=str), _BATCH):
            some = {entity: candidates[entity] for entity in batch}
            names = {entity: open_[entity].names for entity in batch}
            decided = _decide(engine, vocabulary, things, some, names, min_confidence, margin)
            for one in decided:
                barred = open_[one.entity].barred
                if one.best.thing not in barred:
                    found.append(replace(one, barred=barred))
    found.sort(key=lambda p: (p.outcome != "link", -p.best.confidence, p.entity.value))
    pairs: set[frozenset[NamedNode]] = set()  # two imported files link to each other; one way is enough
    once = []
    for one in found:
        pair = frozenset((one.entity, one.best.thing))
        if pair not in pairs:
            once.append(one)
        pairs.add(pair)
    return once


def apply(engine: NeededComponents, proposals: Iterable[Proposal]) -> list[Link]:
    """Decide on the links among proposals; the decisions, in their order."""
    drafts = [
        Link(
            kind=LINK,
            members=(proposal.entity,),
            by=MODEL if proposal.by else RULE,
            reason=proposal.reason,
            confidence=round(proposal.best.confidence, 4),
            target=proposal.best.thing,
            relation=proposal.relation,
            method=proposal.best.method,
            matched=proposal.best.matched,
            vocabulary=proposal.vocabulary,
            evidence=tuple(sorted(proposal.evidence, key=str)),
        )
        for proposal in proposals
        if proposal.outcome == "link"
    ]
    before = read_decisions(engine.store, ENTITIES)
    links = numbered(before, drafts)
    decide(engine, links)
    return links


def link_by_hand(
    engine: NeededComponents,
    entity: NamedNode,
    thing: NamedNode,
    *,
    by: NamedNode = PERSON,
    name: str | None = None,
    reason: str | None = None,
) -> Link:
    """Decide as a person that an entity is a thing of a vocabulary.

    Args:
        by, name: the person.

    Raises:
        UsageError: no vocabulary has the thing, or the entity is linked to it already.
    """
    before = read_decisions(engine.store, ENTITIES)
    if any(link.target == thing for link in Groups(before).links(entity)):
        raise UsageError(
            tr("{entity} is linked to {thing} already").format(entity=entity.value, thing=thing.value)
        )
    for vocabulary in read_vocabularies(engine.store):
        things = _Things(engine.store, vocabulary)
        if thing not in things.names:
            continue
        draft = Link(
            kind=LINK,
            members=(entity,),
            by=by,
            reason=reason,
            confidence=1.0,
            target=thing,
            relation=SKOS.exactMatch if thing in things.concepts else OWL.sameAs,
            method="person",
            matched=best_label(things.names[thing]) or things.names[thing][0],
            vocabulary=vocabulary.iri,
        )
        (link,) = numbered(before, [draft])
        decide(engine, [link], name)
        return link
    raise UsageError(
        tr("no vocabulary has a concept or individual {thing} with a name").format(thing=thing.value),
        hint=tr("load the ontology with it: graphrag-rdf ontology load FILE"),
    )


def standing(store: Store) -> list[Resolution]:
    """The links that were made here and stand."""
    found = read_decisions(store, ENTITIES)
    return [d for d in found if d.by in (RULE, MODEL) and d.kind == LINK and d.undone is None]


# --- names ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Entity:
    """An entity with what it is merged with.

    Attributes:
        names: each name, and whether it is a label.
        barred: things that it is not by a decision. They compete: a namesake is not taken instead.
    """

    names: dict[str, bool]
    barred: frozenset[NamedNode] = frozenset()

    @property
    def label(self) -> str:
        """Its first label, for people."""
        return min((name for name, is_label in self.names.items() if is_label), default=min(self.names))


class _Things:
    """The concepts and individuals of a vocabulary, with their names."""

    def __init__(self, store: Store, vocabulary: Vocabulary) -> None:
        template = "linking/imported-names" if vocabulary.imported else "linking/names"
        self.names: dict[NamedNode, list[Literal]] = defaultdict(list)
        self.concepts: set[NamedNode] = set()
        self._aliases: set[tuple[NamedNode, Literal]] = set()
        for row in store.select(template, vocabulary=vocabulary.iri):
            thing, name = row["thing"], row["name"]
            if not fold(name.value):
                continue
            self.names[thing].append(name)
            if row["property"] in (SKOS.altLabel, SKOS.hiddenLabel):
                self._aliases.add((thing, name))
            if row["concept"]:
                self.concepts.add(thing)

    def candidate(self, thing: NamedNode, name: Literal, method: str, likeness: float) -> Candidate:
        """A candidate whose name is alike; `exact` becomes `altLabel` for an alternative name."""
        if method == "exact" and (thing, name) in self._aliases:
            method, likeness = "altLabel", ALT_LABEL
        return Candidate(thing, name, method, likeness, thing in self.concepts)

    def all_names(self) -> Iterator[tuple[NamedNode, Literal]]:
        """Each thing with each of its names."""
        for thing, names in self.names.items():
            for name in names:
                yield thing, name


def _unlinked(
    entities: Mapping[NamedNode, _Entity], things: _Things, decisions: Sequence[Resolution], *, again: bool
) -> dict[NamedNode, _Entity]:
    """The entities that have no link into a vocabulary, and are none of its things."""
    groups = Groups(decisions)
    undone: dict[NamedNode, set[NamedNode]] = defaultdict(set)
    for decision in decisions:
        if isinstance(decision, Link) and decision.undone is not None and not again:
            for member in decision.members:
                undone[member].add(decision.target)
    found: dict[NamedNode, _Entity] = {}
    for entity, known in entities.items():
        group = groups.of(entity)
        linked = (link.target in things.names for member in group for link in groups.links(member))
        if any(member in things.names for member in group) or any(linked):
            continue
        barred = set[NamedNode]().union(*(undone[member] for member in group if member in undone))
        barred |= {thing for thing in groups.apart_from(entity) if thing in things.names}
        found[entity] = _Entity(known.names, frozenset(barred))
    return found


def _candidates(
    engine: NeededComponents, entities: Mapping[NamedNode, _Entity], things: _Things
) -> dict[NamedNode, dict[NamedNode, Candidate]]:
    """Entity → thing → candidate, by the strongest likeness that brings the entity any."""
    found: dict[NamedNode, dict[NamedNode, Candidate]] = {}

    def take(entity: NamedNode, candidate: Candidate) -> None:
        of_entity = found.setdefault(entity, {})
        known = of_entity.get(candidate.thing)
        if known is None or candidate.likeness > known.likeness:
            of_entity[candidate.thing] = candidate

    left = list(entities)
    for rule, key_of, likeness in (("exact", _exact, 1.0), *KEYS):
        holders: dict[str, list[tuple[NamedNode, Literal]]] = defaultdict(list)
        for thing, name in things.all_names():
            if key := " ".join(key_of(name.value)):
                holders[key].append((thing, name))
        for entity in left:
            for called, is_label in entities[entity].names.items():
                for thing, name in holders.get(" ".join(key_of(called)), ()):
                    weight = 1.0 if is_label or rule != "exact" else ALT_LABEL
                    candidate = things.candidate(thing, name, rule, likeness)
                    if weight < candidate.likeness:
                        candidate = Candidate(thing, name, "altLabel", weight, candidate.concept)
                    take(entity, candidate)
        left = [entity for entity in left if entity not in found]
    for entity, candidate in _alike(engine, {entity: entities[entity] for entity in left}, things):
        take(entity, candidate)
    return found


def _exact(name: str) -> list[str]:
    return [fold(name)]


def _alike(
    engine: NeededComponents, entities: Mapping[NamedNode, _Entity], things: _Things
) -> Iterator[tuple[NamedNode, Candidate]]:
    """Entities with things that have a similar name, or one of the same meaning."""
    left, every = list(entities), list(things.names)
    called = [(n, name) for n, entity in enumerate(left) for name in entities[entity].names]
    texts = [(n, name) for n, thing in enumerate(every, len(left)) for name in things.names[thing]]
    known = {(n, name.value): name for n, name in reversed(texts)}
    numbered = [*called, *known]
    spelt: set[NamedNode] = set()
    for pair in similar(numbered, _SIMILAR, between=len(left)):
        entity, thing = left[pair.one], every[pair.other - len(left)]
        name = max(things.names[thing], key=lambda one: _spelling(one.value, entities[entity].names))
        spelt.add(entity)
        yield entity, things.candidate(thing, name, "spelling", pair.score * _UNSURE_NAME)
    embedder = engine.embedder
    unspelt = [(n, name) for n, name in called if left[n] not in spelt]
    if embedder is None or not unspelt or not known:
        return
    from graphrag_rdf.index.embedders import unit_rows

    places = list(known)
    matrix = unit_rows(embedder.embed([name for _, name in places]))
    for batch in in_batches(unspelt, 200):
        cosines = unit_rows(embedder.embed([name for _, name in batch])) @ matrix.T
        for (number, _), row in zip(batch, cosines, strict=True):
            for place in (row >= _MEANING).nonzero()[0]:
                thing = every[places[place][0] - len(left)]
                likeness = min(1.0, float(row[place])) * _UNSURE_NAME
                yield left[number], things.candidate(thing, known[places[place]], "meaning", likeness)


def _spelling(name: str, called: Iterable[str]) -> float:
    from rapidfuzz import fuzz

    return max(fuzz.ratio(fold(name), fold(other)) for other in called)


# --- decisions --------------------------------------------------------------------------------------


def _telling(candidate: Candidate) -> float:
    """The fit of texts that a name of several words, stop words left out, stands for: few things share it."""
    found = analyse(candidate.matched.value, candidate.matched.language or "en")
    return _TELLING if len(found) >= _SEVERAL else 0.0


def _decide(
    engine: NeededComponents,
    vocabulary: Vocabulary,
    things: _Things,
    candidates: Mapping[NamedNode, Mapping[NamedNode, Candidate]],
    names: Mapping[NamedNode, Mapping[str, bool]],
    least: float,
    margin: float,
) -> Iterator[Proposal]:
    """The decisions on a batch of entities. Things of a disjoint type are never proposed."""
    store = engine.store
    pairs = [(entity, thing) for entity, of_entity in candidates.items() for thing in of_entity]
    contexts = Contexts(store, engine.text_index, names, {thing: things.names[thing] for _, thing in pairs})
    types = dict.fromkeys(pairs, 0.0)
    for row in store.select("linking/types", pairs=pairs):
        pair = row["entity"], row["thing"]
        types[pair] = -1.0 if row["disjoint"] else float(bool(row["agree"]))
    for entity, of_entity in candidates.items():
        fits: dict[NamedNode, dict[NamedNode, float]] = defaultdict(dict)
        for thing, document, fit in contexts.fits(entity, list(of_entity)):
            fits[thing][document] = fit
        ranked = [
            replace(
                one,
                confidence=_sureness(one, max(fits[thing].values()), typed),
                context=max(fits[thing].values()),
            )
            for thing, one in of_entity.items()
            if (typed := types[entity, thing]) >= 0
        ]
        if not ranked:
            continue
        ranked.sort(key=lambda one: (-one.confidence, one.thing.value))
        best, *others = ranked
        outcome: Outcome = "link"
        if best.confidence < least:
            outcome = "unsure"
        elif _mixed(of_entity, fits, margin):
            outcome = "mixed"
        elif any(one.confidence > best.confidence - margin for one in others):
            outcome = "ambiguous"
        label = _Entity(dict(names[entity])).label
        evidence = contexts.evidence(entity, best.thing)
        yield Proposal(entity, label, vocabulary.iri, outcome, best, tuple(others), evidence)


def _sureness(one: Candidate, context: float, typed: float) -> float:
    """The confidence of a link, by the names, the texts, and the types: 1 if they agree, 0 if unknown."""
    unlike = (1 - max(context, _telling(one))) * (1 - 0.5 * typed)
    return one.likeness * (0.7 + 0.3 * (1 - unlike))


def _mixed(
    candidates: Mapping[NamedNode, Candidate],
    fits: Mapping[NamedNode, Mapping[NamedNode, float]],
    margin: float,
) -> bool:
    """Whether one document fits one thing better, and another another, of two whose names are as alike."""
    for one, other in combinations(candidates.values(), 2):
        if abs(one.likeness - other.likeness) < _NAMED_ALIKE:
            more = [fit - fits[other.thing][document] for document, fit in fits[one.thing].items()]
            if max(more) >= margin / 0.3 and min(more) <= -margin / 0.3:
                return True
    return False
