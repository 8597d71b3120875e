"""One run of the ingest: documents in, facts with provenance out.

The store is the journal. A chunk is done when it has a subgraph of the extractor's key; a document is
done when all its chunks are. Each chunk with its sentences, mentions and facts is one transaction, so a run
that is killed leaves whole chunks and the next one continues there; a run that finds nothing to do writes
nothing.

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
from dataclasses import replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.documents.discover import Source, location_of
from graphrag_rdf.documents.model import in_spans
from graphrag_rdf.documents.tables import sentences_in
from graphrag_rdf.errors import DocumentError, LlmError
from graphrag_rdf.extract.answers import without_headings
from graphrag_rdf.extract.model import NOTHING, Mention, Passage, other_names
from graphrag_rdf.extract.name_filter import filter_mentions, topics_of, with_derived_names
from graphrag_rdf.extract.speakers import with_speakers
from graphrag_rdf.extract.table_rows import context_of, find_names, split_by_rows
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.document_writer import MENTIONS_KEY, DocumentWriter, place_quads
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.extractors import ChunkExtractor, Extracted
from graphrag_rdf.ingest.facts import ChunkText, FactWriter, Fit, Written, literal_of
from graphrag_rdf.ingest.indexing import StoreIndexer
from graphrag_rdf.ingest.names import KnownNames, undrawn_pairs, unlinked, unsettled
from graphrag_rdf.ingest.plan import DocumentPlan, Incoming, IngestSettings, Planner, Task, documents_at
from graphrag_rdf.ingest.report import FailureRecords, FailureReport, IngestReport, Journal, Run
from graphrag_rdf.ingest.retract import retract_subgraphs
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
from graphrag_rdf.ingest.workers import Workers, begun_ahead, extract_by_rules
from graphrag_rdf.rdf import iris, prompts, prov
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.blobs import BlobStore

if TYPE_CHECKING:
    from graphrag_rdf.llm.model import Completion

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
        workers: read documents and apply rules; None: this process does.

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
        workers: Workers | None = None,
    ) -> None:
        journal = Journal(store, extractor.key, settings.version)
        self._run = run = Run(store, blobs, extractor, indexer, settings, journal, FailureRecords(store))
        self._progress = progress
        self._workers = workers
        self._stop = stop or (lambda: False)
        self._done = self._linked = self._alone = 0
        self._expected = self._passed = self._tasks_known = 0
        self.refreshed: list[NamedNode] = []
        self.written: list[NamedNode] = []
        self.read_by_model: set[NamedNode] = set()
        self.report = run.report
        self._documents, self._chunks = DocumentWriter(run), ChunkWriter(run)

    def planner(self, max_bytes: int, sources: Sequence[Source]) -> Planner:
        """Plans what to do for each of these sources, from the store as it is now."""
        run = self._run
        key, namespace = run.settings.chunks.key, run.settings.facts.namespace
        return Planner(run.store, run.extractor.key, key, max_bytes, sources, namespace)

    def run(self, documents: Iterable[Incoming | DocumentError], *, expected: int = 0) -> IngestReport:
        """Ingest documents. Failures are reported, and the run continues with the rest.

        Args:
            documents: in order; an error for each that cannot be read.
            expected: the number of documents, from which the progress estimates the number of chunks.

        Raises:
            LlmError: when the model cannot be used at all (unknown, out of reach, or the key is refused);
                results until then are kept.
            StoreError: when the store or the blob store refuses a write.
        """
        begun = time.perf_counter()
        self._expected = expected
        try:
            self._run.indexer.recover()
            waits = self._run.extractor.waits and not self._run.settings.mentions_only
            jobs = self._run.settings.jobs if waits else 1
            if self._workers is not None:
                documents = begun_ahead(documents, self._read_ahead, self._workers.ahead)
            groups = self._grouped(self._tasks(documents))
            if self._workers is not None:
                groups = begun_ahead(groups, self._extract_ahead, self._workers.ahead)
            Schedule(self._extract, self._write, self._stop).run(groups, jobs)
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
            if self._alone:
                self.report.warn("asked_alone", tr(_ALONE).format(count=self._alone))
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
            self._passed += 1
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
            self._tasks_known += len(tasks)
            if plan.is_new_content:
                self.written.append(plan.iri)
            yield from tasks

    def _read_ahead(self, document: Incoming | DocumentError) -> Incoming | DocumentError:
        """Have a worker read a document, if it may have to be read."""
        if self._workers is None or isinstance(document, DocumentError):
            return document
        if document.plan.fate == "unchanged" and not self._run.settings.refresh:
            return document
        return replace(document, parse=self._workers.submit(document.parse))

    def _extract_ahead(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Have a worker apply rules to chunks."""
        settings = self._run.extractor.portable
        for task in tasks if settings and self._workers else ():
            passage = attempt(partial(self._passage, task))
            if isinstance(passage, Passage) and self._workers is not None:
                chunk = (settings, passage.text, task.sentences, passage.described)
                task.answer = self._workers.submit(extract_by_rules, *chunk)
        return tasks

    def _read(self, document: Incoming) -> list[Task]:
        tasks = attempt(lambda: self._documents.write(document, document.parse()))
        if isinstance(tasks, UnexpectedError):
            self.report.warn("unexpected_error", tr(ADVICE))
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

    def _grouped(self, tasks: Iterator[Task]) -> Iterator[Sequence[Task]]:
        """Chunks that a model is asked about in one call."""
        together = self._run.extractor.together
        if together is None or self._run.settings.mentions_only:
            return ((task,) for task in tasks)
        return together.grouped(tasks, lambda task: (task.placed.chunk.text, task.parsed.language))

    def _extract(self, tasks: Sequence[Task]) -> list[Extracted | Failure]:
        extractor = self._run.extractor
        passages = [attempt(partial(self._passage, task)) for task in tasks]
        if self._run.settings.mentions_only and extractor.waits:
            # no model is asked; the names that it gave are in the store
            return [each if isinstance(each, UnexpectedError) else Extracted(NOTHING) for each in passages]
        sound = [each for each in passages if isinstance(each, Passage)]
        given: list[dict[str, Completion | None]] = [{} for _ in sound]
        if extractor.together is not None and len(sound) > 1:
            given = [{"given": answer} for answer in extractor.together.ask(sound)]
        outcomes = iter(given)
        return [
            each if isinstance(each, UnexpectedError) else self._outcome(task, each, **next(outcomes))
            for task, each in zip(tasks, passages, strict=True)
        ]

    def _passage(self, task: Task) -> Passage:
        plan, parsed, chunk = task.incoming.plan, task.parsed, task.placed.chunk
        task.sentences = sentences_in(parsed, chunk)
        task.chunk_context = context_of(parsed, chunk, task.readings, task.context)
        task.started = now()
        title = parsed.title
        if plan.replaces is not None and self._run.extractor.waits:
            title = plan.replaces.title  # the answer to that prompt is in the cache
        return Passage(chunk.text, parsed.language, title, task.chunk_context)

    def _outcome(self, task: Task, passage: Passage, **given: Completion | None) -> Extracted | Failure:
        """What one chunk gave, or why it failed; the others of its call stand.

        Args:
            given: as `given` what a call about several chunks answered about it, None if nothing.
        """
        extract = task.answer or partial(
            self._run.extractor.extract, passage.text, task.sentences, **passage.described, **given
        )
        try:
            found = attempt(extract)
        except LlmError as error:
            return error
        alone = "given" in given and given["given"] is None
        return replace(found, asked_alone=alone) if isinstance(found, Extracted) else found

    def _write(self, task: Task, outcome: Extracted | Failure) -> None:
        self._chunks.write(task, outcome)
        if isinstance(outcome, Extracted) and outcome.asked_alone:
            self._alone += 1
        if self._run.extractor.waits and isinstance(outcome, Extracted):
            self.read_by_model.add(task.incoming.plan.iri)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total(), task.incoming.plan.name)

    def _total(self) -> int:
        """The chunks of the documents so far, and an estimate for the others: as many each on average."""
        return ceil(self._tasks_known * max(1.0, self._expected / self._passed))


_GONE = later("another client removed or changed its document meanwhile. Ingest it again")
_ALONE = later(
    "{count} chunks were asked about a second time, alone: the model's answer about several lacked them. "
    "If this goes on, lower extract.call_chunks"
)
MENTIONS_COMPONENT = "graphrag-rdf-mentions"
_PROBLEMS = {
    "no_column_names": later(
        "the first row of the table does not name its columns, so its rows give no facts"
    ),
    "no_key_column": later(
        "no column of the table has a different name in each row, so its rows give no facts"
    ),
}


class ChunkWriter:
    """Writes chunks with what an extractor found in them, or why it found nothing."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._mentions_only = run.settings.mentions_only
        self._others = 0
        self._begin()

    def _begin(self) -> None:
        """Read names and decisions from the store as it is now."""
        self._names = KnownNames(self._run.store)
        self._writer = FactWriter(self._names, self._run.settings.facts, *self._run.decisions())
        self._agents_written = self._prompt_written = False

    def write(self, task: Task, outcome: Extracted | Failure) -> None:
        """Write a chunk with its sentences, mentions and extraction, in one transaction.

        If another client has changed the store meanwhile, only if its document is still there.
        """
        if (others := self._run.journal.others()) and not self._stands(task, others):
            return
        if isinstance(outcome, Extracted):
            written = attempt(partial(self._write_found, task, outcome))
            if isinstance(written, UnexpectedError):
                self._begin()  # names that were noted have not been written
                outcome = written
        if isinstance(outcome, Failure):
            self._write_failed(task, outcome)
        self._run.indexer.flush()

    def _write_found(self, task: Task, extracted: Extracted) -> None:
        changes = self._chunk(task)
        fit = self._storable(task, extracted)
        layer = self._mention_layer(task, extracted, fit, changes)
        written = [layer]
        if not self._mentions_only:
            written.append(self._extraction(task, extracted, fit, layer, changes))
        facts = sum(each.new_facts(self._run.store) for each in written)
        self._commit(task, changes, set[NamedNode]().union(*(each.entities for each in written)))
        self._run.report.facts += facts
        self._run.report.unread += extracted.extraction.unread
        self._count(*written)

    def _write_failed(self, task: Task, error: Failure) -> None:
        """Write why the extraction failed. A new chunk is written too, if possible with its names."""
        if task.stored:  # the result of an earlier extraction stays
            changes = Changes()
            self._failed(task, error, changes)
            self._run.journal.commit(changes)
            return
        named = attempt(partial(self._write_names, task, error))
        if isinstance(named, UnexpectedError):
            self._begin()
            changes = self._chunk(task)
            self._failed(task, error, changes)
            self._commit(task, changes, set())

    def _write_names(self, task: Task, error: Failure) -> None:
        changes = self._chunk(task)
        self._failed(task, error, changes)
        layer = self._mention_layer(task, None, None, changes)
        self._commit(task, changes, layer.entities)
        self._count(layer)

    def _count(self, *written: Written) -> None:
        for each in written:
            self._run.report.by_content += each.by_content
            self._run.report.unverified += each.unverified
            self._run.report.entities += len(each.new_entities)
            for left_out in each.rejected:
                reason = left_out.reason
                self._run.report.rejected[reason] = self._run.report.rejected.get(reason, 0) + 1

    def _chunk(self, task: Task) -> Changes:
        """The changes for the chunk itself, without its old sentences and extractions."""
        placed, document = task.placed, task.incoming.plan.iri
        chunk, changes = placed.iri, Changes()
        if task.stored:
            changes.updates.append(("links/drop", {"chunks": [chunk]}))
            changes.updates.append(("ingest/clear-sentences", {"chunks": [chunk]}))
            changes.add += undrawn_pairs(self._run.store, [chunk])
            if not self._mentions_only:
                changes.updates += self._run.failures.of_chunk(chunk)
            retract_subgraphs(self._run.store, task.replaces, changes)
        else:
            if task.retired:
                changes.updates.append(("ingest/retract-chunks", {"chunks": [chunk]}))
            changes.add += prov.chunk(chunk, document, placed.chunk.text)
            changes.add += place_quads(document, placed)
        if not self._agents_written:
            changes.add += prov.agent(MENTIONS_COMPONENT, MENTIONS_KEY)
            changes.add += prov.agent(self._run.extractor.component, self._run.extractor.version)
        return changes

    def _commit(self, task: Task, changes: Changes, entities: set[NamedNode]) -> None:
        chunk = task.placed.iri
        changes.add += unsettled(self._names.take_contested())
        changes.add += unlinked([chunk])
        if task.stored:  # noted before the commit: a note without a chunk does no harm
            rows = self._run.store.select("ingest/sentences-of", chunks=[chunk])
            self._run.indexer.removed(row["sentence"] for row in rows)
        self._run.indexer.written(chunk, task.sentences, entities)
        self._run.journal.commit(changes)
        self._agents_written = True

    def _stands(self, task: Task, others: int) -> bool:
        if others != self._others:
            self._others = others
            self._begin()
        plan = task.incoming.plan
        stands = self._run.store.ask("ingest/document-stands", document=plan.iri, hash=plan.content_hash)
        if not stands:
            self._run.report.failures.append(
                FailureReport(plan.name, task.placed.iri.value, "write", tr(_GONE))
            )
        return stands

    def _storable(self, task: Task, extracted: Extracted) -> Fit:
        """What may become facts. A value whose datatype the store does not take becomes a plain text."""
        fit = self._writer.fit(without_headings(extracted.extraction, task.parsed, task.placed.chunk))
        refused = self._run.store.refused(filter(None, map(literal_of, fit.relations)))
        if not refused:
            return fit
        for literal in sorted(refused, key=str):
            path = task.incoming.plan.name
            self._run.report.warn(
                "literal_as_text",
                tr("{path}: the store cannot hold {literal}, so it is kept as a plain text").format(
                    path=path, literal=literal
                ),
            )
        relations = [
            replace(each, datatype=None) if literal_of(each) in refused else each for each in fit.relations
        ]
        return replace(fit, relations=relations)

    def _mention_layer(
        self, task: Task, extracted: Extracted | None, fit: Fit | None, changes: Changes
    ) -> Written:
        """The names in the sentences, with those that extractions of the chunk gave."""
        chunk, text = task.placed.iri, task.placed.chunk.text
        parsed = task.parsed
        elsewhere: set[str] = set()
        if task.stored:
            without = task.replaces
            if self._mentions_only:  # entities without statements are in the mention layer only
                key, context = self._run.extractor.key, task.context.hash
                without = [] if self._run.extractor.waits else [*without, iris.subgraph(chunk, key, context)]
            rows = self._run.store.select("ingest/names-in-chunk", chunk=chunk, without=without)
            elsewhere.update(row["name"] for row in rows)
        found: Sequence[Mention] = ()
        known = set(elsewhere)
        if extracted is not None:
            found = extracted.extraction.mentions
            for entity in extracted.extraction.entities:
                known.update((entity.name, *entity.aliases))
        in_tables = task.chunk_context.rows
        labels = [mention for mention in found if mention.term]
        if (elsewhere or not found) and self._run.extractor.names:
            found = find_names(
                text,
                task.sentences,
                in_tables,
                language=parsed.language,
                names=sorted(known),
                title=parsed.title,
            )
            spans = [row.part.span for row in in_tables]
            found = filter_mentions(
                found,
                text,
                [sentence for sentence in task.sentences if not in_spans(spans, sentence.offset)],
                language=parsed.language,
                title=parsed.title,
                certain=known,
                turns=task.chunk_context.turns,
            )
            found = with_speakers(found, text, task.chunk_context.turns, parsed.language)
        if extracted is not None and (called := other_names(extracted.extraction.entities)):
            found = [replace(mention, name=called.get(mention.name, mention.name)) for mention in found]
            found = (*found, *labels)
        subgraph = iris.subgraph(chunk, MENTIONS_KEY)
        in_rows, in_prose = split_by_rows(found, in_tables)
        # rows are not about the first name in them, and a word of one row is not short for a name in another
        about = in_prose if in_tables and not parsed.titled else found
        topics = topics_of(parsed.title, about, titled=parsed.titled) if self._run.extractor.names else ()
        topic = topics[0] if topics else None
        named = (*with_derived_names(in_prose, topic, parsed.language), *in_rows)
        layer, sentences = self._writer.mentions(
            chunk, subgraph, task.sentences, named, topics, fit, language=parsed.language
        )
        changes.add += prov.mention_subgraph(subgraph, chunk, MENTIONS_COMPONENT, MENTIONS_KEY)
        changes.add += sentences
        changes.add += _row_quads(task)
        changes.add += layer.quads
        return layer

    def _extraction(
        self, task: Task, extracted: Extracted, fit: Fit, layer: Written, changes: Changes
    ) -> Written:
        chunk, asks = task.placed.iri, self._run.extractor.asks
        if asks is not None and not self._prompt_written:  # with its use: unused prompts are removed
            self._prompt_written = True
            changes.add += prompts.prompt(asks.hash, asks.tuned_by)
        details = prov.ExtractionFacts(
            chunk=chunk,
            component=self._run.extractor.component,
            extractor=self._run.extractor.key,
            started=task.started,
            model=self._run.extractor.model,
            asks=asks.hash if asks else None,
            prompt_hash=extracted.prompt_hash,
            in_tokens=extracted.in_tokens,
            out_tokens=extracted.out_tokens,
            parts=extracted.extraction.parts,
            context=task.context.hash,
            cached_in_tokens=extracted.cached_in_tokens,
        )
        changes.add += prov.extraction(details)
        subgraph = iris.subgraph(chunk, self._run.extractor.key, task.context.hash)
        parsed = task.parsed
        text = ChunkText(chunk, task.placed.chunk.text, task.sentences, parsed.title, parsed.language)
        written = self._writer.extraction(subgraph, text, fit, layer.named)
        changes.add += written.quads
        if self._run.settings.marked:
            changes.add += prov.unvalidated([subgraph])
        path = task.incoming.plan.name
        if extracted.extraction.language_warning:
            warning = f"{path}: {extracted.extraction.language_warning}"
            self._run.report.warn("language_without_tagger", warning)
        for row in task.chunk_context.rows if not self._run.extractor.waits else ():
            if row.reading.problem:
                self._run.report.warn("table_without_facts", f"{path}: {tr(_PROBLEMS[row.reading.problem])}")
        return written

    def _failed(self, task: Task, error: Failure, changes: Changes) -> None:
        """Report the failure, and record it unless it is recorded already."""
        path, chunk = task.incoming.plan.name, task.placed.iri
        failure = FailureReport(path, chunk.value, "extract", error.message)
        if failure not in self._run.report.failures:  # a second attempt reports it again
            self._run.report.failures.append(failure)
            log.info("%s: %s", path, error.message, exc_info=error.__cause__)
        if isinstance(error, UnexpectedError):
            self._run.report.warn("unexpected_error", tr(ADVICE))
        else:
            self._run.report.warn("extraction_failed", f"{path}: {error.message}")
        if not self._mentions_only:  # a later ingest would not try it again
            self._run.failures.record(chunk, "extract", error.message, path, changes)


def _row_quads(task: Task) -> Iterator[Quad]:
    """Which sentences are rows, and of which tables."""
    numbers = {sentence.offset: sentence.index for sentence in task.sentences}
    for row in task.chunk_context.rows:
        if row.reading.table.names and row.part.offset in numbers:
            node = iris.sentence(task.placed.iri, numbers[row.part.offset])
            yield prov.source(node, RAG.rowOf, iris.table(task.incoming.plan.iri, row.reading.signature))
