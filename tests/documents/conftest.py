"""Real files of every format of the core."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

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
    """A good file of each format of the core, by suffix."""
    return {
        ".txt": "Alice works at Acme.\r\nCaf\xe9.".encode(),
        ".md": MARKDOWN.encode(),
        ".html": HTML.encode(),
        ".pdf": pdf(),
        ".csv": b"name;city\nAlice;London\nBob;Paris\n",
        ".tsv": b"name\tcity\nAlice\tLondon\n",
    }


@pytest.fixture(scope="session")
def make_pdf() -> Callable[..., bytes]:
    return pdf
