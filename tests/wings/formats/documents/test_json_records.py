"""Records of JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.documents import read_bytes
from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.tables import read_row, sentences_in
from graphrag_rdf.errors import DocumentError

RECORDS = """{"source": "register", "people": [
  {"name": "Ada Venn", "born": {"place": "Orrin", "year": 1871}, "trades": ["mason", "diver"], "x": null},
  {"name": "Mona \\"Kell\\"", "born": {"place": "Tarn\\u00e4y", "year": 1880}, "kin": [{"name": "Ida"}]}
]}"""


def test_lists_of_records_are_tables() -> None:
    document = read_bytes(RECORDS.encode(), "people.json")
    assert document.text == RECORDS
    [table] = document.tables
    assert table.names == ("name", "born place", "born year", "trades", "x")
    rows = [read_row(RECORDS[slice(*span)], table.separator, table.names) for span in table.rows]
    assert [[cell.text for cell in row or ()] for row in rows] == [
        ["Ada Venn", "Orrin", "1871", "mason; diver", ""],
        ['Mona "Kell"', "Tarnäy", "1880", "", ""],
    ]
    for (start, end), row in zip(table.rows, rows, strict=True):
        for cell in row or ():
            written = RECORDS[start:end][cell.offset : cell.offset + cell.length]
            as_list = written if written.startswith("[") else f'["{written}"]'
            assert cell.text in (written.replace("null", ""), "; ".join(json.loads(as_list)))
    [chunk] = chunk_text(document.text, tables=document.tables)
    found = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(document, chunk)]
    assert found == ['{"source": "register", "people": [', *(RECORDS[slice(*span)] for span in table.rows)]


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        (
            "a.jsonl",
            '{"n": "a", "v": 1}\n\n[1]\n{"n": "b", "v": 2}\n',
            ['{"n": "a", "v": 1}', '{"n": "b", "v": 2}'],
        ),
        ("a.json", '[{"n": "a", "v": 1},{"n": "b"}]', ['{"n": "a", "v": 1}', '{"n": "b"}']),
        ("a.json", '{"name": "Weir", "built": 1931}', ['{"name": "Weir", "built": 1931}']),
        ("a.json", '{"theme": "dark", "font": "Serif"}', []),
        ("a.json", '[{"n": "a"}, {"n": "b"}]', []),
        ("a.json", '[{"n": "a", "v": 1}, 2]', []),
        ("a.json", "[[1, 2], [3, 4]]", []),
        ("a.json", "{}", []),
        ("a.json", '[{"title": "a", "text": "%s"}]' % ("Mona built it. " * 20), []),
    ],
)
def test_which_records_are_rows(name: str, text: str, rows: list[str]) -> None:
    document = read_bytes(text.encode(), name)
    assert [text[slice(*span)] for table in document.tables for span in table.rows] == rows


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=20,
    ),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_any_json_is_read(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    try:
        document = read_bytes(text.encode("utf-8", "replace"), "a.json")
    except DocumentError:
        return
    for table in document.tables:
        for start, end in table.rows:
            assert read_row(document.text[start:end], table.separator, table.names) is not None
    for chunk in chunk_text(document.text, size=40, tables=document.tables):
        taken = 0
        for sentence in sentences_in(document, chunk):
            assert taken <= sentence.offset
            taken = sentence.offset + sentence.length


def test_a_huge_record_is_a_document() -> None:
    small = b'{"name":"x","b":1},' * 4
    assert read_bytes(b"[" + small + b'{"name":"y","b":[' + b"1," * 100_000 + b"1]}]", "a.json").tables == ()
