"""Cells, citations and places of text units: whatever is in them, nothing is raised."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.wings.msgraphrag import cells
from graphrag_rdf.wings.msgraphrag.citations import (
    Citation,
    parse_citations,
    without_citations,
    write_citations,
)
from graphrag_rdf.wings.msgraphrag.texts import place_units

ANY_CELL = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(ANY_CELL)
def test_no_cell_raises(cell: object) -> None:
    for read in (cells.text, cells.raw_text, cells.number, cells.integer, cells.texts):
        read(cell)
    cells.records(cell)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (["a", "b"], ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ("['a' 'b']", ("a", "b")),
        ("['a'\n 'b']", ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ("[]", ()),
        ("", ()),
        (None, ()),
        (math.nan, ()),
        ("a", ("a",)),
        (["a", None, "a"], ("a",)),
    ],
)
def test_lists_of_texts(cell: object, expected: tuple[str, ...]) -> None:
    assert cells.texts(cell) == expected


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), unique=True))
def test_lists_are_read_in_every_spelling(items: list[str]) -> None:
    for spelled in (items, json.dumps(items), repr(items)):
        assert cells.texts(spelled) == tuple(items)


@pytest.mark.parametrize("cell", [None, math.nan, math.inf, "", "many", True])
def test_what_is_not_a_number(cell: object) -> None:
    assert cells.number(cell) is None


def test_citations_of_all_tables() -> None:
    text = (
        "A [Data: Entities (5, 7); Relationships (23, +more); Claims (1), Sources (2); Reports (3)]. "
        "B [Data: X (9)]"
    )
    found, more = parse_citations(text)
    assert found == [
        Citation("entities", 5),
        Citation("entities", 7),
        Citation("relationships", 23),
        Citation("covariates", 1),
        Citation("text_units", 2),
        Citation("community_reports", 3),
        Citation("X", 9),
    ]
    assert more == 1
    assert without_citations(text) == "A. B"


@given(st.text(alphabet="[]()Data: Entities,;+more0123456789 "))
def test_no_text_raises(text: str) -> None:
    found, more = parse_citations(text)
    assert more >= 0
    assert all(citation.number >= 0 for citation in found)
    assert parse_citations(without_citations(text))[0] == [] or "[" in without_citations(text)


@given(
    st.dictionaries(
        st.sampled_from(["entities", "relationships", "covariates"]), st.sets(st.integers(0, 999))
    )
)
def test_written_citations_are_read_again(cited: dict[str, set[int]]) -> None:
    found, _ = parse_citations(write_citations(cited))
    assert {(each.table, each.number) for each in found} == {
        (table, number) for table, numbers in cited.items() for number in numbers
    }


def test_units_are_placed_in_order_without_metadata_and_broken_characters() -> None:
    text = "One two. One two. Three é"
    assert place_units(["One two.", "title: a.\nOne two.", "\ufeffThree \ufffd", "absent", " "], text) == [
        (0, 8),
        (9, 17),
        (18, 23),
        None,
        None,
    ]


@given(st.text(min_size=1), st.data())
def test_every_part_of_a_text_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    (span,) = place_units([part], text)
    wanted = part.removeprefix("\ufeff").strip().strip("\ufffd").strip()
    assert (text[slice(*span)] if span else "") == wanted
