"""What a run records: its commits, its failures, and the figures that `ingest --format json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.ingest.entity_decisions import read_groups
from graphrag_rdf.ingest.fact_decisions import read_withheld
from graphrag_rdf.ingest.plan import DocumentPlan, is_there, stored_documents
from graphrag_rdf.ingest.stages import model_stages
from graphrag_rdf.llm.budget import LlmUsage
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import datetime_, now
from graphrag_rdf.store.base import Changes, Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest.extractors import ChunkExtractor
    from graphrag_rdf.ingest.fact_decisions import Withheld
    from graphrag_rdf.ingest.indexing import StoreIndexer
    from graphrag_rdf.ingest.plan import IngestSettings
    from graphrag_rdf.ingest.resolutions import Groups
    from graphrag_rdf.store.blobs import BlobStore


@dataclass(frozen=True, slots=True)
class FailureReport:
    """One thing that failed while the rest went on.

    Attributes:
        path: the file.
        chunk: IRI of the chunk, None when the document as a whole failed.
        stage: read, extract, or that of a stage with a model (`ModelStage.failed_at`).
        reason: the cause, for people.
    """

    path: str
    chunk: str | None
    stage: str
    reason: str


@dataclass(slots=True)
class Documents:
    """How documents fared.

    Attributes:
        updated: their content is another than before.
        read_again: the content is the same, and chunks were made or read again.
    """

    added: int = 0
    updated: int = 0
    read_again: int = 0
    unchanged: int = 0
    moved: int = 0
    failed: int = 0
    forgotten: int = 0

    def count(self, plan: DocumentPlan, *, again: bool) -> None:
        """Count a document that was read.

        Args:
            again: whether chunks of it are extracted from.
        """
        stored = plan.stored
        if plan.replaces is not None:
            self.moved += 1
        elif stored is None:
            self.added += 1
        elif plan.is_new_content:
            self.updated += 1
        elif again:
            self.read_again += 1
        elif stored.location != plan.location:
            self.moved += 1
        else:
            self.unchanged += 1


@dataclass(slots=True)
class ChunkCounts:
    """How chunks fared."""

    added: int = 0
    reused: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class ValidationCounts:
    """What a validation with SHACL shapes found.

    Attributes:
        mode: reject or report.
        nodes: number of nodes that were validated; None if all were.
        violations, warnings: numbers of results; infos count as warnings.
        rejected: facts that were rejected.
        report: IRI of the kept report; None if none is kept.
    """

    mode: str
    nodes: int | None
    violations: int
    warnings: int
    rejected: int
    report: str | None


@dataclass(frozen=True, slots=True)
class ContradictionCounts:
    """What contradicts the ontologies since a run.

    Attributes:
        first: the first ones as `refresh inferences --format json` has them, with their premises.
    """

    count: int
    first: list[dict[str, Any]]


@dataclass(slots=True)
class IngestReport:
    """The outcome of an ingest.

    Attributes:
        facts: that the store did not have. A fact that several chunks state counts once.
        entities: entities new to the store.
        quads: quads written.
        rejected: numbers of rejected candidates, by reason.
        unread: number of sentences that state something of which no pattern of the rules reads anything.
        by_content: of the facts, those without a quote that is in the text word for word, which a sentence
            states in other words.
        unverified: of the facts, those that no sentence was found to state.
        stages: what the stages with a model that ran have to report, by name; see `ModelStage.result`.
        links: number of entities that were linked to vocabularies, if that is set.
        validation: what a validation with SHACL shapes found, if there was one.
        contradictions: with the ontologies, that new facts make; None without any, or if inferences are not
            kept.
        stopped: why the run ended early (`budget`, `interrupted`), None if it did not.
        missing: documents of these folders that are in the store but no longer on disk.
    """

    documents: Documents = field(default_factory=Documents)
    pages: int = 0
    chunks: ChunkCounts = field(default_factory=ChunkCounts)
    facts: int = 0
    entities: int = 0
    quads: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    unread: int = 0
    by_content: int = 0
    unverified: int = 0
    stages: dict[str, Any] = field(default_factory=dict)
    links: int | None = None
    validation: ValidationCounts | None = None
    contradictions: ContradictionCounts | None = None
    failures: list[FailureReport] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    warnings: list[dict[str, str]] = field(default_factory=list)
    llm: LlmUsage = field(default_factory=LlmUsage)
    stopped: str | None = None
    seconds: float = 0.0

    def warn(self, type: str, detail: str) -> None:  # noqa: A002 - the key of the JSON
        """Add a warning, once."""
        warning = {"type": type, "detail": detail}
        if warning not in reversed(self.warnings):  # as a rule it is that of the chunk before
            self.warnings.append(warning)

    def json_object(self) -> dict[str, Any]:
        """The keys of `ingest --format json`: each stage is one."""
        keys = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "stages"}
        results = {kind.stage.name: kind.unset for kind in model_stages()}
        return {**keys, **results, **self.stages}

    @classmethod
    def of_json(cls, keys: Mapping[str, Any]) -> IngestReport:
        """The report of a server."""
        from pydantic import TypeAdapter

        names = {each.name for each in fields(cls)}
        own = {name: value for name, value in keys.items() if name in names}
        stages = {name: keys[name] for name in keys.keys() - names if keys[name] not in (None, {})}
        return TypeAdapter(cls).validate_python({**own, "stages": stages})


Updates: TypeAlias = list[tuple[str, dict[str, Any]]]


class FailureRecords:
    """The failures that the store records, as they were when the run began."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = {(str(row["about"]), str(row["stage"])): row for row in store.select("ingest/failures")}

    def record(self, about: NamedNode, stage: str, reason: str, path: str, changes: Changes) -> None:
        """Record a failure, unless it is recorded already."""
        known = self._known.get((str(about), stage))
        if known is not None and known["reason"] == reason:
            return
        if known is not None:
            changes.updates += _clear([about])
        changes.add += prov.failure(about, stage, reason, now(), path)

    def of_document(self, plan: DocumentPlan) -> Updates:
        """The updates that remove the failure of a document, under its IRI or its file's."""
        failed = {about for about, _ in self._known}
        return _clear([node for node in (plan.iri, iris.document(plan.location)) if str(node) in failed])

    def of_chunk(self, chunk: NamedNode) -> Updates:
        """The updates that remove the failure of a chunk."""
        return _clear([chunk] if (str(chunk), "extract") in self._known else [])

    def of_gone_files(self) -> Updates:
        """The updates that remove failures of files that no longer exist and never became a document."""
        gone = [
            row["about"]
            for (_, stage), row in self._known.items()
            if stage == "read" and not is_there(row["about"].value)
        ]
        documents = stored_documents(self._store, gone)
        return _clear([about for about in gone if about.value not in documents])


def _clear(things: list[NamedNode]) -> Updates:
    return [("ingest/clear-failures", {"things": things})] if things else []


_MARKS = frozenset((RAG.uncounted, RAG.undrawn, RAG.undrawnWith, RAG.unlinked, RAG.unvalidated))
"""Marks of what is still to do, which go by the end of the run."""


class Journal:
    """Commits the changes of a run. A run that changes nothing is not recorded.

    Attributes:
        quads: how many were put in, less those taken out. The store is not counted: that reads all of it.

    Args:
        extractor: the extractor's key.
        version: of the settings kept in the store.
    """

    def __init__(self, store: Store, extractor: str, version: NamedNode | None) -> None:
        self._store = store
        self._run = iris.ingest_run(iris.new_uuid())
        self._says: list[tuple[NamedNode, NamedNode | Literal]] = [
            (RDF.type, RAG.IngestRun),
            (RAG.extractor, Literal(extractor)),
        ]
        if version is not None:
            self._says.append((RAG.settings, version))
        self._started: Literal | None = None
        self._newest = store.content_commit()
        self.quads = 0
        self._others = 0

    def others(self) -> int:
        """How often another client of a server was seen to have changed the content between two chunks; 0 if
        none has."""
        newest = self._store.content_commit()
        if newest != self._newest:
            self._newest = newest
            self._others += 1
        return self._others

    def commit(self, changes: Changes) -> None:
        """Commit, if there is anything to."""
        if not changes:
            return
        self.others()  # before our own commit hides it
        if self._started is None:
            self._started = datetime_(now())
            changes.add += self._of_run()
        self._store.commit(changes)
        self._newest = self._store.content_commit()
        kept = sum(quad.predicate not in _MARKS for quad in changes.add)
        self.quads += kept - len(changes.remove)

    def end(self) -> None:
        """Record the end of the run if it began, or if an earlier one was stopped, which is settled now."""
        if self._started is None and self._store.select("checks/runs-finished", limit=1):
            self._started = datetime_(now())
        if self._started is not None:
            ended = Quad(self._run, PROV.endedAtTime, datetime_(now()), Graphs.SYSTEM)
            self._store.commit(Changes(add=[*self._of_run(), ended]))  # DROP ALL may have taken the beginning

    def _of_run(self) -> list[Quad]:
        says = [*self._says, (PROV.startedAtTime, self._started)]
        return [Quad(self._run, p, o, Graphs.SYSTEM) for p, o in says if o is not None]


@dataclass(slots=True)
class Run:
    """What the writers of documents and chunks share in a run.

    Attributes:
        blobs, store, indexer: where they write, in this order.
        extractor: what finds facts.
    """

    store: Store
    blobs: BlobStore
    extractor: ChunkExtractor
    indexer: StoreIndexer
    settings: IngestSettings
    journal: Journal
    failures: FailureRecords
    report: IngestReport = field(default_factory=IngestReport)
    _decisions: tuple[int, Groups, Withheld] | None = None

    def decisions(self) -> tuple[Groups, Withheld]:
        """Which entities are one, and which facts are withheld. They are read once, and again if another
        client has changed the store meanwhile: reading thousands of them takes longer than a document.
        """
        others = self.journal.others()
        if self._decisions is None or self._decisions[0] != others:
            self._decisions = others, read_groups(self.store), read_withheld(self.store)
        return self._decisions[1:]
