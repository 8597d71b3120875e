"""Whether candidate facts conform to the loaded ontologies: domain, range, datatype and value set.

Each rule is a template under `queries/conformance/` over rows of candidates and `urn:graph:ontology`. What
shows only between facts, such as a second value of a functional property or disjoint types, is no fault of
a candidate: `facts conflicts` lists it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.index.analyse import match_key
from graphrag_rdf.rdf.terms import Term, node_of, text_of
from graphrag_rdf.store.base import Row, Store

_SIDES = {"domain": "subject", "range": "object"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate fact, in terms of an ontology.

    Attributes:
        number: of the candidate, among those that are checked together.
        property: of a loaded ontology.
        object: the name of an entity, or a value as a text.
        of_entity: whether the object is an entity.
        subject_classes, object_classes: classes of loaded ontologies; empty if they are not known, which
            breaks no rule.
    """

    number: int
    property: NamedNode
    object: str
    of_entity: bool
    subject_classes: tuple[NamedNode, ...] = ()
    object_classes: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the ontologies say of a candidate.

    Attributes:
        rule: the broken rule: `domain`, `range`, `datatype` or `value_set`; None if it conforms.
        axiom: the property whose axiom it breaks.
        why: in words.
        value: the object as the range wants it: a literal of its datatype, or a member of its value set;
            None if the range asks for nothing special.
    """

    rule: str | None = None
    axiom: NamedNode | None = None
    why: str = ""
    value: Term | None = None


CONFORMS = Verdict()


def check(store: Store, candidates: Sequence[Candidate]) -> dict[int, Verdict]:
    """Check candidates against the ontologies in `urn:graph:ontology`.

    Returns:
        number → verdict.
    """
    found = {each.number: CONFORMS for each in candidates}
    if candidates:
        found |= _values(store, [each for each in candidates if not each.of_entity])
        found |= _members(store, candidates)
        found |= _ends(store, candidates)
    return found


def _ends(store: Store, candidates: Iterable[Candidate]) -> dict[int, Verdict]:
    types = [
        (each.number, side, kind)
        for each in candidates
        for side, kinds in (("domain", each.subject_classes), ("range", each.object_classes))
        for kind in kinds
    ]
    if not types:
        return {}
    typed = {number for number, *_ in types}
    properties = [(each.number, each.property) for each in candidates if each.number in typed]
    found: dict[int, Verdict] = {}
    for row in store.select("conformance/ends", candidates=properties, types=types):
        rule = text_of(row["rule"])
        why = f"the {_SIDES[rule]} is {text_of(row['found'])}, not {text_of(row['allowed'])}"
        found.setdefault(_number(row), Verdict(rule, node_of(row["axiom"]), why))
    return found


def _values(store: Store, candidates: Iterable[Candidate]) -> dict[int, Verdict]:
    rows = [(each.number, each.property, each.object) for each in candidates]
    cast: dict[int, Term | None] = {}
    wanted: dict[int, str] = {}
    for row in store.select("conformance/values", candidates=rows) if rows else ():
        cast[_number(row)] = cast.get(_number(row)) or row.get("value")
        wanted[_number(row)] = text_of(row["datatype"]).rpartition("#")[2]
    return {
        number: Verdict(value=cast[number])
        if cast[number] is not None
        else Verdict("datatype", prop, f"the value is no xsd:{wanted[number]}")
        for number, prop, _ in rows
        if number in cast
    }


def _members(store: Store, candidates: Sequence[Candidate]) -> dict[int, Verdict]:
    asked = sorted({each.property for each in candidates}, key=str)
    axioms: dict[Term, NamedNode] = {}
    sets: defaultdict[Term, dict[str, Row]] = defaultdict(dict)
    for row in store.select("conformance/members", properties=asked):
        axioms[row["property"]] = node_of(row["axiom"])
        sets[row["property"]].setdefault(match_key(text_of(row["name"])), row)
    found = {}
    for each in candidates:
        if members := sets.get(each.property):
            fitting = members.get(match_key(each.object))
            names = ", ".join(text_of(row["name"]) for row in members.values())
            found[each.number] = (
                Verdict(value=fitting["member"])
                if fitting
                else Verdict("value_set", axioms[each.property], f"the object is none of: {names}")
            )
    return found


def _number(row: Row) -> int:
    return int(text_of(row["number"]))
