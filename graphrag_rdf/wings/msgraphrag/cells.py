"""Cells of tables, whatever wrote them: parquet has typed values, CSV the texts that pandas makes of them.

No cell raises: what cannot be read is empty, and a row that needs it is reported as malformed.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable
from datetime import date, datetime

from graphrag_rdf.documents.text import storable_text

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_NUMBER = re.compile(r"-?\d+")
_LONGEST = 1 << 24
"""Characters of a cell that is evaluated as a literal."""


def text(cell: object) -> str | None:
    """The text of a cell without white space around it; None for an empty one."""
    if _is_empty(cell):
        return None
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    return storable_text(str(cell)).strip() or None


def raw_text(cell: object) -> str | None:
    """The text of a cell as it is; None for an empty one."""
    return storable_text(cell) if isinstance(cell, str) and cell else text(cell)


def number(cell: object) -> float | None:
    """The number in a cell; None if there is none, or it is not finite."""
    if isinstance(cell, bool) or _is_empty(cell):
        return None
    try:
        found = float(str(cell))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def integer(cell: object) -> int | None:
    """The integer in a cell; None if there is none."""
    found = number(cell)
    return int(found) if found is not None and found == int(found) else None


def texts(cell: object) -> tuple[str, ...]:
    """The texts of a list, in order, each once. A text that is no list stands for itself."""
    found = (text(each) for each in _items(cell))
    return tuple(dict.fromkeys(each for each in found if each is not None))


def records(cell: object) -> tuple[dict[str, object], ...]:
    """The dictionaries of a list, e.g. findings."""
    return tuple(
        {str(key): value for key, value in each.items()} for each in _items(cell) if isinstance(each, dict)
    )


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def _items(cell: object) -> list[object]:
    if _is_empty(cell):
        return []
    if isinstance(cell, str):
        return _written(cell.strip())
    return list(cell) if isinstance(cell, Iterable) and not isinstance(cell, dict) else [cell]


def _written(cell: str) -> list[object]:
    """The items of a list in a text: JSON, as Python prints it, or as numpy does (no commas)."""
    if not cell:
        return []
    if not (cell.startswith("[") and cell.endswith("]")) or len(cell) > _LONGEST:
        return [cell]
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        # Python joins neighbouring texts: the list of numpy "['a' 'b']" would be one text
        if isinstance(found, list) and not (len(found) == 1 and re.search(r"['\"]\s+['\"]", cell)):
            return found
    quoted: list[object] = [a or b for a, b in _QUOTED.findall(cell)]
    return quoted or [*map(int, _NUMBER.findall(cell))]
