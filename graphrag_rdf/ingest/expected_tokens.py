"""How many tokens a model will read and write for chunks that are to be extracted, before it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from graphrag_rdf.documents.language import detect_language
from graphrag_rdf.documents.sentences import split_sentences
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.extract.mentions import find_mentions
from graphrag_rdf.ingest.choice import choose_relation_reader
from graphrag_rdf.ingest.report import LlmCounts
from graphrag_rdf.rdf.terms import text_of, to_python

if TYPE_CHECKING:
    from graphrag_rdf.extract.model import Marked
    from graphrag_rdf.ingest.extractors import ChunkExtractor
    from graphrag_rdf.ingest.protocols import NeededComponents

PER_TEXT_TOKEN, PER_NAME = 0.9, 34
"""Tokens that models write for each token of a chunk, and for each name in it: entities, and relations with
quotes. This gives 0.99 of 12 recorded answers about texts of all kinds, and 0.88 of 42 about a novel. Models
differ by more than that, so what this one wrote for chunks of the store counts more.
"""
PER_PAIR = 120
"""Tokens that models write for a pair of chunks, as a rule of thumb: a relation with two quotes."""
_ENOUGH, _SAMPLE = 5, 200
"""Chunks of which it must be known what the model wrote before that counts, and how many are looked at."""


class ExpectedTokens:
    """Adds up calls and tokens."""

    def __init__(self, engine: NeededComponents, extractor: ChunkExtractor) -> None:
        self._extractor = extractor
        self._engine = engine
        self._rounds = 1 + engine.settings.extract.gleaning_rounds
        self._calls = 0
        self._in = 0
        self._out = 0

    def chunk(self, text: str, language: str | None, title: str, marked: Marked) -> None:
        """Count a chunk: its prompt, and each gleaning with all that was said before."""
        from graphrag_rdf.ingest.extractors import LlmComponent
        from graphrag_rdf.llm.model import estimate_tokens

        if not isinstance(self._extractor, LlmComponent):
            return
        prompt = self._extractor.prompt(text, language=language, title=title, marked=marked)
        read = estimate_tokens([{"role": "user", "content": prompt}])
        written = round(written_tokens(text) * (self.measured or 1.0))
        for number in range(self._rounds):
            self._calls += 1
            self._in += read + number * written
            self._out += written
        if self._engine.settings.llm.style == "small":  # what is written is shared out between two calls
            self._calls += 1
            self._in += read

    def pairs(self, chunks: Sequence[tuple[str, bool]]) -> None:
        """Count the pairs of a document's chunks that a model would relate, where the settings ask for that.

        Args:
            chunks: each text in order, and whether it is new.
        """
        from graphrag_rdf.llm.model import estimate_tokens

        settings = self._engine.settings
        reader = choose_relation_reader(settings) if settings.relations.build else None
        if reader is None:
            return
        for place, (first, is_new) in enumerate(chunks):
            for second, is_new_too in chunks[place + 1 : place + 1 + settings.relations.window]:
                if is_new or is_new_too:
                    self._calls += 1
                    self._in += estimate_tokens([{"role": "user", "content": reader.prompt(first, second)}])
                    self._out += PER_PAIR

    @cached_property
    def measured(self) -> float | None:
        """What this extractor wrote for chunks of the store, as a multiple of what was to be expected; None
        while too few are known.
        """
        rows = self._engine.store.select(
            "ingest/written-tokens", extractor=self._extractor.key, limit=_SAMPLE
        )
        if len(rows) < _ENOUGH:
            return None
        texts = [text_of(row["text"]) for row in rows]
        wrote = sum(int(str(to_python(row["tokens"]))) for row in rows)
        return wrote / self._rounds / sum(map(written_tokens, texts))

    def counts(self) -> LlmCounts:
        """The totals; zeros without a model."""
        cost = self._engine.gateway.price(self._in, self._out) if self._calls else 0.0
        return LlmCounts(self._calls, 0, self._in, self._out, cost)


def written_tokens(text: str) -> int:
    """Tokens that models write for a chunk, on average."""
    language = detect_language(text)
    sentences = split_sentences(text, language)
    names = {mention.name for mention in find_mentions(text, sentences, language=language)}
    return round(PER_TEXT_TOKEN * count_tokens(text) + PER_NAME * len(names))
