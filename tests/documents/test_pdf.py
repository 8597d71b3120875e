"""PDF: words, lines, columns, headers and footers, whatever the file was made with."""

from __future__ import annotations

import random
import threading
import zlib
from collections.abc import Callable

import pytest

from graphrag_rdf.documents import ParsedDocument, chunk_text, read_bytes
from graphrag_rdf.documents.readers import pdf
from graphrag_rdf.documents.tables import sentences_in
from graphrag_rdf.errors import DocumentError
from tests.support.pdf import HEIGHT, lines, make_pdf, show, words

FIRST = [
    "The lock at Tarnay was built by two brothers who had learned their trade",
    "in the yards of the north, and it took them eleven years to finish it. The",
    "town paid for the stone, the guild paid for the timber.",
]
SECOND = [
    "Nobody paid the brothers. They lived on the tolls of the first winter, and",
    "left in spring.",
]


def read(*contents: bytes, **options: object) -> ParsedDocument:
    return read_bytes(make_pdf(contents, **options), "a.pdf")  # type: ignore[arg-type]


def said(document: ParsedDocument) -> list[str]:
    """All sentences of a document."""
    chunks = chunk_text(document.text, tables=document.tables, size=100_000)
    return [
        " ".join(chunk.text[s.offset : s.offset + s.length].split())
        for chunk in chunks
        for s in sentences_in(document, chunk)
    ]


def test_words_placed_one_by_one_do_not_run_together() -> None:
    page = b"".join(words(50, 700 - 12 * number, line) for number, line in enumerate(FIRST))
    assert read(page).text == " ".join(FIRST)


def test_lines_of_a_paragraph_are_joined_and_paragraphs_are_not() -> None:
    document = read(lines(50, 700, FIRST) + lines(50, 640, SECOND))
    assert document.text == " ".join(FIRST) + "\n\n" + " ".join(SECOND)
    assert said(document)[0].endswith("eleven years to finish it.")


def test_an_indented_line_begins_a_paragraph() -> None:
    document = read(lines(50, 700, FIRST) + show(70, 664, SECOND[0]) + show(50, 652, SECOND[1]))
    assert document.text == " ".join(FIRST) + "\n" + " ".join(SECOND)


def test_items_of_a_list_stay_apart() -> None:
    items = ["• a rope of forty fathoms", "• two lamps with oil for a night and", "a spare wick"]
    text = read(show(50, 700, items[0]) + show(50, 688, items[1]) + show(58, 676, items[2])).text
    assert text == "• a rope of forty fathoms\n• two lamps with oil for a night and a spare wick"


@pytest.mark.parametrize("turn", ["column by column", "line by line"])
def test_columns_are_read_one_after_the_other(turn: str) -> None:
    left = ["The lock at Tarnay was built by two", "brothers who had learned their trade", "in the yards of"]
    left += ["the north of the country, and it took", "them eleven years to finish it."]
    right = ["Nobody paid the brothers, who lived", "on the tolls of the first winter and", "left in the"]
    right += ["following spring, when the river had", "no ice any more and boats came."]
    if turn == "column by column":
        page = lines(50, 700, left) + lines(320, 695, right)
    else:
        page = b"".join(
            show(50, 700 - 12 * n, a) + show(320, 700 - 12 * n, b)
            for n, (a, b) in enumerate(zip(left, right, strict=True))
        )
    text = " ".join(read(show(50, 740, "A history of the lock", size=16) + page).text.split())
    assert text == " ".join(["A history of the lock", *left, *right])


def test_ligatures_are_letters() -> None:
    """A font that maps its glyphs to ligatures: the library or we take them apart."""
    mapping = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00> <FF> endcodespacerange
3 beginbfchar <41> <FB01> <42> <FB03> <43> <FB02> endbfchar endcmap end end"""
    data = make_pdf([show(50, 700, "Ane oBce Cow")])
    data = data.replace(
        b"/Encoding /WinAnsiEncoding >>", b"/Encoding /WinAnsiEncoding /ToUnicode 99 0 R >>", 1
    )
    start = data.index(b"xref\n")
    stream = b"99 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n" % (len(mapping), mapping)
    # without its cross-reference table the file is read as a damaged one: its objects are looked for
    assert (
        read_bytes(data[:start] + stream + data[data.index(b"trailer") :], "a.pdf").text == "fine office flow"
    )


def test_words_divided_at_line_ends_are_mended_by_the_document() -> None:
    body = ["The keepers of the gate wrote every thing they had seen into the water-",
            "book, and what they had meas-",
            "ured. A well-",
            "known water book was kept by a well known keeper who meas\xad",
            "ured it twice, in the Anglo-",
            "Norman way."]  # fmt: skip
    # each line but the last is full: a word of the next one would have had no room
    page = b"".join(show(50, 700 - 12 * n, line, size=10) for n, line in enumerate(body))
    assert pdf.mend(["the meas\u0001ured and well\u0001known", "well known; measured"]) == [
        "the measured and well-known",
        "well known; measured",
    ]
    text = read(page).text
    assert "water-book" in text or "water-\nbook" in text
    assert "Anglo-\xad" not in text


def test_hyphens_are_kept_or_left_out() -> None:
    def mended(text: str, elsewhere: str) -> str:
        return pdf.mend([text.replace("¬", "\u0001"), elsewhere])[0]

    assert mended("con¬tinued", "") == "continued"
    assert mended("con¬tinued", "It continued.") == "continued"
    assert mended("well¬known", "well and known") == "well-known"
    assert mended("well¬known", "a well-known thing") == "well-known"
    assert mended("over¬come", "over, come, and overcome") == "overcome"
    assert mended("state¬of¬the¬art", "state of the art") == "state-of-the-art"


def pages_with_headers(count: int, number_at: Callable[[int], float] = lambda _: 30.0) -> list[bytes]:
    pages = []
    for number, name in zip(range(count), ["Ann", "Bea", "Cay", "Dora", "Eva", "Fay"], strict=True):
        body = [f"The page of {name} tells of the keepers of the lock, and of what each of"]
        body += [f"them wrote to {name} while the river was ice and nobody came, and"]
        pages.append(
            show(50, 770, f"The Tarnay Lock · Chapter {number // 4 + 1}")
            + lines(50, 700, [f"a line that ends the sentence before {name}."])
            + lines(50, 640, body)
            + show(300, number_at(number), str(number + 17))
        )
    return pages


@pytest.mark.parametrize("number_at", [lambda _: 30.0, lambda number: 600.0 - 20 * number])
def test_headers_and_footers_are_said_by_nobody(number_at: Callable[[int], float]) -> None:
    document = read(*pages_with_headers(6, number_at))
    assert len(document.unsaid) == 6
    assert [document.text[slice(*span)] for span in document.unsaid] == [
        f"The Tarnay Lock · Chapter {n // 4 + 1} {n + 17}" for n in range(6)
    ]
    sentences = said(document)
    assert not any("Chapter" in sentence for sentence in sentences)
    # sentences reach from page to page, over the footer of one and the header of the next
    assert sum("and a line that ends" in sentence for sentence in sentences) == 5


def test_lines_that_come_twice_by_chance_stay() -> None:
    document = read(
        lines(50, 700, ["Alpha 1", "Beta"]), lines(50, 500, ["Alpha 2", "Gamma"]), lines(50, 300, ["Delta"])
    )
    assert document.unsaid == ()


def test_pages_with_text_upwards_are_read() -> None:
    page = b"".join(show(100 + 12 * n, 50, line, turned=True) for n, line in enumerate(FIRST))
    assert read(page).text == " ".join(FIRST)
    assert read(lines(50, 700, FIRST), rotate=90).text == " ".join(FIRST)


def test_text_at_the_margin_is_read_after_the_page() -> None:
    document = read(lines(50, 700, FIRST) + show(20, 300, "Copy of the archive", turned=True))
    assert document.text == " ".join(FIRST) + "\n\nCopy of the archive"


def test_sections_of_the_outline_are_headings() -> None:
    page = lines(50, 700, ["The keepers", *FIRST])
    document = read(page, outline=[("The Keepers", 0)])
    assert document.text == "The keepers\n\n" + " ".join(FIRST)
    assert chunk_text(document.text)[0].text.startswith("The keepers\n\n")


def test_bold_lines_stand_alone() -> None:
    page = show(50, 712, "The keepers of the lock", font="F2") + lines(50, 700, FIRST)
    assert read(page).text == "The keepers of the lock\n\n" + " ".join(FIRST)


def test_metadata() -> None:
    more = "/Title (The lock) /Author (Ann Tarn) /Keywords (a; b) /ModDate (x)"
    more += "/CreationDate (D:20240102030405+02'30')"
    document = read(lines(50, 700, FIRST), more=more)
    assert (document.title, document.language) == ("The lock", "en-GB")
    values = {iri.rpartition("/")[2]: value for iri, value in document.metadata}
    assert values == {"creator": "Ann Tarn", "subject": "b", "created": "2024-01-02T03:04:05+02:30"}


SCAN = b"q 500 0 0 700 50 50 cm /Im Do Q"
"""An image over the page, and no text."""


def test_scanned_pages_are_reported_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "has_ocr", lambda: False)
    document = read(lines(50, 700, FIRST), SCAN, SCAN, lines(50, 700, SECOND), b"", SCAN, images=True)
    assert document.warnings == (
        (
            "pages_without_text",
            "pages 2-3, 6: an image without text; "
            "pip install 'graphrag-rdf[ocr]', then ingest with --refresh",
        ),
    )
    assert [bool(page.text) for page in document.pages] == [True, False, False, True, False, False]
    alone = why(make_pdf([SCAN], images=True))
    assert alone.reason == "no text layer (scanned?)"
    assert "graphrag-rdf[ocr]" in str(alone.hint)


@pytest.mark.slow
def test_scanned_pages_are_read_by_ocr() -> None:
    pytest.importorskip("rapidocr")
    import pypdfium2

    with pypdfium2.PdfDocument(make_pdf([lines(50, 700, [*FIRST, "", *SECOND])])) as made:
        picture = made[0].render(scale=3, grayscale=True).to_numpy()
    height, width = picture.shape[:2]
    document = read(
        lines(50, 700, ["A page of letters."]), SCAN, images=True, image=(width, height, picture.tobytes())
    )
    assert document.warnings == (("pages_read_by_ocr", "page 2: a scan; check what is quoted from there"),)
    text = " ".join(document.pages[1].text.split())
    assert "built by two brothers who had learned their trade in the yards of the north" in text
    assert "They lived on the tolls of the first winter" in text


def why(data: bytes) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_bytes(data, "a.pdf")
    assert caught.value.hint
    return caught.value


def test_truncated_and_scrambled_files_fail_with_a_way_out_or_are_read() -> None:
    good = make_pdf([lines(50, 700, FIRST)] * 3)
    assert "damaged" in why(good[:200]).reason
    assert "does not begin as a PDF" in why(b"\0" * 2000).reason
    chance = random.Random(6)
    reasons = set()
    for _ in range(60):
        bad = bytearray(good)
        for _ in range(20):
            bad[chance.randrange(len(bad))] = chance.randrange(256)
        try:
            assert read_bytes(bytes(bad[: chance.randrange(300, len(bad))]), "a.pdf").text
        except DocumentError as error:
            reasons.add(error.reason)
    assert all(reasons)


@pytest.mark.parametrize("twice", [False, True])
def test_content_that_unpacks_to_an_absurd_size_is_refused_unread(
    twice: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr("pypdfium2.PdfDocument", opened)
    content = zlib.compress(b" " * 25_000_000)
    found = why(make_pdf([], packed=[zlib.compress(content) if twice else content]))
    assert "too large when it is unpacked (more than 20,000,000 bytes)" in found.reason


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("pdf.MAX_PAGES", 2, "3 pages, more than 2"),
        ("pdf.MAX_CHARACTERS", 300, "more than 300 characters by page 2"),
        ("pdf.MAX_SECONDS", 0.0, "pages 1 to 1 took more than 0 s"),
        ("pdf_words.MAX_PAGE_CHARACTERS", 20, "page 1: 2"),
        ("pdf.MAX_ALL", 100, "more than 100 bytes"),
    ],
)
def test_limits(limit: str, value: float, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"graphrag_rdf.documents.readers.{limit}", value)
    assert words in why(make_pdf([lines(50, HEIGHT - 100, FIRST)] * 3)).reason


def test_pages_are_let_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import pypdfium2

    open_pages: set[int] = set()
    most = 0
    real_open, real_close = pypdfium2.PdfDocument.__getitem__, pypdfium2.PdfPage.close

    def opens(document: pypdfium2.PdfDocument, index: int) -> pypdfium2.PdfPage:
        nonlocal most
        page = real_open(document, index)
        open_pages.add(id(page))
        most = max(most, len(open_pages))
        return page

    def closes(page: pypdfium2.PdfPage) -> None:
        open_pages.discard(id(page))
        real_close(page)

    monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", opens)
    monkeypatch.setattr(pypdfium2.PdfPage, "close", closes)
    assert len(read(*[lines(50, 700, FIRST)] * 30).pages) == 30
    assert (most, open_pages) == (1, set())


def test_documents_are_read_by_several_threads() -> None:
    data = make_pdf([lines(50, 700, FIRST)] * 10)
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda: texts.extend(read_bytes(data, "a.pdf").text for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 20
    assert len(set(texts)) == 1
