"""HTML that a parser would need minutes or gigabytes for, recognised before it is parsed.

A parser of HTML ("tree construction" in the HTML Living Standard, 13.2.6) walks the stack of open elements
for each block that begins, copies formatting elements that are never closed into each of them, and compares
each attribute of a tag with those before it. All three grow with the square of a hostile page's length.
Here its tags are counted in one pass, as far as that takes no tree.
"""

from __future__ import annotations

import re
from collections import Counter

from graphrag_rdf.documents.readers.content import UnreadableError

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
                f"a tag has more than {MOST_ATTRIBUTES:,} attributes", "is a quotation mark not closed?"
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
                    f"its elements are nested too deeply ({len(self._open):,} within each other)",
                    "save the page as text",
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
                f"{len(self._formatting):,} elements such as <b> and <font> are never closed",
                "close them, or save the page as text",
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
