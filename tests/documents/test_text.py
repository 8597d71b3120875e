"""Texts: counts of tokens and titles."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrag_rdf.documents import ParsedDocument, count_tokens, read_bytes
from graphrag_rdf.documents.readers.content import ALTERNATIVE
from graphrag_rdf.documents.text import says_nothing, title_of
from tests.support.pdf import lines, make_pdf, show


def test_examples() -> None:
    assert count_tokens("") == 0
    assert count_tokens("Alice works at Acme.") == 5
    assert count_tokens("1234567") == 3
    assert count_tokens("日本語") == 3


@given(st.text(), st.text())
@example("AAAAAAA", "AAAAAAA")
def test_a_text_never_counts_more_than_its_parts(a: str, b: str) -> None:
    assert count_tokens(f"{a} {b}") == count_tokens(a) + count_tokens(b)
    assert count_tokens(a + b) <= count_tokens(a) + count_tokens(b)


# --- titles --------------------------------------------------------------------------------------------


PROSE = ["The lock at Tarnay was built by two brothers who had learned their trade", "in the north."]

NOTHING = """
0001234567-23-000041
untitled
Untitled-1
Microsoft Word - lock.docx
report.pdf
Final report.docx
C:\\docs\\lock
/home/ada/lock
quarterly_report_final
img_1234
Scan 0001
Document1
Slide 1
PowerPoint Presentation
New Document
Form 10-K
HBR Exhibit 99.1 Q4 2022 ER
5f2b7c1e-9a3d-4e21-8b77-0c3d2a1e9f00
10.1016/j.lock.2020.01.001
abc-20230729.htm
Final Draft v2
Sheet1
Dokument1
Unbenannt
Sans titre
无标题文档1
""".strip().splitlines()

SOMETHING = """
The lock at Tarnay
1984
2001: A Space Odyssey
COVID-19
U-571
HTML 5
NATO
Q4 2022
The Book
Form and Function
Exhibit: art of the harbour
Annual Report 2023
Home economics
Cover letter
Version control
Draft animals
Untitled No. 5 by Moor
read_csv
Node.js
About us | Quill.ai
RFC 2616
论语
Документ о реке
""".strip().splitlines()

NAMED = "(Exact name of registrant as specified in its charter)"
COVER = """UNITED STATES
SECURITIES AND EXCHANGE COMMISSION

FORM 10-Q

☒ QUARTERLY REPORT PURSUANT TO SECTION 13 OR 15(d)

For the quarterly period ended July 29, 2023
or
☐ TRANSITION REPORT

For the transition period from ____ to ____
Commission file number 1-0000

HALDEN LOCKS CO., INC.
_______________
(Exact name of registrant as specified in its charter)

Delaware 00-0000000
"""
CALLED = "HALDEN LOCKS CO., INC. — Form 10-Q — quarterly period ended July 29, 2023"


@pytest.mark.parametrize("title", NOTHING)
def test_says_nothing(title: str) -> None:
    assert says_nothing(title)
    assert title_of(title, "The lock", "Text.") == "The lock"
    assert title_of(title, "", "Text.") == ""


@pytest.mark.parametrize("title", SOMETHING)
def test_a_title_that_says_something_stays(title: str) -> None:
    assert title_of(title, "Another heading", "Text.") == title


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=200))
def test_a_title_is_one_that_was_given_and_says_something(declared: str, heading: str, text: str) -> None:
    title = title_of(declared, heading, text)
    assert title == "" or (title in (declared, heading) and not says_nothing(title))


@pytest.mark.parametrize(
    ("cover", "called"),
    [
        (COVER, CALLED),
        (COVER.replace("10-Q", "10-K/A").replace("quarterly period", "fiscal year"),
         "HALDEN LOCKS CO., INC. — Form 10-K/A — fiscal year ended July 29, 2023"),
        ("FORM 8-K\n\nDate of report (Date of earliest event reported):\nAugust 30, 2023\n\n"
         f"Moor & Finch\n{NAMED}\n", "Moor & Finch — Form 8-K — August 30, 2023"),
        (f"Form 20-F\nMoor plc\n{NAMED.upper()}\n", "Moor plc — Form 20-F"),
    ],
)  # fmt: skip
def test_a_filing_is_called_by_company_form_and_period(cover: str, called: str) -> None:
    assert title_of("0001234567-23-000041", "UNITED STATES", cover) == called
    assert title_of("HLDN 10-Q FY23", "", cover) == called


def test_a_text_about_filings_is_no_filing() -> None:
    text = (
        "How to read a Form 10-K\n\nThe cover has the (Exact name of registrant as specified in its charter)."
    )
    assert title_of("How to read filings", "", text) == "How to read filings"


def pdf(*contents: bytes, title: str = "", name: str = "a_b.pdf") -> ParsedDocument:
    return read_bytes(make_pdf(contents, more=f"/Title ({title})" if title else ""), name)


def test_a_pdf_is_called_by_the_largest_lines_of_its_first_page() -> None:
    page = show(50, 760, "Exhibit 99.1", size=12) + show(50, 700, "Halden Locks Reports", size=20)
    page += show(50, 678, "Fourth Quarter", size=20) + lines(50, 640, PROSE) + show(300, 40, "1", size=30)
    document = pdf(page, lines(50, 700, PROSE), title="HLDN Exhibit 99.1 Q4 ER")
    assert (document.title, document.titled) == ("Halden Locks Reports Fourth Quarter", True)
    assert (ALTERNATIVE, "HLDN Exhibit 99.1 Q4 ER") in document.metadata


def test_a_pdf_with_lines_of_one_size_is_called_as_its_file() -> None:
    document = pdf(lines(50, 700, PROSE), title="0001234567-23-000041")
    assert (document.title, document.titled) == ("A b", False)
    assert (ALTERNATIVE, "0001234567-23-000041") in document.metadata


def test_a_declared_title_that_is_kept_has_no_alternative() -> None:
    document = pdf(show(50, 760, "A banner", size=30) + lines(50, 700, PROSE), title="The lock")
    assert document.title == "The lock"
    assert not any(iri == ALTERNATIVE for iri, _ in document.metadata)


def test_other_formats() -> None:
    page = b"<title>abc-20230729.htm</title><h1>The lock</h1><p>Two brothers built it.</p>"
    assert read_bytes(page, "x.html").title == "The lock"
    assert (
        read_bytes(page.replace(b"abc-20230729.htm", b"Locks - a list"), "x.html").title == "Locks - a list"
    )
    filed = b"<title>10-Q</title>" + "".join(f"<p>{line}</p>" for line in COVER.splitlines()).encode()
    assert read_bytes(filed, "x.htm").title == CALLED
    assert read_bytes(b"---\ntitle: Untitled\n---\n# The lock\n\nText.\n", "x.md").title == "The lock"
