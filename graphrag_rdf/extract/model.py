"""What every extractor returns, and what it is given.

Names are surface text, not yet IRIs; spans are 0-based code points in the chunk's text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from graphrag_rdf.documents.chunk import NO_CONTEXT, Context
from graphrag_rdf.documents.model import Turn

from .names import fold

if TYPE_CHECKING:
    from .table_rows import Row


@dataclass(frozen=True, slots=True)
class EntityCandidate:
    """A thing that the text names.

    Args:
        name: the fullest surface form.
        type: an entity type, one of the configured ones where these are given.
        definition: what the text says that it is, without "is a".
        aliases: other surface forms for it in the same text.
        span: (offset, length) of the first place that names it, when the extractor knows it.
        quote: the evidence of the definition, as a model repeats it.
        class_iri: the class of a loaded ontology that the type names.
        proposed: whether an ontology guides the extraction, and has no class for the type.
        other_types: further types that a model gave it, which only guided extraction uses.
    """

    name: str
    type: str | None
    definition: str | None
    aliases: tuple[str, ...]
    span: tuple[int, int] | None
    quote: str | None = None
    class_iri: str | None = None
    proposed: bool = False
    other_types: tuple[str, ...] = ()


Qualifiers: TypeAlias = tuple[tuple[str, str, str | None], ...]


@dataclass(frozen=True, slots=True)
class RelationCandidate:
    """A statement that the text makes.

    Args:
        subject: name of an entity.
        predicate: verb or role phrase in lower case.
        object: name of an entity, or the lexical form of a literal.
        object_is_entity: whether `object` names an entity.
        datatype: absolute XSD IRI of a literal; None stands for xsd:string.
        quote: the evidence, as it stands in the text or as a model repeats it.
        confidence: 0 to 1.
        span: (offset, length) of the evidence, when the extractor knows it.
        qualifiers: what the text says beside it: (one of `QUALIFIERS`, lexical form, absolute XSD IRI or None
            for a string).
        of_term: whether the subject is no entity but the label of a line in a table ("Cost of sales").
        property_iri: the property of a loaded ontology that the predicate names.
        object_iri: the individual of a loaded ontology that the object names.
        proposed: whether an ontology guides the extraction, and has no property for the predicate.
    """

    subject: str
    predicate: str
    object: str
    object_is_entity: bool
    datatype: str | None
    quote: str | None
    confidence: float | None
    span: tuple[int, int] | None
    qualifiers: Qualifiers = ()
    of_term: bool = False
    property_iri: str | None = None
    object_iri: str | None = None
    proposed: bool = False


QUALIFIERS = ("from", "to", "at", "amount")
"""Since when, until when, when or where, and how much a statement says that it holds."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate that was rejected.

    Args:
        reason: a short code, such as `too_short`, `unresolved_pronoun` or one of `extract.modality`.
        item: the candidate as text.
        breaks: the property of a loaded ontology whose axiom it breaks.
    """

    reason: str
    item: str
    breaks: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in the text with a name.

    Args:
        offset: start in the chunk's text, code points.
        length: code points.
        name: the name it stands for; the text itself unless a dictionary says otherwise.
        term: whether it is the label of a line in a table and names no entity.
    """

    offset: int
    length: int
    name: str
    term: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """Everything that was found in one chunk.

    Args:
        entities: things named, first named first.
        relations: statements, in the order of their evidence.
        rejected: candidates left out, with reasons.
        mentions: every place that names something, in text order.
        language_warning: why only names were read, or None.
        parts: in how many parts a model was asked about the chunk; more than 1 where answers were cut off.
        unread: number of sentences that state something and of which no pattern of the rules reads anything.
    """

    entities: tuple[EntityCandidate, ...]
    relations: tuple[RelationCandidate, ...]
    rejected: tuple[Rejected, ...]
    mentions: tuple[Mention, ...]
    language_warning: str | None
    parts: int = 1
    unread: int = 0


def other_names(entities: Iterable[EntityCandidate]) -> dict[str, str]:
    """Other name → name, for other names that belong to one entity only and are not the name of another."""
    owners: dict[str, list[str]] = {}
    for entity in entities:
        for alias in entity.aliases:
            owners.setdefault(alias, []).append(entity.name)
        owners.setdefault(entity.name, []).append("")
    return {alias: names[0] for alias, names in owners.items() if len(names) == 1 and names[0]}


def together(first: Extraction, second: Extraction) -> Extraction:
    """What two readings of one chunk found; warnings are those of the first."""
    entities = {fold(entity.name): entity for entity in first.entities}
    for entity in second.entities:
        first_entity = entities.setdefault(fold(entity.name), entity)
        aliases = dict.fromkeys((*first_entity.aliases, *entity.aliases))
        entities[fold(entity.name)] = replace(
            first_entity, type=first_entity.type or entity.type, aliases=tuple(aliases)
        )
    return replace(
        first,
        entities=tuple(entities.values()),
        relations=(*first.relations, *second.relations),
        rejected=(*first.rejected, *second.rejected),
        mentions=tuple(sorted((*first.mentions, *second.mentions), key=lambda mention: mention.offset)),
        unread=first.unread + second.unread,
    )


NOTHING = Extraction((), (), (), (), None)
"""The result for a chunk that was not extracted."""


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """What the document tells of a chunk before it is read.

    Args:
        rows: of tables, in text order.
        columns: names of the columns of its first row, if the chunk does not hold them itself.
        turns: who speaks where, in text order.
        preceding: what stands before it in its document.
    """

    rows: tuple[Row, ...] = ()
    columns: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    preceding: Context = NO_CONTEXT


NO_CHUNK_CONTEXT = ChunkContext()


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk as a model is shown it.

    Args:
        language: BCP 47 tag of the text, None if unknown.
        title: of the document.
        context: its columns, and what stands before it.
    """

    text: str
    language: str | None
    title: str
    context: ChunkContext = NO_CHUNK_CONTEXT

    @property
    def described(self) -> dict[str, Any]:
        """What an extractor is told beside the text, by name."""
        return {"language": self.language, "title": self.title, "context": self.context}
