"""Tables without borders in PDFs: what their rows say, on which page and at which characters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.documents import ParsedDocument, read_bytes
from graphrag_rdf.documents.model import Chunk, pages_of
from graphrag_rdf.documents.tables import rows_in
from graphrag_rdf.extract.table_columns import read_columns
from graphrag_rdf.extract.table_rows import Row
from graphrag_rdf.wings.rules.extractor import RuleExtractor
from tests.support.pdf import lines, make_pdf, right, rule, show, width

Fact = tuple[str, str, str]
COLUMNS = (340, 440, 540)


def middle(x: float, y: float, text: str) -> bytes:
    return show(x - width(text) / 2, y, text)


def row(y: float, label: str, *values: str, x: float = 50) -> bytes:
    """A label, and values that end below each other; "$" stands at the left of its column."""
    page = show(x, y, label) if label else b""
    for end, value in zip(COLUMNS, values, strict=False):
        if value.startswith("$"):
            page += show(end - 60, y, "$")
        if value:
            page += right(end + (3.3 if value.endswith(")") else 0), y, value.lstrip("$"))
    return page


def head(y: float, *names: str) -> bytes:
    return b"".join(middle(end - 25, y, name) for end, name in zip(COLUMNS, names, strict=False) if name)


def read(*contents: bytes) -> ParsedDocument:
    return read_bytes(make_pdf(contents), "a.pdf")


def facts(document: ParsedDocument) -> list[Fact]:
    """What rows say, by the rules that ingest uses. Each fact's quote is its row."""
    readings = [read_columns(document.text, table, document.language) for table in document.tables]
    whole = Chunk(0, 0, document.text)
    rows = [Row(part, readings[part.table]) for part in rows_in(document, whole)]
    read = RuleExtractor().extract(document.text, (), language="en", title=None, topic=None, rows=rows)
    for relation in read.relations:
        assert relation.span
        start, length = relation.span
        assert document.text[start : start + length] == relation.quote
        assert relation.quote.startswith(f"| {relation.subject} |")
    return [(r.subject, r.predicate, r.object) for r in read.relations]


def names(document: ParsedDocument) -> Sequence[str]:
    (table,) = document.tables
    return table.names


STATEMENT = (
    show(220, 740, "Statement of the ferry")
    + show(240, 728, "(in thousands)")
    + middle(465, 705, "Years ended")
    + rule(390, 540, 702)
    + head(690, "", "March 31,", "March 31,")
    + head(680, "", "2021", "2020")
    + row(660, "Tolls:", "")
    + row(648, "Carts and coaches", "", "$1,204", "$988", x=60)
    + row(636, "Cattle", "", "96", "(104)", x=60)
    + row(624, "Repairs of the landing stage and of", "", x=60)
    + row(614, "the ropes", "", "(35)", "—", x=60)
    + row(602, "Surplus", "", "$1,265", "$884")
)


def test_rows_have_their_label_period_unit_and_value() -> None:
    document = read(lines(50, 700, ["A page before it."]), STATEMENT)
    assert names(document)[1:] == ("Years ended March 31, 2021", "Years ended March 31, 2020")
    assert document.tables[0].caption == "in thousands"
    assert facts(document) == [
        ("Carts and coaches", "Years ended March 31, 2021 ($ thousands)", "1204"),
        ("Carts and coaches", "Years ended March 31, 2020 ($ thousands)", "988"),
        ("Cattle", "Years ended March 31, 2021 (thousands)", "96"),
        ("Cattle", "Years ended March 31, 2020 (thousands)", "-104"),
        ("Repairs of the landing stage and of the ropes", "Years ended March 31, 2021 (thousands)", "-35"),
        ("Surplus", "Years ended March 31, 2021 ($ thousands)", "1265"),
        ("Surplus", "Years ended March 31, 2020 ($ thousands)", "884"),
    ]
    start, end = document.tables[0].rows[0]
    assert [page.number for page in pages_of(document, start, end - start)] == [2]


def test_a_heading_tells_rows_of_one_name_apart() -> None:
    page = head(700, "2021", "2020")
    page += row(680, "Eastern bank:") + row(668, "Cattle", "1", "2", x=60) + row(656, "Carts", "3", "4", x=60)
    page += row(644, "Western bank:") + row(632, "Cattle", "5", "6", x=60) + row(620, "Boats", "7", "8", x=60)
    found = facts(read(page))
    assert ("Eastern bank: Cattle", "2021", "1") in found
    assert ("Western bank: Cattle", "2020", "6") in found
    assert ("Boats", "2021", "7") in found


def test_a_total_without_a_label_moves_no_name_of_a_column() -> None:
    page = head(700, "2021", "2020") + row(680, "Carts", "1", "2") + row(668, "Boats", "3", "4")
    assert names(read(page + row(656, "", "4", "6"))) == ("", "2021", "2020")


def test_rows_of_one_name_that_nothing_tells_apart_say_nothing() -> None:
    page = head(700, "Amount", "Share") + row(680, "Cattle", "1", "2") + row(668, "Cattle", "3", "4")
    found = facts(read(page + row(656, "Boats", "5", "6") + row(644, "Carts", "7", "8")))
    assert {subject for subject, _, _ in found} == {"Boats", "Carts"}


def test_a_name_over_several_columns_is_part_of_each() -> None:
    """By the rule below it, whose middle it is in; names of several lines have no rule between."""
    page = middle(365, 712, "East") + rule(290, 440, 709)
    page += head(700, "Carts", "Boats", "Tolls of") + head(690, "", "", "the year")
    document = read(page + row(670, "Spring", "1", "2", "3") + row(658, "Autumn", "4", "5", "6"))
    assert names(document) == ("", "East Carts", "East Boats", "Tolls of the year")
    assert ("Autumn", "east boats", "5") in facts(document)


def test_a_row_with_a_ratio_or_a_time_is_no_head() -> None:
    page = head(700, "2021", "2020") + row(680, "Current ratio", "1.4:1", "1.3:1")
    page += row(668, "Age of the ropes", "3 years", "2 years") + row(
        656, "Tolls receivable", "$1,721", "$1,640"
    )
    document = read(page + row(644, "Carts", "12", "11"))
    assert names(document) == ("", "2021", "2020")
    assert ("Tolls receivable", "2020 ($)", "1640") in facts(document)
    headless = row(680, "Current ratio", "1.4:1", "1.3:1") + row(668, "Tolls receivable", "$1,721", "$1,640")
    assert read(headless + row(656, "Carts", "12", "11")).tables == ()


def test_lines_of_a_text_in_a_table_name_no_column_of_values() -> None:
    page = (
        show(200, 690, "cattle of both banks, carts and") + show(50, 680, "Ferry") + show(200, 680, "boats")
    )
    page += right(440, 680, "12") + right(540, 680, "14")
    page += show(50, 668, "Bridge") + show(200, 668, "coaches") + right(440, 668, "3") + right(540, 668, "4")
    assert read(page).tables == ()


def test_names_over_equal_shares_of_named_columns_are_part_of_each() -> None:
    ends = (250, 330, 410, 490)

    def line(y: float, *texts: str) -> bytes:
        return b"".join(right(end, y, text) for end, text in zip(ends, texts, strict=True))

    page = middle(275, 712, "Eastern bank") + middle(435, 712, "Western bank")
    page += line(700, "2021", "2020", "2021", "2020")
    page += show(50, 680, "Carts") + line(680, "1,101", "1,202", "1,303", "1,404")
    document = read(page + show(50, 668, "Boats") + line(668, "1,505", "1,606", "1,707", "1,808"))
    assert names(document)[1:] == (
        "Eastern bank 2021", "Eastern bank 2020", "Western bank 2021", "Western bank 2020",
    )  # fmt: skip


def test_a_column_of_per_cents_beside_amounts_has_its_name() -> None:
    page = middle(365, 700, "January 2021") + rule(300, 440, 697)
    page += row(680, "Carts", "1,204", "62%", "5") + row(668, "Boats", "988", "38%", "6")
    assert names(read(page + right(540, 700, "Boatmen")))[1:3] == ("January 2021", "January 2021 (%)")


def test_what_cannot_be_told_for_certain_is_no_fact() -> None:
    same = head(700, "Tolls", "Tolls", "Boats") + row(680, "Spring", "1", "2", "3")
    document = read(same + row(668, "Autumn", "4", "5", "6"))
    assert names(document) == ("", "", "", "Boats")
    assert facts(document) == [("Spring", "boats", "3"), ("Autumn", "boats", "6")]
    nameless = row(680, "Spring", "1", "2") + row(668, "Autumn", "4", "5")
    assert read(nameless).tables == ()
    crooked = head(700, "Tolls", "Boats") + row(680, "Spring", "1", "2") + row(668, "Summer", "3", "4")
    crooked += row(656, "Autumn", "5", "6") + show(530, 656, "7")
    assert not any(subject == "Autumn" and value == "7" for subject, _, value in facts(read(crooked)))


def test_a_title_and_a_sentence_above_name_no_column() -> None:
    page = show(50, 740, "The tolls of both banks were as follows, as the keepers wrote (in thousands):")
    page += show(230, 722, "Tolls of the ferry") + head(700, "East", "West")
    document = read(page + row(680, "Spring", "1", "2") + row(668, "Autumn", "3", "4"))
    assert names(document) == ("", "East", "West")
    assert facts(document)[0] == ("Spring", "east (thousands)", "1")


@pytest.mark.parametrize(
    ("title", "period"),
    [
        ("Q2 1871 YTD - Tolls by bank", "Q2 1871 YTD"),
        ("Tolls as of March 31, 1871, were as follows:", "March 31, 1871"),
        ("They rose from 1870. The tolls were as follows:", ""),
        ("Tolls of fiscal 1871 and 1870", ""),
    ],
)
def test_the_line_above_tells_the_period_that_no_column_tells(title: str, period: str) -> None:
    page = show(50, 722, title) + head(700, "East", "West")
    document = read(page + row(680, "Spring", "1", "2") + row(668, "Autumn", "3", "4"))
    assert document.tables[0].period == period
    assert names(document) == ("", "East", "West")


def test_the_unit_of_a_table_is_not_that_of_shares_and_rates() -> None:
    page = show(50, 722, "(in thousands, except per share data)") + head(700, "2021", "2020", "% change")
    page += row(680, "Tolls", "$12", "$10", "20") + row(668, "4.5% notes of 1866", "$5", "$4", "25")
    page += row(656, "Gain per share", "$3", "$2", "50") + row(644, "Diluted EPS", "$2", "$1", "100")
    found = {(subject, value): predicate for subject, predicate, value in facts(read(page))}
    assert found["Tolls", "12"] == found["4.5% notes of 1866", "5"] == "2021 ($ thousands)"
    assert found["Gain per share", "3"] == found["Diluted EPS", "2"] == "2021 ($)"
    assert found["Tolls", "20"] == "% change"


@pytest.mark.parametrize(
    "text",
    [
        ["The keeper counted 412 carts in 1871 and", "a further 96 boats, which paid $ 12 each."],
        ["1. Carts pay two pence.", "2. Boats pay three pence.", "3. Cattle 4 pence a head."],
    ],
)
def test_prose_with_numbers_is_no_table(text: list[str]) -> None:
    assert read(lines(50, 700, text)).tables == ()


def test_signs_of_footnotes_are_no_values() -> None:
    page = head(700, "2021", "2020") + row(680, "Carts (1)", "10", "20") + show(96, 684, "(a)", size=5)
    found = facts(read(page + row(668, "Boats (2)(3)", "30", "40")))
    assert {subject for subject, _, _ in found} == {"Carts", "Boats"}
    assert [value for _, _, value in found] == ["10", "20", "30", "40"]


def test_a_footer_below_a_table_is_no_row() -> None:
    pages = [
        head(700, "2021", "2020")
        + row(680, f"Carts {name}", "1", "2")
        + row(668, f"Boats {name}", "3", "4")
        + show(50, 656, "Accounts of the ferry")
        + right(540, 656, str(number + 3))
        for number, name in enumerate(("red", "blue", "green"))
    ]
    document = read(*pages)
    assert len(document.unsaid) == 3
    assert not any("Accounts" in subject for subject, _, _ in facts(document))


@pytest.mark.parametrize("note", ["(a)", "(a)(b)", "(1) (a)"])
def test_a_sign_of_a_footnote_alone_above_a_table_is_no_row_of_its_head(note: str) -> None:
    page = head(712, "2021", "2020") + show(500, 700, note)
    document = read(page + row(680, "Carts", "1", "2") + row(668, "Boats", "3", "4"))
    assert names(document) == ("", "2021", "2020")
    assert ("Boats", "2020", "4") in facts(document)


GRIDS = st.lists(
    st.lists(
        st.sampled_from(["", "", "(a)", "(1)", "*", "$", "—", "1.4:1", "12", "(1,204)", "2021", "3 years",
                         "Carts", "(in millions)", "Years ended", "Tolls of both banks"]),
        min_size=1, max_size=4,
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(
    grid=GRIDS, gaps=st.lists(st.sampled_from([0, 9, 12, 30]), min_size=8, max_size=8), ruled=st.booleans()
)
def test_grids_of_any_shape_keep_each_of_their_cells(
    grid: list[list[str]], gaps: list[int], *, ruled: bool
) -> None:
    page = show(50, 760, "A sentence.")
    y = 740
    for texts, gap in zip(grid, gaps, strict=False):
        y -= gap + 1
        page += b"".join(
            show(50, y, text) if place == 0 else right(80 + 140 * place, y, text)
            for place, text in enumerate(texts)
            if text
        )
        page += rule(100, 400, y - 2) if ruled else b""
    document = read(page)
    assert not document.warnings
    found = "".join(document.text.split())
    for text in (text for texts in grid for text in texts if len(text) > 4):
        assert "".join(text.split()) in found or gaps[:-1].count(0)
    for table in document.tables:
        assert all(document.text[start:end].count(" | ") >= len(table.names) - 1 for start, end in table.rows)


def test_a_defect_costs_one_page_its_tables_and_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_rdf.documents.readers.pdf_tables.MOST_COLUMNS", None)
    document = read(lines(50, 700, ["A page before it."]), STATEMENT, lines(50, 700, ["A page behind it."]))
    assert [page.text.splitlines()[0] for page in document.pages][::2] == [
        "A page before it.",
        "A page behind it.",
    ]
    assert "Cattle 96 (104)" in document.text
    ((kind, detail),) = document.warnings
    assert kind == "unexpected_error"
    assert detail.startswith(
        "page 2 is read without its layout and tables: unexpected TypeError in documents/"
    )
    assert "Report it" in detail
