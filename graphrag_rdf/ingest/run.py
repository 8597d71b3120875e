"""The ingest: documents in, facts with provenance out.

The store is the journal. A chunk is done when it has a subgraph of the extractor's key; a document is
done when all its chunks are. Each chunk is one transaction, so a run that is killed leaves whole chunks
and the next one goes on where it stopped; a run that finds nothing to do writes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.documents.model import ParsedDocument, Sentence
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.errors import DocumentError, LlmError
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.ingest import names
from graphrag_rdf.ingest.extractors import ChunkExtractor, Extracted
from graphrag_rdf.ingest.facts import FactSettings, FactWriter, Passage, Written
from graphrag_rdf.ingest.plan import (
    ChunkSettings,
    DocumentPlan,
    PlacedChunk,
    Planner,
    Stored,
    place_chunks,
    stored_documents,
)
from graphrag_rdf.ingest.report import FailureReport, IngestReport
from graphrag_rdf.ingest.retract import retract_chunks, retract_subgraphs, settle_names
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, integer, now, to_python
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.librarian import Librarian

MENTIONS_KEY = "mentions/1"
MENTIONS_COMPONENT = "graphrag-rdf-mentions"
_FATAL = frozenset({"auth", "model"})
_LISTEN = 0.2  # seconds between looks whether the run should stop


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document to ingest, wherever it comes from.

    Attributes:
        plan: what it is to the store.
        parse: reads its text. Raises DocumentError.
    """

    plan: DocumentPlan
    parse: Callable[[], ParsedDocument]


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How an ingest runs.

    Attributes:
        jobs: extractor calls at once, when the extractor waits for a model.
        refresh: extract everything anew.
    """

    chunks: ChunkSettings = field(default_factory=ChunkSettings)
    facts: FactSettings = field(default_factory=FactSettings)
    jobs: int = 4
    refresh: bool = False


class Indexer(Protocol):
    """Keeps the search indexes in step with the store; never ahead of it."""

    def changed(self, *, chunks: Iterable[NamedNode] = (), entities: Iterable[NamedNode] = ()) -> None:
        """Note chunks and entities that were written."""

    def removed(self, things: Iterable[NamedNode]) -> None:
        """Note chunks and sentences that were taken out."""

    def flush(self, *, final: bool = False) -> None:
        """Bring the indexes up to the store's newest commit."""


class Progress(Protocol):
    """Hears how far a run is."""

    def __call__(self, done: int, total: int, path: str) -> None:
        """`done` of `total` chunks known so far are finished; `path` is the document at hand."""


Stop: TypeAlias = Callable[[], bool]
"""Asked between chunks whether the run should end: what is in hand is finished, nothing more is begun."""


@dataclass(slots=True)
class _Task:
    """A chunk that waits for its extraction."""

    incoming: Incoming
    placed: PlacedChunk
    parsed: ParsedDocument
    stored: bool  # the chunk itself is in the store already
    replaces: list[NamedNode]  # subgraphs that this extraction takes the place of
    sentences: tuple[Sentence, ...] = ()
    started: datetime = field(default_factory=now)


class Ingest:
    """One run of the ingest.

    Args:
        store, librarian: where to write, in the order librarian, store, index.
        extractor: what finds facts.
        indexer: keeps search indexes in step; None without indexes.
        settings: see `IngestSettings`.
        progress: hears of each finished chunk.
        stop: see `Stop`.
    """

    def __init__(
        self,
        store: Store,
        librarian: Librarian,
        extractor: ChunkExtractor,
        indexer: Indexer | None = None,
        settings: IngestSettings | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> None:
        self._store = store
        self._librarian = librarian
        self._extractor = extractor
        self._indexer = indexer
        self._settings = settings or IngestSettings()
        self._progress = progress
        self._stop = stop or (lambda: False)
        self._names = names.KnownNames(store)
        canonical = {row["member"].value: row["canonical"] for row in store.select("ingest/merges")}  # type: ignore[union-attr]
        self._writer = FactWriter(self._names, self._settings.facts, canonical)  # type: ignore[arg-type]
        self._run = iris.ingest_run(iris.new_uuid())
        self._started: datetime | None = None
        self._failed_before = {
            (str(row["about"]), str(to_python(row["stage"]))): row for row in store.select("ingest/failures")
        }
        self._agents_written = False
        self.report = IngestReport()

    # --- the run -----------------------------------------------------------------------------------

    def planner(self, max_bytes: int) -> Planner:
        """What finds out the fate of each source, against the store as it is now."""
        done = {
            row["document"].value: int(to_python(row["done"]))  # type: ignore[union-attr,arg-type]
            for row in self._store.select("ingest/extracted", extractor=self._extractor.key)
        }
        return Planner(stored_documents(self._store), done, self._settings.chunks.key, max_bytes)

    def run(self, documents: Iterable[Incoming | DocumentError], total: int | None = None) -> IngestReport:
        """Ingest documents; what fails is reported and the rest goes on.

        Args:
            documents: documents, or the reason why one cannot be read, in order.

        Raises:
            LlmError: when the model cannot be used at all (unknown, or the key is refused).
            StoreError: when the store or the librarian refuses a write.
        """
        begun = time.perf_counter()
        before = self._quads()
        try:
            self._recover()
            tasks = self._tasks(documents)
            if self._extractor.waits and self._settings.jobs > 1:
                self._extract_in_threads(tasks)
            else:
                self._extract_here(tasks)
            if self._stop():
                self.report.stopped = "interrupted"
        except KeyboardInterrupt:
            self.report.stopped = "interrupted"
        except _BudgetSpentError as spent:
            self.report.stopped = "budget"
            self.report.warn("budget_spent", str(spent))
        finally:
            self._finish()
            self.report.quads = max(0, self._quads() - before)
            self.report.seconds = round(time.perf_counter() - begun, 3)
        return self.report

    def _recover(self) -> None:
        """After a run that was killed: labels may lag behind; elect them again."""
        unfinished = [row["run"] for row in self._store.select("ingest/unfinished-runs")]
        if not unfinished:
            return
        settle_names(self._store, names.ambiguous(self._store))
        ended = datetime_(now())
        self._store.commit(Changes(add=[_system(run, PROV.endedAtTime, ended) for run in unfinished]))

    def _finish(self) -> None:
        if self._names.contested:
            self._commit(names.elect(self._store, self._names.contested))
        if self._indexer is not None:
            self._indexer.changed(entities=self._names.contested)
        if self._started is not None:
            self._commit(Changes(add=[_system(self._run, PROV.endedAtTime, datetime_(now()))]))
        if self._indexer is not None:
            self._indexer.flush(final=True)

    def _commit(self, changes: Changes) -> None:
        """Commit; the first commit of a run also says that the run began."""
        if not changes:
            return
        if self._started is None:
            self._started = now()
            changes.add.append(_system(self._run, RDF.type, RAG.IngestRun))
            changes.add.append(_system(self._run, PROV.startedAtTime, datetime_(self._started)))
            changes.add.append(_system(self._run, RAG.extractor, Literal(self._extractor.key)))
        self._store.commit(changes)

    def _quads(self) -> int:
        return len(self._store) if hasattr(self._store, "__len__") else 0

    # --- documents ---------------------------------------------------------------------------------

    def _tasks(self, documents: Iterable[Incoming | DocumentError]) -> Iterator[_Task]:
        counts = self.report.documents
        for document in documents:
            if self._stop():
                return
            if isinstance(document, DocumentError):
                self._document_failed(document, None)
                continue
            plan = document.plan
            if plan.fate == "unchanged" and not self._settings.refresh:
                counts.unchanged += 1
                self.report.chunks.reused += plan.stored.chunks if plan.stored else 0
                continue
            try:
                parsed = document.parse()
            except DocumentError as error:
                self._document_failed(error, plan.iri)
                continue
            tasks = self._write_document(document, parsed)
            if plan.stored is None:
                counts.added += 1
            elif tasks or plan.stored.content_hash != plan.content_hash:
                counts.updated += 1
            else:
                counts.unchanged += 1
            yield from tasks

    def _document_failed(self, error: DocumentError, document: NamedNode | None) -> None:
        self.report.documents.failed += 1
        self.report.failures.append(FailureReport(error.path, None, "read", error.reason))
        about = document or iris.document(Path(error.path).resolve().as_uri())
        known = self._failed_before.get((str(about), "read"))
        if known is not None and to_python(known["reason"]) == error.reason:
            return
        changes = Changes(add=list(prov.failure(about, "read", error.reason, now(), error.path)))
        if known is not None:
            changes.updates.append(("ingest/clear-failures", {"things": [about]}))
        self._commit(changes)

    def _write_document(self, document: Incoming, parsed: ParsedDocument) -> list[_Task]:
        """Write a document, its version, pages, and where its chunks stand; the chunks left to extract."""
        plan = document.plan
        placed = place_chunks(plan.iri, parsed, self._settings.chunks)
        original = self._librarian.put(plan.data)
        text = self._librarian.put(parsed.text)
        facts = prov.DocumentFacts(
            iri=plan.iri,
            identity=plan.stored.identity if plan.stored else plan.source.identity,
            location=plan.source.path.resolve().as_uri()
            if plan.source.path != Path()
            else plan.source.identity,
            title=parsed.title,
            media_type=parsed.media_type,
            content_hash=plan.content_hash,
            byte_size=len(plan.data),
            chunk_count=len(placed),
            chunker=self._settings.chunks.key,
            language=parsed.language,
            encoding=parsed.encoding,
            page_count=len(parsed.pages),
            metadata=parsed.metadata,
            original=original,
            text=text,
        )
        wanted = list(prov.document(facts, now()))
        for page in parsed.pages:
            wanted += prov.page(plan.iri, page.number, page.offset, len(page.text), page.label)
        self.report.pages += len(parsed.pages)
        if plan.stored is None:
            clear = self._clear_failure(plan.iri)
            self._commit(Changes(updates=clear, add=wanted))
            self.report.chunks.added += len(placed)
            return [_Task(document, chunk, parsed, stored=False, replaces=[]) for chunk in placed]
        return self._update_document(document, parsed, placed, wanted)

    def _clear_failure(self, about: NamedNode) -> list[tuple[str, dict[str, object]]]:
        if any(key == str(about) for key, _ in self._failed_before):
            return [("ingest/clear-failures", {"things": [about]})]
        return []

    def _update_document(
        self, document: Incoming, parsed: ParsedDocument, placed: list[PlacedChunk], wanted: list[Quad]
    ) -> list[_Task]:
        iri = document.plan.iri
        changes = Changes(updates=self._clear_failure(iri))
        _difference(self._document_quads(iri), wanted, changes)
        _keep_versions(iri, document.plan.content_hash, changes)
        stands = self._places(iri)
        new_iris = {chunk.iri.value for chunk in placed}
        gone = [_node(quads[0].subject) for key, quads in stands.items() if key not in new_iris]
        sentences = self._store.select("ingest/sentences-of", chunks=gone) if gone else []
        touched = retract_chunks(self._store, gone, changes)
        fresh = [chunk for chunk in placed if chunk.iri.value not in stands]
        reused = [chunk for chunk in placed if chunk.iri.value in stands]
        if fresh:
            changes.updates.append(("ingest/revive-chunks", {"chunks": [chunk.iri for chunk in fresh]}))
        for chunk in reused:
            _difference(stands[chunk.iri.value], list(_place_quads(iri, chunk)), changes)
        if changes.remove or changes.add or gone or fresh:
            self._commit(changes)
        if touched:
            settle_names(self._store, touched)
        if self._indexer is not None:
            self._indexer.removed([*gone, *(_node(row["sentence"]) for row in sentences)])
            self._indexer.changed(entities=touched)
        self.report.chunks.added += len(fresh)
        self.report.chunks.reused += len(reused)
        self.report.chunks.removed += len(gone)
        return [
            *(_Task(document, chunk, parsed, stored=False, replaces=[]) for chunk in fresh),
            *self._unfinished(document, parsed, reused),
        ]

    def _unfinished(
        self, document: Incoming, parsed: ParsedDocument, reused: list[PlacedChunk]
    ) -> Iterator[_Task]:
        """Chunks that stand already and still need this extractor, with the subgraphs it replaces."""
        found: dict[str, list[tuple[NamedNode, str]]] = {}
        for row in self._store.select("ingest/chunk-extractors", document=document.plan.iri):
            chunk, subgraph = row["chunk"], row["subgraph"]
            assert isinstance(chunk, NamedNode)  # noqa: S101
            assert isinstance(subgraph, NamedNode)  # noqa: S101
            found.setdefault(chunk.value, []).append((subgraph, str(to_python(row["extractor"]))))
        family = self._extractor.key.split("/", 1)[0]
        for chunk in reused:
            have = found.get(chunk.iri.value, [])
            if any(key == self._extractor.key for _, key in have) and not self._settings.refresh:
                continue
            replaces = [s for s, key in have if key == MENTIONS_KEY or key.split("/", 1)[0] == family]
            yield _Task(document, chunk, parsed, stored=True, replaces=replaces)

    def _document_quads(self, document: NamedNode) -> list[Quad]:
        in_source = self._store.select("ingest/document-quads", document=document)
        in_facts = self._store.select("ingest/document-facts", document=document)
        return [
            *(prov.source(_node(row["s"]), _node(row["p"]), row["o"]) for row in in_source),
            *(prov.fact(document, _node(row["p"]), row["o"]) for row in in_facts),  # type: ignore[arg-type]
        ]

    def _places(self, document: NamedNode) -> dict[str, list[Quad]]:
        places: dict[str, list[Quad]] = {}
        for row in self._store.select("ingest/chunk-places", document=document):
            chunk = _node(row["chunk"])
            quad = prov.source(chunk, _node(row["property"]), row["value"])
            places.setdefault(chunk.value, []).append(quad)
        return places

    # --- chunks ------------------------------------------------------------------------------------

    def _extract(self, task: _Task) -> Extracted:
        text = task.placed.chunk.text
        parsed = task.parsed
        task.sentences = split_sentences(text, parsed.language)
        task.started = now()
        return self._extractor(text, task.sentences, language=parsed.language, title=parsed.title)

    def _extract_here(self, tasks: Iterator[_Task]) -> None:
        done = 0
        for task in tasks:
            try:
                extracted: Extracted | LlmError = self._extract(task)
            except LlmError as error:
                extracted = error
            self._write_chunk(task, extracted)
            done += 1
            self._tell(done, task)
            if self._stop():
                return

    def _extract_in_threads(self, tasks: Iterator[_Task]) -> None:
        jobs = self._settings.jobs
        running: dict[Future[Extracted], _Task] = {}
        done = 0
        exhausted = False
        with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="extract") as pool:
            try:
                while True:
                    if self._stop():  # calls that are under way are paid for: they are waited for and written
                        exhausted = True
                        running = {future: task for future, task in running.items() if not future.cancel()}
                    while not exhausted and len(running) < jobs * 2:
                        task = next(tasks, None)
                        if task is None:
                            exhausted = True
                            break
                        running[pool.submit(self._extract, task)] = task
                    if not running:
                        break
                    finished, _ = wait(running, timeout=_LISTEN, return_when=FIRST_COMPLETED)
                    for future in finished:
                        task = running.pop(future)
                        error = future.exception()
                        if error is not None and not isinstance(error, LlmError):
                            raise error
                        self._write_chunk(task, error if isinstance(error, LlmError) else future.result())
                        done += 1
                        self._tell(done, task)
            except BaseException:
                for future in running:
                    future.cancel()
                raise

    def _tell(self, done: int, task: _Task) -> None:
        if self._progress is not None:
            self._progress(done, self.report.chunks.added, str(task.incoming.plan.source.path))

    def _write_chunk(self, task: _Task, extracted: Extracted | LlmError) -> None:
        """Write a chunk with its sentences, mentions and extraction: one transaction."""
        if isinstance(extracted, LlmError):
            if extracted.kind == "budget":
                raise _BudgetSpentError(extracted.message)
            if extracted.kind in _FATAL or (extracted.kind == "connection" and not self.report.facts):
                raise extracted
        placed = task.placed
        chunk, text = placed.iri, placed.chunk.text
        changes = Changes()
        touched: list[NamedNode] = []
        if task.stored:
            changes.updates.append(("ingest/clear-mentions", {"chunks": [chunk]}))
            changes.updates.append(("ingest/clear-failures", {"things": [chunk]}))
            touched = retract_subgraphs(self._store, task.replaces, changes)
        else:
            changes.add += prov.chunk(chunk, task.incoming.plan.iri, text)
            changes.add += _place_quads(task.incoming.plan.iri, placed)
        if not self._agents_written:
            self._agents_written = True
            changes.add += prov.agent(MENTIONS_COMPONENT, MENTIONS_KEY)
            changes.add += prov.agent(self._extractor.component, self._extractor.version)
        layer = self._mention_layer(task, extracted, changes)
        if isinstance(extracted, LlmError):
            changes.add += prov.failure(
                chunk, "extract", extracted.message, now(), str(task.incoming.plan.source.path)
            )
            self._chunk_failed(task, extracted)
        else:
            self._write_extraction(task, extracted, layer, changes)
        self._commit(changes)
        if touched:
            settle_names(self._store, touched)
        if self._indexer is not None:
            self._indexer.changed(chunks=[chunk], entities=[*layer.entities, *touched])
            self._indexer.flush()

    def _mention_layer(self, task: _Task, extracted: Extracted | LlmError, changes: Changes) -> Written:
        chunk, text = task.placed.iri, task.placed.chunk.text
        parsed = task.parsed
        known: set[str] = set()
        found = () if isinstance(extracted, LlmError) or task.stored else extracted.extraction.mentions
        if not isinstance(extracted, LlmError):
            for entity in extracted.extraction.entities:
                known.update((entity.name, *entity.aliases))
        if task.stored:  # what other extractors named in this chunk stays a mention
            rows = self._store.select("ingest/names-in-chunk", chunk=chunk)
            known.update(str(to_python(row["name"])) for row in rows)
        if not found:
            found = find_mentions(
                text, task.sentences, language=parsed.language, names=sorted(known), title=parsed.title
            )
        subgraph = iris.subgraph(chunk, MENTIONS_KEY)
        layer, sentences = self._writer.mentions(chunk, subgraph, task.sentences, found)
        changes.add += prov.mention_subgraph(subgraph, chunk, MENTIONS_COMPONENT, MENTIONS_KEY)
        changes.add += sentences
        changes.add += layer.quads
        self.report.entities += len(layer.new_entities)
        return layer

    def _write_extraction(self, task: _Task, extracted: Extracted, layer: Written, changes: Changes) -> None:
        chunk = task.placed.iri
        details = prov.ExtractionFacts(
            chunk=chunk,
            component=self._extractor.component,
            extractor=self._extractor.key,
            started=task.started,
            model=self._extractor.model,
            prompt_hash=extracted.prompt_hash,
            in_tokens=extracted.in_tokens,
            out_tokens=extracted.out_tokens,
        )
        changes.add += prov.extraction(details)
        subgraph = iris.subgraph(chunk, self._extractor.key)
        passage = Passage(chunk, task.placed.chunk.text, task.sentences)
        written = self._writer.extraction(subgraph, passage, extracted.extraction, layer.named)
        changes.add += written.quads
        layer.entities |= written.entities
        self.report.facts += written.facts
        self.report.entities += len(written.new_entities)
        for reason, _ in written.rejected:
            self.report.rejected[reason] = self.report.rejected.get(reason, 0) + 1
        if extracted.extraction.language_warning:
            self.report.warn("language_without_tagger", extracted.extraction.language_warning)

    def _chunk_failed(self, task: _Task, error: LlmError) -> None:
        path = str(task.incoming.plan.source.path)
        self.report.failures.append(FailureReport(path, task.placed.iri.value, "extract", error.message))
        self.report.warn("extraction_failed", f"{path}: {error.message}")


class _BudgetSpentError(Exception):
    """The token or cost budget is used up: stop cleanly."""


def incoming(plans: Iterable[DocumentPlan | DocumentError]) -> Iterator[Incoming | DocumentError]:
    """Planned files as documents to ingest."""
    for plan in plans:
        if isinstance(plan, DocumentError):
            yield plan
        else:
            yield Incoming(plan, lambda plan=plan: read_bytes(plan.data, str(plan.source.path)))  # type: ignore[misc]


def _place_quads(document: NamedNode, placed: PlacedChunk) -> Iterator[Quad]:
    parents = [iris.page(document, page.number) for page in placed.pages] or [document]
    return prov.chunk_place(placed.iri, placed.chunk.index, placed.chunk.offset, parents)


def _difference(old: Sequence[Quad], new: Sequence[Quad], changes: Changes) -> None:
    before, after = set(old), set(new)
    changes.remove += [quad for quad in old if quad not in after]
    changes.add += [quad for quad in new if quad not in before]


def _keep_versions(document: NamedNode, content_hash: str, changes: Changes) -> None:
    """Earlier versions stay, marked as superseded; an unchanged version keeps its time."""
    current = iris.document_version(document, content_hash)
    versions = {q.subject for q in changes.remove if q.predicate == PROV.specializationOf}
    old_times = {q for q in changes.remove if q.subject == current and q.predicate == PROV.generatedAtTime}
    if old_times:
        changes.add = [
            q for q in changes.add if not (q.subject == current and q.predicate == PROV.generatedAtTime)
        ]
    changes.remove = [q for q in changes.remove if q.subject not in versions and q not in old_times]
    when = datetime_(now())
    for version in versions:
        changes.add.append(prov.source(version, PROV.invalidatedAtTime, when))  # type: ignore[arg-type]
        changes.add.append(prov.source(current, PROV.wasRevisionOf, version))  # type: ignore[arg-type]


def _system(s: Term, p: NamedNode, o: Term) -> Quad:
    return Quad(s, p, o, Graphs.SYSTEM)  # type: ignore[arg-type]


def _node(term: Term) -> NamedNode:
    assert isinstance(term, NamedNode)  # noqa: S101
    return term


__all__ = [
    "DCTERMS",
    "Incoming",
    "Indexer",
    "Ingest",
    "IngestSettings",
    "Progress",
    "Stop",
    "Stored",
    "incoming",
    "integer",
]
