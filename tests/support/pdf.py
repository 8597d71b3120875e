"""PDF files written by hand: text where a test wants it, so that layouts are known to the point."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

WIDTH, HEIGHT = 600, 800


def show(x: float, y: float, text: str, *, size: float = 10, font: str = "F1", turned: bool = False) -> bytes:
    """Drawing instructions for text at a place, from the lower left corner; upwards if turned."""
    matrix = f"0 1 -1 0 {x} {y}" if turned else f"1 0 0 1 {x} {y}"
    return b"BT /%s %g Tf %s Tm %s Tj ET\n" % (font.encode(), size, matrix.encode(), _string(text))


def lines(x: float, y: float, texts: Iterable[str], *, leading: float = 12, size: float = 10) -> bytes:
    """Lines below each other."""
    return b"".join(show(x, y - number * leading, text, size=size) for number, text in enumerate(texts))


def words(x: float, y: float, text: str, *, size: float = 10, gap: float = 2.8) -> bytes:
    """A line of which each word is placed by itself, without a space, as text processors do."""
    out = b""
    for word in text.split():
        out += show(x, y, word, size=size)
        x += width(word, size) + gap
    return out


def right(x: float, y: float, text: str, *, size: float = 10) -> bytes:
    """Text that ends at a place, as numbers do in tables."""
    return show(x - width(text, size), y, text, size=size)


def rule(x0: float, x1: float, y: float) -> bytes:
    """A horizontal line."""
    return b"0.5 w %g %g m %g %g l S\n" % (x0, y, x1, y)


def width(text: str, size: float = 10) -> float:
    """The width of a text in Helvetica, points."""
    return sum(_WIDTHS.get(letter, 556) for letter in text) * size / 1000


def make_pdf(
    contents: Sequence[bytes],
    *,
    outline: Sequence[tuple[str, int]] = (),
    images: bool = False,
    image: tuple[int, int, bytes] = (2, 2, b"\x00\x80\x80\xff"),
    packed: Sequence[bytes] = (),
    rotate: int = 0,
    more: str = "",
) -> bytes:
    """A PDF.

    Args:
        contents: drawing instructions of each page.
        outline: titles of sections and the index of their page.
        images: whether each page can draw the image /Im.
        image: its width, height and shades of grey.
        packed: content of further pages, already packed by zlib.
        rotate: degrees by which viewers turn the pages.
        more: entries of the document information.
    """
    streams = [(zlib.compress(content), b"/FlateDecode") for content in contents]
    streams += [(content, b"/FlateDecode") for content in packed]
    count, first = len(streams), 7
    kids = b" ".join(b"%d 0 R" % (first + 2 * n) for n in range(count))
    marks = first + 2 * count
    catalog = b"<< /Type /Catalog /Pages 2 0 R /Lang (en-GB) %s >>"
    pixels = zlib.compress(image[2])
    drawing = (
        b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 "
        b"/Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream"
    ) % (*image[:2], len(pixels), pixels)
    objects = [
        catalog % (b"/Outlines %d 0 R" % marks if outline else b""),
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count),
        _font("Helvetica"),
        _font("Helvetica-Bold"),
        f"<< {more} >>".encode(),
        drawing,
    ]
    for number, (content, packing) in enumerate(streams):
        drawn = b"/XObject << /Im 6 0 R >>" if images else b""
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Rotate %d /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> %s >> >>"
            % (WIDTH, HEIGHT, rotate, first + 2 * number + 1, drawn)
        )
        objects.append(
            b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream" % (len(content), packing, content)
        )
    if outline:
        last = marks + len(outline)
        objects.append(b"<< /First %d 0 R /Last %d 0 R /Count %d >>" % (marks + 1, last, len(outline)))
        for place, (title, page) in enumerate(outline, start=marks + 1):
            following = b"/Next %d 0 R" % (place + 1) if place < last else b""
            objects.append(
                b"<< /Title %s /Parent %d 0 R /Dest [%d 0 R /Fit] %s >>"
                % (_string(title), marks, first + 2 * page, following)
            )
    return _assemble(objects)


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def _string(text: str) -> bytes:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return b"(" + escaped.encode("cp1252") + b")"


def _assemble(objects: Sequence[bytes]) -> bytes:
    data = bytearray(b"%PDF-1.4\n")
    table = [b"0000000000 65535 f \n"]
    for number, body in enumerate(objects, start=1):
        table.append(b"%010d 00000 n \n" % len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n%s" % (len(table), b"".join(table))
    data += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(table), start)
    return bytes(data)


# of Helvetica, thousandths of the size: what differs much from a digit's
_WIDTHS = {
    " ": 278, "i": 222, "j": 222, "l": 222, "t": 278, "f": 278, "r": 333, "c": 500, "k": 500, "s": 500,
    "v": 500, "x": 500, "y": 500, "z": 500, "m": 833, "w": 722, "M": 833, "W": 944, "I": 278, "J": 500,
    ",": 278, ".": 278, "-": 333, "(": 333, ")": 333, "%": 889, "A": 667, "B": 667, "C": 722, "D": 722,
    "E": 667, "F": 611, "G": 778, "H": 722, "K": 667, "N": 722, "O": 778, "P": 667, "Q": 778, "R": 722,
    "S": 667, "T": 611, "U": 722, "V": 667, "X": 667, "Y": 667, "Z": 611,
}  # fmt: skip
