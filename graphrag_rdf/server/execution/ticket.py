"""The talk between the server and its outposts: what is told of a connection that moves, and how it moves.

Frames as in `wire`, over a pair of Unix sockets. To an outpost: TAKE, with the connection itself
(SCM_RIGHTS), or CLOSE, to let go of its snapshot. From it: READY, once; TAKEN, for each TAKE and before
anything is read of that connection; GIVE, with a connection; TOLD, about what it did; LEAVE, when it wants to
end: the server then sends no more, and gets all connections back.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from graphrag_rdf.server.execution.evaluate import Job

TAKE, TAKEN, GIVE, TOLD, LEAVE = b"T", b"A", b"G", b"S", b"L"

VARYING = frozenset({b"content-length", b"x-request-id"})
"""Headers that may differ from one request to the next."""

NUMBER = struct.Struct("=q")
"""Of the newest commit, in the file that the server shares with outposts."""

_LENGTH = struct.Struct("!I")

_PIECE, _FDS = 1 << 18, 64
"""Bytes and connections that are taken at once."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What one request was, and the next must be like.

    Attributes:
        method, path: that it asked.
        headers: all but the varying ones.
        job: it, without its text.
        commit: the newest one.
        lines: of the head of its answer.
    """

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    job: Job
    commit: int
    lines: bytes

    def packed(self, place: str) -> bytes:
        """The payload of a TAKE, with the place of the snapshot."""
        headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in self.headers]
        lines = self.lines.decode("latin-1")
        job = self.job.as_json()
        return json.dumps([place, self.method, self.path, headers, job, self.commit, lines]).encode()

    @classmethod
    def unpacked(cls, payload: bytes) -> tuple[str, Ticket]:
        """(place, ticket): the reverse."""
        place, method, path, headers, job, commit, lines = json.loads(payload)
        known = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return place, cls(method, path, known, Job.from_json(job), commit, lines.encode("latin-1"))


def constant(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers without the varying ones."""
    return [header for header in headers if header[0] not in VARYING]


def received(way: socket.socket) -> tuple[bytes, list[int]]:
    """What came: bytes, none at the end, and the file descriptors of connections.

    Raises:
        OSError: there was nothing; or connections were lost for want of descriptors, after which each that
            comes would be taken for another.
    """
    data, fds, flags, _ = socket.recv_fds(way, _PIECE, _FDS)
    if flags & socket.MSG_CTRUNC:
        close_all(fds)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, fds


def close_all(fds: Iterable[int]) -> None:
    """Close connections that nobody has taken."""
    for fd in fds:
        os.close(fd)


def parcel(unsent: bytes, unread: bytes) -> bytes:
    """The payload of a GIVE: what is still to be sent to the client, and what nobody answered."""
    return _LENGTH.pack(len(unsent)) + unsent + unread


def unparcel(payload: bytes) -> tuple[bytes, bytes]:
    """The reverse."""
    (length,) = _LENGTH.unpack_from(payload)
    start = _LENGTH.size
    return payload[start : start + length], payload[start + length :]
