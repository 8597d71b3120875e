"""Checks of what guided extraction found: against the ontology, and against the text.

What fails is a rejected candidate, with the reason in words:

    breaks_domain, breaks_range, breaks_datatype, breaks_unit, breaks_value_set    see `schema.conformance`
    breaks_functional, breaks_inverse_functional, breaks_cardinality    there is more than one in the text
    breaks_disjoint    a second type of an entity that excludes the first
    names_class    subject or object is called as a class, and is of no other class, so it is no individual
    not_in_text    of the object a word or number, of the subject a number or more than half of the words, or
                   of a date the year is neither in the chunk nor in what is told of it
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.model import ChunkContext, EntityCandidate, Extraction, Rejected, RelationCandidate
from graphrag_rdf.extract.names import match_key
from graphrag_rdf.extract.numbers import NumberSpan, numbers_in, worded_numbers
from graphrag_rdf.index.analyse import analyse, fold
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.store.base import Store
from graphrag_rdf.wings.ontologies.extract.guided import Guide
from graphrag_rdf.wings.ontologies.schema.conformance import (
    Candidate,
    Verdict,
    check,
    check_together,
    disjoint_pairs,
)

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+")
_YEARS = re.compile(r"\b(\d\d)(\d\d)\s?[-–/]\s?\1(\d\d)\b")
_DATES = frozenset(kind.value for kind in (XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth))


_REPAIRABLE = frozenset(
    {
        *("breaks_domain", "breaks_range", "breaks_datatype", "breaks_value_set", "names_class"),
        *("value_of_object_property", "predicate_not_in_ontology", "breaks_unit", "breaks_disjoint"),
        *("breaks_functional", "breaks_inverse_functional", "breaks_cardinality"),
    }
)


class ReadText:
    """What was read: a chunk with what is told of it.

    Args:
        language: BCP 47 tag, None if unknown.
    """

    def __init__(self, text: str, *, title: str, context: ChunkContext, language: str | None) -> None:
        before = context.preceding
        parts = (text, title, before.before, *before.headings, *context.columns)
        self._text = "\n".join(parts)
        self._language = language
        self._words = frozenset(analyse(self._text, language))
        self._amounts = {*worded_numbers(self._text)}
        for span in numbers_in(self._text):
            self._amounts |= _amounts(span, language)
        self._numbers = frozenset(_NUMBER.findall(f"{self._text}\n{_short_years(self._text)}"))
        written = _WORD.findall(fold(self._text))
        self._starts = {0, *accumulate(map(len, written))}  # of words, run together
        self._run = "".join(written)

    def names(self, name: str, least: float) -> bool:
        """Whether the text names something.

        All numbers of the name have to occur: NGC 6085 is not NGC 6104. The text may part the words
        otherwise, or by hyphens: "race walker" names a racewalker.

        Args:
            name: as a model gives it.
            least: the share of its words that have to occur, in any form and order.
        """
        words = set(analyse(name, self._language))
        if len(words & self._words) >= least * len(words):
            return self._numbers.issuperset(_NUMBER.findall(_short_years(name)))
        return self._has_run("".join(_WORD.findall(fold(name))))

    def _has_run(self, letters: str) -> bool:
        """Whether whole words are these letters, run together."""
        places = (place.start() for place in re.finditer(re.escape(letters), self._run))
        return any({place, place + len(letters)} <= self._starts for place in places)

    def gives(self, value: str) -> bool:
        """Whether the text gives a value. Numbers count, not their form: "1800.0" is "1,800 metres"."""
        given = [span for span in numbers_in(value) if not self._amounts.isdisjoint(_amounts(span, None))]
        for span in reversed(given):
            value = f"{value[: span.start]} {value[span.end :]}"
        return not _WORD.search(value) or self.names(value, 1.0)

    def has_year(self, date: str) -> bool:
        """Whether the year of a date occurs, at least its last two digits."""
        return date.lstrip("-")[2:4] in self._text


def _amounts(span: NumberSpan, language: str | None) -> set[Decimal]:
    """What a number means, with and without its scale."""
    return {value * scale for value in span.values(language) for scale in (1, span.scale)}


def _short_years(text: str) -> str:
    """2001-2002 as 2001-02."""
    return _YEARS.sub(r"\1\2-\3", text)


def conforming(store: Store, guide: Guide, found: Extraction, text: ReadText) -> Extraction:
    """What of an extraction holds, with values as the ontology asks for them. The rest is rejected.

    Statements in other terms than those of the ontology are not checked.
    """
    rejected = list(found.rejected)
    found = replace(found, entities=tuple(_one_type(store, found.entities, rejected)))
    candidates = {each.number: each for each in _candidates(found)}
    verdicts = check(store, list(candidates.values()))
    kept: list[RelationCandidate] = []
    for number, relation in enumerate(found.relations):
        verdict = verdicts.get(number)
        fault = _fault(relation, candidates[number], verdict, guide, text) if verdict else None
        if verdict and fault:
            rejected.append(_rejected(relation, *fault, verdict.axiom))
        else:
            kept.append(_with_value(relation, verdict))
    return within_limits(store, replace(found, relations=tuple(kept), rejected=tuple(rejected)))


def within_limits(store: Store, found: Extraction) -> Extraction:
    """What of an extraction holds together: see `schema.conformance.check_together`."""
    verdicts = check_together(store, list(_candidates(found)))
    kept: list[RelationCandidate] = []
    rejected = list(found.rejected)
    for number, relation in enumerate(found.relations):
        if (verdict := verdicts.get(number)) is None:
            kept.append(relation)
        else:
            rejected.append(_rejected(relation, f"breaks_{verdict.rule}", verdict.why, verdict.axiom))
    return replace(found, relations=tuple(kept), rejected=tuple(rejected))


def _rejected(relation: RelationCandidate, reason: str, why: str, axiom: NamedNode | None) -> Rejected:
    said = f"{relation.subject} | {relation.predicate} | {relation.object}: {why}"
    return Rejected(reason, said, axiom.value if axiom else None)


def _one_type(
    store: Store, entities: Sequence[EntityCandidate], rejected: list[Rejected]
) -> Iterator[EntityCandidate]:
    """Entities without types that exclude the first one of the same name."""
    first: dict[str, EntityCandidate] = {}
    pairs: dict[int, tuple[NamedNode, NamedNode]] = {}
    for number, each in enumerate(entities):
        if each.class_iri is None:
            continue
        known = first.setdefault(match_key(each.name), each)
        if known.class_iri and known.class_iri != each.class_iri:
            pairs[number] = NamedNode(known.class_iri), NamedNode(each.class_iri)
    excluded = disjoint_pairs(store, pairs.values())
    for number, each in enumerate(entities):
        if pairs.get(number) not in excluded:
            yield each
            continue
        other = first[match_key(each.name)].type
        said = f"{each.name} | type | {each.type}: it is also {other}, and nothing is both"
        rejected.append(Rejected("breaks_disjoint", said, each.class_iri))
        yield replace(each, type=None, class_iri=None)


def repairable(found: Extraction) -> list[str]:
    """The rejected statements that a model may be able to correct, each with the reason."""
    return [
        each.item if ": " in each.item else f"{each.item}: {each.reason.replace('_', ' ')}"
        for each in found.rejected
        if each.reason in _REPAIRABLE
    ]


def with_repairs(found: Extraction, repaired: Extraction) -> Extraction:
    """An extraction with corrected statements. What was rejected stays so."""
    return replace(
        found,
        relations=tuple(dict.fromkeys((*found.relations, *repaired.relations))),
        rejected=(*found.rejected, *repaired.rejected),
    )


def _candidates(found: Extraction) -> Iterator[Candidate]:
    classes: dict[str, tuple[NamedNode, ...]] = {}
    for each in found.entities:
        if each.class_iri:
            key = match_key(each.name)
            classes[key] = (*classes.get(key, ()), NamedNode(each.class_iri))
    for number, relation in enumerate(found.relations):
        if relation.property_iri:
            yield Candidate(
                number,
                NamedNode(relation.property_iri),
                relation.object,
                relation.object_is_entity,
                classes.get(match_key(relation.subject), ()),
                classes.get(match_key(relation.object), ()) if relation.object_is_entity else (),
                relation.subject,
                1.0 if relation.confidence is None else relation.confidence,
            )


def _fault(
    relation: RelationCandidate, candidate: Candidate, verdict: Verdict, guide: Guide, text: ReadText
) -> tuple[str, str] | None:
    """Why a statement does not hold: reason, and in words."""
    if verdict.rule:
        return f"breaks_{verdict.rule}", verdict.why
    ends = [(relation.subject, candidate.subject_classes)]
    if relation.object_is_entity and verdict.value is None:
        ends.append((relation.object, candidate.object_classes))
    for name, classes in ends:
        called = guide.names.class_of(name)
        # a film may be called "The Bridge", and nothing of the class bridge
        if called is not None and all(each.value == called.iri for each in classes):
            return "names_class", f"{name} is a class"
    value = relation.object
    if not text.names(relation.subject, 0.5):  # what a text is about, it may call by a shorter name
        return "not_in_text", f"the text does not name {relation.subject}"
    if relation.datatype in _DATES:
        if not text.has_year(value):
            return "not_in_text", f"the text does not have the year of {value}"
    elif relation.object_is_entity:
        if not text.names(value, 1.0):
            return "not_in_text", f"the text does not name {value}"
    elif relation.datatype != XSD.boolean.value and not text.gives(value):
        return "not_in_text", f"the text does not give {value}"
    return None


def _with_value(relation: RelationCandidate, verdict: Verdict | None) -> RelationCandidate:
    """A statement with its object as the range of its property wants it."""
    value = verdict.value if verdict else None
    if isinstance(value, NamedNode):
        return replace(relation, object_iri=value.value, object_is_entity=True, datatype=None)
    if isinstance(value, Literal):
        datatype = None if value.datatype == XSD.string else value.datatype.value
        relation = replace(relation, object=value.value, datatype=datatype, object_is_entity=False)
        if verdict and verdict.amount and not any(name == "amount" for name, *_ in relation.qualifiers):
            return replace(relation, qualifiers=(*relation.qualifiers, ("amount", verdict.amount, None)))
    return relation
