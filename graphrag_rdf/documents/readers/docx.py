"""Word documents: paragraphs, lists and tables in document order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.package import metadata, open_package

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_PIECES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
# deleted and moved-away text, text boxes' second copy, and properties that hold tab stops
_SKIPPED = frozenset({f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", _FALLBACK})
# what wraps blocks without being one: content controls, tracked insertions, custom XML
_WRAPPERS = frozenset({f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}moveTo", f"{_W}customXml"})


def read_docx(data: bytes) -> c.Content:
    """Extract a Word document's text and core properties.

    Cells are taken as they stand in the file, so a merged cell counts once. Headers, footers, footnotes
    and comments are left out.

    Raises:
        UnreadableError: it is damaged, encrypted or unsafe.
    """
    from docx import Document

    document = Document(open_package(data))
    styles = {style.style_id: (style.name or "").lower() for style in document.styles}
    blocks = [block for block in _blocks(document.element.body, styles) if block[1]]
    core = document.core_properties
    return c.Content(
        c.layout(blocks),
        title=core.title,
        heading=c.first_heading(blocks),
        language=core.language,
        metadata=tuple(metadata(core, core.author, core.comments or core.subject)),
    )


def _blocks(parent: Any, styles: dict[str, str]) -> Iterator[c.Block]:
    for element in parent:
        if element.tag == f"{_W}p":
            yield _kind(element, styles), _text(element).strip()
        elif element.tag == f"{_W}tbl":
            yield from _rows(element, styles)
        elif element.tag in _WRAPPERS:
            yield from _blocks(element, styles)


def _rows(table: Any, styles: dict[str, str]) -> Iterator[c.Block]:
    for line in table.iterchildren(f"{_W}tr"):
        cells = [" ".join(text for _, text in _blocks(cell, styles)) for cell in line.iterchildren(f"{_W}tc")]
        if block := c.row(cells):
            yield block


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
