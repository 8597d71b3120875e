"""Queries at the endpoint of a remote store: a thread here waits for each, and gives up at its limits.

Nothing can be killed there. A query that is given up has its connection closed; whether the engine then stops
working on it is the engine's to say. Every query sees the endpoint as it is: there are no snapshots.
"""

from __future__ import annotations

import asyncio
import http.client
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.server.execution.answers import Answer, Gone, retry, unless_gone
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed
from graphrag_rdf.server.execution.nesting import deep_stacks
from graphrag_rdf.server.execution.remote_query import evaluate_remote, in_our_words
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, problem_of
from graphrag_rdf.store.remote import RemoteStore
from graphrag_rdf.store.wrapper import Stream

log = logging.getLogger(__name__)

_PATIENCE = 10.0
"""Seconds that a query waits for a place."""
_PART = 1 << 16
"""Bytes of an answer that are gathered; a failure before them is told in full."""


class RemoteQueries:
    """See the module.

    Args:
        most: queries at once.
        timeout: seconds from when a query is sent to the last byte of its answer.
    """

    def __init__(self, store: RemoteStore, most: int, timeout: float) -> None:
        self._store = store
        self._timeout = timeout
        self._places = asyncio.Semaphore(most)
        self._pool = ThreadPoolExecutor(most, "query")
        self._open: set[_Call] = set()

    async def start(self) -> None:
        """Nothing to do."""

    async def run(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """See `Queries.run`."""
        del min_commit
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            raise Problem(503, "too many queries are under way for too long", headers=retry(503)) from None
        call = _Call(self._store, job, self._timeout, self._ended)
        self._open.add(call)
        with deep_stacks():
            self._pool.submit(call.work)
        try:
            await unless_gone(call.answer, gone)
        except BaseException:
            call.answer.drop()
            raise
        return call.answer

    async def without_former(self) -> bool:
        """See `Queries.without_former`: there are no copies."""
        return True

    async def stop(self) -> None:
        """See `Queries.stop`."""
        for call in list(self._open):
            call.give_up(QueryFailed(503, "the server is stopping"))
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, call: _Call) -> None:
        self._open.discard(call)
        self._places.release()


class _GivenUp(Exception):  # noqa: N818 - it says what was done
    pass


class _Call:
    """One query: the thread that asks the endpoint, and the loop that hands on what comes.

    Args:
        ended: called in the loop when the thread is through.
    """

    def __init__(self, store: RemoteStore, job: Job, timeout: float, ended: Callable[[_Call], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._store = store
        self._job = job
        self._timeout = timeout
        self._ended = ended
        self._why: QueryFailed | None = None
        self._more = threading.Event()
        self._paused = False
        self._connections: list[socket.socket] = []
        self._streams: list[Stream] = []
        self._lock = threading.Lock()
        self._content_type = ""
        self._part = bytearray()
        late = QueryFailed(504, f"the query took longer than {timeout:g} s")
        self._timer = self._loop.call_later(timeout, self.give_up, late)
        left = QueryFailed(CLIENT_LEFT, "the client left")
        self.answer = Answer(store.commit_number(), lambda: self.give_up(left), self._room)

    # --- in the loop -----------------------------------------------------------------------------------

    def give_up(self, why: QueryFailed) -> None:
        """End it; the connections to the endpoint are cut."""
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

    def work(self) -> None:
        """Ask, and pass on what is answered."""
        failure: QueryFailed | None = None
        try:
            evaluate_remote(self._store, self._job, self._ask, self)
        except QueryFailed as failed:
            # anew: a traceback holds results, which must be let go of in this thread
            failure = QueryFailed(failed.status, failed.detail)
        except GraphRagError as error:
            failure = self._why or self._refused(error)
        except (OSError, http.client.HTTPException, _GivenUp):
            failure = QueryFailed(502, "the endpoint broke its answer off")
        except Exception:
            log.exception("a query failed")
            failure = QueryFailed(500, "the server failed; its log tells more")
        for stream in self._streams:
            stream.close()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._finish, self._why or failure, bytes(self._part))

    def _refused(self, error: GraphRagError) -> QueryFailed:
        problem = problem_of(error)
        ours = in_our_words(self._job.text) if problem.status == 400 else None
        return QueryFailed(problem.status, ours or problem.detail)

    def _ask(self, text: str, accept: str, parameters: Iterable[tuple[str, str]] = ()) -> Stream:
        self._streams.append(
            self._store.endpoint.open(
                text, accept, connected=self._connected, timeout=self._timeout, parameters=parameters
            )
        )
        return self._streams[-1]

    def _connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.append(connection)
            if self._why is not None:
                raise _GivenUp

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
            raise _GivenUp
        self._loop.call_soon_threadsafe(self._put, data)
        self._more.wait()
