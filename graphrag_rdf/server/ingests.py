"""Ingests for clients, in the queue of writes: of uploads, and of documents in one allowed folder."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphrag_rdf.documents.discover import discover
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.folder import is_store

if TYPE_CHECKING:
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.schedule import Progress, Stop

Notify = Callable[[int, int | None, str], Awaitable[None]]
"""Called with the chunks done, the chunks known so far, and the document."""


def may_read(service: Service) -> bool:
    """Whether there is such a folder, and the store can be written."""
    return service.settings.ingest_folder is not None and not service.read_only


async def run_ingest(service: Service, work: Callable[[Stop], IngestReport]) -> IngestReport:
    """Run an ingest after earlier writes. Other writes run between its chunks.

    Cancelling ends it after the current chunk.

    Args:
        work: the ingest, in the writer's thread; checks between chunks whether to stop.

    Raises:
        Problem: 503 when too many writes are waiting.
        GraphRagError: of the ingest.
    """
    gone = threading.Event()
    try:
        return await service.writes.run(
            lambda: work(lambda: service.between_chunks() or gone.is_set()), long=True
        )
    finally:
        gone.set()


async def ingest_named(service: Service, names: Sequence[str], notify: Notify) -> IngestReport:
    """Ingest documents of the folder, as `run_ingest`.

    Args:
        names: of files and folders, relative to the folder.

    Raises:
        Problem: 403 when it is not allowed or a path leads out of the folder, 404 when there is no such path.
        GraphRagError: see `Engine.ingest`.
    """
    folder = service.settings.ingest_folder
    if folder is None:
        raise Problem(
            403,
            "this server reads no files for clients",
            hint="allow a folder with: serve --allow-ingest DIR",
        )
    service.require_writable()
    root, loop = folder.resolve(), asyncio.get_running_loop()

    def work(stop: Stop) -> IngestReport:
        places = [within(root, name) for name in names]
        return service.engine.ingest(places, progress=_notifying(loop, notify, root), stop=stop, root=root)

    return await run_ingest(service, work)


def within(root: Path, name: str) -> Path:
    """The path that a client names, which must stay inside a folder.

    Args:
        root: resolved.

    Raises:
        Problem: 403 when it, or a file below it, is outside (by a symbolic link), 404 when it does not exist,
            400 when it is not a path.
    """
    try:
        path = (root / name).resolve()
        inside = path.is_relative_to(root)
        there = inside and path.exists()
    except (OSError, ValueError, RuntimeError):
        raise Problem(400, f"{name!r} is not a path") from None
    if not inside:
        raise Problem(403, f"{name!r} is outside of the allowed folder")
    if not there:
        raise Problem(404, f"there is no {name!r} in the allowed folder")
    for source in discover([str(path)], is_store=is_store).sources:
        if not source.path.resolve().is_relative_to(root):
            link = os.path.relpath(source.path, root)
            raise Problem(403, f"{link} leads outside of the allowed folder")
    return path


def _notifying(loop: asyncio.AbstractEventLoop, notify: Notify, root: Path) -> Progress:
    """Pass progress from the writer's thread to the event loop."""

    def progress(done: int, total: int, path: str) -> None:
        name = os.path.relpath(path, root) if Path(path).is_absolute() else path
        asyncio.run_coroutine_threadsafe(_quietly(notify(done, max(done, total), name)), loop)

    return progress


async def _quietly(sending: Awaitable[None]) -> None:
    try:
        await sending
    except (OSError, RuntimeError):
        return  # the client has disconnected
