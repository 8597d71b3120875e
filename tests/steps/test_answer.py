"""Markers, citations and warnings of an answer."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.llm.model import Completion
from graphrag_rdf.steps.answer import compose, read_answer
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.state import Selection, SentenceHit, State
from graphrag_rdf.trace.documents import Source


def selection(marker: int, quote: str) -> Selection:
    s, p, o = (NamedNode(f"http://example.org/{name}/{marker}") for name in "spo")
    edge = Edge((s, p, o), f"s{marker}", "is", f"o{marker}", hop=1, direction="out", origin=s)
    source = Source("urn:d", "Title", "file:///d", f"urn:chunk:{marker}", None, 10, len(quote), quote, True)
    return Selection(score=0.5, edge=edge, reasoning="chosen", sources=(source,), marker=marker)


def answered(text: str, *quotes: str) -> State:
    state = State("?", "en")
    state.selections = [selection(n, quote) for n, quote in enumerate(quotes, start=1)]
    state.completion = Completion(text, "m", None, None, None, False, "stop", 0.0, 1, "h")
    read_answer(state, set(range(1, len(quotes) + 1)))
    compose(state)
    return state


def kinds(state: State) -> set[str]:
    return {warning["type"] for warning in state.warnings}


def test_each_marker_is_resolved_to_its_edge_and_sources() -> None:
    state = answered("Ada wrote it [1]. Bob read it. [2]", "Ada wrote it", "Bob read it")
    assert [(c["marker"], c["edge"]["s_label"]) for c in state.final["citations"]] == [
        ("[1]", "s1"),
        ("[2]", "s2"),
    ]
    assert state.final["references"] == [
        {"label": "[1]", "source_id": "S1"},
        {"label": "[2]", "source_id": "S2"},
    ]
    assert state.final["citations"][1]["sentence"] == "Bob read it. [2]"
    assert not state.warnings


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Ada wrote it [7].", "invalid_citation"),
        ("It was in 1843.", "unreferenced_numeric"),
        ("It was in 1844 [1].", "unsupported_numeric"),
    ],
)
def test_what_is_wrong_with_an_answer_is_warned_of(text: str, kind: str) -> None:
    assert kind in kinds(answered(text, "It was in 1843", "Bob read it"))


def test_it_is_said_if_nothing_that_was_chosen_is_cited() -> None:
    state = State("?", "en")
    state.selections = [selection(1, "Ada wrote it"), selection(2, "Bob read it")]
    state.answer = "Bob read it [2]."
    compose(state)
    assert not kinds(state)
    state.selections[1].reasoning = None
    compose(state)
    assert kinds(state) == {"unused_sources"}


def test_a_number_that_the_cited_text_has_is_supported() -> None:
    assert not kinds(answered("It was in 1843 [1].", "It was in 1843"))


def test_general_knowledge_is_marked_and_cites_nothing() -> None:
    state = answered("Steam is hot at 100 degrees. [LLM: verify]", "Bob read it")
    assert kinds(state) == {"general_knowledge"}, "nobody allowed it"
    assert state.final["citations"] == []
    state.warnings, state.general_knowledge = [], True
    assert [(one.general, one.selections) for one in compose(state)] == [(True, ())]
    assert kinds(state) == set()


def test_the_seeds_spelling_of_markers_is_understood() -> None:
    assert len(answered("Ada wrote it [S1].", "Ada wrote it").final["citations"]) == 1


@pytest.mark.parametrize("text", ["Ada and Bob [1, 2].", "Ada and Bob [1; S2].", "Ada and Bob [1,2]."])
def test_several_numbers_in_one_pair_of_brackets_are_understood(text: str) -> None:
    """Models write them so, whatever the prompt says."""
    state = answered(text, "Ada wrote it", "Bob read it")
    assert [citation["marker"] for citation in state.final["citations"]] == ["[1]", "[2]"]
    assert not state.warnings


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("It had 1,200 lamps [1].", "It had 1200 lamps"),
        ("It sank on 17 November 1911 [1].", "It sank on 1911-11-17"),
        ("It grew by 12% [1].", "It grew by twelve per cent"),
    ],
)
def test_numbers_are_compared_by_value(text: str, quote: str) -> None:
    assert not kinds(answered(text, quote))


def test_the_numbers_of_a_list_claim_nothing() -> None:
    assert not kinds(answered("1. Ada wrote it [1].\n2. Bob read it [2].", "Ada wrote it", "Bob read it"))


def test_entities_of_sentences_are_told_with_their_frequency() -> None:
    """An answer that rests on sentences, not on facts, has entities too."""
    ada, bob = NamedNode("http://example.org/e/ada"), NamedNode("http://example.org/e/bob")
    state = State("?", "en")
    for number, entities in enumerate([(ada, bob), (ada,)], start=1):
        source = Source("urn:d", "T", "file:///d", "urn:chunk:1", None, 0, 3, "Ada", True)
        hit = SentenceHit(NamedNode(f"urn:chunk:1#s{number}"), entities)
        state.selections.append(Selection(score=0.5, hit=hit, sources=(source,), marker=number))
    state.entity_names = {ada.value: "Ada"}
    state.answer = "Ada. [1] [2]"
    compose(state)
    assert state.final["entities"] == [
        {"iri": ada.value, "name": "Ada", "freq": 2},
        {"iri": bob.value, "name": "bob", "freq": 1},
    ]
