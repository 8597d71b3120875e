"""Queries in threads of this process: in memory, on Windows, and at the endpoint of a remote store.

No process can be killed here. A query that is given up (time limit, client gone) ends at its next part; at an
endpoint its connections are cut, and whether the engine stops working on it is up to the engine. `/health`
and the log say that queries run in this way.
"""

from __future__ import annotations

import asyncio
import http.client
import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.server.execution.answers import Answer, Gone, retry, unless_gone
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed, evaluate
from graphrag_rdf.server.execution.nesting import deep_stacks
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, problem_of
from graphrag_rdf.store.embedded import EmbeddedStore

log = logging.getLogger(__name__)

_PATIENCE = 10.0
"""Seconds that a query waits for a thread."""
_PART = 1 << 16
"""Bytes of an answer that are gathered; a failure before them is reported in full."""


class ThreadQueries:
    """See the module.

    Args:
        evaluate: runs a job and writes its answer to a call.
        commit: number of the newest commit.
        most: queries at once.
        timeout: seconds from the start of a query to the last byte of its answer.
    """

    def __init__(
        self,
        evaluate: Callable[[Job, Call], None],
        commit: Callable[[], int],
        most: int,
        timeout: float,
    ) -> None:
        self._evaluate = evaluate
        self._commit = commit
        self._timeout = timeout
        self._places = asyncio.Semaphore(most)
        self._pool = ThreadPoolExecutor(most, "query")
        self._open: set[Call] = set()

    async def start(self) -> None:
        """Nothing to do."""

    async def run(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """See `ReaderPool.run`; there are no snapshots, so every query sees the newest commit."""
        del min_commit
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            raise Problem(503, "too many queries are running", headers=retry(503)) from None
        call = Call(self._commit(), self._timeout, self._ended)
        self._open.add(call)
        with deep_stacks():
            self._pool.submit(call.work, self._evaluate, job)
        try:
            await unless_gone(call.answer, gone)
        except BaseException:
            call.answer.drop()
            raise
        return call.answer

    async def without_former(self) -> bool:
        """There are no copies; see `ReaderPool`."""
        return True

    async def stop(self) -> None:
        """Give up all queries."""
        for call in list(self._open):
            call.give_up(QueryFailed(503, "the server is stopping"))
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, call: Call) -> None:
        self._open.discard(call)
        self._places.release()


def on_store(store: EmbeddedStore) -> Callable[[Job, Call], None]:
    """Evaluation on a store of this process."""

    def work(job: Job, call: Call) -> None:
        with store.reading() as engine:
            evaluate(engine, job, call)

    return work


class GivenUp(Exception):  # noqa: N818 - it says what was done
    """The query was given up; raised in its thread."""


class Call:
    """One query: the thread that evaluates it, and the loop that passes its answer on.

    Args:
        commit: number of the newest one.
        timeout: seconds.
        ended: called in the loop when the thread has finished.
    """

    def __init__(self, commit: int, timeout: float, ended: Callable[[Call], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = ended
        self._why: QueryFailed | None = None
        self._more = threading.Event()
        self._paused = False
        self._connections: list[socket.socket] = []
        self._lock = threading.Lock()
        self._content_type = ""
        self._part = bytearray()
        late = QueryFailed(504, f"the query took longer than {timeout:g} s")
        self._timer = self._loop.call_later(timeout, self.give_up, late)
        left = QueryFailed(CLIENT_LEFT, "the client disconnected")
        self.answer = Answer(commit, lambda: self.give_up(left), self._room)

    # --- in the loop -----------------------------------------------------------------------------------

    def give_up(self, why: QueryFailed) -> None:
        """End it; its connections are cut."""
        with self._lock:
            self._why = self._why or why
            for connection in self._connections:
                with suppress(OSError, ValueError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._more.set()
        self.answer.fail(self._why)

    def _room(self, more: bool) -> None:
        self._paused = not more
        if more:
            self._more.set()

    def _put(self, data: bytes) -> None:
        self.answer.begin(self._content_type)
        self.answer.put(data)
        if not self._paused:
            self._more.set()

    def _finish(self, failure: QueryFailed | None, rest: bytes) -> None:
        self._timer.cancel()
        if failure is None:
            self.answer.begin(self._content_type)
            self.answer.put(rest)
            self.answer.end()
        else:
            self.answer.fail(failure)
        self._ended(self)

    # --- in the thread ---------------------------------------------------------------------------------

    def work(self, evaluate: Callable[[Job, Call], None], job: Job) -> None:
        """Evaluate a job and pass its answer on."""
        failure: QueryFailed | None = None
        try:
            evaluate(job, self)
        except QueryFailed as failed:
            # a new one: a traceback holds results, which must be freed in this thread
            failure = QueryFailed(failed.status, failed.detail)
        except GraphRagError as error:
            failure = self._why or _failure_of(error)
        except (OSError, http.client.HTTPException, GivenUp):
            failure = QueryFailed(502, "the endpoint broke off its answer")
        except Exception:
            log.exception("a query failed")
            failure = QueryFailed(500, "the server failed; see its log")
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._finish, self._why or failure, bytes(self._part))

    def connected(self, connection: socket.socket) -> None:
        """Cut this connection when the query is given up.

        Raises:
            GivenUp: it is already.
        """
        with self._lock:
            self._connections.append(connection)
            if self._why is not None:
                raise GivenUp

    def begin(self, content_type: str) -> None:
        """See `evaluate.Output`."""
        self._content_type = content_type

    def write(self, data: bytes) -> int:
        """See `evaluate.Output`."""
        self._part += data
        if len(self._part) >= _PART:
            self._pass_on()
        return len(data)

    def _pass_on(self) -> None:
        """Hand a part to the loop, and wait until there is room for another."""
        data = bytes(self._part)
        self._part.clear()
        self._more.clear()
        if self._why is not None:
            raise GivenUp
        self._loop.call_soon_threadsafe(self._put, data)
        self._more.wait()


def _failure_of(error: GraphRagError) -> QueryFailed:
    problem = problem_of(error)
    return QueryFailed(problem.status, problem.detail)
