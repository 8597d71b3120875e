"""The short way for look-ups: past routing, forms and compression, since those take longer than the look-up.

What it leaves to the long way it has not touched: the body is handed on as it came.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_rdf.server.access import ROLES
from graphrag_rdf.server.answers import evaluate_whole
from graphrag_rdf.server.caching import standard, validators
from graphrag_rdf.server.evaluate import Job, QueryFailed, Wanted
from graphrag_rdf.server.formats import GRAPHS, RESULTS
from graphrag_rdf.server.inspect import Inspected, inspect_query
from graphrag_rdf.server.lookup import MOST
from graphrag_rdf.server.negotiation import Choice, negotiate
from graphrag_rdf.server.problems import Problem
from graphrag_rdf.server.service import MIN_COMMIT, Service

_PATHS = ("/sparql", "/query")
_TYPES = (b"application/sparql-query", b"application/sparql-query; charset=utf-8")
_LONG_WAY = frozenset(
    {b"content-encoding", b"if-none-match", b"if-modified-since", b"expect", MIN_COMMIT.lower().encode()}
)
"""Headers that the long way knows how to honour."""

_LONGEST = 4096
"""Bytes of a query that may be a look-up."""

_READ = ROLES.index("read")


class Lane:
    """ASGI middleware, behind the guard."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or scope["path"] not in _PATHS:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        text: str | None = None
        if _LONG_WAY.isdisjoint(headers) and ROLES.index(scope["state"]["role"]) >= _READ:
            if scope["method"] == "GET":
                text = _of_url(scope["query_string"])
            elif (
                scope["method"] == "POST"
                and not scope["query_string"]
                and headers.get(b"content-type") in _TYPES
            ):
                first = await receive()
                text = _of_body(first)
                receive = _again(first, receive)
        found = self._look_up(text, headers) if text is not None else None
        if found is None:
            await self._app(scope, receive, send)
            return
        fields, data = found
        raw = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        raw.append((b"content-length", b"%d" % len(data)))
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        await send({"type": "http.response.body", "body": data})

    def _look_up(self, text: str, headers: dict[bytes, bytes]) -> tuple[dict[str, str], bytes] | None:
        service = self._service
        try:
            looked_at = inspect_query(text, service.settings.allow_service)
            if looked_at.lookup is None:
                return None
            accept = headers.get(b"accept")
            results, _ = forms_for(accept.decode("latin-1") if accept is not None else None)
            return look_up(service, Job(text=text, masked=looked_at.masked, results=results), looked_at)
        except Problem:
            return None  # the long way tells it


def look_up(service: Service, job: Job, looked_at: Inspected) -> tuple[dict[str, str], bytes] | None:
    """(headers, body) of the answer to a look-up; None when it is none, or turns out long.

    Raises:
        Problem: when the query is malformed, or the client takes no format of ours.
    """
    lookup = looked_at.lookup
    if lookup is None or job.default_graphs is not None or job.union or job.masked is not None:
        return None
    store = service.store
    if not lookup.is_small(store.engine):
        return None
    if lookup.limit is None:
        job = replace(job, text=f"{job.text}\nLIMIT {MOST + 1}", max_rows=MOST)
    commit = store.commit_number()
    try:
        content_type, data = evaluate_whole(store.engine, job)
    except QueryFailed as failure:
        if failure.status == 503:
            return None
        raise Problem(failure.status, failure.detail) from None
    headers = {**standard(commit), **validators(service, commit, content_type)}
    return {**headers, "Content-Type": content_type}, data


@lru_cache(maxsize=512)
def forms_for(accept: str | None) -> tuple[Wanted | None, Wanted | None]:
    """The forms for solutions and for graphs that an Accept header asks for."""
    return _wanted(negotiate(accept, RESULTS)), _wanted(negotiate(accept, GRAPHS))


def _wanted(choice: Choice | None) -> Wanted | None:
    if choice is None:
        return None
    return Wanted(choice.format.media_type, choice.content_type, choice.triple_terms)


def _of_url(raw: bytes) -> str | None:
    """The query of a URL that has nothing else."""
    if not raw.startswith(b"query=") or b"&" in raw or len(raw) > _LONGEST:
        return None
    try:
        return unquote_plus(raw[6:].decode("ascii"), errors="strict")
    except UnicodeDecodeError:
        return None


def _of_body(message: Message) -> str | None:
    body: bytes = message.get("body", b"")
    if message["type"] != "http.request" or message.get("more_body", False) or not 0 < len(body) <= _LONGEST:
        return None
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _again(first: Message, receive: Receive) -> Receive:
    """Receive a message once more."""
    waiting: list[Any] = [first]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
