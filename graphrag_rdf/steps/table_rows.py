"""Rows of tables in answers: what of a row bears on the question is told, with the names of its columns.

The row itself is what is cited; here it is only said so that it reads.
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

_MOST_CELLS = 8  # that are told where none bears on the question more than others
_ELSEWHERE = 0.6  # of the score of a row in which a word of the question only names a column


@dataclass(frozen=True, slots=True)
class TableRow:
    """What a row says.

    Attributes:
        kind: the name of the column that names what it is about, in words; "" where none does.
        subject: what it is about, or "".
        cells: (name of the column in words, value) of the others that are not blank, in order.
    """

    kind: str
    subject: str
    cells: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """All of it: with dashes, with the unit that stands above the subjects, and with "?" for the name of
        a column that has none.
        """
        told = self.told((name or "?", value) for name, value in self.cells)
        if not stated_unit(self.kind)[0] or not self.subject:
            return told
        return f"{self.subject} ({self.kind.strip('()[] ')}){told[len(self.subject) :]}"

    @property
    def filled(self) -> tuple[tuple[str, str], ...]:
        """The cells that say something: no dashes, no "n/a"."""
        return tuple(cell for cell in self.cells if kind_of(cell[1]) != "nothing")

    def told(self, cells: Iterable[tuple[str, str]]) -> str:
        """Some of it: `Ada Moor: born in Kelm; occupation surveyor`."""
        said = "; ".join(f"{name} {value}".strip() for name, value in cells)
        return f"{self.subject}: {said}" if self.subject and said else self.subject or said


@dataclass(frozen=True, slots=True)
class Telling:
    """What of a row is told as part of an answer.

    Attributes:
        text: in words.
        spoken: words of the question that it has.
        factor: of its score.
    """

    text: str
    spoken: frozenset[str]
    factor: float


@dataclass(slots=True)
class TableColumns:
    """How the cells of a row are told apart and called.

    Attributes:
        names: of the columns, as a record of CSV.
        separator: see `documents.tables`.
        key: 0-based numbers of the columns that name what a row is about.
    """

    names: str
    separator: str
    key: list[int]


def rows_among(context: Context, step: Step, sentences: Iterable[str]) -> dict[str, TableColumns]:
    """Those of the sentences (IRIs) that are rows, with their columns."""
    nodes = [NamedNode(iri) for iri in sorted(set(sentences))]
    if not nodes:
        return {}
    run = context.store.run("provenance/rows", sentences=nodes)
    context.recorder.queried(step, run)
    found: dict[str, TableColumns] = {}
    for row in run.rows:
        columns = TableColumns(text_of(row["columns"]), text_of(row["separator"]), [])
        key = found.setdefault(text_of(row["sentence"]), columns).key
        if "key" in row and isinstance(number := to_python(row["key"]), int):
            key.append(number - 1)
    return found


def table_row(quote: str, columns: TableColumns) -> TableRow | None:
    """A row from its characters; None if they do not fit the columns, as those of a part of a row do not."""
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


def tell(row: TableRow, question: str, words: QuestionWords) -> Telling:
    """What of a row bears on a question.

    Where the question names the row's subject, it asks for a cell: those whose column it speaks of are told,
    and of these the ones that show the kind of thing asked for. Else it asks for the subject: then words of
    the question that stand in the name of a column say little unless its cell has some too.
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
    return Telling(row.told(told), spoken, _ELSEWHERE if loose else 1.0)
