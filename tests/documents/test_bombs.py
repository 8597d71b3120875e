"""Small documents that would take minutes or gigabytes: read in time that grows as they do, or refused."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import pytest

from graphrag_rdf.documents import chunk_text, read_bytes
from graphrag_rdf.documents.readers import html
from graphrag_rdf.documents.tables import LONGEST_ROW, MOST_COLUMNS, read_row, rows_in, sentences_in
from graphrag_rdf.errors import DocumentError


def reason(data: bytes, name: str) -> str:
    with pytest.raises(DocumentError) as caught:
        read_bytes(data, name)
    assert caught.value.path == name
    assert caught.value.hint
    return caught.value.reason


def deep(depth: int) -> bytes:
    return b"<div>" * depth + b"x" + b"</div>" * depth


def fonts(number: int) -> bytes:
    return b"".join(b"<font size=%d>" % n for n in range(number)) + b"<p>x" * number


def attributes(number: int) -> bytes:
    return b"<p " + b" ".join(b"a%d=1" % n for n in range(number)) + b">x</p>"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (deep(60_000), "nested too deeply"),
        (b"<div a='</div>'><!--</div>-->" * 60_000 + b"x", "nested too deeply"),
        (b"<script></div></script><DIV\n>" * 60_000 + b"x", "nested too deeply"),
        (b"<ul><li>x" * 60_000, "nested too deeply"),
        (fonts(3000), "never closed"),
        (attributes(html.MOST_ATTRIBUTES + 1), "attributes"),
    ],
)
def test_pages_beyond_measure_are_refused_before_they_are_parsed(
    data: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parsed(*_: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr("selectolax.lexbor.LexborHTMLParser", parsed)
    assert why in reason(data, "page.html")


@pytest.mark.parametrize(
    "data",
    [
        b"<p>One<br>two<img src=x>" * 5000,
        b"<table>" + b"<tr><td><font color=red>x<td>y" * 5000 + b"</table>",
        b"<ul>" + b"<li>x" * 5000 + b"</ul>",
        b"<p><font size=2>x" * 5000,
        b"<div><b>x</b><a href='y'>z</a></div>" * 5000,
        deep(20_000),
        fonts(300),
        attributes(100),
        b"<script>" + b"'<div>'" * 60_000 + b"</script>x",
    ],
)
def test_large_and_careless_pages_are_read(data: bytes) -> None:
    assert "x" in read_bytes(data, "page.html").text or b"One" in data


def test_a_page_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is left open: a tag ends where the next one is looked for."""
    for piece in (b"<", b"<a ", b'<a b="', b"<!--", b"<script>", b"<script a", b"<a b='\">", b"</"):
        text = (piece * 4000).decode()
        spans = [match.span() for match in html._MARKUP.finditer(text)]
        assert all(first[1] <= second[0] for first, second in pairwise(spans))


@pytest.mark.parametrize("quote", [b'"', b""])
def test_a_row_that_swallows_the_file_is_refused(quote: bytes) -> None:
    rows = b"2,some text\n" * (LONGEST_ROW // 12 + 10)
    data = b'name,note\n1,"' + rows + quote + b"\n3,4\n"
    if quote:
        assert "begins in line 2" in reason(data, "a.csv")
    else:  # never closed, so a character like any other
        assert len(read_bytes(data, "a.csv").tables[0].rows) > 1000


@pytest.mark.parametrize("piece", ["\ufeff", "\u200e ", "\u202a[", " \t", "\ufeff12:10 "])
def test_marks_without_end_before_a_speaker(piece: str) -> None:
    start = time.process_time()
    read_bytes((piece * 4000 + "Ada: I saw you.\n").encode(), "chat.txt")
    assert time.process_time() - start < 2


def test_tables_of_too_many_columns_are_text() -> None:
    wide = b",".join(b"c%d" % n for n in range(MOST_COLUMNS + 1))
    assert read_bytes(wide + b"\n" + wide + b"\n", "a.csv").tables == ()
    assert read_bytes(b"name,b\nx,1\ny,2\n" * 3 + wide, "a.csv").tables == ()
    bars = b"|" + b"a|" * (MOST_COLUMNS + 1)
    assert read_bytes(bars + b"\n" + bars.replace(b"a", b"-") + b"\n" + bars, "a.md").tables == ()


def test_cells_that_span_everything_multiply_nothing() -> None:
    wide = (
        b"<tr><th>a<th>b" + b"<tr><td rowspan=65534 colspan=1000>" + b"long text " * 50 + b"<td rowspan=0>y"
    )
    document = read_bytes(b"<table>" + wide * 400 + b"</table>", "a.html")
    assert len(document.text) < 1_000_000
    tall = b"<td rowspan=999999999>" + b"x" * 190
    document = read_bytes(b"<table><tr><th>a<th>b<tr>" + tall + b"<td>z" + b"<tr><td>1" * 2000, "a.html")
    assert len(document.tables[0].rows) == 2001
    assert len(document.text) < 500_000


def test_a_long_row_is_read_once_for_all_its_passages() -> None:
    row = "x," + "word " * 10_000
    assert read_row(row, ",", ("name", "note")) is read_row(row, ",", ["name", "note"])


def test_parts_of_a_long_row_do_not_each_hold_all_of_it() -> None:
    document = read_bytes(b"name,note\nAda," + b"x" * 900_000 + b"\nMona,y\n", "a.csv")
    chunks = chunk_text(document.text, tables=document.tables)
    tracemalloc.start()
    try:
        parts = [part for chunk in chunks for part in rows_in(document, chunk)]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(parts) > 400
    assert held < 1_000_000


@pytest.mark.parametrize("word", ["x", "word ", "Dr. ", "(", "ä\u0308", "。"])
def test_a_sentence_without_end_is_cut_in_windows(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []

    class Splitter:
        def __init__(self, size: int) -> None:
            self._splitter = real(size)

        def chunk_indices(self, text: str) -> list[tuple[int, str]]:
            given.append(len(text))
            return self._splitter.chunk_indices(text)

    import semantic_text_splitter

    real: Callable[[int], semantic_text_splitter.TextSplitter] = semantic_text_splitter.TextSplitter
    monkeypatch.setattr(semantic_text_splitter, "TextSplitter", Splitter)
    text = (word * 300_000)[:300_000].strip()
    chunks = chunk_text(text, size=2000)
    assert max(given, default=0) <= 1 << 16
    assert sum(given) <= 1.1 * len(text)
    assert all(chunk.text == text[chunk.offset : chunk.offset + len(chunk.text)] for chunk in chunks)
    assert all(0 < len(chunk.text) <= 2000 for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.split())
    assert len(chunks) <= 1.2 * len(text) / 2000 + 1


@pytest.mark.parametrize(
    "front",
    [
        "a0: &a0 {k: v}\n" + "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(60)),
        "a: " + "[" * 60_000,
        "- " * 30_000,
        "? " * 30_000,
    ],
)
def test_front_matter_that_multiplies_is_none(front: str) -> None:
    found = read_bytes(f"---\n{front}\n---\n# Heading\n\nWord.\n".encode(), "a.md")
    assert found.title in {"Heading", "A"}
    assert found.metadata == ()


def test_front_matter_may_have_aliases() -> None:
    front = "author: &me Ann\npublisher: *me\nmore: {a: [b, {c: d}]}\n"
    found = read_bytes(f"---\n{front}---\nWord.\n".encode(), "a.md")
    assert [value for _, value in found.metadata] == ["Ann", "Ann"]


@pytest.mark.parametrize(
    "heading", ["[" * 1_000_000, "[](" * 400_000, "_" * 1_000_000 + "y", "x" + " " * 1_000_000 + "y"]
)
def test_a_heading_without_end_is_looked_at_in_part(heading: str) -> None:
    assert len(read_bytes(f"# {heading}\n".encode(), "a.md").title) <= 300


def test_passages_look_at_the_tables_near_them() -> None:
    document = read_bytes(b"|name|b|\n|--|--|\n|x|1|\n|y|2|\n\nWord.\n\n" * 1000, "a.md")
    met = 0
    for chunk in chunk_text(document.text, tables=document.tables):
        parts = rows_in(document, chunk)
        met += len(parts)
        assert [chunk.text[slice(*part.span)] for part in parts] == [
            line for line in chunk.text.split("\n") if line.startswith(("|x", "|y"))
        ]
        assert not any(chunk.text[s.offset :].startswith("|name") for s in sentences_in(document, chunk))
    assert met == 2000
