"""The extractors that an ingest can run on a chunk: by rules, or by a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.extract.model import UNMARKED, Extraction, Marked

if TYPE_CHECKING:
    from graphrag_rdf.extract.llm import LlmExtractor
    from graphrag_rdf.extract.rules import RuleExtractor
    from graphrag_rdf.llm.gateway import LlmGateway


@dataclass(frozen=True, slots=True)
class Extracted:
    """An extraction and what it cost.

    Attributes:
        in_tokens, out_tokens, cached_in_tokens: None when unknown or when no model was asked.
        prompt_hash: SHA-256 of the prompt, None without a model.
    """

    extraction: Extraction
    prompt_hash: str | None = None
    in_tokens: int | None = None
    out_tokens: int | None = None
    cached_in_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """A prompt, with its data, whatever chunk it is filled in with.

    Attributes:
        hash: SHA-256 of the two.
        tuned_by: IRI of the activity that made its data, if one did.
    """

    hash: str
    tuned_by: str | None = None


class ChunkExtractor(Protocol):
    """What the ingest asks of an extractor.

    Attributes:
        component: name of the software agent.
        version: its version.
        key: everything that its result depends on; equal keys give equal results.
        model: the model's name, None without one.
        asks: the prompt that it asks the model with, None without one.
        waits: whether a call mostly waits (so that several may run at once).
    """

    component: str
    version: str
    key: str
    model: str | None
    asks: AskedPrompt | None
    waits: bool

    def __call__(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        language: str | None,
        title: str,
        marked: Marked = UNMARKED,
    ) -> Extracted:
        """Extract from one chunk. Raises LlmError when a model fails."""


class RulesComponent:
    """Extraction by rules, without a model."""

    component = "graphrag-rdf-rules"
    model: str | None = None
    asks: AskedPrompt | None = None
    waits = False

    def __init__(self, extractor: RuleExtractor, version: str, key: str) -> None:
        self._extractor = extractor
        self.version = version
        self.key = key

    def __call__(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        language: str | None,
        title: str,
        marked: Marked = UNMARKED,
    ) -> Extracted:
        """See `ChunkExtractor`."""
        found = self._extractor.extract(
            text, sentences, language=language, title=title, topic=title, rows=marked.rows, turns=marked.turns
        )
        return Extracted(found)


class LlmComponent:
    """Extraction by a language model.

    Args:
        tuned_by: IRI of the activity that made the prompt's data, if one did.
        use_cache: False asks the model again, whatever it answered before.
    """

    component = "graphrag-rdf-llm"
    waits = True

    def __init__(
        self,
        extractor: LlmExtractor,
        gateway: LlmGateway,
        version: str,
        model: str,
        *,
        tuned_by: str | None = None,
        use_cache: bool = True,
    ) -> None:
        self._extractor = extractor
        self._gateway = gateway
        self._use_cache = use_cache
        self.version = version
        self.key = extractor.key
        self.model: str | None = model
        self.asks: AskedPrompt | None = AskedPrompt(extractor.prompt_hash, tuned_by)

    def __call__(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        language: str | None,
        title: str,
        marked: Marked = UNMARKED,
    ) -> Extracted:
        """See `ChunkExtractor`."""
        del sentences  # a model reads the chunk as a whole
        found, completions = self._extractor.extract(
            text,
            language=language,
            title=title,
            marked=marked,
            gateway=self._gateway,
            use_cache=self._use_cache,
        )
        return Extracted(
            found,
            prompt_hash=completions[0].prompt_hash if completions else None,
            in_tokens=_sum(c.in_tokens for c in completions),
            out_tokens=_sum(c.out_tokens for c in completions),
            cached_in_tokens=_sum(c.cached_in_tokens for c in completions),
        )

    def prompt(self, text: str, *, language: str | None, title: str, marked: Marked = UNMARKED) -> str:
        """The prompt for a chunk, as it would be asked."""
        return self._extractor.prompt(text, language=language, title=title, marked=marked)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
