"""The server's end of its outposts: which connections move there, and how they come home.

One process can use one processor for the short way (see `lane`). A connection whose client only looks things
up moves to an outpost, a process of its own that shares nothing but a snapshot; while nobody writes, since an
outpost answers from the newest commit or not at all. With any other request the connection comes home.
"""

from __future__ import annotations

import asyncio
import json
import logging
import mmap
import os
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from graphrag_rdf.server.execution import wire
from graphrag_rdf.server.execution.aside import aside
from graphrag_rdf.server.execution.process import spawn
from graphrag_rdf.server.execution.snapshots import Snapshot, SnapshotSource
from graphrag_rdf.server.execution.ticket import (
    GIVE,
    LEAVE,
    NUMBER,
    TAKE,
    TAKEN,
    TOLD,
    Ticket,
    close_all,
    received,
    unparcel,
)

log = logging.getLogger(__name__)

MOVES_AFTER = 16
"""Look-ups in a row until a connection moves."""

REST = 5.0
"""Seconds that a connection may rest between two requests."""

_ENOUGH = 4
"""Connections of each outpost from which another one is started."""

_MOST = 256
"""Connections of an outpost."""

_LONGEST = 1 << 14
"""Bytes of a ticket; a longer one may not leave in one piece."""

_ROOM = 1 << 18
"""Bytes of tickets that may be on their way; some systems have room for half of one unless they are told."""

_STARTING, _AGAIN = 60.0, 5.0
"""Seconds that a process may take until it is ready, and until the next is started when one did not get there
or has grown too large."""

_LOOK = 1.0
_IDLE = 10.0
"""Seconds that an outpost without connections stays."""

_SILENT = 10
"""Looks in a row at which an outpost with connections had told nothing, though it tells twice a second: it is
stuck, and its clients with it."""

_LEAVING = 2.0
"""Seconds that an outpost may take to end when the server does."""


class Movable(Protocol):
    """A connection, as the server has it."""

    def may_move(self) -> bool:
        """Whether nothing of a request or an answer is under way."""

    def socket_number(self) -> int:
        """Of its socket."""

    def leave(self) -> None:
        """Let go of it without a word to the client."""

    def come_home(self, connection: socket.socket, unsent: bytes, unread: bytes) -> None:
        """Take another one back: what is to be sent first, what was read and is to be answered."""


class Outposts:
    """All outposts of a server.

    Attributes:
        observe: told the method, path and seconds of each request.

    Args:
        size: the most processes.
        memory_mb: what each may hold, in 2^20 bytes.
    """

    def __init__(self, snapshots: SnapshotSource, size: int, memory_mb: int) -> None:
        self.observe: Callable[[str, str, float], None] | None = None
        self._snapshots = snapshots
        self._size = size
        self._memory_mb = memory_mb
        self._posts: list[_Post] = []
        self._starting = False
        self._none_before = 0.0
        self._tasks: set[asyncio.Task[object]] = set()
        self._shared = _shared()
        self._newest = mmap.mmap(self._shared, NUMBER.size)

    @property
    def connections(self) -> int:
        """How many are away."""
        return sum(post.open for post in self._posts)

    def note_commit(self, number: int) -> None:
        """Tell all outposts the number of the newest commit, before its writer goes on."""
        NUMBER.pack_into(self._newest, 0, number)

    def in_use(self) -> set[Snapshot]:
        """The snapshots that outposts read."""
        return {post.snapshot for post in self._posts if post.snapshot is not None}

    def offer(self, connection: Movable, ticket: Ticket) -> None:
        """Let a connection move, soon and if there is where to; else it is offered again."""
        if not self._size:
            return
        snapshot = self._snapshots.current
        if snapshot is None:
            self._keep(self._snapshots.fresh(ticket.commit))
        if self._is_one_needed():
            self._start()  # and wait for it, or those that came first had all
        elif snapshot is not None and snapshot.commit == ticket.commit:
            asyncio.get_running_loop().call_soon(self._move, connection, ticket, snapshot)

    async def start(self) -> None:
        """Make ready; no process is started before there is something to do."""
        self._keep(self._tidy())

    async def stop(self) -> None:
        """End all outposts; their clients see their connections closed, between two requests."""
        self._size = 0
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*(self._end(post, _LEAVING) for post in list(self._posts)))
        os.close(self._shared)

    # --- connections -----------------------------------------------------------------------------------

    def _move(self, connection: Movable, ticket: Ticket, snapshot: Snapshot) -> None:
        post = min(self._open_posts(), key=lambda post: post.open, default=None)
        if post is None or post.open >= _MOST or not connection.may_move():
            return
        try:
            moved = post.take(connection, ticket, snapshot)
        except OSError:
            post.leave()  # what it has comes home before its end is seen
            return
        if moved:
            connection.leave()

    def _listen(self, post: _Post) -> None:
        try:
            data, fds = received(post.way)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        post.silent = 0
        post.arrived.extend(fds)
        for kind, payload in post.frames.feed(data):
            if kind == TAKEN:
                post.sent.popleft().close()
            elif kind == GIVE:
                post.give(payload)
            elif kind == TOLD:
                closed, times = json.loads(payload)
                post.open -= closed
                self._report(times)
            elif kind == LEAVE:
                post.leave()
                self._none_before = time.monotonic() + _AGAIN
        if not data:
            self._end(post)

    def _report(self, times: Mapping[str, Iterable[float]]) -> None:
        if self.observe is None:
            return
        for operation, seconds in times.items():
            method, _, path = operation.partition(" ")
            for each in seconds:
                self.observe(method, path, each)

    # --- outposts come and go --------------------------------------------------------------------------

    def _open_posts(self) -> list[_Post]:
        return [post for post in self._posts if not post.leaving]

    def _is_one_needed(self) -> bool:
        return (
            len(self._posts) < self._size
            and all(post.open >= _ENOUGH for post in self._open_posts())
            and time.monotonic() >= self._none_before
        )

    def _start(self) -> None:
        if not self._starting:
            self._starting = True
            self._keep(self._start_one())

    async def _start_one(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            post = await _Post.start(self._shared, self._memory_mb)
        except OSError as error:
            log.warning("an outpost cannot be started: %s", error)
            self._none_before = time.monotonic() + _AGAIN
            return
        finally:
            self._starting = False
        self._posts.append(post)
        loop.add_reader(post.way.fileno(), self._listen, post)

    def _end(self, post: _Post, seconds: float = 5.0) -> asyncio.Task[object]:
        self._posts.remove(post)
        asyncio.get_running_loop().remove_reader(post.way.fileno())
        return self._keep(self._ended(post, seconds))

    async def _ended(self, post: _Post, seconds: float) -> None:
        """Only when the process is gone it is sure not to take what it was sent."""
        await aside(post.close, seconds)
        if self._size:
            post.take_back()
        else:
            post.drop()

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            for post in list(self._posts):
                if post.is_stuck():
                    log.warning("an outpost that had stopped was ended, and its connections with it")
                    post.kill()
                if post.snapshot is not None and post.snapshot is not self._snapshots.current:
                    post.let_go_of_snapshot()
                if post.open:
                    post.needed = time.monotonic()
                elif time.monotonic() - post.needed > _IDLE:
                    self._end(post)

    def _keep(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Post:
    """The server's end of one outpost.

    Attributes:
        way: to it and from it.
        arrived: file descriptors of connections that it gives back.
        sent: connections that it has not said it took.
        open: connections that it has.
        needed: when it had one last (monotonic).
        silent: looks at it since it told something.
        leaving: it takes no more.
    """

    def __init__(self, process: subprocess.Popen[bytes], way: socket.socket) -> None:
        self.way = way
        self.frames = wire.Frames()
        self.arrived: deque[int] = deque()
        self.sent: deque[socket.socket] = deque()
        self.open = 0
        self.needed = time.monotonic()
        self.silent = 0
        self.leaving = False
        self.snapshot: Snapshot | None = None
        self._process = process
        self._come_home: Callable[[socket.socket, bytes, bytes], None] | None = None

    @classmethod
    async def start(cls, newest: int, memory_mb: int) -> _Post:
        """A new process that said it is ready.

        Args:
            newest: the file with the number of the newest commit.

        Raises:
            OSError: it cannot be started, ended at once or takes too long.
        """
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
        ours.setblocking(False)
        process = None
        try:
            with theirs:
                fd = theirs.fileno()
                words = (str(fd), str(newest), str(memory_mb), str(REST))
                process = await aside(
                    spawn, "graphrag_rdf.server.execution.outpost", *words, fds=(fd, newest)
                )
            async with asyncio.timeout(_STARTING):
                ready = await asyncio.get_running_loop().sock_recv(ours, wire.HEADER)
        except BaseException:
            ours.close()
            if process is not None:
                process.kill()
            raise
        if not ready:
            ours.close()
            raise OSError("it ended before it was ready")
        return cls(process, ours)

    def take(self, connection: Movable, ticket: Ticket, snapshot: Snapshot) -> bool:
        """Send a connection there; whether it went.

        Raises:
            OSError: the process is not to be talked to any more.
        """
        data = wire.frame(TAKE, ticket.packed(snapshot.place))
        if len(data) > _LONGEST:
            return False
        try:
            kept = socket.socket(fileno=os.dup(connection.socket_number()))
            kept.setblocking(False)
        except OSError:
            return False  # no more file descriptors
        try:
            sent = socket.send_fds(self.way, [data], [kept.fileno()])
        except OSError as error:
            kept.close()
            if isinstance(error, BlockingIOError):
                return False
            raise
        if sent < len(data):
            kept.close()
            raise OSError("half a ticket was sent")
        self.sent.append(kept)
        self.open += 1
        self.snapshot = snapshot
        self._come_home = connection.come_home
        return True

    def give(self, payload: bytes) -> None:
        """Take a connection back."""
        self.open -= 1
        found = socket.socket(fileno=self.arrived.popleft())
        found.setblocking(False)
        assert self._come_home is not None  # noqa: S101 - what comes back was sent
        self._come_home(found, *unparcel(payload))

    def take_back(self) -> None:
        """Take back what it was sent and, now that it has ended, will not take."""
        while self.sent:
            assert self._come_home is not None  # noqa: S101 - as above
            self._come_home(self.sent.popleft(), b"", b"")

    def drop(self) -> None:
        """Part with what it was sent."""
        while self.sent:
            self.sent.popleft().close()

    def is_stuck(self) -> bool:
        """Whether it has told nothing for so many looks, of which this is one."""
        self.silent = self.silent + 1 if self.open else 0
        return self.silent > _SILENT

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def let_go_of_snapshot(self) -> None:
        """Close the store that it holds open; connections stay until their clients speak."""
        with suppress(OSError):
            self.way.send(wire.frame(wire.CLOSE))
            self.snapshot = None

    def leave(self) -> None:
        """Send it nothing more: it gives back what it has, and ends."""
        if not self.leaving:
            self.leaving = True
            with suppress(OSError):
                self.way.shutdown(socket.SHUT_WR)

    def close(self, seconds: float) -> None:
        """End it, and wait for that; so long until it is killed."""
        self.way.close()
        close_all(self.arrived)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _shared() -> int:
    """A file of a few bytes that processes can map; in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("newest")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    os.write(fd, bytes(NUMBER.size))
    return fd
