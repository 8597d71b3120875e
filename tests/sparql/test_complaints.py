"""What is wrong with a query is said at its place, without what only a parser reads."""

from __future__ import annotations

import contextvars
import re

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.i18n import set_language
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.sparql.complaints import complaint, place_in


def said(text: str) -> str:
    with pytest.raises(SyntaxError) as raised:
        ox.Store().query(text)
    return complaint(text, raised.value)


def pointed_at(message: str) -> str:
    """What stands at the mark, and after it."""
    _, line, mark = message.split("\n")
    return line[mark.index("^") :]


@pytest.mark.parametrize(
    ("text", "told", "rest"),
    [
        ("SELECT * WHERE { ?s ?p }", "line 1, column 24: unexpected text", "}"),
        ("SELECT * WHERE { ?s ?p", "line 1, column 23: unexpected end", ""),
        (
            "SELECT ?x { ?s foaf:name ?x }",
            "column 16: the prefix foaf: is not declared; write before the query: "
            "PREFIX foaf: <http://xmlns.com/foaf/0.1/>",
            "foaf:name ?x }",
        ),
        (
            "ASK { ?s geo:lat ?x }",
            "PREFIX geo: <http://www.w3.org/2003/01/geo/wgs84_pos#>",
            "geo:lat ?x }",
        ),
        ("ASK { ?s a :Ship }", "write before the query: PREFIX : <…>", ":Ship }"),
        ("ASK { ?s <urn:a>|x-1:b ?o . ?o a <urn:c:d> }", "PREFIX x-1: <…>", "x-1:b ?o . ?o a <urn:c:d> }"),
        (
            "SELECT ?x { BIND(xsd:date('a:b') AS ?x) }",
            "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>",
            "xsd:date('a:b') AS ?x) }",
        ),
        (
            "PREFIX a: <urn:a:>\nASK { ?s a:b ?o FILTER(?o < a:c && ?o > b:c) } # d:e",
            "PREFIX b: <…>",
            "b:c) } # d:e",
        ),
        ("ASK { ?s ?p '1'^^ex:type ; <urn:d:e> 'f:g' }", "PREFIX ex: <…>", "ex:type ; <urn:d:e> 'f:g' }"),
        ("SELECT * { ?s ?p ?o } ORDER BY fn:of(?s)", "PREFIX fn: <…>", "fn:of(?s)"),
        ("SELECT (COUNT(*) AS ?n) ?s { ?s ?p ?o }", "contains a variable that is unbound", "}"),
        ("SELECT * { ?s ?p ?o } LIMIT x", "line 1, column 29", "x"),
        ("SELECT * {\r\n\t?s ?p 'x' ]", "line 2, column 12", "]"),
        ("SELECT * { ?s ?p 'ß😀' ; }}", "line 1, column 26", "}"),
        ("", "line 1, column 1: unexpected end", ""),
        (
            "?g tg:contains ?t",
            "this is a pattern, not a query; a query is SELECT * { … }",
            "?g tg:contains ?t",
        ),
        ("ASK { ?s ?p http://a.org/s }", "IRIs stand in angle brackets: <http:…>", "http://a.org/s }"),
        ("ASK { GRAPH <explainability> {} }", "this IRI is relative or malformed", " {} }"),
        (
            "DELETE WHERE { ?s ?p ?o }",
            "line 1, column 1: this is an update, not a query",
            "DELETE WHERE { ?s ?p ?o }",
        ),
        (
            "# all\nPREFIX x: <urn:x>\n  CLEAR ALL",
            "line 3, column 3: this is an update, not a query",
            "CLEAR ALL",
        ),
        ("DROP ALL", "line 1, column 1: this is an update, not a query", "DROP ALL"),
        (
            '?g tg:contains <<http://example.org/s http://example.org/p "a b"@en>>',
            'in <<( )>>: <<( <http://example.org/s> <http://example.org/p> "a b"@en )>>; this is a pattern, '
            "not a query; a query is SELECT * { ?g tg:contains <<( <http://example.org/s>",
            '<<http://example.org/s http://example.org/p "a b"@en>>',
        ),
        (
            "ASK { ?g <urn:c> <<(?s urn:p http://a.org/A_(b))>> }",
            "<<( ?s <urn:p> <http://a.org/A_(b)> )>>",
            "<<(?s urn:p http://a.org/A_(b))>> }",
        ),
        (
            "ASK { ?g ?p '<<s p o>>', <<?s a o>> }",
            "column 26: o is no term; terms are IRIs in",
            "<<?s a o>> }",
        ),
        ("PREFIX a: <urn:x> FOO", "line 1, column 19: a query must begin with", "FOO"),
        ("SELEC * {}", "line 1, column 1: a query must begin with SELECT, ASK,", "SELEC * {}"),
    ],
)
def test_the_place_and_why(text: str, told: str, rest: str) -> None:
    message = said(text)
    assert told in message
    assert "[" not in message.split("\n")[0]
    assert pointed_at(message) == rest


def test_prefixes_of_the_program_are_not_shown() -> None:
    ours = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in ("rag", "tg"))
    message = said(f"{ours}SELECT * {{ ?s foaf:name ?o }}")
    assert message.split("\n")[1].strip() == "SELECT * { ?s foaf:name ?o }"
    assert pointed_at(message) == "foaf:name ?o }"
    assert "PREFIX x:" in said("PREFIX x: <urn:x> SELECT * { ?s foaf:name ?o }")


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_the_place_can_be_read_from_the_message(language: str) -> None:
    def read() -> list[tuple[int, int | None] | None]:
        set_language(language)
        ours = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in ("rag", "tg"))
        return [place_in(said(text)) for text in ("ASK {\n\t?s ?p 'x' ]", f"{ours}ASK {{ ?s }}")]

    assert contextvars.copy_context().run(read) == [(2, 12), (1, None)]
    assert place_in("at line 3") is None


def test_a_long_line_is_shown_around_the_place() -> None:
    message = said("SELECT * { " + "?s ?p ?o . " * 200 + "?s ?p ] " + ". ?s ?p ?o " * 200 + "}")
    assert max(map(len, message.split("\n"))) < 160
    _, line, mark = message.split("\n")
    assert "]" in line[mark.index("^") - 3 : mark.index("^") + 3], "the parser may be a word late"


def test_what_is_not_understood_is_passed_on() -> None:
    assert complaint("x", SyntaxError("no place")) == "the SPARQL is malformed: no place"


@given(st.text(max_size=200))
def test_whatever_is_written_has_a_mark_within_its_line(text: str) -> None:
    try:
        ox.Store().query(text)
    except SyntaxError as error:
        message = complaint(text, error)
    except (ValueError, RuntimeError):
        return
    else:
        return
    _, line, mark = message.rsplit("\n", 2)
    assert re.fullmatch(r" *\^", mark)
    assert len(mark) <= len(line) + 1
