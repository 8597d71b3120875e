"""Who a client is, and which collection it means."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import Service
from graphrag_rdf.store.folder import DEFAULT_COLLECTION


def authenticate(connection: HTTPConnection, token: str | None) -> None:
    """Give a connection the role of a token; without one it keeps its role.

    Raises:
        Problem: 401 for an unknown token.
    """
    if token:
        access: Access = connection.app.state.access
        role, name = access.role_of(token)
        connection.scope["state"].update(role=role, client=name, token=name)


def check_collection(service: Service, name: str | None) -> None:
    """A server has one collection, which clients may also call the default one.

    Raises:
        Problem: 404 for another one.
    """
    served = service.engine.settings.collection
    if name not in (None, "", DEFAULT_COLLECTION, served):
        raise Problem(
            404,
            f"there is no collection {name!r} on this server, which has {served!r}",
            hint=f"start another server with: graphrag-rdf --collection {name} serve",
        )
