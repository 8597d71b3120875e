"""Sentences, rows and cells stand where they say, and nothing is lost."""

from __future__ import annotations

import json
from html import escape
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents import read_bytes
from graphrag_rdf.documents.text import storable_text
from tests.documents.test_offsets import (
    BARS,
    BREAKS,
    CELLS,
    MARKS,
    TAGS,
    WORDS,
    check_all,
    check_tables,
    pieces,
)
from tests.wings.formats.documents.conftest import book, cells, opendocument

PLAIN = st.none() | st.booleans() | st.integers() | st.sampled_from([*WORDS, "\ud800", "\ufffe", 'say "x"'])
RECORD = st.fixed_dictionaries(
    {"name": PLAIN, "born": PLAIN},
    optional={"": PLAIN, "k\ud800": st.lists(PLAIN, max_size=3), "in": st.fixed_dictionaries({"x": PLAIN})},
)
RECORDS_OF = st.lists(RECORD, min_size=1, max_size=5)


def as_json(value: object, indent: int | None, ascii_only: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


def message(text: str, attached: str) -> str:
    return (
        "From: Ada Venn <a@example.org>\nTo: Bo Yew <b@example.org>\nSubject: weir\nMIME-Version: 1.0\n"
        f'Content-Type: multipart/mixed; boundary="=x="\n\n--=x=\n\n{text}\n--=x=\n'
        f'Content-Type: text/csv\nContent-Disposition: attachment; filename="a.csv"\n\n{attached}\n--=x=--\n'
    )


def telegram(texts: list[str]) -> str:
    speakers = ["Ada Venn", "Bo\ud800", "", None]
    messages = [
        {"id": 1, "type": kind, "date": "2024-03-12T10:15:02", "from": speakers[number % 4], "text": text}
        for number, text in enumerate(texts)
        for kind in ["service" if number % 5 == 4 else "message"]
    ]
    return json.dumps({"name": "Kelm", "messages": messages})


def slides(texts: list[str]) -> str:
    return "".join(
        f"<draw:page><draw:frame><draw:text-box><text:p>{as_xml(text)}</text:p></draw:text-box></draw:frame>"
        "</draw:page>"
        for text in texts
    )


def as_xml(text: str) -> str:
    return escape(storable_text(text).replace("\f", " "))


def table_of(texts: list[str]) -> str:
    """Of OpenDocument, with a head."""
    rows = pairwise(map(as_xml, texts))
    return f"<table:table>{cells('name', 'born')}{''.join(cells(*row) for row in rows)}</table:table>"


TABLE = "</div><table><tr><th>name<th>born<tr><td>Ada Venn<td>1931</table>"
TEXTS = st.lists(st.sampled_from([*WORDS, *MARKS, "Ada: I live here.", "a\nb"]), min_size=1, max_size=6)
SAID = pieces(WORDS, MARKS, BREAKS, ["> quoted\n", "\n-- \nAda", "On Monday, 1 Jan, Ada wrote:\n"])
ORG_PARTS = [
    "#+TITLE: x\n",
    "* TODO H :a:\n",
    ":ID: x\n",
    "| a | b |\n|---+---|\n| 1 | 2 |\n",
    "|--+--|\n",
    "#+begin_src a\n",
    "#+end_src\n",
    "# x\n",
]
RST_PARTS = [
    "\n====\n",
    ".. note:: ",
    ":ref:`a <b>`",
    "``x``",
    "*x*",
    "== ==\na  b\n== ==\n1  2\n== ==\n",
    "::\n\n  x\n",
]
TEX_PARTS = [
    "\\section{H}",
    "\\begin{tabular}{ll}a & b \\\\ 1 & 2\\\\\\end{tabular}",
    "$x$",
    "%",
    "{",
    "}",
    "\\item ",
    "\\",
]
RTF_PARTS = [
    "\\par ",
    "\\trowd ",
    "\\cell ",
    "\\row ",
    "\\'e4",
    "\\u26085?",
    "\\trowd Name\\cell Born\\cell\\row Ada\\cell 1931\\cell\\row ",
    "{\\b x}",
    "Ada",
    "1931",
]
CUES = [
    "WEBVTT\n\n",
    "1\n",
    "00:00:01.000 --> 00:00:02.000\n",
    "<v Ada Venn>",
    "<v Bo>",
    "NOTE x\n\n",
    "Ada: I ",
]
CODE = ["# Ada built it.\n", '"""Bo built it."""\n', "x = 1\n", "def a():\n    ", "'", "/* ", " */", "// x\n"]

FORMATS: dict[str, st.SearchStrategy[str | bytes]] = {
    "a.json": st.builds(as_json, RECORDS_OF | RECORD, st.sampled_from([None, 1]), st.booleans()),
    "within.json": st.builds(
        lambda records: as_json({"of": "x", "list": records, "more": {"list": records}}, None, True),
        RECORDS_OF,
    ),
    "a.jsonl": RECORDS_OF.map(lambda records: "\n".join(as_json(record, None, True) for record in records)),
    "chat.json": TEXTS.map(telegram),
    "a.eml": st.builds(message, SAID, st.lists(CELLS, max_size=3).map("\n".join)),
    "a.mbox": st.lists(SAID, min_size=1, max_size=3).map(
        lambda texts: "\n".join(f"From a\n{message(text, 'name,born')}" for text in texts)
    ),
    "a.epub": st.lists(pieces(TAGS, WORDS), min_size=1, max_size=3).map(
        lambda texts: book(**{f"c{number}": f"<p>x{text}" + TABLE for number, text in enumerate(texts)})
    ),
    "a.odt": TEXTS.map(
        lambda texts: opendocument("text", f"<text:p>{as_xml(''.join(texts))}</text:p>{table_of(texts)}")
    ),
    "a.ods": TEXTS.map(lambda texts: opendocument("spreadsheet", table_of(texts) * 2)),
    "a.odp": TEXTS.map(lambda texts: opendocument("presentation", slides(texts))),
    "a.rtf": pieces(RTF_PARTS, ["\\par "]).map(lambda text: f"{{\\rtf1 {text}}}"),
    "a.org": pieces(ORG_PARTS, WORDS, BREAKS, BARS),
    "a.rst": pieces(RST_PARTS, WORDS, BREAKS, most=12),
    "a.tex": pieces(TEX_PARTS, WORDS, BREAKS),
    "a.vtt": pieces(CUES, WORDS, BREAKS).map("WEBVTT\n\n".__add__),
    "a.srt": pieces(CUES[1:3], CUES[-1:], ["Bo Yew: you\n", "- x\n\n"]),
    "a.py": pieces(CODE, WORDS, BREAKS),
    "a.c": pieces(CODE, WORDS, BREAKS),
}


@pytest.mark.parametrize("name", FORMATS)
@settings(deadline=None, max_examples=100)
@given(data=st.data(), size=st.sampled_from([20, 60, 2000]))
def test_all_stands_where_it_says(name: str, data: st.DataObject, size: int) -> None:
    check_all(data.draw(FORMATS[name]), name, size)


def test_a_row_of_dashes_in_an_org_table_is_said_once() -> None:
    """As a row of the table, not beside it as a line for programs."""
    check_tables(read_bytes(b"| name | born |\n|---|---|\n|--+--|\n|--+--|\n", "a.org"))
