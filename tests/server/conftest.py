"""Servers that tests share: one that takes writes from anybody, emptied before each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.commands import documents_in
from tests.support.endpoint import TOKENS, WRITE, Endpoint


@pytest.fixture(scope="session")
def _open_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    store = tmp_path_factory.mktemp("open") / "store"
    options = ("--anonymous", "write", "--query-timeout", "2")
    env = {"GRAPHRAG_RDF_SERVER__MAX_ROWS": "60000", "GRAPHRAG_RDF_SERVER__READERS": "2"}
    with Endpoint.start(store, *options, **env) as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(_open_endpoint: Endpoint) -> Endpoint:
    """A server that anybody may write to, empty. Queries end after 2 s and 60,000 rows."""
    _update(_open_endpoint, "DROP ALL")
    return _open_endpoint


@pytest.fixture
def client(endpoint: Endpoint) -> Iterator[httpx.Client]:
    """A client of `endpoint`."""
    with endpoint.client() as found:
        yield found


@pytest.fixture(scope="session")
def _guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    store = tmp_path_factory.mktemp("guarded") / "store"
    env = {**TOKENS, "GRAPHRAG_RDF_SERVER__CORS": "https://app.example.org"}
    with Endpoint.start(store, **env) as endpoint:
        yield endpoint


@pytest.fixture
def guarded(_guarded: Endpoint) -> Endpoint:
    """A server with tokens of each role, that one origin may ask from its pages."""
    return _guarded


def _update(endpoint: Endpoint, update: str) -> None:
    with endpoint.client() as client:
        client.post("/update", data={"update": update}).raise_for_status()


@pytest.fixture(scope="session")
def documents_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two small documents; copy it before you change it."""
    from graphrag_rdf import Engine
    from graphrag_rdf.config import Settings

    place = tmp_path_factory.mktemp("documents")
    with Engine.open(config=Settings(store=str(place / "store"))) as engine:
        engine.ingest([documents_in(place)])
    return place / "store"


@pytest.fixture(scope="session")
def answering(documents_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over two small documents, as `serve` starts it; a copy, so that others can copy theirs."""
    place = tmp_path_factory.mktemp("answering") / "store"
    shutil.copytree(documents_store, place)
    with Endpoint.start(place) as endpoint:
        yield endpoint


def copy_of(store: Path, place: Path) -> Path:
    """A store of a test's own."""
    shutil.copytree(store, place / "store", ignore=shutil.ignore_patterns("snapshots", "holder.json"))
    return place / "store"


@pytest.fixture(scope="module")
def server(documents_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over two documents, with tokens."""
    with Endpoint.start(copy_of(documents_store, tmp_path_factory.mktemp("tokens")), **TOKENS) as endpoint:
        yield endpoint


@pytest.fixture
def stranger(server: Endpoint) -> Iterator[httpx.Client]:
    """A client of `server` without a token."""
    with server.client() as client:
        yield client


@pytest.fixture
def writer(server: Endpoint) -> Iterator[httpx.Client]:
    """A client of `server` that may write."""
    with server.client(WRITE) as client:
        yield client
