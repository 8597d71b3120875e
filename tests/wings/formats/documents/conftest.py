"""Real files of the formats, made by their own libraries."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import datetime

import docx
import openpyxl
import pptx
import pytest


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


def package(mimetype: str, parts: dict[str, str]) -> bytes:
    """A ZIP archive as OpenDocument and EPUB want it: its type first, and not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", mimetype, zipfile.ZIP_STORED)
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


_NAMES = "urn:oasis:names:tc:opendocument:xmlns:"


_SPACES = " ".join(
    f'xmlns:{short}="{_NAMES}{long}:1.0"'
    for short, long in (
        ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("meta", "meta"),
        ("presentation", "presentation"),
    )
) + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'  # fmt: skip


_META = (
    f"<office:document-meta {_SPACES}><office:meta><dc:title>The weir</dc:title>"
    "<dc:language>en-GB</dc:language><meta:initial-creator>Ada Venn</meta:initial-creator>"
    "<meta:creation-date>2024-01-02T03:04:05</meta:creation-date>"
    "<meta:keyword>dams</meta:keyword></office:meta></office:document-meta>"
)


def opendocument(kind: str, body: str, **more: str) -> bytes:
    """An OpenDocument file: `kind` is text, spreadsheet or presentation."""
    content = (
        f"<?xml version='1.0'?><office:document-content {_SPACES}><office:body><office:{kind}>{body}"
        f"</office:{kind}></office:body></office:document-content>"
    )
    parts = {"content.xml": content, "meta.xml": _META, **more}
    return package(f"application/vnd.oasis.opendocument.{kind}", parts)


def cells(*texts: str, more: str = "") -> str:
    """A row of an OpenDocument table."""
    return "<table:table-row>" + "".join(
        f"<table:table-cell{more}><text:p>{text}</text:p></table:table-cell>" for text in texts
    ) + "</table:table-row>"  # fmt: skip


def book(**chapters: str) -> bytes:
    """An EPUB of these chapters, in this order."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The weir</dc:title>'
        "<dc:creator>Ada Venn</dc:creator><dc:language>en</dc:language></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    )
    parts = {
        f"OPS/text/{name}.xhtml": f"<html><head><title>{name}</title></head><body>{text}</body></html>"
        for name, text in chapters.items()
    }
    return package(
        "application/epub+zip", {"META-INF/container.xml": container, "OPS/book.opf": opf, **parts}
    )


ODT = (
    "<text:h>The weir</text:h><text:p>Bo<text:s text:c='2'/>built<text:line-break/>it<office:annotation>"
    "<text:p>no</text:p></office:annotation>.</text:p><text:list><text:list-item><text:p>one</text:p>"
    "</text:list-item></text:list>"
    "<table:table><table:table-header-rows>"
    + cells("Name", "Born")
    + "</table:table-header-rows>"
    + cells("Ada", "1931")
    + cells("Bo", "1933")
    + "</table:table>"
)


ODS = (
    "<table:table table:name='People'>"
    + cells("Members of the club")
    + cells("Name", "Born")
    + "<table:table-row><table:table-cell><text:p>Ada</text:p></table:table-cell><table:table-cell "
    "office:value-type='float' office:value='1931'><text:p>1,931</text:p></table:table-cell>"
    "<table:table-cell table:number-columns-repeated='16382'/></table:table-row>"
    "<table:table-row table:number-rows-repeated='1048573'><table:table-cell "
    "table:number-columns-repeated='16384'/></table:table-row></table:table>"
)


ODP = (
    "<draw:page><draw:frame><draw:text-box><text:p>Welcome</text:p></draw:text-box></draw:frame><draw:frame>"
    "<draw:text-box><text:p>Bo built the weir.</text:p></draw:text-box></draw:frame><presentation:notes>"
    "<draw:frame>"
    "<draw:text-box><text:p>Say hello.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
    "<draw:page><draw:frame><draw:text-box><text:p>End</text:p></draw:text-box></draw:frame></draw:page>"
)


RTF = (
    r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\info{\title The weir}{\author Ada Venn}{\creatim\yr2024\mo1\dy2}}"
    r"\pard Bo built the caf\'e9 in Kelm.\par \trowd\cellx1\cellx2 Name\cell Height\cell\row "
    r"Skerry\cell 31\cell\row Brae\cell 28\cell\row \pard The end.\par}"
)


MAIL = """From: Ada Venn <ada@example.org>
To: Bo Yew <bo@example.org>
Subject: =?utf-8?q?The_weir_in_K=C3=A4lm?=
Date: Tue, 02 Jan 2024 03:04:05 +0000
Message-ID: <1@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/plain; charset=utf-8

I work at Orrin Bank. You live in Kelm.

On Mon, 1 Jan 2024, Bo Yew wrote:
> I built the weir.

--
Ada Venn, Orrin Bank
--x
Content-Type: text/csv; name="people.csv"
Content-Disposition: attachment; filename="people.csv"

name,born
Mona Ferrer,1931
Cy Orr,1933
--x
Content-Type: image/png
Content-Disposition: attachment; filename="picture.png"
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--x--
""".replace("\n--\nAda", "\n-- \nAda")


ORG = """#+TITLE: The weir
#+AUTHOR: Ada Venn
* TODO The first heading :dam:
:PROPERTIES:
:ID: x
:END:
Bo Yew built the weir in Kelm.
| name | born |
|------+------|
| Ada  | 1931 |
| Bo   | 1933 |
#+begin_src python
weir = 1
#+end_src
"""


RST = """The weir
========

:Author: Ada Venn

Bo Yew built the *weir* in :ref:`Kelm <kelm>`. It is :math:`x` long.

.. versionadded:: 1.0
   Mona Ferrer mended it.

.. toctree::

   other

.. function:: open(gate)
   :noindex:

   Opens the gate.

+------------+------------+
| Name       | Height     |
+============+============+
| Skerry     | 31 metres  |
| Light      |            |
+------------+------------+
| Brae       | 28         |
+------------+------------+

====== =====
Name   Born
====== =====
Ada    1931
Bo     1933
====== =====
"""


TEX = r"""\documentclass{article}\title{The \emph{weir}}\author{Ada Venn \and Bo Yew}\date{2024}
\begin{document}\maketitle % not this
\section{The first heading}
Bo Yew built the weir\footnote{Well.} in K\"alm~\cite{x}, for \$5 and $x^2$.
\begin{itemize}\item one \item two\end{itemize}
\begin{tabular}{l|r}\hline Name & Height \\ \hline Skerry & 31 \\ Brae & 28 \\\hline\end{tabular}
\end{document}
"""


SUBTITLES = """WEBVTT

NOTE made by hand

1
00:00:01.000 --> 00:00:04.000 align:start
<v Ada Venn>I live in Kelm.</v>

00:00:05.000 --> 00:00:06.000
<v Bo Yew>You do?
"""


CODE = '''#!/bin/python
"""Bo Yew built the weir.

It stands in Kelm.
"""
import weir  # Mona Ferrer mended it.

# A sentence that goes over
# two lines of comments.
# A whole one.
def open(gate):
    return "Ada Venn sank the ship."
'''


@pytest.fixture(scope="session")
def make_package() -> Callable[[str, dict[str, str]], bytes]:
    return package


@pytest.fixture(scope="session")
def make_opendocument() -> Callable[..., bytes]:
    return opendocument


@pytest.fixture(scope="session")
def samples() -> dict[str, bytes]:
    """A good file of each format, by suffix."""
    return {
        ".docx": word(),
        ".xlsx": workbook(),
        ".pptx": slides(),
        ".json": b'{"title": "Staff", "people": [{"name": "Alice", "age": 1e999}]}',
        ".jsonl": b'{"name": "Alice"}\n\n{"name": "Bob"}\n',
        ".epub": book(
            two="<h1>Two</h1><p>Bo built it.</p>",
            one="<p>Ada saw it.</p><table><tr><th>Name<th>Born<tr><td>Ada<td>1931</table>",
        ),
        ".odt": opendocument("text", ODT),
        ".ods": opendocument("spreadsheet", ODS),
        ".odp": opendocument("presentation", ODP),
        ".rtf": RTF.encode(),
        ".eml": MAIL.encode(),
        ".mbox": f"From ada Tue Jan 2\n{MAIL}\nFrom bo Wed Jan 3\n{MAIL}".encode(),
        ".org": ORG.encode(),
        ".rst": RST.encode(),
        ".tex": TEX.encode(),
        ".vtt": SUBTITLES.encode(),
        ".py": CODE.encode(),
    }
