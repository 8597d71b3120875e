"""Rows of tables in answers: the cells that bear on the question, in words, with the names of their columns.

The citation is the row itself.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.documents.table_heads import stated_unit
from graphrag_rdf.documents.tables import LABELLED, RECORDS, Cell, read_row
from graphrag_rdf.extract.table_columns import VALUES, is_relative, kind_of, name_in_words, predicate_of
from graphrag_rdf.steps.state import Context
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.trace.values import with_unit

_MOST_CELLS = 8  # of a row of which no cell bears on the question more than others
_ELSEWHERE = 0.6  # of the score of a row in which a word of the question only names a column


@dataclass(frozen=True, slots=True)
class NamedCell:
    """A cell of a row.

    Attributes:
        column: the name of its column in lower case words.
        value: not blank.
        name: of its column as its table has it.
    """

    column: str
    value: str
    name: str

    @property
    def text(self) -> str:
        """Both in lower case words."""
        return f"{self.column} {self.value}"

    @property
    def told(self) -> str:
        """As the table has it: `born in London`, `June 30, 2023: 14,694`, `amount 85 GBP` of `amount_gbp`."""
        value = with_unit(self.value, self.name)
        if value != self.value:
            return f"{' '.join(self.name.split()[:-1])} {value}".strip()
        return f"{self.name}{':' if self.name[-1:].isdigit() else ''} {self.value}".strip()


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row in words.

    Attributes:
        kind: the name of the key column in lower case words, or "".
        subject: the value of the key, or "".
        cells: the others that are not blank, in order.
        unit: of the table's amounts; "" if none is told, or if the row is not in it.
    """

    kind: str
    subject: str
    cells: tuple[NamedCell, ...]
    unit: str = ""

    @property
    def filled(self) -> tuple[NamedCell, ...]:
        """The cells with a value: no dashes, no "n/a"."""
        return tuple(cell for cell in self.cells if kind_of(cell.value) != "nothing")

    def told(self, cells: Iterable[NamedCell]) -> str:
        """Some cells in words: `Ada Moor: born in Kelm; occupation surveyor`; with the unit if one is a
        number: `Net sales ($ in millions): 2023: 14,694`.
        """
        shown = list(cells)
        said = "; ".join(cell.told for cell in shown)
        unit = self.unit if any(kind_of(cell.value) in VALUES for cell in shown) else ""
        about = " ".join(filter(None, (self.subject, unit and f"({unit})")))
        return f"{about}: {said}" if about and said else about or said


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """The part of a row that answers a question.

    Attributes:
        text: in words.
        question_words: words of the question in it.
        factor: for its score.
    """

    text: str
    question_words: frozenset[str]
    factor: float


@dataclass(slots=True)
class TableColumns:
    """How the cells of a row are separated and named.

    Attributes:
        names: of the columns, as a record of CSV.
        separator: see `documents.tables`.
        key: 0-based numbers of the columns that name what a row is about.
        unit: of the table's amounts, or "".
    """

    names: str
    separator: str
    key: list[int]
    unit: str = ""

    @property
    def head(self) -> str:
        """The line above its rows, with the unit; "" if each row holds the names itself."""
        if self.separator in {LABELLED, RECORDS}:
            return ""
        first, *others = [*next(csv.reader([self.names]), []), ""]
        told = not self.unit or stated_unit(self.names)[0]
        return " | ".join([first if told else f"{first} ({self.unit})".strip(), *others[:-1]])

    def line(self, quote: str) -> str | None:
        """A row below that line, in words if there is none; None if its characters do not fit the columns."""
        cells = self.cells(quote)
        if cells is not None and self.head:
            return " | ".join(cell.text for cell in cells).strip()
        row = table_row(quote, self)
        return row.told(row.cells) if row else None

    def cells(self, quote: str) -> Sequence[Cell] | None:
        """The cells of a row; None if its characters do not fit the columns, like a part of a row."""
        names = next(csv.reader([self.names]), [])
        if self.separator == "\t" and quote.count("\t") + 1 < len(names):
            return None  # a blank cell at an end is lost with the white space around the sentence
        return read_row(quote, self.separator, names)


def rows_among(context: Context, step: Step, sentences: Iterable[str]) -> dict[str, TableColumns]:
    """The sentences (IRIs) that are rows, with their columns."""
    nodes = [NamedNode(iri) for iri in sorted(set(sentences))]
    if not nodes:
        return {}
    rows = context.select(step, "provenance/rows", sentences=nodes)
    found: dict[str, TableColumns] = {}
    for row in rows:
        columns = TableColumns(row["columns"], row["separator"], [], row["unit"] or "")
        key = found.setdefault(row["sentence"].value, columns).key
        if row["key"] is not None:
            key.append(row["key"] - 1)
    return found


def table_row(quote: str, columns: TableColumns) -> TableRow | None:
    """A row from its characters; None if they do not fit the columns."""
    cells = columns.cells(quote)
    if cells is None:
        return None
    names = next(csv.reader([columns.names]), [])
    key = sorted(columns.key)
    subject = " ".join(cells[number].text for number in key if number < len(cells)).strip()
    return TableRow(
        " ".join(predicate_of(names[number]) for number in key if number < len(names)),
        subject,
        tuple(
            NamedCell(predicate_of(name), cell.text, name_in_words(name))
            for number, (name, cell) in enumerate(zip(names, cells, strict=True))
            if number not in key and cell.text
        ),
        "" if is_relative(quote) else columns.unit,
    )


def answer_from_row(row: TableRow, words: QuestionWords) -> RowAnswer:
    """The cells of a row that bear on a question.

    If the question names the row's subject, it asks for the cells of the columns that it mentions, first of
    all those of the kind asked for. Else it asks for the subject: then words of the question in the name of a
    column count little, unless its cell has some too.
    """
    about = words.spoken_of(row.subject)
    values = {cell: words.spoken_of(cell.value) for cell in row.filled}
    names = {cell: words.spoken_of(cell.column) for cell in row.filled}
    sure = about.union(*(values[cell] | names[cell] for cell in row.filled if values[cell]))
    if sure:
        sure |= words.spoken_of(row.kind)  # "which ship" of a row of a column that is called so
    bearing = [cell for cell in row.filled if values[cell] or names[cell] - sure]
    asked = [cell for cell in bearing if words.is_asked_for(cell.value)] if about else []
    told = asked or bearing or list(row.filled[:_MOST_CELLS])
    spoken = sure.union(*(names[cell] for cell in bearing))
    loose = not about and spoken > sure
    return RowAnswer(row.told(told), spoken, _ELSEWHERE if loose else 1.0)
