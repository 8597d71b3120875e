"""Answers to the extraction prompt, read item by item; each item is checked.

A wrong item costs the item, not the chunk: it is returned as `Rejected`, with a reason:

    invalid_entity, invalid_relation    fields are missing or of an impossible kind
    empty_subject, empty_predicate, empty_object, placeholder, self_relation    not a statement
    negated, hedged, question    the text denies it, only supposes it, or asks
    predicate_not_listed     not among the predicates asked for
    type_not_listed          kept without its type, which is not among those asked for
    datatype_mismatch        kept as a string, because the value does not fit its datatype
    confidence_unreadable    kept without its confidence, which is not a number
    heading                  quotes a heading only
    not_json_but_statements  an answer in another notation, see `extract.notation`, which was read
    answer_truncated, and the reasons of `llm.jsonl.Bad`    pieces of the answer
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from graphrag_rdf.documents.model import Chunk, ParsedDocument
from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.extract.modality import denies, doubt_of_quote
from graphrag_rdf.extract.model import (
    QUALIFIERS,
    EntityCandidate,
    Extraction,
    Rejected,
    RelationCandidate,
)
from graphrag_rdf.extract.names import fold, is_placeholder, match_key
from graphrag_rdf.extract.notation import statements_in
from graphrag_rdf.extract.numbers import read_date, typed_literal
from graphrag_rdf.llm.jsonl import Section, parse_items, parse_sections
from graphrag_rdf.llm.model import encodable

SECTIONS = {
    "entities": Section(("entities", "nodes"), ("name", "entity", "entity_name")),
    "relations": Section(
        ("relations", "relationships", "edges", "triples"), ("subject", "predicate", "source", "object")
    ),
}

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*\s?%?", re.ASCII)
_COPULA = re.compile(r"^(?:(?:is|was|are|were|has|have|had|been|be)\s+)+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


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
# kept to the letter, because it is searched in the chunk
Verbatim = Annotated[
    str | None,
    BeforeValidator(lambda value: encodable(value).strip() or None if isinstance(value, str) else value),
]
Texts = Annotated[list[str], BeforeValidator(_to_texts)]


def _to_truth(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.strip().lower() in {"true", "yes"})


def _to_qualifiers(value: object) -> dict[str, str]:
    fields = value if isinstance(value, dict) else {}
    texts = {name: _to_text(fields.get(name)) for name in QUALIFIERS}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text}


class AnsweredEntity(BaseModel):
    """An entity as models write it."""

    name: Text = Field(validation_alias=AliasChoices("name", "entity_name", "entity", "title"), min_length=1)
    type: OptionalText = Field(None, validation_alias=AliasChoices("type", "entity_type"))
    definition: OptionalText = Field(None, validation_alias=AliasChoices("definition", "description"))
    evidence: Verbatim = Field(
        None, validation_alias=AliasChoices("definition_evidence", "evidence", "quote", "source_text")
    )
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
    negated: Annotated[bool, BeforeValidator(_to_truth)] = False
    qualifiers: Annotated[dict[str, str], BeforeValidator(_to_qualifiers)] = {}


@dataclass
class Found:
    """The entities and relations in the answers about one chunk, each once.

    Attributes:
        types: folded → as written: the only types that entities may have; empty for any.
        predicates: `predicate_key` → as written: the only ones that relations may have; empty for any.
    """

    types: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, str] = field(default_factory=dict)
    entities: dict[str, EntityCandidate] = field(default_factory=dict)
    relations: dict[tuple[str, ...], RelationCandidate] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of entities and relations."""
        return len(self.entities) + len(self.relations)

    def extraction(self) -> Extraction:
        """Everything found, each thing under one name. Statements that then relate a thing to itself are
        rejected.
        """
        entities, main = self._joined()
        relations: dict[RelationCandidate, None] = {}
        rejected = list(self.rejected)
        for relation in self.relations.values():
            subject = main.get(match_key(relation.subject), relation.subject)
            target = (
                main.get(match_key(relation.object), relation.object)
                if relation.object_is_entity
                else relation.object
            )
            if relation.object_is_entity and match_key(subject) == match_key(target):
                item = f"{relation.subject} | {relation.predicate} | {relation.object}"
                rejected.append(Rejected("self_relation", encodable(item)))
            else:
                relations[replace(relation, subject=subject, object=target)] = None
        return Extraction(tuple(entities), tuple(relations), tuple(rejected), (), None)

    def _joined(self) -> tuple[list[EntityCandidate], dict[str, str]]:
        """Entities, joined where one is listed under another name of the other; and other name → name.

        Another name that several entities share stands for none of them.
        """
        claims: dict[str, list[str]] = {}
        for key, entity in self.entities.items():
            for alias in {match_key(alias): None for alias in entity.aliases}:
                if alias != key:
                    claims.setdefault(alias, []).append(key)
        into: dict[str, str] = {}

        def whole(key: str) -> str:
            """The entity that a name belongs to in the end."""
            return whole(into[key]) if key in into else key

        for alias, owners in claims.items():
            if len(owners) == 1 and whole(owners[0]) != alias:
                into[alias] = whole(owners[0])
        joined: dict[str, EntityCandidate] = {}
        for key in sorted(self.entities, key=lambda key: key in into):
            entity, owner = self.entities[key], whole(key)
            joined[owner] = _together(joined[owner], entity) if owner in joined else entity
        return list(joined.values()), {alias: joined[whole(alias)].name for alias in into}

    def read(self, answer: str, *, text: str = "", truncated: bool = False) -> None:
        """Add an answer.

        Args:
            text: what the answer is about.
            truncated: the answer was cut off at the token limit.

        Raises:
            LlmError: of kind `unparsable`, when nothing of it can be read.
        """
        try:
            items, bad = parse_sections(answer, SECTIONS)
        except LlmError:
            statements = statements_in(answer, text)
            if not statements:
                raise
            items, bad = {"entities": [], "relations": statements}, []
            self.reject("not_json_but_statements", answer[:500])
        for item in items["entities"]:
            self._entity(item)
        for item in items["relations"]:
            self._relation(item)
        self.rejected += [Rejected(piece.reason, piece.text) for piece in bad]
        if truncated:
            self.reject("answer_truncated", answer[-200:])

    def place(self, text: str, offset: int) -> None:
        """Find the quotes of relations in a part of the chunk. A sentence may stand twice in the whole chunk.

        Args:
            text: the part.
            offset: where it begins.
        """
        for key, relation in self.relations.items():
            if relation.span is None and relation.quote and (located := locate(relation.quote, text)):
                span = (offset + located.offset, located.length)
                self.relations[key] = replace(relation, span=span)

    def reject(self, reason: str, item: object) -> None:
        """Note an item that was left out."""
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
        earlier = self.entities.get(key)
        quote = answered.evidence if answered.definition else None
        unique = tuple(dict.fromkeys(aliases))
        entity = EntityCandidate(answered.name, kind, answered.definition, unique, None, quote)
        self.entities[key] = _together(earlier, entity) if earlier else entity

    def _relation(self, item: object) -> None:
        try:
            answered = AnsweredRelation.model_validate(item)
        except ValidationError:
            self.reject("invalid_relation", item)
            return
        subject, target = answered.subject or "", answered.object or ""
        predicate = predicate_phrase(answered.predicate or "")
        if self.predicates and predicate:
            predicate = self.predicates.get(predicate_key(predicate), "")
            if not predicate:
                self.reject("predicate_not_listed", item)
                return
        names_entity = self._names_entity(answered)
        same = names_entity and match_key(subject) == match_key(target)
        faults = (
            (not subject, "empty_subject"),
            (not predicate, "empty_predicate"),
            (not target, "empty_object"),
            (is_placeholder(subject) or is_placeholder(target), "placeholder"),
            (same, "self_relation"),
            (answered.negated or denies(predicate, None if names_entity else target), "negated"),
        )
        fault = next((reason for holds, reason in faults if holds), None) or doubt_of_quote(
            answered.evidence or "", predicate, target
        )
        if fault:
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
        qualifiers = tuple(
            (name, *(read_date(text) or (text, None)))
            for name, text in (answered.qualifiers or _beside(item)).items()
            if not is_placeholder(text)
        )
        candidate = RelationCandidate(
            subject,
            predicate,
            target,
            names_entity,
            datatype,
            answered.evidence,
            confidence,
            None,
            qualifiers,
        )
        key = (
            match_key(subject),
            predicate,
            match_key(target) if names_entity else target,
            datatype or str(names_entity),
            fold(answered.evidence or ""),
            *map(str, qualifiers),
        )
        self.relations.setdefault(key, candidate)

    def _names_entity(self, answered: AnsweredRelation) -> bool:
        """Whether the object is an entity. If the answer does not say: a listed entity is one, and what has a
        datatype or is a date or number is a value.
        """
        if answered.object_is_entity is not None:
            return answered.object_is_entity
        target = answered.object or ""
        if match_key(target) in self.entities:
            return True
        return answered.datatype is None and not (read_date(target) or _NUMBER.fullmatch(target))


def without_headings(extraction: Extraction, document: ParsedDocument, chunk: Chunk) -> Extraction:
    """An extraction without what quotes a heading only, which states nothing."""
    begin = bisect_left(document.headings, chunk.offset, key=lambda each: each.offset)
    end = bisect_left(document.headings, chunk.offset + len(chunk.text), key=lambda each: each.offset)
    headings = {match_key(each.text) for each in document.headings[begin:end]}
    if not headings:
        return extraction

    def is_heading(quote: str | None) -> bool:
        return quote is not None and match_key(quote) in headings

    relations = [candidate for candidate in extraction.relations if not is_heading(candidate.quote)]
    entities = [
        replace(candidate, definition=None, quote=None) if is_heading(candidate.quote) else candidate
        for candidate in extraction.entities
    ]
    left_out = [
        Rejected("heading", f"{candidate.subject} | {candidate.predicate} | {candidate.object}")
        for candidate in extraction.relations
        if is_heading(candidate.quote)
    ]
    return replace(
        extraction,
        entities=tuple(entities),
        relations=tuple(relations),
        rejected=(*extraction.rejected, *left_out),
    )


_PART = re.compile(r"""\{\s*["'“]?passage\w*["'”]?\s*:\s*[^\d,{}\[\]]{0,12}?(\d+)""", re.IGNORECASE)
_EVIDENCE = re.compile(r'"(?:definition_)?evidence"\s*:\s*("(?:[^"\\]|\\.)*")')


def parts_of(answer: str, texts: Sequence[str], *, truncated: bool) -> list[str | None]:
    """What an answer about several passages says of each, as the model wrote it.

    Args:
        answer: objects that begin with the number of their passage, from 1.
        texts: the passages.
        truncated: the answer was cut off, so its last object is incomplete.

    Returns:
        for each passage an answer that `Found.read` reads; None if it has none, or one of which most quotes
        are not in the passage.
    """
    starts = list(_PART.finditer(answer))
    answers: dict[int, list[str]] = {}
    for start, following in zip_longest(starts, starts[1:]):
        end = following.start() if following else len(answer)
        answers.setdefault(int(start[1]), []).append(answer[start.start() : end])
    if starts and (truncated or _is_cut_off(answers[int(starts[-1][1])][-1])):
        # objects of single items: nobody knows which passages have more
        answers = {} if len(answers) < len(starts) else {**answers, int(starts[-1][1]): []}
    parts = ["\n".join(answers.get(number, ())) for number in range(1, len(texts) + 1)]
    return [part if part and _quotes(part, text) else None for part, text in zip(parts, texts, strict=True)]


def _is_cut_off(part: str) -> bool:
    return any(piece.reason == "cut_off" for piece in parse_items(part)[1])


def _quotes(part: str, text: str) -> bool:
    """Whether at least half of the quotes in a part of an answer are in the text."""
    quotes = [quote for quoted in _EVIDENCE.findall(part) if (quote := _string(quoted))]
    return 2 * sum(quote in text or locate(quote, text) is not None for quote in quotes) >= len(quotes)


def _string(quoted: str) -> str:
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return ""


def _beside(item: object) -> dict[str, str]:
    """Qualifiers given as keys next to subject and object, not in an object of their own."""
    if not isinstance(item, dict) or not {"subject", "object"} <= item.keys():
        return {}
    return _to_qualifiers(item)


def listed_types(types: Iterable[str]) -> dict[str, str]:
    """Types in the form of `Found.types`."""
    return {fold(name): name for name in types}


def listed_predicates(predicates: Iterable[str]) -> dict[str, str]:
    """Predicates in the form of `Found.predicates`."""
    phrases = map(predicate_phrase, predicates)
    return {predicate_key(phrase): phrase for phrase in phrases if phrase}


def predicate_key(phrase: str) -> str:
    """The key of a predicate in a list: "is located in" and "located in" have the same."""
    bare = _COPULA.sub("", f"{fold(phrase)} ").strip()
    return bare or fold(phrase)


def _together(first: EntityCandidate, second: EntityCandidate) -> EntityCandidate:
    """Two entries for the same entity as one, under the first name."""
    surfaces = [*first.aliases, second.name, *second.aliases]
    says = first if first.definition else second
    return replace(
        first,
        type=first.type or second.type,
        other_types=tuple(
            each
            for each in dict.fromkeys((*first.other_types, second.type, *second.other_types))
            if each and first.type and fold(each) != fold(first.type)
        ),
        definition=says.definition,
        quote=says.quote,
        aliases=tuple(dict.fromkeys(surface for surface in surfaces if surface != first.name)),
    )


def predicate_phrase(text: str) -> str:
    """A phrase in lower case, also from `WORKS_FOR` and `worksFor`."""
    phrase = text if " " in text else _CAMEL.sub(" ", text)
    return " ".join(phrase.replace("_", " ").lower().split())


def quotes_of(value: object) -> object:
    """The texts of one quote or a list of quotes, stripped, each once."""
    listed = value if isinstance(value, list) else [value]
    texts = [encodable(item).strip() for item in listed if isinstance(item, str)]
    return list(dict.fromkeys(text for text in texts if text))


def confidence_of(value: object) -> float | None:
    """A confidence from 0 to 1, clipped, of a number or a percentage; None for anything else."""
    if isinstance(value, str) and (percent := _PERCENT.fullmatch(value)):
        return min(1.0, float(percent[1]) / 100)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return min(1.0, max(0.0, number)) if math.isfinite(number) else None
