"""Records of JSON as rows: their places in the text, and the values in each with their places.

A record is an object; its columns are its keys, those of an object within it with the outer key before them
(`{"born": {"place": …}}` is "born place"). A list of plain values is one cell; one of anything else is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphrag_rdf.documents.model import Span
from graphrag_rdf.documents.text import storable_text

_DEEPEST = 8
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False)
_BLANK = re.compile(r"[ \t\r\n]*")
_MARK = re.compile(r"\\.|\"", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|[\"\\/bfnrt])"
)


class Member(NamedTuple):
    """A plain value of a record.

    Args:
        name: its keys, from the outermost on.
        value: as text; "" for null.
        start, end: its characters, without the quotation marks of a string.
        whole: the end of all that belongs to it.
    """

    name: str
    value: str
    start: int
    end: int
    whole: int


def members(text: str, start: int = 0) -> list[Member]:
    """The plain values of the object that begins at a place.

    Raises:
        ValueError: when there is none, or it is cut off.
    """
    record: list[Member] = []
    _record(text, start, "", 0, record)
    return record


def items(text: str, start: int) -> list[tuple[str, int, int]]:
    """The plain values of the list that begins at a place, and where the characters of each are.

    Raises:
        ValueError: when there is none, or it is cut off.
    """
    values: list[tuple[str, int, int]] = []
    position = _after_blanks(text, start + 1)
    while text[position : position + 1] not in ("]", ""):
        value, end = _value(text, position)
        quoted = text[position] == '"'
        if plain := _plain(value):
            values.append((plain, position + quoted, end - quoted))
        position = _after_blanks(text, end)
        if text[position : position + 1] == ",":
            position = _after_blanks(text, position + 1)
    return values


def unescaped(piece: str) -> tuple[str, Sequence[int]]:
    """A piece of a JSON string without escapes.

    Returns:
        the text that its escapes stand for, and where in the piece each character of that begins; the last
        place is the end of the piece.
    """
    pieces: list[str] = []
    places: list[int] = []
    position = 0
    for escape in _ESCAPE.finditer(piece):
        pieces += [piece[position : escape.start()], storable_text(json.loads(f'"{escape[0]}"'))]
        places += [*range(position, escape.start()), escape.start()]
        position = escape.end()
    return "".join([*pieces, piece[position:]]), [*places, *range(position, len(piece) + 1)]


def without_marks(text: str) -> str:
    """A text of JSON with blanks in the place of the quotation marks around its strings."""
    return _MARK.sub(lambda match: " " if match[0] == '"' else match[0], text)


def record_lists(text: str) -> list[list[Span]]:
    """Lists of objects in a JSON document, each as the places of its objects; not those within such objects.

    Raises:
        ValueError: when it is no JSON.
    """
    lists: list[list[Span]] = []
    _lists(text, _after_blanks(text, 0), 0, lists)
    return lists


def _record(text: str, position: int, outer: str, depth: int, record: list[Member]) -> int:
    """Note the plain values of an object; where it ends."""

    def member(key: str, start: int) -> int:
        name = f"{outer} {storable_text(key)}".strip()
        if text[start] == "{" and depth < _DEEPEST:
            return _record(text, start, name, depth + 1, record)
        value, end = _value(text, start)
        quoted = text[start] == '"'
        if (plain := _plain(value)) is not None:
            record.append(Member(name, plain, start + quoted, end - quoted, end))
        return end

    return _object(text, position, member)


def _plain(value: Any) -> str | None:
    """A plain value, or a list of them, as text; None for anything else."""
    if isinstance(value, list):
        listed = [None if isinstance(item, list) else _plain(item) for item in value]
        return "; ".join(item for item in listed if item) if None not in listed else None
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return ""
    return storable_text(value) if isinstance(value, str) else None  # an escape may stand for any code point


def _lists(text: str, position: int, depth: int, lists: list[list[Span]]) -> int:
    """Note the lists of objects in the value that begins at a place; where it ends."""
    if text[position : position + 1] == "{" and depth < _DEEPEST:
        return _object(text, position, lambda _, start: _lists(text, start, depth + 1, lists))
    inside = _after_blanks(text, position + 1)
    if text[position : position + 1] != "[" or text[inside : inside + 1] != "{":
        return _value(text, position)[1]
    spans: list[Span] = []
    while text[inside : inside + 1] == "{":
        end = _value(text, inside)[1]
        spans.append((inside, end))
        inside = _after_blanks(text, end)
        if text[inside : inside + 1] == ",":
            inside = _after_blanks(text, inside + 1)
    if text[inside : inside + 1] != "]":  # something else stands among them
        return _value(text, position)[1]
    lists.append(spans)
    return inside + 1


def _object(text: str, position: int, member: Callable[[str, int], int]) -> int:
    """Go through the members of an object; where it ends.

    Args:
        member: takes a key, and where its value begins; where that ends.
    """
    if text[position : position + 1] != "{":
        raise ValueError("no object")
    position = _after_blanks(text, position + 1)
    while text[position : position + 1] == '"':
        key, position = _value(text, position)
        position = _after_blanks(text, position)
        start = _after_blanks(text, position + 1)
        if text[position : position + 1] != ":" or start == len(text):
            raise ValueError("no value")
        position = _after_blanks(text, member(key, start))
        if text[position : position + 1] == ",":
            position = _after_blanks(text, position + 1)
    if text[position : position + 1] != "}":
        raise ValueError("the object is cut off")
    return position + 1


def _value(text: str, position: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _after_blanks(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position
