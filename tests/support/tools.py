"""The official client of the Model Context Protocol, and what tests call through it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.support.commands import environment, program
from tests.support.endpoint import Endpoint, bearer

T = TypeVar("T")


def stdio(store: Path, *options: str, **env: str) -> Any:
    """A transport that starts `graphrag-rdf mcp` as its child."""
    from mcp.client.stdio import StdioServerParameters

    command, *arguments = program("--store", store, "mcp", *options)
    return StdioServerParameters(command=command, args=arguments, env=environment(**env))


@contextlib.asynccontextmanager
async def over_http(endpoint: Endpoint, token: str | None = None) -> AsyncIterator[Any]:
    """A transport to a server's /mcp."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = bearer(token) if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, verify=False) as client,
        streamable_http_client(f"{endpoint.url}/mcp", http_client=client) as streams,
    ):
        yield streams


def talk(transport: Any, work: Callable[[Any], Coroutine[Any, Any, T]], mode: str = "auto") -> T:
    """Connect, and do something with the client.

    Args:
        mode: of the client: `auto` takes the newest version of the protocol, `legacy` the one with sessions.
    """
    from mcp import Client

    async def run() -> T:
        async with Client(transport, mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    """What a tool says for people to read."""
    return "".join(part.text for part in result.content)
