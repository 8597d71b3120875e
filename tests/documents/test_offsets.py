"""Text files of any format: sentences, rows and cells stand where they say, and nothing is lost."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents import ParsedDocument, chunk_text, read_bytes
from graphrag_rdf.documents.tables import RECORDS, read_row, row_spans, rows_in, sentences_in
from graphrag_rdf.documents.text import storable_text
from graphrag_rdf.errors import DocumentError

WORDS = [
    "Ada Venn",
    "Orrin",
    "built",
    "a weir.",
    "1931",
    "x",
    "",
    "ä",
    "日本。",
    "\x00",
    "\u2028",
    "\x85",
    "\f",
]
MARKS = ["|", "\\|", '"', "'", "---", "...", "# H", "- item", "```", "{", "}", "[", "]", ",", ";", ": ", "\t"]
BREAKS = ["\n", "\n\n", "\r\n", "\r", "  "]
BARS = ["| name | born |\n|---|---|\n", "| Ada Venn | 1931 |\n", "  | a | b |\n  |---|---|\n  | 1 | 2 |\n"]
PAIRS = [
    "title: x",
    "author: [Ada, Mona]",
    "a: |",
    "b: &a c",
    "d: *a",
    "e: !!int ''",
    "- f",
    "# g",
    "t: u: v",
]
TAGS = [
    *(
        "<p>",
        "<ul>",
        "<li>",
        "</ul>",
        "<br>",
        "<h1>",
        "</h1>",
        "<pre>",
        "</pre>",
        "<!--",
        "-->",
        "<div hidden>",
    ),
    *(
        "<table>",
        "</table>",
        "<tr>",
        "<tr><th>name<th>born</tr>",
        "<tr><td>Ada Venn<td>1931</tr>",
        "<td>",
        "<th>",
        "<td rowspan=2 colspan=3>",
        "<th colspan=2>",
        "<thead>",
        "<caption>",
    ),
    *("<script>", "</script>", "<style>", "</style>", "&nbsp;", "&#0;", "&#xd800;", "</div>", "&shy;"),
]


def pieces(*kinds: list[str], most: int = 25) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from([piece for kind in kinds for piece in kind]), max_size=most).map("".join)


def with_front_matter(parts: tuple[str, str]) -> str:
    return f"---\n{parts[0]}\n---\n{parts[1]}"


LINES = st.lists(st.sampled_from([*PAIRS, *BARS, "```"]), max_size=8).map("\n".join)
MARKDOWN = pieces(WORDS, MARKS, BREAKS, BARS)
CELLS = st.lists(st.sampled_from([*WORDS, '"a,b"', '"a""b"', '"x\ny"', '"']), max_size=4).map(",".join)


FORMATS: dict[str, st.SearchStrategy[str | bytes]] = {
    "a.txt": pieces(WORDS, MARKS, BREAKS),
    "a.md": MARKDOWN,
    "front.md": st.tuples(LINES, MARKDOWN).map(with_front_matter),
    "a.html": pieces(TAGS, WORDS, ["|", "\n", " "]),
    "a.csv": st.builds(
        lambda first, rows: "\n".join([*first, "name,born", *rows]),
        st.sampled_from([[], ["sep=,"], ["sep=;"]]),
        st.lists(CELLS, max_size=6),
    ),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, max_examples=100)
@given(data=st.data(), size=st.sampled_from([20, 60, 2000]))
def test_all_stands_where_it_says(name: str, data: st.DataObject, size: int) -> None:
    check_all(data.draw(FORMATS[name]), name, size)


def check_all(file: str | bytes, name: str, size: int) -> None:
    """Read a file, cut it into chunks of this size, and look where everything stands."""
    try:
        document = read_bytes(file.encode("utf-8", "replace") if isinstance(file, str) else file, name)
    except DocumentError as error:
        if error.reason.startswith(("no text", "not a text file")):
            return
        raise  # no reader stumbles over text
    check_tables(document)
    check_turns(document)
    assert all(document.text[page.offset :].startswith(page.text) for page in document.pages)
    said = [table.header for table in document.tables if table.header] + list(document.unsaid)
    for chunk in chunk_text(document.text, size=size, tables=document.tables):
        assert document.text[chunk.offset : chunk.offset + len(chunk.text)] == chunk.text
        sentences = [(s.offset, s.offset + s.length) for s in sentences_in(document, chunk)]
        assert all(0 <= start < end <= len(chunk.text) for start, end in sentences)
        assert all(one[1] <= other[0] for one, other in pairwise(sentences))
        said += [(chunk.offset + start, chunk.offset + end) for start, end in sentences]
        for part in rows_in(document, chunk):
            assert part.span in sentences
            assert chunk.text[slice(*part.span)] == part.row[part.start : part.start + part.length]
    places = {place for span in said for place in range(*span)}
    assert not [c for place, c in enumerate(document.text) if place not in places and not c.isspace()]


def check_turns(document: ParsedDocument) -> None:
    for turn in document.turns:
        assert turn.start <= turn.words <= turn.end <= len(document.text)
        assert document.text[slice(*turn.name)] in ("", turn.speaker)
    assert all(one.end <= other.start for one, other in pairwise(document.turns))


def check_tables(document: ParsedDocument) -> None:
    apart = sorted([*row_spans(document.tables), *document.unsaid])
    assert all(0 <= start < end <= len(document.text) for start, end in apart)
    assert all(one[1] <= other[0] for one, other in pairwise(apart))
    for table in document.tables:
        for start, end in table.rows:
            row = document.text[start:end]
            for cell in read_row(row, table.separator, table.names) or ():
                written = row[cell.offset : cell.offset + cell.length]
                assert len(written) == cell.length
                assert cell.text == storable_text(cell.text)  # whatever escapes stand for
                if table.separator == RECORDS and cell.text and written[0] != "[":
                    assert cell.text == " ".join(
                        storable_text(json.loads(f'"{written}"', strict=False)).split()
                    )
