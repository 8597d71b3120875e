"""CSV results: the engine's bytes where it is right, and fields that hold together where it is not."""

from __future__ import annotations

import csv
import io

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.rdf.formats import write_csv

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
plain = st.one_of(
    st.none(),
    texts.map(ox.Literal),
    st.integers(-1000, 1000).map(ox.Literal),
    texts.map(lambda text: ox.Literal(text, language="en")),
    st.sampled_from([ox.NamedNode("http://example.org/a"), ox.NamedNode("urn:x")]),
)
comma = st.just(ox.NamedNode("http://example.org/a,b"))
triples = st.recursive(
    texts.map(lambda text: ox.Triple(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal(text))),
    lambda inner: inner.map(lambda term: ox.Triple(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), term)),
    max_leaves=3,
)


def solutions(rows: list[list[object]]) -> ox.QuerySolutions:
    """A query that gives these rows."""

    def written(term: object) -> str:
        return "UNDEF" if term is None else f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)

    lines = " ".join(f"({' '.join(map(written, row))})" for row in rows)
    found = ox.Store().query(f"SELECT ?a ?b ?c {{ VALUES (?a ?b ?c) {{ {lines} }} }}")
    assert isinstance(found, ox.QuerySolutions)
    return found


def ours(rows: list[list[object]]) -> bytes:
    """Rows as we write them."""
    output = io.BytesIO()
    write_csv(["a", "b", "c"], solutions(rows), output)
    return output.getvalue()


@given(st.lists(st.lists(plain, min_size=3, max_size=3), max_size=5))
def test_without_triple_terms_it_is_what_the_engine_writes(rows: list[list[object]]) -> None:
    assert ours(rows) == solutions(rows).serialize(format=ox.QueryResultsFormat.CSV)


@given(st.lists(st.lists(st.one_of(plain, comma, triples), min_size=3, max_size=3), max_size=5))
def test_every_row_has_its_fields(rows: list[list[object]]) -> None:
    _, *found = csv.reader(io.StringIO(ours(rows).decode(), newline=""))
    assert [len(row) for row in found] == [3] * len(rows)
    for row, fields in zip(rows, found, strict=True):
        for term, field in zip(row, fields, strict=True):
            assert field.startswith("<<( urn:s urn:p ") == isinstance(term, ox.Triple) or not field


def test_a_thousand_rows_come_whole() -> None:
    output = io.BytesIO()
    store = ox.Store()
    store.extend(ox.Quad(ox.NamedNode(f"urn:{n}"), ox.NamedNode("urn:p"), ox.Literal(n)) for n in range(1000))
    found = store.query("SELECT ?s ?o { ?s ?p ?o }")
    assert isinstance(found, ox.QuerySolutions)
    write_csv(["s", "o"], found, output)
    assert output.getvalue().count(b"\r\n") == 1001


def test_the_example_of_the_draft() -> None:
    said = ox.Literal('Hello world, my name is "Alice".')
    term = ox.Triple(ox.NamedNode("http://example/carol"), ox.NamedNode("http://example/says"), said)
    assert ours([[ox.Literal("Carol"), term, None]]) == (
        b'a,b,c\r\nCarol,"<<( http://example/carol http://example/says '
        b'""Hello world, my name is """"Alice"""".""\x20)>>",\r\n'
    )
