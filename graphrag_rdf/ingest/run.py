"""One run of the ingest: documents in, facts with provenance out.

The store is the journal. A chunk is done when it has a subgraph of the extractor's key; a document is
done when all its chunks are. Each chunk is one transaction, so a run that is killed leaves whole chunks
and the next one goes on where it stopped; a run that finds nothing to do writes nothing.

The facts of a chunk depend on its text, on the title and language of its document, and on how the columns
of its tables are read. If one of these changes, all chunks of the document are read again; their facts stay
until they are replaced. A model also sees the headings and the last sentences before the chunk: if these
change, it reads the chunk again.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator, Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.documents.discover import Source, location_of
from graphrag_rdf.documents.tables import sentences_in
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.extract.model import NOTHING
from graphrag_rdf.extract.table_rows import context_of
from graphrag_rdf.ingest.chunk_writer import ChunkWriter
from graphrag_rdf.ingest.document_writer import DocumentWriter
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.extractors import ChunkExtractor, Extracted
from graphrag_rdf.ingest.indexing import StoreIndexer
from graphrag_rdf.ingest.plan import DocumentPlan, Incoming, IngestSettings, Planner, Task, documents_at
from graphrag_rdf.ingest.report import FailureRecords, FailureReport, IngestReport, Journal, Run
from graphrag_rdf.ingest.schedule import (
    ADVICE,
    BudgetSpentError,
    Failure,
    Progress,
    Schedule,
    Stop,
    UnexpectedError,
    attempt,
)
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.blobs import BlobStore

log = logging.getLogger(__name__)


class Ingest:
    """One run of the ingest.

    Args:
        store, blobs: where to write, in the order blob store, store, index.
        extractor: what finds facts.
        indexer: keeps search indexes in step.
        settings: see `IngestSettings`.
        progress: called after each chunk.
        stop: see `Stop`.

    Attributes:
        refreshed: documents that were extracted again.
        written: documents that are new, or have other content than before.
        read_by_model: documents of which a model read a chunk.
        report: what the run did.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        extractor: ChunkExtractor,
        indexer: StoreIndexer,
        settings: IngestSettings,
        progress: Progress | None,
        stop: Stop | None,
    ) -> None:
        journal = Journal(store, extractor.key, settings.version)
        self._run = run = Run(store, blobs, extractor, indexer, settings, journal, FailureRecords(store))
        self._progress = progress
        self._stop = stop or (lambda: False)
        self._done = self._linked = 0
        self.refreshed: list[NamedNode] = []
        self.written: list[NamedNode] = []
        self.read_by_model: set[NamedNode] = set()
        self.report = run.report
        self._documents, self._chunks = DocumentWriter(run), ChunkWriter(run)

    def planner(self, max_bytes: int, sources: Sequence[Source]) -> Planner:
        """Plans what to do for each of these sources, from the store as it is now."""
        run = self._run
        return Planner(run.store, run.extractor.key, run.settings.chunks.key, max_bytes, sources)

    def run(self, documents: Iterable[Incoming | DocumentError]) -> IngestReport:
        """Ingest documents. Failures are reported, and the run continues with the rest.

        Args:
            documents: in order; an error for each that cannot be read.

        Raises:
            LlmError: when the model cannot be used at all (unknown, out of reach, or the key is refused);
                results until then are kept.
            StoreError: when the store or the blob store refuses a write.
        """
        begun = time.perf_counter()
        try:
            self._run.indexer.recover()
            waits = self._run.extractor.waits and not self._run.settings.mentions_only
            jobs = self._run.settings.jobs if waits else 1
            Schedule(self._extract, self._write, self._stop).run(self._tasks(documents), jobs)
            if self._stop():
                self.report.stopped = "interrupted"
            else:
                gone = self._run.failures.of_gone_files()
                self._run.journal.commit(Changes(updates=gone))
        except KeyboardInterrupt:
            self.report.stopped = "interrupted"
        except BudgetSpentError as spent:
            self.report.stopped = "budget"
            self.report.warn("budget_spent", str(spent))
        finally:
            self._finish()
            self.report.quads = self._run.journal.quads + self._linked
            self.report.seconds = round(time.perf_counter() - begun, 3)
        return self.report

    def _finish(self) -> None:
        self._run.indexer.changed(entities=settle(self._run.store))
        self._run.journal.end()
        self._linked = self._run.indexer.flush(final=True)

    def _tasks(self, documents: Iterable[Incoming | DocumentError]) -> Iterator[Task]:
        counts = self.report.documents
        for document in documents:
            if self._stop():
                return
            if isinstance(document, DocumentError):
                self._document_failed(document)
                continue
            plan = document.plan
            if self._is_done(plan):
                counts.unchanged += 1
                self.report.chunks.reused += plan.stored.chunks if plan.stored else 0
                cleared = self._run.failures.of_document(plan)  # of a file that was broken meanwhile
                self._run.journal.commit(Changes(updates=cleared))
                continue
            try:
                tasks = self._read(document)
            except DocumentError as error:
                self._document_failed(error, here=plan.is_here)
                continue
            if self._run.settings.refresh and not self._run.settings.mentions_only:
                self.refreshed.append(plan.iri)
            counts.count(plan, again=bool(tasks))
            if plan.is_new_content:
                self.written.append(plan.iri)
            yield from tasks

    def _read(self, document: Incoming) -> list[Task]:
        tasks = attempt(lambda: self._documents.write(document, document.parse()))
        if isinstance(tasks, UnexpectedError):
            self.report.warn("unexpected_error", ADVICE)
            raise DocumentError(document.plan.name, tasks.message) from tasks.__cause__
        return tasks

    def _is_done(self, plan: DocumentPlan) -> bool:
        """Whether nothing is left to do for a document."""
        unchanged = plan.fate == "unchanged" and not self._run.settings.refresh
        return unchanged and self._still_stands(plan) and self._is_kept(plan)

    def _still_stands(self, plan: DocumentPlan) -> bool:
        """Whether a document is as it was when it was planned. Checked if another client wrote meanwhile."""
        return not self._run.journal.others() or self._run.store.ask(
            "ingest/document-stands", document=plan.iri, hash=plan.content_hash
        )

    def _is_kept(self, plan: DocumentPlan) -> bool:
        """Whether the blob store has the bytes and the text of a document, undamaged."""
        objects = plan.stored.objects if plan.stored else ()
        return all(self._run.blobs.get(each) is not None for each in objects)

    def _document_failed(self, error: DocumentError, *, here: bool = True) -> None:
        """Report the failure, and record it once: of the document, or of the file if there is none yet.

        Args:
            here: whether its path is one of this computer, not the name of an upload.
        """
        log.info("%s", error, exc_info=error.__cause__)
        self.report.documents.failed += 1
        self.report.failures.append(FailureReport(error.path, None, "read", error.reason))
        if not here or not os.path.lexists(error.path):  # another run would find no file either
            return
        location = location_of(error.path)
        about = documents_at(self._run.store, [location]).get(location) or iris.document(location)
        changes = Changes()
        self._run.failures.record(about, "read", error.reason, error.path, changes)
        self._run.journal.commit(changes)

    def _extract(self, task: Task) -> Extracted:
        chunk = task.placed.chunk
        plan, parsed = task.incoming.plan, task.parsed
        task.sentences = sentences_in(parsed, chunk)
        task.chunk_context = context_of(parsed, chunk, task.readings, task.context)
        task.started = now()
        if self._run.settings.mentions_only:
            return Extracted(NOTHING)
        title = parsed.title
        if plan.replaces is not None and self._run.extractor.waits:
            title = plan.replaces.title  # the answer to that prompt is in the cache
        return self._run.extractor(
            chunk.text, task.sentences, language=parsed.language, title=title, context=task.chunk_context
        )

    def _write(self, task: Task, outcome: Extracted | Failure) -> None:
        self._chunks.write(task, outcome)
        if self._run.extractor.waits and isinstance(outcome, Extracted):
            self.read_by_model.add(task.incoming.plan.iri)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self.report.chunks.added, task.incoming.plan.name)
