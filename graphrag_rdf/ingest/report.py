"""What an ingest did: the numbers that `ingest --format json` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FailureReport:
    """One thing that failed while the rest went on.

    Attributes:
        path: the file.
        chunk: IRI of the chunk, None when the document as a whole failed.
        stage: read, extract, write or index.
        reason: the cause, for people.
    """

    path: str
    chunk: str | None
    stage: str
    reason: str


@dataclass(slots=True)
class Documents:
    """How documents fared."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    moved: int = 0
    failed: int = 0
    forgotten: int = 0


@dataclass(slots=True)
class ChunkCounts:
    """How chunks fared."""

    added: int = 0
    reused: int = 0
    removed: int = 0


@dataclass(slots=True)
class LlmCounts:
    """Calls and tokens; tokens and cost are None when the model did not say."""

    calls: int = 0
    cached: int = 0
    in_tokens: int | None = None
    out_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(slots=True)
class IngestReport:
    """The outcome of an ingest.

    Attributes:
        facts: relations and definitions found in new extractions.
        entities: entities new to the store.
        quads: quads written.
        rejected: candidates that extractors gave and that were not taken, by reason.
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
    failures: list[FailureReport] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    warnings: list[dict[str, str]] = field(default_factory=list)
    llm: LlmCounts = field(default_factory=LlmCounts)
    stopped: str | None = None
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)

    def warn(self, kind: str, detail: str) -> None:
        """Add a warning, once."""
        warning = {"type": kind, "detail": detail}
        if warning not in self.warnings:
            self.warnings.append(warning)
