"""One description of a thing from several: by a model, or from the most central texts as they are.

A model reads as many texts as fit its budget. If there are more, it is asked again with its description and
the next ones, until all are in it. So each call reads texts, and `forget` finds all answers by their words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graphrag_rdf.extract.prompts import NO_DATA, PromptData, fill_prompt, read_prompt, tuned_for
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.llm.model import CHARS_PER_TOKEN, Completion, encodable, estimate_tokens, fenced
from graphrag_rdf.llm.repair import ask_for

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

SUMMARIES_VERSION = "1"
"""Changes when the same texts would be described otherwise: part of the key."""
PROMPT = "summary.j2"
_TOKENS_PER_WORD = 2
"""Rather too high, for estimates."""
_HINT = later("use a model that follows instructions better, or set summaries.use to extractive")


@dataclass(slots=True)
class Summary:
    """A description, and the answers of the model that made it."""

    text: str
    completions: list[Completion] = field(default_factory=list)


class SummaryWriter(Protocol):
    """What merges descriptions.

    Attributes:
        component: name of the software agent.
        key: everything that a description depends on but the texts.
        model: litellm's name; None without one.
        most: texts that it takes at most, the most central ones.
    """

    component: str
    key: str
    model: str | None
    most: int

    def write(self, name: str, texts: Sequence[str], *, use_cache: bool = True) -> Summary:
        """One description of a thing from its texts. Raises LlmError."""

    def cost(self, name: str, texts: Sequence[str]) -> tuple[int, int, int]:
        """Calls, and tokens that a model reads and writes at most."""


class ExtractiveSummaries:
    """The most central texts, as they are.

    Args:
        sentences: how many, at most.
    """

    component = "graphrag-rdf-extractive-summaries"
    model: str | None = None

    def __init__(self, sentences: int) -> None:
        self.most = sentences
        self.key = f"extractive-summaries/{SUMMARIES_VERSION};sentences={sentences}"

    def write(self, name: str, texts: Sequence[str], *, use_cache: bool = True) -> Summary:
        """Quote the texts; see `SummaryWriter`."""
        del name, use_cache
        return Summary(" ".join(map(as_sentence, texts)))

    def cost(self, name: str, texts: Sequence[str]) -> tuple[int, int, int]:
        """Nothing."""
        del name, texts
        return 0, 0, 0


class ModelSummaries:
    """Descriptions by a model.

    Args:
        prompts: folder with `PROMPT`.
        model: litellm's name; part of the key.
        tokens: that a call reads at most, as far as one text fits.
        words: of a description, at most, as the model is told.
        most: texts of a thing, at most.
        data: what the prompt is told of the documents, as `tuned`.

    Raises:
        TemplateError: the prompt is missing or malformed.
    """

    component = "graphrag-rdf-summaries"

    def __init__(
        self,
        prompts: Path,
        gateway: LlmGateway,
        model: str,
        *,
        tokens: int,
        words: int,
        most: int,
        data: PromptData = NO_DATA,
    ) -> None:
        self._path = prompts / PROMPT
        self._template, source = read_prompt(self._path)
        self._tuned, told = tuned_for(data, source)
        source += told
        self._gateway, self._tokens, self._words = gateway, tokens, words
        self.model: str | None = model
        self.most = most
        digest = hashlib.sha256(source.encode()).hexdigest()
        self.key = (
            f"summaries/{SUMMARIES_VERSION};model={model};prompt={digest};"
            f"tokens={tokens};words={words};most={most}"
        )

    def prompt(self, name: str, texts: Sequence[str], so_far: str = "") -> str:
        """A prompt; tags in it that could end the texts lose their first bracket.

        Args:
            so_far: the description of the texts before.
        """
        values = {
            "name": fenced(" ".join(name.split())),
            "texts": [fenced(" ".join(text.split())) for text in texts],
            "so_far": fenced(so_far),
            "words": self._words,
            "tuned": self._tuned,
        }
        return fill_prompt(self._template, self._path, values, "name, texts, so_far, words and tuned")

    def fitting(self, name: str, texts: Sequence[str], so_far: str = "") -> int:
        """How many of the texts the next call reads: those that fit, one at least."""
        used = estimate_tokens([{"role": "user", "content": self.prompt(name, (), so_far)}])
        for number, text in enumerate(texts):
            used += len(text) // CHARS_PER_TOKEN + 2
            if used > self._tokens:
                return max(number, 1)
        return len(texts)

    def cost(self, name: str, texts: Sequence[str]) -> tuple[int, int, int]:
        """Calls, and tokens that the model reads and writes at most."""
        so_far, left = "", list(texts)
        calls = read = 0
        while left:
            number = self.fitting(name, left, so_far)
            message = {"role": "user", "content": self.prompt(name, left[:number], so_far)}
            calls, read = calls + 1, read + estimate_tokens([message])
            left, so_far = left[number:], "word " * self._words
        return calls, read, calls * self._words * _TOKENS_PER_WORD

    def write(self, name: str, texts: Sequence[str], *, use_cache: bool = True) -> Summary:
        """Ask the model, in as many rounds as it takes; see `SummaryWriter`."""
        summary = Summary("")
        left = list(texts)
        while left:
            number = self.fitting(name, left, summary.text)
            summary.text, completions = ask_for(
                self._gateway,
                self.prompt(name, left[:number], summary.text),
                _described,
                what="description",
                form="the description only",
                hint=tr(_HINT),
                purpose="summary",
                model=self.model,
                use_cache=use_cache,
            )
            summary.completions += completions
            left = left[number:]
        return summary


def _described(answer: Completion) -> str:
    """The description in an answer. Raises ValueError."""
    text = " ".join(encodable(answer.text).split())
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    if not text:
        raise ValueError("it is empty")
    if answer.truncated:
        raise ValueError("it was cut off")
    return text


_ENDS = (".", "!", "?", "。", "！", "？", "”", "’", '"', "'")


def as_sentence(text: str) -> str:
    """A text with a full stop, unless it has an end."""
    return text if text.endswith(_ENDS) else f"{text}."
