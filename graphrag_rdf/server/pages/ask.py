"""`/ask`: the page and its form."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response

from graphrag_rdf.config import Role
from graphrag_rdf.prepare import MAX_QUESTION
from graphrag_rdf.server.http.access import ROLES, Access, require
from graphrag_rdf.server.http.parameters import is_form, read_form
from graphrag_rdf.server.http.questions import AskRequest, read_request
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.representations import HTML, parameter, session_named
from graphrag_rdf.server.routes import ask as protocol
from graphrag_rdf.server.service import Service, service_of
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.documents import Source

_SUGGESTED = 3
"""Suggested questions, if the box is ticked."""


async def ask_page(request: Request) -> Response:
    """The page; with JavaScript it shows the steps live."""
    require(request, "read")
    session, question = parameter(request, "session"), parameter(request, "question") or ""
    return await asyncio.to_thread(_page, request, question=question[:MAX_QUESTION], session=session)


async def submit(request: Request) -> Response:
    """A form redirects to the trace of its answer; other requests are for programs."""
    if not is_form(request):
        return await protocol.ask(request)
    form = await read_form(request)
    question, session = (form.one("question") or "").strip(), form.one("session") or None
    suggestions = _SUGGESTED if form.one("suggest") else None
    asked = read_request(AskRequest, {"question": question, "session": session, "suggestions": suggestions})
    answer = await protocol.answer_of(request, asked)
    if any(warning["type"] == "trace_not_stored" for warning in answer["warnings"]):
        return _page(request, question=question, answer=answer)
    run = answer["question_iri"].rpartition(":")[2]
    return RedirectResponse(f"/traces/{run}", 303, {"Cache-Control": "no-store"})


def needs_token(connection: HTTPConnection) -> bool:
    """Whether asking needs a token."""
    return lacks(connection, protocol.role_to_ask(service_of(connection), known=False))


def lacks(connection: HTTPConnection, needed: Role) -> bool:
    """Whether a role needs a token."""
    access: Access = connection.app.state.access
    return ROLES.index(access.anonymous) < ROLES.index(needed)


def _page(
    request: Request, question: str = "", answer: dict[str, Any] | None = None, session: str | None = None
) -> Response:
    service = service_of(request)
    page = render(
        "ask",
        "/ask",
        token=needs_token(request),
        model=service.engine.settings.llm.model,
        kept=not service.read_only,
        documents=service.counter.things()["documents"],
        question=question,
        answer=answer,
        quotes=_quotes(service, answer) if answer else [],
        earlier=_earlier(service, session) if session else None,
    )
    return Response(page, headers={"Content-Type": HTML.content_type, "Cache-Control": "no-store"})


def _quotes(service: Service, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The citations of an answer, or the closest quotes: marker, text, name and address of the document."""
    links = links_of(service)
    first: dict[str, dict[str, Any]] = {}
    for one in answer["citations"]:
        first.setdefault(one["marker"], one)
    cited = [(marker, one.get("edge"), source) for marker, one in first.items() for source in one["sources"]]
    found = cited or [("", None, source) for source in answer["closest"]]
    names = ("document", "title", "uri", "chunk", "char_offset", "char_length", "verified")
    return [
        {
            "marker": marker,
            "quote": source["quote"],
            "stated": edge and " ".join(edge[f"{name}_label"] for name in "spo"),
            "name": source["name"],
            "address": links.source(Source(**{name: source[name] for name in names}), None),
        }
        for marker, edge, source in found
    ]


def _earlier(service: Service, name: str) -> dict[str, str]:
    """The earlier question that is continued, and its run.

    Raises:
        Problem: 404 when there is no such trace.
    """
    session = session_named(service, name)
    (row,) = service.engine.store.select("trace/session", session=session)
    return {"question": rows.text(row, "question") or "", "run": session.value.rpartition(":")[2]}
