"""Links the names of topics in chunks where extraction missed them.

A document's title names its topic. Other texts may write that name so that rules do not recognise it, or
may have been read before. Such a link is `rag:mentions` in `urn:graph:derived`; retrieval reads it
like those in `urn:graph:source`.

The links of a chunk follow from its text, the names that were read in it, and the names of topics. So they
do not depend on the order of ingests. Only chunks are looked at that are new, or that have a name in them
that is new, changed or gone. The transaction that makes it so marks it (`rag:unlinked`); the index of words
finds the chunks of a name.

No name is linked that could be common words: it has two words with a capital or more, and begins and ends
with a capital or a number. The longest name wins, also over names that were read in the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.extract.names import Word, words_of
from graphrag_rdf.index.analyse import stop_words
from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import Term, node_of, text_of
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.batches import in_batches

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex

_BATCH = 100
_LONGEST = 10  # words of a name
_GAP = re.compile(r"(?:['’]s)?[,:]?\s{1,3}|\.\s?|\s&\s")  # between two words of a name
_ABBREVIATION = 4  # letters of a word, at most, whose full stop does not end a sentence


def unlinked(things: Iterable[NamedNode]) -> Iterator[Quad]:
    """The marks of chunks that are new or read anew, and of entities whose names have changed."""
    for thing in things:
        yield Quad(STORE_NODE, RAG.unlinked, thing, Graphs.SYSTEM)


def link_names(store: Store, index: TextIndex) -> int:
    """Update the links of marked chunks and of chunks with marked names.

    Each step can be repeated, so a killed process leaves no damage.

    Args:
        index: as the store is now.

    Returns:
        how many links there are more.
    """
    more = 0
    marked = [node_of(row["thing"]) for row in store.select("links/unlinked")]
    chunks: dict[str, NamedNode] = {}
    for batch in in_batches(marked, _BATCH):
        rows = store.select("links/chunks", things=batch)
        chunks.update((text_of(row["chunk"]), node_of(row["chunk"])) for row in rows)
        for names in _topics(store, batch).values():
            found = (iri for name in names for iri in index.holding(name, kind="chunk"))
            chunks.update((iri, NamedNode(iri)) for iri in found)
    for some in in_batches([chunks[iri] for iri in sorted(chunks)], _BATCH):
        changes = _relinked(store, index, some)
        store.commit(changes)
        more += len(changes.add) - len(changes.remove)
    for batch in in_batches(marked, _BATCH):
        store.commit(Changes(remove=[*unlinked(batch)], content=False))
    return more


def _topics(store: Store, things: Sequence[NamedNode]) -> dict[NamedNode, set[str]]:
    """The topics of chunks among some entities and the topics of some chunks, with the names that can be
    linked.
    """
    found: dict[NamedNode, set[str]] = {}
    for row in store.select("links/topics", things=list(things)):
        name = text_of(row["name"])
        if _can_be_linked(name):
            found.setdefault(node_of(row["entity"]), set()).add(name)
    return found


def _relinked(store: Store, index: TextIndex, chunks: Sequence[NamedNode]) -> Changes:
    """The changes that correct the links of chunks; empty if all are right."""
    wanted = list(chunks)
    texts = {
        node_of(row["chunk"]): text_of(row["text"]) for row in store.select("index/chunks", chunks=wanted)
    }
    read: dict[NamedNode, set[str]] = {chunk: set() for chunk in texts}
    for row in store.select("links/names-in", chunks=wanted):
        read[node_of(row["chunk"])].add(text_of(row["name"]))
    mentioned: dict[Term, set[Term]] = {}
    old: set[Quad] = set()
    for row in store.select("links/mentioned", chunks=wanted):
        if "linked" in row:
            old.add(_link(row["sentence"], row["linked"]))
        else:
            mentioned.setdefault(row["sentence"], set()).add(row["entity"])
    places = []
    for row in store.select("index/sentences", chunks=wanted):
        chunk = node_of(row["chunk"])
        start = int(text_of(row["offset"]))
        places.append((row["sentence"], chunk, start, start + int(text_of(row["length"]))))
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
    return Changes(remove=sorted(old - new, key=str), add=sorted(new - old, key=str), content=False)


def _called(store: Store, index: TextIndex, names: set[str]) -> Mapping[str, set[Term]]:
    """The topics with these names, by name."""
    exact = index.exact(sorted(names))
    entities = sorted({iri for iris in exact.values() for iri in iris})
    found: dict[str, set[Term]] = {}
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


def _link(sentence: Term, entity: Term) -> Quad:
    return Quad(node_of(sentence), RAG.mentions, node_of(entity), Graphs.DERIVED)
