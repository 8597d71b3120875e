"""Guided extraction: what an extractor found in the terms of an ontology.

A prompt shows a model the terms that are relevant to a chunk. `Guide.apply` maps what a model or rules found:
names of types and relations to classes and properties, by label, skos:altLabel, IRI, or the end of the IRI
(`birthPlace`, `birth_place`). English forms of a verb count, too: "directed by" for "director". A name that
says the other direction ("director of", "directed") turns the statement around. Of properties with the same
name, the one is taken whose domain and range fit the types, then the most general. If none has the name, its
form counts: "worked at" for "works at" (`schema.relation_forms`). Else it may be a slip
(`extract.near_names`). A description loses its article: "The Lithuanian team", "The film".

    predicate_not_in_ontology    rejected (mode strict)
    type_not_in_ontology         the entity is kept without its type (mode strict)
    value_of_object_property     rejected: a date or number where the property relates things of some class
    breaks_datatype, names_class rejected: no number or date, or the class itself, where the range is a
                                 class of values (`schema.value_classes`)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from graphrag_rdf.extract.answers import predicate_key, predicate_phrase
from graphrag_rdf.extract.model import EntityCandidate, Extraction, Rejected, RelationCandidate
from graphrag_rdf.extract.names import fold, match_key
from graphrag_rdf.extract.numbers import read_date, typed_literal, worded_numbers
from graphrag_rdf.i18n import tr
from graphrag_rdf.llm.model import fenced
from graphrag_rdf.schema.relation_forms import Form, form_of
from graphrag_rdf.wings.ontologies.extract.near_names import NearNames
from graphrag_rdf.wings.ontologies.schema.model import Ontology, OntologyTerm
from graphrag_rdf.wings.ontologies.schema.selection import Selector, TermVectors
from graphrag_rdf.wings.ontologies.schema.units import number_of
from graphrag_rdf.wings.ontologies.schema.value_classes import ValueKind, words_of

Mode: TypeAlias = Literal["strict", "open"]

GUIDED_VERSION = "6"
"""Changes when the same facts would be brought into other terms, or checked otherwise."""

_LONGEST = 200  # characters of a description in a prompt
_DIRECTIONS = (" of", " by")
_READ_AS: Mapping[ValueKind, str] = {"text": "string", "amount": "number"}
_LEADING_DIGIT = re.compile(r"[^\w(]*\d")  # Boeing 747 is no amount
_NUMERIC = frozenset({"number", "integer"})
_AGENT = re.compile(r"(\w{3,}?)(?:er|or)")
_PASSIVE = re.compile(r"(\w{3,}?)ed by")
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_OF_TIME = re.compile(r"\b(?:date|year)\b", re.IGNORECASE)  # 1951 alone may count something, but not there
_IRREGULAR = {
    "writer": ("wrote", "written"),
    "builder": ("built", "built"),
    "maker": ("made", "made"),
    "leader": ("led", "led"),
    "holder": ("held", "held"),
    "seller": ("sold", "sold"),
    "teacher": ("taught", "taught"),
}


class Names:
    """Finds the terms of an ontology by name.

    Args:
        shortened: whether a name of a property may lack words.
    """

    def __init__(self, ontology: Ontology, *, shortened: bool = True) -> None:
        self._ontology = ontology
        self._classes: dict[str, list[OntologyTerm]] = {}
        self._properties: dict[str, list[tuple[OntologyTerm, bool]]] = {}
        self._by_range: dict[str, list[OntologyTerm]] = {}
        for term in ontology.terms.values():
            for name in (*term.names(), term.iri):
                if term.is_class:
                    _note(self._classes, _class_key(name), term)
                else:
                    _note(self._properties, predicate_key(predicate_phrase(name)), (term, False))
            for end in dict.fromkeys(term.ranges):
                self._by_range.setdefault(end, []).append(term)
        self._forms: dict[Form, list[tuple[OntologyTerm, bool]]] = {}
        for key, options in self._properties.items():
            if "://" not in key and (form := form_of(key)):
                self._forms.setdefault(form, []).extend(options)
        named = (
            (key, tuple(term.iri for term, _ in options))
            for key, options in self._properties.items()
            if "://" not in key
        )
        self._near = NearNames(named, shortened=shortened)
        for key, options in list(self._properties.items()):
            for form_name, turned in _other_forms(key):
                for term, _ in options:
                    if term.kind != "datatype" and not term.values and self._is_new(form_name, term):
                        _note(self._properties, form_name, (term, turned))

    def _is_new(self, key: str, term: OntologyTerm) -> bool:
        """Whether a key is no name of a term."""
        return (term, False) not in self._properties.get(key, ())

    def class_of(self, name: str) -> OntologyTerm | None:
        """The class with a name; of several, the most general, then the first by IRI."""
        classes = self._classes.get(_class_key(name), ())
        return min(classes, key=lambda term: (len(self._ontology.above(term.iri)), term.iri), default=None)

    def _of_class(self, name: str) -> list[tuple[OntologyTerm, bool]]:
        """The only property whose objects are of the class with a name, which models take for a property."""
        named = self.class_of(name)
        properties = self._by_range.get(named.iri, []) if named else []
        return [(properties[0], False)] if len(properties) == 1 else []

    def property_of(
        self, name: str, subject: str | None, value: str | None, *, of_thing: bool
    ) -> tuple[OntologyTerm, bool] | None:
        """The property with a name, and whether the name says its other direction.

        Args:
            subject, value: the classes of subject and object; None if unknown.
            of_thing: whether the object is a thing, not a value.
        """
        key = predicate_key(predicate_phrase(name))
        options = self._properties.get(key) or self._of_class(name)
        if not options:
            options = self._forms.get(form_of(key), [])
        if not options and (near := self._near.get(key)):
            options = self._properties[near]

        def rank(option: tuple[OntologyTerm, bool]) -> tuple[bool, bool, bool, int, str]:
            term, turned = option
            first, last = (value, subject) if turned else (subject, value)
            fits = (first is None or self._ontology.within(first, term.domains)) and (
                last is None or not of_thing or self._ontology.within(last, term.ranges)
            )
            general = len(self._ontology.above(term.iri))
            return turned, not fits, of_thing == (term.kind == "datatype"), general, term.iri

        return min(options, key=rank, default=None)


@dataclass
class Guide:
    """An ontology that guides extraction.

    Args:
        mode: `strict` rejects what the ontology has no property or class for; `open` keeps it as a proposal.
        limit: most terms that a prompt shows.
        vectors: find terms by meaning, too.
    """

    ontology: Ontology
    mode: Mode
    limit: int
    vectors: TermVectors | None = None
    selector: Selector = field(init=False)
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        self.selector = Selector(self.ontology, self.limit, self.vectors)
        self.names = Names(self.ontology, shortened=self.mode == "strict")

    @property
    def key(self) -> str:
        """What results depend on."""
        return f"guided={GUIDED_VERSION};ontology={self.ontology.digest};mode={self.mode}"

    @property
    def prompt_key(self) -> str:
        """What results depend on if a model is shown a part of the ontology."""
        by_meaning = f";vectors={self.vectors.name}" if self.vectors else ""
        return f"{self.key};terms={self.limit}{by_meaning}"

    @property
    def shows_all(self) -> bool:
        """Whether every chunk is shown all terms."""
        return self.selector.takes_all

    def shown(self, text: str, language: str | None) -> dict[str, Any]:
        """The terms for a chunk, as a prompt shows them."""
        return self._view(self.selector.select(text, language), language)

    def samples(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two views that differ as much as those of chunks do."""
        terms = list(self.ontology.terms.values())
        if self.selector.takes_all:
            return self._view(terms, None), self._view(terms, None)
        return self._view([], None), self._view(terms[:1], None)

    def _view(self, terms: Iterable[OntologyTerm], language: str | None) -> dict[str, Any]:
        def called(iri: str) -> str:
            term = self.ontology.terms.get(iri)
            return fenced(term.name(language) if term else words_of(iri))

        classes, properties = [], []
        for term in terms:
            if term.name(language) in map(called, term.parents):
                continue  # a name stands for the most general term that has it
            both = {"name": called(term.iri), "meaning": fenced(term.comment(language)[:_LONGEST])}
            if term.iri in self.ontology.value_classes:
                continue
            if term.is_class:
                classes.append({**both, "above": [called(iri) for iri in term.parents]})
            else:
                ends = {"subjects": term.domains, "objects": term.ranges}
                view = {end: [called(iri) for iri in iris] for end, iris in ends.items()}
                properties.append({**both, **view, "is_value": term.kind == "datatype"})
        return {"mode": self.mode, "classes": classes, "properties": properties}

    # --- answers ------------------------------------------------------------------------------------------

    def apply(self, extraction: Extraction) -> Extraction:
        """An extraction in the terms of the ontology; the rest is rejected or marked as proposed."""
        rejected = list(extraction.rejected)
        typed = [kind for each in extraction.entities for kind in _one_type_each(_bare(each))]
        named = [self._entity(each, rejected) for each in typed]
        entities = [each for each in named if not self._is_value(each)]
        classes = {match_key(each.name): each.class_iri for each in reversed(entities) if each.class_iri}
        relations = [
            self._relation(_with_bare_ends(each), classes, rejected) for each in extraction.relations
        ]
        kept = dict.fromkeys(each for each in relations if each is not None)
        return replace(extraction, entities=tuple(entities), relations=tuple(kept), rejected=tuple(rejected))

    def _entity(self, entity: EntityCandidate, rejected: list[Rejected]) -> EntityCandidate:
        if entity.type is None or not fold(entity.type):
            return entity
        if (class_ := self.names.class_of(entity.type)) is not None:
            return replace(entity, type=class_.name(), class_iri=class_.iri)
        if self.mode == "open":
            return replace(entity, proposed=True)
        rejected.append(Rejected("type_not_in_ontology", f"{entity.name} | type | {entity.type}"))
        return replace(entity, type=None)

    def _is_value(self, entity: EntityCandidate) -> bool:
        return self.ontology.value_classes.get(entity.class_iri or "", "amount") != "amount"

    def _relation(
        self, relation: RelationCandidate, classes: Mapping[str, str], rejected: list[Rejected]
    ) -> RelationCandidate | None:
        subject = classes.get(match_key(relation.subject))
        value = classes.get(match_key(relation.object)) if relation.object_is_entity else None
        option = self.names.property_of(
            relation.predicate, subject, value, of_thing=relation.object_is_entity
        )
        if option is not None and option[1] and (relation.of_term or not _names_thing(relation)):
            option = None  # a value, or the label of a line in a table, is no subject
        if option is None:
            if self.mode == "open":
                return replace(relation, proposed=True)
            rejected.append(Rejected("predicate_not_in_ontology", _said(relation)))
            return None
        term, turned = option
        mapped = replace(relation, predicate=term.name(), property_iri=term.iri)
        if term.values and (fault := self._no_value(term, relation.object)):
            if term.values != "amount":
                rejected.append(Rejected(fault[0], f"{_said(relation)}: {fault[1]}", term.iri))
                return None
        elif term.values or term.kind == "datatype":
            return _as_value(mapped, term)
        if not term.ranges and not relation.object_is_entity and _OF_TIME.search(term.name()):
            value, datatype, _ = typed_literal(relation.object, "date")
            mapped = replace(mapped, object=value, datatype=datatype)
        if term.kind == "object" or turned:
            if _names_thing(mapped):
                mapped = replace(mapped, object_is_entity=True, datatype=None)
            elif term.ranges:
                why = tr("{property} relates things: its range is {range}").format(
                    property=term.name(), range=self._called(term.ranges)
                )
                rejected.append(Rejected("value_of_object_property", f"{_said(relation)}: {why}", term.iri))
                return None
        return replace(mapped, subject=mapped.object, object=mapped.subject) if turned else mapped

    def _no_value(self, term: OntologyTerm, text: str) -> tuple[str, str] | None:
        """Why a text is no value of a property whose range is a class of values: reason, and in words."""
        called = self.names.class_of(text)
        if called is not None and called.iri in term.ranges:
            return "names_class", f"{text} is a class"
        is_value = {
            "text": True,
            "boolean": typed_literal(text, "boolean")[2],
            "amount": _LEADING_DIGIT.match(text) or read_date(text),
        }
        if is_value.get(term.values or "", re.search(r"\d", text) or any(worded_numbers(text))):
            return None
        return "breaks_datatype", f"the value is no {self._called(term.ranges)}"

    def _called(self, iris: Iterable[str]) -> str:
        terms = self.ontology.terms
        return " or ".join(terms[iri].name() if iri in terms else words_of(iri) for iri in iris)


def _bare(entity: EntityCandidate) -> EntityCandidate:
    return replace(entity, name=_bare_name(entity.name))


def _with_bare_ends(relation: RelationCandidate) -> RelationCandidate:
    value = _bare_name(relation.object) if relation.object_is_entity else relation.object
    return replace(relation, subject=_bare_name(relation.subject), object=value)


def _bare_name(name: str) -> str:
    """A description without its article. Names end in a capitalised word, as "The Night Ferry" does."""
    is_name = not name.rpartition(" ")[2][:1].islower()
    return name if is_name else _ARTICLE.sub("", name, count=1)


def _one_type_each(entity: EntityCandidate) -> Iterator[EntityCandidate]:
    """An entity, and itself with each other type."""
    yield replace(entity, other_types=())
    for type_ in entity.other_types:
        yield EntityCandidate(entity.name, type_, None, (), None)


def _names_thing(relation: RelationCandidate) -> bool:
    """Whether the object is, or can be, a thing: not a date, number or truth value."""
    return relation.object_is_entity or relation.datatype is None


def _as_value(relation: RelationCandidate, term: OntologyTerm) -> RelationCandidate:
    """A statement whose object is a value, of the property's range if it fits."""
    text = relation.object
    wanted = term.datatype or (_READ_AS.get(term.values, term.values) if term.values else relation.datatype)
    if term.values == "amount" and read_date(text) and not text.isdigit():
        wanted = "date"
    elif wanted in _NUMERIC:
        text = number_of(text) or text
    value, datatype, _ = typed_literal(text, wanted)
    return replace(relation, object=value, datatype=datatype, object_is_entity=False)


def _said(relation: RelationCandidate) -> str:
    return f"{relation.subject} | {relation.predicate} | {relation.object}"


def _class_key(name: str) -> str:
    return fold(predicate_phrase(name))


def _other_forms(key: str) -> Iterator[tuple[str, bool]]:
    """Other names of a relation, and whether they say its other direction: of "director", "director of" and
    "directed" do, and "directed by" does not.
    """
    for end in _DIRECTIONS:
        yield (key.removesuffix(end) if key.endswith(end) else key + end), True
    if key in _IRREGULAR:
        past, participle = _IRREGULAR[key]
        yield past, True
        yield f"{participle} by", False
    elif agent := _AGENT.fullmatch(key):
        yield f"{agent[1]}ed", True
        yield f"{agent[1]}ed by", False
    elif " or " in key:
        for part in key.split(" or "):
            if _AGENT.fullmatch(part):  # "discoverer or inventor"
                yield part, False
                yield from _other_forms(part)
    elif passive := _PASSIVE.fullmatch(key):
        yield f"{passive[1]}er", False
        yield f"{passive[1]}or", False


def _note(lists: dict[str, list[Any]], key: str, item: Any) -> None:
    held = lists.setdefault(key, [])
    if key and item not in held:
        held.append(item)
