"""Validators of answers (RFC 9110 §8.8, §13): by commit, since an answer changes when the store does."""

from __future__ import annotations

import time
from email.utils import formatdate, parsedate_to_datetime
from functools import lru_cache, partial

from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.server.service import COMMIT, Service

_SETTLED = 2.0
"""Seconds after a change until Last-Modified, which counts whole seconds, says something."""


def etag(service: Service, commit: int, content_type: str) -> str:
    """Weak: compressed and plain forms share it."""
    run = f"{int(service.started * 1000):x}"
    return f'W/"{run}-{commit}-{content_type.partition(";")[0]}"'


def validators(service: Service, commit: int, content_type: str) -> dict[str, str]:
    """The headers of an answer that depends on the store alone."""
    headers = {"ETag": etag(service, commit, content_type)}
    newest, changed = service.last_change()
    if commit == newest and time.time() - changed > _SETTLED:
        headers["Last-Modified"] = _http_date(changed)
    return headers


_http_date = lru_cache(maxsize=4)(partial(formatdate, usegmt=True))


def standard(commit: int) -> dict[str, str]:
    """The headers of every answer from the store."""
    return {
        COMMIT: str(commit),
        "Vary": "Accept, Accept-Encoding, Authorization",
        "Cache-Control": "no-cache",
    }


def not_modified(request: Request, service: Service, content_types: list[str]) -> Response | None:
    """304 when the client has what it would get.

    Args:
        content_types: of the forms that the answer may take.
    """
    known = request.headers.get("if-none-match")
    commit, changed = service.last_change()
    if known is not None:
        tags = {tag.strip() for tag in known.split(",")}
        current = next((t for t in content_types if etag(service, commit, t) in tags), None)
        if current is None:
            return None
        headers = {**standard(commit), "ETag": etag(service, commit, current)}
        return Response(status_code=304, headers=headers)
    since = request.headers.get("if-modified-since")
    if since is None or time.time() - changed <= _SETTLED:
        return None
    try:
        moment = parsedate_to_datetime(since).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return Response(status_code=304, headers=standard(commit)) if moment >= int(changed) else None
