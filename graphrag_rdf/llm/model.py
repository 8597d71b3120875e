"""Prompts and answers of models.

Thinking is the text of a reasoning model before or between the parts of its answer. Models mark it with
`<think>…</think>`, `<thinking>…</thinking>` or `[THINK]…[/THINK]`. It may contain drafts of JSON and
citations, so it is removed as soon as an output arrives. `Completion.raw` still has it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import SecretStr


Message = Mapping[str, str]
"""A chat message: `role` and `content`."""

CHARS_PER_TOKEN = 4
"""Rule of thumb for estimates before a call; the server reports the real number."""


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Models, servers and limits.

    Attributes:
        model, embedding_model, rerank_model: litellm names, such as `openai/gpt-4o-mini`.
        api_base: URL of the server, None for the provider's own.
        rerank_api_base: the same of the reranker, None for `api_base`.
        api_key: None to let litellm read the provider's environment variable.
        temperature: sampling temperature; None leaves it to the provider.
        temperatures: purpose of a call → its temperature, in place of `temperature`.
        max_tokens: longest answer, None for the model's own limit.
        timeout: seconds to wait for a connection, and then for each further piece of an answer.
        max_retries: tries after the first.
        backoff_base, backoff_cap: seconds, see `retry.RetryPolicy`.
        jobs: concurrent calls; None for no limit.
        requests_per_minute, tokens_per_minute: None for no limit.
        seed: sent to models that accept one.
    """

    model: str | None = None
    embedding_model: str | None = None
    rerank_model: str | None = None
    api_base: str | None = None
    rerank_api_base: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = 0.0
    temperatures: Mapping[str, float] = field(default_factory=dict)
    max_tokens: int | None = None
    timeout: float = 120.0
    max_retries: int = 5
    backoff_base: float = 0.5
    backoff_cap: float = 30.0
    jobs: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Attributes:
        raw: the output as received, with thinking between tags.
        model: as requested.
        in_tokens, out_tokens: as the server counted them; None if unreported.
        cost_usd: None when tokens or price are unknown; 0 when the answer came from the cache.
        cached: whether it came from the cache; tokens are then those of the first time.
        finish_reason: `stop`, `length` (cut off), …; None if unreported.
        seconds: from the call to the last character, waiting included.
        attempts: 1 when the first try worked, 0 when it came from the cache.
        prompt_hash: SHA-256 (hex) of messages, model and parameters.
        cached_in_tokens: of `in_tokens` those from the provider's cache; None if unreported.
    """

    raw: str
    model: str
    in_tokens: int | None
    out_tokens: int | None
    cost_usd: float | None
    cached: bool
    finish_reason: str | None
    seconds: float
    attempts: int
    prompt_hash: str
    cached_in_tokens: int | None = None

    @property
    def text(self) -> str:
        """The answer: the output without thinking."""
        return without_thinking(self.raw)

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut off at the token limit."""
        return self.finish_reason == "length"


def prompt_hash(model: str, messages: Sequence[Message], parameters: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over canonical JSON: sorted keys, no blanks, UTF-8."""
    whole = {
        "messages": [dict(message) for message in messages],
        "model": model,
        "parameters": dict(parameters),
    }
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def encodable(text: str) -> str:
    """The text with lone surrogates, which broken documents hold and UTF-8 does not, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def estimate_tokens(messages: Sequence[Message]) -> int:
    """About how many tokens a prompt has."""
    return sum(len(message["content"]) for message in messages) // CHARS_PER_TOKEN + 4 * len(messages)


_CLOSING = re.compile(r"(?i:</think(?:ing)?>)|\[/THINK\]")
_TAG = re.compile(rf"(?P<opening>(?i:<think(?:ing)?>)|\[THINK\])|{_CLOSING.pattern}")
_TAGS = ("<thinking>", "</thinking>", "<think>", "</think>", "[THINK]", "[/THINK]")
_LONGEST = max(map(len, _TAGS))


class ThinkingFilter:
    """Removes thinking from a text that arrives in pieces.

    A block that is never closed counts as thinking only if it begins a line: elsewhere its tag is text.

    Args:
        inside: the text begins within thinking, because the server has put the opening tag into the prompt.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self._inside = inside
        self._opening = ""  # the tag that began the block, empty for one that began before the text
        self._held = ""
        self._removed = False
        self._blank = True  # nothing but white space was given out so far
        self._line = ""  # what was given out of the current line

    def feed(self, piece: str) -> str:
        """Add a piece; returns the text that is safe to return."""
        at = max(0, len(self._held) - _LONGEST)
        self._held += piece
        out = []
        while tag := (_CLOSING if self._inside else _TAG).search(self._held, at):
            if not self._inside:
                out.append(self._give(self._held[: tag.start()]))
                self._inside = bool(tag["opening"])
                self._opening = tag["opening"] or ""
            else:
                self._inside = False
            self._removed = True
            self._held, at = self._held[tag.end() :], 0
        if not self._inside:
            ready = len(self._held) - _possible_tag(self._held)
            out.append(self._give(self._held[:ready]))
            self._held = self._held[ready:]
        return "".join(out)

    def end(self) -> str:
        """The remaining text at the end."""
        if self._inside and self._opening and not self._line.strip():
            return ""
        return self._give((self._opening if self._inside else "") + self._held)

    def _give(self, text: str) -> str:
        if self._removed and self._blank:
            text = text.lstrip()
        self._blank = self._blank and not text.strip()
        self._line = (self._line + text).rpartition("\n")[2]
        return text


def without_thinking(text: str) -> str:
    """A whole output without its thinking."""
    thinking = ThinkingFilter(inside=starts_inside(text))
    return thinking.feed(text) + thinking.end()


def starts_inside(text: str) -> bool:
    """Whether an output begins within thinking: its first tag is a closing one."""
    tag = _TAG.search(text)
    return tag is not None and not tag["opening"]


def _possible_tag(text: str) -> int:
    """Length of the end of a text that may become a tag."""
    for length in range(min(len(text), _LONGEST - 1), 0, -1):
        end = text[-length:]
        if any(tag.startswith(end if end[0] == "[" else end.lower()) for tag in _TAGS):
            return length
    return 0


# --- tags of prompts: texts of documents and users cannot close them, nor open others ---


TAGS = (
    "question",
    "conversation",
    "statements",
    "evidence",
    "title",
    "columns",
    "headings",
    "before",
    "names",
    "text",
    "passage",
    "first",
    "second",
    "answer",
    "problems",
    "tools",
    "observation",
    "examples",
    "ontology",
    "statements",
    "entities",
    "relations",
    "types",
    "texts",
    "entries",
)
"""The tags of our prompts."""

FENCE = "‹"
"""Replaces a tag's first bracket."""

_PROMPT_TAG = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)


def fenced(text: str) -> str:
    """The text with `FENCE` for the first bracket of what looks like one of the tags.

    The length stays, so that a model's quotes keep their offsets; `extract.evidence` treats the two brackets
    as equal.
    """
    return _PROMPT_TAG.sub(FENCE, text)
