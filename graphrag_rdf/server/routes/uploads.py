"""`POST /documents`: ingest files; `DELETE /documents/{id}`: forget a document; ingests for tools.

Ingests run in the queue of writes: of uploads, and of documents in one allowed folder.
"""

from __future__ import annotations

import asyncio
import os
import threading
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from graphrag_rdf.documents.discover import discover
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.files import Upload
from graphrag_rdf.ingest.forget import Forgotten, forget_named, is_pending
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.resources import folder
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import read_parts
from graphrag_rdf.server.http.events import ALIVE, BEAT, EVENTS, event, wants_events
from graphrag_rdf.server.http.negotiation import content_type, negotiate
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, problem_of
from graphrag_rdf.server.representations import HTML, JSON, truth
from graphrag_rdf.server.routes.documents import document_named, report_page
from graphrag_rdf.server.service import COMMIT, Service, service_of
from graphrag_rdf.store.folder import is_store

if TYPE_CHECKING:
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.schedule import Progress, Stop


_FILES = 1000
_LONGEST = 1000
"""Files of a request, letters of a name."""
_LOOK = 0.5


async def upload(request: Request) -> Response:
    """Ingest the files of a form; the report as `ingest --format json`, as a page, or as events.

    A file's name, with its folders, is the document's identity. `refresh=true` reads unchanged documents,
    too. Disconnecting stops the run after the current chunk. Finished chunks are kept; sending the same files
    again continues.
    """
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    refresh = truth(request, "refresh")
    files = await _files(request)
    if wants_events(request):
        lines = _lines(request, files, refresh)
        return StreamingResponse(lines, media_type=EVENTS, headers={"Cache-Control": "no-store"})
    report: dict[str, Any] = {}
    async for progress in _ingested(request, files, refresh, _LOOK):
        if await request.is_disconnected():
            raise Problem(CLIENT_LEFT, tr("the client disconnected"))
        report = progress[1] if progress is not None else report
    headers = _headers(service)
    choice = negotiate(request.headers.get("accept"), (JSON, HTML))
    if choice is not None and choice.format is HTML:
        return Response(report_page(request, service, report), headers=headers, media_type=HTML.content_type)
    return JSONResponse(report, headers=headers)


async def samples(request: Request) -> Response:
    """Ingest the sample documents, and go to the page to ask about them."""
    require(request, "write")
    service_of(request).require_writable()
    paths = sorted(path for path in folder("examples/documents").iterdir() if path.is_file())
    files = [Upload(f"samples/{path.name}", path.read_bytes()) for path in paths]
    async for _ in _ingested(request, files, refresh=False, patience=_LOOK):
        if await request.is_disconnected():
            raise Problem(CLIENT_LEFT, tr("the client disconnected"))
    return RedirectResponse("/", 303, {"Cache-Control": "no-store"})


async def forget(request: Request) -> Response:
    """Forget a document, as `forget --format json`; `id` is an IRI or the local part of one of ours.

    It is out of facts, search and traces then. The files of the database are rewritten later (see
    `Service.rewrite_later`), and `erasure_pending` is true until then; with `wait` they are rewritten first.

    A running ingest ends first: a document that is forgotten between two of its chunks would leave the rest.
    """
    require(request, "write")
    service, wait = service_of(request), truth(request, "wait")
    service.require_writable()
    name: str = request.path_params["id"]
    iri = document_named(request, name).value

    def work() -> Forgotten:
        engine = service.engine
        documents = engine.store.select("provenance/find-document", name=iri)
        unfinished = is_pending(engine.store) if wait else engine.store.select("forget/unfinished")
        if not documents and not unfinished:
            raise Problem(404, tr("there is no document {name}").format(name=iri))
        with engine.keeping_indexes():
            return forget_named(engine, [iri], rewrite=False)

    forgotten = await service.writes.run(work, long=True)
    service.page_images.clear()
    if forgotten.pending:
        service.rewrite_later()
    if forgotten.pending and wait:
        if (warning := await service.rewrite()) is not None:
            forgotten.warn("not_purged", warning)
        forgotten.pending = False
    service.wrote(request, service.engine.store.commit_number())
    return JSONResponse(forgotten.as_json(), headers=_headers(service))


async def _lines(request: Request, files: list[Upload], refresh: bool) -> AsyncIterator[str]:
    """Progress and report of an ingest as server-sent events."""
    try:
        async for progress in _ingested(request, files, refresh, BEAT):
            yield ALIVE if progress is None else event(*progress)
    except (GraphRagError, Problem) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        yield event("error", problem.document())


async def _ingested(
    request: Request, files: list[Upload], refresh: bool, patience: float
) -> AsyncIterator[tuple[str, dict[str, Any]] | None]:
    """An ingest of uploads: its progress, then its report; None after so many seconds without either.

    It stops if this is not awaited to the end.

    Raises:
        GraphRagError: of the run.
    """
    service, loop = service_of(request), asyncio.get_running_loop()
    news: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    def notify(done: int, total: int, path: str) -> None:
        progress = {"done": done, "total": max(done, total), "path": path}
        loop.call_soon_threadsafe(news.put_nowait, progress)

    def work(stop: Stop) -> IngestReport:
        report = service.engine.ingest_uploads(files, refresh=refresh, progress=notify, stop=stop)
        service.wrote(request, service.engine.store.commit_number())
        return report

    running = asyncio.ensure_future(run_ingest(service, work))
    running.add_done_callback(lambda _: news.put_nowait(None))
    try:
        while True:
            try:
                async with asyncio.timeout(patience):
                    progress = await news.get()
            except TimeoutError:
                yield None
                continue
            if progress is None:
                break
            yield "progress", progress
        yield "report", to_json(await running)
    finally:
        running.cancel()


def _headers(service: Service) -> dict[str, str]:
    return {COMMIT: str(service.engine.store.commit_number()), "Cache-Control": "no-store", "Vary": "Accept"}


# --- files -------------------------------------------------------------------------------------------


async def _files(request: Request) -> list[Upload]:
    if content_type(request.headers.get("content-type"))[0] != "multipart/form-data":
        raise Problem(
            415, tr("send documents as multipart/form-data"), headers={"Accept-Post": "multipart/form-data"}
        )
    by_identity: dict[str, Upload] = {}
    for part in await read_parts(request, service_of(request).settings.max_body_mb << 20, files=_FILES):
        identity = identity_of(part.name or "")
        if identity in by_identity:
            raise Problem(400, tr("two files are named {identity}").format(identity=identity))
        by_identity[identity] = Upload(identity, part.data)
    if not by_identity:
        raise Problem(400, tr("the form has no file"))
    return list(by_identity.values())


def identity_of(name: str) -> str:
    """The identity of a document, from the name of its file.

    Raises:
        Problem: 400 for an invalid name, or one that leads out of its folder.
    """
    identity = unicodedata.normalize("NFC", name.replace("\\", "/"))
    parts = identity.split("/")
    if (
        not identity
        or len(identity) > _LONGEST
        or any(part in ("", ".", "..") for part in parts)
        or any(unicodedata.category(letter).startswith("C") for letter in identity)
    ):
        raise Problem(
            400,
            tr("{name!r} cannot be the name of a document").format(name=name[:80]),
            hint=tr("e.g. reports/2024.pdf"),
        )
    return identity


# --- ingests in the queue of writes --------------------------------------------------------------------

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
            tr("this server reads no files for clients"),
            hint=tr("allow a folder with: serve --allow-ingest DIR"),
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
        raise Problem(400, tr("{name!r} is not a path").format(name=name)) from None
    if not inside:
        raise Problem(403, tr("{name!r} is outside of the allowed folder").format(name=name))
    if not there:
        raise Problem(404, tr("there is no {name!r} in the allowed folder").format(name=name))
    for source in discover([str(path)], is_store=is_store).sources:
        if not source.path.resolve().is_relative_to(root):
            link = os.path.relpath(source.path, root)
            raise Problem(403, tr("{link} leads outside of the allowed folder").format(link=link))
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
