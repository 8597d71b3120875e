"""Rows in answers: what of a row is told, and of how much of a question it speaks."""

from __future__ import annotations

import pytest

from graphrag_rdf.documents.tables import BARRED, LABELLED
from graphrag_rdf.steps.table_rows import TableColumns, TableRow, answer_from_row, table_row
from graphrag_rdf.steps.words import QuestionWords

COLUMNS = "name,born,occupation,born_in,works_in"
ADA = "Ada Keller,1815-12-10,mathematician,London,Oslo"


def row(quote: str = ADA, names: str = COLUMNS, separator: str = ",", *keys: int) -> TableRow:
    found = table_row(quote, TableColumns(names, separator, list(keys or (0,))))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Where was Ada Keller born?", "Ada Keller: born in London"),
        ("When was Ada Keller born?", "Ada Keller: born 1815-12-10"),
        ("Who was born in London?", "Ada Keller: born in London"),
        ("Which mathematician works in Oslo?", "Ada Keller: occupation mathematician; works in Oslo"),
        (
            "What of Ada Keller?",
            "Ada Keller: born 1815-12-10; occupation mathematician; born in London; works in Oslo",
        ),
    ],
)
def test_what_bears_on_the_question_is_told(question: str, told: str) -> None:
    assert answer_from_row(row(), QuestionWords.of(question, "en", None)).text == told


def test_the_name_of_a_column_says_little_of_a_row_whose_cell_says_something_else() -> None:
    question = "Who was born in Oslo?"
    words = QuestionWords.of(question, "en", None)
    elsewhere = answer_from_row(row(), words)
    there = answer_from_row(row("Bo Strand,1901,painter,Oslo,Kelm"), words)
    assert there.question_words == elsewhere.question_words
    assert there.factor > elsewhere.factor


def test_rows_of_each_kind_of_table() -> None:
    names = "name,city"
    for quote, separator in (
        ("Ada,Oslo", ","),
        ("| Ada | Oslo |", BARRED),
        ("name: Ada; city: Oslo", LABELLED),
    ):
        found = row(quote, names, separator)
        assert found.told(found.cells) == "Ada: city Oslo"
    found = row("Ada,Keller,5", "first name,last name,age", ",", 1, 0)
    assert found.told(found.cells) == "Ada Keller: age 5"


REPORT = TableColumns(",Years ended June 30 2023,EPS", BARRED, [0], "$ in millions")


def test_amounts_keep_their_unit_and_columns_their_names() -> None:
    sales, share = (
        table_row(quote, REPORT) for quote in ("| Net sales | 14,694 | |", "| Gain per share | 2.5 | |")
    )
    assert sales is not None
    assert share is not None
    assert sales.told(sales.cells) == "Net sales ($ in millions): Years ended June 30 2023: 14,694"
    assert share.told(share.cells) == "Gain per share: Years ended June 30 2023: 2.5"
    assert REPORT.head == "($ in millions) | Years ended June 30 2023 | EPS"
    assert REPORT.line("| Net sales | 14,694 | |") == "Net sales | 14,694 |"


def test_what_does_not_fit_is_told_as_it_stands() -> None:
    assert table_row("a,b,c", TableColumns("name,city", ",", [0])) is None
    assert table_row("b\tc", TableColumns("name,city,age", "\t", [0])) is None
