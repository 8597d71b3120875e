"""Cells of tables without borders: what stands apart in a row of words, and which of it are values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_rdf.documents.readers.pdf_words import HYPHEN, Row, Word

APART = 0.85
"""Heights of a line between two cells; words are some 0.25 apart."""
_VALUES_APART = 0.3  # a value and what follows it
_NOTE_HEIGHT = 0.8  # of the row's height: signs of footnotes are smaller

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_CURRENCY = r"(?:US|A|C)?[$€£¥]"
_VALUE = re.compile(
    rf"[-–−+]?\(?{_CURRENCY}?\s?[-–−+]?\(?(?:{_NUMBER})(?::\d+(?:\.\d+)?)?\)?\s?(?:%|x|bps)?\s?\)?\*?"
    rf"|{_CURRENCY}?\s?[-–—−]+\)?\s?%?|[Nn]/?[AaMm]|\*"
)
_AMOUNT = rf"{_CURRENCY}?(?:{_NUMBER})%?(?: (?:thousand|million|billion|percent))?"
_RANGE = re.compile(rf"(?:(?:approximately|about|~) ?)?{_AMOUNT}(?: ?(?:to|-|–|—|and|through) ?{_AMOUNT})?")
_SIGN = re.compile(rf"\(?{_CURRENCY}\(?")
_TAIL = re.compile(r"\)?\s?%?\)?")
_NOTE = re.compile(r"\(?(?:\d{1,2}|[a-zA-Z]|[*†‡]+)\)?(?:,?\(?(?:\d{1,2}|[a-zA-Z])\)?)*")
_NOTE_AT_END = re.compile(r"(?:\s*\((?:\d{1,2}|[a-z])\))+\Z")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(slots=True)
class Cell:
    """What stands together in a row.

    Args:
        text: its words.
        x0, x1: from the left, points.
        value: whether it is a number, a range of numbers or the sign for none.
    """

    text: str
    x0: float
    x1: float
    value: bool

    @property
    def year(self) -> bool:
        return _YEAR.fullmatch(self.text) is not None

    @property
    def middle(self) -> float:
        return (self.x0 + self.x1) / 2


def cells_of(row: Row, apart: float = APART) -> list[Cell]:
    """The cells of a row, from left to right, at least one; without signs of footnotes beside others.

    Args:
        row: words.
        apart: least distance of two texts, heights of the row.
    """
    height = row.height
    groups: list[list[Word]] = []
    for word in row.words:
        if groups and word.height < _NOTE_HEIGHT * height and _NOTE.fullmatch(word.text):
            continue
        if groups and _belongs(groups[-1], word, height, apart):
            groups[-1].append(word)
        else:
            groups.append([word])
    cells = []
    for group in groups:
        text = _text(group)
        value = _VALUE.fullmatch(text) is not None
        if not value:
            text = _NOTE_AT_END.sub("", text)
        cells.append(Cell(text, group[0].x0, group[-1].x1, value))
    for cell in cells[1:]:
        cell.value = cell.value or _RANGE.fullmatch(cell.text) is not None
    return [cell for cell in cells if cell.text] or [Cell(row.text, row.x0, row.x1, value=False)]


def _belongs(group: Sequence[Word], word: Word, height: float, apart: float) -> bool:
    gap = word.x0 - group[-1].x1
    before = _text(group)
    if _SIGN.fullmatch(before) and _VALUE.fullmatch(f"{before}{word.text}"):
        return True
    if _VALUE.fullmatch(before):
        if _TAIL.fullmatch(word.text):
            return gap < 3 * height and not before.endswith("%")
        return gap < _VALUES_APART * height * (1 if _begins_value(word.text) else 1.3)
    return gap < apart * height and not (_SIGN.fullmatch(word.text) and gap > 0.5 * height)


def _begins_value(text: str) -> bool:
    return _VALUE.fullmatch(text) is not None or _SIGN.fullmatch(text) is not None


def _text(group: Sequence[Word]) -> str:
    """Words of a cell; signs of currency, per cent and brackets stand next to their number."""
    text = " ".join(word.text for word in group).replace(HYPHEN, "-")
    return re.sub(r"(?<=\d) (?=\)?%?\)?\Z)", "", re.sub(rf"\A({_CURRENCY}|\() (?=[\d(.—–-])", r"\1", text))
