"""Tools of MCP servers, for agents: a server is a program that is started, or an address.

Programs, addresses and the names of environment variables come from a `tools.yaml` only. A connection lasts
for one call: a server that hangs is ended with it, and keeps nothing between calls.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_rdf.errors import ConfigError, GraphRagError, short_cause, without_credentials
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")

_QUIET = logging.NullHandler()
"""Without a handler the package prints tracebacks."""


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server.

    Attributes:
        command: the program and its arguments; empty for one with an address.
        url: of Streamable HTTP.
        env: environment variables that the program gets, beside PATH and the like.
        token_env: the environment variable with the bearer token for the address; "" for none.
        seconds: that connecting and a call may take together.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: tuple[str, ...] = ()
    token_env: str = ""
    seconds: float = 60.0

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return without_credentials(self.url) or self.command[0]


@dataclass(frozen=True, slots=True)
class Served:
    """A tool as its server describes it; `schema` is the JSON schema of its arguments."""

    description: str
    schema: Mapping[str, Any]


def served_tools(server: Server) -> dict[str, Served]:
    """The tools of a server, by name.

    Raises:
        ConfigError: when the package mcp, the program or an environment variable is missing.
        GraphRagError: when the server does not answer as it should.
    """

    async def listed(client: Client) -> dict[str, Served]:
        tools: dict[str, Served] = {}
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools |= {tool.name: Served(tool.description or "", tool.input_schema) for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                return tools

    return _talk(server, listed)


def call_tool(server: Server, name: str, arguments: Mapping[str, Any]) -> str:
    """What a tool of a server returns, as text.

    Raises:
        ConfigError: as `served_tools`.
        GraphRagError: when the tool fails, or the server does not answer as it should.
    """

    async def called(client: Client) -> str:
        result = await client.call_tool(name, dict(arguments))
        text = "\n".join(_words(part) for part in result.content)
        if result.is_error:
            raise GraphRagError(text or tr("the tool failed"))
        return text

    return _talk(server, called)


def _words(part: Any) -> str:
    """A part of a result: its text, or what it is."""
    resource = getattr(part, "resource", None)
    text = getattr(resource or part, "text", None)
    return text if isinstance(text, str) else f"({part.type}, not shown)"


def _talk(server: Server, work: Callable[[Client], Awaitable[T]]) -> T:
    """Connect, do something, and disconnect; in a thread, because the caller's may have an event loop."""
    logging.getLogger("mcp").addHandler(_QUIET)
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            tr("tools of type mcp need a package that is missing ({error})").format(error=error.name),
            hint=tr("pip install 'graphrag-rdf[mcp]'"),
        ) from None

    async def limited() -> T:
        async with asyncio.timeout(server.seconds), _connected(server) as client:
            return await work(client)

    with ThreadPoolExecutor(1, "mcp") as thread:
        try:
            return thread.submit(asyncio.run, limited()).result()
        except GraphRagError:
            raise
        except Exception as error:
            raise _explained(server, error) from error


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[Client]:
    from mcp import Client

    connect = _to_program(server) if server.command else _to_address(server)
    async with connect as transport, Client(transport) as client:
        yield client


@asynccontextmanager
async def _to_program(server: Server) -> AsyncIterator[Any]:
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program, *arguments = server.command
    env = {name: _variable(name) for name in server.env}
    with Path(os.devnull).open("w") as quiet:
        yield stdio_client(StdioServerParameters(command=program, args=arguments, env=env), errlog=quiet)


@asynccontextmanager
async def _to_address(server: Server) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {_variable(server.token_env)}"} if server.token_env else {}
    async with httpx2.AsyncClient(headers=headers, timeout=server.seconds) as client:
        yield streamable_http_client(server.url, http_client=client)


def _variable(name: str) -> str:
    if name not in os.environ:
        raise ConfigError(
            tr("the environment variable {name} is not set").format(name=name), hint=tr("tools.yaml names it")
        )
    return os.environ[name]


def _explained(server: Server, error: BaseException) -> GraphRagError:
    """What went wrong, in a sentence; libraries wrap it in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, GraphRagError):
        return error
    if isinstance(error, FileNotFoundError) and server.command:
        return ConfigError(
            tr("the program {command} of an MCP tool was not found").format(command=server.command[0]),
            hint=tr("install it, or correct command: in the agent's tools.yaml"),
        )
    if isinstance(error, TimeoutError):
        return GraphRagError(
            tr("{url} did not answer within {seconds:g} seconds").format(
                url=server.name, seconds=server.seconds
            )
        )
    return GraphRagError(f"{server.name}: {short_cause(without_credentials(str(error)) or error)}")
