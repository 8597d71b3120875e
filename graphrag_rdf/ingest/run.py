"""The ingest: documents in, facts with provenance out.

The store is the journal. A chunk is done when it has a subgraph of the extractor's key; a document is
done when all its chunks are. Each chunk is one transaction, so a run that is killed leaves whole chunks
and the next one goes on where it stopped; a run that finds nothing to do writes nothing.

What is found in a chunk depends on its text, and on the title and language of its document. If one of
these changes, all chunks of the document are looked at anew; what they gave stays until it is replaced.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.documents.model import ParsedDocument, Sentence
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.errors import DocumentError, LlmError
from graphrag_rdf.extract.companions import with_companions
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.extract.model import NOTHING, Mention
from graphrag_rdf.extract.topic import topics_of
from graphrag_rdf.ingest import names
from graphrag_rdf.ingest.decisions import read_groups
from graphrag_rdf.ingest.extractors import ChunkExtractor, Extracted
from graphrag_rdf.ingest.facts import FactSettings, FactWriter, Passage, Written
from graphrag_rdf.ingest.plan import (
    ChunkSettings,
    DocumentPlan,
    PlacedChunk,
    Planner,
    is_there,
    place_chunks,
    stored_documents,
)
from graphrag_rdf.ingest.report import FailureReport, IngestReport
from graphrag_rdf.ingest.retract import retract_chunks, retract_subgraphs
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import DC, DCTERMS, PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import Term, datetime_, now, text_of, to_python
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.librarian import Librarian

MENTIONS_KEY = "mentions/1"
MENTIONS_COMPONENT = "graphrag-rdf-mentions"
_FATAL = frozenset({"auth", "model"})
_MOST_LOST = 5  # calls in a row without a connection after which a server is taken to be gone
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
        mentions_only: of what is extracted anew, only the names in sentences.
        version: of the settings kept in the store, which the run is linked to.
    """

    chunks: ChunkSettings = field(default_factory=ChunkSettings)
    facts: FactSettings = field(default_factory=FactSettings)
    jobs: int = 4
    refresh: bool = False
    mentions_only: bool = False
    version: NamedNode | None = None


class Indexer(Protocol):
    """Keeps the search indexes in step with the store; never ahead of it."""

    def changed(self, *, chunks: Iterable[NamedNode] = (), entities: Iterable[NamedNode] = ()) -> None:
        """Note chunks and entities that were written."""

    def removed(self, things: Iterable[NamedNode]) -> None:
        """Note chunks and sentences that were taken out."""

    def flush(self, *, final: bool = False) -> None:
        """Bring the indexes up to the store's newest commit."""

    def recover(self) -> None:
        """Mend indexes that a run that was killed left behind the store."""


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
    stored: bool = False  # the chunk itself is in the store already
    retired: bool = False  # it is there as a tombstone
    replaces: list[NamedNode] = field(
        default_factory=list
    )  # subgraphs that this extraction takes the place of
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
        self._writer = FactWriter(self._names, self._settings.facts, read_groups(store))
        self._run = iris.ingest_run(iris.new_uuid())
        self._started: datetime | None = None
        self._failed_before = {
            (str(row["about"]), str(to_python(row["stage"]))): row for row in store.select("ingest/failures")
        }
        self._by_location: dict[str, NamedNode] = {}
        self._agents_written = False
        self._answered = False
        self._lost = 0
        self._quads_before = 0
        self.refreshed: list[NamedNode] = []
        self._written = 0
        self.report = IngestReport()

    # --- the run -----------------------------------------------------------------------------------

    def planner(self, max_bytes: int) -> Planner:
        """What finds out the fate of each source, against the store as it is now."""
        done = {
            row["document"].value: int(to_python(row["done"]))  # type: ignore[union-attr,arg-type]
            for row in self._store.select("ingest/extracted", extractor=self._extractor.key)
        }
        known = stored_documents(self._store)
        self._by_location = {stored.location: stored.iri for stored in known.values()}
        return Planner(known, done, self._settings.chunks.key, max_bytes)

    def run(self, documents: Iterable[Incoming | DocumentError]) -> IngestReport:
        """Ingest documents; what fails is reported and the rest goes on.

        Args:
            documents: documents, or the reason why one cannot be read, in order.

        Raises:
            LlmError: when the model cannot be used at all (unknown, out of reach, or the key is refused);
                what was done until then is kept.
            StoreError: when the store or the librarian refuses a write.
        """
        begun = time.perf_counter()
        try:
            if self._indexer is not None:
                self._indexer.recover()
            tasks = self._tasks(documents)
            if self._extractor.waits and self._settings.jobs > 1 and not self._settings.mentions_only:
                self._extract_in_threads(tasks)
            else:
                self._extract_here(tasks)
            if self._stop():
                self.report.stopped = "interrupted"
            else:
                self._drop_failures_of_gone_files()
        except KeyboardInterrupt:
            self.report.stopped = "interrupted"
        except _BudgetSpentError as spent:
            self.report.stopped = "budget"
            self.report.warn("budget_spent", str(spent))
        finally:
            self._finish()
            if self._started is not None:
                self.report.quads = self._quads() - self._quads_before
            self.report.seconds = round(time.perf_counter() - begun, 3)
        return self.report

    def _finish(self) -> None:
        settled = names.settle(self._store)
        if self._indexer is not None:
            self._indexer.changed(entities=settled)
        if self._started is not None:
            self._commit(Changes(add=[_system(self._run, PROV.endedAtTime, datetime_(now()))]))
        if self._indexer is not None:
            self._indexer.flush(final=True)

    def _commit(self, changes: Changes) -> None:
        """Commit; the first commit of a run also says that the run began."""
        if not changes:
            return
        if self._started is None:
            self._quads_before = self._quads()
            self._started = now()
            changes.add.append(_system(self._run, RDF.type, RAG.IngestRun))
            changes.add.append(_system(self._run, PROV.startedAtTime, datetime_(self._started)))
            changes.add.append(_system(self._run, RAG.extractor, Literal(self._extractor.key)))
            if self._settings.version is not None:
                changes.add.append(_system(self._run, RAG.settings, self._settings.version))
        self._store.commit(changes)
        self._written += len(changes.add) - len(changes.remove)

    def _quads(self) -> int:
        """Quads of the store; of one that would have to count them, how many this run has written."""
        return len(self._store) if isinstance(self._store, Sized) else self._written

    # --- documents ---------------------------------------------------------------------------------

    def _tasks(self, documents: Iterable[Incoming | DocumentError]) -> Iterator[_Task]:
        counts = self.report.documents
        for document in documents:
            if self._stop():
                return
            if isinstance(document, DocumentError):
                self._document_failed(document)
                continue
            plan = document.plan
            if plan.fate == "unchanged" and not self._settings.refresh:
                counts.unchanged += 1
                self._commit(
                    Changes(updates=self._clear_failures(plan))
                )  # of a file that was broken meanwhile
                self.report.chunks.reused += plan.stored.chunks if plan.stored else 0
                continue
            try:
                parsed = document.parse()
            except DocumentError as error:
                self._document_failed(error)
                continue
            tasks = self._write_document(document, parsed)
            if self._settings.refresh and not self._settings.mentions_only:
                self.refreshed.append(plan.iri)
            if plan.replaces is not None:
                counts.moved += 1
            elif plan.stored is None:
                counts.added += 1
            elif tasks or plan.stored.content_hash != plan.content_hash:
                counts.updated += 1
            elif plan.stored.location != plan.location:
                counts.moved += 1
            else:
                counts.unchanged += 1
            yield from tasks

    def _document_failed(self, error: DocumentError) -> None:
        """Report the failure, and record it once: of the document, or of the file if there is none yet."""
        self.report.documents.failed += 1
        self.report.failures.append(FailureReport(error.path, None, "read", error.reason))
        if not os.path.lexists(error.path):  # nothing is there that another run could read
            return
        location = Path(error.path).resolve().as_uri()
        about = self._by_location.get(location) or iris.document(location)
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
            location=plan.location,
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
        if plan.replaces is not None:
            wanted.append(prov.source(plan.iri, DCTERMS.replaces, plan.replaces.iri))
        self.report.pages += len(parsed.pages)
        if plan.stored is None and not self._store.ask("ingest/has-document", document=plan.iri):
            self._commit(Changes(updates=self._clear_failures(plan), add=wanted))
            self.report.chunks.added += len(placed)
            return [_Task(document, chunk, parsed) for chunk in placed]
        return self._update_document(document, parsed, placed, wanted)

    def _clear_failures(self, plan: DocumentPlan) -> list[tuple[str, dict[str, Any]]]:
        """Reading failed under the document's name, or, before it was known, under its file's."""
        failed = {about for about, _ in self._failed_before}
        things = [node for node in (plan.iri, iris.document(plan.location)) if str(node) in failed]
        return [("ingest/clear-failures", {"things": things})] if things else []

    def _drop_failures_of_gone_files(self) -> None:
        """What could not be read and is no longer there is no failure any more."""
        known = {str(iri) for iri in self._by_location.values()}
        gone = [
            _node(row["about"])
            for (about, stage), row in self._failed_before.items()
            if stage == "read" and about not in known and not is_there(text_of(row["about"]))
        ]
        if gone:
            self._commit(Changes(updates=[("ingest/clear-failures", {"things": gone})]))

    def _update_document(
        self, document: Incoming, parsed: ParsedDocument, placed: list[PlacedChunk], wanted: list[Quad]
    ) -> list[_Task]:
        iri = document.plan.iri
        changes = Changes(updates=self._clear_failures(document.plan))
        old = self._document_quads(iri)
        changes.remove, changes.add = _document_changes(iri, old, wanted)
        stands = self._places(iri)
        now_here = {chunk.iri.value for chunk in placed}
        gone = [_node(quads[0].subject) for key, quads in stands.items() if key not in now_here]
        sentences = self._store.select("ingest/sentences-of", chunks=gone) if gone else []
        retract_chunks(self._store, gone, changes)
        fresh = [chunk for chunk in placed if chunk.iri.value not in stands]
        reused = [chunk for chunk in placed if chunk.iri.value in stands]
        for chunk in reused:
            _difference(stands[chunk.iri.value], list(_place_quads(iri, chunk)), changes)
        if reused and _context(old, iri) != _context(wanted, iri):
            changes.updates.append(("ingest/outdate-chunks", {"chunks": [chunk.iri for chunk in reused]}))
        if self._indexer is not None:
            self._indexer.removed([*gone, *(_node(row["sentence"]) for row in sentences)])
        self._commit(changes)
        self.report.chunks.added += len(fresh)
        self.report.chunks.reused += len(reused)
        self.report.chunks.removed += len(gone)
        retired = {text_of(row["chunk"]) for row in self._store.select("ingest/tombstones", document=iri)}
        return [
            *(_Task(document, chunk, parsed, retired=chunk.iri.value in retired) for chunk in fresh),
            *self._unfinished(document, parsed, reused),
        ]

    def _unfinished(
        self, document: Incoming, parsed: ParsedDocument, reused: list[PlacedChunk]
    ) -> Iterator[_Task]:
        """Chunks that stand already and still need this extractor, with the subgraphs it replaces: its own,
        the mention layer, what earlier versions of it found, and what has to be done anew anyway.
        """
        found: dict[str, dict[NamedNode, str | None]] = {}
        for row in self._store.select("ingest/chunk-extractors", document=document.plan.iri):
            key = text_of(row["extractor"]) if "extractor" in row else None
            found.setdefault(text_of(row["chunk"]), {})[_node(row["subgraph"])] = key
        family = _family(self._extractor.key)
        for chunk in reused:
            have = found.get(chunk.iri.value, {})
            if self._extractor.key in have.values() and not self._settings.refresh:
                continue
            replaced = [
                subgraph
                for subgraph, key in have.items()
                if key == MENTIONS_KEY
                or (not self._settings.mentions_only and (key is None or _family(key) == family))
            ]
            yield _Task(document, chunk, parsed, stored=True, replaces=sorted(replaced, key=str))

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
        plan, parsed = task.incoming.plan, task.parsed
        task.sentences = split_sentences(text, parsed.language)
        task.started = now()
        if self._settings.mentions_only:
            return Extracted(NOTHING)
        title = parsed.title
        if plan.replaces is not None and self._extractor.waits:
            title = plan.replaces.title  # what was asked before the file moved is not asked again
        return self._extractor(text, task.sentences, language=parsed.language, title=title)

    def _extract_here(self, tasks: Iterator[_Task]) -> None:
        for done, task in enumerate(tasks, start=1):
            try:
                outcome: Extracted | LlmError = self._extract(task)
            except LlmError as error:
                outcome = error
            self._write_chunk(task, outcome)
            self._tell(done, task)
            if self._stop():
                return

    def _extract_in_threads(self, tasks: Iterator[_Task]) -> None:
        """Extract with several calls at once; this thread alone writes.

        When the run has to end, calls that are under way are waited for and written: they are paid for.
        """
        jobs = self._settings.jobs
        running: dict[Future[Extracted], _Task] = {}
        ending: LlmError | _BudgetSpentError | None = None
        done = 0
        pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="extract")
        try:
            exhausted = False
            while True:
                if ending is not None or self._stop():
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
                    try:
                        self._write_chunk(task, _outcome(future))
                    except (LlmError, _BudgetSpentError) as error:
                        ending = ending or error
                    else:
                        done += 1
                        self._tell(done, task)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if ending is not None:
            raise ending

    def _tell(self, done: int, task: _Task) -> None:
        if self._progress is not None:
            self._progress(done, self.report.chunks.added, task.incoming.plan.name)

    def _judge(self, outcome: Extracted | LlmError) -> None:
        """End the run when no chunk can succeed any more; else the failure is that of a chunk.

        A server that never answered, or is gone for several calls in a row, is no failure of chunks.
        """
        if not isinstance(outcome, LlmError):
            self._answered, self._lost = True, 0
        elif outcome.kind == "budget":
            raise _BudgetSpentError(outcome.message) from outcome
        elif outcome.kind in _FATAL:
            raise outcome
        elif outcome.kind == "connection":
            self._lost += 1
            if not self._answered or self._lost >= _MOST_LOST:
                raise outcome
        elif outcome.kind != "timeout":
            self._answered, self._lost = True, 0

    def _write_chunk(self, task: _Task, outcome: Extracted | LlmError) -> None:
        """Write a chunk with its sentences, mentions and extraction: one transaction."""
        self._judge(outcome)
        placed, document = task.placed, task.incoming.plan.iri
        chunk = placed.iri
        changes = Changes()
        if isinstance(outcome, LlmError):
            self._chunk_failed(task, outcome, changes)
            if task.stored:  # what an earlier extraction found stays
                self._commit(changes)
                return
        if task.stored:
            changes.updates.append(("ingest/clear-sentences", {"chunks": [chunk]}))
            if (str(chunk), "extract") in self._failed_before and not self._settings.mentions_only:
                changes.updates.append(("ingest/clear-failures", {"things": [chunk]}))
            retract_subgraphs(self._store, task.replaces, changes)
        else:
            if task.retired:
                changes.updates.append(("ingest/retract-chunks", {"chunks": [chunk]}))
            changes.add += prov.chunk(chunk, document, placed.chunk.text)
            changes.add += _place_quads(document, placed)
        if not self._agents_written:
            self._agents_written = True
            changes.add += prov.agent(MENTIONS_COMPONENT, MENTIONS_KEY)
            changes.add += prov.agent(self._extractor.component, self._extractor.version)
        layer = self._mention_layer(task, outcome, changes)
        if not isinstance(outcome, LlmError) and not self._settings.mentions_only:
            self._write_extraction(task, outcome, layer, changes)
        changes.add += names.unsettled(self._names.take_contested())
        if self._indexer is not None:  # noted before: what is noted and not there does no harm
            if task.stored:
                rows = self._store.select("ingest/sentences-of", chunks=[chunk])
                self._indexer.removed(_node(row["sentence"]) for row in rows)
            self._indexer.changed(chunks=[chunk], entities=layer.entities)
        self._commit(changes)
        if self._indexer is not None:
            self._indexer.flush()

    def _mention_layer(self, task: _Task, outcome: Extracted | LlmError, changes: Changes) -> Written:
        """The names in the sentences: those that this extraction and others of the chunk know, and more."""
        chunk, text = task.placed.iri, task.placed.chunk.text
        parsed = task.parsed
        elsewhere: set[str] = set()
        if task.stored:
            # what an extractor named and said nothing about stands in the mention layer only
            without = [] if self._settings.mentions_only else task.replaces
            rows = self._store.select("ingest/names-in-chunk", chunk=chunk, without=without)
            elsewhere.update(text_of(row["name"]) for row in rows)
        found: Sequence[Mention] = ()
        known = set(elsewhere)
        if not isinstance(outcome, LlmError):
            found = outcome.extraction.mentions
            for entity in outcome.extraction.entities:
                known.update((entity.name, *entity.aliases))
        if elsewhere or not found:
            found = find_mentions(
                text, task.sentences, language=parsed.language, names=sorted(known), title=parsed.title
            )
        subgraph = iris.subgraph(chunk, MENTIONS_KEY)
        topics = topics_of(parsed.title, found, given=parsed.titled)
        named = with_companions(found, topics[0] if topics else None)
        layer, sentences = self._writer.mentions(chunk, subgraph, task.sentences, named, topics)
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

    def _chunk_failed(self, task: _Task, error: LlmError, changes: Changes) -> None:
        """Report the failure, and record it unless it is recorded already."""
        path, chunk = task.incoming.plan.name, task.placed.iri
        self.report.failures.append(FailureReport(path, chunk.value, "extract", error.message))
        self.report.warn("extraction_failed", f"{path}: {error.message}")
        known = self._failed_before.get((str(chunk), "extract"))
        if known is not None and to_python(known["reason"]) == error.message:
            return
        if known is not None:
            changes.updates.append(("ingest/clear-failures", {"things": [chunk]}))
        changes.add += prov.failure(chunk, "extract", error.message, now(), path)


class _BudgetSpentError(Exception):
    """The token or cost budget is used up: stop cleanly."""


def incoming(
    plans: Iterable[DocumentPlan | DocumentError], max_bytes: int
) -> Iterator[Incoming | DocumentError]:
    """Planned files as documents to ingest, none larger than `max_bytes`."""
    for plan in plans:
        if isinstance(plan, DocumentError):
            yield plan
        else:
            yield Incoming(plan, partial(read_bytes, plan.data, plan.name, max_bytes=max_bytes))


def _place_quads(document: NamedNode, placed: PlacedChunk) -> Iterator[Quad]:
    parents = [iris.page(document, page.number) for page in placed.pages] or [document]
    return prov.chunk_place(placed.iri, placed.chunk.index, placed.chunk.offset, parents)


def _difference(old: Sequence[Quad], new: Sequence[Quad], changes: Changes) -> None:
    before, after = set(old), set(new)
    changes.remove += [quad for quad in old if quad not in after]
    changes.add += [quad for quad in new if quad not in before]


def _document_changes(
    document: NamedNode, old: list[Quad], wanted: list[Quad]
) -> tuple[list[Quad], list[Quad]]:
    """What to take out and to put in, so that a document is described as wanted.

    Earlier versions stay; the one that was current is marked as superseded. A version that comes back (an
    edit that is undone) keeps the time at which it came first. So does what says which document was moved
    here.
    """
    current = next(quad.object for quad in wanted if quad.predicate == RAG.currentVersion)
    before = next((quad.object for quad in old if quad.predicate == RAG.currentVersion), None)
    versions = {quad.subject for quad in old if quad.predicate == PROV.specializationOf}
    kept = {PROV.wasRevisionOf, PROV.generatedAtTime}

    def stays(quad: Quad) -> bool:
        if quad.subject == current:
            return quad.predicate in kept
        return quad.subject in versions or (quad.subject == document and quad.predicate == DCTERMS.replaces)

    standing, target = set(old), set(wanted)
    remove = [quad for quad in old if quad not in target and not stays(quad)]
    add = [quad for quad in wanted if quad not in standing]
    if current in versions:
        add = [q for q in add if not (q.subject == current and q.predicate == PROV.generatedAtTime)]
    if isinstance(before, NamedNode) and before != current:
        add.append(prov.source(before, PROV.invalidatedAtTime, datetime_(now())))
        if isinstance(current, NamedNode) and current not in versions:
            add.append(prov.source(current, PROV.wasRevisionOf, before))
    return remove, add


def _context(quads: Iterable[Quad], document: NamedNode) -> set[tuple[NamedNode, Term]]:
    """What the extraction of a chunk depends on beside its text: title and language of its document."""
    return {
        (quad.predicate, quad.object)
        for quad in quads
        if quad.subject == document and quad.predicate in (DC.title, DCTERMS.language)
    }


def _family(key: str) -> str:
    """The kind of extractor: what newer versions, models and prompts replace."""
    return key.split("/", 1)[0]


def _outcome(future: Future[Extracted]) -> Extracted | LlmError:
    try:
        return future.result()
    except LlmError as error:
        return error


def _system(s: Term, p: NamedNode, o: Term) -> Quad:
    return Quad(s, p, o, Graphs.SYSTEM)  # type: ignore[arg-type]


def _node(term: Term) -> NamedNode:
    assert isinstance(term, NamedNode)  # noqa: S101
    return term
