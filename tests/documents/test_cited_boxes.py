"""Cited words on the pages of PDFs: each box is where PDFium has their characters."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import pypdfium2
import pytest

from graphrag_rdf.documents import read_bytes
from graphrag_rdf.documents.cited_boxes import Box, cited_boxes
from graphrag_rdf.documents.page_image import MAX_PIXELS, UNITS, DrawnPage, draw_page
from tests.support.pdf import HEIGHT, WIDTH, lines, make_pdf, right, show

SPOKEN = [
    "The lock at Tarnay was built by two brothers who had learned their trade",
    "in the yards of the north, and it took them eleven years to fin-",
    "ish it. The town paid for the stone.",
]


def located(content: bytes, quote: str, place: float = 0.0) -> list[Box]:
    return cited_boxes(draw_page(make_pdf([content]), 1, 600), quote, place)


def placed(x: float, y: float, width: float) -> Box:
    """The box of a line of 10 points in Helvetica, from its left end on the base line."""
    return Box(
        round(x / WIDTH * UNITS),
        round((HEIGHT - y - 9) / HEIGHT * UNITS),
        round((x + width) / WIDTH * UNITS),
        round((HEIGHT - y + 3) / HEIGHT * UNITS),
    )


def words_under(page: DrawnPage, boxes: Sequence[Box]) -> list[str]:
    """The characters whose middle is in each box."""
    places = [Box(*page.boxes[4 * n : 4 * n + 4]) for n in range(len(page.text))]
    return [
        "".join(
            letter
            for letter, at in zip(page.text, places, strict=True)
            if box.x0 <= (at.x0 + at.x1) / 2 <= box.x1 and box.y0 <= (at.y0 + at.y1) / 2 <= box.y1
        ).strip()
        for box in boxes
    ]


def check(content: bytes, quote: str, *expected: str, place: float = 0.0, **options: int) -> DrawnPage:
    """Each of the boxes of a quote holds these words, and nothing else."""
    page = draw_page(make_pdf([content], **options), 1, 600)  # type: ignore[arg-type]
    assert [" ".join(words.split()) for words in words_under(page, cited_boxes(page, quote, place))] == list(
        expected
    )
    return page


def test_a_sentence_has_a_box_for_each_line() -> None:
    first, second, third = located(lines(50, 700, SPOKEN), " ".join(SPOKEN).replace("fin- ish", "finish"))
    assert abs(first.x0 - placed(50, 700, 0).x0) < 30
    assert first.y0 < second.y0 < third.y0
    assert first.x1 > third.x1


def test_the_boxes_are_those_of_the_characters() -> None:
    data = make_pdf([show(50, 700, "Ada Orr sold the boat.")])
    with (
        closing(pypdfium2.PdfDocument(data)) as document,
        closing(document[0]) as page,
        closing(page.get_textpage()) as text_page,
    ):
        text = text_page.get_text_range()
        start = text.index("sold")
        chars = [text_page.get_charbox(n, loose=True) for n in range(start, start + len("sold the"))]
    (box,) = cited_boxes(draw_page(data, 1, 600), "sold the", 0)
    left, bottom, top = chars[0][0], min(each[1] for each in chars), max(each[3] for each in chars)
    expected = (left / WIDTH, 1 - top / HEIGHT, chars[-1][2] / WIDTH, 1 - bottom / HEIGHT)
    assert box == pytest.approx([each * UNITS for each in expected], abs=1.5)


def test_divided_words_are_marked_in_both_lines() -> None:
    check(lines(50, 700, SPOKEN), "eleven years to finish it.", "eleven years to fin", "ish it")


def test_rows_of_tables_are_marked_cell_by_cell() -> None:
    columns = [("Gate", "North", "South", "East"), ("Width", "6", "7", "6"), ("Height", "19", "9", "9")]
    content = b"".join(
        show(60 + 150 * column, 700 - 20 * row, text)
        for column, texts in enumerate(columns)  # drawn column by column
        for row, text in enumerate(texts)
    )
    check(content, "| South | 7 | 9 |", "South", "7", "9")
    check(content, "| East | 6 | 9 |", "East", "6", "9")
    check(content, "| West | 1 | 2 |")


def test_columns_are_marked_each_on_its_own() -> None:
    content = lines(50, 700, ["Ada Orr sold the", "boat in 1911 to"]) + lines(
        320, 700, ["a pilot of Skell", "who lost it soon."]
    )
    check(content, "sold the boat in 1911 to a pilot", "sold the", "boat in 1911 to", "a pilot")


def test_of_equal_words_the_nearest_are_marked() -> None:
    content = lines(50, 700, ["Nothing was found.", "We looked again.", "Nothing was found."])
    page = draw_page(make_pdf([content]), 1, 600)
    (above,), (below,) = (cited_boxes(page, "Nothing was found.", place) for place in (0.0, 0.7))
    assert above.y1 < below.y0


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_turned_pages(rotate: int) -> None:
    """A page that viewers turn, and text that runs upwards."""
    content = show(50, 700, "Ada Orr sold the boat.") + show(400, 100, "Mona Kell wrote.", turned=True)
    page = check(content, "Orr sold the", "Orr sold the", rotate=rotate)
    assert (page.width > page.height) == (rotate in (90, 270))
    check(content, "Mona Kell wrote", "Mona Kell wrote", rotate=rotate)


def test_what_the_reader_quotes_is_found_again() -> None:
    """Each line of the text of a page, as the reader puts it."""
    content = lines(50, 700, SPOKEN) + right(500, 600, "1,024") + show(60, 600, "Tolls, in pounds")
    data = make_pdf([content])
    (page,) = read_bytes(data, "a.pdf").pages
    drawn = draw_page(data, 1, 600)
    assert all(cited_boxes(drawn, line, 0.5) for line in page.text.splitlines() if line)


def test_words_that_are_not_there_have_no_box() -> None:
    content = lines(50, 700, SPOKEN)
    assert located(content, "The bridge at Merrin fell into the sea within a year.") == []
    assert located(content, "– …") == []
    assert located(b"", "Tarnay") == []


def test_letters_may_have_other_forms() -> None:
    check(
        show(50, 700, "the caf\xe9 of STRASSE 5"), "THE CAF\uff25\u0301 of Stra\xdfe", "the café of STRASSE"
    )


@pytest.mark.parametrize("size", ["0 0 14400 14400", "0 0 1 14400", "0 0 20000000 3", "0 0 0 0", "9 9 1 1"])
def test_pages_of_an_absurd_size_get_a_small_picture(size: str) -> None:
    whole = f"0 0 {WIDTH} {HEIGHT}".encode()
    page = draw_page(make_pdf([show(5, 5, "Ada")]).replace(whole, size.encode()), 1, 1200)
    assert page.width * page.height <= 1.01 * MAX_PIXELS
    assert page.png.startswith(b"\x89PNG")


def test_a_picture_is_a_png_in_colour_or_without() -> None:
    import io

    from PIL import Image

    for content, mode in ((b"", "L"), (b"1 0 0 rg 0 0 300 800 re f\n", "RGB")):
        page = draw_page(make_pdf([content + show(400, 700, "Ada")]), 1, 600)
        with Image.open(io.BytesIO(page.png)) as image:
            assert (image.mode, image.size) == (mode, (600, 800))
            assert image.convert("RGB").getpixel((590, 10)) == (255, 255, 255)
            assert image.convert("RGB").getpixel((10, 10)) == ((255, 0, 0) if content else (255, 255, 255))
        assert DrawnPage.from_bytes(page.to_bytes()) == page
        with pytest.raises(ValueError, match="end"):
            DrawnPage.from_bytes(page.to_bytes()[:-5])
