"""What the tests need of Markdown: fenced blocks, tables, headings, links; and comparison with `…`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ANY = "…"
PAGES_AT_THE_TOP = (
    "README.md",
    "README.zh.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "THIRD_PARTY.md",
)
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line of a `console` block and the output it shows.

    Attributes:
        line: its line in the page, from 1.
    """

    text: str
    expected: tuple[str, ...]
    line: int


def pages() -> list[Path]:
    """Every page of the documentation."""
    top = [REPOSITORY / name for name in PAGES_AT_THE_TOP]
    examples = sorted((REPOSITORY / "examples").glob("*.md"))
    return [*top, *examples, *sorted((REPOSITORY / "docs").rglob("*.md"))]


def blocks(page: str, language: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the fenced blocks in a language."""
    for match in _FENCE.finditer(page):
        if match[1] == language:
            yield page.count("\n", 0, match.start()) + 2, match[2]


def commands(page: str) -> Iterator[Command]:
    """The commands of all `console` blocks: a line that begins with `$ ` and those after it with `> `."""
    for line, block in blocks(page, "console"):
        rows = block.splitlines()
        starts = [number for number, row in enumerate(rows) if row.startswith("$ ")]
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            more = list(takewhile(lambda row: row.startswith("> "), rows[start + 1 : end]))
            text = "\n".join(row[2:] for row in (rows[start], *more))
            yield Command(text, tuple(rows[start + 1 + len(more) : end]), line + start)


def without_code(page: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page)


def anchors(page: str) -> set[str]:
    """What links into a page may name: its headings, as forges spell them."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-")
        for heading in _HEADING.findall(without_code(page))
    }


def table(text: str) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows of the first table in a text."""
    found = re.search(r"(?:^\|.*\|\n?)+", text, re.MULTILINE)
    if found is None:
        return None
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in found[0].splitlines()
    ]
    return rows[0], rows[2:]


def line_matches(expected: str, line: str) -> bool:
    """Whether a line is as expected; `…` stands for any characters, or none."""
    pattern = ".*".join(re.escape(part) for part in expected.rstrip().split(ANY))
    return re.fullmatch(pattern, line.rstrip()) is not None


def output_matches(expected: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether an output is as expected; a line `…` stands for any lines, or none."""
    if not expected:
        return not lines
    if expected[0].strip() == ANY:
        return any(output_matches(expected[1:], lines[skip:]) for skip in range(len(lines) + 1))
    return bool(lines) and line_matches(expected[0], lines[0]) and output_matches(expected[1:], lines[1:])
