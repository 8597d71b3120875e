"""Keeps the search indexes in step with the store.

The store is written first; the indexes carry the number of the commit that they reflect and are never
ahead. What an index holds is read from the store by template, so it can be rebuilt from the store alone,
and an index that fell behind (a killed process, an embedding model out of reach) is brought up by comparing
hashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.documents.text import inner_name
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.index.records import Record
from graphrag_rdf.ingest.entity_graph import MANY, update_graph
from graphrag_rdf.ingest.names import link_names
from graphrag_rdf.ingest.relation_decisions import settle_relations
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import SKOS
from graphrag_rdf.schema.observed import observe
from graphrag_rdf.schema.reasoning import NewTriples, Profile
from graphrag_rdf.store.base import Row, Store, in_batches

if TYPE_CHECKING:
    from graphrag_rdf.index.embedders import Embedder
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.index.vectors import VectorIndex

_WORD = re.compile(r"[^\W_]+")
_BATCH = 50  # things in a query
_AT_ONCE = 500  # records in memory
# chunks between writes: more take memory; fewer have the store merge its files and the indexes rewrite
# theirs too often. At the end of a run the indexes are written in any case; the store's log is then enough
_FLUSH_AT = 100


class IndexFeed:
    """The records of the indexes, read from the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def everything(self) -> Iterator[Record]:
        """Every record of the store."""
        chunks = [row["chunk"] for row in self._store.select("index/all-chunks")]
        yield from self.chunks(chunks)
        entities = [row["entity"] for row in self._store.select("index/all-entities")]
        yield from self.entities(entities)
        reports = [row["report"] for row in self._store.select("index/all-reports")]
        yield from self.reports(reports)

    def chunks(
        self, chunks: Iterable[NamedNode], sentences: Mapping[str, Sequence[Sentence]] | None = None
    ) -> Iterator[Record]:
        """The records of chunks and of their sentences; none for chunks that are gone.

        Args:
            sentences: of chunks that were written just now, by the chunk's IRI: they are not read again.
        """
        written = sentences or {}
        for batch in in_batches(chunks, _BATCH):
            rows = self._store.select("index/chunks", chunks=batch)
            found = {row["chunk"]: _chunk(row) for row in rows}
            below = {row["chunk"]: (row["headings"],) for row in rows if row["headings"] is not None}
            for node, chunk in found.items():
                yield replace(chunk, labels=chunk.labels + below.get(node, ()))
            for node, chunk in found.items():
                for sentence in written.get(node.value, ()):
                    iri = iris.sentence_of(node.value, sentence.index)
                    yield _sentence(iri, chunk, sentence.offset, sentence.length)
            unread = [node for node in found if node.value not in written]
            for row in self._store.select("index/sentences", chunks=unread) if unread else ():
                place = row["offset"], row["length"]
                yield _sentence(row["sentence"].value, found[row["chunk"]], *place)

    def entities(self, entities: Iterable[NamedNode]) -> Iterator[Record]:
        """The records of entities; none for those that have no name any more."""
        for batch in in_batches(entities, _BATCH):
            names: dict[str, set[str]] = {}
            definitions: dict[str, set[str]] = {}
            for row in self._store.select("index/entities", entities=batch):
                into = definitions if row["property"] == SKOS.definition else names
                if text := row["value"].strip():
                    into.setdefault(row["entity"].value, set()).add(text)
            for iri in sorted(names):
                text = "\n".join(sorted(definitions.get(iri, ())))
                yield Record(iri, "entity", text, tuple(sorted(names[iri])), None)

    def reports(self, reports: Iterable[NamedNode]) -> Iterator[Record]:
        """The records of reports of communities; none for those that are gone."""
        for batch in in_batches(reports, _BATCH):
            languages: dict[str, str] = {}
            for row in self._store.select("index/report-languages", reports=batch):
                languages.setdefault(row["report"], row["language"])
            findings: dict[str, list[str]] = {}
            for row in self._store.select("index/findings", reports=batch):
                said = [row["label"], row["explanation"]]
                findings.setdefault(row["report"], []).extend(said)
            for row in self._store.select("index/reports", reports=batch):
                iri = row["report"]
                text = "\n".join([row["summary"], *findings.get(iri, ())])
                yield Record(iri, "report", text, (row["title"],), languages.get(iri))


def _chunk(row: Row) -> Record:
    title = row["title"]
    named = _file_words(row["identity"], title) if row["identity"] is not None else ""
    return Record(
        iri=row["chunk"].value,
        kind="chunk",
        text=row["text"],
        labels=(title, named) if named else (title,),
        language=row["language"],
    )


def _file_words(identity: str, title: str) -> str:
    """The words of a file's name that its title lacks, so that "Adobe" finds `ADOBE_2022_10K.pdf`, titled
    Form 10-K. A number alone is not a name.
    """
    stem = PurePath(inner_name(identity.rstrip("/"))).stem
    if not any(map(str.isalpha, stem)):
        return ""
    known = {word.casefold() for word in _WORD.findall(title)}
    return " ".join(word for word in _WORD.findall(stem) if word.casefold() not in known)


def _sentence(iri: str, chunk: Record, offset: int, length: int) -> Record:
    return Record(iri, "sentence", chunk.text[offset : offset + length], chunk.labels, chunk.language)


class StoreIndexer:
    """Keeps the indexes in step with the store, never ahead of it.

    Attributes:
        error: of the embedding model, if it failed.
        noted: where updates of kept inferences note what is new; None if nobody asks.

    Args:
        text: the text index.
        vectors, embedder: the vector index and what makes its vectors; None without an embedding model.
        namespace: in which extraction mints relations and types.
        keep: keep inferences up to date, by the rules of this profile.
        min_count: sentences that name two entities together, so that they co-occur.
    """

    def __init__(
        self,
        store: Store,
        text: TextIndex,
        vectors: VectorIndex | None = None,
        embedder: Embedder | None = None,
        namespace: str = iris.DEFAULT_NAMESPACE,
        keep: Profile | None = None,
        min_count: int = 2,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._keep = keep
        self._min_count = min_count
        self._schema_behind = False  # whether facts may have changed since the schema was observed
        self._feed = IndexFeed(store)
        self._text = text
        self._vectors = vectors
        self._embedder = embedder
        self._chunks: dict[str, NamedNode] = {}
        self._entities: dict[str, NamedNode] = {}
        self._reports: dict[str, NamedNode] = {}
        self._removed: dict[str, NamedNode] = {}
        self._sentences: dict[str, Sequence[Sentence]] = {}
        self._touched: (
            dict[str, NamedNode] | None
        ) = {}  # since the graph of entities was updated; None: too many
        self._unflushed = 0  # chunks since the store was flushed
        self.error: str | None = None
        self.noted: NewTriples | None = None

    def changed(self, *, chunks: Iterable[NamedNode] = (), entities: Iterable[NamedNode] = ()) -> None:
        """Note chunks and entities that were written."""
        for node in chunks:
            self._chunks[node.value] = node
            self._sentences.pop(node.value, None)
        self._entities.update((node.value, node) for node in entities)

    def written(self, chunk: NamedNode, sentences: Sequence[Sentence], entities: Iterable[NamedNode]) -> None:
        """Note a chunk that is written with these sentences and entities."""
        self.changed(chunks=[chunk], entities=entities)
        self._sentences[chunk.value] = sentences

    def removed(self, things: Iterable[NamedNode]) -> None:
        """Note chunks and sentences that were removed."""
        self._removed.update((node.value, node) for node in things)

    def refresh_reports(self) -> None:
        """Index the reports of communities that are new, and remove those that are gone.

        A report of another content is another one: its IRI follows from what it was written from.
        """
        self._note_reports()
        self.flush(final=True)

    @property
    def _lacks_reports(self) -> bool:
        """Whether the index of words has other reports than the store, as far as their number says."""
        return self._text.count("report") != self._report_count()

    def _report_count(self) -> int:
        reports: int = self._store.select("index/report-count")[0]["reports"]
        return reports

    def _note_reports(self) -> None:
        """Note which reports an index lacks, and which of its reports are gone."""
        there = {row["report"].value for row in self._store.select("index/all-reports")}
        for index in self._indexes():
            known = {*index.iris("report")}
            self._reports.update((iri, NamedNode(iri)) for iri in there - known)
            self._removed.update((iri, NamedNode(iri)) for iri in known - there)

    def flush(self, *, final: bool = False, purge: bool = False, schema: bool = True) -> int:
        """Index the noted things, once there are enough of them or the run ends.

        Args:
            final: index them in any case, also reports, and link names in the indexed chunks.
            purge: also erase removed records from the files.
            schema: at the end of a run, also declare what relations and types the facts use now.

        Returns:
            how many quads the schema, the links and the graph of entities added to the store.
        """
        if not final and len(self._chunks) < _FLUSH_AT:
            return 0
        if final and {index.count("report") for index in self._indexes()} != {self._report_count()}:
            self._note_reports()
        number = self._store.content_commit()
        self._schema_behind |= self._text.commit_number != number
        declared = self.observe_schema() if final and schema and self._schema_behind else 0
        named: set[str] = set()
        for part in (
            self._feed.chunks(self._chunks.values(), self._sentences),
            self._feed.entities(self._entities.values()),
            self._feed.reports(self._reports.values()),
        ):
            for records in in_batches(part, _AT_ONCE):
                named.update(record.iri for record in records)
                self._text.apply(records)
                self._embed(records, [])
            self._text.settle()  # frees the memory of these writers before the next begin
        noted = (*self._chunks, *self._entities, *self._reports, *self._removed)
        if gone := [iri for iri in noted if iri not in named]:
            self._text.apply([], gone)
            self._embed([], gone)
        if purge or self._reports or self._removed or self._text.commit_number != number:
            self._put_on_disk(whole=purge)  # first: an index is never ahead of the store
            self._text.commit(number, purge=purge)
        self._commit_vectors(number, purge=purge)
        self._touch()
        self._chunks.clear()
        self._entities.clear()
        self._reports.clear()
        self._removed.clear()
        self._sentences.clear()
        if not final:
            return 0
        drawn = self.update_graph()  # before marked chunks are linked and lose their marks
        return declared + drawn + link_names(self._store, self._text)

    def _touch(self) -> None:
        """Note what the graph of entities may lack."""
        if self._touched is not None:
            self._touched.update(self._chunks)
            self._touched.update(self._entities)
            if len(self._touched) > MANY:
                self._touched = None

    def update_graph(self) -> int:
        """Bring the graph of entities up to date; how many quads the store has more."""
        marked = [row["thing"] for row in self._store.select("links/unlinked")]
        touched = None if self._touched is None else [*dict.fromkeys([*marked, *self._touched.values()])]
        more = update_graph(self._store, touched, self._min_count)
        self._touched = {}
        return more

    def observe_schema(self) -> int:
        """Find relations that are one by their form, and declare what relations and types the facts use now;
        how many quads that added to the store.
        """
        self._schema_behind = False
        settled = settle_relations(self._store, self._namespace)
        found = observe(self._store, self._namespace, self._keep)
        if found.inferences is not None and self.noted is not None:
            self.noted.note(found.inferences)
        return settled + found.quads

    def _put_on_disk(self, *, whole: bool) -> None:
        """Sync the store, or flush it once enough was written since the last flush: after every
        small run, it would have the store merge most of its files each second time.
        """
        self._unflushed += len(self._chunks)
        if self._unflushed < _FLUSH_AT and not whole:
            self._store.sync()
        else:
            self._store.flush()
            self._unflushed = 0

    @property
    def is_behind(self) -> bool:
        """Whether an index lacks what the store holds: after a kill, or when vectors could not be made."""
        return min(self._commits()) < self._store.content_commit()

    def recover(self) -> None:
        """Catch up if an index does not reflect the store's newest commit, or lacks reports."""
        if self._commits() != {self._store.content_commit()}:
            self.catch_up()
        elif self._lacks_reports:
            self.refresh_reports()

    @property
    def lacks_words(self) -> bool:
        """Whether the index of words does not reflect the store's newest commit, or lacks reports."""
        return self._text.commit_number != self._store.content_commit() or self._lacks_reports

    def update_words(self) -> None:
        """Catch up if the index of words lacks something."""
        if self._text.commit_number != self._store.content_commit() or self._store.read_only:
            self.catch_up()
        elif self._lacks_reports:
            self.refresh_reports()

    def _commits(self) -> set[int]:
        """The commits that the indexes reflect."""
        return {index.commit_number for index in self._indexes()}

    def _indexes(self) -> list[TextIndex | VectorIndex]:
        return [index for index in (self._text, self._vectors) if index is not None]

    def differences(self) -> Iterator[tuple[str, str]]:
        """Differences between the indexes and the store: an IRI or a file, and how it differs.

        Raises:
            SearchIndexError: when an index cannot be read at all.
        """
        yield from self._text.differences(self._feed.everything())
        if self._vectors is not None:
            yield from self._vectors.differences(self._feed.everything())

    def catch_up(self) -> None:
        """Compare the indexes with the whole store and correct them; also what is derived from all facts, if
        the store may be written.
        """
        self.error = None
        number = self._store.content_commit()
        self._text.sync(self._feed.everything())
        if self._vectors is not None:
            self._vectors.retain(self._feed.everything())
            for batch in in_batches(self._feed.everything(), _AT_ONCE):
                self._embed(batch, [])
            self._commit_vectors(number)
        if not self._store.read_only:
            self.observe_schema()
            update_graph(self._store, None, self._min_count)
            self._touched = {}
            self._store.sync()
        self._text.commit(number)

    def _commit_vectors(self, number: int, *, purge: bool = False) -> None:
        """Record the commit; not if vectors are missing, so that another run tries again."""
        if self._vectors is None:
            return
        if self.error is not None:
            number = self._vectors.commit_number
        self._vectors.commit(number, purge=purge)

    def _embed(self, records: list[Record], gone: list[str]) -> None:
        if self._vectors is None or self._embedder is None:
            return
        missing = self._vectors.missing(records) if self.error is None else []
        try:
            vectors = self._embedder.embed([record.full_text for record in missing])
        except GraphRagError as error:
            self.error = str(error)
            import numpy as np

            self._vectors.apply([], np.empty((0, 0), np.float32), gone)
            return
        self._vectors.apply(missing, vectors, gone)
