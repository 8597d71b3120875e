"""The objects behind the routes: the engine, queries, writes, and the last write of each client."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Literal

from starlette.requests import HTTPConnection

from graphrag_rdf.config import ServerSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.forget import is_pending, rewrite_files
from graphrag_rdf.ingest.gate import Gate
from graphrag_rdf.layout import StorePaths
from graphrag_rdf.reader_process.evaluate import Job
from graphrag_rdf.server.execution.explanations import Explanations
from graphrag_rdf.server.execution.frozen import FrozenCopies
from graphrag_rdf.server.execution.queries import Answer, Queries, on_store
from graphrag_rdf.server.execution.readers import ReaderPool
from graphrag_rdf.server.execution.remote import at_endpoint
from graphrag_rdf.server.execution.snapshots import Snapshots, Unchanging
from graphrag_rdf.server.http.guard import Concurrency
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.page_images import PageImages
from graphrag_rdf.server.runs import Runs
from graphrag_rdf.server.statistics import Counter
from graphrag_rdf.server.writer import WriteQueue
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import DEFAULT_COLLECTION
from graphrag_rdf.store.remote import RemoteStore
from graphrag_rdf.store.remote_graphs import RemoteGraphs
from graphrag_rdf.trace.catalogue import keep_by_rule

log = logging.getLogger(__name__)

COMMIT = "GraphRAG-Commit"
"""Response header: the number of the commit that an answer saw, or that a write made."""
MIN_COMMIT = "GraphRAG-Min-Commit"
"""Request header: answer from this commit or a later one."""

_CLIENTS = 10_000
_PER_CLIENT = 64
"""Queries and pages of one client at once, running or waiting."""
_AT_ENDPOINT = 16
"""Concurrent queries at the endpoint of a remote store; here they mostly wait."""

_LOOKING_UP = 64
"""Threads for look-ups at the endpoint."""

How = Literal["isolated", "in-process", "remote"]

_AGAIN = 60.0
"""Seconds until files are rewritten again if that failed."""

_PRUNED_EVERY = 3600.0
"""Seconds between two looks for traces that are not kept (`trace.keep`)."""

_ENDING = 2.0
"""Seconds after their time limit in which queries end."""


class _Unjoined(ThreadPoolExecutor):
    """Threads that only read: the end of the event loop does not wait for them."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `ThreadPoolExecutor`."""
        del wait, cancel_futures
        super().shutdown(wait=False, cancel_futures=True)


class Service:
    """The objects behind the routes.

    Attributes:
        remote: graphs and updates of a remote store; None for an embedded one.
        read_only: nothing at all is written.
        gate: SHACL shapes of the user, for what clients write.
        copies: held while a copy of the store answers a question: one at a time.
        explanations: of empty results.
        page_images: pages of PDFs.
        frozen: copies for other processes; None where they may open the store, or its endpoint, themselves.
        readers: the processes for clients' queries; None where they run in threads or at an endpoint.
        how: which of these.

    Args:
        engine: open; its owner closes it.
        settings: see `config`.
    """

    def __init__(self, engine: Engine, settings: ServerSection) -> None:
        self.engine = engine
        self.remote = RemoteGraphs(engine.store) if isinstance(engine.store, RemoteStore) else None
        self.settings = settings
        self.read_only = engine.read_only
        self.gate = Gate(engine)
        self.gate.require_shapes()
        self.writes = WriteQueue(self._before_write, self._after_write)
        self.page_images = PageImages(engine.blobs)
        self.runs = Runs(settings.answers)
        self.concurrency = Concurrency(_PER_CLIENT)
        self.frozen = self._frozen()
        self.readers = self._readers()
        self.how, self.queries = self._queries()
        self.copies = asyncio.Lock()
        self.explanations = Explanations()
        self.started = time.time()
        self.stopping = threading.Event()
        self.counter = Counter(engine.store, self.remote.names if self.remote else None)
        self._written: OrderedDict[str, int] = OrderedDict()
        self._rewriting: asyncio.Future[None] | None = None
        self._pruning: asyncio.Future[None] | None = None

    def _before_write(self) -> None:
        self.engine.store.refresh()
        self.engine.rest()

    def _after_write(self) -> None:
        self.engine.written = datetime.now(UTC)

    @cached_property
    def store(self) -> EmbeddedStore:
        """The engine's store, if it is embedded (`remote` is None)."""
        assert isinstance(self.engine.store, EmbeddedStore)  # noqa: S101
        return self.engine.store

    @property
    def graphs(self) -> EmbeddedStore | RemoteGraphs:
        """Takes clients' updates and graphs."""
        return self.remote or self.store

    @property
    def has_triple_terms(self) -> bool:
        """Whether statements are triple terms in the store, and not nodes of RDF 1.1."""
        return self.engine.store.renderer.dialect != "classic"

    def _queries(self) -> tuple[How, Queries]:
        store, settings = self.engine.store, self.settings
        how: How
        evaluate: Callable[[Job, Answer], None]
        if self.readers is not None:
            how, most, evaluate = "isolated", _processes(settings.readers), self.readers.evaluate
        elif isinstance(store, RemoteStore):
            how, most = "remote", settings.readers or _AT_ENDPOINT
            evaluate = at_endpoint(store, settings.query_timeout)
        else:
            how, most, evaluate = "in-process", _processes(settings.readers), on_store(self.store)
        return how, Queries(evaluate, most, settings.query_timeout)

    def _frozen(self) -> FrozenCopies | None:
        place = self.engine.place
        if place is None or self.remote is not None or self.read_only:
            return None
        return FrozenCopies(self.store, place.frozen)

    def _readers(self) -> ReaderPool | None:
        place, settings = self.engine.place, self.settings
        if os.name != "posix" or place is None or self.remote is not None:
            return None
        store = self.store
        source = (
            Unchanging((store.folder or place.database).resolve(), store.commit_number())
            if self.read_only
            else Snapshots(store, StorePaths(place.root.resolve()))
        )
        return ReaderPool(source, _processes(settings.readers), settings.query_memory_mb, place.blobs)

    async def rewrite(self) -> str | None:
        """Rewrite the files of the store, so that they do not hold the text of forgotten documents.

        Returns:
            which files may still hold it, and why; None if none.

        Raises:
            NotPurgedError: they cannot be rewritten.
        """
        warning = await self.writes.run(lambda: rewrite_files(self.engine), long=True)
        if await self.purged():
            return warning
        return tr("a query or command still reads the old database; its files are deleted when it ends")

    def rewrite_later(self) -> None:
        """Rewrite the files once, for all documents that are forgotten within `forget.rewrite_after`."""
        if self._rewriting is None or self._rewriting.done():
            self._rewriting = asyncio.ensure_future(self._rewrite_soon())

    async def _rewrite_soon(self) -> None:
        await asyncio.sleep(self.engine.settings.forget.rewrite_after)
        while is_pending(self.engine.store):
            try:
                if (warning := await self.rewrite()) is not None:
                    log.warning("%s", warning)
            except (GraphRagError, Problem) as error:
                log.warning("the files of the store still hold forgotten text: %s", error)
                await asyncio.sleep(_AGAIN)

    async def purged(self) -> bool:
        """Wait until no query and no other process reads a database that was rewritten; whether all ended
        within the time limit of queries."""
        seconds = self.settings.query_timeout + _ENDING
        ended = self.readers is None or await self.readers.without_former(seconds)
        return ended and (self.frozen is None or await self.frozen.unread(seconds))

    async def start(self) -> None:
        """Make ready."""
        if self.how == "in-process":
            log.warning("queries run in this process: rows and bytes are limited, time and memory are not")
        # what looks things up for pages of a remote store waits for the endpoint
        looking_up = _Unjoined(_LOOKING_UP if self.remote is not None else None, "look-up")
        asyncio.get_running_loop().set_default_executor(looking_up)
        if self.readers is not None:
            self.readers.start()
        self._warming = asyncio.ensure_future(self.runs.call(self._warm))
        if not self.read_only:
            self._pruning = asyncio.ensure_future(self._prune_often())
            if is_pending(self.engine.store):
                self.rewrite_later()

    async def _prune_often(self) -> None:
        """Take out the traces that `trace.keep` does not keep."""
        engine = self.engine
        while True:
            rule = engine.settings.trace.keep
            try:
                if rule != "all":
                    gone = await self.writes.run(partial(keep_by_rule, engine.store, engine.blobs, rule))
                    log.info("trace.keep = %s: %s traces were taken out", rule, gone.traces)
            except (GraphRagError, Problem) as error:
                log.warning("old traces could not be taken out: %s", error)
            await asyncio.sleep(_PRUNED_EVERY)

    def _warm(self) -> None:
        """Load what every question needs, so that the first one is not the one that waits for it."""
        try:
            messages = self.engine.ask("warm", stored=False)
            next(messages)
            messages.close()
        except GraphRagError as error:
            log.info("no question can be answered yet: %s", error.message)  # clients get the error

    async def finish_writes(self) -> None:
        """Finish accepted writes (an ingest: its current chunk), rewrite files that hold forgotten text, and
        accept no more."""
        self.stopping.set()
        if self._pruning is not None:
            self._pruning.cancel()
        if self._rewriting is not None:
            self._rewriting.cancel()
            with suppress(GraphRagError, Problem):  # the next process tries again
                if is_pending(self.engine.store):
                    await self.rewrite()
        await self.writes.stop()

    async def stop(self) -> None:
        """Finish writes, cancel answers, end all else."""
        await self.finish_writes()
        await self.runs.stop()
        self.queries.stop()
        if self.readers is not None:
            self.readers.stop()
        if self.frozen is not None:
            self.frozen.close()

    def wrote(self, connection: HTTPConnection, commit: int) -> None:
        """Remember a client's write, so that it sees it at once."""
        client: str = connection.scope["state"]["client"]
        self._written[client] = commit
        self._written.move_to_end(client)
        if len(self._written) > _CLIENTS:
            self._written.popitem(last=False)

    def min_commit(self, connection: HTTPConnection) -> int:
        """The oldest commit that a client may get an answer from.

        Raises:
            Problem: 400 when the header is not a number, 412 when there is no such commit yet.
        """
        mine = self._written.get(connection.scope["state"]["client"], 0)
        header = connection.headers.get(MIN_COMMIT)
        if header is None:
            return mine
        if not header.isascii() or not header.isdigit() or len(header) > 18:
            raise Problem(400, tr("{min_commit} is a whole number").format(min_commit=MIN_COMMIT))
        asked, newest = int(header), self.engine.store.commit_number()
        if asked > newest:
            raise Problem(
                412, tr("the newest commit is {newest}").format(newest=newest), headers={COMMIT: str(newest)}
            )
        return max(mine, asked)

    def between_chunks(self) -> bool:
        """Called by an ingest between two chunks, in the writer's thread: whether it must end.

        Other writes run meanwhile, with the indexes up to date.
        """
        indexer = self.engine.indexer
        self.writes.let_others_in(lambda: indexer.flush(final=True, schema=False), indexer.catch_up)
        return self.stopping.is_set()

    def require_collection(self, name: str | None) -> None:
        """A server has one collection, which clients may also call the default one.

        Raises:
            Problem: 404 for another one.
        """
        served = self.engine.settings.collection
        if name and name not in (DEFAULT_COLLECTION, served):
            raise Problem(
                404,
                tr("there is no collection {name!r} on this server, which has {served!r}").format(
                    name=name, served=served
                ),
                hint=tr("start another server with: graphrag-rdf --collection {name} serve").format(
                    name=name
                ),
            )

    def require_writable(self) -> None:
        """Raises Problem 403 on a read-only server."""
        if self.read_only:
            raise Problem(403, tr("this server was started with --read-only"))


def service_of(connection: HTTPConnection) -> Service:
    """The service of a request's app."""
    service: Service = connection.app.state.service
    return service


def site_of(connection: HTTPConnection) -> str:
    """The address of this server as the client wrote it, without a path."""
    return f"{connection.scope['scheme']}://{connection.headers['host']}"


def address_of(connection: HTTPConnection) -> str:
    """The address of a request, without its query."""
    raw: bytes = connection.scope["raw_path"]
    return f"{site_of(connection)}{raw.decode('ascii')}"


def client_of(connection: HTTPConnection) -> str:
    """The client that limits apply to: its token, else its address."""
    client: str = connection.scope["state"]["client"]
    return client


def _processes(asked: int | None) -> int:
    return max(2, min(8, os.cpu_count() or 2)) if asked is None else asked
