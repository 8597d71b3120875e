"""Forms of our own pages: who sent them, and by what token."""

from __future__ import annotations

from starlette.requests import Request

from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.body import read_body
from graphrag_rdf.server.http.negotiation import content_type
from graphrag_rdf.server.http.parameters import Parameters

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
