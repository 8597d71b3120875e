"""Tables of office files."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import docx
import openpyxl
import pytest
from hypothesis import given, settings

from graphrag_rdf.documents.model import ParsedDocument
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.tables import LABELLED
from tests.documents.test_tables import GRIDS, Grid, check_grid, values


def workbook(rows: list[list[object]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "First"
    book.active.append(["only"])
    sheet = book.create_sheet("People")
    for row in rows:
        sheet.append(row)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def test_sheets_of_a_workbook() -> None:
    data = workbook([["name", "born", "city"], ["Ada Keller", 1815, None], ["Bo", None, "Oslo; Norway"]])
    parsed = read_bytes(data, "x.xlsx")
    (table,) = parsed.tables
    assert (table.names, table.separator) == (("name", "born", "city"), LABELLED)
    assert values(parsed.text, table) == [["Ada Keller", "1815", ""], ["Bo", "", "Oslo; Norway"]]


def merged(rows: list[list[object]], *spans: str) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for span in spans:
        book.active.merge_cells(span)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_title_and_two_header_rows_of_a_workbook() -> None:
    rows: list[list[object]] = [
        ["Sales by region (EUR m)"],
        [],
        ["Region", 2021, None, 2022, None],
        [None, "Sales", "Staff", "Sales", "Staff"],
        ["North", 1, 2, 3, 4],
        ["South", 5, 6, 7.5, 8],
    ]
    parsed = read_bytes(merged(rows, "A1:E1", "A3:A4", "B3:C3", "D3:E3"), "x.xlsx")
    (table,) = parsed.tables
    assert table.names == ("Region", "Sales 2021", "Staff 2021", "Sales 2022", "Staff 2022")
    assert table.caption == "Sales by region (EUR m)"
    assert values(parsed.text, table)[1] == ["South", "5", "6", "7.5", "8"]
    assert parsed.text.startswith("Sales by region (EUR m)\nRegion: North; Sales 2021: 1;")


def test_a_merged_cell_of_a_workbook_counts_for_each_row_that_it_spans() -> None:
    rows: list[list[object]] = [
        ["City", "Year", "Rain"],
        ["Kelm", 1990, 5],
        [None, 1991, 6],
        ["Orrin", 1990, 7],
    ]
    parsed = read_bytes(merged(rows, "A2:A3"), "x.xlsx")
    assert [row and row[0] for row in values(parsed.text, parsed.tables[0])] == ["Kelm", "Kelm", "Orrin"]


def test_a_workbook_whose_first_column_has_no_name() -> None:
    rows: list[list[object]] = [
        [None, 2021, 2022],
        ["Revenue", 100, 120],
        ["Assets"],
        ["Net income", None, 12],
    ]
    parsed = read_bytes(merged(rows), "x.xlsx")
    (table,) = parsed.tables
    assert table.names == ("", "2021", "2022")
    assert values(parsed.text, table) == [
        ["Revenue", "100", "120"],
        ["Assets", "", ""],
        ["Net income", "", "12"],
    ]


def word(rows: str) -> ParsedDocument:
    import docx
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    written = docx.Document()
    written.add_paragraph("Before.")
    written.element.body.insert(1, parse_xml(f"<w:tbl {nsdecls('w')}>{rows}</w:tbl>"))
    out = BytesIO()
    written.save(out)
    return read_bytes(out.getvalue(), "x.docx")


def line(*cells: str, properties: str = "", of_cells: str = "") -> str:
    texts = "".join(f"<w:tc>{of_cells}<w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in cells)
    return f"<w:tr>{properties}{texts}</w:tr>"


def test_tables_of_word_as_pandoc_writes_them() -> None:
    head = line("Keeper", "Lamp", properties='<w:trPr><w:tblHeader w:val="on"/></w:trPr>')
    parsed = word(f"<w:tblPr/><w:tblGrid/>{head}{line('Ada Venn', 'Skerry')}{line('Bo Yew', 'Brae')}")
    (table,) = parsed.tables
    assert table.names == ("Keeper", "Lamp")
    assert values(parsed.text, table) == [["Ada Venn", "Skerry"], ["Bo Yew", "Brae"]]


def test_merged_cells_of_word() -> None:
    def merge(kind: str) -> str:
        return f"<w:tcPr><w:vMerge{kind}/></w:tcPr>"

    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
    first = line("Region", of_cells=merge(' w:val="restart"'))[6:-7]
    again = line("", of_cells=merge(""))[6:-7]
    rows = [
        f"<w:tr>{first}{line('2021', '2022', of_cells=wide)[6:-7]}</w:tr>",
        f"<w:tr>{again}{line('Sales', 'Staff', 'Sales', 'Staff')[6:-7]}</w:tr>",
        line("North", "1", "2", "3", "4"),
        line("South", "5", "6", "7", "8"),
    ]
    (table,) = word("<w:tblPr/><w:tblGrid/>" + "".join(rows)).tables
    assert table.names == ("Region", "Sales 2021", "Staff 2021", "Sales 2022", "Staff 2022")


def _word(grid: Grid) -> bytes:
    made = docx.Document()
    made.add_paragraph("A page.")
    table = made.add_table(len(grid), 6)
    for down, row in enumerate(grid):
        for across, (text, wide, high) in enumerate(row):
            table.cell(down, across).text = text
            last = table.cell(min(down + high, len(grid)) - 1, min(across + wide, 6) - 1)
            try:
                table.cell(down, across).merge(last)
            except (docx.exceptions.InvalidSpanError, ValueError):  # what is merged already
                continue
    out = BytesIO()
    made.save(out)
    return out.getvalue()


def _workbook(grid: Grid) -> bytes:
    book = openpyxl.Workbook()
    book.active["A1"] = "A page."
    for down, row in enumerate(grid, start=3):
        for across, (text, _, _) in enumerate(row, start=1):
            book.active.cell(down, across).value = text or None
    for down, row in enumerate(grid, start=3):
        for across, (_, wide, high) in enumerate(row, start=1):
            book.active.merge_cells(None, down, across, down + high - 1, across + wide - 1)
    out = BytesIO()
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize(("suffix", "make"), [(".docx", _word), (".xlsx", _workbook)])
@settings(deadline=None, max_examples=40)
@given(grid=GRIDS)
def test_grids_of_any_shape_are_read(suffix: str, make: Callable[[Grid], bytes], grid: Grid) -> None:
    check_grid(make(grid), suffix)
