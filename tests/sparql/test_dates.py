"""`date_range`: days, months, years and times of one query are compared by their instants."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf import Engine
from graphrag_rdf.errors import TemplateError
from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.namespaces import RDFS, XSD
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql import parameters
from graphrag_rdf.sparql.parameters import Parameter
from graphrag_rdf.sparql.render import Renderer
from graphrag_rdf.store.base import Changes
from tests.docs.markdown import REPOSITORY

BODY = """SELECT ?v ?start ?end WHERE { {{ values("?v", x) }} {{ date_range("?v", "?start", "?end") }} }
ORDER BY ?start ?end"""


def query(values: list[ox.Literal]) -> str:
    declared = {"x": Parameter(type="term[]", sample=None)}
    return Renderer().render("test", BODY, parameters.convert("test", declared, {"x": values}))


def ranges(*values: ox.Literal) -> list[tuple[str, str | None, str | None]]:
    found = ox.Store().query(query(list(values)))
    assert isinstance(found, ox.QuerySolutions)
    return [
        (row["v"].value, row["start"] and row["start"].value, row["end"] and row["end"].value)
        for row in found
    ]


def literal(text: str, kind: str) -> ox.Literal:
    return ox.Literal(text, datatype=getattr(XSD, kind))


@pytest.mark.parametrize(
    ("text", "kind", "start", "end"),
    [
        ("1911-11-17", "date", "1911-11-17T00:00:00Z", "1911-11-17T23:59:59.999Z"),
        ("1911-11", "gYearMonth", "1911-11-01T00:00:00Z", "1911-11-30T23:59:59.999Z"),
        ("1912-02", "gYearMonth", "1912-02-01T00:00:00Z", "1912-02-29T23:59:59.999Z"),
        ("1900-02", "gYearMonth", "1900-02-01T00:00:00Z", "1900-02-28T23:59:59.999Z"),
        ("1911", "gYear", "1911-01-01T00:00:00Z", "1911-12-31T23:59:59.999Z"),
        ("-0044", "gYear", "-0044-01-01T00:00:00Z", "-0044-12-31T23:59:59.999Z"),
        ("-0044-03-15", "date", "-0044-03-15T00:00:00Z", "-0044-03-15T23:59:59.999Z"),
        ("12020", "gYear", "12020-01-01T00:00:00Z", "12020-12-31T23:59:59.999Z"),
        ("1911-05:00", "gYear", "1911-01-01T00:00:00-05:00", "1911-12-31T23:59:59.999-05:00"),
        ("1911-11+02:00", "gYearMonth", "1911-11-01T00:00:00+02:00", "1911-11-30T23:59:59.999+02:00"),
        ("1911-11-17Z", "date", "1911-11-17T00:00:00Z", "1911-11-17T23:59:59.999Z"),
        ("2026-11-21T10:52:45.5Z", "dateTime", "2026-11-21T10:52:45.5Z", "2026-11-21T10:52:45.5Z"),
        ("2026-11-21T10:52:45", "dateTime", "2026-11-21T10:52:45Z", "2026-11-21T10:52:45Z"),
        ("spring", "string", None, None),
        ("1911-13", "string", None, None),
    ],
)  # fmt: skip
def test_a_date_has_a_first_and_a_last_instant(text: str, kind: str, start: str, end: str) -> None:
    assert ranges(literal(text, kind)) == [(text, start, end)]


def test_dates_of_all_kinds_have_one_order() -> None:
    ordered = [
        literal("-0044-03-15", "date"),
        literal("0476", "gYear"),
        literal("1911-11-14", "date"),
        literal("1911-11-14T12:00:00Z", "dateTime"),
        literal("1911-11-14T12:00:00-01:00", "dateTime"),
        literal("1911-12", "gYearMonth"),
        literal("1912-01-01", "date"),
        literal("1912-01", "gYearMonth"),
        literal("1912", "gYear"),
        literal("12020", "gYear"),
    ]
    assert [value for value, _, _ in ranges(*reversed(ordered))] == [each.value for each in ordered]


@given(st.dates(), st.sampled_from(["date", "gYearMonth", "gYear"]))
def test_a_range_is_that_of_the_calendar(day: date, kind: str) -> None:
    text = day.isoformat()[: {"date": 10, "gYearMonth": 7, "gYear": 4}[kind]]
    ((_, start, end),) = ranges(literal(text, kind))
    first = {"date": day, "gYearMonth": day.replace(day=1), "gYear": day.replace(month=1, day=1)}[kind]
    last = {
        "date": day,
        "gYearMonth": (day.replace(day=28) + timedelta(4)).replace(day=1) - timedelta(1)
        if (day.year, day.month) != (9999, 12)
        else day.replace(day=31),
        "gYear": day.replace(month=12, day=31),
    }[kind]
    assert start == f"{first.isoformat()}T00:00:00Z"
    assert end == f"{last.isoformat()}T23:59:59.999Z"


def test_rdflib_finds_the_same() -> None:
    values = [literal("1911-11-17", "date"), literal("1912-02", "gYearMonth"), literal("1911-05:00", "gYear")]
    found = rdflib.Graph().query(query(values))
    assert (
        [[term.toPython() for term in row[1:]] for row in found]
        == [  # type: ignore[union-attr]
            [datetime.fromisoformat(bound or "").astimezone(UTC) for bound in row[1:]]
            for row in ranges(*values)
        ]
    )


def test_the_page_has_the_pattern_of_the_macro() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "dates.md").read_text("utf-8")
    macro = Renderer().render("test", '{{ date_range("?date", "?start", "?end") }}', {})
    wanted = [line for line in macro.splitlines() if line.startswith("BIND")]
    assert len(wanted) == 4
    assert re.findall(r"^ *(BIND\(.*)$", page, re.MULTILINE) == wanted


@pytest.mark.parametrize(
    ("value", "term"),
    [
        ("1911", '"1911"^^xsd:gYear'),
        ("-0044-03-15", '"-0044-03-15"^^xsd:date'),
        ("1912-02-29", '"1912-02-29"^^xsd:date'),
        ("1911-11Z", '"1911-11Z"^^xsd:gYearMonth'),
        ("1911-11-17T10:00:00", '"1911-11-17T10:00:00"^^xsd:dateTime'),
        (date(1911, 11, 17), '"1911-11-17"^^xsd:date'),
    ],
)
def test_a_parameter_is_a_date_of_any_kind(value: object, term: str) -> None:
    context = parameters.convert("test", {"x": Parameter(type="date", sample=None)}, {"x": value})
    assert str(context["x"]) == term.replace("xsd:", f"<{XSD}").replace("^^<", "^^<") + ">"


@pytest.mark.parametrize(
    "value", ["spring", "1911-13", "1911-02-30", "11-1911", "1911-11-17 ", "", 1911, '1911" x']
)
def test_other_parameters_are_refused(value: Any) -> None:
    with pytest.raises(TemplateError):
        parameters.convert("test", {"x": Parameter(type="date", sample=None)}, {"x": value})


def test_facts_of_a_period_have_dates_of_every_kind() -> None:
    """What holds since before the period, or begins in it; not what ended before it."""
    sank, built, caesar = (ox.NamedNode(f"http://example.org/{name}") for name in ("sank", "built", "died"))
    ship = ox.NamedNode("http://example.org/ship")
    with Engine.open(":memory:") as engine:
        engine.store.commit(
            Changes(
                add=[
                    prov.fact(ship, RDFS.label, ox.Literal("Ship")),
                    prov.fact(ship, sank, literal("1911-11-17", "date")),
                    prov.fact(ship, sank, literal("1911-12", "gYearMonth")),
                    prov.fact(ship, built, literal("1903", "gYear")),
                    prov.fact(ship, built, ox.Literal("1911")),
                    prov.fact(ship, caesar, literal("-0044-03-15", "date")),
                ]
            )
        )

        def found(start: str, end: str) -> list[str]:
            rows = engine.store.select("cookbook/facts-between", start=start, end=end)
            return [text_of(row["object"]) for row in rows]

        assert found("1911-11", "1911") == ["1911-11-17", "1911-12"]
        assert found("1911-11-18", "1920") == ["1911-12"]
        assert found("1903-05-01", "1903-05-01") == ["1903"]
        assert found("-0100", "1903") == ["-0044-03-15", "1903"]
