"""Rows of tables in answers: the cells that bear on the question, in words, with the names of their columns.

The citation is the row itself.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import NamedNode

from graphrag_rdf.documents.table_heads import stated_unit
from graphrag_rdf.documents.tables import read_row
from graphrag_rdf.extract.table_columns import kind_of, predicate_of
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.steps.state import Context
from graphrag_rdf.steps.words import QuestionWords, shows_what_is_asked
from graphrag_rdf.trace.recorder import Step

_MOST_CELLS = 8  # of a row of which no cell bears on the question more than others
_ELSEWHERE = 0.6  # of the score of a row in which a word of the question only names a column


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row in words.

    Attributes:
        kind: the name of the key column in words, or "".
        subject: the value of the key, or "".
        cells: (name of the column in words, value) of the others that are not blank, in order.
    """

    kind: str
    subject: str
    cells: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The whole row, also cells without a value, the unit above the subjects, and "?" for no name."""
        told = self.told((name or "?", value) for name, value in self.cells)
        if not stated_unit(self.kind)[0] or not self.subject:
            return told
        return f"{self.subject} ({self.kind.strip('()[] ')}){told[len(self.subject) :]}"

    @property
    def filled(self) -> tuple[tuple[str, str], ...]:
        """The cells with a value: no dashes, no "n/a"."""
        return tuple(cell for cell in self.cells if kind_of(cell[1]) != "nothing")

    def told(self, cells: Iterable[tuple[str, str]]) -> str:
        """Some cells in words: `Ada Moor: born in Kelm; occupation surveyor`."""
        said = "; ".join(f"{name} {value}".strip() for name, value in cells)
        return f"{self.subject}: {said}" if self.subject and said else self.subject or said


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
    """

    names: str
    separator: str
    key: list[int]


def rows_among(context: Context, step: Step, sentences: Iterable[str]) -> dict[str, TableColumns]:
    """The sentences (IRIs) that are rows, with their columns."""
    nodes = [NamedNode(iri) for iri in sorted(set(sentences))]
    if not nodes:
        return {}
    rows = context.select(step, "provenance/rows", sentences=nodes)
    found: dict[str, TableColumns] = {}
    for row in rows:
        columns = TableColumns(text_of(row["columns"]), text_of(row["separator"]), [])
        key = found.setdefault(text_of(row["sentence"]), columns).key
        if "key" in row and isinstance(number := to_python(row["key"]), int):
            key.append(number - 1)
    return found


def table_row(quote: str, columns: TableColumns) -> TableRow | None:
    """A row from its characters; None if they do not fit the columns, like a part of a row."""
    names = next(csv.reader([columns.names]), [])
    if columns.separator == "\t" and quote.count("\t") + 1 < len(names):
        return None  # a blank cell at an end is lost with the white space around the sentence
    cells = read_row(quote, columns.separator, names)
    if cells is None:
        return None
    key = sorted(columns.key)
    subject = " ".join(cells[number].text for number in key if number < len(cells)).strip()
    return TableRow(
        " ".join(predicate_of(names[number]) for number in key if number < len(names)),
        subject,
        tuple(
            (predicate_of(name), cell.text)
            for number, (name, cell) in enumerate(zip(names, cells, strict=True))
            if number not in key and cell.text
        ),
    )


def answer_from_row(row: TableRow, question: str, words: QuestionWords) -> RowAnswer:
    """The cells of a row that bear on a question.

    If the question names the row's subject, it asks for a cell: those of the columns that it mentions, first
    of all cells of the kind asked for. Else it asks for the subject: then words of the question in the name
    of a column count little, unless its cell has some too.
    """
    about = words.spoken_of(row.subject)
    values = {cell: words.spoken_of(cell[1]) for cell in row.filled}
    names = {cell: words.spoken_of(cell[0]) for cell in row.filled}
    sure = about.union(*(values[cell] | names[cell] for cell in row.filled if values[cell]))
    if sure:
        sure |= words.spoken_of(row.kind)  # "which ship" of a row of a column that is called so
    bearing = [cell for cell in row.filled if values[cell] or names[cell] - sure]
    shown = [c for c in bearing if shows_what_is_asked(question, " ".join(c))] if about else []
    told = shown or bearing or list(row.filled[:_MOST_CELLS])
    spoken = sure.union(*(names[cell] for cell in bearing))
    loose = not about and spoken > sure
    return RowAnswer(row.told(told), spoken, _ELSEWHERE if loose else 1.0)
