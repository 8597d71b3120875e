"""The path of the protocol."""

from __future__ import annotations

from graphrag_rdf.server.routing import STREAM, Route
from graphrag_rdf.wings.mcp.protocol import McpEndpoint

ROUTES = (
    Route(
        "/mcp",
        "POST",
        McpEndpoint(),
        "The Model Context Protocol.",
        takes={"application/json": {}},
        gives=STREAM,
    ),
)
