"""Names of relations that differ in form only, and names that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.schema.relation_forms import form_of

ALIKE = [
    "work at | works at | worked at | working at | has worked at | Works At | work_at | work-at | worksAt",
    "located in | is located in | was located in | are located in",
    "written by | was written by | is written by",
    "wrote | writes | has written",
    "part of | is part of | is a part of | was part of",
    "member of | was a member of | members of",
    "is called | was called | has been called",
    "stars | starring | starred",
    "visits | visited | visiting",
    "opens in | opened in | has opened in",
    "moves | moved",
    "stops at | stopped at",
    "is working for | works for | was working for",
    "founded | founds | has founded",
    "moved to | moves to | move to",
    "plans to build | planned to build",
    "ist Mitglied von | Mitglied von | war Mitglied von",
    "spielte für | spielten für | spielt für",
    "位于",
]
APART = [
    ("founded", "was founded"),
    ("founded", "founded by"),
    ("founded", "found"),
    ("found", "finds"),
    ("born in", "born on"),
    ("part of", "not part of"),
    ("works at", "no longer works at"),
    ("works at", "will work at"),
    ("works at", "works with"),
    ("played in", "was played in"),
    ("is like", "likes"),
    ("present in", "presented in"),
    ("author", "authored"),
    ("host", "hosts"),
    ("influence", "influenced"),
    ("is a play by", "played by"),
    ("gave", "given"),
    ("co-wrote with", "co-written with"),
    ("awarded", "awards"),
    ("broadcast on", "broadcasts on"),
    ("building of", "builds of"),
    ("director of", "directed"),
    ("located in", "location in"),
    ("has capital", "capital of"),
    ("hopes", "hops"),
    ("planned", "planed"),
    ("is", "has"),
    ("united with", "university with"),
    ("arbeitet an", "arbeitet"),
    ("gründete", "wurde gegründet"),
    ("位于", "属于"),
]


@pytest.mark.parametrize("names", ALIKE)
def test_names_that_differ_in_form_only(names: str) -> None:
    forms = {name: form_of(name) for name in names.split(" | ")}
    assert len(set(forms.values())) == 1, forms
    assert all(forms.values())


@pytest.mark.parametrize(("one", "other"), APART)
def test_names_that_say_something_else(one: str, other: str) -> None:
    assert not form_of(one) or form_of(one) != form_of(other)


@pytest.mark.parametrize("name", ["is", "was", "has", "had", "in", "is in", "is a", "", "?", "ist", "hat"])
def test_names_without_a_word_of_their_own_have_no_form(name: str) -> None:
    assert form_of(name) == ()


@given(st.text(max_size=40))
def test_any_text_has_one_form(name: str) -> None:
    assert form_of(name) == form_of(name)
    assert all(form_of(name))


@given(
    st.lists(
        st.sampled_from(
            [
                "is",
                "was",
                "has",
                "been",
                "a",
                "the",
                "work",
                "works",
                "part",
                "of",
                "in",
                "by",
                "not",
                "located",
            ]
        ),
        max_size=6,
    )
)
def test_case_and_hyphens_do_not_matter(words: list[str]) -> None:
    name = " ".join(words)
    assert form_of(name) == form_of(name.upper()) == form_of("-".join(words))
