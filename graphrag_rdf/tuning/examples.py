"""Worked examples for the extraction prompt, of what holds in a model's answers."""

from __future__ import annotations

from pydantic import ValidationError

from graphrag_rdf.extract.evidence import locate
from graphrag_rdf.extract.model import EntityCandidate, Extraction, RelationCandidate
from graphrag_rdf.extract.names import fold, match_key
from graphrag_rdf.extract.prompts import ExampleEntity, ExampleRelation, WorkedExample
from graphrag_rdf.ingest.facts import CandidateFilter
from graphrag_rdf.tuning.sample import Passage

LEAST_RELATIONS = 2
"""Of an example: one with fewer shows too little."""

_DATATYPES = {"gYear": "year", "integer": "integer", "decimal": "decimal", "boolean": "boolean"}


def worked_example(
    excerpt: Passage, found: Extraction, candidate_filter: CandidateFilter
) -> WorkedExample | str:
    """An example, of what holds in an answer; or a reason why it gives none.

    Only entities that the excerpt names, and statements between them whose quote stands in it, are taken, and
    of these what the ingest would take. A quote that differs in blanks or marks is replaced by the excerpt's
    own characters.
    """
    named, fit = fold(excerpt.text), candidate_filter.fit(found)
    entities = {match_key(one.name): one for one in fit.entities if fold(one.name) in named}
    relations: dict[tuple[str, ...], ExampleRelation] = {}
    for relation in fit.relations:
        place = locate(relation.quote, excerpt.text) if relation.quote else None
        ends = [relation.subject, *([relation.object] if relation.object_is_entity else [])]
        if place is not None and all(match_key(name) in entities for name in ends):
            quote = excerpt.text[place.offset : place.offset + place.length]
            key = (*map(match_key, (relation.subject, relation.object)), relation.predicate, quote)
            relations.setdefault(key, _relation(relation, quote))
    if len(relations) < LEAST_RELATIONS:
        return "too_few_facts_hold" if found.relations else "no_facts"
    try:
        return WorkedExample(
            text=excerpt.text,
            source=excerpt.chunk.value,
            entities=tuple(_entity(one, excerpt.text, named, candidate_filter) for one in entities.values()),
            relations=tuple(relations.values()),
        )
    except ValidationError:
        return "not_valid"


def _entity(one: EntityCandidate, text: str, named: str, candidate_filter: CandidateFilter) -> ExampleEntity:
    aliases = tuple(
        alias for alias in one.aliases if fold(alias) in named and not candidate_filter.unfit(alias)
    )
    place = locate(one.quote, text) if one.definition and one.quote else None
    return ExampleEntity(
        name=one.name,
        type=one.type,
        definition=one.definition if place else None,
        definition_evidence=text[place.offset : place.offset + place.length] if place else None,
        aliases=aliases,
    )


def _relation(one: RelationCandidate, quote: str) -> ExampleRelation:
    datatype = None
    if not one.object_is_entity:
        name = (one.datatype or "").rpartition("#")[2]
        datatype = _DATATYPES.get(name, "date" if name else "string")
    return ExampleRelation.model_validate(
        {
            "subject": one.subject,
            "predicate": one.predicate,
            "object": one.object,
            "object_is_entity": one.object_is_entity,
            "datatype": datatype,
            "evidence": quote,
            "confidence": 1.0 if one.confidence is None else one.confidence,
        }
    )


def shown(example: WorkedExample) -> set[str]:
    """What an example shows: types, relations, kinds of values, other names."""
    shown = {f"type {entity.type}" for entity in example.entities if entity.type}
    shown |= {f"predicate {relation.predicate}" for relation in example.relations}
    shown |= {f"value {relation.datatype}" for relation in example.relations if relation.datatype}
    return shown | ({"alias"} if any(entity.aliases for entity in example.entities) else set())
