"""Ingests for clients, in the queue of writes; and of documents in the one folder that they may have read."""

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

Heard = Callable[[int, int | None, str], Awaitable[None]]
"""Told how many chunks are done, of how many that are known so far, and of which document."""


def may_read(service: Service) -> bool:
    """Whether there is such a folder, and a store that may be written."""
    return service.settings.ingest_folder is not None and not service.read_only


async def run_ingest(service: Service, work: Callable[[Stop], IngestReport]) -> IngestReport:
    """Run an ingest after the writes that were sent before. Other writes have their turn between its chunks.

    Cancelling this ends it after the chunk in hand.

    Args:
        work: the ingest, in the thread of writes; asks between chunks whether to stop.

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


async def ingest_named(service: Service, names: Sequence[str], heard: Heard) -> IngestReport:
    """Read documents, after the writes that were sent before; who goes away ends it after the chunk in hand.

    Args:
        names: of files and folders, relative to the folder.

    Raises:
        Problem: 403 when it is not allowed or a path leads out of the folder, 404 when it leads nowhere.
        GraphRagError: see `Engine.ingest`.
    """
    folder = service.settings.ingest_folder
    if folder is None:
        raise Problem(403, "no documents are read for clients here", hint="--allow-ingest DIR lets them")
    service.require_writable()
    root, loop = folder.resolve(), asyncio.get_running_loop()

    def work(stop: Stop) -> IngestReport:
        places = [within(root, name) for name in names]
        return service.engine.ingest(places, progress=_telling(loop, heard, root), stop=stop, root=root)

    return await run_ingest(service, work)


def within(root: Path, name: str) -> Path:
    """The place that a client names, with all it leads to inside a folder.

    Args:
        root: resolved.

    Raises:
        Problem: 403 when the place, or a file below it, is outside (a symbolic link leads there), 404 when
            there is none, 400 when it is no name.
    """
    try:
        path = (root / name).resolve()
        inside = path.is_relative_to(root)
        there = inside and path.exists()
    except (OSError, ValueError, RuntimeError):
        raise Problem(400, f"{name!r} is not a path") from None
    if not inside:
        raise Problem(403, f"{name!r} is outside of the folder that may be read")
    if not there:
        raise Problem(404, f"there is no {name!r} in the folder that may be read")
    for source in discover([str(path)], is_store=is_store).sources:
        if not source.path.resolve().is_relative_to(root):
            link = os.path.relpath(source.path, root)
            raise Problem(403, f"{link} leads outside of the folder that may be read")
    return path


def _telling(loop: asyncio.AbstractEventLoop, heard: Heard, root: Path) -> Progress:
    """Pass progress from the thread of writes on to whoever listens."""

    def tell(done: int, total: int, path: str) -> None:
        name = os.path.relpath(path, root) if Path(path).is_absolute() else path
        asyncio.run_coroutine_threadsafe(_quietly(heard(done, max(done, total), name)), loop)

    return tell


async def _quietly(told: Awaitable[None]) -> None:
    try:
        await told
    except (OSError, RuntimeError):
        return  # nobody listens any more
