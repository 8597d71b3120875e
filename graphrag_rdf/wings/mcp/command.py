"""`mcp`: the store as tools for the program that starts this one."""

from __future__ import annotations

from pathlib import Path

import click

from graphrag_rdf.cli.command import Command, allow_ingest_option, embedding_option, model_option
from graphrag_rdf.cli.process import INTERRUPTED
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import StoreLockedError
from graphrag_rdf.i18n import tr


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf mcp --store ~/notes/graphrag-store",
        "graphrag-rdf mcp --allow-ingest documents/",
    ],
)
@allow_ingest_option
@click.option("--read-only", is_flag=True, help="Write nothing to the store, not even traces.")
@model_option
@embedding_option
def mcp_command(
    allow_ingest: Path | None, read_only: bool, model: str | None, embedding_model: str | None
) -> int:
    """Serve the store as tools to the program that starts this one, over stdin and stdout (MCP).

    Tools: ask, retrieve, schema, sparql (reading), list, trace, source_of_fact, and with --allow-ingest also
    ingest. Resources: the vocabularies, documents and traces. Prompts: the queries of the cookbook.
    `serve` has the same tools over HTTP, at /mcp. Needs: pip install 'graphrag-rdf[mcp]'
    """
    overrides = {
        "llm.model": model,
        "embedding.model": embedding_model,
        "server.ingest_folder": allow_ingest,
    }
    from graphrag_rdf.wings.mcp.protocol import load, serve_stdio

    load()
    try:
        engine = open_engine(overrides, create=allow_ingest is not None, read_only=read_only)
    except StoreLockedError as error:
        if error.server is None:
            raise
        hint = tr("connect the program to {url}/mcp instead")
        raise StoreLockedError(error.message, hint.format(url=error.server), error.server) from error
    with engine:
        return 0 if serve_stdio(engine, engine.settings.server) else INTERRUPTED
