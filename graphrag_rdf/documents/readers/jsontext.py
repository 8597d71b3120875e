"""JSON and JSON Lines: kept as they are, but checked."""

from __future__ import annotations

import json
from typing import Any

from graphrag_rdf.documents.readers.content import Content, UnreadableError
from graphrag_rdf.documents.readers.encoding import decode

_TITLE_KEYS = ("title", "name", "headline")


def read_json(data: bytes) -> Content:
    """Decode a JSON file; a top-level title or name is its title.

    Raises:
        UnreadableError: it is not text, or not JSON.
    """
    text, encoding = decode(data)
    value = _parse(text, "not valid JSON") if text.strip() else None
    titles = (
        [value[key] for key in _TITLE_KEYS if isinstance(value.get(key), str)]
        if isinstance(value, dict)
        else []
    )
    return Content(text, title=titles[0] if titles else "", encoding=encoding)


def read_json_lines(data: bytes) -> Content:
    """Decode a JSON Lines file.

    Raises:
        UnreadableError: it is not text, or one of its lines is not JSON.
    """
    text, encoding = decode(data)
    # not splitlines: a JSON string may hold U+2028 and its like
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            _parse(line, f"line {number} is not valid JSON")
    return Content(text, encoding=encoding)


def _parse(text: str, complaint: str) -> Any:
    try:
        # numbers stay strings: only the shape is checked, and int() refuses long ones
        return json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise UnreadableError(f"{complaint}: {error}") from None
    except RecursionError:
        raise UnreadableError(f"{complaint}: nested too deeply") from None
