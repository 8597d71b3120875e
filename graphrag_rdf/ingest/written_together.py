"""Names written together or apart: LiHua is Li Hua, and the Yuriko of a chat its speaker YurikoYamamoto.

Chats and accounts write names without blanks, and call people by their first names. Both are one by a
decision, which can be undone: the former wherever the store has both forms, the latter where a document names
both and nothing else in the store has the first name in its name. The latter is taken back when something
else has. What was taken back is not decided again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.normalise import apart, together
from graphrag_rdf.ingest.aliases import types_agree
from graphrag_rdf.ingest.batches import in_batches
from graphrag_rdf.ingest.decisions import Groups, read_decisions, read_groups
from graphrag_rdf.ingest.likeness import SHORT_NAME, TOGETHER, words
from graphrag_rdf.ingest.resolution import Merge, merge, undo
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import node_of, text_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest.needed import NeededParts
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

Pair = tuple[NamedNode, NamedNode]
Names = Mapping[NamedNode, set[str]]


def join_written_together(engine: NeededParts, documents: Sequence[NamedNode]) -> None:
    """Decide which entities of documents that are new or were read anew are one by how names are written."""
    if not documents:
        return
    store = engine.store
    here: dict[NamedNode, set[str]] = defaultdict(set)
    called: set[Pair] = set()
    for some in in_batches(documents, _BATCH):
        named = _named_in(store, some)
        called.update(_first_names(store, named))
        for names in named.values():
            for entity, of_entity in names.items():
                here[entity] |= of_entity
    _decide(engine, _spaced(store, here), REASON, TOGETHER)
    decisions = read_decisions(store)
    mine = [d for d in decisions if d.by == RULE and d.reason == FIRST_NAME and d.undone is None]
    words_of = _first_words(store, [d.members for d in mine])
    groups = Groups(decisions)
    lost = [d for d in mine if _others(here, words_of.get(d.members, ""), groups.of(d.members[0]))]
    if lost:
        undo(engine, lost)
    _decide(engine, _alone(engine, sorted(called, key=str)), FIRST_NAME, SHORT_NAME)


def _decide(engine: NeededParts, pairs: Iterable[Pair], reason: str, confidence: float) -> None:
    """Merge pairs; the first of a pair, or what stands for it, stands for both."""
    groups = read_groups(engine.store)
    merges = [
        Merge(groups.standing_for(pair[0], groups.of(pair[0])), pair, reason, confidence)
        for pair in _open(engine.store, pairs)
        if types_agree(engine.store, *pair)
    ]
    merge(engine, merges, by=RULE)


def _open(store: Store, pairs: Iterable[Pair]) -> list[Pair]:
    """Pairs about which nothing is decided yet."""
    decisions = read_decisions(store)
    groups = Groups(decisions)
    taken_back = {d.members for d in decisions if d.by == RULE and d.undone is not None}
    return [
        pair
        for pair in pairs
        if tuple(sorted(pair, key=str)) not in taken_back
        and pair[1] not in groups.of(pair[0])
        and not groups.are_kept_apart(*pair)
    ]


def _named_in(store: Store, documents: Sequence[NamedNode]) -> dict[str, dict[NamedNode, set[str]]]:
    """Document → entity → its names there."""
    found: dict[str, dict[NamedNode, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in store.select("ingest/names-in-documents", documents=documents):
        found[text_of(row["document"])][node_of(row["entity"])].add(text_of(row["name"]))
    return found


def _spaced(store: Store, named: Names) -> list[Pair]:
    """Entities with a name that is written apart, and the only ones that have it written together."""
    other: dict[str, str] = {}
    for name in {name for names in named.values() for name in names}:
        form = together(name) or apart(name)
        if form != name and words(apart(name))[0] not in _PARTICLES:
            other[name] = form
    having = _having(store, {*other, *other.values()})
    found: set[Pair] = set()
    for name, form in other.items():
        if len(having[name]) == len(having[form]) == 1 and having[name] != having[form]:
            pair = min(having[name], key=str), min(having[form], key=str)
            found.add(pair if together(name) else (pair[1], pair[0]))
    return sorted(found, key=str)


def _having(store: Store, names: Iterable[str]) -> Mapping[str, set[NamedNode]]:
    """The entities that are called so."""
    found: dict[str, set[NamedNode]] = defaultdict(set)
    for some in in_batches(sorted(names), _BATCH):
        for row in store.select("retrieval/entities-by-label", labels=[Literal(name) for name in some]):
            found[text_of(row["label"])].add(node_of(row["entity"]))
    return found


def _first_names(store: Store, named: Mapping[str, Names]) -> Iterator[Pair]:
    """Speakers of documents whose name is written together, and what is called by their first name there."""
    documents = [NamedNode(document) for document in named]
    for row in store.select("ingest/speakers", documents=documents) if documents else ():
        speaker = text_of(row["speaker"])
        first = apart(speaker).partition(" ")[0]
        if first == speaker:
            continue
        names = named[text_of(row["document"])]
        people = [entity for entity, called in names.items() if speaker in called]
        short = [entity for entity, called in names.items() if first in called]
        if len(people) == len(short) == 1 and people != short:
            yield people[0], short[0]


def _alone(engine: NeededParts, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of a speaker and its first name that no third thing of the store has as a word of its name."""
    pairs = _open(engine.store, pairs)
    if not pairs:
        return []
    every: dict[NamedNode, set[str]] = defaultdict(set)
    for row in engine.store.select("entities/all-names"):
        every[node_of(row["entity"])].add(text_of(row["name"]))
    groups = read_groups(engine.store)
    words_of = _first_words(engine.store, pairs)
    return [
        pair for pair in pairs if not _others(every, words_of.get(pair, ""), {*groups.of(pair[0]), pair[1]})
    ]


def _first_words(store: Store, pairs: Iterable[tuple[NamedNode, ...]]) -> dict[tuple[NamedNode, ...], str]:
    """Pair → the word by which one of the two is called, and with which the name of the other begins."""
    wanted = list(pairs)
    names: dict[NamedNode, set[str]] = defaultdict(set)
    for some in in_batches({entity: None for pair in wanted for entity in pair}, _BATCH):
        for row in store.select("labels/known", things=some):
            names[node_of(row["thing"])].add(text_of(row["name"]))
    found = {}
    for pair in wanted:
        called = {name for entity in pair for name in names[entity]}
        begun = {parts[0] for name in called if len(parts := apart(name).split()) > 1}
        if shared := sorted(begun & called):
            found[pair] = shared[0]
    return found


def _others(names: Names, word: str, known: Collection[NamedNode]) -> bool:
    """Whether an entity that is none of the known ones has a word in its name."""
    return any(
        entity not in known and any(words(word) == [part] for name in called for part in words(apart(name)))
        for entity, called in names.items()
    )
