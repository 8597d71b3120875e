"""A page of a PDF as a picture, with the place of each of its characters.

It imports nothing of weight: the server draws each page in a process of its own.
"""

from __future__ import annotations

import ctypes
import io
import json
from array import array
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

MAX_PIXELS = 6_000_000
MAX_SIDE = 6000
"""Of a picture: a page of an absurd size or shape gets a smaller one."""
MAX_CHARACTERS = 100_000
"""Of a page whose characters get places; a dense page has some 10,000."""
_END = b"IEND\xaeB`\x82"
"""Of each PNG."""
UNITS = 10_000
"""Places are counted in this part of the page's width and height, from its upper left corner."""


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page.

    Attributes:
        width, height: pixels of the picture.
        png: the picture.
        text: the page's characters in the order in which they are drawn, one letter each.
        boxes: left, top, right and bottom of each of them, in `UNITS`; turned as the picture is.
    """

    width: int
    height: int
    png: bytes
    text: str
    boxes: array[int]

    @property
    def size(self) -> int:
        """Bytes in memory, more or less."""
        return len(self.png) + 4 * len(self.text) + self.boxes.itemsize * len(self.boxes)

    def to_bytes(self) -> bytes:
        """For `from_bytes`, in another process of this computer."""
        head = json.dumps([self.width, self.height, self.text]).encode()
        return b"".join((head, b"\n", self.boxes.tobytes(), self.png))

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        """What `to_bytes` made.

        Raises:
            ValueError: it is cut off.
        """
        end = packed.index(b"\n")
        width, height, text = json.loads(packed[:end])
        boxes = array("H")
        start = end + 1 + 4 * boxes.itemsize * len(text)
        boxes.frombytes(packed[end + 1 : start])
        if not packed.endswith(_END):
            raise ValueError("no end of a picture")
        return cls(width, height, packed[start:], text, boxes)


def draw_page(data: bytes, number: int, width: int) -> DrawnPage:
    """Draw a page on white, with its annotations.

    Args:
        data: of a PDF.
        number: of the page, from 1.
        width: pixels; fewer where the page would be too large.

    Raises:
        pypdfium2.PdfiumError: it is damaged or encrypted.
        IndexError: it has no such page.
    """
    import pypdfium2

    with closing(pypdfium2.PdfDocument(data)) as document:
        if not 1 <= number <= len(document):
            raise IndexError(number)
        with closing(document[number - 1]) as page:
            wide, high = (max(side, 1e-3) for side in page.get_size())
            scale = min(width / wide, MAX_SIDE / wide, MAX_SIDE / high, (MAX_PIXELS / wide / high) ** 0.5)
            picture = io.BytesIO()
            with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
                size = bitmap.width, bitmap.height
                image = bitmap.to_pil()
                red, green, blue = image.split()
                grey = red.tobytes() == green.tobytes() == blue.tobytes()
                (red if grey else image).save(picture, "PNG")
            with closing(page.get_textpage()) as text_page:
                text, boxes = _characters(page, text_page)
    return DrawnPage(*size, picture.getvalue(), text, boxes)


def _characters(page: Any, text_page: Any) -> tuple[str, array[int]]:
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFText_CountChars(text_page)
    boxes = array("H")
    if not 0 < count <= MAX_CHARACTERS:
        return "", boxes
    codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(count)]
    seen_at, box = _seen_at(page), pdfium.FS_RECTF()
    for index in range(count):
        if pdfium.FPDFText_GetLooseCharBox(text_page, index, box):
            (x0, y0), (x1, y1) = seen_at(box.left, box.top), seen_at(box.right, box.bottom)
            boxes.extend((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
        else:
            boxes.extend((0, 0, 0, 0))
    # halves of surrogate pairs come one by one on some systems
    text = "".join(chr(c) if c < 0x110000 and not 0xD800 <= c < 0xE000 else "\ufffd" for c in codes)
    return text, boxes


def _seen_at(page: Any) -> Callable[[float, float], tuple[int, int]]:
    """The function from a point of the page to its place in the picture: pages are turned and cropped."""
    import pypdfium2.raw as pdfium

    fine = 1_000_000  # the library returns whole numbers
    right, down = ctypes.c_int(), ctypes.c_int()

    def at(x: float, y: float) -> tuple[float, float]:
        pdfium.FPDF_PageToDevice(page, 0, 0, fine, fine, 0, x, y, right, down)
        return right.value * UNITS / fine, down.value * UNITS / fine

    # affine, so three points are enough; a call for each character takes long
    (x0, y0), (x1, y1), (x2, y2) = at(0, 0), at(100, 0), at(0, 100)
    (xx, xy), (yx, yy) = ((x1 - x0) / 100, (y1 - y0) / 100), ((x2 - x0) / 100, (y2 - y0) / 100)

    def seen_at(x: float, y: float) -> tuple[int, int]:
        places = x0 + x * xx + y * yx, y0 + x * xy + y * yy
        across, below = (round(min(max(place, 0), UNITS)) for place in places)
        return across, below

    return seen_at
