"""Odd terms, order and removal, in every kind of store."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import StoreError
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.names import unsettled
from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.namespaces import RDFS, SKOS, XSD, Graphs
from graphrag_rdf.rdf.terms import typed
from graphrag_rdf.store.base import Changes
from tests.support.stores import open_engine

pytestmark = pytest.mark.every_kind

A, B = NamedNode("urn:a"), NamedNode("urn:b")
TEXTS = (
    *(
        '"} ; DROP ALL #\\\n\r\t\u2028',
        "",
        "  two  spaces ",
        "\u00a0",
        "e\u0301 é",
        "😀 𝐀",
        "\u0001",
        "\ufffd",
    ),
    *("'''", "$1 \\1 %20 ?x {{ y }}", "x" * 70_000),
)
TYPED = {
    XSD.boolean: ("true", "false"),
    XSD.integer: ("0", "-3", "2147483648", "9007199254740993"),
    XSD.decimal: ("2.5", "-0.1", "100000.25"),
    XSD.double: ("0.1", "0.12345678901234566", "123456789.123456", "0.000000123456789", "0.1000000001"),
    XSD.date: ("1911-11-17", "2026-02-28"),
    XSD.dateTime: ("2026-11-21T00:52:45.84Z", "2026-11-21T00:52:45.111Z"),
    XSD.gYear: ("1911",),
    XSD.gYearMonth: ("1911-11",),
    NamedNode("urn:mine"): ("123", "true"),
}
LITERALS = (
    *map(Literal, TEXTS),
    *(Literal("Straße", language=tag) for tag in ("de", "en-GB", "zh-Hans", "ar")),
    *(typed(text, datatype.value) for datatype, texts in TYPED.items() for text in texts),
)
EARLY = typed("-0044", XSD.gYear.value)
REFUSED = {("virtuoso", datatype) for datatype in (XSD.duration, XSD.time, XSD.integer)}
CHANGED = {("virtuoso", EARLY)}
"""What an engine cannot do; docs/scale-out.md tells it."""


@pytest.fixture(scope="module")
def engine(store_kind: str) -> Iterator[Engine]:
    with open_engine(":memory:", config=Settings()) as opened:
        yield opened


def about(number: int, literal: Literal) -> Quad:
    return Quad(NamedNode(f"urn:{number}"), B, literal, Graphs.SOURCE)


def test_literals_come_back_and_can_be_taken_out(engine: Engine) -> None:
    """As rows, as triples, by their value, and gone when they are removed as they came back."""
    written = {about(number, literal) for number, literal in enumerate(LITERALS)}
    store = engine.store
    store.commit(Changes(add=list(written)))
    assert {quad for quad in store.quads(Graphs.SOURCE) if quad.predicate == B} == written
    rows = store.query(f"SELECT ?s ?o {{ GRAPH {Graphs.SOURCE} {{ ?s {B} ?o }} }}").rows or []
    assert {(row["s"], row["o"]) for row in rows} == {(quad.subject, quad.object) for quad in written}
    for quad in written:
        assert store.query(f"ASK {{ GRAPH {Graphs.SOURCE} {{ ?s {B} {quad.object} }} }}").boolean, quad.object
    store.commit(Changes(remove=[Quad(row["s"], B, row["o"], Graphs.SOURCE) for row in rows]))  # type: ignore[arg-type]
    assert [quad for quad in store.quads(Graphs.SOURCE) if quad.predicate == B] == []


@pytest.mark.parametrize(
    "literal",
    [
        *(typed(text, XSD.integer.value) for text in ("12345678901234567890", "-9223372036854775809")),
        typed("12.345678901234567", XSD.decimal.value),
        typed("P1D", XSD.duration.value),
        typed("12:30:00", XSD.time.value),
        EARLY,
    ],
    ids=str,
)
def test_a_literal_that_is_not_kept_is_refused_or_told(
    engine: Engine, store_kind: str, literal: Literal, caplog: pytest.LogCaptureFixture
) -> None:
    if (store_kind, literal.datatype) in REFUSED:
        with pytest.raises(StoreError, match=re.escape(f"cannot store {literal}")):
            engine.store.commit(Changes(add=[about(0, literal), about(1, Literal("x"))]))
    else:
        engine.store.commit(Changes(add=[about(0, literal)]))
        found = engine.store.query(f"SELECT ?o {{ GRAPH {Graphs.SOURCE} {{ ?s {B} ?o }} }}").rows or []
        kept = [row["o"] for row in found] == [literal]
        assert kept == ((store_kind, literal) not in CHANGED)
        assert kept == (str(literal) not in caplog.text)
        assert engine.store.query(f"ASK {{ GRAPH {Graphs.SOURCE} {{ ?s {B} {literal} }} }}").boolean
        engine.store.commit(Changes(remove=[about(0, found[0]["o"])]))  # type: ignore[arg-type]
    assert list(engine.store.quads(Graphs.SOURCE)) == []


def test_rows_are_ordered_by_code_point(engine: Engine) -> None:
    texts = ["zz", "Äb", "a", "Z", "A b", "A-b", "Ab", "a b", "1", "é", "e\u0301", "ß", "ﬀ", "あ"]
    things = [about(number, Literal(text)) for number, text in enumerate(texts)]
    engine.store.commit(Changes(add=things))
    rows = engine.store.query(f"SELECT ?o {{ GRAPH {Graphs.SOURCE} {{ ?s {B} ?o }} }} ORDER BY ?o").rows
    assert [row["o"].value for row in rows or []] == sorted(texts)  # type: ignore[union-attr]
    engine.store.commit(Changes(remove=things))


@pytest.mark.parametrize(
    ("names", "elected"),
    [
        (["inquiry", "Inquiry", "INQUIRY"], "INQUIRY"),
        (["Zoe", "Zoë", "zoe"], "Zoe"),
        (["a b", "a-b", "a_b"], "a b"),
        (["é", "e\u0301", "z"], "e\u0301"),
        (["x" * 2_000 + "b", "x" * 2_000 + "a"], "x" * 2_000 + "a"),
        (["b", "b", "a"], "b"),
        (["𝐀", "\uff21"], "\uff21"),
    ],
)
def test_of_equally_frequent_names_the_least_by_code_point_is_the_label(
    engine: Engine, store_kind: str, names: list[str], elected: str
) -> None:
    thing = NamedNode("http://trustgraph.ai/e/thing")
    held = [
        prov.contains(NamedNode(f"urn:s{n}"), thing, RDFS.label, Literal(name))
        for n, name in enumerate(names)
    ]
    label, *others = dict.fromkeys(names)
    told = [prov.fact(thing, RDFS.label, Literal(label))]
    told += [prov.fact(thing, SKOS.altLabel, Literal(name)) for name in others]
    engine.store.commit(Changes(add=[*held, *told, *unsettled([thing])]))
    settle(engine.store)
    rows = engine.store.select("labels/known", things=[thing])
    if store_kind == "jena" and names[0] == "𝐀":
        elected = "𝐀"  # Java orders texts by UTF-16 units; docs/scale-out.md tells it
    assert {row["name"].value for row in rows if row["property"] == RDFS.label} == {elected}  # type: ignore[union-attr]
    assert {row["name"].value for row in rows} == set(names)  # type: ignore[union-attr]
    names_of = [prov.fact(thing, row["property"], row["name"]) for row in rows]  # type: ignore[arg-type]
    engine.store.commit(Changes(remove=[*held, *names_of]))
