"""Conditional requests (RFC 9110 §8.8, §13): validators of answers, and preconditions of writes.

A tag names the state of the whole store by its commit: an answer changes only when the store does.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import COMMIT, Service

ZIPPED = '-gzip"'
"""The end of the tag of a compressed answer."""


def etag(service: Service, commit: int, content_type: str, *, strong: bool = False) -> str:
    """The tag of an answer.

    Args:
        strong: equal tags mean equal bytes, as of a graph, which is written in one order; solutions are not.
    """
    kind = content_type.replace("; charset=utf-8", "").replace(" ", "")
    return f'{"" if strong else "W/"}"{state(service, commit)}-{kind}"'


def state(service: Service, commit: int) -> str:
    """The prefix of all tags in the store's present state."""
    return f"{int(service.started * 1000):x}-{commit}"


def validators(service: Service, commit: int, content_type: str, *, strong: bool = False) -> dict[str, str]:
    """The headers of an answer that depends only on the store; see `etag`.

    A remote store has none: others may change it unnoticed.
    """
    if service.remote is not None:
        return {}
    return {"ETag": etag(service, commit, content_type, strong=strong)}


def standard(commit: int) -> dict[str, str]:
    """The headers of every answer from the store."""
    return {
        COMMIT: str(commit),
        "Vary": "Accept, Accept-Encoding, Authorization, Cookie",
        "Cache-Control": "no-cache",
    }


def not_modified(
    request: Request, service: Service, content_types: list[str], *, strong: bool = False
) -> Response | None:
    """304 if the client has the present answer.

    Args:
        content_types: of the forms that the answer may take.
        strong: whether its tag is; see `etag`.
    """
    known = request.headers.get("if-none-match")
    if service.remote is not None or known is None:
        return None
    commit = service.engine.store.commit_number()
    sent = {tag.removeprefix("W/").replace(ZIPPED, '"') for tag in _tags(known)}
    tags = [etag(service, commit, kind, strong=strong) for kind in content_types]
    current = next((tag for tag in tags if tag.removeprefix("W/") in sent or "*" in sent), None)
    if current is None:
        return None
    return Response(status_code=304, headers={**standard(commit), "ETag": current})


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has the answer with this tag."""
    clients = {each.removeprefix("W/") for each in _tags(request.headers.get("if-none-match", ""))}
    return not clients.isdisjoint(("*", tag))


def hold(request: Request, service: Service, *, exists: bool) -> None:
    """Check the preconditions of a request about a graph, in the order of §13.2.2.

    Writes are checked in the writer's thread, so nothing changes between the check and the write.

    Args:
        exists: whether the graph is there.

    Raises:
        Problem: 412 when one does not hold, or cannot be checked, as of a remote store, which others may
            change unnoticed.
    """
    if service.remote is not None and request.method not in ("GET", "HEAD") and _names_a_state(request):
        raise Problem(412, tr("a remote store has no tags: use * only"))
    current = f'"{state(service, service.engine.store.commit_number())}-'
    match = request.headers.get("if-match")
    if match is not None:
        if not exists:
            raise Problem(412, tr("If-Match failed: there is no such graph"))
        if not any(tag == "*" or tag.startswith(current) for tag in _tags(match)):
            if "W/" in match:
                raise Problem(412, tr("If-Match failed: weak tags, as of query results, never match"))
            raise Problem(412, tr("If-Match failed: the store has changed"))
    unseen = request.headers.get("if-none-match")
    if unseen is None or request.method in ("GET", "HEAD") or not exists:
        return
    if any(tag == "*" or tag.removeprefix("W/").startswith(current) for tag in _tags(unseen)):
        raise Problem(412, tr("If-None-Match failed: the graph exists"))


def _names_a_state(request: Request) -> bool:
    tags = [request.headers.get(name, "*") for name in ("if-match", "if-none-match")]
    return any(tag.strip() != "*" for tag in tags)


def _tags(header: str) -> list[str]:
    return [tag.strip() for tag in header.split(",")]
