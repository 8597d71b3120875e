"""Values of facts as their documents write them: for people, never for what is stored or compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from pyoxigraph import Literal

from graphrag_rdf.extract.numbers import find_literals, read_date
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf.namespaces import RAG, XSD
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.model import Fact

_CURRENCIES = frozenset(
    "aud brl cad chf cny czk dkk eur gbp hkd huf inr jpy krw mxn nok nzd pln sek sgd try usd zar".split()  # noqa: SIM905
)
_PERCENT = frozenset(("percent", "pct", "percentage", "%"))
_DATES = (XSD.date, XSD.gYearMonth)
_NUMBERS = (XSD.integer, XSD.decimal, XSD.double)
_FIGURE = re.compile(r"[+-]?\d[\d.,'’\u00a0\u202f ]*")
_AT_ONCE = 500
"""Facts of one query."""
_QUALIFIED = {RAG.since: later("since {value}"), RAG.until: later("until {value}")}
_AMOUNT = re.compile(r"(?P<number>[+-]?\d+(?:\.\d+)?) ?(?P<unit>[A-Z]{3}|%)")


def with_unit(text: str, relation: str) -> str:
    """A number with the currency or percent sign that ends the name of its relation or column; else the text.

    Args:
        relation: such as "amount gbp" or "share percent".
    """
    unit = relation.lower().split()[-1] if relation.split() else ""
    if not _FIGURE.fullmatch(text):
        return text
    if unit in _CURRENCIES:
        return f"{text} {unit.upper()}"
    return f"{text}%" if unit in _PERCENT else text


def as_written(fact: Fact, quotes: Iterable[str]) -> Fact:
    """A fact whose object is named as the first of these quotes writes it: "14 November 1911" for 1911-11-14.
    Where none does, numbers have no trailing zeros, and the unit of their relation.
    """
    value = fact.o
    if not isinstance(value, Literal) or value.datatype not in (*_DATES, *_NUMBERS):
        return fact
    for quote in quotes:
        for span in find_literals(quote):
            if span.datatype is not None and _equal(span.lexical, value):
                return replace(
                    fact, o_written=_labelled(quote[span.offset : span.offset + span.length], value, fact)
                )
    return replace(fact, o_written=_labelled(_shortest(value), value, fact))


def all_as_written(store: Store, facts: Sequence[Fact]) -> list[Fact]:
    """Facts whose objects are named as their quotes write them, see `as_written`."""
    edges = [
        (number, fact.s, fact.p, fact.o) for number, fact in enumerate(facts) if isinstance(fact.o, Literal)
    ]
    quotes: dict[int, list[str]] = {}
    for first in range(0, len(edges), _AT_ONCE):
        for row in store.select("provenance/quotes", edges=edges[first : first + _AT_ONCE]):
            quotes.setdefault(row["number"], []).append(row["quote"])
    return [as_written(fact, sorted(quotes.get(number, ()))) for number, fact in enumerate(facts)]


def qualifiers_of(store: Store, facts: Sequence[Fact]) -> list[list[str]]:
    """What the evidence of facts says beside them, in words: "since 1907", "Q1 2023"; none of most facts."""
    edges = [(number, fact.s, fact.p, fact.o) for number, fact in enumerate(facts)]
    words: list[set[str]] = [set() for _ in facts]
    for first in range(0, len(edges), _AT_ONCE):
        for row in store.select("provenance/qualifiers", edges=edges[first : first + _AT_ONCE]):
            number, value = row["number"], row["value"]
            shown = as_written(replace(facts[number], o=value, o_written=value.value), [row["quote"]]).o_words
            words[number].add(tr(_QUALIFIED.get(row["qualifier"], "{value}")).format(value=shown))
    return [sorted(each) for each in words]


def lexical_forms(text: str) -> list[str]:
    """A text, and the lexical form of the value that it writes: "14 November 1911", "85 GBP", "12.5%"."""
    forms = [text]
    if date := read_date(text):
        forms.append(date[0])
    if amount := _AMOUNT.fullmatch(text):
        forms.append(amount["number"])
    return forms


def _equal(lexical: str, value: Literal) -> bool:
    if value.datatype in _DATES:
        return lexical == value.value
    try:
        return Decimal(lexical) == Decimal(value.value)
    except InvalidOperation:
        return False


def _shortest(value: Literal) -> str:
    """A number without trailing zeros."""
    return re.sub(r"\.0+\Z|(\.\d*?)0+\Z", r"\1", value.value) if "." in value.value else value.value


def _labelled(text: str, value: Literal, fact: Fact) -> str:
    return with_unit(text, fact.p_label) if value.datatype in _NUMBERS else text
