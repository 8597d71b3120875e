"""The paths of the protocol."""

from __future__ import annotations

from starlette.routing import WebSocketRoute

from graphrag_rdf.server.routing import ANY, Route
from graphrag_rdf.wings.trustgraph import imports, library, requests

ROUTES = (
    Route(
        "/api/v1/{service}",
        "GET",
        library.document_stream,
        "The text or bytes behind an IRI: document-stream.",
        "document-id",
        gives=("application/octet-stream",),
    ),
    Route("/api/v1/{service}", "POST", requests.post, "A request in TrustGraph's protocol.", takes=ANY),
    Route("/api/v1/flow/{flow}/service/{service}", "POST", requests.post, "The same.", takes=ANY),
    WebSocketRoute("/api/v1/socket", requests.socket),
    WebSocketRoute("/api/v1/flow/{flow}/import/{kind}", imports.import_socket),
)
