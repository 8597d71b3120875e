"""Stores of the kind that a test run asks for: embedded, or behind an endpoint.

Tests open stores by `open_engine` and `open_store`, as they would by `Engine.open` and `EmbeddedStore`. With
another kind than `embedded` a folder holds what is kept beside a remote store, and a copy of the dataset
while the store is closed: so folders can be copied, damaged and opened again, whatever the kind.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphrag_rdf.config import Settings, load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.store.local_files import open_remote
from graphrag_rdf.store.remote import RemoteStore
from tests.support.endpoints import Pool, Server, save, saved

_DATASET = "dataset.nq"
_pools: dict[str, Pool] = {}
_kind = "embedded"


def use(kind: str) -> None:
    """Open stores of this kind from now on."""
    global _kind  # noqa: PLW0603 - one kind at a time, and tests are not run in parallel in a process
    _kind = kind


def kind() -> str:
    """The kind that is in use."""
    return _kind


def close_all() -> None:
    """End all servers."""
    for pool in _pools.values():
        pool.close()
    _pools.clear()


def _pool() -> Pool:
    return _pools.setdefault(_kind, Pool(_kind))


def endpoint_of(server: Server) -> Endpoint:
    """How the program speaks to a server."""
    return Endpoint(Addresses.of(server.url, update=server.update_url), RemoteSettings(**server.remote))


def open_engine(
    where: str | Path | None = None,
    *,
    config: Settings | None = None,
    create: bool = True,
    read_only: bool = False,
) -> Engine:
    """As `Engine.open`."""
    if _kind == "embedded":
        return Engine.open(where, config=config, create=create, read_only=read_only)
    settings = config or load_settings().settings
    named = str(where if where is not None else settings.store)
    passing = named == ":memory:"
    place = StoreFolder(Path(tempfile.mkdtemp(prefix="graphrag-rdf-beside-")) if passing else Path(named))
    pool = _pool()
    server = pool.take(saved(place.root / _DATASET))
    try:
        user = [settings.queries] if settings.queries else []
        store, blobs = open_remote(
            place,
            endpoint_of(server),
            TemplateLibrary(folder("queries"), *user),
            create=create,
            read_only=read_only,
        )
    except BaseException:
        pool.give_back(server)
        raise
    engine = Engine(store, blobs, settings, place, read_only=read_only)

    def leave() -> None:
        if passing:
            shutil.rmtree(place.root, ignore_errors=True)
        elif not read_only:
            save(store.quads(), place.root / _DATASET)

    _on_close(engine, leave, pool, server)
    return engine


def _on_close(engine: Engine, leave: Callable[[], None], pool: Pool, server: Server) -> None:
    close, closed = engine.close, False

    def close_once() -> None:
        nonlocal closed
        if closed:
            return
        closed = True
        close()
        leave()
        pool.give_back(server)

    engine.close = close_once  # type: ignore[method-assign]


def open_store(templates: TemplateLibrary, dialect: Dialect = "rdf12", **options: Any) -> Store:
    """As `EmbeddedStore` in memory, its server given back at the end of the run."""
    if _kind == "embedded":
        return EmbeddedStore(templates, dialect=dialect, **options)
    return RemoteStore(templates, endpoint_of(_pool().take()))
