"""The short way for look-ups: the connection asks it before there is a task, a cycle or a middleware for a
request, since those take longer than the look-up.

It answers what is plainly one, and leaves everything else, errors too, to the long way, which looks at the
request from its beginning.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import lru_cache
from urllib.parse import unquote_plus

import pyoxigraph as ox
from starlette.types import Scope

from graphrag_rdf.server.access import ROLES
from graphrag_rdf.server.answers import evaluate_whole
from graphrag_rdf.server.caching import standard, validators
from graphrag_rdf.server.envelope import headers_of_caution, identifier_of, log_request
from graphrag_rdf.server.evaluate import Job, QueryFailed, Wanted
from graphrag_rdf.server.formats import GRAPHS, RESULTS
from graphrag_rdf.server.guard import Gate
from graphrag_rdf.server.lookup import MOST, Lookup, lookup_of
from graphrag_rdf.server.metrics import Metrics
from graphrag_rdf.server.negotiation import Choice, negotiate
from graphrag_rdf.server.problems import Problem
from graphrag_rdf.server.service import MIN_COMMIT, Service

log = logging.getLogger(__name__)

_PATHS = frozenset({"/sparql", "/query"})
_TYPES = frozenset({b"application/sparql-query", b"application/sparql-query; charset=utf-8"})
_LONG_WAY = frozenset(
    {
        *(b"content-encoding", b"if-none-match", b"if-modified-since", b"expect", b"origin", b"upgrade"),
        MIN_COMMIT.lower().encode(),
    }
)
"""Headers that the long way knows how to honour."""

_JSON = RESULTS[0].media_type
_LONGEST = 4096
"""Bytes of a query that may be a look-up."""

_READ = ROLES.index("read")


class Lane:
    """Answers look-ups, as whole HTTP/1.1 responses.

    Args:
        gate: that every request passes.
    """

    def __init__(self, service: Service, gate: Gate, metrics: Metrics) -> None:
        self._service = service
        self._gate = gate
        self._metrics = metrics
        caution = headers_of_caution(cross_origin=bool(service.settings.cors))
        self._fixed = b"".join(b"%b: %b\r\n" % header for header in caution)

    def answer(self, scope: Scope, body: bytes, more: bytes) -> bytes | None:
        """A response; None for what is to go the long way.

        Args:
            scope: of the request, as ASGI has it.
            body: of the request, whole.
            more: header lines that the response has besides.
        """
        if scope["path"] not in _PATHS or scope["http_version"] != "1.1":
            return None
        start = time.perf_counter()
        headers = dict(scope["headers"])
        text = _text(scope, headers, body) if _LONG_WAY.isdisjoint(headers) else None
        if text is None:
            return None
        try:
            found = self._look_up(scope, text, headers.get(b"accept"))
        except (Problem, QueryFailed, SyntaxError, ValueError, KeyError):
            return None  # the long way tells it
        except Exception:  # whatever it is, a connection is not to die of it
            log.exception("a look-up failed")
            return None
        if found is None:
            return None
        head, data = found
        identifier = identifier_of(headers.get(b"x-request-id", b""))
        seconds = time.perf_counter() - start
        self._metrics.observe(scope["path"], scope["method"], 200, seconds)
        log_request(identifier, scope, 200, len(data), seconds, "")
        return b"HTTP/1.1 200 OK\r\n%b%b%bx-request-id: %b\r\ncontent-length: %d\r\n\r\n%b" % (
            more,
            head,
            self._fixed,
            identifier,
            len(data),
            data,
        )

    def _look_up(self, scope: Scope, text: str, accept: bytes | None) -> tuple[bytes, bytes] | None:
        lookup = lookup_of(text)
        if lookup is None:
            return None
        wanted, _ = forms_for(accept.decode("latin-1") if accept is not None else None)
        if wanted is None:
            return None
        self._gate.check(scope)
        if ROLES.index(scope["state"]["role"]) < _READ:
            return None
        if lookup.limit is None or wanted.media_type != _JSON or not wanted.triple_terms:
            found = look_up(self._service, Job(text=text, results=wanted), lookup)
            return None if found is None else (_lines(found[0]), found[1])
        store = self._service.store
        if not lookup.is_small(store.engine):
            return None
        commit = store.commit_number()
        solutions = store.engine.query(text)
        assert isinstance(solutions, ox.QuerySolutions | ox.QueryBoolean)  # noqa: S101 - the shape says so
        data = solutions.serialize(format=ox.QueryResultsFormat.JSON)
        return _lines(_headers(self._service, commit, wanted.content_type)), data or b""


def look_up(service: Service, job: Job, lookup: Lookup | None) -> tuple[dict[str, str], bytes] | None:
    """(headers, body) of the answer to a look-up; None when it is none, or turns out long.

    Raises:
        Problem: when the query is malformed, or the client takes no format of ours.
    """
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
    return _headers(service, commit, content_type), data


def _headers(service: Service, commit: int, content_type: str) -> dict[str, str]:
    return {
        **standard(commit),
        **validators(service, commit, content_type),
        "Content-Type": content_type,
    }


def _lines(headers: dict[str, str]) -> bytes:
    return "".join([f"{name.lower()}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")


@lru_cache(maxsize=512)
def forms_for(accept: str | None) -> tuple[Wanted | None, Wanted | None]:
    """The forms for solutions and for graphs that an Accept header asks for."""
    return _wanted(negotiate(accept, RESULTS)), _wanted(negotiate(accept, GRAPHS))


def _wanted(choice: Choice | None) -> Wanted | None:
    if choice is None:
        return None
    return Wanted(choice.format.media_type, choice.content_type, choice.triple_terms)


def _text(scope: Scope, headers: dict[bytes, bytes], body: bytes) -> str | None:
    """The query of a request that has nothing else."""
    raw: bytes = scope["query_string"]
    try:
        if scope["method"] == "POST" and not raw and headers.get(b"content-type") in _TYPES:
            return body.decode("utf-8") if 0 < len(body) <= _LONGEST else None
        if scope["method"] != "GET" or body or not raw.startswith(b"query=") or b"&" in raw:
            return None
        return unquote_plus(raw[6:].decode("ascii"), errors="strict") if len(raw) <= _LONGEST else None
    except UnicodeDecodeError:
        return None
