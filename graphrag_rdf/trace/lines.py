"""Lines for terminals: wrapped to a width, and nothing in them but letters.

Nothing that stands in a document, question or answer reaches the terminal as a control sequence or turns the
writing direction: see `printable`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_REPLACEMENT = "\ufffd"
_BLANKS = "\t\r\v\f\x85\u2028\u2029"
# C0 and C1 controls (ECMA-48), bidirectional controls (UAX #9 §2), surrogates, tag characters, annotations
_UNPRINTABLE = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0x61C, 0x61C),
    (0x200E, 0x200F),
    (0x202A, 0x202E),
    (0x2066, 0x2069),
    (0xD800, 0xDFFF),
    (0xFFF9, 0xFFFB),
    (0xE0000, 0xE007F),
)
_TABLE = {
    **{code: _REPLACEMENT for first, last in _UNPRINTABLE for code in range(first, last + 1)},
    **dict.fromkeys(map(ord, _BLANKS), " "),
    ord("\n"): "\n",
}

_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def printable(text: str) -> str:
    """A text that a terminal or page shows as it is: no control sequence, no reversed writing direction.

    Line feeds stay; other blank controls become spaces; every other control becomes U+FFFD. Each character is
    replaced by one, so offsets still hold.
    """
    return text.translate(_TABLE)


def one_line(text: str) -> str:
    """A printable text on one line, runs of white space as one space."""
    return " ".join(printable(text).split())


class Lines:
    """A text that grows line by line; everything that is written passes through `printable`.

    Args:
        width: cells of a line; wide characters take two.
        colour: whether bold and dim are shown.
    """

    def __init__(self, width: int, colour: bool) -> None:
        self._width = max(width, 20)
        self._colour = colour
        self._lines: list[str] = []

    def heading(self, name: str, iri: str) -> None:
        """`[name] iri`, never broken."""
        self.line(f"[{name}] {iri}", bold=True)

    def line(self, text: str = "", *, bold: bool = False) -> None:
        """One line, however long."""
        shown = printable(text).replace("\n", " ").rstrip()
        self._lines.append(f"{_BOLD}{shown}{_RESET}" if bold and self._colour and shown else shown)

    def paragraph(
        self, text: str, indent: str, label: str = "", *, dim: bool = False, hang: str | None = None
    ) -> None:
        """A wrapped text.

        Args:
            indent: what the first line begins with.
            label: what stands before the text.
            hang: what further lines begin with; by default the indent, two cells deeper after a label.
        """
        hang = indent + ("  " if label else "") if hang is None else hang
        shown = one_line(f"{label}{text}")
        for number, piece in enumerate(_wrap(shown, self._width - len(hang))):
            lead = hang if number else indent
            self._lines.append(f"{lead}{_DIM}{piece}{_RESET}" if dim and self._colour else lead + piece)

    def prose(self, text: str, indent: str) -> None:
        """A text whose own lines are kept."""
        for line in printable(text).split("\n"):
            if line.strip():
                self.paragraph(line, indent)
            else:
                self.line()

    def inset(self, lead: str) -> Lines:
        """An empty text that is narrower by what its lines will begin with; see `add`."""
        return Lines(self._width - len(lead), self._colour)

    def add(self, lines: Lines, lead: str) -> None:
        """The lines of another text, each after `lead`."""
        self._lines += [f"{lead}{line}".rstrip() for line in lines._lines]

    def text(self) -> str:
        """All of it, ending in a line feed; empty if nothing was written."""
        return "\n".join(self._lines) + "\n" if self._lines else ""


@cache
def _console() -> Console:
    from rich.console import Console

    return Console(file=io.StringIO(), color_system=None, legacy_windows=False)


def _wrap(text: str, width: int) -> Iterator[str]:
    from rich.text import Text

    for line in Text(text).wrap(_console(), max(width, 20), tab_size=1):
        yield line.plain.rstrip()


def human_size(count: int) -> str:
    """Bytes in words."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
