"""Look-ups answered here and now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote_plus

import pyoxigraph as ox

from graphrag_rdf.server.execution.evaluate import Job, QueryFailed, Wanted, evaluate_whole
from graphrag_rdf.server.execution.lookup import MOST, Lookup
from graphrag_rdf.server.http.formats import RESULTS

PATHS = frozenset({"/sparql", "/query"})
_TYPES = frozenset({b"application/sparql-query", b"application/sparql-query; charset=utf-8"})
_LONGEST = 4096
"""Bytes of a query that may be a look-up."""

_FEW, _MOST_BYTES = 50, 1 << 22
"""Rows that may be written without being looked at, and bytes of an answer: long texts are for readers."""

_JSON = RESULTS[0].media_type


def text_of(method: str, query: bytes, headers: Mapping[bytes, bytes], body: bytes) -> str | None:
    """The SPARQL of a request that has nothing else; None of any other.

    Args:
        query: what stands after the question mark of its address.
    """
    try:
        if method == "POST" and not query and headers.get(b"content-type") in _TYPES:
            return body.decode("utf-8") if 0 < len(body) <= _LONGEST else None
        if method != "GET" or body or not query.startswith(b"query=") or b"&" in query:
            return None
        return unquote_plus(query[6:].decode("ascii"), errors="strict") if len(query) <= _LONGEST else None
    except UnicodeDecodeError:
        return None


def answer(store: ox.Store, job: Job, lookup: Lookup) -> tuple[str, bytes] | None:
    """(content type, body) of the answer to a look-up; None when it turns out long, or over the job's limits.

    Raises:
        QueryFailed: see `evaluate`.
    """
    if not lookup.is_small(store):
        return None
    wanted, limit, most = job.results, lookup.limit, min(job.max_bytes, _MOST_BYTES)
    if limit is None:
        job = replace(job, text=f"{job.text}\nLIMIT {MOST + 1}", max_rows=min(MOST, job.max_rows))
    few = limit is not None and limit <= min(_FEW, job.max_rows)
    try:
        if few and wanted is not None and job.base is None and _is_plain(wanted):
            return wanted.content_type, _json(store, job.text, most)
        return evaluate_whole(store, replace(job, max_bytes=most))
    except QueryFailed as failure:
        if failure.status == 503:
            return None
        raise


def _is_plain(wanted: Wanted) -> bool:
    """Whether an answer needs not be looked through."""
    return wanted.media_type == _JSON and wanted.triple_terms


class _Parts:
    """An output that takes so many bytes."""

    __slots__ = ("_left", "_parts")

    def __init__(self, most: int) -> None:
        self._left = most
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        """A part."""
        self._left -= len(data)
        if self._left < 0:
            raise QueryFailed(503, "the answer is long")
        self._parts.append(data)
        return len(data)

    def flush(self) -> None:
        """The engine asks for it."""

    def data(self) -> bytes:
        """All of it."""
        return b"".join(self._parts)


def _json(store: ox.Store, text: str, most: int) -> bytes:
    """The same, where no row needs to be counted or looked through."""
    try:
        found = store.query(text)
    except (SyntaxError, ValueError) as error:
        raise QueryFailed(400, str(error)) from error.with_traceback(None)
    assert isinstance(found, ox.QuerySolutions | ox.QueryBoolean)  # noqa: S101 - the shape says so
    output = _Parts(most)
    found.serialize(output, format=ox.QueryResultsFormat.JSON)  # type: ignore[arg-type]
    return output.data()
