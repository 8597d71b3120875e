"""Make the sample documents that are no plain text: a Word document and a PDF.

    python examples/make_documents.py [FOLDER]

Reads `examples/sources/*.txt` and writes into `examples/documents`, or into FOLDER. The same sources give
the same bytes on every machine: dates are fixed and nothing is compressed.

A source is plain text with blank lines between paragraphs: `# ` marks the title, `## ` a section.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docx.document import Document

HERE = Path(__file__).resolve().parent
PUBLISHER = "Tarnay Heritage Trust"
CREATED = datetime(1990, 6, 16, 12)  # noqa: DTZ001 - both formats take it as UTC

Block = tuple[int, str]
"""Heading level (1: title, 2: section, 0: paragraph) and text."""


def read_source(path: Path) -> list[Block]:
    """Blocks of a source file, in order."""
    blocks: list[Block] = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        text = " ".join(block.split())
        marks = len(text) - len(text.lstrip("#"))
        blocks.append((marks, text[marks:].strip()))
    return blocks


# --- Word -----------------------------------------------------------------------------------------------

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def make_docx(blocks: list[Block]) -> bytes:
    """A Word document with a title, headings and paragraphs."""
    import docx

    document = docx.Document()
    for level, text in blocks:
        if level:
            document.add_heading(text, level - 1)
        else:
            document.add_paragraph(text)
    _slim(document)
    core = document.core_properties
    core.title, core.author, core.language = _title(blocks), PUBLISHER, "en-GB"
    core.last_modified_by, core.comments = PUBLISHER, ""
    core.created = core.modified = CREATED
    buffer = BytesIO()
    document.save(buffer)
    return _repack(buffer)


def _slim(document: Document) -> None:
    """Drop what the library's template brings along unused: nine tenths of the file."""
    used = {"Title", "Title Char", "Heading 1", "Heading 1 Char"}
    for style in list(document.styles):
        if style.name not in used and not style.element.get(f"{W}default"):
            style.delete()
    for part in (document.part, document.part.package):
        for key, relation in list(part.rels.items()):
            if relation.reltype.endswith(("/stylesWithEffects", "/customXml", "/thumbnail")):
                del part.rels[key]


def _repack(package: BytesIO) -> bytes:
    """The same parts, stored without compression (zlib's output differs between its versions) or clock."""
    buffer = BytesIO()
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in sorted(old.namelist()):  # [Content_Types].xml comes first, as readers like it
            part = zipfile.ZipInfo(name, CREATED.timetuple()[:6])
            part.create_system = 0
            new.writestr(part, old.read(name))
    return buffer.getvalue()


# --- PDF ------------------------------------------------------------------------------------------------
# A typed report: in a fixed-width face lines can be broken without a table of the widths of letters.

WIDTH, HEIGHT, MARGIN = 595, 842, 70  # A4, points
SIZE, LEADING = 10.5, 14.0
COLUMNS = int((WIDTH - 2 * MARGIN) / (0.6 * SIZE))  # every letter of Courier is 0.6 em wide
LINES = int((HEIGHT - 2 * MARGIN) / LEADING)

Line = tuple[bool, str]
"""Whether it is bold, and text."""


def make_pdf(blocks: list[Block]) -> bytes:
    """A PDF with a text layer (PDF 1.4, standard fonts, WinAnsi encoding); each section begins a page."""
    pages = list(_paginate(blocks))
    numbers = range(6, 6 + 2 * len(pages), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en-GB) >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode("ascii"),
        _font("Courier"),
        _font("Courier-Bold"),
        b"<< /Title %s /Author %s /CreationDate (D:%s) >>"
        % (_string(_title(blocks)), _string(PUBLISHER), f"{CREATED:%Y%m%d%H%M%SZ}".encode("ascii")),
    ]
    for number, page in zip(numbers, pages, strict=True):
        content = b"\n".join(_operators(page))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F0 3 0 R /F1 4 0 R >> >> >>".encode("ascii")
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    return _assemble(objects)


def _paginate(blocks: Iterable[Block]) -> Iterator[list[Line]]:
    page: list[Line] = []
    for level, text in blocks:
        lines: list[Line] = [(level > 0, line) for line in wrap(text, COLUMNS, break_on_hyphens=False)]
        if page and (level == 2 or len(page) + len(lines) > LINES):
            yield page
            page = []
        page += [*lines, (False, " ")]  # a blank that is drawn: readers see the gap between paragraphs
    yield page


def _operators(page: Iterable[Line]) -> Iterator[bytes]:
    yield b"BT\n%d %d Td\n%.1f TL" % (MARGIN, HEIGHT - MARGIN, LEADING)
    for bold, text in page:
        yield b"/F%d %.1f Tf\n%s Tj\nT*" % (bold, SIZE, _string(text))
    yield b"ET"


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode("ascii")


def _string(text: str) -> bytes:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"(" + escaped.encode("cp1252") + b")"


def _assemble(objects: Iterable[bytes]) -> bytes:
    """File structure (ISO 32000-1, 7.5): header, objects, cross-reference table, trailer."""
    data = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    table = [b"0000000000 65535 f \n"]
    for number, body in enumerate(objects, start=1):
        table.append(b"%010d 00000 n \n" % len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n%s" % (len(table), b"".join(table))
    data += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(table), start)
    return bytes(data)


# --------------------------------------------------------------------------------------------------------

MADE = {
    "skell-tidal-power-company.docx": make_docx,
    "gate-four-inquiry.pdf": make_pdf,
}


def make(folder: Path) -> list[Path]:
    """Write the documents into an existing folder.

    Returns:
        their paths.
    """
    paths = [folder / name for name in MADE]
    for path in paths:
        source = HERE / "sources" / f"{path.stem}.txt"
        path.write_bytes(MADE[path.name](read_source(source)))
    return paths


def _title(blocks: list[Block]) -> str:
    return next(text for level, text in blocks if level == 1)


if __name__ == "__main__":
    for made in make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "documents"):
        print(made)
