"""What a run of the ingest is given, works on and reports to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.documents.context import NO_CONTEXT, Context
from graphrag_rdf.documents.model import ParsedDocument, Sentence
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.errors import DocumentError
from graphrag_rdf.extract.model import UNMARKED, Marked
from graphrag_rdf.extract.table_columns import TableReading
from graphrag_rdf.ingest.facts import FactSettings
from graphrag_rdf.ingest.plan import ChunkSettings, DocumentPlan, PlacedChunk
from graphrag_rdf.rdf.terms import now


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document to ingest, wherever it comes from.

    Attributes:
        plan: what it is to the store.
        parse: reads its text. Raises DocumentError.
    """

    plan: DocumentPlan
    parse: Callable[[], ParsedDocument]


def incoming(
    plans: Iterable[DocumentPlan | DocumentError], max_bytes: int
) -> Iterator[Incoming | DocumentError]:
    """Planned files as documents to ingest, none larger than `max_bytes`."""
    for plan in plans:
        if isinstance(plan, DocumentError):
            yield plan
        else:
            parse = partial(read_bytes, plan.data, plan.name, max_bytes=max_bytes, folder=plan.folder)
            yield Incoming(plan, parse)


@dataclass(slots=True)
class Task:
    """A chunk that waits for its extraction.

    Attributes:
        stored: the chunk itself is in the store already.
        retired: it is there as a tombstone.
        replaces: subgraphs that this extraction takes the place of.
        readings: how the tables of its document are read.
        context: what a model is shown of the document before the chunk.
        sentences, marked, started: known once its extraction has begun.
    """

    incoming: Incoming
    placed: PlacedChunk
    parsed: ParsedDocument
    stored: bool = False
    retired: bool = False
    replaces: list[NamedNode] = field(default_factory=list)
    readings: tuple[TableReading, ...] = ()
    context: Context = NO_CONTEXT
    sentences: tuple[Sentence, ...] = ()
    marked: Marked = UNMARKED
    started: datetime = field(default_factory=now)


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

    def written(self, chunk: NamedNode, sentences: Sequence[Sentence], entities: Iterable[NamedNode]) -> None:
        """Note a chunk that is written with these sentences and entities."""

    def removed(self, things: Iterable[NamedNode]) -> None:
        """Note chunks and sentences that were taken out."""

    def flush(self, *, final: bool = False) -> int:
        """Bring the indexes up to the store's newest commit; how many quads the store has more by links."""

    def recover(self) -> None:
        """Mend indexes that a run that was killed left behind the store."""


class Progress(Protocol):
    """Hears how far a run is."""

    def __call__(self, done: int, total: int, path: str) -> None:
        """`done` of `total` chunks known so far are finished; `path` is the document at hand."""


Stop: TypeAlias = Callable[[], bool]
"""Asked between chunks whether the run should end: what is in hand is finished, nothing more is begun."""
