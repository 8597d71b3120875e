"""What an ingest did: the numbers that `ingest --format json` prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from graphrag_rdf.llm.budget import LlmUsage

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class FailureReport:
    """One thing that failed while the rest went on.

    Attributes:
        path: the file.
        chunk: IRI of the chunk, None when the document as a whole failed.
        stage: read, extract or relations.
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
        read_again: it is the same, and passages of it were cut or read anew.
    """

    added: int = 0
    updated: int = 0
    read_again: int = 0
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
    cached_in_tokens: int | None = None


def since(before: LlmUsage, now: LlmUsage) -> LlmCounts:
    """What was used between two looks."""
    return LlmCounts(
        calls=now.calls - before.calls,
        cached=now.cached - before.cached,
        in_tokens=_less(now.in_tokens, before.in_tokens),
        out_tokens=_less(now.out_tokens, before.out_tokens),
        cost_usd=_less(now.cost_usd, before.cost_usd),
        cached_in_tokens=_less(now.cached_in_tokens, before.cached_in_tokens),
    )


def _less(now: N | None, before: N | None) -> N | None:
    return None if now is None else now if before is None else now - before


@dataclass(slots=True)
class IngestReport:
    """The outcome of an ingest.

    Attributes:
        facts: relations and definitions found in new extractions.
        entities: entities new to the store.
        quads: quads written.
        rejected: candidates that extractors gave and that were not taken, by reason.
        by_content: of the facts, those whose quote does not stand in the text word for word, or that have
            none, and which a sentence says in other words.
        unverified: of the facts, those that no sentence was found to say.
        relations: between passages and between entities, if they were built after it: how many of each kind
            the store holds now.
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
    by_content: int = 0
    unverified: int = 0
    relations: dict[str, int] = field(default_factory=dict)
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

    def warn(self, type: str, detail: str) -> None:  # noqa: A002 - the key of the JSON
        """Add a warning, once."""
        warning = {"type": type, "detail": detail}
        if warning not in reversed(self.warnings):  # as a rule it is that of the chunk before
            self.warnings.append(warning)
