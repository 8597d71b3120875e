"""One thing in several forms: JSON, RDF, and a page where there is one, by content negotiation."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pyoxigraph import NamedNode, Quad, Triple
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.reader_process.evaluate import serialize_graph
from graphrag_rdf.server.caching import standard
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.body import Parameters
from graphrag_rdf.server.http.negotiation import (
    GRAPHS,
    Choice,
    Format,
    accepted,
    negotiate,
    wanted,
)
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import Service, client_of, service_of, site_of
from graphrag_rdf.trace.catalogue import find_trace

T = TypeVar("T")

JSON = Format(("application/json",), None, "")
HTML = Format(("text/html",), None, "", charset=True)
TEXT = Format(("text/plain",), None, "", charset=True)


@dataclass(frozen=True, slots=True)
class Forms:
    """How to make each form of a thing; only the one that is asked for is made.

    Attributes:
        json: plain data.
        rdf: triples or quads; None where the thing has no RDF of its own.
        html: a whole page; None where there is none.
        text: as the command line shows it; None where it shows nothing of the kind.
        prefixes: of formats that have them.
    """

    json: Callable[[], Any]
    rdf: Callable[[], Iterable[Triple] | Iterable[Quad]] | None = None
    html: Callable[[], str] | None = None
    text: Callable[[], str] | None = None
    prefixes: Mapping[str, str] = field(default_factory=lambda: PREFIXES)

    @property
    def formats(self) -> Sequence[Format]:
        """What can be negotiated, our favourite first."""
        pages = [form for form, make in ((HTML, self.html), (TEXT, self.text)) if make]
        return (JSON, *pages, *(GRAPHS[:-1] if self.rdf else []), *_json_ld(self))


def _json_ld(forms: Forms) -> Sequence[Format]:
    """JSON-LD, which does not answer to the name of plain JSON where there is plain JSON."""
    last = GRAPHS[-1]
    return [Format(last.accepted[:1], last.engine, last.iri)] if forms.rdf else []


async def represent(request: Request, forms: Callable[[Service], Forms]) -> Response:
    """A thing in the form that the client likes best, made in a thread.

    Args:
        forms: looks the thing up; a `Problem` that it raises is the answer.
    """
    require(request, "read")
    service = service_of(request)
    asked = Parameters.of_query_string(request.scope["query_string"])
    accept = accepted(request.headers.get("accept"), asked.all("format"))
    dialect = asked.one("dialect")
    context = context_of(request)

    def make() -> tuple[str, bytes]:
        representations = forms(service)
        choice = negotiate(
            accept, representations.formats, dialect=dialect, version=service.settings.rdf_version
        )
        if choice is None:
            raise Problem(406, tr("Accept names no supported format"))
        return choice.content_type, _written(representations, choice, context)

    commit = service.engine.store.commit_number()
    with service.concurrency.slot(client_of(request)):
        content_type, data = await asyncio.to_thread(make)
    return Response(data, headers={**standard(commit), "Content-Type": content_type})


def context_of(request: Request) -> str:
    """The address of the JSON-LD context on this server; "" if the client wants it in the answer.

    Raises:
        Problem: 400 for an unknown value of the parameter `context`.
    """
    asked = parameter(request, "context")
    if asked not in (None, "inline"):
        raise Problem(400, tr("unknown context {asked!r}").format(asked=asked), hint=tr("use: inline"))
    return f"{site_of(request)}/context.jsonld" if asked is None else ""


def _written(forms: Forms, choice: Choice, context: str) -> bytes:
    if choice.format is JSON:
        return json.dumps(forms.json(), ensure_ascii=False).encode("utf-8", "replace")
    if choice.format is HTML and forms.html is not None:
        return forms.html().encode("utf-8", "replace")
    if choice.format is TEXT and forms.text is not None:
        return forms.text().encode("utf-8", "replace")
    assert forms.rdf is not None  # noqa: S101 - else it is not negotiated
    statements: list[Any] = list(forms.rdf())
    if not choice.format.engine.supports_datasets:  # type: ignore[union-attr]
        statements = list(dict.fromkeys(s.triple if isinstance(s, Quad) else s for s in statements))
    written = io.BytesIO()
    try:
        serialize_graph(statements, written, wanted(choice, context), forms.prefixes)
    except TypeError as error:
        raise Problem(406, str(error)) from None
    return written.getvalue()


def whole_number(request: Request, name: str, default: int, most: int) -> int:
    """A number of the URL, from 0 to a cap.

    Raises:
        Problem: 400 when it is none.
    """
    text = Parameters.of_query_string(request.scope["query_string"]).one(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) <= most):
        raise Problem(400, tr("{name} is a whole number up to {most}").format(name=name, most=most))
    return int(text)


def parameter(request: Request, name: str) -> str | None:
    """A parameter of the URL that may stand once."""
    return Parameters.of_query_string(request.scope["query_string"]).one(name)


def truth(request: Request, name: str) -> bool:
    """A parameter of the URL that is `true` or `false`; without it False.

    Raises:
        Problem: 400 when it is neither.
    """
    text = parameter(request, name) or "false"
    if text not in ("true", "false"):
        raise Problem(400, tr("{name} is true or false").format(name=name))
    return text == "true"


def iri_of(text: str) -> NamedNode:
    """An absolute IRI.

    Raises:
        Problem: 400 when it is none.
    """
    try:
        return NamedNode(text)
    except ValueError:
        raise Problem(400, tr("{text!r} is not an absolute IRI").format(text=text[:200])) from None


def session_named(service: Service, name: str) -> NamedNode:
    """The session of a trace.

    Raises:
        Problem: 404 when there is none.
    """
    try:
        return find_trace(service.engine.store, name)
    except UsageError as error:
        raise Problem(404, error.message) from None


def listed(items: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A list as clients get it: the items, and what was asked for."""
    return {"items": list(items), **more}
