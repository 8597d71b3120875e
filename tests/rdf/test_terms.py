"""Terms and Python values: what is written is what a store gives back."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import terms
from graphrag_rdf.rdf.namespaces import PROV, RAG, TG, XSD
from graphrag_rdf.rdf.terms import Term

S, P = NamedNode("urn:s"), NamedNode("urn:p")


def stored(term: Literal) -> Term:
    """As a store gives it back."""
    store = ox.Store()
    store.add(Quad(S, P, term))
    return next(iter(store)).object  # type: ignore[return-value]


@given(number=st.floats(allow_nan=False))
def test_a_double_is_in_the_stores_own_spelling(number: float) -> None:
    assert stored(terms.double(number)) == terms.double(number)
    assert terms.to_python(terms.double(number)) == number


def test_not_a_number_is_a_double_too() -> None:
    assert math.isnan(terms.to_python(stored(terms.double(math.nan))))  # type: ignore[arg-type]


@given(number=st.integers(-(10**17), 10**17))
def test_an_integer_is_in_the_stores_own_spelling(number: int) -> None:
    assert stored(terms.integer(number)) == terms.integer(number)
    assert terms.to_python(terms.integer(number)) == number


@given(text=st.text())
def test_a_text_stays_as_it_is(text: str) -> None:
    assert terms.to_python(stored(terms.string(text))) == text


@given(moment=st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])))
def test_a_moment_is_utc_to_the_millisecond(moment: datetime) -> None:
    try:
        term = terms.datetime_(moment)
    except OverflowError:
        return  # the first and the last day of time, elsewhere on earth
    assert stored(term) == term
    back = terms.to_python(term)
    assert isinstance(back, datetime)
    assert timedelta(0) <= moment - back < timedelta(milliseconds=1)
    assert term.value.endswith("Z")


def test_years_have_four_digits() -> None:
    assert terms.datetime_(datetime(33, 4, 3, tzinfo=UTC)).value == "0033-04-03T00:00:00Z"


def test_now_can_be_written_and_read() -> None:
    moment = terms.now()
    assert terms.to_python(terms.datetime_(moment)) == moment


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (Literal("true", datatype=XSD.boolean), True),
        (Literal("0", datatype=XSD.boolean), False),
        (Literal("2.50", datatype=XSD.decimal), 2.5),
        (Literal("seven", datatype=XSD.integer), "seven"),
        (Literal("-0044-03-15T00:00:00Z", datatype=XSD.dateTime), "-0044-03-15T00:00:00Z"),
        (Literal("1791-12-26", datatype=XSD.date), "1791-12-26"),
        (Literal("x", language="en"), "x"),
        (NamedNode("urn:x"), "urn:x"),
    ],
)
def test_python_values(literal: Term, value: object) -> None:
    assert terms.to_python(literal) == value


def test_a_triple_term_has_no_single_value() -> None:
    with pytest.raises(TypeError):
        terms.to_python(Triple(S, P, S))


@pytest.mark.parametrize(
    ("term", "json"),
    [
        (NamedNode("urn:x"), {"type": "uri", "value": "urn:x"}),
        (BlankNode("b"), {"type": "bnode", "value": "b"}),
        (Literal("a"), {"type": "literal", "value": "a"}),
        (Literal("a", language="en"), {"type": "literal", "value": "a", "xml:lang": "en"}),
        (
            Literal("a", language="ar", direction=BaseDirection.RTL),
            {"type": "literal", "value": "a", "xml:lang": "ar", "its:dir": "rtl"},
        ),
        (Literal(7), {"type": "literal", "value": "7", "datatype": XSD.integer.value}),
        (
            Triple(S, P, Literal("a")),
            {
                "type": "triple",
                "value": {
                    "subject": {"type": "uri", "value": "urn:s"},
                    "predicate": {"type": "uri", "value": "urn:p"},
                    "object": {"type": "literal", "value": "a"},
                },
            },
        ),
    ],
)
def test_results_json(term: Term, json: dict[str, object]) -> None:
    assert terms.to_sparql_json(term) == json


def test_results_json_is_for_terms_only() -> None:
    with pytest.raises(TypeError):
        terms.to_sparql_json("text")  # type: ignore[arg-type]


def test_a_term_for_people() -> None:
    assert terms.text_of(Literal("a", language="en")) == "a"
    assert terms.text_of(Triple(S, P, Literal("a"))) == '<<( <urn:s> <urn:p> "a" )>>'


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("http://e.org/a/b", "b"), ("http://e.org/a#b", "b"), ("http://e.org/", "e.org"), ("urn:x", "urn:x"),
        ("http://e.org/a/%3Cb%3E-c%2Fd", "<b>-c/d"),
    ],
)  # fmt: skip
def test_local_names(iri: str, name: str) -> None:
    assert terms.local_name(iri) == name


def test_a_typed_literal() -> None:
    assert terms.typed("7", XSD.integer.value) == Literal(7)
    assert terms.typed("x", None) == Literal("x")


def test_namespaces() -> None:
    assert TG.contains == NamedNode("https://trustgraph.ai/ns/contains")
    assert RAG["a-b"] == NamedNode("https://w3id.org/graphrag-rdf/ns#a-b")
    assert PROV.Entity in PROV
    assert PROV.Entity not in TG
    assert PROV.local(PROV.Entity) == "Entity"
    with pytest.raises(AttributeError):
        PROV.__no_such__  # noqa: B018
