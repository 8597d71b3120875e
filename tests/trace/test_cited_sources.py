"""The sources of an answer as people read them: by marker, each once."""

from __future__ import annotations

from typing import Any

import pytest

from graphrag_rdf.trace.messages import source_in_words, sources_by_marker

EDGE = {"s": "urn:s", "p": "urn:p", "o": "urn:o", "s_label": "Ada", "p_label": "met", "o_label": "Bob"}


def source(quote: str, page: int | None = None, document: str = "urn:doc:1") -> dict[str, Any]:
    return {"document": document, "page_number": page, "quote": quote}


def citation(marker: str, *sources: dict[str, Any], edge: dict[str, str] | None = None) -> dict[str, Any]:
    return {"marker": marker, "sources": [*sources]} | ({"edge": edge} if edge else {})


def test_a_marker_leads_to_the_sources_of_all_its_selections_each_once() -> None:
    one, other, elsewhere = source("One."), source("Other."), source("One.", page=2)
    answer = {
        "citations": [
            citation("[2]", one, edge=EDGE),
            citation("[1]", other),
            citation("[2]", one, other, elsewhere),
        ]
    }
    assert sources_by_marker(answer) == {
        "[2]": [(EDGE, one), (None, other), (None, elsewhere)],
        "[1]": [(None, other)],
    }


def test_facts_without_a_quote_are_told_apart() -> None:
    found = source("")
    facts = [citation("[1]", found, edge={**EDGE, "o_label": name}) for name in ("Bob", "Carl", "Bob")]
    assert [edge["o_label"] for edge, _ in sources_by_marker({"citations": facts})["[1]"] if edge] == [
        "Bob",
        "Carl",
    ]


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ({"quote": "He met Bob."}, "Notes: “He met Bob.”"),
        ({"quote": "He met Bob.", "page_number": 3}, "Notes, page 3: “He met Bob.”"),
        (
            {"quote": "He met Bob.", "verified": False},
            "Notes: “He met Bob.” (this quote was not found in the document's text)",
        ),
        ({}, "Notes: Ada met Bob (a fact, not a quotation)"),
        (
            {"char_offset": 1200, "char_length": 300},
            "Notes, characters 1,200–1,500: Ada met Bob (a fact, not a quotation)",
        ),
    ],
)
def test_a_source_is_told_by_its_place_and_its_quote_or_else_the_fact(of: dict[str, Any], words: str) -> None:
    assert source_in_words({"title": "Notes", "verified": True, **of}, EDGE) == words


def test_a_source_of_a_whole_chunk_is_told_by_its_place() -> None:
    found = {"title": "Notes", "char_offset": 0, "char_length": 80}
    assert source_in_words(found) == "Notes, characters 0–80"
