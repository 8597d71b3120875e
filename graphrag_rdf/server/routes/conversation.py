"""The page of a conversation: questions and answers, the evidence of the newest one, and a form to go on.

`/` begins one, the page of a trace shows one. Forms of POST `/ask` are redirected to the page of their trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pyoxigraph import NamedNode
from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.live_settings import pipeline_folders
from graphrag_rdf.pipeline import all_pipelines
from graphrag_rdf.pipeline.definition import PipelineDefinition
from graphrag_rdf.prepare import MAX_QUESTION
from graphrag_rdf.server.http.access import Access, may, require
from graphrag_rdf.server.http.body import is_form, read_form
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.http.questions import AskRequest, read_request
from graphrag_rdf.server.pages.links import Links, run_call
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML, Forms, parameter, represent, session_named
from graphrag_rdf.server.routes.ask import answer_of, ask, role_to_ask
from graphrag_rdf.server.routes.documents import upload_area
from graphrag_rdf.server.service import Service, service_of
from graphrag_rdf.steps.suggest import opening_questions
from graphrag_rdf.trace.catalogue import count_outcomes
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.messages import (
    SOURCES_SHOWN,
    CitedSource,
    passage_pieces,
    passage_place,
    sources_by_marker,
)
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.page import TraceView, anchor_of, trace_view
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.wing import wings

_SUGGESTED = 3
"""Suggested questions, if the box is ticked."""

_NEWEST, _HISTORY, _EARLIER, _QUESTIONS = 200, 20, 5, 4
"""Runs that the list of conversations looks at, conversations in it, earlier questions of one, questions for
a store of which nothing was asked."""


async def home(request: Request) -> Response:
    """The page; as JSON, the counts. For the token of the link that `serve` prints, a cookie.

    Raises:
        Problem: 403 for a token that is not valid, or no longer.
    """
    if (token := parameter(request, "token")) is not None:
        return _welcome(request, token)
    question = (parameter(request, "question") or "")[:MAX_QUESTION]

    def forms(service: Service) -> Forms:
        counts = service.counter.things()
        return Forms(
            json=lambda: {"counts": counts, "outcomes": count_outcomes(service.engine.store)},
            html=lambda: page(service, request, question=question),
        )

    return await represent(request, forms)


async def ask_page(request: Request) -> Response:
    """To the page where the question can be asked."""
    require(request, "read")
    asked = urlencode({"question": question} if (question := parameter(request, "question")) else {})
    session = parameter(request, "session")
    path = "/"
    if session:
        trace = await asyncio.to_thread(session_named, service_of(request), session)
        path = links_of(service_of(request))(trace.value)
    return RedirectResponse(f"{path}?{asked}#ask" if asked else f"{path}#ask", 303, {"Vary": "Accept"})


async def submit(request: Request) -> Response:
    """A form redirects to the trace of its answer; other requests are for programs."""
    if not is_form(request):
        return await ask(request)
    form = await read_form(request)
    asked = read_request(
        AskRequest,
        {
            "question": (form.one("question") or "").strip(),
            "session": form.one("session") or None,
            "suggestions": _SUGGESTED if form.one("suggest") else None,
            **({"pipeline": pipeline} if (pipeline := form.one("pipeline")) else {}),
        },
    )
    answer = await answer_of(request, asked)
    if any(warning["type"] == "trace_not_stored" for warning in answer["warnings"]):
        text = await asyncio.to_thread(
            page, service_of(request), request, question=asked.question, answer=answer
        )
        return Response(text, headers={"Content-Type": HTML.content_type, "Cache-Control": "no-store"})
    run = answer["question_iri"].rpartition(":")[2]
    return RedirectResponse(f"/traces/{run}", 303, {"Cache-Control": "no-store"})


def _welcome(request: Request, token: str) -> Response:
    access: Access = request.app.state.access
    cookie = access.browsers.exchange(token) if access.browsers and request.method == "GET" else None
    if access.browsers is None or cookie is None:
        raise Problem(
            403, tr("this link was used already"), hint=tr("open the link that the terminal shows now")
        )
    response = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
    response.set_cookie(access.browsers.cookie, cookie, httponly=True, samesite="strict")
    return response


def page(
    service: Service,
    connection: HTTPConnection,
    session: NamedNode | None = None,
    question: str = "",
    answer: dict[str, Any] | None = None,
) -> str:
    """The page.

    Args:
        session: the trace of the newest question; without one the page begins a conversation.
        question: text in the form; with an answer, the question that it answers.
        answer: one of which nothing was stored.
    """
    store = service.engine.store
    links = links_of(service, session.value.rpartition(":")[2] if session is not None else "")
    trace = read_trace(store, session, service.engine.blobs) if session is not None else None
    settings = service.engine.settings
    values: dict[str, Any] = {
        "href": links,
        "conversations": [
            {
                "address": links(row["session"].value),
                "session": row["session"].value,
                "question": row["question"],
            }
            for row in store.select("trace/conversations", newest=_NEWEST, limit=_HISTORY)
        ],
        "earlier": _earlier(service, trace) if trace else [],
        "trace": None,
        "answer": answer,
        "question": question,
        "run_name": "",
        "pipelines": _pipelines(tuple(pipeline_folders(settings))),
        "pipeline": (trace and trace.kind) or "graph_rag",
        "model": settings.llm.model,
        "stored": not service.read_only,
        "token": not may(connection, role_to_ask(service, identified=False)),
        "marking_token": not may(connection, "write"),
        "packs": any(wing.packs for wing in wings()),
    }
    if trace is not None:
        view = trace_view(store, trace, links)
        values |= _values(service, trace, view, links)
    elif answer is None:
        counts = service.counter.things()
        fresh = counts["documents"] and not counts["traces"]
        values |= {
            "counts": counts,
            "unanswered": count_outcomes(store).get("unanswered", 0),
            "questions": opening_questions(store, _QUESTIONS) if fresh else [],
            "upload": upload_area(connection, service),
        }
    else:
        values |= {
            "quotes": quotes_of(links, answer),
            "passage_place": passage_place,
            "passage_pieces": passage_pieces,
        }
    return render("conversation", "/" if trace is None else "", **values)


@cache
def _pipelines(folders: tuple[Path, ...]) -> list[PipelineDefinition]:
    """The pipelines to choose from; one that is added later needs a restart to be listed."""
    return [pipeline.definition for pipeline in all_pipelines(folders)]


def _values(service: Service, trace: Trace, view: TraceView, links: Links) -> dict[str, Any]:
    """What the parts of a trace need."""
    back = links(trace.continues) if trace.continues else "/"
    return {
        "trace": trace,
        "view": view,
        "anchor": anchor_of,
        "run": run_call,
        "place": links.source,
        "chunk_at": links.chunk,
        "why": links.fact,
        "run_name": trace.iri.rpartition(":")[2],
        "marking": not service.read_only and trace.answer is not None,
        "again": f"{back}?{urlencode({'question': trace.question})}#ask",
        "markdown": _markdown(trace, view),
    }


def _earlier(service: Service, trace: Trace) -> list[Trace]:
    """The earlier questions of the conversation, the first one first."""
    store, blobs = service.engine.store, service.engine.blobs
    rows = store.select("trace/conversation", session=NamedNode(trace.iri), limit=_EARLIER + 1)
    earlier = [row["session"] for row in rows if row["session"] != NamedNode(trace.iri)]
    return [read_trace(store, session, blobs) for session in reversed(earlier)]


def _markdown(trace: Trace, view: TraceView) -> str:
    """The question, the answer, and a line for each source that it cites, to copy."""
    lines = [f"**{trace.question}**", "", trace.answer or ""]
    for evidence in view.evidence:
        for source in dict.fromkeys(source for _, sources in evidence.shown for source in sources):
            at = tr(", page {number}").format(number=source.page_number) if source.page_number else ""
            quoted = f"“{source.quote}” — " if source.quote else ""
            lines += ["", f"{trace.citation(evidence.marker)} {quoted}{source.name}{at}"]
    return "\n".join(lines)


def quotes_of(links: Links, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The sources of each marker, the first ones `shown` and the others as `more`. Of each: text, name and
    page number of the document, and the path of its place on this server.
    """
    names = ("document", "title", "uri", "chunk", "char_offset", "char_length", "verified")

    def quotes(cited: Iterable[CitedSource]) -> list[dict[str, Any]]:
        return [
            {
                "quote": source["quote"],
                "stated": edge and " ".join(edge[f"{name}_label"] for name in "spo"),
                "name": source["name"],
                "page_number": source["page_number"],
                "address": links.source(Source(**{name: source[name] for name in names}), None),
            }
            for edge, source in cited
        ]

    return [
        {"marker": marker, "shown": quotes(own[:SOURCES_SHOWN]), "more": quotes(own[SOURCES_SHOWN:])}
        for marker, own in sources_by_marker(answer).items()
    ]
