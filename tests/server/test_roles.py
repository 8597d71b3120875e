"""Every route, every method, every role: who is let on. A route that is new must be named here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import httpx
import pytest
from starlette.routing import Route, WebSocketRoute

from graphrag_rdf.server.routes.openapi import routes
from tests.support.endpoint import ADMIN, READ, TOKENS, WRITE, Endpoint

NEEDS = {
    "/sparql": {"GET": "read", "POST": "read", "QUERY": "read"},
    "/sparql/": {"GET": "read", "POST": "read", "QUERY": "read"},
    "/query": {"GET": "read", "POST": "read", "QUERY": "read"},
    "/update": {"POST": "write"},
    "/store": {"GET": "read", "PUT": "write", "POST": "write", "DELETE": "write"},
    "/store/{path:path}": {"GET": "read", "PUT": "write", "POST": "write", "DELETE": "write"},
    "/ask": {"GET": "read", "POST": "read"},
    "/retrieve": {"POST": "read"},
    "/ranking/preview": {"POST": "read"},
    "/traces": {"GET": "read"},
    "/traces/{id}/feedback": {"GET": "read", "POST": "write"},
    "/traces/{id}/pack": {"GET": "read"},
    "/traces/{id}/replay": {"POST": "read"},
    "/traces/{id}/ask-without": {"POST": "read"},
    "/traces/{id:path}": {"GET": "read"},
    "/documents": {"GET": "read", "POST": "write"},
    "/samples": {"POST": "write"},
    "/documents/{id:path}/pages/{number:int}.png": {"GET": "read"},
    "/documents/{id:path}": {"GET": "read", "DELETE": "write"},
    "/facts": {"GET": "read", "POST": "write", "DELETE": "write"},
    "/facts/decisions": {"GET": "read"},
    "/entities": {"GET": "read"},
    "/entities/{id:path}": {"GET": "read", "POST": "write"},
    "/relations": {"GET": "read"},
    "/communities": {"GET": "read"},
    "/ontologies": {"GET": "read"},
    "/decisions": {"GET": "read"},
    "/resource": {"GET": "read"},
    **{f"/{kind}/{{id:path}}": {"GET": "read"} for kind in ("doc", "e", "r", "term", "type")},
    "/changes": {"GET": "read"},
    "/history": {"GET": "read"},
    "/queries": {"GET": "read"},
    "/queries/{name:path}": {"GET": "read"},
    "/dataset": {"GET": "read"},
    "/.well-known/void": {"GET": "read"},
    "/": {"GET": "read"},
    "/sparql-editor": {"GET": "read", "POST": "read"},
    "/sparql-editor/terms": {"GET": "read"},
    "/graph": {"GET": "read"},
    "/graph/sentences": {"GET": "read"},
    "/ontology": {"GET": "read"},
    "/ontology/schema": {"GET": "read"},
    "/context.jsonld": {"GET": "nothing"},
    "/static/{name}": {"GET": "nothing"},
    "/mcp": {"POST": "read"},
    "/openapi.json": {"GET": "nothing"},
    # refusals have the status 200, which is all that their clients read: see test_gateway
    "/api/v1/{service}": {"GET": "read", "POST": "nothing"},
    "/api/v1/flow/{flow}/service/{service}": {"POST": "nothing"},
    "/v1/models": {"GET": "read"},
    "/v1/chat/completions": {"POST": "read"},
    "/health": {"GET": "nothing"},
    "/metrics": {"GET": "read"},
    "/cache": {"GET": "read", "DELETE": "write"},
    "/cache/stats": {"GET": "read"},
    "/cache/clear": {"POST": "write"},
    "/frozen": {"POST": "nothing"},  # takes a key that is in the store's folder: see cli/test_beside
    "/diagnostics": {"GET": "admin"},
}
"""Path of a route → method → the role that it takes."""

BODIES = {
    "/update": ("application/sparql-update", b"INSERT DATA {}"),
    "/store": ("text/turtle", b""),
    "/store/{path:path}": ("text/turtle", b""),
    "/sparql-editor": ("application/x-www-form-urlencoded", b"query=ASK%7B%7D"),
}
ROLES = ("nothing", "read", "write", "admin")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "QUERY", "PATCH", "OPTIONS", "TRACE")


def test_every_route_is_in_the_table() -> None:
    found: dict[str, set[str]] = {}
    for route in routes():
        if isinstance(route, Route):
            found.setdefault(route.path, set()).update(route.methods or ())
        else:
            assert isinstance(route, WebSocketRoute)  # it is as /ask: see test_ask
    assert {path: methods - {"HEAD"} for path, methods in found.items()} == {
        path: set(needs) for path, needs in NEEDS.items()
    }


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server on which strangers may do nothing."""
    store = tmp_path_factory.mktemp("closed") / "store"
    with Endpoint.start(store, "--anonymous", "nothing", **TOKENS) as endpoint:
        yield endpoint


@pytest.mark.parametrize("path", NEEDS)
def test_who_is_let_on(path: str, closed: Endpoint) -> None:
    """Without enough of a role 401 or 403, with it something else; never a fault; and no method unnamed."""
    others = {"/traces/{id}/": {"GET": "read"}, "/documents/{id:path}/": {"DELETE": "write"}}
    more = (needs for beginning, needs in others.items() if path.startswith(beginning))
    needs = {**next(more, {}), **NEEDS[path]}
    for (role, token), method in itertools.product(
        zip(ROLES, (None, READ, WRITE, ADMIN), strict=True), METHODS
    ):
        needed = needs.get("GET" if method == "HEAD" else method)
        with closed.client(token) as client:
            status = _sent(client, method, path).status_code
        where = f"{method} {path} as {role}: {status}"
        if needed is None:
            assert status == 405, where
        elif ROLES.index(role) < ROLES.index(needed):
            assert status == (401 if token is None else 403), where
        else:
            assert status not in (401, 403, 405), where
            assert status < 500, where


def _sent(client: httpx.Client, method: str, path: str) -> httpx.Response:
    address = path.replace("{path:path}", "g").replace("{id:path}", "x").replace("{id}", "x")
    address = address.replace("{number:int}", "1")
    address = address.replace("{name}", "site.css").replace("{name:path}", "x")
    media_type, body = BODIES.get(path, ("application/json", b"{}"))
    if method in ("GET", "HEAD", "OPTIONS", "TRACE"):
        return client.request(method, address)
    if path == "/documents":
        return client.request(method, address, files={"f": ("..", b"x")})
    return client.request(method, address, content=body, headers={"Content-Type": media_type})


def test_the_role_is_looked_at_before_the_body(closed: Endpoint) -> None:
    """Nobody fills memory or learns of formats who may not do the thing anyway."""
    head = "{} HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    head += "Content-Type: x/y\r\nContent-Length: 900000000\r\n\r\n"
    for path, needs in NEEDS.items():
        for method, role in needs.items():
            if method == "GET" or role == "nothing":
                continue
            address = path.replace("{path:path}", "g").replace("{id:path}", "x")
            assert closed.raw(head.format(f"{method} {address}").encode())[0] == 401, (method, path)
