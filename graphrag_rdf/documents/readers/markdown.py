"""Markdown: the source text is kept as it is; front matter gives metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from graphrag_rdf.documents.model import Heading, Span, Table
from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.documents.tables import BARRED, MOST_COLUMNS, read_row
from graphrag_rdf.documents.text import unmarked

if TYPE_CHECKING:
    from yaml import SafeLoader


_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.{0,65536}?)^(?:---|\.\.\.)[ \t]*\r?$", re.S | re.M)
_LIKE_YAML = re.compile(r"[\w-]+:(?:\s|$)|\s|- |#")
_PAIR = re.compile(r"([\w-]+):\s+(\S.*)")
_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r"^ {0,3}(?:=+|-{2,})[ \t]*$")
_NO_SETEXT = re.compile(r"[-*+>|]|\d+[.)]")
_LONGEST_HEADING = 4096  # characters of a line that are looked at for a title
_MOST_ALIASES = 10  # merged into each other, they multiply what they stand for ("billion laughs")
_DEEPEST = 50  # collections within each other
_NUMBERS = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
# what PyYAML raises of a value that is none of its tag (`!!int ""`), and of collections within each other
_WRONG_VALUES = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


def read_markdown(data: bytes) -> c.Content:
    """Decode a Markdown file; title from the front matter, first heading from the text.

    Raises:
        UnreadableError: it is not text.
    """
    text, encoding = decode(data)
    front, body = _front_matter(text)
    start = len(text) - len(body) if front else 0
    metadata = [
        (iri, value) for key, iri in c.PROPERTIES.items() if key in front for value in _values(front[key])
    ]
    title = _values(front.get("title"))
    headings = tuple(_headings(text, len(text) - len(body)))
    language = _values(front.get("lang")) or _values(front.get("language"))
    return c.Content(
        text,
        title=title[0] if title else "",
        heading=next((heading.text for heading in headings), ""),
        headings=headings,
        language=language[0] if language else None,
        encoding=encoding,
        metadata=tuple(metadata),
        tables=barred_tables(text, start=start),
        unsaid=((0, start),) if front else (),
    )


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The front matter's mapping, keys in lower case, and the text where headings may stand.

    A file may well begin with a horizontal rule: what is no YAML mapping gives no metadata, and is no error.
    Lines that all look like those of a mapping are one, although a colon in a title is no YAML.
    """
    match = _FRONT_MATTER.match(text)
    if not match:
        return {}, text
    import yaml

    try:
        loaded = yaml.load(match[1], _front_loader())  # noqa: S506 - a safe loader
    except (yaml.YAMLError, *_WRONG_VALUES):
        loaded = _line_by_line(match[1])
        if loaded is None:
            return {}, text[match.end() :]
    if not isinstance(loaded, dict):
        return {}, text
    front = {key.lower(): value for key, value in loaded.items() if isinstance(key, str)}
    return front, text[match.end() :]


@lru_cache(maxsize=1)
def _front_loader() -> type[SafeLoader]:
    """A safe loader that gives up on what would multiply, and on nesting that it is slow at. Numbers stay
    as they are written: 007 is an identifier, and 1.10 a version.
    """
    import yaml

    class FrontLoader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - as its base has it
            first: [resolver for resolver in resolvers if resolver[0] not in _NUMBERS]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
        aliases = 0

        def fetch_alias(self) -> None:
            self.aliases += 1
            if self.aliases > _MOST_ALIASES:
                raise yaml.YAMLError("too many aliases")
            super().fetch_alias()

        def fetch_flow_collection_start(self, token_class: Any) -> None:
            if self.flow_level >= _DEEPEST:
                raise yaml.YAMLError("nested too deeply")
            super().fetch_flow_collection_start(token_class)

        def add_indent(self, column: int) -> bool:
            if len(self.indents) >= _DEEPEST:
                raise yaml.YAMLError("nested too deeply")
            return super().add_indent(column)

    return FrontLoader


def _line_by_line(front: str) -> dict[str, str] | None:
    lines = [line for line in front.splitlines() if line.strip()]
    if not all(map(_LIKE_YAML.match, lines)):
        return None
    pairs = [match for line in lines if (match := _PAIR.match(line))]
    return {pair[1]: pair[2].strip().strip("\"'") for pair in pairs}


def _values(value: Any) -> list[str]:
    """Texts and dates of a scalar or a flat list; nested data is no metadata value."""
    items = value if isinstance(value, list) else [value]
    return [
        item.isoformat() if isinstance(item, date) else item for item in items if isinstance(item, str | date)
    ]


def _headings(text: str, start: int) -> Iterator[Heading]:
    """Headings of either kind, outside of code.

    Args:
        start: where the front matter ends.
    """
    fence = previous = ""
    offset = before = start
    for whole in text[start:].splitlines(keepends=True):
        line = whole.rstrip("\r\n")[:_LONGEST_HEADING]
        mark = FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
        elif match := _ATX.match(line):
            yield Heading(offset, len(match[1]), unmarked(match[2]).strip())
        elif previous and _SETEXT.match(line) and not _NO_SETEXT.match(previous):
            yield Heading(before, 1 if line.lstrip()[0] == "=" else 2, unmarked(previous).strip())
        before, offset, previous = offset, offset + len(whole), "" if fence else line.strip()


# --- tables with bars around their cells ---------------------------------------------------------------


_LINE = re.compile(r"[^\r\n]+")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
DASHES = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*")
FENCE = re.compile(r" {0,3}(```+|~~~+)")
"""Begins and ends code in Markdown; matched at the beginning of a line."""


def barred_tables(text: str, *, start: int = 0, dashes: re.Pattern[str] = DASHES) -> tuple[Table, ...]:
    """The tables of a text of which the columns have names: those with a line of dashes below the first.

    Args:
        text: the document's.
        start: where to begin looking, code points.
        dashes: what such a line looks like.
    """
    tables = []
    for block in _blocks(text, start):
        lines = [text[slice(*span)] for span in block]
        starts = [
            n for n, line in enumerate(lines[1:]) if dashes.fullmatch(line) and not dashes.fullmatch(lines[n])
        ]
        for first, end in pairwise([*starts, len(block)]):
            tables.append(_table(text, block[first:end]))
    return tuple(table for table in tables if table is not None)


def _table(text: str, lines: list[Span]) -> Table | None:
    head, end = lines[0], lines[1][1]
    names = tuple(cell.text for cell in read_row(text[slice(*head)], BARRED, ()) or ())
    return (
        Table(names, BARRED, tuple(lines[2:]), (head[0], end))
        if lines[2:] and any(names) and len(names) <= MOST_COLUMNS
        else None
    )


def _blocks(text: str, start: int) -> Iterator[list[Span]]:
    """Runs of lines with bars, without blank lines between them."""
    run: list[Span] = []
    fence = ""
    for match in _LINE.finditer(text, start):
        mark = FENCE.match(match[0])
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        row = not fence and _ROW.fullmatch(match[0]) is not None
        apart = run and text[run[-1][1] : match.start()] not in {"\n", "\r\n", "\r"}
        if run and (not row or apart):
            yield run
            run = []
        if row:
            run.append(match.span())
    if run:
        yield run
