"""Checks of what guided extraction found: against the ontology, and against the text.

What fails is a rejected candidate, with the reason in words:

    breaks_domain, breaks_range, breaks_datatype, breaks_value_set    see `schema.conformance`
    names_class    subject or object is called as a class of the ontology, so it is no individual
    not_in_text    of the object a word, of the subject more than half of the words, or of a date the year is
                   neither in the chunk nor in what is told of it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.guided import Guide
from graphrag_rdf.extract.model import ChunkContext, Extraction, Rejected, RelationCandidate
from graphrag_rdf.extract.names import match_key
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.schema.conformance import Candidate, Verdict, check
from graphrag_rdf.store.base import Store

_DATES = frozenset(kind.value for kind in (XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth))


@dataclass(frozen=True, slots=True)
class Fault:
    """A statement that was rejected: reason, and why in words."""

    relation: RelationCandidate
    reason: str
    why: str

    @property
    def rejected(self) -> Rejected:
        """As a rejected candidate."""
        said = self.relation
        return Rejected(self.reason, f"{said.subject} | {said.predicate} | {said.object}: {self.why}")


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

    def share(self, name: str) -> float:
        """The share of the words of a name that occur, in any form and order."""
        words = set(analyse(name, self._language))
        return len(words & self._words) / len(words) if words else 1.0

    def has_year(self, date: str) -> bool:
        """Whether the year of a date occurs, at least its last two digits."""
        return date.lstrip("-")[2:4] in self._text


def conforming(
    store: Store, guide: Guide, found: Extraction, text: ReadText
) -> tuple[Extraction, list[Fault]]:
    """What of an extraction holds, with values in the datatypes that the ontology asks for; and the rest.

    Statements in other terms than those of the ontology are not checked.
    """
    verdicts = check(store, list(_candidates(found)))
    kept: list[RelationCandidate] = []
    faults: list[Fault] = []
    for number, relation in enumerate(found.relations):
        verdict = verdicts.get(number)
        fault = _fault(relation, verdict, guide, text) if verdict else None
        if fault:
            faults.append(fault)
        else:
            kept.append(_with_value(relation, verdict))
    rejected = (*found.rejected, *(fault.rejected for fault in faults))
    return replace(found, relations=tuple(kept), rejected=rejected), faults


def _candidates(found: Extraction) -> Iterator[Candidate]:
    classes = {
        match_key(each.name): (NamedNode(each.class_iri),) for each in found.entities if each.class_iri
    }
    for number, relation in enumerate(found.relations):
        if relation.property_iri:
            yield Candidate(
                number,
                NamedNode(relation.property_iri),
                relation.object,
                relation.object_is_entity,
                classes.get(match_key(relation.subject), ()),
                classes.get(match_key(relation.object), ()) if relation.object_is_entity else (),
            )


def _fault(relation: RelationCandidate, verdict: Verdict, guide: Guide, text: ReadText) -> Fault | None:
    if verdict.rule:
        return Fault(relation, f"breaks_{verdict.rule}", verdict.why)
    for name, least in _names(relation):
        if guide.names.class_of(name) is not None:
            return Fault(relation, "names_class", f"{name} is a class")
        if text.share(name) < least:
            return Fault(relation, "not_in_text", f"the text does not name {name}")
    if relation.datatype in _DATES and not text.has_year(relation.object):
        return Fault(relation, "not_in_text", f"the text does not have the year of {relation.object}")
    return None


def _names(relation: RelationCandidate) -> Iterator[tuple[str, float]]:
    """The names that the text has to have, with the least share of their words. What a text is about, it may
    call by a shorter name.
    """
    yield relation.subject, 0.5
    if relation.object_is_entity or relation.datatype is None:
        yield relation.object, 1.0


def _with_value(relation: RelationCandidate, verdict: Verdict | None) -> RelationCandidate:
    """A statement with its object as the range of its property wants it."""
    value = verdict.value if verdict else None
    if isinstance(value, NamedNode):
        return replace(relation, object_iri=value.value, object_is_entity=True, datatype=None)
    if isinstance(value, Literal):
        datatype = None if value.datatype == XSD.string else value.datatype.value
        return replace(relation, object=value.value, datatype=datatype, object_is_entity=False)
    return relation
