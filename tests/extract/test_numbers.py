"""Dates, numbers and quantities as typed literals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.extract.numbers import XSD, find_literals


@pytest.mark.parametrize(
    ("text", "language", "lexical", "datatype"),
    [
        ("3 May 1871", "en", "1871-05-03", "date"),
        ("3rd of May, 1871", "en", "1871-05-03", "date"),
        ("May 3, 1871", "en", "1871-05-03", "date"),
        ("May 3rd 1871", "en", "1871-05-03", "date"),
        ("Sept. 5, 1900", "en", "1900-09-05", "date"),
        ("3. Mai 1871", "de", "1871-05-03", "date"),
        ("03.05.1871", "de", "1871-05-03", "date"),
        ("3 mei 1871", "nl", "1871-05-03", "date"),
        ("3 de mayo de 1871", "es", "1871-05-03", "date"),
        ("1871-05-03", None, "1871-05-03", "date"),
        ("1871年5月3日", "ja", "1871-05-03", "date"),
        ("May 1902", "en", "1902-05", "gYearMonth"),
        ("1871", "en", "1871", "gYear"),
        ("1871年", "zh", "1871", "gYear"),
        ("1,234", "en", "1234", "integer"),
        ("1.234", "de", "1234", "integer"),
        ("1.355", "en", "1.355", "decimal"),
        ("1,5", "de", "1.5", "decimal"),
        ("12", "en", "12", "integer"),
        ("12 km", "en", "12 km", None),
        ("40%", "en", "40%", None),
        ("$3 million", "en", "$3 million", None),
    ],
)
def test_typed(text: str, language: str | None, lexical: str, datatype: str | None) -> None:
    (found,) = find_literals(text.strip(), language)
    assert found.length == len(text.strip())
    assert (found.lexical, found.datatype) == (lexical, XSD + datatype if datatype else None)


@pytest.mark.parametrize(
    "text", ["31 February 1871", "version 1.2.3", "B83", "1960s", "three", "", "in 1871"]
)
def test_no_whole_literal(text: str) -> None:
    assert not [item for item in find_literals(text, "en") if item.length == len(text)]


def test_a_counted_number_is_no_year() -> None:
    assert [item.kind for item in find_literals("In 1871 it had 1500 workers.", "en")] == ["year", "number"]


@given(st.text(alphabet="0123456789.,:- %$年月日MayJune stof\n\u00a0٣", max_size=60))
def test_spans_lie_in_the_text_and_apart(text: str) -> None:
    end = 0
    for item in find_literals(text, "en"):
        assert item.offset >= end
        end = item.offset + item.length
        assert end <= len(text)
        assert item.length > 0
