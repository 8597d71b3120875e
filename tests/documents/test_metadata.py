"""Front matter, strings of JSON, and what tells the language of a table."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents import read_bytes
from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.table_json import unescaped
from graphrag_rdf.documents.tables import sentences_in
from graphrag_rdf.documents.text import storable_text

FRONT = """---
title: The Weir: a history
author: Ada Venn
date: 1931-05-01
---
# Orrin Weir

Mona built it.
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_front_matter_is_metadata_and_no_sentence(line_end: str) -> None:
    text = FRONT.replace("\n", line_end)
    document = read_bytes(text.encode(), "weir.md")
    assert document.text == text
    assert document.title == "The Weir: a history"
    assert dict(document.metadata) == {
        "http://purl.org/dc/terms/creator": "Ada Venn",
        "http://purl.org/dc/terms/created": "1931-05-01",
    }
    [chunk] = chunk_text(document.text)
    found = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(document, chunk)]
    assert found == ["# Orrin Weir", "Mona built it."]
    rule = read_bytes(b"---\nMona built it.\n---\nIt stands.", "rule.md")
    assert rule.unsaid == ()


@pytest.mark.parametrize(
    "front",
    [
        *('e: !!int ""', "e: !!bool x", "e: !!timestamp x", "? !!int 0x" + "F" * 6000 + "\n: x"),
        *("e: 0x" + "F" * 6000, "e: 1" + ":00" * 3000, "e: x: y", "e: &a [*a]", "e: 2024-13-45"),
    ],
)
def test_odd_values_leave_the_others_as_they_are(front: str) -> None:
    document = read_bytes(f"---\ntitle: The Weir\n{front}\n---\nMona built it.\n".encode(), "a.md")
    assert document.title == "The Weir"
    assert len(document.unsaid) == 1


def test_numbers_of_front_matter_stay_as_they_are_written() -> None:
    document = read_bytes(b"---\nid: 007\ntitle: 1_000.10\ntags: [0x1F, 2024]\n---\nWord.\n", "a.md")
    assert document.title == "1_000.10"
    assert [value for _, value in document.metadata] == ["0x1F", "2024", "007"]


def test_what_front_matter_holds_is_no_table_and_opens_no_fence() -> None:
    text = "---\na: |\n  | n | v |\n  |---|---|\n  | x | 1 |\n  ```\n---\n\n| n | v |\n|---|---|\n| y | 2 |\n"
    document = read_bytes(text.encode(), "a.md")
    assert [text[slice(*span)] for table in document.tables for span in table.rows] == ["| y | 2 |"]


@given(st.text(), st.booleans())
def test_what_a_piece_of_a_string_says(text: str, ascii_only: bool) -> None:
    piece = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    said, places = unescaped(piece)
    assert said == storable_text(text) if ascii_only else storable_text(said) == storable_text(text)
    assert len(places) == len(said) + 1
    assert (places[0], places[-1]) == (0, len(piece))
    for place, character in enumerate(said):
        assert storable_text(json.loads(f'"{piece[places[place] : places[place + 1]]}"')) == storable_text(
            character
        )


def test_tables_tell_no_language_but_their_prose_does() -> None:
    names = "name,town\n" + "".join(f"Mona Kell{n},Tarnay\nAda Venn{n},Orrin\n" for n in range(30))
    assert read_bytes(names.encode(), "a.csv").language is None
    prose = names.replace("Orrin", "the town that is at the end of the river and of the road to the sea")
    assert read_bytes(prose.encode(), "a.csv").language == "en"
    script = "名前,町\n" + "山田さん,まちの中\n" * 30
    assert read_bytes(script.encode(), "a.csv").language == "ja"
