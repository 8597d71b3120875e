"""The sources of an answer as people read them: by marker, each once."""

from __future__ import annotations

from typing import Any

from graphrag_rdf.trace.messages import sources_by_marker

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
