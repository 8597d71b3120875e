"""Extraction by a language model: one prompt a chunk, one JSON object back, read by `extract.answers`.

The prompt is a template with, where there are any, data about the documents (see `extract.prompt_data`).
What a further round gives that cannot be read at all is `Rejected` as `gleaning_failed`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import Found, listed_types
from graphrag_rdf.extract.model import Extraction
from graphrag_rdf.extract.prompt_data import NO_DATA, PromptData
from graphrag_rdf.extract.prompt_template import fill_prompt, read_prompt
from graphrag_rdf.llm.fencing import fenced
from graphrag_rdf.llm.model import Completion, Message

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

LLM_VERSION = "1"
"""Changes when the same answer would be read otherwise: part of every subgraph's IRI."""

_VALUES = "text, title, columns, language, entity_types and tuned"


class LlmExtractor:
    """Entities and relations of a chunk, as a model reads them.

    Args:
        prompts: folder with `extract.j2` and, for gleaning, `glean.j2`.
        model: litellm's name; part of the key.
        entity_types: types to ask for; empty for any.
        gleaning_rounds: how often to ask for what was missed; it ends when a round adds nothing.
        data: what the prompt is told of the documents, as `tuned`.

    Attributes:
        prompt_hash: SHA-256 of the prompt: its template, that for gleaning, and its data.
        key: everything that a result depends on but the chunk: equal keys give equal subgraph IRIs.

    Raises:
        TemplateError: a prompt is missing or malformed.
    """

    def __init__(
        self,
        prompts: Path,
        *,
        model: str,
        entity_types: Sequence[str] = (),
        gleaning_rounds: int = 0,
        data: PromptData = NO_DATA,
    ) -> None:
        self._entity_types = tuple(entity_types)
        self._types = listed_types(self._entity_types)
        self._tuned = data.values()
        self._rounds = gleaning_rounds
        self._extract, source = read_prompt(prompts / "extract.j2")
        self._glean = ""
        if gleaning_rounds:
            glean, glean_source = read_prompt(prompts / "glean.j2")
            self._glean = fill_prompt(
                glean,
                prompts / "glean.j2",
                {"entity_types": self._entity_types, "tuned": self._tuned},
                _VALUES,
            )
            source += "\0" + glean_source
        if not data.is_empty:
            source += "\0" + data.canonical()
        self._path = prompts / "extract.j2"
        self.prompt_hash = digest = hashlib.sha256(source.encode()).hexdigest()
        types = ",".join(self._entity_types)
        self.key = f"llm/{LLM_VERSION};model={model};prompt={digest};types={types};gleaning={gleaning_rounds}"
        self._model = model

    def extract(
        self,
        text: str,
        *,
        language: str | None,
        title: str,
        gateway: LlmGateway,
        columns: Sequence[str] = (),
        use_cache: bool = True,
    ) -> tuple[Extraction, list[Completion]]:
        """Ask the model and read its answers.

        Args:
            text: the chunk.
            language: BCP 47 tag of the text, None if unknown.
            title: of the document.
            gateway: the way to the model.
            columns: names of the columns of the table that the chunk begins in, where it does not hold them.
            use_cache: False asks again, whatever was answered before.

        Returns:
            (what was found, the completions, in order).

        Raises:
            LlmError: a call failed, or nothing in the first answer can be read (kind `unparsable`; the
                answer is then taken out of the cache, so that another run asks again).
        """
        messages: list[Message] = [
            {"role": "user", "content": self.prompt(text, language=language, title=title, columns=columns)}
        ]
        asked: dict[str, Any] = {"json_mode": True, "model": self._model, "use_cache": use_cache}
        first = gateway.chat(messages, purpose="extract", **asked)
        found = Found(self._types)
        try:
            found.read(first.text, truncated=first.truncated)
        except LlmError:
            gateway.discard(first)
            raise
        completions = [first]
        for _ in range(self._rounds):
            before = found.size
            messages += [
                {"role": "assistant", "content": completions[-1].text},
                {"role": "user", "content": self._glean},
            ]
            answer = gateway.chat(messages, purpose="glean", **asked)
            completions.append(answer)
            try:
                found.read(answer.text, truncated=answer.truncated)
            except LlmError:  # what the answers before gave still holds
                gateway.discard(answer)
                found.reject("gleaning_failed", answer.text)
            if found.size == before:
                break
        return found.extraction(), completions

    def prompt(self, text: str, *, language: str | None, title: str, columns: Sequence[str] = ()) -> str:
        """The prompt for a chunk; tags in it that could end the passage lose their first bracket."""
        values = {
            "text": fenced(text),
            "title": fenced(" ".join(title.split())),
            "language": language,
            "entity_types": self._entity_types,
            "tuned": self._tuned,
            "columns": [fenced(name) for name in columns],
        }
        return fill_prompt(self._extract, self._path, values, _VALUES)
