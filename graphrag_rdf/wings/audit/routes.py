"""`/traces/{id}/replay`, `/traces/{id}/ask-without` and `/traces/{id}/pack`.

The first two ask on a copy: a snapshot next to the store, made between two writes, one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import read_json
from graphrag_rdf.server.representations import parameter, session_named
from graphrag_rdf.server.routes.ask import allowed_to_ask
from graphrag_rdf.server.routing import Route
from graphrag_rdf.server.service import Service, client_of, service_of
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.wings.audit.replay import Replay, Without, Write, ask_without, replay

_BODY = 1 << 16
_Name = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class ReplayRequest(BaseModel):
    """The body of a replay: empty, as all is in the trace."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WithoutRequest(BaseModel):
    """What to leave out.

    Attributes:
        facts: each three terms or labels.
        documents: by IRI, identity or title.
        sources: chunks by IRI; imported files and corrections by name.
        with_sentences: also the sentences of the facts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    facts: Annotated[list[tuple[_Name, _Name, _Name]], Field(max_length=50)] = []
    documents: Annotated[list[_Name], Field(max_length=50)] = []
    sources: Annotated[list[_Name], Field(max_length=50)] = []
    with_sentences: bool = False


async def replayed(request: Request) -> Response:
    """Ask again, as `trace replay --format json`."""
    service = allowed_to_ask(request)
    await read_json(request, ReplayRequest, _BODY)
    return await _again(request, service, lambda name, alone: replay(service.engine, name, alone=alone))


async def asked_without(request: Request) -> Response:
    """Ask as if something were not there, as `trace ask-without --format json`."""
    service = allowed_to_ask(request)
    asked = await read_json(request, WithoutRequest, _BODY)
    what = asked.model_dump()
    return await _again(
        request, service, lambda name, alone: ask_without(service.engine, name, **what, alone=alone)
    )


async def _again(
    request: Request, service: Service, work: Callable[[str, Write], Replay | Without]
) -> Response:
    service.require_writable()  # a copy is made next to the store
    if service.remote is not None:
        raise Problem(
            501,
            tr("the store is remote: the server makes no copy of it"),
            hint=tr(
                "run graphrag-rdf --store URL trace replay (or ask-without), with the URL of the store's "
                "endpoint"
            ),
        )
    loop = asyncio.get_running_loop()

    def alone(copy: Callable[[], object]) -> None:
        def copied() -> None:
            with service.engine.keeping_indexes():
                copy()

        asyncio.run_coroutine_threadsafe(service.writes.run(copied), loop).result()

    def again() -> dict[str, Any]:
        outcome: dict[str, Any] = to_json(work(_trace(service, request.path_params["id"]), alone))
        return outcome

    with service.concurrency.slot(client_of(request)):
        async with service.copies:
            outcome = await service.runs.call(again)
    return JSONResponse(outcome, headers={"Cache-Control": "no-store"})


async def packed(request: Request) -> Response:
    """The answer with all that proves it, as `trace export --pack`; the server signs nothing."""
    from graphrag_rdf.wings.audit.pack import pack_of  # imports rdflib

    require(request, "read")
    service = service_of(request)
    engine, documents = service.engine, parameter(request, "documents") in ("1", "true")

    def pack() -> tuple[str, bytes]:
        session = session_named(service, request.path_params["id"])
        draw = service.page_images.page
        proof, _ = pack_of(engine, session, draw, with_documents=documents)
        return session.value.rpartition(":")[2], proof.to_zip()

    with service.concurrency.slot(client_of(request)):
        run, data = await service.runs.call(pack)
    headers = {"Content-Disposition": f'attachment; filename="answer-{run}.zip"', "Cache-Control": "no-store"}
    return Response(data, media_type="application/zip", headers=headers)


def _trace(service: Service, name: str) -> str:
    """The session of a trace.

    Raises:
        Problem: 404 when there is none; 409 when it used a model other than the server's, which clients
            cannot choose.
    """
    engine = service.engine
    session = session_named(service, name).value
    model = read_trace(engine.store, session, engine.blobs).model
    if model not in (None, engine.settings.llm.model):
        raise Problem(
            409,
            tr("the trace was made with the model {model}, and this server has another").format(model=model),
            hint=tr("serve with that model, or on the server's computer, run: graphrag-rdf trace replay"),
        )
    return session


ROUTES = (
    Route("/traces/{id}/replay", "POST", replayed, "Ask its question again.", takes=ReplayRequest),
    Route(
        "/traces/{id}/pack",
        "GET",
        packed,
        "The answer with all that proves it.",
        parameters="documents",
        gives=("application/zip",),
    ),
    Route("/traces/{id}/ask-without", "POST", asked_without, "Ask without.", takes=WithoutRequest),
)
