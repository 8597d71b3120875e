"""How large the compressed parts of a PDF are, looked at before a library unpacks them."""

from __future__ import annotations

import re
import zlib

from graphrag_rdf.documents.readers.content import UnreadableError

MAX_PAGE_CONTENT = 20_000_000
"""Bytes of drawing instructions: a dense page of text has some 50 kB, a map 5 MB."""
MAX_STREAM = 200_000_000
"""Bytes of any other stream: fonts, tables of objects."""
MAX_ALL = 1_000_000_000

_STREAM = re.compile(rb"stream\r?\n")
_LONGEST_HEAD = 2000  # characters of what describes a stream
_OTHER = re.compile(rb"/(?:Type|Subtype|Length[1-3]|FunctionType|N)\b")  # drawing instructions have none
_PIECE = 1 << 20
_ZLIB = 0x78


def check_streams(data: bytes) -> None:
    """Unpack each compressed stream piece by piece, without keeping it. Images are not looked at.

    Raises:
        UnreadableError: a stream has an absurd size, or all of them together.
    """
    total = 0
    for match in _STREAM.finditer(data):
        start = match.end()
        head = data[max(match.start() - _LONGEST_HEAD, 0) : match.start()]
        head = head[head.rfind(b"obj") + 1 :]
        if data[start : start + 1] != bytes([_ZLIB]) or b"/Image" in head:
            continue
        limit = MAX_STREAM if _OTHER.search(head) else MAX_PAGE_CONTENT
        size = _unpacked(data, start, limit)
        total += size
        if size > limit or total > MAX_ALL:
            raise UnreadableError(
                f"the content at byte {start:,} is too large when it is unpacked (more than "
                f"{min(limit, MAX_ALL):,} bytes)",
                "print it to a new PDF, or export its text",
            )


def _unpacked(data: bytes, start: int, limit: int) -> int:
    """The size of a stream, at most a little beyond the limit; the inner size if it is packed twice."""
    outer, inner = zlib.decompressobj(), zlib.decompressobj()
    twice: bool | None = None
    size = 0
    waiting = data[start : start + _PIECE]
    position = start + len(waiting)
    try:
        while size <= limit and not outer.eof:
            piece = outer.decompress(waiting, _PIECE)
            waiting = outer.unconsumed_tail
            if not waiting:
                waiting = data[position : position + _PIECE]
                position += len(waiting)
                if not piece and not waiting:
                    break
            if twice is None and piece:
                twice = piece[0] == _ZLIB and piece[1:2] in {b"\x01", b"\x5e", b"\x9c", b"\xda"}
            size += _inner_size(inner, piece, limit - size) if twice else len(piece)
    except zlib.error:  # damaged, or encrypted: the library will tell
        pass
    return size


def _inner_size(inner: zlib._Decompress, piece: bytes, limit: int) -> int:
    size = 0
    while piece and size <= limit and not inner.eof:
        size += len(inner.decompress(piece, _PIECE))
        piece = inner.unconsumed_tail
    return size
