"""What guides extraction: it says in which terms facts are wanted, and which of those found hold."""

from __future__ import annotations

from typing import Any, Protocol

from graphrag_rdf.extract.model import ChunkContext, Extraction


class ExtractionGuide(Protocol):
    """What a wing brings to guide extraction, by rules or by a model."""

    @property
    def key(self) -> str:
        """What results depend on."""

    @property
    def prompt_key(self) -> str:
        """What results depend on if a model is shown terms."""

    @property
    def shows_all(self) -> bool:
        """Whether every chunk is shown the same terms."""

    def shown(self, text: str, language: str | None) -> dict[str, Any]:
        """The terms for a chunk, for the prompt."""

    def samples(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two views of terms that differ as much as those of chunks do."""

    def in_terms(
        self, found: Extraction, text: str, *, title: str, context: ChunkContext, language: str | None
    ) -> Extraction:
        """What of an extraction holds, in the terms that are wanted; the rest is rejected.

        Args:
            text: of the chunk; the others are told of it.
        """

    def repairable(self, found: Extraction) -> list[str]:
        """The rejected statements that a model may be able to correct, each with the reason."""

    def with_repairs(self, found: Extraction, repaired: Extraction) -> Extraction:
        """An extraction with corrected statements, as far as they hold together."""
