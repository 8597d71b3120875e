"""Scanned pages: an image without text, read by optical character recognition (OCR) if that is installed."""

from __future__ import annotations

import threading
from functools import cache
from importlib.util import find_spec
from typing import Any

from graphrag_rdf.documents.readers.pdf_words import Word, drawn_on

INSTALL = "pip install 'graphrag-rdf[ocr]'"
_LEAST_SHARE = 0.2  # of the page that its images cover
_MOST_PIXELS = 200_000_000  # of an image: a page scanned at 1200 dots per inch has 140 million
_DOTS_PER_POINT = 2.5  # 180 dots per inch
_LONGEST_SIDE = 4000  # pixels
_LEAST_SCORE = 0.6

# one page at a time: each uses all cores
_ENGINE = threading.Lock()


def is_scan(page: Any) -> bool:
    """Whether images cover much of a page; of one that has no text.

    Args:
        page: of pypdfium2.
    """
    import pypdfium2.raw as pdfium

    width, height = page.get_size()
    covered = 0.0
    # a form holds objects of its own: its extent is taken
    for drawn in drawn_on(page, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
        left, bottom, right, top = drawn.get_bounds()
        covered += (right - left) * (top - bottom)
    return bool(covered >= _LEAST_SHARE * width * height)


def has_ocr() -> bool:
    """Whether the packages of the extra `ocr` are installed."""
    return find_spec("rapidocr") is not None and find_spec("onnxruntime") is not None


def picture_of(page: Any) -> Any | None:
    """A page as an array of pixels for `read_picture`; None if an image on it is too large to unpack."""
    import pypdfium2.raw as pdfium

    sizes = (image.get_px_size() for image in drawn_on(page, pdfium.FPDF_PAGEOBJ_IMAGE))
    if any(width * height > _MOST_PIXELS for width, height in sizes):
        return None
    scale = min(_DOTS_PER_POINT, _LONGEST_SIDE / max(page.get_size()))
    bitmap = page.render(scale=scale)
    try:
        return bitmap.to_numpy().copy()
    finally:
        bitmap.close()


def read_picture(picture: Any) -> list[Word]:
    """The words in a picture, with places in points as of a page; what is hardly legible is left out."""
    with _ENGINE:
        reading = _engine()(picture)
    words: list[Word] = []
    if reading.txts is None:
        return words
    for text, corners, score in zip(reading.txts, reading.boxes, reading.scores, strict=True):
        if score < _LEAST_SCORE:
            continue
        x0, y0 = (float(value) / _DOTS_PER_POINT for value in corners[0])
        x1, y1 = (float(value) / _DOTS_PER_POINT for value in corners[2])
        letter = (x1 - x0) / max(len(text), 1)
        place = 0
        for word in text.split():
            place = text.index(word, place)
            start = x0 + place * letter
            words.append(
                Word(word, start, start + len(word) * letter, y1 - 0.25 * (y1 - y0), max(y1 - y0, 1.0), 0)
            )
            place += len(word)
    return words


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error"})
