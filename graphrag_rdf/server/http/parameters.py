"""Fields of URLs and forms, strictly decoded: UTF-8 or an error, never a guess.

application/x-www-form-urlencoded as in the URL standard §5.1; the SPARQL 1.1 Protocol (§2.1, §2.2) says which
parameters may be given only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.body import read_body
from graphrag_rdf.server.http.negotiation import content_type
from graphrag_rdf.server.http.problems import Problem

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
        """Those of a URL."""
        return cls(_decoded(raw, "the URL"))

    @classmethod
    def of_form(cls, raw: bytes) -> Parameters:
        """Those of a form's body."""
        return cls(_decoded(raw, "the form"))

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(self._pairs + other._pairs)

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
            raise Problem(400, f"the parameter {name} is given {len(values)} times, and may be given once")
        return values[0] if values else None


def _decoded(raw: bytes, where: str) -> list[tuple[str, str]]:
    """As `urllib.parse.parse_qsl`, which lets no other thread work for seconds where a value is very long."""
    try:
        fields = raw.decode("ascii").split("&", MAX_FIELDS)
        if len(fields) > MAX_FIELDS:
            raise Problem(400, f"{where} has more than {MAX_FIELDS} fields")
        pairs = [field.partition("=") for field in fields if field]
        return [(_unquoted(name), _unquoted(value)) for name, _, value in pairs]
    except UnicodeDecodeError:
        raise Problem(400, f"{where} is not percent-encoded UTF-8") from None


def _unquoted(text: str) -> str:
    spaced, found, start = text.replace("+", " "), [], 0
    while start < len(spaced):
        end = start + _PIECE
        if (escape := spaced.rfind("%", end - 2, end)) > start:  # not to be cut in two
            end = escape
        found.append(unquote_to_bytes(spaced[start:end]))
        start = end
    return b"".join(found).decode("utf-8")


FORM = "application/x-www-form-urlencoded"
_BODY = 1 << 16


def is_form(request: Request) -> bool:
    """Whether the body is a form's."""
    return content_type(request.headers.get("content-type"))[0] == FORM


async def read_form(request: Request) -> Parameters:
    """The fields of a form; a `token` among them counts as that of the request.

    Raises:
        Problem: 401 for a token that is not known.
    """
    form = Parameters.of_form(await read_body(request, _BODY))
    if token := form.one("token"):
        access: Access = request.app.state.access
        role, name = access.role_of(token)
        request.scope["state"].update(role=role, client=name, token=name)
    return form
