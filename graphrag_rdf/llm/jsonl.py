"""Reading JSON of models: in fences, in prose, line by line, cut off, slightly wrong.

Surrounding text is ignored. A piece is first parsed strictly, then without trailing commas
and typographic quotes, then, if it was cut off, up to its last whole item. json-repair, which guesses,
comes last, and its result is flagged.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_rdf.errors import LlmError
from graphrag_rdf.i18n import tr

_OPENING = re.compile(r"[\[{]")
_STRING = r'"(?:[^"\\]|\\.)*"'
# a string that is never closed goes to the end: brackets in it are none
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
_QUOTES = str.maketrans("“”„‟″", '"""""')
_CLOSER = {"{": "}", "[": "]"}
# an answer of nothing but brackets must not cost more than reading it a few times
_MAX_FAILURES = 50
_MAX_REPAIR = 200_000
_MAX_DEPTH = 50  # json-repair takes time by the square of the nesting
_SHOWN = 500
_OF_A_CALL = ("arguments", "parameters")


@dataclass(frozen=True, slots=True)
class Bad:
    """A malformed piece of an answer.

    Attributes:
        reason: `not_json` (left out), `cut_off` (the incomplete end, left out), `repaired` (used as
            json-repair guessed it), `unknown_form` (JSON of another form; left out).
        text: the piece, at most 500 characters.
    """

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A list in the requested answer.

    Attributes:
        keys: names under which models give it.
        fields: an object with one of these that stands alone is an item of it.
    """

    keys: tuple[str, ...]
    fields: tuple[str, ...]


def parse_items(text: str) -> tuple[list[Any], list[Bad]]:
    """The items of an answer: members of arrays, and objects that stand alone or on lines. Never raises.

    Args:
        text: the answer.

    Returns:
        (items, each once; malformed pieces).
    """
    values, bad = _read(text)
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return _once(items), bad


def parse_sections(text: str, names: Mapping[str, Section]) -> tuple[dict[str, list[Any]], list[Bad]]:
    """The lists of an answer such as `{"entities": […], "relations": […]}`, however it is cut up.

    Args:
        text: the answer.
        names: what is asked for, by the name to return it under.

    Returns:
        (items of each section, each once; malformed pieces).

    Raises:
        LlmError: of kind `unparsable`, when it has no section and no item of one.
    """
    items, bad = parse_items(text)
    by_name: dict[str, list[Any]] = {name: [] for name in names}
    sorted_in = [_sort_in(item, names, by_name) for item in items]
    if not any(sorted_in):
        wanted = " or ".join(names)
        raise LlmError(
            tr("the model's answer has no {wanted}: {answer}").format(
                wanted=wanted, answer=_shown(text) or tr("it is empty")
            ),
            "unparsable",
            tr("use a model that follows instructions better, or ask again without the cache"),
        )
    bad += [
        Bad("unknown_form", _shown(_canonical(item)))
        for item, placed in zip(items, sorted_in, strict=True)
        if not placed
    ]
    return {name: _once(listed) for name, listed in by_name.items()}, bad


def _sort_in(item: Any, names: Mapping[str, Section], by_name: dict[str, list[Any]], depth: int = 0) -> bool:
    if not isinstance(item, dict):
        return False
    for key in _OF_A_CALL:  # a call of a tool that was not offered
        if isinstance(item.get(key), dict):
            return _sort_in(item[key], names, by_name, depth)
    placed = False
    for name, section in names.items():
        for key in section.keys:
            if key in item:
                placed = True
                value = item[key]
                by_name[name] += value if isinstance(value, list) else [] if value is None else [value]
    if placed:
        return True
    for name, section in names.items():
        if any(field in item for field in section.fields):
            by_name[name].append(item)
            return True
    # a wrapper of the model's own, such as {"result": {"entities": []}}
    inner = item.values() if depth < 3 else ()
    return sum(_sort_in(value, names, by_name, depth + 1) for value in inner) > 0


def _read(text: str) -> tuple[list[Any], list[Bad]]:
    """Objects and arrays in a text, in order, and malformed pieces."""
    text = text.lstrip("\ufeff")
    whole = _strict(text)
    if isinstance(whole, str):  # JSON in a JSON string
        whole = _strict(whole)
    if isinstance(whole, dict | list):
        return [whole], []
    return _Scan(text).run()


class _Scan:
    """Walks through a text from one opening bracket to the next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: list[Any] = []
        self.bad: list[Bad] = []
        self.failures = 0

    def run(self) -> tuple[list[Any], list[Bad]]:
        at = 0
        while opening := _OPENING.search(self.text, at):
            start = opening.start()
            try:
                value, at = _DECODER.raw_decode(self.text, start)
            except (ValueError, RecursionError):
                self.failures += 1
                if self.failures > _MAX_FAILURES:
                    self._reject("not_json", self.text[start:])
                    break
                at = self._rescue(start)
            else:
                # brackets in prose, such as [1], are no array of items
                if isinstance(value, dict) or any(isinstance(item, dict) for item in value):
                    self.values.append(value)
        return self.values, self.bad

    def _rescue(self, start: int) -> int:
        """Read the piece at `start` as far as possible; returns where to continue."""
        end = self._line_end(start) or _balanced(self.text, start)
        piece = self.text[start : end or len(self.text)]
        if end is not None and '"' not in piece.translate(_QUOTES) and ":" not in piece:
            return start + 1  # brackets of the prose
        value = _tidied(piece)
        if value is None and end is None:
            value, cut_off = _whole_items(piece)
            if value is not None:
                self._reject("cut_off", cut_off)
        if value is None:
            value = _repaired(piece)
            self._reject("not_json" if value is None else "repaired", piece)
        if value is not None:
            self.values.append(value)
        return end or len(self.text)

    def _line_end(self, start: int) -> int | None:
        """End of the line, if this is a bad line among good ones (JSON Lines)."""
        end = self.text.find("\n", start)
        if end < 0 or self.text[self.text.rfind("\n", 0, start) + 1 : start].strip():
            return None
        following = self.text[end:].lstrip().split("\n", 1)[0]
        return end if isinstance(_strict(following), dict) else None

    def _reject(self, reason: str, piece: str) -> None:
        if piece.strip():
            self.bad.append(Bad(reason, _shown(piece)))


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=lambda _: None)


def _strict(text: str) -> Any:
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None


def _tidied(piece: str) -> Any:
    for candidate in (piece, piece.translate(_QUOTES)):
        value = _strict(_TRAILING_COMMA.sub(lambda match: match[1] or "", candidate))
        if isinstance(value, dict | list):
            return value
    return None


def _balanced(text: str, start: int) -> int | None:
    """End of the bracket at `start`, None if it is not closed."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _whole_items(piece: str) -> tuple[Any, str]:
    """A piece that breaks off, closed after the last whole object in its arrays; and the rest."""
    opened: list[str] = []
    end, closing = 0, ""
    for token in _TOKEN.finditer(piece):
        if token[0] in "{[":
            opened.append(token[0])
        elif token[0] in "}]" and opened:
            opened.pop()
            if token[0] == "}" and opened and opened[-1] == "[":
                end, closing = token.end(), "".join(_CLOSER[bracket] for bracket in reversed(opened))
    value = _tidied(piece[:end] + closing) if end else None
    return value, piece[end:]


def _repaired(piece: str) -> Any:
    if len(piece) > _MAX_REPAIR or _depth(piece) > _MAX_DEPTH or not piece.strip("[]{} \n"):
        return None
    import json_repair

    try:
        value = _strict(json.dumps(json_repair.loads(piece)))
    except Exception:  # noqa: BLE001  # it guesses from any text: any exception means no value
        return None
    return value if isinstance(value, dict | list) and value else None


def _depth(piece: str) -> int:
    steps = (1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", piece))
    return max(itertools.accumulate(steps), default=0)


def _once(items: Sequence[Any]) -> list[Any]:
    if len(items) < 2:  # usually an answer is one long object
        return list(items)
    first: dict[str, Any] = {}
    for item in items:
        first.setdefault(_canonical(item), item)
    return list(first.values())


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode  # `dumps` makes one with each call


def _shown(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
