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
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.duplicates import words_of
from graphrag_rdf.ingest.names import undrawn
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, XSD, Graphs
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.base import Changes, Store, in_batches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags: TypeAlias = NDArray[np.bool_]

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
_PLAIN, _BEGIN, _END, _IS_FIELD = range(4)  # kinds of sentences
_SENTENCE = [("number", "<u4"), ("words", "<u4"), ("hash", "<u4"), ("kind", "<u4"), ("frame", "<u4")]
"""A sentence in a fingerprint; `frame` is the hash of what the first or the last line of a frame says."""
_HASH = 4  # bytes


def mark_boilerplate(store: Store, *, changed: bool = True) -> int:
    """Make missing fingerprints, and update the marks; how many quads the store has more. Nothing is written
    if nothing changed.

    Args:
        changed: whether documents may have changed or gone; else marks are updated only if chunks are new.
    """
    made = _make_fingerprints(store)
    if not (made or changed):
        return 0
    wanted = set(_wanted(store))
    known = {
        Quad(row["thing"], row["mark"], row["value"], Graphs.DERIVED)
        for row in store.select("boilerplate/marks")
    }
    changes = Changes(
        remove=sorted(known - wanted, key=str), add=sorted(wanted - known, key=str), content=False
    )
    more = len(changes.add) - len(changes.remove)
    if changes:  # the graph of entities leaves boilerplate out
        changes.add += undrawn(_chunks_of([*changes.add, *changes.remove]))
        store.commit(changes)
    return made + more


def _chunks_of(marks: Iterable[Quad]) -> list[NamedNode]:
    """The chunks of which something is boilerplate, or no longer."""
    things = (node_of(quad.subject).value for quad in marks if quad.predicate == RAG.boilerplate)
    return [NamedNode(chunk) for chunk in sorted({thing.partition("#s")[0] for thing in things})]


# --- fingerprints ---------------------------------------------------------------------------------------


def fingerprint(text: str, sentences: Iterable[tuple[int, int, int]]) -> Literal:
    """Hashes of the sequences of words of a chunk, the least ones, and of its sentences. Arrays read them.

    Args:
        sentences: number, offset and length of each.
    """
    words = words_of(text)
    sequences = {_hash(each) for each in zip(*(words[n:] for n in range(_SEQUENCE)), strict=False)}
    sketch = sorted(sequences)[:_SKETCH] if len(words) >= _FEW else []
    numbers = [*sketch, *[0] * (_SKETCH - len(sketch))]
    for number, offset, length in sorted(sentences):
        sentence = text[offset : offset + length]
        if own := words_of(sentence):
            kind, of = _IS_FIELD if _FIELD.fullmatch(sentence) else _PLAIN, 0
            if frame := _FRAME.search(sentence):
                kind, of = _BEGIN if frame[1] == "START" else _END, _hash(words_of(frame[2]))
            numbers += [number, len(own), _hash(own), kind, of]
    data = b"".join(number.to_bytes(_HASH, "little") for number in numbers)
    return Literal(b64encode(data).decode(), datatype=XSD.base64Binary)


def _hash(words: Sequence[str]) -> int:
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=_HASH).digest(), "little")


def _make_fingerprints(store: Store) -> int:
    texts = {row["chunk"]: row["text"] for row in store.select("boilerplate/unread")}
    for batch in in_batches(texts):
        places: dict[str, list[tuple[int, int, int]]] = {chunk: [] for chunk in batch}
        for row in store.select("index/sentences", chunks=[NamedNode(chunk) for chunk in batch]):
            number = int(row["sentence"].value.rpartition("#s")[2])
            offset, length = row["offset"], row["length"]
            places[row["chunk"].value].append((number, offset, length))
        quads = [
            Quad(NamedNode(chunk), RAG.fingerprint, fingerprint(texts[chunk], places[chunk]), Graphs.SOURCE)
            for chunk in batch
        ]
        store.commit(Changes(add=quads, content=False))
    return len(texts)


# --- marks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sentences:
    """The sentences of all documents in their order.

    Attributes:
        records: as in fingerprints.
        chunk, document: their positions among chunks and documents.
    """

    records: NDArray[Any]
    chunk: NDArray[np.int64]
    document: NDArray[np.int64]


def _wanted(store: Store) -> Iterator[Quad]:
    import numpy as np

    chunks, documents, fingerprints = [], [], []
    numbers: dict[str, int] = {}
    for row in store.select("boilerplate/fingerprints"):
        chunks.append(row["chunk"])
        documents.append(numbers.setdefault(row["document"], len(numbers)))
        fingerprints.append(b64decode(row["fingerprint"]))
    if not chunks:
        return
    start = _SKETCH * _HASH
    records = np.frombuffer(b"".join(one[start:] for one in fingerprints), np.dtype(_SENTENCE))
    counts = [(len(one) - start) // records.itemsize for one in fingerprints]
    chunk = np.repeat(np.arange(len(chunks)), counts)
    sentences = _Sentences(records, chunk, np.asarray(documents)[chunk])
    marked = _boilerplate(sentences)
    for place in np.flatnonzero(marked):
        yield _mark(iris.sentence_of(chunks[chunk[place]], int(records["number"][place])))
    words = np.bincount(chunk, records["words"], len(chunks))
    own = np.bincount(chunk, records["words"] * marked, len(chunks))
    for number in np.flatnonzero((own > 0) & (own >= _WHOLE * words)):
        yield _mark(chunks[number])
    sketches = np.frombuffer(b"".join(one[:start] for one in fingerprints), "<u4").reshape(-1, _SKETCH)
    yield from _near_duplicates([(chunks[n], {*sketches[n].tolist()} - {0}) for n in _comparable(sketches)])


def _mark(iri: str) -> Quad:
    return Quad(NamedNode(iri), RAG.boilerplate, Literal(True), Graphs.DERIVED)


def _boilerplate(sentences: _Sentences) -> Flags:
    import numpy as np

    records, document = sentences.records, sentences.document
    marked = _outside_frames(sentences)
    inside = np.flatnonzero(~marked)
    runs = _repeated_runs(records["words"][inside], _repeated(sentences)[inside], document[inside])
    words, of = records["words"][inside], document[inside]
    few = np.bincount(of, words * runs) <= _MOST * np.bincount(of, words)
    marked[inside] = runs & few[of]
    marked &= records["kind"] != _IS_FIELD
    return marked


def _repeated(sentences: _Sentences) -> Flags:
    """Whether each sentence stands in several documents."""
    import numpy as np

    hashes = sentences.records["hash"]
    places = hashes.astype(np.uint64) << np.uint64(32) | sentences.document.astype(np.uint64)
    pairs = np.unique(places) >> np.uint64(32)  # a hash for each document that has it
    several = pairs[_MANY - 1 :] == pairs[: 1 - _MANY]
    return np.isin(hashes, pairs[_MANY - 1 :][several].astype(np.uint32))


def _repeated_runs(words: NDArray[Any], repeated: Flags, document: NDArray[np.int64]) -> Flags:
    """Whether each sentence is in a long run of repeated ones."""
    import numpy as np

    begins = (np.diff(repeated, prepend=False) != 0) | (np.diff(document, prepend=-1) != 0)
    run = np.cumsum(begins)
    long: Flags = (np.bincount(run) >= _RUN_SENTENCES) | (np.bincount(run, words) >= _RUN_WORDS)
    in_long: Flags = repeated & long[run]
    return in_long


def _outside_frames(sentences: _Sentences) -> Flags:
    """Whether each stands before the line that begins a frame, or after the one that ends it."""
    import numpy as np

    kind, frame = sentences.records["kind"], sentences.records["frame"]
    outside = np.zeros(len(kind), bool)
    framed = set()
    ends = np.flatnonzero(kind == _END)
    for begin in np.flatnonzero(kind == _BEGIN):
        number = sentences.document[begin]
        pairs = (ends > begin) & (sentences.document[ends] == number) & (frame[ends] == frame[begin])
        if number not in framed and pairs.any():
            framed.add(number)
            first, after = np.searchsorted(sentences.document, [number, number + 1])
            outside[first : begin + 1] = True
            outside[ends[pairs][0] : after] = True
    return outside


def _comparable(sketches: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The chunks that have enough sequences in common with others together."""
    import numpy as np

    ordered = np.sort(sketches, axis=None)
    used = sketches > 0
    shared = used & np.isin(sketches, ordered[1:][ordered[1:] == ordered[:-1]])
    return np.flatnonzero(used.any(1) & (shared.sum(1) >= _ALIKE * used.sum(1)))


def _near_duplicates(chunks: Iterable[tuple[str, set[int]]]) -> Iterator[Quad]:
    """Later chunks with the first that says nearly the same."""
    firsts: list[tuple[str, set[int]]] = []
    having: defaultdict[int, list[int]] = defaultdict(list)  # a sequence → places in firsts
    for chunk, sketch in chunks:
        # both have most sequences of this chunk, so they have one of its rarest
        count = len(sketch) - ceil(_ALIKE * len(sketch)) + 1
        rarest = nsmallest(count, sketch, key=lambda one: (len(having[one]), one))
        candidates = sorted({place for one in rarest for place in having[one][:_COMMON]})
        first = next((firsts[place][0] for place in candidates if _are_alike(sketch, firsts[place][1])), None)
        if first is not None:
            yield Quad(NamedNode(chunk), RAG.nearDuplicateOf, NamedNode(first), Graphs.DERIVED)
            continue
        for one in sketch:
            having[one].append(len(firsts))
        firsts.append((chunk, sketch))


def _are_alike(one: set[int], other: set[int]) -> bool:
    """Whether both have enough of the sequences with the least hashes, from those of both."""
    shared = one & other
    if len(shared) < _ALIKE * len(one):  # most end here, before anything is sorted
        return False
    least = {*sorted(one | other)[:_SKETCH]}
    return len(least & shared) >= _ALIKE * len(least)
