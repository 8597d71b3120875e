"""Marks what frames documents, and what says nearly the same.

Boilerplate (`rag:boilerplate`) is a run of sentences that stand in several documents, such as navigation or a
licence, and what stands outside a pair of lines such as "*** START OF THE BOOK ***" and "*** END OF THE
BOOK ***". If documents share most of their text, it is what they say. Fields ("Author: Ada Byron") are
never boilerplate. Of chunks that differ in a few words, the later ones are a `rag:nearDuplicateOf` the first.

Each chunk has a fingerprint, which is made once: hashes of its sentences and of its sequences of words. Marks
follow from the fingerprints alone, so the order of reading does not matter. They are in the derived graph.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from itertools import groupby
from math import ceil

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.duplicates import words_of
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.store.base import Changes, Row, Store, in_batches

_MANY = 3  # documents that share boilerplate, at least
_RUN_SENTENCES, _RUN_WORDS = 3, 15  # of a run, at least one of these
_MOST = 0.5  # of a document's words
_WHOLE = 0.9  # of a chunk's words from which it is boilerplate
_SEQUENCE, _SKETCH = 3, 24  # words of a sequence; sequences that are kept, those with the least hashes
_ALIKE = 0.7  # of the sequences of two chunks that both have
_FEW = 20  # words from which a chunk is compared
_COMMON = 50  # chunks with a sequence that are compared, the first ones
_FIELD = re.compile(r"[^\W\d][\w ]{1,30}:\s+\S.{0,200}", re.DOTALL)
"""Author: Ada Byron. It says something, wherever it stands."""
_FRAME = re.compile(r"[*=#~_-]{2}\s*(START|END) OF (.+?)[*=#~_-]{2}", re.DOTALL)  # two: linear in long runs


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence in a fingerprint.

    Attributes:
        place: offset in the document.
        hash: of its words.
        kind: of a line that begins or ends a frame `S` or `E` and the hash of what it says; of a field `F`.
    """

    iri: str
    place: int
    words: int
    hash: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Chunk:
    iri: str
    sentences: tuple[_Sentence, ...]
    sketch: frozenset[str]

    @property
    def words(self) -> int:
        return sum(one.words for one in self.sentences)


def mark_boilerplate(store: Store, *, changed: bool = True) -> int:
    """Make missing fingerprints, and update the marks; how many quads the store has more. Nothing is written
    if nothing changed.

    Args:
        changed: whether documents may have changed or gone; else marks are updated only if chunks are new.
    """
    made = _make_fingerprints(store)
    if not (made or changed):
        return 0
    documents = _documents(store)
    wanted = {*_boilerplate(documents), *_near_duplicates(documents)}
    known = {
        Quad(node_of(row["thing"]), node_of(row["mark"]), row["value"], Graphs.DERIVED)
        for row in store.select("boilerplate/marks")
    }
    changes = Changes(
        remove=sorted(known - wanted, key=str), add=sorted(wanted - known, key=str), content=False
    )
    if changes:
        store.commit(changes)
    return made + len(changes.add) - len(changes.remove)


# --- fingerprints ---------------------------------------------------------------------------------------


def fingerprint(text: str, sentences: Iterable[tuple[int, int, int]]) -> str:
    """Hashes of the sentences of a chunk, and of its sequences of words.

    Args:
        sentences: number, offset and length of each.
    """
    told = []
    for number, offset, length in sorted(sentences):
        said = text[offset : offset + length]
        frame = _FRAME.search(said)
        kind = frame[1][0] + _hash(words_of(frame[2])) if frame else "F" if _FIELD.fullmatch(said) else ""
        told.append(f"{number}.{offset}.{len(words_of(said))}.{_hash(words_of(said))}.{kind}")
    words = words_of(text)
    sequences = {_hash(each) for each in zip(*(words[n:] for n in range(_SEQUENCE)), strict=False)}
    sketch = sorted(sequences)[:_SKETCH] if len(words) >= _FEW else []
    return f"{' '.join(told)}|{' '.join(sketch)}"


def _hash(words: Sequence[str]) -> str:
    return blake2b(" ".join(words).encode(), digest_size=4).hexdigest()


def _make_fingerprints(store: Store) -> int:
    texts = {text_of(row["chunk"]): text_of(row["text"]) for row in store.select("boilerplate/unread")}
    for batch in in_batches(texts):
        places: dict[str, list[tuple[int, int, int]]] = {chunk: [] for chunk in batch}
        for row in store.select("index/sentences", chunks=[NamedNode(chunk) for chunk in batch]):
            number = int(text_of(row["sentence"]).rpartition("#s")[2])
            offset, length = int(text_of(row["offset"])), int(text_of(row["length"]))
            places[text_of(row["chunk"])].append((number, offset, length))
        told = [
            Quad(
                NamedNode(chunk),
                RAG.fingerprint,
                Literal(fingerprint(texts[chunk], places[chunk])),
                Graphs.SOURCE,
            )
            for chunk in batch
        ]
        store.commit(Changes(add=told, content=False))
    return len(texts)


def _documents(store: Store) -> list[list[_Chunk]]:
    """The chunks of each document in their order."""
    rows = store.select("boilerplate/fingerprints")
    return [[_read(row) for row in own] for _, own in groupby(rows, key=lambda row: row["document"])]


def _read(row: Row) -> _Chunk:
    chunk, offset = text_of(row["chunk"]), int(text_of(row["offset"]))
    told, _, sketch = text_of(row["fingerprint"]).partition("|")
    sentences = []
    for one in told.split():
        number, place, words, said, kind = one.split(".")
        iri = iris.sentence_of(chunk, int(number))
        sentences.append(_Sentence(iri, offset + int(place), int(words), said, kind))
    return _Chunk(chunk, tuple(sentences), frozenset(sketch.split()))


# --- marks ----------------------------------------------------------------------------------------------


def _boilerplate(documents: Sequence[Sequence[_Chunk]]) -> Iterator[Quad]:
    places: defaultdict[str, set[int]] = defaultdict(set)
    for number, chunks in enumerate(documents):
        for chunk in chunks:
            for sentence in chunk.sentences:
                places[sentence.hash].add(number)
    repeated = {said for said, found in places.items() if len(found) >= _MANY}
    for chunks in documents:
        sentences = [sentence for chunk in chunks for sentence in chunk.sentences if sentence.words]
        marked = _outside_frame(sentences)
        inside = [one for one in sentences if one not in marked]
        runs = _repeated_runs(inside, repeated)
        if sum(one.words for one in runs) <= _MOST * sum(one.words for one in inside):
            marked |= runs
        marked = {one for one in marked if one.kind != "F"}
        for chunk in chunks:
            own = marked.intersection(chunk.sentences)
            for iri in sorted(one.iri for one in own):
                yield _mark(iri)
            if own and sum(one.words for one in own) >= _WHOLE * chunk.words:
                yield _mark(chunk.iri)


def _mark(iri: str) -> Quad:
    return Quad(NamedNode(iri), RAG.boilerplate, Literal(True), Graphs.DERIVED)


def _repeated_runs(sentences: Sequence[_Sentence], repeated: set[str]) -> set[_Sentence]:
    found: set[_Sentence] = set()
    for stands, run in groupby(sentences, key=lambda one: one.hash in repeated):
        own = {*run} if stands else set()
        if len(own) >= _RUN_SENTENCES or sum(one.words for one in own) >= _RUN_WORDS:
            found |= own
    return found


def _outside_frame(sentences: Sequence[_Sentence]) -> set[_Sentence]:
    """What stands before the line that begins a frame, and after the one that ends it."""
    begins = {one.kind[1:]: one.place for one in reversed(sentences) if one.kind.startswith("S")}
    ends = {one.kind[1:]: one.place for one in reversed(sentences) if one.kind.startswith("E")}
    for said, start in begins.items():
        if start < (end := ends.get(said, start)):
            return {one for one in sentences if one.place <= start or one.place >= end}
    return set()


def _near_duplicates(documents: Sequence[Sequence[_Chunk]]) -> Iterator[Quad]:
    """Later chunks with the first that says nearly the same."""
    firsts: list[_Chunk] = []
    having: defaultdict[str, list[int]] = defaultdict(list)  # a sequence → places in firsts
    for chunk in (chunk for chunks in documents for chunk in chunks):
        # both have most sequences of this chunk, so they have one of its rarest
        count = len(chunk.sketch) - ceil(_ALIKE * len(chunk.sketch)) + 1
        rarest = nsmallest(count, chunk.sketch, key=lambda one: (len(having[one]), one))
        candidates = {place for one in rarest for place in having[one][:_COMMON]}
        alike = (firsts[place] for place in sorted(candidates) if _are_alike(chunk, firsts[place]))
        if first := next(alike, None):
            yield Quad(NamedNode(chunk.iri), RAG.nearDuplicateOf, NamedNode(first.iri), Graphs.DERIVED)
            continue
        for one in chunk.sketch:
            having[one].append(len(firsts))
        firsts.append(chunk)


def _are_alike(one: _Chunk, other: _Chunk) -> bool:
    """Whether both have enough of the sequences with the least hashes, from those of both."""
    shared = one.sketch & other.sketch
    if len(shared) < _ALIKE * len(one.sketch):  # most end here, before anything is sorted
        return False
    least = {*sorted(one.sketch | other.sketch)[:_SKETCH]}
    return len(least & shared) >= _ALIKE * len(least)
