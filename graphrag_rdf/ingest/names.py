"""Names and IRIs: minting, the labels as they stand, the election of labels, and links of names.

Every name that a text uses for a thing is contained as its `rdfs:label` in the subgraph of the text, in the
language of the document if that is known. The graph of facts asserts the most frequent one as label and the
others, also the same in another language, as `skos:altLabel`. During a run the
first name is the label. A transaction that may change a label marks its thing (`rag:unsettled`), and the end
of the run, or of the next one after a kill, elects the label. So the result does not depend on the order.

A document's title names its topic, which other texts may write so that rules do not recognise it. Such a
chunk is linked to the topic: `rag:mentions` in `urn:graph:derived`. The links of a chunk follow from its
text, the names that were read in it, and the names of topics. Only marked chunks (`rag:unlinked`), and those
that contain a marked name, are looked at. A linked name has at least two words with a capital, and begins and
ends with a capital or a number. The longest name wins, also over names that were read in the chunk.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.extract.names import Word, fold, slug, words_of
from graphrag_rdf.index.analyse import stop_words
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, RDFS, SKOS, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import Term, node_of, spellings
from graphrag_rdf.store.base import Changes, Row, Store, in_batches, languages_of, select_in_batches

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex


APOSTROPHES = re.compile("['’ʼ`´]")
NOT_WORD = re.compile(r"[\W_]+")
_REMEMBERED = 20_000  # things whose names are kept in memory: about 10 MB


def words(name: str) -> list[str]:
    """The words of a name, without punctuation; single letters that follow each other are one (U. S. A.)."""
    out: list[str] = []
    run = False
    for word in NOT_WORD.sub(" ", APOSTROPHES.sub("", fold(name).replace("&", " and "))).split():
        single = len(word) == 1 and word.isalpha()
        if single and run:
            out[-1] += word
        else:
            out.append(word)
        run = single
    return out


class Minter:
    """IRIs from names.

    Args:
        namespace: the base of entities, relations and types.
    """

    def __init__(self, namespace: str = iris.DEFAULT_NAMESPACE) -> None:
        self._namespace = namespace

    def entity(self, name: str) -> NamedNode:
        """The IRI of an entity. Raises ValueError for a name with nothing in it."""
        return _minted(iris.entity, name, self._namespace)

    def term(self, name: str) -> NamedNode:
        """The IRI of the label of lines in tables. Raises ValueError for a name with nothing in it."""
        return _minted(iris.term, name, self._namespace)

    def relation(self, name: str, *, of_values: bool = False) -> NamedNode:
        """The IRI of a relation. Raises ValueError for a name with nothing in it.

        Args:
            of_values: whether its objects are literals. A relation of the same name to things is another one.
        """
        return _minted(iris.value_relation if of_values else iris.relation, name, self._namespace)

    def type(self, name: str) -> NamedNode:
        """The IRI of a type. Raises ValueError for a name with nothing in it."""
        return _minted(iris.type_, name, self._namespace)


@lru_cache(maxsize=_REMEMBERED)  # a text repeats its names
def _minted(make: Callable[[str, str], NamedNode], name: str, namespace: str) -> NamedNode:
    return make(slug(name), namespace)


class KnownNames:
    """The names in the graph of facts, looked up in batches and remembered while they are few enough."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, dict[Literal | None, bool]] = {}  # None: only a file gave it the name
        self._contested: dict[str, NamedNode] = {}
        self._marked: set[str] = set()

    def load(self, things: Iterable[NamedNode]) -> None:
        """Look up what is not known yet, in one query."""
        unknown = []
        for thing in things:
            if thing.value not in self._names:
                self._names[thing.value] = {}
                unknown.append(thing)
        if unknown:
            for row in self._store.select("labels/known", things=unknown):
                names, name = self._names[row["thing"].value], row["name"]
                if row["property"] == RAG.displayName:
                    names[None] = False
                else:
                    names[name] = names.get(name, False) or row["property"] == RDFS.label

    def is_new(self, thing: NamedNode) -> bool:
        """Whether the thing has no name yet."""
        return not self._names[thing.value]

    def add(self, thing: NamedNode, name: Literal, *, alias: bool = False) -> NamedNode | None:
        """Note a name in its language; the property to assert it with, None if it is asserted already."""
        names = self._names[thing.value]
        labelled = any(names.values())
        if name in names:
            if not alias and not names[name]:
                self._contested[thing.value] = thing
            return None
        if not alias and labelled:
            self._contested[thing.value] = thing
        names[name] = not alias and not labelled
        return RDFS.label if names[name] else SKOS.altLabel

    def contest(self, thing: NamedNode) -> None:
        """Have a thing settled at the end of the run in any case."""
        self._contested[thing.value] = thing

    def take_contested(self) -> list[NamedNode]:
        """Things with a new name that may become the label, each once in a run; to be marked `unsettled`.

        Call it when a transaction is complete: the remembered names are then also limited.
        """
        found = [thing for iri, thing in self._contested.items() if iri not in self._marked]
        self._marked.update(thing.value for thing in found)
        self._contested.clear()
        if len(self._names) > _REMEMBERED:
            self._names.clear()
        return found


def unsettled(things: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of things whose names have to be settled."""
    for thing in things:
        yield Quad(STORE_NODE, RAG.unsettled, thing, Graphs.SYSTEM)


def uncounted(things: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of things that lost a mention, or a source of a name."""
    for thing in things:
        yield Quad(STORE_NODE, RAG.uncounted, thing, Graphs.SYSTEM)


def as_literal(term: Term) -> Literal:
    """A term that is a literal by the data model."""
    assert isinstance(term, Literal)  # noqa: S101
    return term


def undrawn(things: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of entities, and of chunks with entities, for which the graph of entities may be wrong."""
    for thing in things:
        yield Quad(STORE_NODE, RAG.undrawn, thing, Graphs.SYSTEM)


def undrawn_pairs(store: Store, chunks: Sequence[NamedNode]) -> list[Quad]:
    """The marks of the pairs that co-occur in sentences of chunks, which are about to go."""
    rows = select_in_batches(store, "derived/pairs-in-chunks", "chunks", chunks, known=True)
    return [undrawn_pair(row) for row in rows]


def undrawn_pair(pair: Row) -> Quad:
    """The mark of two entities whose sentences have to be counted again."""
    return Quad(pair["one"], RAG.undrawnWith, pair["other"], Graphs.SYSTEM)


# --- links ---


_BATCH = 100
_COUNTED = 500  # entities in one update
_LONGEST = 10  # words of a name
_GAP = re.compile(r"(?:['’]s)?[,:]?\s{1,3}|\.\s?|\s&\s")  # between two words of a name
_ABBREVIATION = 4  # letters of a word, at most, whose full stop does not end a sentence


def unlinked(things: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of chunks that are new or read anew, and of entities whose names have changed."""
    for thing in things:
        yield Quad(STORE_NODE, RAG.unlinked, thing, Graphs.SYSTEM)


def link_names(store: Store, index: TextIndex) -> int:
    """Update the links of marked chunks and of chunks with marked names, and the numbers of chunks of what
    these mention, of marked entities, and of those that lost a mention.

    Each step can be repeated, so a killed process leaves no damage.

    Args:
        index: as the store is now.

    Returns:
        how many links and counts there are more.
    """
    more = 0
    marked = [row["thing"] for row in store.select("links/unlinked")]
    chunks: dict[str, NamedNode] = {}
    for batch in in_batches(marked, _BATCH):
        rows = store.select("links/chunks", things=batch)
        chunks.update((row["chunk"].value, row["chunk"]) for row in rows)
        for names in _topics(store, batch).values():
            found = (iri for name in names for iri in index.holding(name, kind="chunk"))
            chunks.update((iri, NamedNode(iri)) for iri in found)
    fewer = [row["thing"] for row in store.select("links/uncounted")]
    mentioned = {*marked, *fewer}
    for some in in_batches([chunks[iri] for iri in sorted(chunks)], _BATCH):
        changes, entities = _relinked(store, index, some)
        store.commit(changes)
        mentioned |= entities
        more += len(changes.add) - len(changes.remove)
    for batch in in_batches(sorted(mentioned, key=str), _COUNTED):
        changes = counted(store, batch)
        store.commit(changes)
        more += len(changes.add) - len(changes.remove)
    for batch in in_batches(marked, _BATCH):
        store.commit(Changes(remove=[*unlinked(batch)], content=False))
    for batch in in_batches(fewer, _BATCH):
        store.commit(Changes(remove=[*uncounted(batch)], content=False))
    return more


def counted(store: Store, things: Sequence[NamedNode]) -> Changes:
    """The changes that correct the numbers of chunks that mention entities or are about them."""
    noted: dict[bool, set[Quad]] = {True: set(), False: set()}
    for row in store.select("derived/counts", things=list(things)):
        noted[row["noted"]].add(Quad(row["entity"], row["count"], row["number"], Graphs.DERIVED))
    old, new = noted[True], noted[False]
    return Changes(remove=sorted(old - new, key=str), add=sorted(new - old, key=str), content=False)


def _topics(store: Store, things: Sequence[NamedNode]) -> dict[NamedNode, set[str]]:
    """The topics of chunks among some entities and the topics of some chunks, with the names that can be
    linked.
    """
    found: dict[NamedNode, set[str]] = {}
    for row in store.select("links/topics", things=list(things)):
        if _can_be_linked(row["name"]):
            found.setdefault(row["entity"], set()).add(row["name"])
    return found


def _relinked(store: Store, index: TextIndex, chunks: Sequence[NamedNode]) -> tuple[Changes, set[NamedNode]]:
    """The changes that correct the links of chunks, empty if all are right; and what the chunks mention, or
    mentioned, or are about.
    """
    wanted = list(chunks)
    texts = {row["chunk"]: row["text"] for row in store.select("index/chunks", chunks=wanted)}
    read: dict[NamedNode, set[str]] = {chunk: set() for chunk in texts}
    for row in store.select("links/names-in", chunks=wanted):
        read[row["chunk"]].add(row["name"])
    mentioned: dict[NamedNode, set[NamedNode]] = {}
    old: set[Quad] = set()
    for row in store.select("links/mentioned", chunks=wanted):
        if row["linked"] is not None:
            old.add(_link(row["sentence"], row["linked"]))
        else:
            mentioned.setdefault(row["sentence"], set()).add(row["entity"])
    places = []
    for row in store.select("index/sentences", chunks=wanted):
        start = row["offset"]
        places.append((row["sentence"], row["chunk"], start, start + row["length"]))
    spans = {sentence: list(_spans(texts[chunk], start, end)) for sentence, chunk, start, end in places}
    called = _called(store, index, {name for found in spans.values() for _, _, name in found})
    new: set[Quad] = set()
    for sentence, chunk, start, end in places:
        covered = list(_occurrences(texts[chunk], read[chunk], start, end))
        for first, last, name in spans[sentence]:  # the longest first
            missed = called.get(name, set()) - mentioned.get(sentence, set())
            if missed and not any(a <= first and last <= b for a, b in covered):
                covered.append((first, last))
                new.update(_link(sentence, entity) for entity in missed)
    changes = Changes(remove=sorted(old - new, key=str), add=sorted(new - old, key=str), content=False)
    found = [entity for entities in mentioned.values() for entity in entities]
    return changes, {node_of(entity) for entity in (*found, *(link.object for link in old | new))}


def _called(store: Store, index: TextIndex, names: set[str]) -> Mapping[str, set[NamedNode]]:
    """The topics with these names, by name."""
    exact = index.exact(sorted(names))
    entities = sorted({iri for iris in exact.values() for iri in iris})
    found: dict[str, set[NamedNode]] = {}
    for batch in in_batches(entities, _BATCH):
        for entity, own in _topics(store, [NamedNode(iri) for iri in batch]).items():
            for name in own & names:
                found.setdefault(name, set()).add(entity)
    return found


def _spans(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """Possible names in a sentence, longest first: (start, end, name)."""
    words = words_of(text, start, end)
    found = []
    for first, word in enumerate(words):
        if not _opens(word):
            continue
        for last in range(first + 1, min(first + _LONGEST, len(words))):
            if not _follows(words[last - 1], words[last], text):
                break
            if _opens(words[last]) and sum(map(_is_capital, words[first : last + 1])) > 1:
                a, b = word.start, words[last].end
                found.append((a, b, " ".join(text[a:b].split())))
    return sorted(found, key=lambda span: (span[0] - span[1], span[0]))


def _can_be_linked(name: str) -> bool:
    return any((start, end) == (0, len(name)) for start, end, _ in _spans(name, 0, len(name)))


def _opens(word: Word) -> bool:
    return word.capital or word.text[0].isdigit()


def _is_capital(word: Word) -> bool:
    return word.capital and len(word.text) > 1 and word.lower not in stop_words()["en"]


def _follows(left: Word, right: Word, text: str) -> bool:
    gap = text[left.end : right.start]
    return _GAP.fullmatch(gap) is not None and (gap[0] != "." or len(left.text) <= _ABBREVIATION)


def _occurrences(text: str, names: Iterable[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    for name in names:
        place = text.find(name, start, end)
        while place >= 0:
            yield place, place + len(name)
            place = text.find(name, place + 1, end)


def _link(sentence: NamedNode, entity: NamedNode) -> Quad:
    return Quad(sentence, RAG.mentions, entity, Graphs.DERIVED)


def names_of_groups(store: Store) -> dict[NamedNode, dict[str, bool]]:
    """All names of each group of entities, by its representative, and whether each is a label."""
    groups: dict[NamedNode, dict[str, bool]] = {}
    for row in store.select("entities/all-names"):
        names, name = groups.setdefault(row["canonical"], {}), row["name"].value
        names[name] = names.get(name, False) or row["label"]
    return groups


def entities_called(store: Store, names: Iterable[str]) -> defaultdict[str, set[NamedNode]]:
    """The entities with exactly these names, by name."""
    found: defaultdict[str, set[NamedNode]] = defaultdict(set)
    labels = spellings(sorted(set(names)), languages_of(store.select))
    for row in select_in_batches(store, "retrieval/entities-by-label", "labels", labels):
        found[row["label"]].add(row["entity"])
    return found
