"""Tables in texts: their rows are found at their characters, and cells as they were written."""

from __future__ import annotations

import csv
from collections.abc import Callable
from html import escape
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents.chunk import chunk_text
from graphrag_rdf.documents.model import ParsedDocument, Table
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.documents.readers.delimited import find_table
from graphrag_rdf.documents.tables import (
    BARRED,
    LABELLED,
    columns_above,
    read_row,
    records,
    rows_in,
    sentences_in,
)

PEOPLE = "name,born,city\nAda Keller,1815,London\nCharles Babb,1791,Oslo\n"

WORDS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029\x85"), max_size=12
)
CELLS = st.one_of(WORDS, st.sampled_from(['a "b" c', "x, y; z", "two\nlines", "", "|", "\ttab"]))


def document(text: str, suffix: str = ".csv") -> ParsedDocument:
    return read_bytes(text.encode(), f"x{suffix}")


def table_of(text: str, suffix: str = ".csv") -> Table:
    (table,) = document(text, suffix).tables
    return table


def values(text: str, table: Table) -> list[list[str] | None]:
    rows = [read_row(text[slice(*span)], table.separator, table.names) for span in table.rows]
    return [cells and [cell.text for cell in cells] for cells in rows]


def test_rows_and_names_of_columns() -> None:
    table = table_of(PEOPLE)
    assert table.names == ("name", "born", "city")
    assert table.header == (0, 14)
    assert [PEOPLE[slice(*span)] for span in table.rows] == PEOPLE.splitlines()[1:]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(separator: str) -> None:
    text = PEOPLE.replace(",", separator)
    assert table_of(text, ".tsv" if separator == "\t" else ".csv").separator == separator
    assert values(text, table_of(text))[0] == ["Ada Keller", "1815", "London"]


def test_decimal_commas_and_prices_do_not_mislead_about_the_separator() -> None:
    assert table_of("name;price\nTide gauge;1,50\nLamp;12,75\n").separator == ";"
    assert table_of('name,price\nTide gauge,"1;50"\nLamp,"2;75"\n').separator == ","


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    text = PEOPLE.replace("\n", "\r\n")
    parsed = read_bytes(b"\xef\xbb\xbf" + text.encode(), "x.csv")
    assert parsed.tables[0].names[0] == "name"
    assert [parsed.text[slice(*span)] for span in parsed.tables[0].rows] == text.splitlines()[1:]


def test_a_quoted_cell_with_line_ends_is_in_one_row_and_one_sentence() -> None:
    text = 'name,note\nAda,"one\ntwo, ""three"".\nFour."\nCharles,x y\n'
    parsed = document(text)
    (chunk,) = chunk_text(text, tables=parsed.tables)
    found = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(parsed, chunk)]
    assert found == ['Ada,"one\ntwo, ""three"".\nFour."', "Charles,x y"]
    assert values(text, parsed.tables[0])[0] == ["Ada", 'one two, "three". Four.']


def test_a_quotation_mark_that_is_not_closed_swallows_no_line() -> None:
    text = 'name,size\nAda,"12 inch\nCharles,5" wide\n"Bo,3\n'
    assert values(text, table_of(text)) == [["Ada", '"12 inch'], ["Charles", '5" wide'], ['"Bo', "3"]]


@pytest.mark.parametrize(
    "text",
    [
        "Ada Keller,1815,London\nCharles Babb,1791,Oslo\n",
        "Ada Keller,London\nCharles Babb,London\n",
        "Plato,philosopher,Athens\nAda Keller,mathematician,London\n",
        "1990,1991\n5,6\n",
    ],
)
def test_a_first_row_like_the_others_names_no_columns(text: str) -> None:
    table = table_of(text)
    assert table.names == ()
    assert table.header is None
    assert len(table.rows) == 2


@pytest.mark.parametrize(
    "head",
    ["name,occupation", "Name,Beruf", "full_name,what", "fullName,job", "Nome,Ocupação"],
)
def test_columns_of_text_are_named_by_what_looks_like_it(head: str) -> None:
    assert table_of(f"{head}\nAda Keller,counter of tides\nCharles Babb,maker of engines\n").names


def test_columns_of_one_name_are_kept() -> None:
    assert table_of("name,phone,phone\nAda,x1,x2\nBo,x3,x4\n").names == ("name", "phone", "phone")


def test_a_title_above_and_a_note_below_are_no_rows() -> None:
    text = "Members of the club\n\n" + PEOPLE + "Source: the club\n"
    table = table_of(text)
    assert table.names == ("name", "born", "city")
    assert len(table.rows) == 2
    parsed = document(text)
    (chunk,) = chunk_text(text, tables=parsed.tables)
    found = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(parsed, chunk)]
    assert found == ["Members of the club", *PEOPLE.splitlines()[1:], "Source: the club"]


def test_a_text_with_one_column_is_no_table() -> None:
    assert document("name\nAda\nCharles\n").tables == ()
    assert find_table("") is None


def test_rows_that_do_not_fit_are_told_from_those_with_blank_ends() -> None:
    names = ("a", "b")
    assert read_row("1,2,3", ",", names) is None
    assert [c.text for c in read_row("1,2,,", ",", names) or ()] == ["1", "2"]
    assert [c.text for c in read_row("1", ",", names) or ()] == ["1", ""]
    assert read_row("| 1 |", BARRED, names) is None


def test_markdown_tables() -> None:
    text = (
        "# T\n\nText before.\n| Name | Born |\n|:-----|-----:|\n"
        "| **Ada** [K](u) | 1815 |\n| a \\| b | x |\n\n"
        "```\n| no | table |\n|----|----|\n| a | b |\n```\n| lone | row |\n"
    )
    table = table_of(text, ".md")
    assert table.names == ("Name", "Born")
    assert values(text, table) == [["Ada K", "1815"], ["a | b", "x"]]
    parsed = document(text, ".md")
    (chunk,) = chunk_text(text, tables=parsed.tables)
    found = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(parsed, chunk)]
    assert "| Name | Born |" not in found
    assert not any("---" in sentence for sentence in found[:4])
    assert "| **Ada** [K](u) | 1815 |" in found


def test_html_tables_with_header_cells() -> None:
    html = (
        "<p>Before.</p><table><tr><th>Name<th>Born<tr><td>Ada<td>1815<tr><td>Bo<td>1901</table>"
        "<table><tr><th>Born<td>1815<tr><td>Died<td>1852</table>"
    )
    parsed = document(html, ".html")
    (table,) = parsed.tables
    assert table.names == ("Name", "Born")
    assert values(parsed.text, table) == [["Ada", "1815"], ["Bo", "1901"]]


def test_cells_of_html_that_span_lines_and_columns() -> None:
    html = (
        "<table><caption>Staff</caption><thead><tr><td rowspan=2>Region<td colspan=2>2021<td colspan=2>2022"
        "<tr><td>Sales<td>Staff<td>Sales<td>Staff</thead>"
        "<tr><td rowspan=2>North<td>1<td>2<td>3<td>4<tr><td>5<td>6<td>7<td>8"
        "<tr><td colspan=5>In the south | there<tr><td>South<td>9<td>10<td>11<td>12</table>"
    )
    parsed = document(html, ".html")
    (table,) = parsed.tables
    assert table.names == ("Region", "Sales 2021", "Staff 2021", "Sales 2022", "Staff 2022")
    assert table.caption == "Staff"
    assert values(parsed.text, table) == [
        ["North", "1", "2", "3", "4"],
        ["North", "5", "6", "7", "8"],
        ["In the south | there", "", "", "", ""],
        ["South", "9", "10", "11", "12"],
    ]


@pytest.mark.parametrize("first", ["", "Annual figures,,\n", "Annual figures\n\n"])
def test_a_title_above_a_delimited_table(first: str) -> None:
    table = table_of(f"{first}Item,2021,2022\nRevenue,100,120\nCosts,80,90\n")
    assert table.names == ("Item", "2021", "2022")
    assert len(table.rows) == 2
    assert table.caption == ("Annual figures" if first else "")


@pytest.mark.parametrize("rows", ["Orrin,1815,1920\nKelm,5000,7000\n", "Ada,1999,2001\nBo,1987,2003\n"])
def test_numbers_in_a_first_row_are_not_taken_for_years(rows: str) -> None:
    assert table_of(rows).names == ()


def test_a_value_that_looks_like_a_column_makes_a_row_of_a_workbook_unreadable() -> None:
    names = ("name", "born")
    assert read_row("name: Ada; born: 1900; born: 1815", LABELLED, names) is None
    assert read_row("born: 1815; name: Ada", LABELLED, names) is None
    assert read_row("Ada", LABELLED, names) is None


def test_passages_after_the_first_know_the_columns() -> None:
    text = "name,born\n" + "".join(f"Person {n} Strand,{1500 + n}\n" for n in range(200))
    parsed = document(text)
    first, *rest = chunk_text(text, tables=parsed.tables)
    assert columns_above(parsed, first) == ()
    assert rest
    assert all(columns_above(parsed, chunk) == ("name", "born") for chunk in rest)


@pytest.mark.parametrize("declared", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_line_that_tells_the_separator_is_no_row(declared: str) -> None:
    text = f"{declared}\r\nname;born\r\nAda, the first;1871\r\nMona, the second;1880\r\n"
    parsed = read_bytes(text.encode(), "a.csv")
    [table] = parsed.tables
    assert (table.separator, table.names, len(table.rows)) == (";", ("name", "born"), 2)
    [chunk] = chunk_text(text, tables=parsed.tables)
    said = [chunk.text[s.offset : s.offset + s.length] for s in sentences_in(parsed, chunk)]
    assert said == ["Ada, the first;1871", "Mona, the second;1880"]
    assert read_bytes(b"sep=;\njust a note\n", "a.csv").tables == ()


# --- whatever the text ------------------------------------------------------------------------------


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=8), st.sampled_from(",;\t"))
def test_cells_are_what_a_writer_of_csv_wrote(rows: list[list[str]], separator: str) -> None:
    out = StringIO()
    csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
    text = out.getvalue()
    table = find_table(text)
    assert table is not None
    if table.separator != separator:
        return
    head = table.header or (0, 0)
    above = (table.header or table.rows[0])[0]  # a title
    spans = [
        (start + place, end + place)
        for place, part in ((0, text[:above]), (head[0], text[slice(*head)]))
        for start, end in records(part, separator)
    ] + list(table.rows)
    read = [[cell.text for cell in read_row(text[slice(*span)], separator, ()) or ()] for span in spans]
    assert read == [[" ".join(cell.split()) for cell in row] for row in rows]


@given(st.text(st.sampled_from('ab1 ,;|\t"\n\r.-'), max_size=300), st.integers(5, 60))
def test_rows_and_cells_stand_where_they_say(text: str, size: int) -> None:
    table = find_table(text)
    tables = (table,) if table else ()
    parsed = ParsedDocument(text, (), "text/csv", "t", None, None, (), tables=tables)
    if table:
        before = -1
        for start, end in table.rows:
            assert before <= start < end <= len(text)
            before = end
            row = text[start:end]
            for cell in read_row(row, table.separator, ()) or ():
                piece = " ".join(row[cell.offset : cell.offset + cell.length].split())
                assert cell.text in {piece, piece.replace('""', '"')}
    kept = ""
    for chunk in chunk_text(text, size=size, tables=tables):
        assert text[chunk.offset : chunk.offset + len(chunk.text)] == chunk.text
        kept += chunk.text
        sentences = sentences_in(parsed, chunk)
        assert [s.index for s in sentences] == list(range(len(sentences)))
        starts = {s.offset: s.length for s in sentences}
        for part in rows_in(parsed, chunk):
            assert starts[part.offset] == part.length
            piece = chunk.text[part.offset : part.offset + part.length]
            assert piece == part.row[part.start : part.start + part.length]
    assert "".join(kept.split()) == "".join(text.split())


Grid = list[list[tuple[str, int, int]]]
SPANS = st.integers(1, 3)
GRIDS = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["", "", "(a)", "2021", "12", "$1,204", "Tolls", "in millions", "Carts"]),
            SPANS,
            SPANS,
        ),
        max_size=4,
    ),
    max_size=6,
)  # fmt: skip
"""Rows of cells with the columns and rows that they span; some have none."""


def _html(grid: Grid) -> bytes:
    cell = "<td colspan={1} rowspan={2}>{0}</td>"
    rows = ("".join(cell.format(escape(text), wide, high) for text, wide, high in row) for row in grid)
    return f"<p>A page.</p><table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>".encode()


def _barred(grid: Grid) -> bytes:
    return "\n".join(["A page.", "", *(f"| {' | '.join(t for t, _, _ in row)} |" for row in grid)]).encode()


@pytest.mark.parametrize(("suffix", "make"), [(".html", _html), (".md", _barred)])
@settings(deadline=None, max_examples=40)
@given(grid=GRIDS)
def test_grids_of_any_shape_are_read(suffix: str, make: Callable[[Grid], bytes], grid: Grid) -> None:
    check_grid(make(grid), suffix)


def check_grid(file: bytes, suffix: str) -> None:
    """Read a file with "A page." and a table."""
    found = read_bytes(file, f"x{suffix}")
    assert "A page." in found.text
    for table in found.tables:
        for start, end in table.rows:
            assert found.text[start:end].strip()
