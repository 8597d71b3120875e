"""Office Open XML: documents of Word, slides of PowerPoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.content import Grid, GridCell
from graphrag_rdf.documents.tables import MOST_COLUMNS
from graphrag_rdf.wings.formats.package import metadata, open_package

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PIECES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
# deleted and moved-away text, text boxes' second copy, and properties that hold tab stops
_SKIPPED = frozenset({f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", _FALLBACK})
_OFF = frozenset({"0", "off", "false"})
# what wraps blocks without being one: content controls, tracked insertions, custom XML
_WRAPPERS = frozenset({f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}moveTo", f"{_W}customXml"})


def read_docx(data: bytes) -> c.Content:
    """Extract a Word document's text and core properties.

    Headers, footers, footnotes
    and comments are left out.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """
    from docx import Document

    document = Document(open_package(data))
    styles = {style.style_id: (style.name or "").lower() for style in document.styles}
    blocks = [b for b in _blocks(document.element.body, styles) if isinstance(b, Grid) or b[1]]
    text, tables = c.layout(blocks)
    core = document.core_properties
    return c.Content(
        text,
        tables=tables,
        title=core.title,
        heading=c.first_heading(blocks),
        headings=c.headings_in(text, blocks),
        language=core.language,
        metadata=tuple(metadata(core, core.author, core.comments or core.subject)),
    )


def _blocks(parent: Any, styles: dict[str, str]) -> Iterator[c.Block | Grid]:
    for element in parent:
        if element.tag == f"{_W}p":
            yield _kind(element, styles), _text(element).strip()
        elif element.tag == f"{_W}tbl":
            yield _grid(element, styles)
        elif element.tag in _WRAPPERS:
            yield from _blocks(element, styles)


def _grid(table: Any, styles: dict[str, str]) -> Grid:
    grid = Grid()
    for line in _within(table, f"{_W}tr"):
        properties = line.find(f"{_W}trPr")
        mark = properties.find(f"{_W}tblHeader") if properties is not None else None
        if (
            mark is not None
            and mark.get(f"{_W}val", "on") not in _OFF
            and len(grid.lines) == (grid.declared or 0)
        ):
            grid.declared = len(grid.lines) + 1
        cells = [GridCell("", across) for across in [_number(properties, "gridBefore", 0)] if across]
        cells += [_cell(cell, styles) for cell in _within(line, f"{_W}tc")]
        grid.lines.append(cells)
    return grid


def _within(parent: Any, tag: str) -> Iterator[Any]:
    """Children of a kind, also those in content controls and in what was inserted."""
    for element in parent:
        if element.tag == tag:
            yield element
        elif element.tag in _WRAPPERS:
            yield from _within(element, tag)


def _cell(cell: Any, styles: dict[str, str]) -> GridCell:
    properties = cell.find(f"{_W}tcPr")
    merged = properties.find(f"{_W}vMerge") if properties is not None else None
    continues = merged is not None and merged.get(f"{_W}val") != "restart"
    return GridCell(" ".join(_words(cell, styles)), _number(properties, "gridSpan", 1), continues=continues)


def _words(cell: Any, styles: dict[str, str]) -> Iterator[str]:
    for block in _blocks(cell, styles):
        if isinstance(block, Grid):
            yield from (inner.text for line in block.lines for inner in line)
        else:
            yield from block[1].split()


def _number(properties: Any, name: str, otherwise: int) -> int:
    element = properties.find(f"{_W}{name}") if properties is not None else None
    value = element.get(f"{_W}val", "") if element is not None else ""
    return min(int(value), MOST_COLUMNS) if value.isascii() and value.isdigit() else otherwise


def _kind(paragraph: Any, styles: dict[str, str]) -> c.BlockKind:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = styles.get(style.get(f"{_W}val"), "") if style is not None else ""
    if name.startswith(("heading", "title")):
        return "heading"
    if name.startswith("list") or paragraph.find(f"{_W}pPr/{_W}numPr") is not None:
        return "item"
    return "paragraph"


def _text(paragraph: Any) -> str:
    parts: list[str] = []
    stack = [iter(paragraph)]
    while stack:
        for element in stack[-1]:
            if element.tag in _SKIPPED:
                continue
            if element.tag == f"{_W}t":
                parts.append(element.text or "")
            elif element.tag in _PIECES:
                parts.append(_PIECES[element.tag])
            elif len(element):
                if element.tag == f"{_W}p" and parts:  # a paragraph of a text box
                    parts.append("\n")
                stack.append(iter(element))
                break
        else:
            stack.pop()
    return "".join(parts)


# --- slides --------------------------------------------------------------------------------------------


_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def read_pptx(data: bytes) -> c.Content:
    """Extract slides as pages (labelled with the slide's title) and core properties.

    Shapes come in the file's order, groups and tables included; charts and pictures have no text.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """
    from pptx import Presentation

    presentation = Presentation(open_package(data))
    slides: list[tuple[c.Content, str | None]] = []
    for slide in presentation.slides:
        blocks: list[c.Block | Grid] = list(_shapes(slide.element))
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            blocks += [("paragraph", text) for text in frame.text.splitlines() if text.strip()]
        title = slide.shapes.title
        label = " ".join(title.text_frame.text.split()) if title is not None else ""
        text, tables = c.layout(blocks)
        slides.append((c.Content(text, heading=label, tables=tables), label or None))
    core = presentation.core_properties
    return replace(
        c.joined(slides),
        title=core.title,
        language=core.language,
        metadata=tuple(metadata(core, core.author, core.comments or core.subject)),
    )


def _shapes(element: Any) -> Iterator[c.Block | Grid]:
    for child in element:
        if child.tag == f"{_A}p":
            if text := _slide_text(child):
                yield "paragraph", text
        elif child.tag == f"{_A}tbl":
            yield Grid(
                [
                    [_slide_cell(cell) for cell in line.iterchildren(f"{_A}tc")]
                    for line in child.iterchildren(f"{_A}tr")
                ]
            )
        elif len(child) and child.tag != _FALLBACK:
            yield from _shapes(child)


def _slide_cell(cell: Any) -> GridCell:
    words = (word for paragraph in cell.iter(f"{_A}p") for word in _slide_text(paragraph).split())
    # what a wide cell covers stands in the file as cells without text
    return GridCell(" ".join(words), continues=cell.get("vMerge") in {"1", "true"})


def _slide_text(paragraph: Any) -> str:
    parts = (
        "\n" if node.tag == f"{_A}br" else node.text or "" for node in paragraph.iter(f"{_A}t", f"{_A}br")
    )
    return "".join(parts).strip()
