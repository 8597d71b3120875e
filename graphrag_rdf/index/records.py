"""The records of an index, and the hits of a search."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, get_args

Kind = Literal["entity", "sentence", "chunk", "report"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Record:
    """A thing that can be found by its words or its meaning.

    Args:
        iri: what is found.
        kind: which index it belongs to; statistics are kept apart by kind.
        text: chunk text, sentence text, the definitions of an entity, or summary and findings of a report.
        labels: labels and aliases of an entity; the title of a report; for sentences and chunks the
            document's title, and words of its file's name; for chunks also the headings above.
        language: BCP 47 tag of the text; None if unknown (then nothing is stemmed).
    """

    iri: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()
    language: str | None = None

    @property
    def content_hash(self) -> str:
        """16 hexadecimal digits that change if, and only if, the indexed content changes."""
        digest = blake2b(digest_size=8)
        for part in (self.kind, self.language or "", self.text, *self.labels):
            raw = part.encode("utf-8", "surrogatepass")
            # the length first, so that no two different records give the same bytes
            digest.update(b"%d:" % len(raw))
            digest.update(raw)
        return digest.hexdigest()

    @property
    def full_text(self) -> str:
        """Labels and text, one per line: what an embedding sees."""
        return "\n".join(part for part in (*self.labels, self.text) if part)


@dataclass(frozen=True, slots=True)
class Hit:
    """A thing found, with its score: BM25 (0 and up) or cosine (-1 to 1)."""

    iri: str
    kind: Kind
    score: float


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What `sync` did: records new or changed, records no longer there, records left alone."""

    added: int
    removed: int
    unchanged: int
