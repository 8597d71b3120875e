"""Whether candidate facts conform to the loaded ontologies.

Each rule is a template under `queries/conformance/` over rows of candidates and `urn:graph:ontology`. `check`
looks at candidates alone: domain, range, datatype, unit and value set. `check_together` looks at those of one
text: functional and inverse-functional properties, and maximum cardinalities. A text that gives two birthdays
was misread once. Different texts may differ, and that is no fault of a candidate: `facts conflicts` lists it.
What is missing (minimum cardinalities) is no fault either: `cookbook/incomplete` lists it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import match_key
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import Term, local_name, text_of
from graphrag_rdf.store.base import Row, Store
from graphrag_rdf.wings.ontologies.schema.units import compare, read_quantity, unit_of

_DATE = re.compile(r"-?\d{4}(?:-\d\d|$)")
_SIDES = {"domain": "subject", "range": "object"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate fact, in terms of an ontology.

    Attributes:
        number: of the candidate, among those that are checked together.
        property: of a loaded ontology.
        object: the name of an entity, or a value as a text.
        of_entity: whether the object is an entity.
        subject: its name.
        confidence: 0 to 1.
        subject_classes, object_classes: classes of loaded ontologies; empty if they are not known, which
            breaks no rule.
    """

    number: int
    property: NamedNode
    object: str
    of_entity: bool
    subject_classes: tuple[NamedNode, ...] = ()
    object_classes: tuple[NamedNode, ...] = ()
    subject: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the ontologies say of a candidate.

    Attributes:
        rule: the broken rule: `domain`, `range`, `datatype`, `unit` or `value_set`, together also
            `functional`, `inverse_functional` or `cardinality`; None if it conforms.
        axiom: the property whose axiom it breaks.
        why: in words.
        value: the object as the range wants it: a literal of its datatype, or a member of its value set;
            None if the range asks for nothing special.
        amount: the object as the text gives it, with its unit, if the value is only its number.
    """

    rule: str | None = None
    axiom: NamedNode | None = None
    why: str = ""
    value: Term | None = None
    amount: str | None = None


CONFORMS = Verdict()


def check(store: Store, candidates: Sequence[Candidate]) -> dict[int, Verdict]:
    """Check candidates against the ontologies in `urn:graph:ontology`.

    Returns:
        number → verdict.
    """
    found = {each.number: CONFORMS for each in candidates}
    if candidates:
        literals = [each for each in candidates if not each.of_entity]
        quantities = _quantities(store, literals)
        values = _values(store, literals, quantities)
        found |= values | _facets(store, literals, values)
        members = _members(store, candidates)
        found |= members
        found |= {
            number: verdict
            for number, verdict in _ends(store, candidates).items()
            if verdict.rule != "range" or number not in members or members[number].rule
        }
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
        rule: str = row["rule"]
        why = f"the {_SIDES[rule]} is {row['found']}, not {row['allowed']}"
        found.setdefault(row["number"], Verdict(rule, row["axiom"], why))
    return found


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A value with a unit, of a property with a declared one.

    Attributes:
        number: the value without its unit.
        wrong: what is wrong with the unit; None for a declared one.
        comparable: whether it is of the dimension of a declared unit.
    """

    number: str
    wrong: Verdict | None
    comparable: bool


def _quantities(store: Store, candidates: Sequence[Candidate]) -> dict[int, _Quantity]:
    read = {each.number: pair for each in candidates if (pair := read_quantity(each.object)) is not None}
    asked = sorted({each.property for each in candidates if each.number in read}, key=str)
    axioms: dict[Term, NamedNode] = {}
    declared: defaultdict[Term, dict[str, None]] = defaultdict(dict)
    for row in store.select("conformance/units", properties=asked) if asked else ():
        axioms[row["property"]] = row["axiom"]
        unit = row["unit"]
        own = local_name(unit.value) if isinstance(unit, NamedNode) else text_of(unit)
        declared[row["property"]] |= dict.fromkeys([own, *([row["name"]] if row["name"] is not None else [])])
    found: dict[int, _Quantity] = {}
    for each in candidates:
        if each.number in read and (wanted := declared.get(each.property)):
            number, unit_name = read[each.number]
            fit = compare(unit_name, wanted)
            names = tr(" or ").join(dict.fromkeys(unit_of(name).name for name in wanted))
            wrong = Verdict("unit", axioms[each.property], f"the unit is {unit_name}, not {names}")
            found[each.number] = _Quantity(number, None if fit == "same" else wrong, fit != "other")
    return found


def _values(
    store: Store, candidates: Sequence[Candidate], quantities: Mapping[int, _Quantity]
) -> dict[int, Verdict]:
    """Values as the range wants them. Of a quantity, a numeric range wants the number, in a declared unit."""
    texts = {
        each.number: quantities[each.number].number if each.number in quantities else each.object
        for each in candidates
    }
    rows = [(each.number, each.property, texts[each.number]) for each in candidates]
    cast: dict[int, Term | None] = {}
    wanted: dict[int, str] = {}
    for row in store.select("conformance/values", candidates=rows) if rows else ():
        cast[row["number"]] = cast.get(row["number"]) or row["value"]
        wanted[row["number"]] = row["datatype"].rpartition("#")[2]
    found = {}
    for each in candidates:
        value, quantity = cast.get(each.number), quantities.get(each.number)
        is_text = each.number not in cast or (isinstance(value, Literal) and value.datatype == XSD.string)
        if quantity and quantity.wrong and not (is_text and quantity.comparable):
            found[each.number] = quantity.wrong
        elif quantity and is_text:
            continue  # the text keeps the unit
        elif value is not None:
            found[each.number] = Verdict(value=value, amount=each.object if quantity else None)
        elif each.number in cast:
            why = f"the value is no xsd:{wanted[each.number]}"
            found[each.number] = Verdict("datatype", each.property, why)
    return found


def _facets(
    store: Store, candidates: Sequence[Candidate], values: Mapping[int, Verdict]
) -> dict[int, Verdict]:
    """Values that a restricted datatype, such as `xsd:integer[>= 0]`, excludes."""
    cast = ((each, values.get(each.number, CONFORMS).value) for each in candidates)
    rows = [(each.number, each.property, value) for each, value in cast if value is not None]
    found: dict[int, Verdict] = {}
    for row in store.select("conformance/facets", candidates=rows) if rows else ():
        facet = row["facet"].rpartition("#")[2]
        why = f"the datatype of the value has {facet} {row['bound']}"
        found.setdefault(row["number"], Verdict("datatype", row["axiom"], why))
    return found


def _members(store: Store, candidates: Sequence[Candidate]) -> dict[int, Verdict]:
    asked = sorted({each.property for each in candidates}, key=str)
    axioms: dict[Term, NamedNode] = {}
    sets: defaultdict[Term, dict[str, Row]] = defaultdict(dict)
    rows = (store.select(f"conformance/{kind}", properties=asked) for kind in ("members", "concepts"))
    for row in chain.from_iterable(rows):
        axioms[row["property"]] = row["axiom"]
        sets[row["property"]].setdefault(match_key(row["name"]), row)
    found = {}
    for each in candidates:
        if members := sets.get(each.property):
            fitting = members.get(match_key(each.object))
            names = ", ".join(row["name"] for row in members.values())
            found[each.number] = (
                Verdict(value=fitting["member"])
                if fitting
                else Verdict("value_set", axioms[each.property], f"the object is none of: {names}")
            )
    return found


# --- candidates of one text --------------------------------------------------------------------------------


def check_together(store: Store, candidates: Sequence[Candidate]) -> dict[int, Verdict]:
    """Check candidates of one text that conform by themselves.

    The most confident one stands, then the first: a number → verdict for each of the others.
    """
    ranked = sorted(candidates, key=lambda each: (-each.confidence, each.number))
    by_number = {each.number: each for each in ranked}
    properties = [(each.number, each.property) for each in ranked]
    found: dict[int, Verdict] = {}
    rows = store.select("conformance/limits", candidates=properties) if properties else []
    groups: defaultdict[tuple[str, NamedNode, str], list[Candidate]] = defaultdict(list)
    limited = {(row["number"], row["rule"], row["axiom"]) for row in rows}
    for number, rule, axiom in sorted(limited, key=str):
        each = by_number[number]
        end = each.object if rule == "inverse_functional" else each.subject
        groups[rule, axiom, match_key(end)].append(each)
    for (rule, axiom, _), group in groups.items():
        shown = (lambda each: each.subject) if rule == "inverse_functional" else (lambda each: each.object)
        found |= _beyond(group, ranked, 1, rule, axiom, shown)
    return _cardinalities(store, ranked, properties) | found


def _cardinalities(
    store: Store, ranked: Sequence[Candidate], properties: Sequence[tuple[int, NamedNode]]
) -> dict[int, Verdict]:
    types = [(each.number, kind) for each in ranked for kind in each.subject_classes]
    if not types:
        return {}
    rows = store.select("conformance/cardinalities", candidates=properties, types=types)
    by_number = {each.number: each for each in ranked}
    pairs = {
        (kind, row["counted"])
        for row in rows
        if row["counted"] is not None
        for kind in by_number[row["number"]].object_classes
    }
    asked = sorted(pairs, key=str)
    within = {
        (row["class"], row["above"])
        for row in (store.select("conformance/within", pairs=asked) if asked else ())
    }
    groups: defaultdict[tuple[str, NamedNode, int, str], list[Candidate]] = defaultdict(list)
    for row in rows:
        each = by_number[row["number"]]
        counted = row["counted"]
        if counted is None or any((kind, counted) in within for kind in each.object_classes):
            key = (str(row["restriction"]), row["axiom"], row["most"], match_key(each.subject))
            if each not in groups[key]:
                groups[key].append(each)
    found: dict[int, Verdict] = {}
    for (_, axiom, most, _), group in sorted(groups.items(), key=str):
        found |= _beyond(group, ranked, most, "cardinality", axiom, lambda each: each.object)
    return found


def _beyond(
    group: Sequence[Candidate],
    ranked: Sequence[Candidate],
    most: int,
    rule: str,
    axiom: NamedNode,
    shown: Callable[[Candidate], str],
) -> dict[int, Verdict]:
    """A verdict for each candidate of a group beyond the first different ones."""
    kept: list[str] = []
    found = {}
    for each in sorted(group, key=ranked.index):
        value = shown(each)
        if any(_same(value, other) for other in kept):
            continue
        if len(kept) < most:
            kept.append(value)
        else:
            what = "subject" if rule == "inverse_functional" else "value"
            why = f"the text gives {' and '.join(kept)}, and at most {most} {what}{'s' * (most > 1)}"
            found[each.number] = Verdict(rule, axiom, why)
    return found


def _same(one: str, other: str) -> bool:
    """Whether two names or values do not differ: a year and a date in it, a name and a part of it."""
    a, b = match_key(one), match_key(other)
    if a == b or (_DATE.match(a) and _DATE.match(b) and (a.startswith(b) or b.startswith(a))):
        return True
    words, others = set(a.split()), set(b.split())
    return words <= others or others <= words


def disjoint_pairs(
    store: Store, pairs: Iterable[tuple[NamedNode, NamedNode]]
) -> set[tuple[NamedNode, NamedNode]]:
    """Those of the pairs of classes that loaded ontologies declare disjoint."""
    asked = sorted(set(pairs), key=str)
    rows = store.select("conformance/disjoint", pairs=asked) if asked else ()
    return {(row["one"], row["other"]) for row in rows}
