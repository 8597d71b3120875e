"""Presentations: a page per slide, its notes included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrag_rdf.documents.model import Table, join_pages
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.grid import Grid, GridCell
from graphrag_rdf.documents.readers.package import metadata, open_package

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"


def read_pptx(data: bytes) -> c.Content:
    """Extract slides as pages (labelled with the slide's title) and core properties.

    Shapes come in the file's order, groups and tables included; charts and pictures have no text.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """
    from pptx import Presentation

    presentation = Presentation(open_package(data))
    pages: list[tuple[str, str | None]] = []
    tables: list[Table] = []
    offset = 0
    for slide in presentation.slides:
        blocks: list[c.Block | Grid] = list(_blocks(slide.element))
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            blocks += [("paragraph", text) for text in frame.text.splitlines() if text.strip()]
        title = slide.shapes.title
        label = " ".join(title.text_frame.text.split()) if title is not None else ""
        page, found = c.layout(blocks)
        pages.append((page, label or None))
        tables += c.moved(found, offset)
        offset += len(page) + 1
    text, parsed = join_pages(pages)
    core = presentation.core_properties
    return c.Content(
        text,
        parsed,
        tables=tuple(tables),
        title=core.title,
        heading=next((label for _, label in pages if label), ""),
        language=core.language,
        metadata=tuple(metadata(core, core.author, core.comments or core.subject)),
    )


def _blocks(element: Any) -> Iterator[c.Block | Grid]:
    for child in element:
        if child.tag == f"{_A}p":
            if text := _text(child):
                yield "paragraph", text
        elif child.tag == f"{_A}tbl":
            yield Grid(
                [
                    [_cell(cell) for cell in line.iterchildren(f"{_A}tc")]
                    for line in child.iterchildren(f"{_A}tr")
                ]
            )
        elif len(child) and child.tag != _FALLBACK:
            yield from _blocks(child)


def _cell(cell: Any) -> GridCell:
    words = (word for paragraph in cell.iter(f"{_A}p") for word in _text(paragraph).split())
    # what a wide cell covers stands in the file as cells without text
    return GridCell(" ".join(words), continues=cell.get("vMerge") in {"1", "true"})


def _text(paragraph: Any) -> str:
    parts = (
        "\n" if node.tag == f"{_A}br" else node.text or "" for node in paragraph.iter(f"{_A}t", f"{_A}br")
    )
    return "".join(parts).strip()
