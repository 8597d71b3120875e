"""Clients' queries, each evaluated in a thread, and their answers on the way to the client.

The thread works with a reader process (`readers`), on a store of this process, or at an endpoint (`remote`).
Only a reader process can be killed. Otherwise a query that is given up (time limit, client gone) ends at its
next part; at an endpoint its connections are cut, and whether the engine stops working on it is up to the
engine. `/health` and the log say how queries run.
"""

from __future__ import annotations

import asyncio
import http.client
import logging
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.evaluate import Job, QueryFailed, evaluate
from graphrag_rdf.server.execution.nesting import deep_stacks
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, TransferAborted, problem_of
from graphrag_rdf.store.embedded import EmbeddedStore

log = logging.getLogger(__name__)

Gone = Callable[[], Awaitable[bool]]
"""Whether the client has disconnected."""

_WAITING, PATIENCE = 256, 10.0
"""Queries that may wait for their turn, and for how many seconds."""
_LOOK = 0.5
"""Seconds between two looks at whether the client is connected."""
_PART, _HIGH = 1 << 16, 1 << 20
"""Bytes of an answer that are gathered, and that may wait for the client. A failure in the first part is
reported in full."""


class Queries:
    """Runs queries, and passes their answers on.

    Args:
        evaluate: runs a job and writes its answer, in a thread.
        most: queries at once.
        seconds: from the start of a query to the last byte of its answer.
    """

    def __init__(self, evaluate: Callable[[Job, Answer], None], most: int, seconds: float) -> None:
        self._evaluate = evaluate
        self._seconds = seconds
        self._places = asyncio.Semaphore(most)
        self._waiting = 0
        self._threads = ThreadPoolExecutor(most, "query")
        self._open: set[Answer] = set()

    async def run(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """The answer to a query, begun.

        Args:
            min_commit: the store's state must have this commit.
            gone: whether the client has disconnected.

        Raises:
            Problem: it failed before its first part, or had to wait for too long.
        """
        await self._turn(gone)
        answer = Answer(min_commit, self._seconds, self._ended)
        self._open.add(answer)
        with deep_stacks():
            self._threads.submit(copy_context().run, answer.work, self._evaluate, job)
        try:
            while not await answer.begun(_LOOK):
                await _require(gone)
        except BaseException:
            answer.drop()
            raise
        return answer

    async def whole(self, job: Job, min_commit: int) -> tuple[str, bytes]:
        """The media type of an answer, and all of it. If the client disconnects, cancel the call.

        Raises:
            Problem: see `run`; 503 also if it failed after its first part.
        """
        answer = await self.run(job, min_commit, _never)
        try:
            return answer.content_type, b"".join([part async for part in answer.parts()])
        except TransferAborted as aborted:
            raise Problem(503, str(aborted)) from None

    async def _turn(self, gone: Gone) -> None:
        """Wait for a place, unless the client has left by then."""
        if self._waiting >= _WAITING:
            raise Problem(503, tr("too many queries are waiting"), headers=retry(503))
        waits = self._places.locked()
        self._waiting += 1
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            raise Problem(503, tr("too many queries are running"), headers=retry(503)) from None
        finally:
            self._waiting -= 1
        try:
            if waits:
                await _require(gone)
        except BaseException:
            self._places.release()
            raise

    def stop(self) -> None:
        """Give up all queries."""
        for answer in list(self._open):
            answer.give_up(QueryFailed(503, tr("the server is stopping")))
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, answer: Answer) -> None:
        self._open.discard(answer)
        self._places.release()


def on_store(store: EmbeddedStore) -> Callable[[Job, Answer], None]:
    """Evaluation on a store of this process."""

    def work(job: Job, answer: Answer) -> None:
        with answer.running(store.commit_number()), store.reading() as engine:
            evaluate(engine, job, answer, store.functions)

    return work


class GivenUp(Exception):  # noqa: N818 - it says what was done
    """The query was given up; raised in its thread."""


class Answer:
    """An answer: a thread writes it, and the event loop reads it while its parts arrive.

    Attributes:
        content_type: known when `begun`.
        commit: the store's commit that it saw, likewise.

    Args:
        min_commit: see `Queries.run`.
        seconds: its time limit.
        ended: called in the event loop when the thread has finished.
    """

    def __init__(self, min_commit: int, seconds: float, ended: Callable[[Answer], None]) -> None:
        self.min_commit = min_commit
        self.commit = min_commit
        self.content_type = ""
        self._seconds = seconds
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()
        self._gathered = bytearray()
        self._state = threading.Condition()  # of all below
        self._parts: deque[bytes] = deque()
        self._waiting = 0
        self._over = False
        self._failure: QueryFailed | None = None
        self._cuts: list[Callable[[], object]] = []

    # --- the client's side, in the event loop ----------------------------------------------------------

    async def begun(self, seconds: float) -> bool:
        """Wait so long for the first part or the end; whether it has come.

        Raises:
            Problem: it failed; nothing was sent, so the client gets the reason.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        if self._failure is not None:
            raise Problem(self._failure.status, self._failure.detail, headers=retry(self._failure.status))
        return self._news.is_set()

    @property
    def whole(self) -> bytes | None:
        """All of it, removed from here, if it is complete."""
        if not self._over or self._failure is not None:
            return None
        data = b"".join(self._parts)
        self._parts.clear()
        return data

    async def parts(self) -> AsyncIterator[bytes]:
        """The parts as they come.

        Raises:
            TransferAborted: it failed after its first part.
        """
        try:
            while True:
                self._news.clear()
                with self._state:
                    ready, over, failure = list(self._parts), self._over, self._failure
                    self._parts.clear()
                    self._waiting = 0
                    self._state.notify_all()
                for part in ready:
                    yield part
                if failure is not None:
                    raise TransferAborted(failure.detail)
                if over:
                    return
                await self._news.wait()
        finally:
            self.drop()

    def drop(self) -> None:
        """The rest is not wanted."""
        self.give_up(QueryFailed(CLIENT_LEFT, tr("the client disconnected")))
        self._parts.clear()

    def give_up(self, why: QueryFailed) -> None:
        """End it, if it has not ended."""
        with self._state:
            if self._over:
                return
            self._failure = self._failure or why
            for cut in self._cuts:
                with suppress(OSError, ValueError):
                    cut()
            self._state.notify_all()
        self._news.set()

    def _limit(self) -> None:
        late = QueryFailed(504, tr("the query took longer than {seconds:g} s").format(seconds=self._seconds))
        self._timer = None if self._over else self._loop.call_later(self._seconds, self.give_up, late)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._news.set()
        self._ended(self)

    # --- the writer's side, in a thread ----------------------------------------------------------------

    def work(self, evaluate: Callable[[Job, Answer], None], job: Job) -> None:
        """Evaluate a job and pass its answer on."""
        failure: QueryFailed | None = None
        try:
            evaluate(job, self)
        except QueryFailed as failed:
            # a new one: a traceback holds results, which must be freed in this thread
            failure = QueryFailed(failed.status, failed.detail)
        except GraphRagError as error:
            problem = problem_of(error)
            failure = QueryFailed(problem.status, problem.detail)
        except (OSError, http.client.HTTPException, GivenUp):
            failure = QueryFailed(502, tr("the endpoint broke off its answer"))
        except Exception:
            log.exception("a query failed")
            failure = QueryFailed(500, tr("the server failed; see its log"))
        with self._state:
            self._parts.append(bytes(self._gathered))
            self._failure = self._failure or failure
            self._over = True
        self._soon(self._finish)

    @contextmanager
    def running(self, commit: int, cut: Callable[[], object] | None = None) -> Iterator[None]:
        """The query is evaluated: its time counts.

        Args:
            cut: called to end it.

        Raises:
            GivenUp: it is already.
        """
        self.commit = commit
        self._soon(self._limit)
        with self._cut_by(cut or (lambda: None)):
            yield

    @contextmanager
    def _cut_by(self, cut: Callable[[], object]) -> Iterator[None]:
        self._add(cut)
        try:
            yield
        finally:
            with self._state:
                self._cuts.remove(cut)

    def _add(self, cut: Callable[[], object]) -> None:
        with self._state:
            if self._failure is not None:
                raise GivenUp
            self._cuts.append(cut)

    def connected(self, connection: socket.socket) -> None:
        """Cut this connection when the query is given up.

        Raises:
            GivenUp: it is already.
        """
        self._add(partial(connection.shutdown, socket.SHUT_RDWR))

    def begin(self, content_type: str) -> None:
        """See `evaluate.Output`."""
        self.content_type = content_type

    def write(self, data: bytes) -> int:
        """See `evaluate.Output`; waits until there is room."""
        self._gathered += data
        if len(self._gathered) >= _PART:
            with self._state:
                while self._waiting > _HIGH and self._failure is None:
                    self._state.wait()
                if self._failure is not None:
                    raise GivenUp
                self._parts.append(bytes(self._gathered))
                self._waiting += len(self._gathered)
            self._gathered.clear()
            self._soon(self._news.set)
        return len(data)

    def _soon(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(call)


async def _never() -> bool:
    return False


async def _require(gone: Gone) -> None:
    if await gone():
        raise Problem(CLIENT_LEFT, tr("the client disconnected"))


def retry(status: int) -> dict[str, str]:
    """Headers of a status: when to retry."""
    return {"Retry-After": "1"} if status in (429, 503) else {}
