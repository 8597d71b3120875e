"""The paths of OpenAI's API that clients and chat programs use."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.live_settings import pipeline_folders
from graphrag_rdf.pipeline import Pipeline, all_pipelines, pipeline_names
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import AskRequest, read_json, read_request
from graphrag_rdf.server.routes.ask import allowed_to_ask, answer_of, seen, stream
from graphrag_rdf.server.routing import STREAM, Route
from graphrag_rdf.server.service import Service, service_of, site_of
from graphrag_rdf.wings.openai.completions import Completion, error_object
from graphrag_rdf.wings.openai.conversation import ChatRequest

_BODY = 4 << 20
"""Bytes of a conversation."""
_FIRST = "graph_rag"
"""The pipeline that is listed first: chat programs choose the first model."""


async def models(request: Request) -> Response:
    """The pipelines that this server can run, as models."""
    require(request, "read")
    service = service_of(request)
    pipelines = await asyncio.to_thread(_usable, service)
    return JSONResponse({"object": "list", "data": [_model(service, pipeline) for pipeline in pipelines]})


def _usable(service: Service) -> list[Pipeline]:
    settings = service.engine.settings
    pipelines = all_pipelines(pipeline_folders(settings))
    if settings.llm.model is None:
        pipelines = [pipeline for pipeline in pipelines if not pipeline.needs_model]
    return sorted(pipelines, key=lambda pipeline: pipeline.definition.name != _FIRST)


def _model(service: Service, pipeline: Pipeline) -> dict[str, Any]:
    definition = pipeline.definition
    return {
        "id": definition.name,
        "object": "model",
        "created": int(service.started),
        "owned_by": "graphrag-rdf",
        "description": tr(definition.summary),
    }


async def chat_completions(request: Request) -> Response:
    """Answer the last question of a conversation."""
    service = allowed_to_ask(request)
    chat = await read_json(request, ChatRequest, _BODY)
    await asyncio.to_thread(_require_pipeline, service, chat.model)
    question = chat.question()
    session = await asyncio.to_thread(chat.session, service.engine)
    asked = read_request(AskRequest, {"question": question, "pipeline": chat.model, "session": session})
    site = service.settings.public_url or site_of(request)
    completion = Completion(service, site, asked.pipeline)
    if chat.stream:
        with_usage = chat.stream_options is not None and chat.stream_options.include_usage
        return await stream(request, asked, partial(completion.chunks, with_usage=with_usage))
    answer = await answer_of(request, asked)
    seen(request)
    return JSONResponse(completion.whole(answer), headers={"Cache-Control": "no-store"})


def _require_pipeline(service: Service, name: str) -> None:
    if name not in pipeline_names(pipeline_folders(service.engine.settings)):
        raise Problem(
            404,
            tr("there is no pipeline named {name!r}").format(name=name),
            hint=tr("GET /v1/models lists them"),
            code="model_not_found",
        )


def _error(problem: Problem) -> Response:
    return JSONResponse(error_object(problem), problem.status, problem.headers)


ROUTES = (
    Route("/v1/models", "GET", models, "Pipelines, as models of OpenAI's API.", error_form=_error),
    Route(
        "/v1/chat/completions",
        "POST",
        chat_completions,
        "Answer the last question of a conversation, as OpenAI's API.",
        takes=ChatRequest,
        gives=STREAM,
        error_form=_error,
    ),
)
