"""`/traces/{id}`: how an answer was made, and marks of it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pyoxigraph import NamedNode
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.prepare import MAX_QUESTION
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import Parameters, is_form, read_form
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import read_json, read_request
from graphrag_rdf.server.representations import Forms, listed, parameter, represent, session_named
from graphrag_rdf.server.routes.conversation import page
from graphrag_rdf.server.service import COMMIT, Service, service_of
from graphrag_rdf.trace.feedback import add_mark, read_marks, take_back
from graphrag_rdf.trace.reader import read_trace, trace_quads
from graphrag_rdf.trace.text import render_trace

_COLUMNS = 80


async def trace(request: Request) -> Response:
    """One trace, as `trace show` has it, a page, or RDF with its sources; `id` is an IRI or a UUID."""
    name = request.path_params["id"]
    question = (parameter(request, "question") or "")[:MAX_QUESTION]

    def forms(service: Service) -> Forms:
        engine = service.engine
        session = session_named(service, name)
        return Forms(
            json=lambda: to_json(read_trace(engine.store, session, engine.blobs)),
            rdf=lambda: trace_quads(engine.store, session),
            html=lambda: page(service, request, session, question),
            text=lambda: render_trace(
                read_trace(engine.store, session, engine.blobs), width=_COLUMNS, colour=False
            ),
        )

    return await represent(request, forms)


# --- marks ---------------------------------------------------------------------------------------------

_BODY = 1 << 14
_PLACE = Annotated[int, Field(ge=1, le=100_000)]


class FeedbackRequest(BaseModel):
    """The body of a mark.

    Attributes:
        rating: none removes the mark.
        citation: the number of a marker in the answer, to mark what it cites.
        edge: the rank of a selected fact or sentence, to mark that. Without either the answer is marked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rating: Literal["helpful", "wrong", "none"]
    citation: _PLACE | None = None
    edge: _PLACE | None = None
    note: Annotated[str, StringConstraints(max_length=4000)] | None = None
    by: Annotated[str, StringConstraints(max_length=200)] | None = None


async def marks(request: Request) -> Response:
    """The marks of a trace."""
    require(request, "read")
    service = service_of(request)

    def read() -> list[dict[str, Any]]:
        session = session_named(service, request.path_params["id"])
        return [to_json(mark) for mark in read_marks(service.engine.store, session)]

    return JSONResponse(listed(await asyncio.to_thread(read)), headers={"Cache-Control": "no-store"})


async def mark(request: Request) -> Response:
    """Mark an answer or its evidence, as `feedback --format json`; a form redirects to the trace."""
    form = is_form(request)
    if form:
        asked = read_request(FeedbackRequest, _fields(await read_form(request)))
    require(request, "write")
    if not form:
        asked = await read_json(request, FeedbackRequest, _BODY)
    service = service_of(request)
    service.require_writable()
    done: dict[str, Any] = {}

    def write() -> int:
        session = session_named(service, request.path_params["id"])
        done.update(_marked(service, session, asked), session=session.value)
        return service.engine.store.commit_number()

    commit = await service.writes.run(write)
    service.wrote(request, commit)
    headers = {COMMIT: str(commit), "Cache-Control": "no-store"}
    run = done.pop("session").rpartition(":")[2]
    return (
        RedirectResponse(f"/traces/{run}#marks", 303, headers)
        if form
        else JSONResponse(done, headers=headers)
    )


def _marked(service: Service, session: NamedNode, asked: FeedbackRequest) -> dict[str, Any]:
    store = service.engine.store
    where: dict[str, Any] = {"citation": asked.citation, "edge": asked.edge, "by": asked.by or None}
    if asked.rating == "none":
        return {"taken_back": take_back(store, session, **where)}
    graph = store.renderer.trace_graph
    marked: dict[str, Any] = to_json(
        add_mark(store, session, asked.rating, note=asked.note or None, graph=graph, **where)
    )
    return marked


def _fields(form: Parameters) -> dict[str, Any]:
    """The fields of the form: `about` is `answer`, `citation-N` or `edge-N`."""
    kind, _, number = (form.one("about") or "answer").partition("-")
    place = {kind: number} if number else {}
    if kind not in ("answer", "citation", "edge") or bool(number) != (kind != "answer"):
        raise Problem(422, tr("about: answer, citation-N or edge-N"))
    return {"rating": form.one("rating"), "note": form.one("note"), "by": form.one("by"), **place}
