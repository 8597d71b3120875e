"""Request bodies: read within limits of size and time, and decoded as their headers say."""

from __future__ import annotations

import asyncio
import codecs
import zlib
from collections.abc import AsyncGenerator
from typing import NamedTuple

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from graphrag_rdf.server.http.negotiation import content_type
from graphrag_rdf.server.http.problems import CLIENT_LEFT, Problem

PATIENCE = 30.0
"""Seconds between two pieces of a body."""
_SLOWEST = 1024
"""Least average of bytes a second: a trickle would hold a connection for ever."""

_UTF8 = ("utf-8", "utf8", "us-ascii")


async def read_body(request: Request, limit: int, *, length_required: bool = True) -> bytes:
    """The whole body.

    Args:
        limit: bytes, also of a decompressed body.
        length_required: refuse a request that does not say where its body ends.

    Raises:
        Problem: 408 when it stalls, 411 without a length, 413 when it is too large, 400 or 415 for its
            coding.
    """
    headers = request.headers
    declared = headers.get("content-length")
    if declared is None and "transfer-encoding" not in headers:
        if length_required:
            raise Problem(411, "the request has neither Content-Length nor Transfer-Encoding: chunked")
        return b""
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(PATIENCE) as patience:
            now = asyncio.get_running_loop().time
            start = now()
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Problem(CLIENT_LEFT, "the client disconnected before the body was complete")
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > limit:
                    raise _too_large(limit)
                if more:
                    patience.reschedule(PATIENCE + min(now(), start + len(body) / _SLOWEST))
    except TimeoutError:
        raise Problem(408, "the body came too slowly, or not at all", headers=_CLOSE) from None
    return _uncompressed(bytes(body), headers.get("content-encoding", "identity"), limit)


class Part(NamedTuple):
    """A part of a form: the name and media type of a file (None for other fields), and its content."""

    name: str | None
    header: str | None
    data: bytes


async def read_parts(
    request: Request, limit: int, *, files: int, fields: int = 0, length_required: bool = True
) -> list[Part]:
    """The parts of a form with files (RFC 7578).

    Args:
        files, fields: numbers of them at most.

    Raises:
        Problem: 400 when it is malformed, and as `read_body`.
    """
    body = await read_body(request, limit, length_required=length_required)

    async def stream() -> AsyncGenerator[bytes, None]:
        yield body

    try:
        form = await MultiPartParser(request.headers, stream(), max_files=files, max_fields=fields).parse()
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise Problem(400, f"the form is malformed: {error}") from None
    parts = [
        Part(value.filename or "", value.content_type, await value.read())
        if isinstance(value, UploadFile)
        else Part(None, None, value.encode())
        for _, value in form.multi_items()
    ]
    await form.close()
    return parts


def text_of(body: bytes, header: str | None) -> str:
    """A body as text, without a byte order mark, which the grammars do not allow.

    Raises:
        Problem: 415 for a charset other than UTF-8, 400 for bytes that are not UTF-8.
    """
    charset = content_type(header)[1].get("charset", "utf-8").lower()
    if charset not in _UTF8:
        raise Problem(415, f"unsupported charset {charset}; send UTF-8")
    try:
        return body.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: byte {error.start} is wrong") from None


_CLOSE = {"Connection": "close"}


def _too_large(limit: int) -> Problem:
    return Problem(413, f"the body is larger than {limit:,} bytes", headers=_CLOSE)


def _uncompressed(body: bytes, coding: str, limit: int) -> bytes:
    if coding.strip().lower() in ("", "identity"):
        return body
    if coding.strip().lower() not in ("gzip", "x-gzip"):
        raise Problem(
            415,
            f"unsupported content coding {coding}; send gzip or none",
            headers={"Accept-Encoding": "gzip"},
        )
    inflater = zlib.decompressobj(wbits=31)
    try:
        out = inflater.decompress(body, limit + 1)
    except zlib.error as error:
        raise Problem(400, f"the body is not gzip: {error}") from None
    if len(out) > limit:
        raise _too_large(limit)
    if not inflater.eof or inflater.unused_data:
        raise Problem(400, "the body is not one complete gzip stream")
    return out
