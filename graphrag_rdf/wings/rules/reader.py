"""The rules as an ingest calls them."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag_rdf.config import Settings
from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.extract.model import ChunkContext, Extraction
from graphrag_rdf.extract.names import RuleSettings
from graphrag_rdf.wings.rules.extractor import RULES_VERSION, RuleExtractor


class Reader:
    """See `ingest.extractors.RuleReader`."""

    version = RULES_VERSION

    def __init__(self, settings: Settings) -> None:
        types = settings.extract.entity_types
        self._rules = RuleExtractor(RuleSettings(entity_types=types))
        self.key = f"rules/{RULES_VERSION};types={','.join(sorted(types))}"

    def extract(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        context: ChunkContext,
        title: str,
        language: str | None,
    ) -> Extraction:
        """The facts of a chunk; its title is what it is about."""
        rows, turns = context.rows, context.turns
        return self._rules.extract(
            text, sentences, language=language, title=title, topic=title, rows=rows, turns=turns
        )
