"""Names written together or apart: LiHua is Li Hua, and the Yuriko of a chat its speaker YurikoYamamoto.

Chats and accounts write names without blanks, and call people by their first names. Both are one by a
decision, which can be undone: the former wherever the store has both forms, the latter where a document names
both and nothing else in the store has the first name in its name. The latter is taken back when something
else has. What was taken back is not decided again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.extract.names import apart, together
from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.ingest.decisions import Decision, Groups, read_decisions
from graphrag_rdf.ingest.joins import Pair, called, names_of, of_one_type, undecided
from graphrag_rdf.ingest.likeness import SHORT_NAME, TOGETHER, words
from graphrag_rdf.ingest.resolution import Merge, merge, undo
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import node_of, text_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest.protocols import NeededComponents
    from graphrag_rdf.store.base import Store

RULE = iris.agent("graphrag-rdf-written-together")
"""Who decides here."""
REASON = "one name has its words written together"
FIRST_NAME = "a chat calls its speaker so"
_BATCH = 500
# what begins names that are others when it is written apart: LaLuna and La Luna
_PARTICLES = frozenset(
    ["al", "da", "de", "del", "di", "du", "el", "la", "las", "le", "los", "mac", "mc", "van", "von"]
)

Names = Mapping[NamedNode, set[str]]


def join_written_together(engine: NeededComponents, documents: Sequence[NamedNode]) -> None:
    """Decide which entities of documents that are new or were read anew are one by how names are written."""
    if not documents:
        return
    store = engine.store
    here: dict[NamedNode, set[str]] = defaultdict(set)
    first: set[Pair] = set()
    for some in in_batches(documents, _BATCH):
        named = _named_in(store, some)
        first.update(_first_names(store, named))
        for names in named.values():
            for entity, of_entity in names.items():
                here[entity] |= of_entity
    decisions = read_decisions(store)
    if _join(engine, decisions, undecided(decisions, RULE, _spaced(store, here)), REASON, TOGETHER):
        decisions = read_decisions(store)
    if lost := _lost(store, decisions, here):
        undo(engine, lost)
        decisions = read_decisions(store)
    pairs = undecided(decisions, RULE, sorted(first, key=str))
    _join(engine, decisions, _alone(store, pairs, Groups(decisions)), FIRST_NAME, SHORT_NAME)


def _join(
    engine: NeededComponents,
    decisions: Sequence[Decision],
    pairs: Sequence[Pair],
    reason: str,
    confidence: float,
) -> list[Decision]:
    """Merge pairs; the first of a pair, or what stands for it, stands for both."""
    groups = Groups(decisions)
    merges = [
        Merge(groups.standing_for(pair[0], groups.of(pair[0])), pair, reason, confidence)
        for pair in of_one_type(engine.store, pairs)
    ]
    return merge(engine, merges, by=RULE)


def _named_in(store: Store, documents: Sequence[NamedNode]) -> dict[str, dict[NamedNode, set[str]]]:
    """Document → entity → its names there."""
    found: dict[str, dict[NamedNode, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in store.select("ingest/names-in-documents", documents=documents):
        found[text_of(row["document"])][node_of(row["entity"])].add(text_of(row["name"]))
    return found


def _spaced(store: Store, named: Names) -> list[Pair]:
    """Entities with a name that is written apart, and the only ones that have it written together."""
    forms: dict[str, str] = {}
    for name in {name for names in named.values() for name in names}:
        form = together(name) or apart(name)
        if form != name and words(apart(name))[0] not in _PARTICLES:
            forms[name] = form
    having = called(store, forms.values())
    forms = {name: form for name, form in forms.items() if len(having[form]) == 1}
    found: set[Pair] = set()
    for name, owners in called(store, forms).items():
        others = having[forms[name]]
        if len(owners) == 1 and owners != others:
            pair = min(owners, key=str), min(others, key=str)
            found.add(pair if together(name) else (pair[1], pair[0]))
    return sorted(found, key=str)


def _first_names(store: Store, named: Mapping[str, Names]) -> Iterator[Pair]:
    """Speakers of documents whose name is written together, and what is called by their first name there."""
    documents = [NamedNode(document) for document in named]
    for row in store.select("ingest/speakers", documents=documents) if documents else ():
        speaker = text_of(row["speaker"])
        first = apart(speaker).partition(" ")[0]
        if first == speaker:
            continue
        names = named[text_of(row["document"])]
        people = [entity for entity, own in names.items() if speaker in own]
        short = [entity for entity, own in names.items() if first in own]
        if len(people) == len(short) == 1 and people != short:
            yield people[0], short[0]


def _alone(store: Store, pairs: Sequence[Pair], groups: Groups) -> list[Pair]:
    """Pairs of a speaker and its first name that no third thing of the store has as a word of its name."""
    if not pairs:
        return []
    every: dict[NamedNode, set[str]] = defaultdict(set)
    for row in store.select("entities/all-names"):
        every[node_of(row["entity"])].add(text_of(row["name"]))
    bearers, word_of = _bearers(every), _first_words(store, pairs)
    return [pair for pair in pairs if bearers[word_of[pair]] <= {*groups.of(pair[0]), pair[1]}]


def _lost(store: Store, decisions: Sequence[Decision], here: Names) -> list[Decision]:
    """Standing decisions on a first name that something else in these documents has in its name."""
    mine = [d for d in decisions if d.by == RULE and d.reason == FIRST_NAME and d.undone is None]
    if not mine:
        return []
    bearers, word_of = _bearers(here), _first_words(store, [d.members for d in mine])
    groups = Groups(decisions)
    return [d for d in mine if not bearers[word_of[d.members]] <= {*groups.of(d.members[0])}]


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
