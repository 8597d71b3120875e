"""`serve` and `mcp`: serve the store over HTTP, or as tools over the Model Context Protocol."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, allow_ingest_option, embedding_option, model_option
from graphrag_rdf.cli.session import about_default, load, open_engine
from graphrag_rdf.errors import without_credentials
from graphrag_rdf.i18n import tr
from graphrag_rdf.loopback import is_loopback

if TYPE_CHECKING:
    from graphrag_rdf.config import ServerSection
    from graphrag_rdf.engine import Engine


_ROLES = ("nothing", "read", "write", "admin")


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf serve --open",
        "graphrag-rdf serve --port 8080 --token-file tokens.txt --cors https://app.example.org",
        "graphrag-rdf --store http://127.0.0.1:7879 serve",
        "curl --data-urlencode 'query=SELECT * { ?s ?p ?o } LIMIT 5' localhost:7878/sparql",
    ],
)
@click.option("--host", metavar="ADDRESS", help="Listen on this address (default: 127.0.0.1).")
@click.option("--port", type=click.IntRange(0, 65535), help="Listen on this port (default: 7878; 0: any).")
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Also accept requests for this host name; may be repeated.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File with lines 'read|write|admin TOKEN'. Clients need a token to write.",
)
@click.option(
    "--anonymous", type=click.Choice(_ROLES), help="Role of clients without a token (default: read)."
)
@click.option("--read-only", is_flag=True, help="Write nothing to the store.")
@click.option(
    "--query-timeout",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    help="Time limit of a query (default: 30).",
)
@click.option(
    "--cors",
    multiple=True,
    metavar="ORIGIN",
    help="Allow requests from pages of this origin; may be repeated.",
)
@click.option("--open", "open_browser", is_flag=True, help="Open the pages in a browser.")
@allow_ingest_option
@model_option
@embedding_option
def serve_command(
    host: str | None,
    port: int | None,
    allow_host: tuple[str, ...],
    token_file: Path | None,
    anonymous: str | None,
    read_only: bool,
    query_timeout: float | None,
    cors: tuple[str, ...],
    open_browser: bool,
    allow_ingest: Path | None,
    model: str | None,
    embedding_model: str | None,
) -> None:
    """Serve the store over HTTP: pages at /, SPARQL at /sparql, graphs at /store, questions at /ask.

    By default, only this computer can reach the server. Reading needs no token. To write from a browser, open
    the link that is printed; programs need a token. With --store URL, queries are forwarded to that endpoint,
    within the limits of this server.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    overrides = {
        "llm.model": model,
        "embedding.model": embedding_model,
        "server.host": host,
        "server.port": port,
        "server.allow_hosts": list(allow_host) or None,
        "server.token_file": token_file,
        "server.anonymous": anonymous,
        "server.query_timeout": query_timeout,
        "server.cors": list(cors) or None,
        "server.ingest_folder": allow_ingest,
    }
    from graphrag_rdf.server.run import leave, serve

    _warn_of_writers(load(overrides).settings.server, read_only=read_only)
    with open_engine(overrides, create=not read_only, read_only=read_only) as engine:
        _tell_of_endpoint(engine)
        told = about_default(engine.settings.extract.namespace)
        if told and not is_loopback(engine.settings.server.host):
            output.note(told)
        if not engine.store.ask("system/has-content"):
            output.note(
                tr("the store is empty; add documents on its page, or with: graphrag-rdf ingest --server URL")
            )
        pages = _Pages(open_browser)
        serve(engine, engine.settings.server, pages.ready, pages.announce)
    leave()


class _Pages:
    """What is printed, and opened, when the server is ready.

    Args:
        open_browser: open the first link in a browser.
    """

    def __init__(self, open_browser: bool) -> None:
        self._open = open_browser
        self._announced = False

    def ready(self, url: str) -> None:
        """Print the address."""
        output.note(tr("serving {url}; stop with Ctrl-C").format(url=url))

    def announce(self, link: str) -> None:
        """Print a link for one browser; open the first one."""
        if self._announced:
            output.note(tr("a browser has opened the link; for another one: {link}").format(link=link))
            return
        self._announced = True
        output.note(tr("to add documents and ask in a browser, open {link}").format(link=link))
        if self._open:
            import webbrowser

            webbrowser.open(link)


def _tell_of_endpoint(engine: Engine) -> None:
    """Print what differs if the store is behind an endpoint."""
    from graphrag_rdf.store.remote import RemoteStore

    store = engine.store
    if not isinstance(store, RemoteStore):
        return
    output.note(
        tr(
            "the store is at {query}, in the dialect "
            "{dialect}. Queries run there and see everything that the endpoint shows to this "
            "server. There are no snapshots, reader processes or ETags"
        ).format(query=without_credentials(store.endpoint.addresses.query), dialect=store.renderer.dialect)
    )


def _warn_of_writers(server: ServerSection, *, read_only: bool) -> None:
    """Warn if clients without a token may change the store from other computers."""
    if server.anonymous not in ("write", "admin") or read_only or is_loopback(server.host):
        return
    output.warn(
        tr(
            "clients that can reach {host} may change and erase the store without a token: "
            "server.anonymous is {anonymous}"
        ).format(host=server.host, anonymous=server.anonymous)
    )
