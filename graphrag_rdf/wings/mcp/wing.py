"""The Model Context Protocol."""

from __future__ import annotations

from graphrag_rdf.i18n import later
from graphrag_rdf.wing import Wing

WING = Wing(
    name="mcp",
    about=later("The store as tools for other programs' language models."),
    commands={
        "mcp": (
            "graphrag_rdf.wings.mcp.command:mcp_command",
            later("Serve the store as tools for language models (MCP)."),
            "exchange",
        )
    },
    routes=("graphrag_rdf.wings.mcp.routes:ROUTES",),
)
