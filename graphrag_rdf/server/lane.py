"""The short way for look-ups: the connection asks it before there is a task, a cycle or a middleware for a
request, since those take longer than the look-up.

It answers what is plainly one, and leaves everything else, errors too, to the long way, which looks at the
request from its beginning.
"""

from __future__ import annotations

import logging
import time
from functools import lru_cache

from starlette.types import Scope

from graphrag_rdf.server.caching import standard, validators
from graphrag_rdf.server.execution.evaluate import Job, QueryFailed, Wanted
from graphrag_rdf.server.execution.lookup import Lookup, lookup_of
from graphrag_rdf.server.execution.quick import PATHS, answer, text_of
from graphrag_rdf.server.http.access import ROLES
from graphrag_rdf.server.http.envelope import headers_of_caution, log_request
from graphrag_rdf.server.http.formats import GRAPHS, RESULTS
from graphrag_rdf.server.http.guard import Gate
from graphrag_rdf.server.http.identifiers import identifier_of
from graphrag_rdf.server.http.metrics import Metrics
from graphrag_rdf.server.http.negotiation import Choice, negotiate
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import MIN_COMMIT, Service

log = logging.getLogger(__name__)

_LONG_WAY = frozenset(
    {
        *(b"content-encoding", b"if-none-match", b"if-modified-since", b"expect", b"origin", b"upgrade"),
        MIN_COMMIT.lower().encode(),
    }
)
"""Headers that the long way knows how to honour."""

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
        if scope["path"] not in PATHS or scope["http_version"] != "1.1":
            return None
        start = time.perf_counter()
        headers = dict(scope["headers"])
        text = None
        if _LONG_WAY.isdisjoint(headers):
            text = text_of(scope["method"], scope["query_string"], headers, body)
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
        wanted = _solutions_for(accept)
        if wanted is None:
            return None
        self._gate.check(scope)
        if ROLES.index(scope["state"]["role"]) < _READ:
            return None
        found = look_up(self._service, self._job(wanted, text), lookup)
        return None if found is None else (_lines(found[0]), found[1])

    def _job(self, wanted: Wanted, text: str) -> Job:
        settings = self._service.settings
        return Job(
            text=text, results=wanted, max_rows=settings.max_rows, max_bytes=settings.max_result_mb << 20
        )


def look_up(service: Service, job: Job, lookup: Lookup | None) -> tuple[dict[str, str], bytes] | None:
    """(headers, body) of the answer to a look-up; None when it is none, or turns out long.

    Raises:
        Problem: when the query is malformed, or the client takes no format of ours.
    """
    if lookup is None or job.default_graphs is not None or job.union or job.masked is not None:
        return None
    commit = service.store.commit_number()
    try:
        found = answer(service.store.engine, job, lookup)
    except QueryFailed as failure:
        raise Problem(failure.status, failure.detail) from None
    return None if found is None else (_headers(service, commit, found[0]), found[1])


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


def _solutions_for(accept: bytes | None) -> Wanted | None:
    return forms_for(accept.decode("latin-1") if accept is not None else None)[0]


def _wanted(choice: Choice | None) -> Wanted | None:
    if choice is None:
        return None
    return Wanted(choice.format.media_type, choice.content_type, choice.triple_terms)
