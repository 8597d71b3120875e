"""Queries in threads of this process: for stores in memory, and where processes cannot be limited (Windows).

Nothing is killed here: rows and bytes are bounded, time is only bounded for the client, whose query may go on
using a thread after it was given up. `/health` and the log say that this is how queries run.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from graphrag_rdf.server.execution.answers import Answer, Gone
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed, evaluate_whole
from graphrag_rdf.server.execution.nesting import deep_stacks
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.store.embedded import EmbeddedStore


class InProcessQueries:
    """See the module.

    Args:
        store: what is asked.
        threads: queries at once.
        timeout: seconds until a client is told that its query takes too long.
    """

    def __init__(self, store: EmbeddedStore, threads: int, timeout: float) -> None:
        self._store = store
        self._timeout = timeout
        self._pool = ThreadPoolExecutor(threads, "query")

    async def start(self) -> None:
        """Nothing to do."""

    async def run(self, job: Job, min_commit: int, gone: Gone) -> Answer:
        """See `Queries.run`."""
        del min_commit, gone
        commit = self._store.commit_number()
        loop = asyncio.get_running_loop()
        try:
            with deep_stacks():
                done = loop.run_in_executor(self._pool, self._evaluate, job)
            async with asyncio.timeout(self._timeout):
                content_type, data = await done
        except TimeoutError:
            raise Problem(504, f"the query took longer than {self._timeout:g} s") from None
        except QueryFailed as failure:
            raise Problem(failure.status, failure.detail) from None
        answer = Answer(commit)
        answer.begin(content_type)
        answer.put(data)
        answer.end()
        return answer

    def _evaluate(self, job: Job) -> tuple[str, bytes]:
        with self._store.reading() as engine:
            return evaluate_whole(engine, job)

    async def without_former(self) -> bool:
        """See `Queries.without_former`: there are no copies."""
        return True

    async def stop(self) -> None:
        """See `Queries.stop`."""
        self._pool.shutdown(wait=False, cancel_futures=True)
