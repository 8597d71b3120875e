"""Values with the datatypes that models name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.numbers import typed_literal

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("text", "datatype", "expected"),
    [
        ("1837-05-24", "date", ("1837-05-24", "date", True)),
        ("1837-05", "date", ("1837-05", "gYearMonth", True)),
        ("1837", "date", ("1837", "gYear", True)),
        ("-0044", "year", ("-0044", "gYear", True)),
        ("2020-01-02T03:04:05Z", "dateTime", ("2020-01-02T03:04:05Z", "dateTime", True)),
        ("1837-02-30", "date", ("1837-02-30", None, False)),
        ("spring 1837", "date", ("spring 1837", None, False)),
        ("40", "integer", ("40", "integer", True)),
        ("40.5", "integer", ("40.5", None, False)),
        ("1,200", "integer", ("1,200", None, False)),
        ("40.5", "decimal", ("40.5", "decimal", True)),
        ("40", "number", ("40", "integer", True)),
        ("True", "boolean", ("true", "boolean", True)),
        ("yes", "boolean", ("yes", None, False)),
        ("12 km", "string", ("12 km", None, True)),
        ("12 km", None, ("12 km", None, True)),
        ("12 km", "length", ("12 km", None, False)),
        ("40", "xsd:integer", ("40", "integer", True)),
        ("40", XSD + "integer", ("40", "integer", True)),
    ],
)
def test_datatypes(text, datatype, expected):
    form, kind, fits = expected
    assert typed_literal(text, datatype) == (form, kind and XSD + kind, fits)


@given(
    st.one_of(st.text(max_size=12), st.dates().map(str), st.floats().map(str), st.integers().map(str)),
    st.sampled_from(["date", "year", "integer", "decimal", "number", "boolean", "string", "dateTime"]),
)
def test_the_store_takes_every_typed_value(text, datatype):
    """What is given a datatype is valid for it: the store would keep anything else as ill-typed."""
    form, kind, _ = typed_literal(text, datatype)
    if kind is not None:
        assert Literal(form, datatype=NamedNode(kind)).datatype.value == kind
        assert form.isascii()


@pytest.mark.parametrize(
    ("text", "datatype", "lexical", "kind"),
    [
        ("13 December 1967", "date", "1967-12-13", "date"),
        ("Wednesday, 13 Dec. 1967", "string", "1967-12-13", "date"),
        ("December 13th, 1967", None, "1967-12-13", "date"),
        ("13. Dezember 1967", "date", "1967-12-13", "date"),
        ("13 de diciembre de 1967", "date", "1967-12-13", "date"),
        ("1967年12月13日", "date", "1967-12-13", "date"),
        ("December 1967", "date", "1967-12", "gYearMonth"),
        ("in 1967", "year", "1967", "gYear"),
    ],
)
def test_dates_in_words(text: str, datatype: str | None, lexical: str, kind: str) -> None:
    assert typed_literal(text, datatype) == (lexical, XSD + kind, True)


@pytest.mark.parametrize("text", ["1200", "about 13 December 1967", "1990-1994", "1200 BC", "32 May 1967"])
def test_what_is_no_single_date_stays_as_it_is(text: str) -> None:
    assert typed_literal(text, None) == (text, None, True)
