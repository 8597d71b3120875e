"""SPARQL 1.1 Protocol, update operation (https://www.w3.org/TR/sparql11-protocol/#update-operation).

`/sparql` and `/update`: a form by POST, or the update itself by POST.
"""

from __future__ import annotations

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from graphrag_rdf.errors import UsageError
from graphrag_rdf.server.execution.sparql_text import (
    NO_CALLS,
    inspect_update,
    nothing_missed,
    outside_bookkeeping,
    with_dataset,
)
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.parameters import Parameters
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import COMMIT, Service, address_of, service_of
from graphrag_rdf.sparql.complaints import complaint
from graphrag_rdf.store.migrations import migrate

CONTENT = "GraphRAG-Content"
"""Request header: `unchanged` means that an update changes nothing in the search indexes, such as one of
traces. If that is wrong, searches find less until the index is rebuilt."""


async def run_update(request: Request, text: str | None, parameters: Parameters) -> Response:
    """Run an update, after earlier ones."""
    require(request, "write")
    service = service_of(request)
    service.require_writable()
    if text is None:
        raise Problem(400, "the update is missing")
    default, named = parameters.all("using-graph-uri"), parameters.all("using-named-graph-uri")
    base = address_of(request)
    content = request.headers.get(CONTENT) != "unchanged"

    def write() -> int:
        allowed = service.settings.allow_service
        update = nothing_missed(text, allowed)
        try:
            _judge(inspect_update(update, allowed), update)
            update = outside_bookkeeping(with_dataset(update, _iris(default), _iris(named)))
            service.graphs.update(update, base, content=content)
        except (Problem, UsageError) as refused:
            if update != text:
                _complain_of(text, refused)
            raise
        return settled(service)

    return written(request, service, await service.writes.run(write))


def written(request: Request, service: Service, commit: int, status: int = 204, **more: str) -> Response:
    """The response to a write."""
    service.wrote(request, commit)
    return Response(status_code=status, headers={COMMIT: str(commit), **more})


def settled(service: Service) -> int:
    """The commit number after a client's write; DROP ALL drops the store's bookkeeping, which is restored."""
    migrate(service.engine.store)
    if service.remote is not None:
        service.remote.settle()
    return service.engine.store.commit_number()


def _judge(masked: str | None, text: str) -> None:
    """See `sparql_text`: a text with misspelt calls parses only if there are none."""
    if masked is None:
        return
    try:
        ox.Store().update(masked)
    except SyntaxError as error:
        raise Problem(400, f"{complaint(text, error)}\n{NO_CALLS}") from None
    except (OSError, RuntimeError, ValueError):
        return  # it parses; the store will report other errors


def _complain_of(text: str, refused: Problem | UsageError) -> None:
    """Report an error of the client's own text, not of its rewritten form."""
    if isinstance(refused, Problem) and refused.status != 400:
        return
    try:
        masked = inspect_update(text)
        ox.Store().update(masked or text)
    except SyntaxError as error:
        raise Problem(400, complaint(text, error)) from None
    except (Problem, OSError, RuntimeError, ValueError):  # it calls another server, or is well-formed
        return


def _iris(texts: list[str]) -> list[str]:
    try:
        return [ox.NamedNode(text).value for text in texts]
    except ValueError as error:
        raise Problem(400, f"a graph of the dataset has no valid IRI: {error}") from None
