"""Rules that join entities by their names during an ingest. Each join is a decision, which can be undone.

*Aliases*: a chunk may say that Ebenezer Orr is also called Orr, and another may name Orr only. Where exactly
one entity of the document is called so, and no other of the store is, the two are one. The decision is taken
back when another entity is called so too, or when no text gives that alias any more.

*Written together*: chats and accounts write names without blanks, and call people by their first names. LiHua
is Li Hua wherever the store has both forms. The Yuriko of a chat is its speaker YurikoYamamoto if the
document names both and no other name of the store has that first name; this is taken back when another has.

*Plurals*: bones is bone where the store has both in lower case, as these name kinds of things. A name in
capitals stays apart: Bones is a book.

*Chinese characters*: 臺灣, 台灣 and 台湾 are one name in traditional and simplified characters. The entity
with the simplified name represents the others.

A decision that was undone is not made again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.extract.names import apart, fold, match_key, together
from graphrag_rdf.han import has_han, simplified
from graphrag_rdf.i18n import later
from graphrag_rdf.ingest.decisions import in_effect, read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES, merge
from graphrag_rdf.ingest.names import entities_called, words
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RDFS, SKOS
from graphrag_rdf.store.base import Store, in_batches, select_in_batches
from graphrag_rdf.wings.merging.likeness import SHORT_NAME, TOGETHER

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


Pair = tuple[NamedNode, NamedNode]
"""The entity that represents both, and the other one."""

Names = Mapping[NamedNode, set[str]]

ALIASES = iris.agent("graphrag-rdf-aliases")
TOGETHER_RULE = iris.agent("graphrag-rdf-written-together")
SCRIPTS_RULE = iris.agent("graphrag-rdf-chinese-characters")
"""The agents of the decisions of aliases, of names written together or in the plural, and of characters."""


class Documents:
    """The names in documents that were read."""

    def __init__(self, engine: NeededComponents, documents: Sequence[NamedNode]) -> None:
        self.engine = engine
        self.documents = documents

    @cached_property
    def _read(self) -> tuple[Names, set[Pair]]:
        every: dict[NamedNode, set[str]] = defaultdict(set)
        first: set[Pair] = set()
        for batch in in_batches(self.documents):
            named = _named_in(self.engine.store, batch)
            first.update(_first_names(self.engine.store, named))
            for names in named.values():
                for entity, of_entity in names.items():
                    every[entity] |= of_entity
        return every, first

    @property
    def names(self) -> Names:
        """Entity → its names there."""
        return self._read[0]

    @property
    def first_names(self) -> set[Pair]:
        """Speakers, and what is called by their first name."""
        return self._read[1]


@dataclass(frozen=True, slots=True)
class Rule:
    """When entities are one by their names.

    Attributes:
        agent, reason, confidence: of the decisions.
        candidates: the pairs that documents suggest.
        holding: the pairs that no other name contradicts, of the documents or, if True, of the whole store.
            Decisions that do not hold any more are undone.
        keeps_first: whether the first of a pair represents both, rather than what represents the first.
    """

    agent: NamedNode
    reason: str
    confidence: float
    candidates: Callable[[Documents], Iterable[Pair]]
    holding: Callable[[Documents, Sequence[Pair], Groups, bool], Sequence[Pair]] | None = None
    keeps_first: bool = False


def join_by_names(engine: NeededComponents, rules: Iterable[Rule], documents: Sequence[NamedNode]) -> None:
    """Decide which entities of new or refreshed documents are one.

    Args:
        rules: in the order in which they apply.
    """
    if not documents:
        return
    store, read = engine.store, Documents(engine, documents)
    decisions = read_decisions(store, ENTITIES)
    for rule in rules:
        if lost := _lost(rule, decisions, read):
            undo(engine, lost)
            decisions = read_decisions(store, ENTITIES)
        groups = Groups(decisions)
        pairs = undecided(decisions, rule.agent, sorted(rule.candidates(read), key=str))
        if rule.holding:
            pairs = [*rule.holding(read, pairs, groups, True)]
        merges = [
            Merge(_representative(rule, pair, groups), pair, rule.reason, rule.confidence)
            for pair in of_one_type(store, pairs)
        ]
        if merge(engine, merges, by=rule.agent):
            decisions = read_decisions(store, ENTITIES)


def _representative(rule: Rule, pair: Pair, groups: Groups) -> NamedNode:
    return pair[0] if rule.keeps_first else groups.standing_for(pair[0], groups.of(pair[0]))


def _lost(rule: Rule, decisions: Sequence[Resolution], read: Documents) -> list[Resolution]:
    """The standing decisions of a rule that names of the documents, or of the store, contradict."""
    if rule.holding is None:
        return []
    own = [d for d in in_effect(decisions) if d.by == rule.agent and d.reason == rule.reason]
    standing = {_pair(decision): decision for decision in own}
    if not standing:
        return []
    held = rule.holding(read, list(standing), Groups(decisions), False)
    return [decision for pair, decision in standing.items() if pair not in held]


def _pair(decision: Resolution) -> Pair:
    canonical = decision.canonical
    owner = canonical if canonical and canonical in decision.members else decision.members[0]
    return owner, next(member for member in decision.members if member != owner)


def undecided(decisions: Sequence[Resolution], rule: NamedNode, pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs that are not one yet, that no split keeps apart, and whose join by the rule was never undone."""
    groups = Groups(decisions)
    taken_back = {d.members for d in decisions if d.by == rule and d.undone is not None}
    return [
        pair
        for pair in pairs
        if tuple(sorted(pair, key=str)) not in taken_back
        and pair[1] not in groups.of(pair[0])
        and not groups.are_kept_apart(*pair)
    ]


def of_one_type(store: Store, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of entities that have a type in common, as far as they have any."""
    types: dict[NamedNode, set[str]] = defaultdict(set)
    for row in select_in_batches(store, "entities/types", "entities", _entities(pairs)):
        types[row["entity"]].add(row["type"].value)
    return [
        (one, other)
        for one, other in pairs
        if not types[one] or not types[other] or not types[one].isdisjoint(types[other])
    ]


def names_of(store: Store, pairs: Iterable[Sequence[NamedNode]]) -> defaultdict[NamedNode, dict[str, bool]]:
    """The names of the entities of these pairs, and whether each is the label."""
    found: defaultdict[NamedNode, dict[str, bool]] = defaultdict(dict)
    for row in select_in_batches(store, "labels/known", "things", _entities(pairs)):
        names, name = found[row["thing"]], row["name"].value
        names[name] = names.get(name, False) or row["property"] == RDFS.label
    return found


def _entities(pairs: Iterable[Sequence[NamedNode]]) -> dict[NamedNode, None]:
    return {entity: None for pair in pairs for entity in pair}


# --- aliases ---


def _aliases(read: Documents) -> set[Pair]:
    """For each document: an entity with an alias, and the only one that the document calls by that alias."""
    found: set[Pair] = set()
    for batch in in_batches(read.documents):
        owners: dict[tuple[str, str], set[NamedNode]] = defaultdict(set)
        named: dict[tuple[str, str], set[NamedNode]] = defaultdict(set)
        for row in read.engine.store.select("ingest/names-in-documents", documents=batch):
            place = owners if row["property"] == SKOS.altLabel else named
            place[row["document"], match_key(row["name"])].add(row["canonical"])
        for key, having in owners.items():
            others = named[key] - having
            if len(having) == len(others) == 1:
                found.add((min(having, key=str), min(others, key=str)))
    return found


def _alone_by_alias(read: Documents, pairs: Sequence[Pair], *_: object) -> list[Pair]:
    """Pairs of which only the first has the other's name as an alias."""
    store = read.engine.store
    names = names_of(store, pairs)
    claimed = {pair: claims for pair in pairs if (claims := _claims(names[pair[0]], names[pair[1]]))}
    having = entities_called(store, (name for claims in claimed.values() for name in claims))
    return [pair for pair, claims in claimed.items() if all(having[name] <= {*pair} for name in claims)]


def _claims(owner: Mapping[str, bool], other: Mapping[str, bool]) -> set[str]:
    """The names that no third entity may have, if the owner has the other's label as a name."""
    keys = {match_key(name) for name, is_label in other.items() if is_label}
    shared = {name for name in owner if match_key(name) in keys}
    return shared | other.keys() if shared else set()


# --- written together ---


# a name that begins so is another one when it is written apart: LaLuna and La Luna
_PARTICLES = frozenset(
    ["al", "da", "de", "del", "di", "du", "el", "la", "las", "le", "los", "mac", "mc", "van", "von"]
)
_COMMON = re.compile(r"[a-z][a-z -]+[a-z]")  # three letters: ga is no singular of gas
_CONSONANT_Y = re.compile(r"[^aeiou]y$")


def _named_in(store: Store, documents: Sequence[NamedNode]) -> dict[str, dict[NamedNode, set[str]]]:
    """Document → entity → its names there."""
    found: dict[str, dict[NamedNode, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in store.select("ingest/names-in-documents", documents=documents):
        found[row["document"]][row["entity"]].add(row["name"])
    return found


def _spaced(read: Documents) -> set[Pair]:
    """Entities with a name that is written apart, and the only ones that have it written together."""
    store, forms = read.engine.store, dict[str, str]()
    for name in {name for names in read.names.values() for name in names}:
        form = together(name) or apart(name)
        if form != name and words(apart(name))[0] not in _PARTICLES:
            forms[name] = form
    having = entities_called(store, forms.values())
    forms = {name: form for name, form in forms.items() if len(having[form]) == 1}
    found: set[Pair] = set()
    for name, owners in entities_called(store, forms).items():
        others = having[forms[name]]
        if len(owners) == 1 and owners != others:
            pair = min(owners, key=str), min(others, key=str)
            found.add(pair if together(name) else (pair[1], pair[0]))
    return found


def _plurals(read: Documents) -> set[Pair]:
    """The only entities with a common noun as a name and with its plural, the singular first."""
    pairs = {pair for names in read.names.values() for name in names for pair in _numbers(name)}
    having = entities_called(read.engine.store, (name for pair in pairs for name in pair))
    return {
        (min(having[one], key=str), min(having[many], key=str))
        for one, many in pairs
        if len(having[one]) == len(having[many]) == 1 and having[one] != having[many]
    }


def _numbers(name: str) -> Iterator[tuple[str, str]]:
    """The pairs of singular and plural that a name of lower-case letters may be one of."""
    if _COMMON.fullmatch(name):
        yield name, _plural(name)
        singulars = name[:-1], name[:-2], f"{name[:-3]}y"
        yield from ((one, name) for one in singulars if _COMMON.fullmatch(one) and _plural(one) == name)


def _plural(name: str) -> str:
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return f"{name}es"
    return f"{name[:-1]}ies" if _CONSONANT_Y.search(name) else f"{name}s"


def _first_names(store: Store, named: Mapping[str, Names]) -> Iterator[Pair]:
    """Speakers of documents whose name is written together, and what is called by their first name there."""
    documents = [NamedNode(document) for document in named]
    for row in store.select("ingest/speakers", documents=documents) if documents else ():
        speaker = row["speaker"]
        first = apart(speaker).partition(" ")[0]
        if first == speaker:
            continue
        names = named[row["document"]]
        people = [entity for entity, own in names.items() if speaker in own]
        short = [entity for entity, own in names.items() if first in own]
        if len(people) == len(short) == 1 and people != short:
            yield people[0], short[0]


def _alone(read: Documents, pairs: Sequence[Pair], groups: Groups, everywhere: bool) -> list[Pair]:
    """Pairs of a speaker and its first name that no third thing has as a word of its name."""
    if not pairs:
        return []
    bearers = _bearers(_all_names(read.engine.store) if everywhere else read.names)
    word_of = _first_words(read.engine.store, pairs)
    return [pair for pair in pairs if bearers[word_of[pair]] <= {*groups.of(pair[0]), pair[1]}]


def _all_names(store: Store) -> Names:
    names: dict[NamedNode, set[str]] = defaultdict(set)
    for row in store.select("entities/all-names"):
        names[row["entity"]].add(row["name"].value)
    return names


def _first_words(
    store: Store, pairs: Sequence[tuple[NamedNode, ...]]
) -> defaultdict[tuple[NamedNode, ...], str]:
    """Pair → the word by which one of the two is called, and with which the name of the other begins."""
    names = names_of(store, pairs)
    found: defaultdict[tuple[NamedNode, ...], str] = defaultdict(str)
    for pair in pairs:
        of_pair = {name for entity in pair for name in names[entity]}
        begun = {parts[0] for name in of_pair if len(parts := apart(name).split()) > 1}
        if shared := sorted(begun & of_pair):
            found[pair] = " ".join(words(shared[0]))
    return found


def _bearers(names: Names) -> defaultdict[str, set[NamedNode]]:
    """Word → the entities that have it in their names."""
    found: defaultdict[str, set[NamedNode]] = defaultdict(set)
    for entity, of_entity in names.items():
        for name in of_entity:
            for word in words(apart(name)):
                found[word].add(entity)
    return found


# --- Chinese characters ---


def _scripts(read: Documents) -> set[Pair]:
    """Entities whose names differ only in traditional and simplified characters. The index of words knows
    names by their simplified form.
    """
    names = {name for names in read.names.values() for name in names if len(name) > 1 and has_han(name)}
    alike = {
        tuple(map(NamedNode, entities))
        for entities in read.engine.text_index.exact(sorted(names)).values()
        if len(entities) > 1
    }
    labels = {
        entity: next(iter(sorted(name for name, is_label in of_entity.items() if is_label)), "")
        for entity, of_entity in names_of(read.engine.store, alike).items()
    }
    pairs: set[Pair] = set()
    for entities in alike:
        by_name: dict[str, list[NamedNode]] = defaultdict(list)
        for entity in entities:
            by_name[fold(simplified(labels.get(entity, "")))].append(entity)
        for key, same in by_name.items():
            # by the simplified name, else the first IRI, so that the order of documents does not matter
            first, *remaining = sorted(same, key=lambda each: (fold(labels.get(each, "")) != key, str(each)))
            pairs.update((first, each) for each in remaining if key)
    return pairs


# --- the rules ---


BY_ALIAS = (
    Rule(
        ALIASES,
        later("a document names one by what it says that the other is also called"),
        0.92,
        _aliases,
        _alone_by_alias,
        keeps_first=True,
    ),
)
BY_WRITING = (
    Rule(TOGETHER_RULE, later("one name has its words written together"), TOGETHER, _spaced),
    Rule(TOGETHER_RULE, later("one name is the plural of the other"), TOGETHER, _plurals),
    Rule(
        SCRIPTS_RULE, later("one name in traditional and simplified Chinese characters"), TOGETHER, _scripts
    ),
    Rule(
        TOGETHER_RULE,
        later("a chat calls its speaker so"),
        SHORT_NAME,
        lambda read: read.first_names,
        _alone,
    ),
)
