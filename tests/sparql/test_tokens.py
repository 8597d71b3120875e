"""The tokenizer is not fooled by what stands in strings, IRIs and comments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal

from graphrag_rdf.sparql.tokens import tokens


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?x", ["SELECT", "?x"]),
        ("?s<urn:p>?o.", ["?s", "<urn:p>", "?o", "."]),
        ("# LOAD\n?s", ["?s"]),
        ("<urn:#x> # y", ["<urn:#x>"]),
        ('"a # b" "\\"c"', ['"a # b"', '"\\"c"']),
        ("'it' '''a 'b' c'''", ["'it'", "'''a 'b' c'''"]),
        ('"""a "b" \\""""', ['"""a "b" \\""""']),
        ('""', ['""']),
        ("?a < ?b && ?c > 1", ["?a", "<", "?b", "&&", "?c", ">", "1"]),
        ("<<( ?s ?p ?o )>>", ["<<(", "?s", "?p", "?o", ")>>"]),
        ("<< ?s ?p ?o >>", ["<<", "?s", "?p", "?o", ">>"]),
        ("?s ?p ?o {| ?a ?b |}", ["?s", "?p", "?o", "{|", "?a", "?b", "|}"]),
        ("tg:a/rag:b", ["tg:a", "/", "rag:b"]),
        ('"x"@en-gb "1"^^xsd:integer', ['"x"', "@en-gb", '"1"', "^^", "xsd:integer"]),
        ("?x != -1.5e3", ["?x", "!=", "-1.5e3"]),
    ],
)
def test_tokens(query: str, expected: list[str]) -> None:
    assert [token.text for token in tokens(query)] == expected


@given(text=st.text())
def test_any_serialised_string_is_one_token(text: str) -> None:
    (token,) = tokens(str(Literal(text)))
    assert token.kind == "string"
    assert token.text == str(Literal(text))


@given(text=st.text())
def test_nothing_is_lost_but_space_and_comments(text: str) -> None:
    found = list(tokens(text))
    assert all(text[token.offset : token.offset + len(token.text)] == token.text for token in found)
    assert [token.offset for token in found] == sorted(token.offset for token in found)


def test_an_escape_in_an_iri_does_not_end_it() -> None:
    r"""`<x:\u0041'>` is one IRI: what follows its quote is code, and not a string."""
    found = [token.text for token in tokens(r"ASK { <x:\u0041'> a <x:\U00000041'> }")]
    assert found == ["ASK", "{", r"<x:\u0041'>", "a", r"<x:\U00000041'>", "}"]
