"""HTML: the text that a reader of the page sees, in document order.

Pages that a parser would need minutes or gigabytes for are recognised before it parses them. A parser ("tree
construction" in the HTML Living Standard, 13.2.6) walks the stack of open elements for each block that
begins, copies formatting elements that are never closed into each of them, and compares each attribute of a
tag with those before it. All three grow with the square of a hostile page's length. `check_nesting` counts
tags in one pass, as far as that takes no tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.content import Grid, GridCell, UnreadableError
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.tables import MOST_COLUMNS
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode


_CHARSET = re.compile(rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I)


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_INVISIBLE = _tags(
    "head script style noscript template nav iframe object embed svg math canvas audio video map button "
    "select textarea datalist dialog"
)
_HEADINGS = _tags("h1 h2 h3 h4 h5 h6")
_BLOCKS = _HEADINGS | _tags(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption "
    "figure footer form header hgroup hr html legend li main menu ol p pre search section summary table "
    "tbody tfoot thead tr ul"
)
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_SEAM = re.compile(r" *([ \n]) *")  # where inline elements meet
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_MOST_LINES = 65_534  # that a cell may span, as in browsers
_SOFT_HYPHEN = "\xad"

_PROPERTIES = c.PROPERTIES | {"content-language": c.LANGUAGE, "language": c.LANGUAGE}
_PREFIX = re.compile(r"\A(?:dc|dcterms|article|citation|og)[.:_]")


def read_html(data: bytes) -> c.Content:
    """Extract the visible text of a page.

    Scripts, styles, navigation, form controls and hidden elements are dropped; white space is collapsed as
    a browser does, except in `<pre>`; no-break spaces become spaces and soft hyphens vanish.

    Raises:
        UnreadableError: it is not text, or nested beyond all measure (`nesting`).
    """
    from selectolax.lexbor import LexborHTMLParser

    declared = _CHARSET.search(data[:4096])
    text, encoding = decode(data, declared[1].decode("ascii") if declared else None)
    check_nesting(text)
    tree = LexborHTMLParser(text)
    blocks = list(_blocks(tree.body)) if tree.body is not None else []
    laid_out, tables = c.layout(blocks)
    title = tree.css_first("head > title")
    root = tree.css_first("html")
    language = root.attributes.get("lang") or root.attributes.get("xml:lang") if root is not None else None
    return c.Content(
        laid_out,
        title=title.text() if title is not None else "",
        heading=c.first_heading(blocks),
        headings=c.headings_in(laid_out, blocks),
        language=language,
        encoding=encoding,
        metadata=tuple(_metadata(tree)),
        tables=tables,
    )


def _metadata(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for meta in tree.css("meta[content]"):
        attributes = meta.attributes
        name = (
            attributes.get("name") or attributes.get("property") or attributes.get("http-equiv") or ""
        ).lower()
        value = attributes.get("content") or ""
        link = value.startswith(("https://", "http://"))
        if (iri := _PROPERTIES.get(_PREFIX.sub("", name))) and not (link and iri in {c.CREATOR, c.PUBLISHER}):
            for part in value.split(",") if name == "keywords" else [value]:
                yield iri, part
    canonical = tree.css_first("link[rel=canonical]")
    if canonical is not None and (href := canonical.attributes.get("href")):
        yield c.URL, href


def _hidden(node: LexborNode) -> bool:
    if node.tag in _INVISIBLE:
        return True
    attributes = node.attributes
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
    )


class _Layout:
    """Collects text until a block ends."""

    def __init__(self) -> None:
        self.kind: c.BlockKind = "paragraph"
        self.parts: list[str] = []
        self.verbatim = False
        self.cells: list[GridCell] | None = None
        self.spans = (1, 1)  # columns and lines of the cell at hand
        self.names = False  # whether all cells of the row at hand are headers
        self.in_head = False
        self.grid = Grid(declared=0)
        self.done: list[c.Block | Grid] = []

    def add(self, text: str, *, verbatim: bool) -> None:
        text = text.replace(_SOFT_HYPHEN, "")
        self.verbatim = self.verbatim or (verbatim and not text.isspace())
        self.parts.append(text.replace("\xa0", " ") if verbatim else _SPACE.sub(" ", text))

    def take(self) -> str:
        joined = "".join(self.parts)
        verbatim, self.verbatim = self.verbatim, False
        self.parts.clear()
        return joined.strip("\r\n").rstrip() if verbatim else _SEAM.sub(r"\1", joined).strip()

    def end_cell(self) -> None:
        text = " ".join(self.take().split())
        if self.cells is not None:
            self.cells.append(GridCell(text, *self.spans))
        elif text:
            self.done.append(("paragraph", text))
        self.spans = (1, 1)

    def end_block(self) -> None:
        if self.cells is not None:  # blocks within a cell are parts of its text
            self.parts.append(" ")
        elif text := self.take():
            self.done.append((self.kind, text))
            self.kind = "paragraph"

    def end_row(self) -> None:
        if self.cells is None:
            return
        if text := " ".join(self.take().split()):
            self.cells.append(GridCell(text))
        cells, self.cells = self.cells, None
        if not any(cell.text for cell in cells):
            return
        several = len(cells) > 1
        if (self.names or self.in_head) and (several or len(self.grid.lines) == self.grid.declared):
            if len(self.grid.lines) > (self.grid.declared or 0):  # other columns begin
                self.end_table(self.grid.caption)
            self.grid.declared = len(self.grid.lines) + 1
        self.grid.lines.append(cells)

    def end_table(self, caption: str = "") -> None:
        if self.grid.lines:
            self.done.append(self.grid)
        self.grid = Grid(declared=0, caption=caption)


def _blocks(body: LexborNode) -> Iterator[c.Block | Grid]:
    """Walk the tree without recursion: pages may be nested as deeply as they like."""
    out = _Layout()
    pre = 0
    node: LexborNode | None = body
    while node is not None:
        tag = node.tag or ""
        descend = False
        if node.is_text_node:
            out.add(node.text_content or "", verbatim=pre > 0)
        elif node.is_element_node and not _hidden(node):
            descend = True
            pre += tag == "pre"
            _enter(node, tag, out)
        child = node.child if descend else None
        if child is not None:
            node = child
            continue
        if descend:
            pre -= tag == "pre"
            _leave(tag, out)
        while node is not None and node.next is None:
            node = node.parent
            if node is None or node.mem_id == body.mem_id:
                node = None
                break
            pre -= node.tag == "pre"
            _leave(node.tag or "", out)
        node = node.next if node is not None and node.mem_id != body.mem_id else None
    out.end_row()
    out.end_table()
    out.end_block()
    yield from out.done


def _enter(node: LexborNode, tag: str, out: _Layout) -> None:
    if tag == "br":
        out.parts.append("\n")
    elif tag == "tr":
        out.end_row()
        out.end_block()
        out.cells = []
        out.names = True
    elif tag in {"td", "th"}:
        attributes = node.attributes
        out.spans = (
            _span(attributes.get("colspan"), MOST_COLUMNS),
            _span(attributes.get("rowspan"), _MOST_LINES),
        )
    elif tag in _BLOCKS:
        out.end_block()
        if tag == "table":
            out.end_row()
            out.end_table()
        out.in_head = (out.in_head or tag == "thead") and tag not in {"table", "tbody"}
        if tag in _HEADINGS:
            out.kind = "heading"
        elif tag == "li":
            out.kind = "item"


def _span(value: str | None, most: int) -> int:
    number = (value or "").strip()[:9]
    return min(int(number), most) or 1 if number.isascii() and number.isdigit() else 1


def _leave(tag: str, out: _Layout) -> None:
    if tag in {"td", "th"}:
        out.names = out.names and tag == "th"
        out.end_cell()
    elif tag == "tr":
        out.end_row()
    elif tag in _BLOCKS:
        if tag == "caption":
            out.grid.caption = " ".join("".join(out.parts).split())
        out.end_block()
        if tag == "table":
            out.end_table()
        out.in_head = out.in_head and tag != "thead"
        if tag == "li" or tag in _HEADINGS:  # an empty one does not mark what follows it
            out.kind = "paragraph"


# --- hostile pages -------------------------------------------------------------------------------------


DEEP = 500
"""Open elements within each other that browsers allow for, too."""
MOST_STEPS = 1_000_000_000
"""Open elements beyond `DEEP`, added up over all tags: some two seconds."""
MOST_ATTRIBUTES = 5000
"""Of one tag."""
MOST_COPIES = 2_000_000
"""Formatting elements that are never closed, times the blocks that they are copied into."""

_FEW = 2000  # tags: pages with fewer cannot come near the limits of time and memory
_LONG_TAG = 10_000
_ATTRIBUTE = r"(?:=[^\s/>=]*+|[^\s/>=]++)(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^\s>]*+))?+"
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_MARKUP = re.compile(
    rf"<!--(?:-?>|.*?(?:--!?>|\Z))"
    rf"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)(?=[\s/>])(?:[\s/]++|{_ATTRIBUTE})*+>"
    rf".*?(?:</(?P=raw)(?=[\s/>])|\Z)"
    rf"|<(?P<close>/?)(?P<name>[a-z][^\s/>]*+)(?P<attributes>(?:[\s/]++|{_ATTRIBUTE})*+)>?",
    re.I | re.S,
)
_VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input"),
        *("link", "meta", "param", "source", "track", "wbr"),
    )
)
_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
# they end with what follows them, so hardly anybody closes them: neither they nor what they hold add up
_ENDED = {
    **dict.fromkeys(
        ["tr", "td", "th", "tbody", "thead", "tfoot", "caption", "colgroup"], frozenset({"table"})
    ),
    **dict.fromkeys(["li"], frozenset({"ul", "ol", "menu"})),
    **dict.fromkeys(["dt", "dd"], frozenset({"dl"})),
    **dict.fromkeys(["option", "optgroup"], frozenset({"select", "datalist"})),
}
_ARK = 3  # equal formatting elements that are kept ("Noah's Ark clause")


def check_nesting(text: str) -> None:
    """Refuse a page that would take time or memory beyond all measure.

    Args:
        text: of the page.

    Raises:
        UnreadableError: elements are nested too deeply, formatting is never closed, or a tag has too many
            attributes.
    """
    if text.count("<") < _FEW and len(text) < _LONG_TAG:
        return
    stack = _Stack()
    for tag in _MARKUP.finditer(text):
        if tag.end() - tag.start() > _LONG_TAG:
            _check_attributes(tag["attributes"] or "")
        if tag["name"] is not None:
            stack.meet(tag["name"].lower(), bool(tag["close"]), tag["attributes"])


def _check_attributes(attributes: str) -> None:
    for number, _ in enumerate(_ATTRIBUTES.finditer(attributes), start=1):
        if number > MOST_ATTRIBUTES:
            raise UnreadableError(
                tr("a tag has more than {most_attributes:,} attributes").format(
                    most_attributes=MOST_ATTRIBUTES
                ),
                tr("is a quotation mark not closed?"),
            )


class _Stack:
    """The open elements, about as a parser has them."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._names: Counter[str] = Counter()
        self._formatting: list[tuple[str, str]] = []
        self._kinds: Counter[tuple[str, str]] = Counter()
        self._copies = 0
        self._steps = 0

    def meet(self, name: str, close: bool, attributes: str) -> None:
        """Note a tag."""
        if len(self._open) > DEEP:
            self._steps += len(self._open) - DEEP
            if self._steps > MOST_STEPS:
                raise UnreadableError(
                    tr("its elements are nested too deeply ({count:,} within each other)").format(
                        count=len(self._open)
                    ),
                    tr("save the page as text"),
                )
        if name in _FORMATTING:
            self._format(name, close, attributes)
        elif close:
            self._close(name)
        elif name not in _VOID:
            self._begin(name)

    def _begin(self, name: str) -> None:
        self._copies += len(self._formatting)
        if self._copies > MOST_COPIES:
            raise UnreadableError(
                tr("{count:,} elements such as <b> and <font> are never closed").format(
                    count=len(self._formatting)
                ),
                tr("close them, or save the page as text"),
            )
        if around := _ENDED.get(name):
            if any(map(self._names.__getitem__, around)):
                while self._open[-1] not in around:
                    self._names[self._open.pop()] -= 1
            return
        if name == "p":
            return
        self._open.append(name)
        self._names[name] += 1

    def _close(self, name: str) -> None:
        if self._names[name]:
            while (top := self._open.pop()) != name:
                self._names[top] -= 1
            self._names[name] -= 1

    def _format(self, name: str, close: bool, attributes: str) -> None:
        kind = name, attributes
        if not close and self._kinds[kind] < _ARK:
            self._formatting.append(kind)
            self._kinds[kind] += 1
        elif close:
            for place in range(len(self._formatting) - 1, max(len(self._formatting) - 100, 0) - 1, -1):
                if self._formatting[place][0] == name:
                    self._kinds[self._formatting.pop(place)] -= 1
                    return
