"""Real files of every format, made by the formats' own libraries."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import datetime

import docx
import openpyxl
import pptx
import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject, TextStringObject


def pdf(
    pages: Sequence[str] = ("Alice works at Acme.", "Bob lives in Paris."),
    *,
    password: str | None = None,
    owner_only: bool = False,
    info: bool = True,
    title: str | None = None,
) -> bytes:
    """A PDF with one line of text per line of each page; an empty page has no text layer."""
    writer = PdfWriter()
    for text in pages:
        page = writer.add_blank_page(595, 842)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        lines = " ".join(f"({line}) Tj T*" for line in text.split("\n")) if text else ""
        stream.set_data(f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET".encode("latin-1"))
        page[NameObject("/Contents")] = writer._add_object(stream)
    writer.add_metadata(
        {"/Author": "Ada Lovelace", "/CreationDate": "D:20240102030405Z", "/Keywords": "a, b"}
    )
    if not info:
        writer.metadata = None
    if title:
        writer.add_metadata({"/Title": title})
    writer.root_object[NameObject("/Lang")] = TextStringObject("en-GB")
    if password is not None:
        writer.encrypt("" if owner_only else password, owner_password=password, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Annual report", 1)
    document.add_paragraph("Alice works at Acme.")
    table = document.add_table(rows=2, cols=2)
    for row, values in zip(table.rows, (("Name", "City"), ("Bob", "Paris")), strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_paragraph("first", style="List Bullet")
    document.add_paragraph("second", style="List Bullet")
    document.add_paragraph("The end.")
    core = document.core_properties
    core.title, core.author, core.language, core.keywords = "The report", "Ada Lovelace", "en-GB", "x; y"
    core.created = datetime(2024, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as the library wants it
    return _saved(document.save)


def workbook() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "People"
    sheet.append(["Name", "City", "Born"])
    sheet.append(["Alice", "London", datetime(1990, 5, 1)])  # noqa: DTZ001
    sheet.append([None, None, None])
    sheet.append(["Bob", "Paris", 1985.0])
    numbers = book.create_sheet("Numbers")
    numbers.append([1, 2.5, True])
    book.create_sheet("Empty")
    book.properties.title, book.properties.creator = "Staff", "Ada Lovelace"
    return _saved(book.save)


def slides() -> bytes:
    presentation = pptx.Presentation()
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "Welcome"
    first.placeholders[1].text = "Alice works at Acme."
    first.notes_slide.notes_text_frame.text = "Say hello."
    second = presentation.slides.add_slide(presentation.slide_layouts[5])
    second.shapes.title.text = "Table"
    table = second.shapes.add_table(1, 2, 0, 0, 100, 100).table
    table.cell(0, 0).text, table.cell(0, 1).text = "Bob", "Paris"
    presentation.core_properties.author = "Ada Lovelace"
    return _saved(presentation.save)


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


HTML = """<!DOCTYPE html><html lang="en_gb"><head><title>My
 page</title><meta name="author" content="Ada Lovelace"><meta name="keywords" content="a, b">
<meta name="description" content="About."><meta property="article:published_time" content="2024-01-02">
<style>p {}</style><script>var x = 1;</script></head><body><nav><a href="/">Home</a></nav>
<h1>Heading  one</h1><p>Alice <b>works</b> at&nbsp;<i>Acme</i>.<br>Second&shy;ary line.</p>
<ul><li>one</li><li><p>two</p></li></ul><table><tr><th>Name</th><th>City</th></tr>
<tr><td>Bob</td><td><p>Paris</p></td></tr></table><pre>a  b
  c</pre><div hidden>no</div><p style="display: none">no</p><p>caf\xe9</p></body></html>"""

MARKDOWN = """---
title: My notes
author: [Ada Lovelace, Charles Babbage]
date: 2024-01-02
tags: [a, b]
lang: en
---
# The *first* heading

Alice works at Acme.
"""


@pytest.fixture(scope="session")
def samples() -> dict[str, bytes]:
    """A good file of each format, by suffix."""
    return {
        ".txt": "Alice works at Acme.\r\nCaf\xe9.".encode(),
        ".md": MARKDOWN.encode(),
        ".html": HTML.encode(),
        ".pdf": pdf(),
        ".docx": word(),
        ".xlsx": workbook(),
        ".pptx": slides(),
        ".csv": b"name;city\nAlice;London\nBob;Paris\n",
        ".tsv": b"name\tcity\nAlice\tLondon\n",
        ".json": b'{"title": "Staff", "people": [{"name": "Alice", "age": 1e999}]}',
        ".jsonl": b'{"name": "Alice"}\n\n{"name": "Bob"}\n',
    }


@pytest.fixture(scope="session")
def make_pdf() -> Callable[..., bytes]:
    return pdf
