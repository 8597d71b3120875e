"""The protocol between the server and its readers: frames of a kind, a length and bytes.

To a reader: JOB (JSON) or CLOSE. From it: READY, once; then, for each job, HEAD (JSON), DATA …, and END or
FAIL (JSON).
"""

from __future__ import annotations

import json
import struct
from typing import Any

JOB, CLOSE = b"J", b"C"
READY, HEAD, DATA, END, FAIL = b"R", b"H", b"D", b"E", b"F"
LAST = b"last"
"""Payload of an END after which the reader exits."""

_FRAME = struct.Struct("!cI")
_HEADER = _FRAME.size


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    """One frame."""
    return _FRAME.pack(kind, len(payload)) + payload


def json_frame(kind: bytes, data: Any) -> bytes:
    """One frame of JSON."""
    return frame(kind, json.dumps(data, separators=(",", ":")).encode())


class Frames:
    """Takes bytes as they come and returns whole frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """(kind, payload) of each frame that is complete now."""
        self._buffer += data
        found, place = [], 0
        while len(self._buffer) - place >= _HEADER:
            kind, length = _FRAME.unpack_from(self._buffer, place)
            end = place + _HEADER + length
            if len(self._buffer) < end:
                break
            found.append((kind, bytes(self._buffer[place + _HEADER : end])))
            place = end
        del self._buffer[:place]
        return found
