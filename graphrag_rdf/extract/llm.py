"""Extraction by a language model: one prompt a chunk, one JSON object back, every item checked.

What an answer has wrong costs the item, not the chunk: each item that does not hold is given back as
`Rejected`, with a reason:

    invalid_entity, invalid_relation    fields are missing or of an impossible kind
    empty_subject, empty_predicate, empty_object, placeholder, self_relation    not a statement
    type_not_listed          kept without its type, which is none of those asked for
    datatype_mismatch        kept as a string, as the value does not have its datatype
    confidence_unreadable    kept without its confidence, which is no number
    answer_truncated, gleaning_failed, and the reasons of `llm.jsonl.Bad`    pieces of the answer
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import confidence_of, fill_prompt, read_prompt
from graphrag_rdf.extract.literals import typed_literal
from graphrag_rdf.extract.model import EntityCandidate, Extraction, Rejected, RelationCandidate
from graphrag_rdf.extract.noise import is_placeholder
from graphrag_rdf.extract.normalise import fold, match_key
from graphrag_rdf.llm.fencing import fenced
from graphrag_rdf.llm.jsonl import Section, parse_sections
from graphrag_rdf.llm.model import Completion, Message, encodable

if TYPE_CHECKING:
    from graphrag_rdf.llm.gateway import LlmGateway

LLM_VERSION = "1"
"""Changes when the same answer would be read otherwise: part of every subgraph's IRI."""

SECTIONS = {
    "entities": Section(("entities", "nodes"), ("name", "entity", "entity_name")),
    "relations": Section(
        ("relations", "relationships", "edges", "triples"), ("subject", "predicate", "source", "object")
    ),
}

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# the same length and no letter more, so that offsets and searches for the text still hold
_VALUES = "text, title, columns, language and entity_types"


def _to_text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return " ".join(encodable(value).split()) if isinstance(value, str) else value


def _to_texts(value: object) -> object:
    if value is None:
        return []
    listed = value if isinstance(value, list) else [value]
    return [text for text in map(_to_text, listed) if isinstance(text, str) and text]


Text = Annotated[str, BeforeValidator(_to_text)]
OptionalText = Annotated[str | None, BeforeValidator(lambda value: _to_text(value) or None)]
# not a blank of it is changed, as it will be looked for in the chunk
Verbatim = Annotated[
    str | None,
    BeforeValidator(lambda value: encodable(value).strip() or None if isinstance(value, str) else value),
]
Texts = Annotated[list[str], BeforeValidator(_to_texts)]


class AnsweredEntity(BaseModel):
    """An entity as models write it."""

    name: Text = Field(validation_alias=AliasChoices("name", "entity_name", "entity", "title"), min_length=1)
    type: OptionalText = Field(None, validation_alias=AliasChoices("type", "entity_type"))
    definition: OptionalText = Field(None, validation_alias=AliasChoices("definition", "description"))
    aliases: Texts = Field([], validation_alias=AliasChoices("aliases", "alias", "also_known_as", "synonyms"))


class AnsweredRelation(BaseModel):
    """A relation as models write it."""

    subject: OptionalText = Field(None, validation_alias=AliasChoices("subject", "source", "head", "from"))
    predicate: OptionalText = Field(
        None, validation_alias=AliasChoices("predicate", "relation", "relationship", "type")
    )
    object: OptionalText = Field(None, validation_alias=AliasChoices("object", "target", "tail", "to"))
    object_is_entity: bool | None = Field(
        None, validation_alias=AliasChoices("object_is_entity", "object-entity", "object_entity")
    )
    datatype: OptionalText = None
    evidence: Verbatim = Field(None, validation_alias=AliasChoices("evidence", "quote", "source_text"))
    confidence: Any = Field(None, validation_alias=AliasChoices("confidence", "score"))


@dataclass
class _Found:
    """What the answers of one chunk gave so far, each entity and relation once."""

    types: dict[str, str]
    entities: dict[str, EntityCandidate] = field(default_factory=dict)
    relations: dict[tuple[str, ...], RelationCandidate] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def size(self) -> int:
        return len(self.entities) + len(self.relations)

    def extraction(self) -> Extraction:
        return Extraction(
            tuple(self.entities.values()), tuple(self.relations.values()), tuple(self.rejected), (), None
        )

    def read(self, completion: Completion) -> None:
        """Add an answer. Raises LlmError (unparsable) when nothing of it can be read."""
        found, bad = parse_sections(completion.text, SECTIONS)
        for item in found["entities"]:
            self._entity(item)
        for item in found["relations"]:
            self._relation(item)
        self.rejected += [Rejected(piece.reason, piece.text) for piece in bad]
        if completion.truncated:
            self.reject("answer_truncated", completion.text[-200:])

    def reject(self, reason: str, item: object) -> None:
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        self.rejected.append(Rejected(reason, encodable(text)))

    def _entity(self, item: object) -> None:
        try:
            answered = AnsweredEntity.model_validate({"name": item} if isinstance(item, str) else item)
        except ValidationError:
            self.reject("invalid_entity", item)
            return
        kind = answered.type
        if kind is not None and self.types:
            kind = self.types.get(fold(kind))
            if kind is None:
                self.reject("type_not_listed", item)
        key = match_key(answered.name)
        aliases = [alias for alias in answered.aliases if alias != answered.name]
        known = self.entities.get(key)
        if known is None:
            unique = tuple(dict.fromkeys(aliases))
            self.entities[key] = EntityCandidate(answered.name, kind, answered.definition, unique, None)
            return
        surfaces = [*known.aliases, answered.name, *aliases]
        self.entities[key] = replace(
            known,
            type=known.type or kind,
            definition=known.definition or answered.definition,
            aliases=tuple(dict.fromkeys(surface for surface in surfaces if surface != known.name)),
        )

    def _relation(self, item: object) -> None:
        try:
            answered = AnsweredRelation.model_validate(item)
        except ValidationError:
            self.reject("invalid_relation", item)
            return
        subject, target = answered.subject or "", answered.object or ""
        predicate = _predicate(answered.predicate or "")
        names_entity = self._names_entity(answered)
        same = names_entity and match_key(subject) == match_key(target)
        faults = (
            (not subject, "empty_subject"),
            (not predicate, "empty_predicate"),
            (not target, "empty_object"),
            (is_placeholder(subject) or is_placeholder(target), "placeholder"),
            (same, "self_relation"),
        )
        fault = next((reason for holds, reason in faults if holds), None)
        if fault is not None:
            self.reject(fault, item)
            return
        datatype = None
        if not names_entity:
            target, datatype, fits = typed_literal(target, answered.datatype)
            if not fits:
                self.reject("datatype_mismatch", item)
        confidence = confidence_of(answered.confidence)
        if confidence is None and answered.confidence is not None:
            self.reject("confidence_unreadable", item)
        candidate = RelationCandidate(
            subject, predicate, target, names_entity, datatype, answered.evidence, confidence, None
        )
        key = (
            match_key(subject),
            predicate,
            match_key(target) if names_entity else target,
            datatype or str(names_entity),
            fold(answered.evidence or ""),
        )
        self.relations.setdefault(key, candidate)

    def _names_entity(self, answered: AnsweredRelation) -> bool:
        """What the answer says; without that, a value is what has a datatype and is no listed entity."""
        if answered.object_is_entity is not None:
            return answered.object_is_entity
        return answered.datatype is None or match_key(answered.object or "") in self.entities


class LlmExtractor:
    """Entities and relations of a chunk, as a model reads them.

    Args:
        prompts: folder with `extract.j2` and, for gleaning, `glean.j2`.
        model: litellm's name; part of the key.
        entity_types: types to ask for; empty for any.
        gleaning_rounds: how often to ask for what was missed; it ends when a round adds nothing.

    Attributes:
        key: everything that a result depends on but the chunk: equal keys give equal subgraph IRIs.

    Raises:
        TemplateError: a prompt is missing or malformed.
    """

    def __init__(
        self, prompts: Path, *, model: str, entity_types: Sequence[str] = (), gleaning_rounds: int = 0
    ) -> None:
        self._entity_types = tuple(entity_types)
        self._types = {fold(name): name for name in self._entity_types}
        self._rounds = gleaning_rounds
        self._extract, source = read_prompt(prompts / "extract.j2")
        self._glean = ""
        if gleaning_rounds:
            glean, glean_source = read_prompt(prompts / "glean.j2")
            self._glean = fill_prompt(
                glean, prompts / "glean.j2", {"entity_types": self._entity_types}, _VALUES
            )
            source += "\0" + glean_source
        self._path = prompts / "extract.j2"
        digest = hashlib.sha256(source.encode()).hexdigest()
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
        found = _Found(self._types)
        try:
            found.read(first)
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
                found.read(answer)
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
            "columns": [fenced(name) for name in columns],
        }
        return fill_prompt(self._extract, self._path, values, _VALUES)


def _predicate(text: str) -> str:
    """A phrase in lower case, also from `WORKS_FOR` and `worksFor`."""
    phrase = text if " " in text else _CAMEL.sub(" ", text)
    return " ".join(phrase.replace("_", " ").lower().split())
