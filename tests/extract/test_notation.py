"""Statements in answers that are not JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.errors import LlmError
from graphrag_rdf.extract.answers import Found
from graphrag_rdf.extract.notation import statements_in

TEXT = "Night Ferry is by Noriko Abe. Lock, Stock and Barrel stars Ida Lund, Per Moe and Ola Rud."
DIRECTED = ("Night Ferry", "director", "Noriko Abe")


def said(answer: str) -> list[tuple[str, ...]]:
    return [tuple(each.values()) for each in statements_in(answer, TEXT)]


@pytest.mark.parametrize(
    "answer",
    [
        "director(Night Ferry, Noriko Abe)",
        "director(Night Ferry,Noriko Abe).",
        "Triples:\n\n* director(Night Ferry, Noriko Abe)",
        "1. director(Night Ferry, Noriko Abe)",
        "The answer is `director(Night Ferry, Noriko Abe)`.",
        "-> director('Night Ferry', 'Noriko Abe')",
        "- (Night Ferry, director, Noriko Abe)",
        '[["Night Ferry", "director", "Noriko Abe"]]',
        'triples.append(("Night Ferry", "director", "Noriko Abe"))',
        "Night Ferry -> director -> Noriko Abe",
        "| Subject | Relation | Object |\n|---|---|---|\n| Night Ferry | director | Noriko Abe |",
        "(director(Night Ferry, Noriko Abe), director(Night Ferry, Noriko Abe))",
    ],
)
def test_notations(answer: str) -> None:
    assert said(answer) == [DIRECTED]


def test_underscores_that_are_escaped_for_markdown() -> None:
    assert said("cast\\_member(Night Ferry, Ida Lund)") == [("Night Ferry", "cast_member", "Ida Lund")]


@pytest.mark.parametrize(
    "answer",
    [
        "director((Night Ferry), Noriko Abe,)",
        "director(Night_Ferry, Noriko_Abe)",
        "director(\\*Night Ferry\\*, `Noriko Abe`)",
        'director(\\"Night Ferry\\", Noriko Abe)',
    ],
)
def test_names_lose_what_belongs_to_the_notation(answer: str) -> None:
    assert said(answer) == [DIRECTED]


def test_underscores_of_the_text_stay() -> None:
    found = statements_in("type(night_ferry, film)", "The table night_ferry is about a film.")
    assert [each["subject"] for each in found] == ["night_ferry"]


def test_commas_and_parentheses_in_names() -> None:
    assert said("cast member(Lock, Stock and Barrel,Ida Lund)") == [
        ("Lock, Stock and Barrel", "cast member", "Ida Lund")
    ]
    assert said("director(Solaris (film), Noriko Abe)") == [("Solaris (film)", "director", "Noriko Abe")]


def test_commas_in_the_name_of_a_property() -> None:
    answer = "languages_spoken,_written_or_signed(Ida Lund, Norwegian), born_in(Ida Lund, Oslo)"
    assert [each[1] for each in said(answer)] == ["languages_spoken,_written_or_signed", "born_in"]


def test_a_list_of_objects() -> None:
    assert said("cast_member(Lock, Stock and Barrel, Ida Lund, Ola Rud)") == [
        ("Lock, Stock and Barrel", "cast_member", "Ida Lund"),
        ("Lock, Stock and Barrel", "cast_member", "Ola Rud"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "No statement can be read from the passage (it is short, and old).",
        "Night Ferry (Oslo, Norway) is a film",
        "director(Night Ferry)",
        "director(Night Ferry, )",
        "",
    ],
)
def test_prose_says_nothing(answer: str) -> None:
    assert said(answer) == []
    with pytest.raises(LlmError):
        Found().read(answer, text=TEXT)


@given(st.text(alphabet="ab ,|()[]\"'->:1.\\_\n", max_size=400))
def test_nothing_is_too_strange(answer: str) -> None:
    for subject, predicate, value in said(answer):
        assert subject
        assert predicate
        assert value


@pytest.mark.parametrize("piece", ["a(", "(a,", '["a",', "a -> ", "| ", "a_"])
def test_long_lines_end(piece: str) -> None:
    assert isinstance(said(piece * 5000), list)


def test_what_is_not_json_is_used_and_noted() -> None:
    found = Found()
    found.read("director(Night Ferry, Noriko Abe)", text=TEXT)
    (relation,) = found.relations.values()
    assert (relation.subject, relation.predicate, relation.object) == DIRECTED
    assert [each.reason for each in found.rejected] == ["not_json_but_statements"]


def test_json_is_read_as_json() -> None:
    item = {"subject": "Night Ferry", "predicate": "is f(a, b)", "object": "Noriko Abe"}
    found = Found()
    found.read(json.dumps({"relations": [item]}), text=TEXT)
    assert [each.predicate for each in found.relations.values()] == ["is f(a, b)"]
    assert found.rejected == []
