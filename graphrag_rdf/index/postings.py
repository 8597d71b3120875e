"""One kind's documents in Tantivy: adding, deleting, looking up, and exact BM25 over what is alive."""

from __future__ import annotations

import heapq
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf import layout
from graphrag_rdf.i18n import tr

from .analyse import analyse, match_key, primary_language
from .records import Record

if TYPE_CHECKING:
    import tantivy

FIELDS = ("labels", "text")
K1 = 1.2  # as in Tantivy, whose scores choose the candidates
B = 0.75
_HEAP = 15_000_000  # bytes; the least that Tantivy takes
_LENGTH_LOSS = 9 / 8  # `rounded` takes off less than a ninth
_FLOAT32 = 1 + 1e-4  # more than enough for the rounding of a sum of 32-bit floats
_KEPT = 2000
"""Documents of a view that are kept as read: some megabytes."""
_LOCK_BUSY = "LockBusy"
_ORDER = tuple(f"order{number}" for number in range(4))
"""Columns with the first bytes of an IRI, eight each, as numbers in the order of the IRIs."""


@dataclass(slots=True)
class Entry:
    """A document as indexed: `fields` has the framed terms of each, `keys` the names it is called by."""

    iri: str
    content: str
    language: str
    keys: tuple[str, ...]
    fields: Mapping[str, str]


def framed(terms: Sequence[str]) -> str:
    """Terms with a blank before and after each, so that counting one is counting a substring."""
    return f" {'  '.join(terms)} " if terms else ""


@lru_cache(maxsize=1024)  # a title comes with each sentence of its document
def _label_terms(labels: tuple[str, ...], language: str | None) -> str:
    return "".join(framed(analyse(label, language)) for label in labels)


def entry_of(record: Record, content: str) -> Entry:
    """A record as it is indexed; `content` is its hash."""
    labels = _label_terms(record.labels, record.language)
    keys = tuple(dict.fromkeys(map(match_key, record.labels))) if record.kind == "entity" else ()
    return Entry(
        iri=record.iri,
        content=content,
        language=primary_language(record.language),
        keys=keys,
        fields={"labels": labels, "text": labels + framed(analyse(record.text, record.language))},
    )


def rounded(length: int) -> int:
    """A document's length as Lucene and Tantivy keep it in a byte: 24 + 4 significant bits of the rest.

    Ours is rounded likewise, as candidates would otherwise have to be fetched far beyond the k-th.
    """
    if length < 40:
        return length
    shift = (length - 24).bit_length() - 4
    return 24 + ((length - 24) >> shift << shift)


@dataclass(frozen=True, slots=True)
class Bm25:
    """The two constants of BM25.

    Attributes:
        k1: how soon further occurrences of a word stop counting.
        b: how much longer documents count less, 0 to 1.
    """

    k1: float = K1
    b: float = B


DEFAULT_BM25 = Bm25()

_FURTHER = 0.7  # how far words count that are wanted beside a query


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a query: (field, term, weight) in fixed order, and the mean length of each field."""

    terms: tuple[tuple[str, str, float], ...]
    mean: Mapping[str, float]

    def splitter(self, bm25: Bm25 = DEFAULT_BM25) -> Callable[[Entry], dict[str, float]]:
        """What each term adds to the score of a document that has it, for many documents."""
        addends = self._adder(bm25)

        def split(entry: Entry) -> dict[str, float]:
            weights: dict[str, float] = {}
            for term, value in addends(entry):
                weights[term] = weights.get(term, 0.0) + value
            return weights

        return split

    def with_less(self, further: Weights) -> Weights:
        """With further terms, each of which counts at most `_FURTHER` of what it would as one of the query's
        own, and all together at most that share of these: many loose words do not outweigh a rare one.
        """
        own, more = (sum(weight for *_, weight in weights.terms) for weights in (self, further))
        scale = _FURTHER * (min(1.0, own / more) if own and more else 1.0)
        scaled = ((field, term, scale * weight) for field, term, weight in further.terms)
        return Weights((*self.terms, *scaled), self.mean)

    def score(self, entry: Entry, bm25: Bm25 = DEFAULT_BM25) -> float:
        """BM25 of a document, added up in the order of the terms."""
        return self.scorer(bm25)(entry)

    def scorer(self, bm25: Bm25 = DEFAULT_BM25) -> Callable[[Entry], float]:
        """`score` for many documents: what does not depend on them is worked out once."""
        addends = self._adder(bm25)

        def score(entry: Entry) -> float:
            total = 0.0  # `sum` would round in another way
            for _, value in addends(entry):
                total += value
            return total

        return score

    def _adder(self, bm25: Bm25) -> Callable[[Entry], list[tuple[str, float]]]:
        """The terms of a document, in the order of the query's, with what each adds to its score."""
        k1, b = bm25.k1, bm25.b
        by_field: dict[str, list[tuple[str, str, float]]] = {}  # in the order of the terms, which is by field
        for field, term, weight in self.terms:
            by_field.setdefault(field, []).append((term, f" {term} ", weight))

        def addends(entry: Entry) -> list[tuple[str, float]]:
            addends = []
            for field, wanted in by_field.items():
                terms = entry.fields[field]
                norm = 0.0
                for term, framed_term, weight in wanted:
                    frequency = terms.count(framed_term)
                    if frequency:
                        if not norm:
                            length = rounded(terms.count(" ") // 2)
                            norm = k1 * (1 - b + b * length / self.mean[field])
                        addends.append((term, weight * frequency * (k1 + 1) / (frequency + norm)))
            return addends

        return addends


class View:
    """The documents of one commit; a search that began with it ends with it, whatever is written meanwhile.

    Args:
        searcher: of that commit.
    """

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self.searcher = searcher
        self._read: dict[tuple[int, int], Entry] = {}
        self._by_iri: dict[str, Entry] = {}

    def hits(self, query: tantivy.Query, limit: int) -> list[tuple[Any, tantivy.DocAddress]]:
        """The best documents; without counting, Tantivy skips what cannot reach the first `limit`."""
        return self.searcher.search(query, max(limit, 1), count=False).hits

    def entry(self, address: tantivy.DocAddress) -> Entry:
        """A document; a question meets the same ones again, and reading them is most of a search."""
        place = (address.segment_ord, address.doc)
        entry = self._read.get(place)
        if entry is None:
            if len(self._read) >= _KEPT:
                self._read.clear()
                self._by_iri.clear()
            entry = self._read[place] = _entry(self.searcher.doc(address))
            self._by_iri[entry.iri] = entry
        return entry

    def known(self, iri: str) -> Entry | None:
        """A document that was read before."""
        return self._by_iri.get(iri)


_MAGIC = (1337).to_bytes(4, "little")


def damaged_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Files of an index whose content does not have the checksum at their end: the file, and what is wrong.

    tantivy ends each file of a segment with JSON that holds its CRC-32, the length of that, and a number.
    Names of other files begin with a dot: locks, and what a killed process began to write.
    """
    for file in layout.own(folder, layout.WORDS):
        if file.name.startswith(".") or file.suffix == ".json":
            continue
        data = file.read_bytes()
        length = int.from_bytes(data[-8:-4], "little")
        try:
            expected = json.loads(data[-8 - length : -8])["crc"] if data[-4:] == _MAGIC else None
        except (ValueError, KeyError, TypeError):
            expected = None
        if expected != zlib.crc32(memoryview(data)[: max(0, len(data) - 8 - length)]):
            yield str(file), tr("the index of words is damaged")


def _require_own_names(folder: Path) -> None:
    """Raise ValueError if the list of the files that Tantivy deletes has a path out of the folder."""
    try:
        managed = json.loads((folder / ".managed.json").read_text("utf-8"))
    except FileNotFoundError:
        return
    for name in managed:
        if layout.WORDS.name_of(name) is None:
            raise ValueError(tr("{name!r} is not a file of an index").format(name=name))


class KindIndex:
    """The documents of one kind.

    Args:
        folder: where; None for memory.
        create: a new one, or one that exists.

    Raises:
        FileNotFoundError: it should exist and does not.
        ValueError: from Tantivy: damaged.
    """

    def __init__(self, folder: Path | None, *, create: bool) -> None:
        import tantivy

        self.folder = folder
        self.exact_lengths = True  # no delete has ever touched these segments
        self._tantivy = tantivy
        self._schema = _schema()
        if create and folder:
            folder.mkdir(parents=True)
        if folder and not folder.joinpath("meta.json").exists() and not create:
            raise FileNotFoundError(2, "no index", str(folder))
        if folder and not create:
            _require_own_names(folder)
        where = str(folder) if folder else None
        self._index = tantivy.Index(self._schema, where) if create else tantivy.Index.open(str(folder))
        self._index.config_reader("manual")
        self._writer: tantivy.IndexWriter | None = None
        self.refresh()

    # --- writing

    def begin(self) -> bool:
        """Take the writer's lock; False if another process has it."""
        if self._writer is None:
            try:
                self._writer = self._index.writer(_HEAP, 1)
            except ValueError as error:
                if _LOCK_BUSY in str(error):
                    return False
                raise
        return True

    @property
    def _open_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            raise RuntimeError("begin() comes before writing")
        return self._writer

    def add(self, entry: Entry) -> None:
        document = self._tantivy.Document()
        document.add_text("all", "1")
        document.add_text("iri", entry.iri)
        document.add_text("content", entry.content)
        document.add_text("language", entry.language)
        for key in entry.keys:
            document.add_text("keys", key)
        for field in FIELDS:
            if terms := entry.fields[field]:
                document.add_text(field, terms)
                document.add_unsigned(f"{field}_length", terms.count(" ") // 2)
        for number, name in enumerate(_ORDER):
            part = entry.iri.encode()[8 * number : 8 * number + 8]
            document.add_unsigned(name, int.from_bytes(part.ljust(8, b"\0"), "big"))
        self._open_writer.add_document(document)

    def delete(self, iri: str) -> None:
        self._open_writer.delete_documents_by_term("iri", iri)

    def commit(self) -> None:
        self._open_writer.commit()
        self.refresh()

    def release(self) -> None:
        """End writing; uncommitted changes are lost."""
        if self._writer is not None:
            self._writer.rollback()
            self._writer.wait_merging_threads()  # also consumes the writer, which frees the lock
            self._writer = None

    # --- reading

    def refresh(self) -> None:
        """Read the last commit from now on."""
        self._index.reload()
        self._view = View(self._index.searcher())
        self._indexed = self._searcher.doc_freq("all", "1")
        self._means: dict[str, float] | None = None
        self._languages: list[str] | None = None

    @property
    def _searcher(self) -> tantivy.Searcher:
        return self._view.searcher

    @property
    def count(self) -> int:
        return int(self._searcher.num_docs)

    @property
    def dead(self) -> int:
        """Number of deleted documents that are still in the segments, and in Tantivy's statistics."""
        return self._indexed - self.count

    def entries(self) -> Iterator[Entry]:
        """All documents."""
        view = self._view
        for _, address in view.hits(self._tantivy.Query.all_query(), self.count):
            yield _entry(view.searcher.doc(address))

    def iris(self) -> Iterator[str]:
        view = self._view
        for _, address in view.hits(self._tantivy.Query.all_query(), self.count):
            yield view.searcher.doc(address)["iri"][0]

    def sharing(self, weights: Weights, iris: Iterable[str]) -> Iterator[Entry]:
        """Those of some documents that have a term of a query.

        The fewer of the holders of its terms and these documents are looked up: reading documents is what it
        costs.
        """
        view, wanted, unread = self._view, set(iris), []
        if not weights.terms:
            return
        with_term = self._any((field, term) for field, term, _ in weights.terms)
        holders = sum(self.frequency(field, term) for field, term, _ in weights.terms)
        if holders <= len(wanted):
            entries = (view.entry(address) for _, address in view.hits(with_term, holders))
            yield from (entry for entry in entries if entry.iri in wanted)
            return
        for iri in sorted(wanted):
            if (entry := view.known(iri)) is not None:
                yield entry
            else:
                unread.append(iri)
        if unread:
            must = self._tantivy.Occur.Must
            both = [(must, with_term), (must, self._any(("iri", iri) for iri in unread))]
            for _, address in view.hits(self._tantivy.Query.boolean_query(both), len(unread)):
                yield view.entry(address)

    def _any(self, terms: Iterable[tuple[str, str]]) -> tantivy.Query:
        """A query for any of some terms in fields.

        A term_set_query would walk through the dictionary of each segment, which takes twice as long.
        """
        should = self._tantivy.Occur.Should
        return self._tantivy.Query.boolean_query([(should, self._term(*term)) for term in terms])

    def called(self, keys: Sequence[str]) -> Iterator[Entry]:
        """The documents with one of these keys."""
        view = self._view
        if keys and self.count:
            for _, address in view.hits(self._any(("keys", key) for key in keys), self.count):
                yield view.entry(address)

    def holding(self, terms: Sequence[str], language: str) -> Iterator[str]:
        """The IRIs of documents in a language that have these terms one after another."""
        if not terms or not self.count:
            return
        view, words = self._view, framed(terms)
        parts = [self._term("text", term) for term in dict.fromkeys(terms)]
        parts.append(self._term("language", language))
        query = self._tantivy.Query.boolean_query([(self._tantivy.Occur.Must, part) for part in parts])
        for _, address in view.hits(query, self.count):
            entry = view.entry(address)
            if words in entry.fields["text"]:
                yield entry.iri

    def hashes(self, iris: Sequence[str]) -> dict[str, str]:
        if not iris or not self.count:
            return {}
        query = self._tantivy.Query.term_set_query(self._schema, "iri", list(iris))
        view = self._view
        documents = (view.searcher.doc(address) for _, address in view.hits(query, len(iris)))
        return {document["iri"][0]: document["content"][0] for document in documents}

    def languages(self) -> list[str]:
        """The languages of the living documents, in order."""
        names_of_languages = self._languages  # held, as a commit meanwhile forgets it
        if names_of_languages is None:
            named = self._searcher.terms_with_prefix("language", "")
            names_of_languages = self._languages = sorted(
                name for name, _ in named if self.frequency("language", name)
            )
        return names_of_languages

    def weigh(self, counts: Mapping[str, int], boosts: Mapping[str, float]) -> Weights:
        """Gives each term of a query its weight in each field: boost x frequency in the query x idf."""
        terms = []
        for field in FIELDS:
            boost = boosts.get(field, 0.0)
            for term in sorted(counts) if boost else ():
                frequency = self.frequency(field, term)
                if frequency:
                    terms.append((field, term, boost * counts[term] * _idf(frequency, self.count)))
        return Weights(tuple(terms), self._mean_lengths())

    def best(self, weights: Weights, k: int) -> list[tuple[float, Entry]]:
        """The k best documents with their scores, by falling score, then IRI.

        Complete although Tantivy chooses the candidates by slightly other scores: its terms are weighed
        so that its score times `slack` is at least the exact one, and we go on until what it has not
        shown is under the k-th.
        """
        if not weights.terms or k < 1:
            return []
        view = self._view
        query, slack = self._candidates(weights)
        score = weights.scorer()
        limit = k + 32
        while True:
            hits = view.hits(query, limit)
            scored, least = _score(view, hits, score, slack, k)
            if len(hits) < limit or hits[-1][0] * slack < least:
                return heapq.nsmallest(k, scored, key=_rank)
            limit *= 4  # equal scores are what lies beyond

    def _candidates(self, weights: Weights) -> tuple[tantivy.Query, float]:
        """The query for Tantivy, and by how much its scores can fall short of the exact ones.

        Each term is boosted by what Tantivy's idf, which counts the dead, lacks. There remains the mean
        length, which Tantivy estimates from rounded ones when it merges away the dead: it is at least
        (8/9) m N/N', so a term's exact share is at most max(1, m/m') times Tantivy's.
        """
        query, should = self._tantivy.Query, self._tantivy.Occur.Should
        parts = []
        for field, term, weight in weights.terms:
            idf = _idf(self._searcher.doc_freq(field, term), self._indexed)
            parts.append((should, query.boost_query(self._term(field, term), weight / idf)))
        slack = 1.0 if self.exact_lengths else _LENGTH_LOSS * self._indexed / self.count
        return query.boolean_query(parts), slack * _FLOAT32

    def _term(self, field: str, term: str) -> tantivy.Query:
        option = "freq" if field in FIELDS else "basic"
        return self._tantivy.Query.term_query(self._schema, field, term, option)

    def frequency(self, field: str, term: str) -> int:
        """In how many living documents a term occurs."""
        if not self.dead:
            return self._searcher.doc_freq(field, term)
        counted = self._searcher.search(self._term(field, term), 1, count=True)
        return int(counted.count)  # type: ignore[attr-defined]

    def _mean_lengths(self) -> dict[str, float]:
        """Mean number of terms a field has in the living documents."""
        means = self._means  # held, as a commit meanwhile forgets it
        if means is None:
            sums = {field: {"sum": {"field": f"{field}_length"}} for field in FIELDS}
            totals = self._searcher.aggregate(self._tantivy.Query.all_query(), sums) if self.count else {}
            means = {field: (total["value"] or 0.0) / self.count for field, total in totals.items()}
            self._means = means
        return means


def _score(
    view: View,
    hits: Iterable[tuple[Any, tantivy.DocAddress]],
    score: Callable[[Entry], float],
    slack: float,
    k: int,
) -> tuple[list[tuple[float, Entry]], float]:
    """The exact scores of those hits, best first by Tantivy's, that may be among the k best; and what the
    k-th best has at least, 0 where there are fewer.

    Of hits with the same score those count that come first by their IRIs, as many as there is room for: a
    word that thousands have gives thousands of equal scores, and reading documents is what a search costs.
    Documents that share as much with the query have equal scores, exact or not.
    """
    scored: list[tuple[float, Entry]] = []
    values: list[float] = []
    least = 0.0
    for value, group in groupby(hits, key=itemgetter(0)):
        room = k - sum(better > value * slack for better in values)
        if room < 1 or value * slack < least:
            break
        level = [address for _, address in group]
        if len(level) > room:
            level = _first(view.searcher, level, room)
        values += [value] * len(level)
        entries = [view.entry(address) for address in level]
        scored += [(score(entry), entry) for entry in entries]
        if not least and len(scored) >= k:
            least = heapq.nsmallest(k, scored, key=_rank)[-1][0]
    return scored, least


def _first(
    searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress], k: int
) -> list[tantivy.DocAddress]:
    """The first k by their IRIs, and those that the columns cannot tell from the k-th."""
    orders = list(zip(*(searcher.fast_field_values(name, addresses) for name in _ORDER), strict=True))
    last = heapq.nsmallest(k, orders)[-1]
    return [address for address, order in zip(addresses, orders, strict=True) if order <= last]


def _rank(scored: tuple[float, Entry]) -> tuple[float, str]:
    """By falling score, then IRI."""
    return -scored[0], scored[1].iri


def _idf(frequency: int, documents: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def _entry(document: tantivy.Document) -> Entry:
    stored = document.to_dict()
    return Entry(
        iri=stored["iri"][0],
        content=stored["content"][0],
        language=stored["language"][0],
        keys=tuple(stored.get("keys", ())),
        fields={field: stored[field][0] if field in stored else "" for field in FIELDS},
    )


def _schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("all", tokenizer_name="raw", index_option="basic")  # the same in every document
    for keyword in ("iri", "language", "keys"):
        builder.add_text_field(keyword, stored=True, tokenizer_name="raw", index_option="basic")
    # only kept, but Tantivy's Python interface has no text field that is not indexed
    builder.add_text_field("content", stored=True, tokenizer_name="raw", index_option="basic")
    for field in FIELDS:
        builder.add_text_field(field, stored=True, tokenizer_name="whitespace", index_option="freq")
        builder.add_unsigned_field(f"{field}_length", fast=True)
    for name in _ORDER:
        builder.add_unsigned_field(name, fast=True)
    return builder.build()
