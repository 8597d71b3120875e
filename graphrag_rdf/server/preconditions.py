"""Conditional requests (RFC 9110 §13): nothing is overwritten that a client has not seen.

The state that a tag names is that of the whole store, by its commit.
"""

from __future__ import annotations

from starlette.requests import Request

from graphrag_rdf.server.caching import moment_of, state
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import Service


def hold(request: Request, service: Service, *, exists: bool) -> None:
    """Check what a request says of the graph that it is about, in the order of §13.2.2.

    A write is checked by who writes: nothing changes between the look and the write.

    Args:
        exists: whether the graph is there.

    Raises:
        Problem: 412 when it does not hold; also when it cannot be known, as of a store behind an endpoint,
            which others may change unseen.
    """
    if service.remote is not None and request.method not in ("GET", "HEAD") and _names_a_state(request):
        raise Problem(412, "a store behind an endpoint has no tags and dates: only * can be asked for")
    commit, changed = service.last_change()
    current = f'"{state(service, commit)}-'
    match = request.headers.get("if-match")
    if match is not None:
        if not exists:
            raise Problem(412, "there is no such graph (If-Match)")
        if not any(tag == "*" or tag.startswith(current) for tag in _tags(match)):
            weak = "; a weak tag, of solutions, matches nothing" if "W/" in match else ""
            raise Problem(412, f"the store is not as If-Match says: something was written since{weak}")
    elif (moment := moment_of(request.headers.get("if-unmodified-since"))) is not None and int(
        changed
    ) > moment:
        raise Problem(412, "something was written after the date of If-Unmodified-Since")
    unseen = request.headers.get("if-none-match")
    if unseen is None or request.method in ("GET", "HEAD") or not exists:
        return
    if any(tag == "*" or tag.removeprefix("W/").startswith(current) for tag in _tags(unseen)):
        raise Problem(412, "the graph is there already (If-None-Match)")


def _names_a_state(request: Request) -> bool:
    tags = [request.headers.get(name, "*") for name in ("if-match", "if-none-match")]
    return "if-unmodified-since" in request.headers or any(tag.strip() != "*" for tag in tags)


def _tags(header: str) -> list[str]:
    return [tag.strip() for tag in header.split(",")]
