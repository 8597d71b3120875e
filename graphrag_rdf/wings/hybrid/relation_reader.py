"""Typed relations between two chunks, read by a model: one prompt for each pair, each item checked.

A wrong item is returned as `Rejected`, with a reason:

    invalid_relation     fields are missing or of an impossible kind
    type_not_listed      not in `RELATION_TYPES`
    not_of_this_pair     it does not lead from one of the two chunks to the other
    no_confidence, low_confidence    it has none, or less than the minimum
    no_evidence          it quotes nothing
    answer_truncated, and the reasons of `llm.jsonl.Bad`    pieces of the answer
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import confidence_of, quotes_of
from graphrag_rdf.extract.model import Rejected
from graphrag_rdf.extract.prompts import fill_prompt, read_prompt
from graphrag_rdf.llm.jsonl import Bad, Section, parse_sections
from graphrag_rdf.llm.model import Completion, encodable, fenced

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway


RELATIONS_VERSION = "1"
"""Changes when the same answer would be read otherwise: part of the key."""

RELATION_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "causes": "what the one tells brings about what the other tells",
        "supports": "the one gives grounds, figures or an example for what the other claims",
        "contrasts": "the two contradict each other, or set one thing against another",
        "references": "the one refers to the other explicitly",
        "substep_of": "the one is a step of the procedure that the other describes",
        "follows": "what the one tells happens, or has to be done, after what the other tells",
        "part_of": "what the one describes is a part of what the other describes",
        "related_to": "they belong together in another way that the passages say",
    }
)
"""Name that models are asked for → what it means. `rag:` has each as a property, in camel case."""

_SYMMETRIC = frozenset({"contrasts", "related_to"})
_SECTIONS = {"relations": Section(("relations", "relationships", "edges"), ("type", "from", "relation"))}
_KNOWN = {name.replace("_", ""): name for name in RELATION_TYPES}
_NOTHING = re.compile(r"\s*(?:```\w*\s*)?\[\s*\](?:\s*```)?\s*", re.ASCII)
_NUMBER = re.compile(r"\b[12]\b", re.ASCII)


def _side(value: object) -> object:
    """1 or 2; from a number, or from a text that names one of the two, such as "passage 2"."""
    if isinstance(value, str):
        numbers = set(_NUMBER.findall(value)) or {
            number for number, word in (("1", "first"), ("2", "second")) if word in value.lower()
        }
        return int(numbers.pop()) if len(numbers) == 1 else value
    return value


class AnsweredChunkRelation(BaseModel):
    """A relation as models write it."""

    type: str = Field(validation_alias=AliasChoices("type", "relation", "relation_type"))
    source: Annotated[int, BeforeValidator(_side)] = Field(
        validation_alias=AliasChoices("from", "source", "subject")
    )
    target: Annotated[int, BeforeValidator(_side)] = Field(
        validation_alias=AliasChoices("to", "target", "object")
    )
    evidence: Annotated[list[str], BeforeValidator(quotes_of)] = Field(
        [], validation_alias=AliasChoices("evidence", "quotes", "quote")
    )
    confidence: Any = Field(None, validation_alias=AliasChoices("confidence", "score"))


@dataclass(frozen=True, slots=True)
class ChunkRelation:
    """A relation between two chunks.

    Attributes:
        type: a key of `RELATION_TYPES`.
        forward: it leads from the first to the second.
        confidence: 0 to 1.
        quotes: at least one, as the model repeats them.
    """

    type: str
    forward: bool
    confidence: float
    quotes: tuple[str, ...]


@dataclass(slots=True)
class PairAnswer:
    """A model's answer about a pair.

    Attributes:
        relations: each type and direction once.
        completion: the answer itself.
    """

    completion: Completion
    relations: dict[tuple[str, bool], ChunkRelation] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)


class RelationReader:
    """Asks a model for the relations of pairs of chunks.

    Args:
        prompts: folder with `relations.j2`.
        model: litellm's name; part of the key.
        truncate: characters of each chunk that the model sees.
        min_confidence: relations below are rejected.

    Attributes:
        key: everything that a result depends on but the pair.

    Raises:
        TemplateError: the prompt is missing or malformed.
    """

    def __init__(self, prompts: Path, *, model: str, truncate: int, min_confidence: float) -> None:
        self._path = prompts / "relations.j2"
        self._template, source = read_prompt(self._path)
        self.model = model
        self._truncate = truncate
        self._least = min_confidence
        digest = hashlib.sha256(source.encode()).hexdigest()
        self.key = (
            f"relations/{RELATIONS_VERSION};model={model};prompt={digest};"
            f"truncate={truncate};min_confidence={min_confidence:g}"
        )

    def shown(self, text: str) -> str:
        """The part of a chunk that the model sees: its beginning, in whole words where it has any."""
        if len(text) <= self._truncate:
            return text
        head = text[: self._truncate]
        if text[self._truncate].isspace():
            return head
        end = next((at for at in range(len(head) - 1, 0, -1) if head[at].isspace()), 0)
        return head[:end].rstrip() or head

    def prompt(self, first: str, second: str) -> str:
        """The prompt for a pair; tags in it that could end a chunk lose their first bracket."""
        values = {
            "first": fenced(self.shown(first)),
            "second": fenced(self.shown(second)),
            "types": list(RELATION_TYPES.items()),
        }
        return fill_prompt(self._template, self._path, values, "first, second and types")

    def read(self, first: str, second: str, gateway: LlmGateway, *, use_cache: bool = True) -> PairAnswer:
        """Ask the model how two chunks are related.

        Args:
            first, second: texts of the chunks, in the order of their document.
            use_cache: False asks again, whatever was answered before.

        Raises:
            LlmError: the call failed, or nothing in the answer can be read (kind `unparsable`; it is then
                taken out of the cache, so that another run asks again).
        """
        completion = gateway.chat(
            [{"role": "user", "content": self.prompt(first, second)}],
            purpose="relations",
            json_mode=True,
            model=self.model,
            use_cache=use_cache,
        )
        answer = PairAnswer(completion)
        try:
            items, bad = _parse(completion.text)
        except LlmError:
            gateway.discard(completion)
            raise
        for item in items:
            self._take(item, answer)
        answer.rejected += [Rejected(piece.reason, piece.text) for piece in bad]
        if completion.truncated:
            answer.rejected.append(Rejected("answer_truncated", encodable(completion.text[-200:])))
        return answer

    def _take(self, item: object, answer: PairAnswer) -> None:
        text = encodable(json.dumps(item, ensure_ascii=False))
        try:
            answered = AnsweredChunkRelation.model_validate(item)
        except ValidationError:
            answer.rejected.append(Rejected("invalid_relation", text))
            return
        name = _KNOWN.get("".join(filter(str.isalpha, answered.type.lower())))
        confidence = confidence_of(answered.confidence)
        faults = (
            (name is None, "type_not_listed"),
            ({answered.source, answered.target} != {1, 2}, "not_of_this_pair"),
            (confidence is None, "no_confidence"),
            (confidence is not None and confidence < self._least, "low_confidence"),
            (not answered.evidence, "no_evidence"),
        )
        fault = next((reason for holds, reason in faults if holds), None)
        if fault is not None or name is None or confidence is None:
            answer.rejected.append(Rejected(fault or "invalid_relation", text))
            return
        forward = answered.source == 1 or name in _SYMMETRIC
        earlier = answer.relations.get((name, forward))
        relation = ChunkRelation(name, forward, confidence, tuple(answered.evidence))
        if earlier is not None:
            quotes = tuple(dict.fromkeys((*earlier.quotes, *relation.quotes)))
            relation = replace(relation, confidence=max(earlier.confidence, confidence), quotes=quotes)
        answer.relations[name, forward] = relation


def _parse(text: str) -> tuple[list[Any], list[Bad]]:
    """The items of an answer. An empty list is an answer too, also without the object around it."""
    if _NOTHING.fullmatch(text):
        return [], []
    sections, bad = parse_sections(text, _SECTIONS)
    return sections["relations"], bad
