"""Endpoints whose reads are behind their writes, or come from several servers in turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import SimpleQueue

import httpx
import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import EndpointError
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.migrations import migrate
from graphrag_rdf.store.remote import RemoteStore
from tests.support.commands import documents_in
from tests.support.endpoints import Server, oxigraph
from tests.support.gateway import Gateway, Passed, Said
from tests.support.sample_stores import templates

LAG = 0.5
Judge = Callable[[Passed], Said | None]


@pytest.fixture
def two() -> Iterator[tuple[Server, Server]]:
    """Two empty servers."""
    servers = (oxigraph(), oxigraph())
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


def forwarded(server: Server, request: Passed) -> Said:
    headers = {k: v for k, v in request.headers.items() if k in ("content-type", "accept")}
    got = httpx.post(f"{server.url}{request.path}", content=request.sent, headers=headers, timeout=30)
    return Said(got.status_code, got.content, {"Content-Type": got.headers.get("content-type", "")})


def lagging(two: tuple[Server, Server], lag: float) -> Judge:
    """Writes go to the first server at once and to the second one later, from which reads come."""
    first, second = two
    waiting: SimpleQueue[tuple[float, Passed]] = SimpleQueue()

    def replicate() -> None:
        while True:
            due, request = waiting.get()
            time.sleep(max(0.0, due - time.monotonic()))
            with suppress(httpx.TransportError):  # the test is over
                forwarded(second, request)

    def judge(request: Passed) -> Said:
        if not request.is_update:
            return forwarded(second, request)
        waiting.put((time.monotonic() + lag, request))
        return forwarded(first, request)

    threading.Thread(target=replicate, daemon=True).start()

    return judge


def in_turn(two: tuple[Server, Server], lag: float) -> Judge:
    """As `lagging`, but reads come from both in turn."""
    behind, numbers = lagging(two, lag), count()

    def judge(request: Passed) -> Said | None:
        if request.is_update or next(numbers) % 2:
            return behind(request)
        return forwarded(two[0], request)

    return judge


@pytest.mark.parametrize(
    ("judge_of", "replicas"), [pytest.param(lagging, 1, marks=pytest.mark.slow), (in_turn, 2)]
)
def test_an_ingest_behind_replicas_ends(
    two: tuple[Server, Server], tmp_path: Path, judge_of: Callable[..., Judge], replicas: int
) -> None:
    with Gateway(two[0].url, judge_of(two, 0.05)) as gateway:
        settings = Settings(store=gateway.url, remote={"folder": tmp_path / "local", "replicas": replicas})
        with Engine.open(config=settings) as engine:
            report = engine.ingest([documents_in(tmp_path)])
            assert (report.documents.added, report.failures) == (2, [])
            *_, final = engine.ask("Who founded the Tarnay Electric Light Company?")
    assert final.answer is not None
    assert "Walter Pennock" in final.answer["answer"]


def opened(url: str, **settings: float) -> RemoteStore:
    remote = RemoteSettings(retries=0, **settings)  # type: ignore[arg-type]
    store = RemoteStore(templates(), Endpoint(Addresses.of(url), remote))
    migrate(store)
    return store


def test_a_read_shows_the_write_before_it(two: tuple[Server, Server]) -> None:
    node = NamedNode("urn:a")
    with Gateway(two[0].url, lagging(two, LAG)) as gateway:
        store = opened(gateway.url)
        begun = time.monotonic()
        store.commit(Changes(add=[Quad(node, node, Literal("1"))]))
        assert store.query("ASK { <urn:a> <urn:a> '1' }").boolean is True
        assert time.monotonic() - begun >= LAG


def test_reads_that_stay_behind_are_an_error_with_the_number(two: tuple[Server, Server]) -> None:
    node = NamedNode("urn:a")
    with Gateway(two[0].url, lagging(two, LAG)) as gateway:
        store = opened(gateway.url, lag=LAG * 4)
        gateway.judge = lagging(two, 60)
        number = store.commit(Changes(add=[Quad(node, node, Literal("1"))]))
        with pytest.raises(EndpointError, match=f"does not show commit {number} after 2 seconds"):
            store.query("ASK { }")
