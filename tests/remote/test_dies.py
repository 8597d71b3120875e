"""An endpoint that dies in the middle of an ingest: run again, it goes on, and ends where it should."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import RemoteSection, Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf.namespaces import ENDPOINT_NODE
from tests.ingest.conftest import assert_same, content
from tests.support.endpoints import Server, oxigraph
from tests.support.gateway import Gateway, Passed, Said
from tests.support.sample_stores import DOCUMENTS

FILES = sorted(DOCUMENTS.glob("*.md"))[:3]


@pytest.fixture
def lasting() -> Iterator[Server]:
    """`oxigraph serve` on a disk."""
    server = oxigraph(on_disk=True)
    server.start()
    yield server
    server.stop()


def opened(url: str, folder: Path, **remote: object) -> Engine:
    return Engine.open(
        url,
        config=Settings(remote=RemoteSection(folder=folder, retries=0, **remote)),  # type: ignore[arg-type]
    )


def dying(server: Server, after: int) -> Callable[[Passed], Said | None]:
    """The endpoint is killed as it gets the n-th update, which it may or may not have taken in."""
    lock, left = threading.Lock(), after

    def judge(request: Passed) -> Said | None:
        nonlocal left
        with lock:
            left -= request.is_update
            if left > 0 or server.process is None:
                return None
            if server.process.poll() is None:
                server.kill()
            return Said(0)

    return judge


@pytest.mark.embedded  # it starts the server that it kills
@pytest.mark.parametrize("batch", [5_000, 60])
def test_an_ingest_goes_on_where_the_endpoint_died(lasting: Server, tmp_path: Path, batch: int) -> None:
    """Also when a chunk takes several requests, so that half of one was written."""
    deaths = 0
    with Gateway(lasting.url) as between:
        for after in (4, 7, 12):
            between.judge = dying(lasting, after)
            try:
                with opened(between.url, tmp_path / "beside", batch=batch) as engine:
                    engine.ingest(FILES)
            except StoreError:
                deaths += 1
                lasting.start()
        assert deaths >= 2
        between.judge = lambda request: None
        with opened(between.url, tmp_path / "beside", batch=batch) as engine:
            engine.ingest(FILES)
            violations = run_checks(engine.store, engine.blobs, engine.text_index)
            assert {violation.check for violation in violations} <= {"runs-finished"}
            with Engine.open(":memory:", config=Settings()) as whole:
                whole.ingest(FILES)
                wanted = content(whole, history=False)
            found = {q for q in content(engine, history=False) if q.subject != ENDPOINT_NODE}
            assert_same(found, wanted)
            assert engine.ingest(FILES).quads == 0
