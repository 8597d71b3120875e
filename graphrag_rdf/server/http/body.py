"""Input of clients: bodies, read within limits of size and time, and fields of URLs and forms.

Fields are strictly decoded: UTF-8 or an error, never a guess. application/x-www-form-urlencoded as in the URL
standard §5.1; the SPARQL 1.1 Protocol (§2.1, §2.2) says which parameters may be given only once.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import zlib
from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.access import Access
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
            raise Problem(411, tr("the request has neither Content-Length nor Transfer-Encoding: chunked"))
        return b""
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body, more = bytearray(), True
    try:
        async with asyncio.timeout(PATIENCE) as patience:
            clock = asyncio.get_running_loop().time
            start = clock()
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Problem(CLIENT_LEFT, tr("the client disconnected before the body was complete"))
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > limit:
                    raise _too_large(limit)
                if more:
                    patience.reschedule(PATIENCE + min(clock(), start + len(body) / _SLOWEST))
    except TimeoutError:
        raise Problem(408, tr("the body came too slowly, or not at all"), headers=_CLOSE) from None
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
        raise Problem(400, tr("the form is malformed: {error}").format(error=error)) from None
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
        raise Problem(415, tr("unsupported charset {charset}; send UTF-8").format(charset=charset))
    try:
        return body.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem(
            400, tr("the body is not UTF-8: byte {start} is wrong").format(start=error.start)
        ) from None


_CLOSE = {"Connection": "close"}


def _too_large(limit: int) -> Problem:
    return Problem(413, tr("the body is larger than {limit:,} bytes").format(limit=limit), headers=_CLOSE)


def _uncompressed(body: bytes, coding: str, limit: int) -> bytes:
    if coding.strip().lower() in ("", "identity"):
        return body
    if coding.strip().lower() not in ("gzip", "x-gzip"):
        raise Problem(
            415,
            tr("unsupported content coding {coding}; send gzip or none").format(coding=coding),
            headers={"Accept-Encoding": "gzip"},
        )
    inflater = zlib.decompressobj(wbits=31)
    try:
        out = inflater.decompress(body, limit + 1)
    except zlib.error as error:
        raise Problem(400, tr("the body is not gzip: {error}").format(error=error)) from None
    if len(out) > limit:
        raise _too_large(limit)
    if not inflater.eof or inflater.unused_data:
        raise Problem(400, tr("the body is not one complete gzip stream"))
    return out


# --- fields of URLs and forms --------------------------------------------------------------------------

MAX_FIELDS = 1000

_PIECE = 1 << 14
"""Characters that are decoded in one go."""


class Parameters:
    """Names and values, in order.

    Args:
        pairs: as they stood in the URL, the form, or both.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self._pairs = tuple(pairs)

    @classmethod
    def of_query_string(cls, raw: bytes) -> Parameters:
        """Those of a URL.

        Many clients append `?query=` to an endpoint's address that has parameters already, as in
        `?dialect=classic?query=…`. A question mark therefore ends those whose values have none.
        """
        return cls(_decoded(_APPENDED.sub(_divided, raw), "the URL"))

    @classmethod
    def of_form(cls, raw: bytes) -> Parameters:
        """Those of a form's body."""
        return cls(_decoded(raw, "the form"))

    def __add__(self, more: Parameters) -> Parameters:
        return Parameters(self._pairs + more._pairs)

    def __contains__(self, name: str) -> bool:
        return any(key == name for key, _ in self._pairs)

    def all(self, name: str) -> list[str]:
        """All values of a name."""
        return [value for key, value in self._pairs if key == name]

    def one(self, name: str) -> str | None:
        """The value of a name that may stand once; None when it is absent.

        Raises:
            Problem: 400 when it stands more than once.
        """
        values = self.all(name)
        if len(values) > 1:
            raise Problem(
                400,
                tr("the parameter {name} is given {count} times, and may be given once").format(
                    name=name, count=len(values)
                ),
            )
        return values[0] if values else None


_APPENDED = re.compile(rb"(?<![^&])(?:(?:dialect|format|union-default-graph)(?:=[^&?]*)?\?)+")


def _divided(match: re.Match[bytes]) -> bytes:
    return match[0].replace(b"?", b"&")


def _decoded(raw: bytes, where: str) -> list[tuple[str, str]]:
    """As `urllib.parse.parse_qsl`, which lets no other thread work for seconds where a value is very long."""
    try:
        fields = raw.decode("ascii").split("&", MAX_FIELDS)
        if len(fields) > MAX_FIELDS:
            raise Problem(
                400,
                tr("{where} has more than {max_fields} fields").format(where=where, max_fields=MAX_FIELDS),
            )
        pairs = [field.partition("=") for field in fields if field]
        return [(_unquoted(name), _unquoted(value)) for name, _, value in pairs]
    except UnicodeDecodeError:
        raise Problem(400, tr("{where} is not percent-encoded UTF-8").format(where=where)) from None


def _unquoted(text: str) -> str:
    spaced, parts, start = text.replace("+", " "), [], 0
    while start < len(spaced):
        end = start + _PIECE
        if (escape := spaced.rfind("%", end - 2, end)) > start:  # not to be cut in two
            end = escape
        parts.append(unquote_to_bytes(spaced[start:end]))
        start = end
    return b"".join(parts).decode("utf-8")


FORM = "application/x-www-form-urlencoded"
_FORM_BYTES = 1 << 16


def is_form(request: Request) -> bool:
    """Whether the body is a form's."""
    return content_type(request.headers.get("content-type"))[0] == FORM


async def read_form(request: Request) -> Parameters:
    """The fields of a form; a `token` among them counts as that of the request.

    Raises:
        Problem: 401 for a token that is not known.
    """
    form = Parameters.of_form(await read_body(request, _FORM_BYTES))
    if token := form.one("token"):
        access: Access = request.app.state.access
        role, name = access.role_of(token)
        request.scope["state"].update(role=role, client=name, token=name)
    return form
