"""No value changes the structure of a query: it is one term, in the place where the template puts it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.rdf.namespaces import XSD, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql import parameters
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.parameters import Parameter
from graphrag_rdf.sparql.render import Renderer
from graphrag_rdf.sparql.tokens import Token, tokens

HOSTILE = (
    '"', "'", '"""', "'''",
    "\\", "\\\\", '\\"', "}", "{", "{{", "}}", "{% raw %}", "{# #}", "{{ x }}", "<", ">",
    ">>", ")>>", "<<(", "<urn:x>", "\n", "\r", "\t", "\x00", "\x01", "\x0b", "\x0c", "\x1f", "\x7f", "\x85",
    "\u2028", "\ufeff", "\u200b", "\U0001f600", "#", ";", ".", "?x", "$x", "@en", "^^", "&amp;", "&", "--",
    "\n\n", "PREFIX x: <urn:x>\n", '" . } ; DROP ALL #', "a\n \n b",
)  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=5)), max_size=6).map("".join)
IRIS = st.one_of(
    st.sampled_from(["urn:x", "http://example.org/é", "urn:a:{", "urn:%3E", "http://x/> } DROP"]),
    TEXTS.map(lambda text: f"http://example.org/{text}"),
)
LANGUAGES = st.sampled_from(["en", "zh-Hant", "de-CH-1996", "en}", 'x"', "a b", "en> }"])
BODY_TERMS = {"iri": NamedNode("urn:benign"), "string": Literal("benign"), "term": Literal("benign")}
ONE = "SELECT * WHERE { ?s ?p ?o FILTER(?o = {{ x }} || ?p = <urn:after>) } # the end"
MANY = 'SELECT * WHERE { {{ values("?o", x) }} ?s ?p ?o } LIMIT 7'
ROWS = 'SELECT * WHERE { {{ values("?s ?o", x) }} {{ contains("?c", "?s", "rdf:value", "?o") }} }'
INSERT = "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> {{ x }} } }"


def render(body: str, type_name: str, value: Any, **extra: Any) -> str:
    declared: Mapping[str, Parameter] = {"x": Parameter(type=type_name, sample=None)}
    context = parameters.convert("test", declared, {"x": value, **extra})
    return Renderer().render("test", body, context)


def same_but_for(rendered: str, benign: str, replaced: Mapping[str, str]) -> bool:
    """Whether two queries have the same tokens, each benign term standing where the other has its own."""
    found = [(token.kind, token.text) for token in tokens(rendered)]
    expected: list[tuple[str, str]] = []
    for token in tokens(benign):
        own = replaced.get(token.text)
        expected += [(t.kind, t.text) for t in tokens(own)] if own is not None else [(token.kind, token.text)]
    return found == expected


def literal(value: str) -> Literal:
    return Literal(value)


@given(text=TEXTS)
@pytest.mark.parametrize("type_name", ["string", "term"])
def test_a_text_is_one_string_token(text: str, type_name: str) -> None:
    value = literal(text)
    benign = render(ONE, type_name, BODY_TERMS["string"])
    rendered = render(ONE, type_name, value)
    assert same_but_for(rendered, benign, {'"benign"': str(value)})
    ox.Store().query(rendered)


@given(texts=st.lists(TEXTS, min_size=1, max_size=4))
def test_a_list_of_texts_is_as_many_string_tokens(texts: list[str]) -> None:
    rendered = render(MANY, "string[]", texts)
    strings = [token.text for token in tokens(rendered) if token.kind == "string"]
    assert strings == [str(Literal(text)) for text in texts]
    benign = render(MANY, "string[]", ["benign"] * len(texts))
    assert _shape(tokens(rendered)) == _shape(tokens(benign))
    ox.Store().query(rendered)


@given(iri=IRIS, text=TEXTS)
def test_a_row_is_as_many_tokens_in_its_place(iri: str, text: str) -> None:
    try:
        node = NamedNode(iri)
    except ValueError:
        with pytest.raises(TemplateError):
            render(ROWS, "(iri, string)[]", [(iri, text)])
        return
    rendered = render(ROWS, "(iri, string)[]", [(iri, text)])
    benign = render(ROWS, "(iri, string)[]", [("urn:benign", "benign")])
    assert same_but_for(rendered, benign, {"<urn:benign>": str(node), '"benign"': str(Literal(text))})
    ox.Store().query(rendered)


@given(st.text())
def test_a_note_of_a_row_is_a_comment_whatever_it_says(text: str) -> None:
    rows = [(1, Literal(text), 0.5), (2, NamedNode("urn:chunk:1#s0"), 0.25)]
    query = render(
        "SELECT ?n ?x WHERE { {{ values('?n ?x', x) }} } ORDER BY ?n", "(int, note, double)[]", rows
    )
    found = [[str(term) for term in row] for row in ox.Store().query(query)]  # type: ignore[union-attr]
    assert found == [[str(Literal(n)), str(Literal(x))] for n, _, x in rows]
    assert "# <urn:chunk:1#s0>\n" in query


def test_one_column_of_rows_makes_a_block() -> None:
    rows = [("urn:a", 1), ("urn:b", 2)]
    assert render("{{ values('?s', x, 0) }}", "(iri, int)[]", rows) == "VALUES ?s { <urn:a> <urn:b> }"


def test_rows_can_be_numbered():
    rows = [("urn:a", "urn:b"), ("urn:c", "urn:d")]
    several = render("{{ values('?n ?s ?o', x, numbered=true) }}", "(iri, iri)[]", rows)
    assert several == "VALUES (?n ?s ?o) { (0 <urn:a> <urn:b>) (1 <urn:c> <urn:d>) }"
    one = render("{{ values('?n ?s', x, numbered=true) }}", "iri[]", ["urn:a", "urn:c"])
    assert one == "VALUES (?n ?s) { (0 <urn:a>) (1 <urn:c>) }"
    assert render("{{ values('?n ?s', x, numbered=true) }}", "iri[]", []) == "VALUES (?n ?s) {  }"


@given(iri=IRIS)
def test_an_iri_is_one_token_or_refused(iri: str) -> None:
    try:
        node = NamedNode(iri)
    except ValueError:
        with pytest.raises(TemplateError, match="parameter x"):
            render(ONE, "iri", iri)
        return
    rendered = render(ONE, "iri", iri)
    assert same_but_for(rendered, render(ONE, "iri", "urn:benign"), {"<urn:benign>": str(node)})
    ox.Store().query(rendered)


@given(text=TEXTS, language=LANGUAGES)
def test_a_language_tag_is_checked_before_it_is_a_term(text: str, language: str) -> None:
    try:
        value = Literal(text, language=language)
    except ValueError:
        return
    rendered = render(ONE, "term", value)
    assert same_but_for(rendered, render(ONE, "term", Literal("benign")), {'"benign"': str(value)})
    ox.Store().query(rendered)


TERMS = st.one_of(
    TEXTS.map(Literal),
    st.builds(lambda text: Literal(text, language="de"), TEXTS),
    st.builds(lambda text: Literal(text, datatype=NamedNode("urn:datatype")), TEXTS),
    st.sampled_from([NamedNode("urn:x"), Literal(True), Literal(7), Literal(2.5)]),
)


@given(term=st.one_of(TERMS, TERMS.map(lambda o: Triple(NamedNode("urn:a"), NamedNode("urn:b"), o))))
def test_an_update_stores_exactly_the_value(term: Literal | NamedNode | Triple) -> None:
    store = ox.Store()
    store.update(render(INSERT, "term", term))
    assert [quad.object for quad in store] == [term]


@given(number=st.integers(-(10**30), 10**30))
def test_a_whole_number_prints_itself(number: int) -> None:
    assert render("SELECT * WHERE { BIND({{ x }} AS ?n) }", "int", number).count(str(number)) == 1


@given(number=st.floats())
def test_a_double_is_one_term(number: float) -> None:
    store = ox.Store()
    store.update(render(INSERT, "double", number))
    (quad,) = store
    assert quad.object == Literal(number)


@given(moment=st.datetimes(timezones=st.just(UTC)))
def test_a_date_and_time_is_one_term(moment: datetime) -> None:
    store = ox.Store()
    store.update(render(INSERT, "datetime", moment))
    (quad,) = store
    assert quad.object.datatype == XSD.dateTime  # type: ignore[union-attr]


def test_true_and_false_print_themselves() -> None:
    assert "true" in render("ASK { FILTER({{ x }}) }", "bool", True)


@given(text=TEXTS)
def test_every_template_keeps_its_structure(text: str) -> None:
    """Each text parameter of each shipped template, given a hostile value."""
    for template in LIBRARY.values():
        samples = template.samples()
        for name, parameter in template.params.items():
            if parameter.type not in ("string", "string[]"):
                continue
            values = [
                samples | {name: value if parameter.type == "string" else [value]} for value in ("b", text)
            ]
            benign, rendered = (template.render(RENDERER, **given) for given in values)
            assert _shape(tokens(rendered)) == _shape(tokens(benign)), template.name
            assert str(Literal(text)) in rendered


LIBRARY = TemplateLibrary(folder("queries"))
RENDERER = Renderer()


def _shape(found: Iterable[Token]) -> list[tuple[str, str]]:
    return [(token.kind, "" if token.kind == "string" else token.text) for token in found]


# --- what is refused -----------------------------------------------------------------------------

BLANK = BlankNode("b")
S, P = NamedNode("urn:s"), NamedNode("urn:p")


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("string", Markup("x")),
        ("iri", Markup("urn:x")),
        ("string[]", [Markup("x")]),
        ("(iri, string)[]", [("urn:x", Markup("x"))]),
        ("term", Markup("x")),
        ("term", "a text"),
        ("term", BLANK),
        ("term", Triple(BLANK, P, S)),
        ("term", Triple(S, P, Triple(S, P, BLANK))),
        ("iri", "no scheme"),
        ("iri", Literal("urn:x")),
        ("iri", "urn:\ud800"),
        ("string", "\ud800"),
        ("string", 7),
        ("string", None),
        ("iri[]", "urn:x"),
        ("iri[]", 7),
        ("(iri, iri)[]", [("urn:x",)]),
        ("(iri, iri)[]", ["urn:x"]),
        ("int", True),
        ("int", "7"),
        ("int", 7.0),
        ("double", "7"),
        ("double", True),
        ("bool", 1),
        ("datetime", "2026-01-01"),
    ],
)  # fmt: skip
def test_an_unfit_value_is_refused(type_name: str, value: object) -> None:
    with pytest.raises(TemplateError, match="parameter x"):
        render(MANY, type_name, value)


def test_a_missing_and_an_unknown_parameter_are_refused() -> None:
    template = LIBRARY["retrieval/labels"]
    with pytest.raises(TemplateError, match="missing parameter things"):
        template.render(RENDERER)
    with pytest.raises(TemplateError, match="unknown parameter more"):
        template.render(RENDERER, things=[], more=1)


@pytest.mark.parametrize(
    "body",
    [
        "{{ x|safe }}",
        "{{ x|upper }}",
        "{{ x|join }}",
        "{{ x._text }}",
        "{{ x.__html__() }}",
        "{{ x.__class__ }}",
        "{{ x['_text'] }}",
        "{{ x[0] }}",
        "{{ '%s' % x }}",
        "{{ '{}'.format(x) }}",
        "{{ x.__str__ }}",
        "{{ unknown }}",
        "{{ range(3) }}",
        "{{ lipsum() }}",
        "{{ [x] }}",
        "{{ 1 / 0 }}",
        "{{ values() }}",
        "{% include 'other' %}",
        "{{ values('?x) { } #', [x]) }}",
        "{{ contains('?c } #', '?s', '?p', '?o') }}",
        "{{ contains(x, 'rdfs:label .', '?p', '?o') }}",
    ],
)
def test_only_terms_can_be_printed(body: str) -> None:
    with pytest.raises(TemplateError):
        render(body, "string", "value")


def test_text_that_a_macro_made_is_not_escaped_again() -> None:
    assert 'VALUES ?o { "<" }' in render(MANY, "string[]", ["<"])


# --- folders -------------------------------------------------------------------------------------


def write(path: Path, name: str, body: str = "ASK {}", kind: str = "ask", params: str = "{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"# name: {name}\n# kind: {kind}\n# summary: A test.\n# params: {params}\n{body}\n", "utf-8"
    )
    return path


def test_a_users_folder_overrides_ours_file_by_file(tmp_path: Path) -> None:
    mine = write(tmp_path / "system" / "has-content.rq", "system/has-content", "ASK { ?s ?p ?o }")
    library = TemplateLibrary(folder("queries"), tmp_path)
    assert library["system/has-content"].path == mine
    assert len(library) == len(LIBRARY)
    assert library["retrieval/labels"].body == LIBRARY["retrieval/labels"].body


def test_a_users_template_cannot_reach_out_of_the_sandbox(tmp_path: Path) -> None:
    hole = "{% for k in x.__class__.__mro__[1].__subclasses__() %}{{ k }}{% endfor %}"
    write(tmp_path / "mine.rq", "mine", f"ASK {{ {hole} }}", params='{x: {type: string, sample: "a"}}')
    with pytest.raises(TemplateError, match="query mine"):
        TemplateLibrary(tmp_path)["mine"].render(RENDERER, x="a")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("ASK {}", "header"),
        ("# name: [\nASK {}", "header"),
        ("# name: t\n# kind: ask\nASK {}", "summary"),
        ("# name: other\n# kind: ask\n# summary: A test.\nASK {}", "the file is t"),
        ("# name: t\n# kind: update\n# summary: A test.\nCLEAR ALL", "kind update"),
        (
            "# name: t\n# kind: ask\n# summary: A test.\n# params: {x: {type: thing, sample: 1}}\nASK {}",
            "thing",
        ),
        ("# name: t\n# kind: ask\n# summary: A test.\n# author: me\nASK {}", "author"),
    ],
)
def test_a_malformed_template_names_its_file(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "t.rq").write_text(content, "utf-8")
    with pytest.raises(TemplateError, match=says) as caught:
        list(TemplateLibrary(tmp_path).values())
    assert "t.rq" in str(caught.value)


def test_an_unknown_name_says_where_names_are() -> None:
    with pytest.raises(TemplateError, match="unknown query") as caught:
        LIBRARY["no/such"]
    assert caught.value.hint


# --- from text -----------------------------------------------------------------------------------


@given(term=TERMS)
def test_a_term_is_read_back_from_its_text(term: Literal | NamedNode) -> None:
    assert parameters.parse_term(str(term)) == term


@given(text=TEXTS)
def test_any_other_text_is_a_plain_literal_or_refused(text: str) -> None:
    try:
        found = parameters.parse_term(text)
    except ValueError:
        assert text.startswith(('"', "<<("))
        return
    if not text.startswith(('"', "<")):
        assert found == Literal(text)


@pytest.mark.parametrize(
    ("type_name", "text", "value"),
    [
        ("int", "7", 7),
        ("double", "2.5", 2.5),
        ("bool", "True", True),
        ("iri", "<urn:x>", NamedNode("urn:x")),
        ("iri", "urn:x", NamedNode("urn:x")),
        ("iri[]", "urn:x", [NamedNode("urn:x")]),
        ("term", '"a"@en', Literal("a", language="en")),
        ("(iri, term)[]", [["urn:x", "b"]], [(NamedNode("urn:x"), Literal("b"))]),
        ("string", '"quoted"', '"quoted"'),
    ],
)
def test_values_are_read_from_the_command_line(type_name: str, text: Any, value: object) -> None:
    assert parameters.parse(type_name, text) == value


@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        ("int", "seven"), ("bool", "perhaps"), ("iri", "no scheme"), ("datetime", "soon"), ("term", '"a'),
        ("term", '"a" . <urn:x> <urn:y> "b"'), ("term", "<<( <urn:x> )>>"), ("(iri, term)[]", [["urn:x"]]),
    ],
)  # fmt: skip
def test_a_text_that_is_not_of_the_type_is_refused(type_name: str, text: Any) -> None:
    with pytest.raises(ValueError):
        parameters.parse(type_name, text)


def test_renderers_of_several_engines_share_what_is_compiled() -> None:
    """Compiling takes most of the time of a first rendering."""
    bodies = [f"# {number}\n{LIBRARY['retrieval/relation-names'].body}" for number in range(60)]
    relations = parameters.convert("x", LIBRARY["retrieval/relation-names"].params, {"relations": []})
    took = []
    for renderer in (Renderer("rdf12"), Renderer("classic", Graphs.FACTS)):
        start = time.thread_time()
        texts = [renderer.render("x", body, relations) for body in bodies]
        took.append(time.thread_time() - start)
        assert all((str(Graphs.FACTS) in text) == (renderer.dialect == "classic") for text in texts)
    assert took[1] < took[0] / 2
