"""Which text is which number or date, in digits and in words; values with the datatypes that models name."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.numbers import (
    XSD,
    find_literals,
    number_type,
    plain_number,
    typed_literal,
    worded_numbers,
)


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
        ("1871 年 5 月 3 日", "zh", "1871-05-03", "date"),
        ("May 1902", "en", "1902-05", "gYearMonth"),
        ("1871", "en", "1871", "gYear"),
        ("1871年", "zh", "1871", "gYear"),
        ("一八七一年五月三日", "zh", "1871-05-03", "date"),
        ("二〇〇三年十二月", "zh", "2003-12", "gYearMonth"),
        ("二零一〇年", "zh", "2010", "gYear"),
        ("1911年十一月十四日", "zh", "1911-11-14", "date"),
        ("民國四十八年三月十二日", "zh", "1959-03-12", "date"),
        ("民国元年", "zh", "1912", "gYear"),
        ("民國廿四年十二月卅一日", "zh", "1935-12-31", "date"),
        ("光緒三十一年", "zh", "1905", "gYear"),
        ("民國一百零八年五月", "zh", "2019-05", "gYearMonth"),
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


@given(st.text(alphabet="0123456789.,:- %$民国元年月日十百一二〇MayJune stof\n\u00a0٣", max_size=60))
def test_spans_lie_in_the_text_and_apart(text: str) -> None:
    end = 0
    for item in find_literals(text, "en"):
        assert item.offset >= end
        end = item.offset + item.length
        assert end <= len(text)
        assert item.length > 0


@given(
    st.integers(-(10**14), 10**14),
    st.none() | st.integers(0, 999_999),
    st.sampled_from([",", ".", "\u00a0", "\u202f", ""]),
    st.booleans(),
)
def test_a_number_is_read_back_however_it_is_written(
    whole: int, decimals: int | None, group: str, comma: bool
) -> None:
    if group == ("," if comma else "."):
        group = ""
    tail = "" if decimals is None else f"{',' if comma else '.'}{decimals}"
    lexical = plain_number(f"{whole:,}".replace(",", group) + tail, comma=comma)
    assert lexical == f"{whole}{tail}".replace(",", ".")
    assert number_type(lexical) == XSD + ("integer" if decimals is None else "decimal")


@pytest.mark.parametrize("text", ["", "-", "1,23,4", "1.2.3", "12,3456", "1,234\u00a0567", "1 234", "12 km"])
def test_what_is_no_number_with_a_point(text: str) -> None:
    assert plain_number(text, comma=False) is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("twenty-one", [21]),
        ("three hundred and twenty", [320]),
        ("two thousand four hundred", [2400]),
        ("one million two hundred thousand", [1_200_000]),
        ("two and three mills", [2, 3]),
        ("the seventh of twelve", [7, 12]),
        ("three quarters", ["0.75"]),
        ("vierundzwanzig", [24]),
        ("dreihundertfünfundsechzig Tage", [365]),
        ("am dreiundzwanzigsten", [23]),
        ("zweitausend Mark", [2000]),
        ("quatre mille deux cents", [4200]),
        ("quatre-vingt-dix-sept", [97]),
        ("mille neuf cent soixante-quinze", [1975]),
        ("la troisième", [3]),
        ("cuarenta y dos", [42]),
        ("ventiquattro", [24]),
        ("vierentwintig", [24]),
        ("工人一千二百人", [1200]),
        ("三十万元", [300_000]),
        ("五亿三千万", [530_000_000]),
        ("二〇二三年", [2023]),
        ("3 million, 1.2万", []),
        ("Seiten, Enten und unten; the end of a tension", []),
        ("", []),
    ],
)
def test_worded_numbers(text: str, numbers: list[int | str]) -> None:
    found = set(worded_numbers(text))
    assert {Decimal(number) for number in numbers} <= found
    assert numbers or not found


# --- values --------------------------------------------------------------------------------------------


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
        ("四萬八千", "integer", ("48000", "integer", True)),
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
