"""Doubles of an engine that prints six digits of them, completed from the same answer in Turtle."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import EndpointError
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.store.answers import TURTLE, ExactRows, exact_results, exact_triples
from graphrag_rdf.store.wrapper import Reply

# many of them print alike
DOUBLES = st.floats(-2, 2, allow_nan=False).map(lambda x: round(x, 8)) | st.floats(
    1e-12, 1e12, allow_nan=False
)
ROWS = st.lists(st.tuples(st.integers(0, 3), DOUBLES), max_size=12)


def reply(text: str, media_type: str = TURTLE) -> Reply:
    return Reply("urn:endpoint", 200, {"content-type": media_type}, io.BytesIO(text.encode()))


def printed(number: float) -> Literal:
    return Literal(f"{number:.6g}", datatype=XSD.double)


def decimal(number: float) -> str:
    return f"{number:.25f}".rstrip("0") + "0"


def results(rows: Sequence[tuple[int, float]]) -> ExactRows:
    """Rows as Virtuoso writes them in Turtle, in another order."""
    solutions = [
        f'[ :binding [ :variable "name" ; :value <urn:{name}> ] , [ :variable "x" ; :value {decimal(x)} ] ]'
        for name, x in random.Random(1).sample(rows, len(rows))
    ]
    listed = f"[] :solution {', '.join(solutions)} ." if rows else ""
    return exact_results(reply(f"@prefix : <http://www.w3.org/2005/sparql-results#> . {listed}"))


@given(ROWS)
def test_rows_get_their_digits_back(rows: list[tuple[int, float]]) -> None:
    exact = results(rows)
    found = [exact.of({"name": NamedNode(f"urn:{name}"), "x": printed(x)}) for name, x in rows]
    read = [(row["name"].value, float(row["x"].value)) for row in found if row]
    assert sorted(read) == sorted((f"urn:{name}", float(decimal(x))) for name, x in rows)
    alike = [(name, f"{x:.6g}") for name, x in rows]
    if len(set(alike)) == len(alike):
        assert [x for _, x in read] == [float(decimal(x)) for _, x in rows]
    assert exact.of({"name": NamedNode("urn:0"), "x": printed(1.5)}) is None


@given(ROWS)
def test_triples_get_their_digits_back(rows: list[tuple[int, float]]) -> None:
    rows = list({f"{name} {x:.6g}": (name, x) for name, x in rows}.values())
    exact = exact_triples(reply("".join(f"<urn:{name}> <urn:p> {decimal(x)} . " for name, x in rows)))
    for name, x in rows:
        row = exact.of({"s": NamedNode(f"urn:{name}"), "p": NamedNode("urn:p"), "o": printed(x)})
        whole = float(f"{x:.6g}") == float(decimal(x))
        assert row is None if whole else row is not None and float(row["o"].value) == float(decimal(x))


def test_what_is_no_double_stays() -> None:
    text = "@prefix : <http://www.w3.org/2005/sparql-results#> . "
    text += '[] :solution [ :binding [ :variable "x" ; :value 1.5 ] ] .'
    same = {"x": Literal("1.5", datatype=XSD.decimal)}
    assert exact_results(reply(text)).of(same) == same


@pytest.mark.parametrize(("text", "media_type"), [("<urn:a> <urn:b> ", TURTLE), ("", "text/html")])
def test_a_reply_that_is_no_turtle_is_an_error(text: str, media_type: str) -> None:
    with pytest.raises(EndpointError):
        exact_triples(reply(text, media_type))
