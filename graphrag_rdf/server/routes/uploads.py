"""`POST /documents`: documents in, as `ingest` takes files; `DELETE /documents/{id}`: forget one."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.ingest.files import Upload
from graphrag_rdf.ingest.forget import Forgotten, forget_named, is_unfinished
from graphrag_rdf.rdf.iris import PROVENANCE_BASE
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import read_body
from graphrag_rdf.server.http.events import ALIVE, BEAT, EVENTS, event, wants_events
from graphrag_rdf.server.http.negotiation import content_type, negotiate
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem, problem_of
from graphrag_rdf.server.ingests import run_ingest
from graphrag_rdf.server.pages.documents import report_page
from graphrag_rdf.server.representations import HTML, JSON
from graphrag_rdf.server.service import COMMIT, Service, service_of

if TYPE_CHECKING:
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.schedule import Stop

_FILES = 1000
_LONGEST = 1000
"""Files of a request, letters of a name."""
_LOOK = 0.5


async def upload(request: Request) -> Response:
    """Ingest the files of a form; the report as `ingest --format json`, as a page, or as events.

    A file's name, folders and all, is the document's identity. Who hangs up stops the run after the chunk in
    hand; what was done is kept, and sending the same again goes on.
    """
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    run = _Run(request, await _files(request))
    if wants_events(request):
        return StreamingResponse(run.lines(), media_type=EVENTS, headers={"Cache-Control": "no-store"})
    report, headers = await run.report(), _headers(service)
    choice = negotiate(request.headers.get("accept"), (JSON, HTML))
    if choice is not None and choice.format is HTML:
        return Response(report_page(request, service, report), headers=headers, media_type=HTML.content_type)
    return JSONResponse(report, headers=headers)


async def forget(request: Request) -> Response:
    """Forget a document, as `forget --format json`; `id` is an IRI or the end of one of ours.

    An ingest that is under way ends first: between two chunks of a document it would leave the rest behind.
    """
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    name: str = request.path_params["id"]
    iri = name if ":" in name else f"{PROVENANCE_BASE}doc/{name}"

    def work() -> Forgotten:
        engine = service.engine
        known = engine.store.select("provenance/find-document", name=iri)
        if not known and not is_unfinished(engine.store):
            raise Problem(404, f"there is no document {iri}")
        with engine.keeping_indexes():
            return forget_named(engine, [iri])

    found = await service.writes.run(work, long=True)
    if not await service.queries.without_former():
        found.warn("not_purged", "a query still reads the old database: its files go when that ends")
    service.wrote(request, service.engine.store.commit_number())
    return JSONResponse(found.as_json(), headers=_headers(service))


class _Run:
    """An ingest of what was sent, heard from a route; who does not listen to its end stops it."""

    def __init__(self, request: Request, uploads: list[Upload]) -> None:
        self._request = request
        self._service = service_of(request)
        self._uploads = uploads
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def _start(self) -> asyncio.Future[IngestReport]:
        return asyncio.ensure_future(run_ingest(self._service, self._work))

    def _work(self, stop: Stop) -> IngestReport:
        engine = self._service.engine
        report = engine.ingest_uploads(self._uploads, progress=self._tell, stop=stop)
        self._service.wrote(self._request, engine.store.commit_number())
        return report

    def _tell(self, done: int, total: int, path: str) -> None:
        news = {"done": done, "total": max(done, total), "path": path}
        self._loop.call_soon_threadsafe(self._news.put_nowait, news)

    async def report(self) -> dict[str, Any]:
        """The report at the end.

        Raises:
            Problem: when the client left.
            GraphRagError: of the run.
        """
        done = self._start()
        try:
            while not (await asyncio.wait([done], timeout=_LOOK))[0]:
                if await self._request.is_disconnected():
                    raise Problem(CLIENT_LEFT, "the client left")
            return (await done).as_json()
        finally:
            done.cancel()

    async def lines(self) -> AsyncIterator[str]:
        """Its progress and its report as server-sent events."""
        done: asyncio.Future[Any] = self._start()
        heard: asyncio.Future[Any] = asyncio.ensure_future(self._news.get())
        try:
            while True:
                await asyncio.wait([done, heard], timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
                if heard.done():
                    news, heard = heard.result(), asyncio.ensure_future(self._news.get())
                    yield event("progress", news)
                elif done.done():
                    break
                else:
                    yield ALIVE
            yield event("report", (await done).as_json())
        except (GraphRagError, Problem) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            yield event("error", problem.document())
        finally:
            done.cancel()
            heard.cancel()


def _headers(service: Service) -> dict[str, str]:
    return {COMMIT: str(service.engine.store.commit_number()), "Cache-Control": "no-store", "Vary": "Accept"}


# --- what was sent -----------------------------------------------------------------------------------


async def _files(request: Request) -> list[Upload]:
    if content_type(request.headers.get("content-type"))[0] != "multipart/form-data":
        raise Problem(
            415, "documents are sent as multipart/form-data", headers={"Accept-Post": "multipart/form-data"}
        )
    body = await read_body(request, service_of(request).settings.max_body_mb << 20)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    found: dict[str, Upload] = {}
    try:
        form = await MultiPartParser(request.headers, stream(), max_files=_FILES, max_fields=0).parse()
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise Problem(400, f"the form cannot be read: {error}") from None
    for _, value in form.multi_items():
        assert isinstance(value, UploadFile)  # noqa: S101 - other fields are refused by the parser
        identity = identity_of(value.filename or "")
        if identity in found:
            raise Problem(400, f"two files are called {identity}")
        found[identity] = Upload(identity, await value.read())
    await form.close()
    if not found:
        raise Problem(400, "the form holds no file")
    return list(found.values())


def identity_of(name: str) -> str:
    """The identity of a document from the name that a client gives it.

    Raises:
        Problem: 400 for a name that is none, or leads out of its folder.
    """
    identity = unicodedata.normalize("NFC", name.replace("\\", "/"))
    parts = identity.split("/")
    if (
        not identity
        or len(identity) > _LONGEST
        or any(part in ("", ".", "..") for part in parts)
        or any(unicodedata.category(letter).startswith("C") for letter in identity)
    ):
        raise Problem(400, f"a document cannot be called {name[:80]!r}", hint="e.g. reports/2024.pdf")
    return identity
