"""Errors for clients: problem documents (RFC 9457)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from graphrag_rdf.errors import (
    EndpointError,
    EvaluationError,
    GraphRagError,
    MalformedError,
    NotPurgedError,
    SearchIndexError,
    StoreError,
    TooLargeError,
    UsageError,
)
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.ingest.gate import BrokenShapesError, CannotValidateError
from graphrag_rdf.sparql.complaints import evaluation_status

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
REPORT = "GraphRAG-Validation"
"""Response header: the IRI of the kept report of a validation with SHACL, if it has results."""
CLIENT_LEFT = 499
"""Status, only for the log, of a request whose client has disconnected."""

_TITLES = {
    400: later("Bad Request"),
    401: later("Unauthorized"),
    403: later("Forbidden"),
    404: later("Not Found"),
    405: later("Method Not Allowed"),
    406: later("Not Acceptable"),
    408: later("Request Timeout"),
    409: later("Conflict"),
    411: later("Length Required"),
    412: later("Precondition Failed"),
    413: later("Content Too Large"),
    415: later("Unsupported Media Type"),
    421: later("Misdirected Request"),
    422: later("Unprocessable Content"),
    429: later("Too Many Requests"),
    CLIENT_LEFT: later("Client Closed Request"),
    500: later("Internal Server Error"),
    501: later("Not Implemented"),
    502: later("Bad Gateway"),
    503: later("Service Unavailable"),
    504: later("Gateway Timeout"),
}
"""Names of the statuses (RFC 9110 §15): the titles of problems, which may be translated (RFC 9457 §4.2.1)."""


class Problem(Exception):  # noqa: N818 - the name that RFC 9457 gives it
    """A request that cannot be served.

    Args:
        status: of HTTP.
        detail: what is wrong, for people.
        headers: further headers of the response.
        more: further members of the document.
    """

    def __init__(
        self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.more = more

    def document(self) -> dict[str, Any]:
        """The members of the document."""
        return {
            "type": "about:blank",
            "title": tr(_TITLES.get(self.status) or HTTPStatus(self.status).phrase),
            "status": self.status,
            "detail": self.detail,
            **self.more,
        }

    def response(self) -> Response:
        """The response."""
        body = json.dumps(self.document(), ensure_ascii=False).encode("utf-8", "replace")
        return Response(body, self.status, self.headers, MEDIA_TYPE)

    def response_to(self, scope: Scope) -> Response:
        """The response to a request, in the form that its route declares."""
        form: Callable[[Problem], Response]
        form = scope["app"].state.error_forms.get(scope["path"], Problem.response)
        return form(self)


class TransferAborted(Exception):  # noqa: N818 - it says what was done
    """An answer that failed after its first part was sent.

    The connection is cut without an end of the body, so that no client takes it for complete.
    """


_OF_ROUTES = {
    404: {"detail": later("nothing is at this path"), "hint": later("/openapi.json names all paths")},
    405: {"detail": later("this path does not take this method")},
}
"""Details for what Starlette refuses with a status only."""


def problem_from(error: Exception) -> Problem:
    """The problem for what a route raised, Starlette's refusals and known errors included."""
    if isinstance(error, HTTPException):
        texts = {name: tr(text) for name, text in _OF_ROUTES.get(error.status_code, {}).items()}
        return Problem(error.status_code, headers=error.headers, **(texts or {"detail": error.detail}))
    if isinstance(error, GraphRagError):
        return problem_of(error)
    assert isinstance(error, Problem)  # noqa: S101 - there are no others that it is registered for
    return error


_OF_ENDPOINT = {"unreachable": 503, "timeout": 504, "refused": 502, "conflict": 409}


def problem_of(error: GraphRagError) -> Problem:
    """An error of the rooms as a problem.

    Addresses of endpoints and paths on disk are logged, but not sent to clients.
    """
    if isinstance(error, EndpointError):
        log.warning("%s", error.message)
        status = _OF_ENDPOINT[error.kind]
        return Problem(status, _unaddressed(error), headers={"Retry-After": "5"} if status == 503 else {})
    if isinstance(error, NotPurgedError):
        log.error("%s", error.message)
        return Problem(
            503,
            tr("the document is removed, but files of the store still hold its text"),
            headers={"Retry-After": "30"},
            hint=tr("send the same request again to finish"),
        )
    if isinstance(error, StoreError) and isinstance(error.__cause__, OSError):  # usually a full disk
        log.error("%s", error.message)
        return Problem(
            503, tr("the store cannot be read or written at present"), headers={"Retry-After": "30"}
        )
    if isinstance(error, SearchIndexError):
        log.error("%s", error.message)
        return Problem(503, tr("the search index cannot be used at present"), headers={"Retry-After": "30"})
    if isinstance(error, BrokenShapesError):
        return Problem(422, error.message, headers={REPORT: error.kept.value} if error.kept else {})
    if isinstance(error, CannotValidateError):
        return Problem(501, error.message, **hint_of(error))
    if isinstance(error, EvaluationError):
        return Problem(evaluation_status(error.message), error.message, **hint_of(error))
    if isinstance(error, MalformedError):
        return Problem(400, _unaddressed(error))
    if isinstance(error, TooLargeError):
        return Problem(413, error.message, **hint_of(error))
    status = 400 if isinstance(error, UsageError) else 500
    return Problem(status, error.message, **hint_of(error))


def _unaddressed(error: EndpointError | MalformedError) -> str:
    return error.message.replace(error.address or "\0", tr("the store's endpoint"))


def hint_of(error: GraphRagError) -> dict[str, Any]:
    """The hint, as a member of the document."""
    return {"hint": error.hint} if error.hint else {}


def fault(request_id: str) -> Problem:
    """Any other error; its details are in the log."""
    return Problem(
        500, tr("the server failed; see its log, request {request_id}").format(request_id=request_id)
    )
