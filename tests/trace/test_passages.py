"""The passages of a trace and what their scores are made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.steps.exploration import PassageHit
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.export import export_trace
from graphrag_rdf.trace.reader import read_trace
from tests.support.commands import documents_in
from tests.support.stores import open_engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Over two documents, of which something was asked."""
    place = tmp_path_factory.mktemp("passages")
    with open_engine(config=Settings(store=str(place / "store"))) as found:
        found.ingest([documents_in(Path(place))])
        list(found.ask("Who founded the Tarnay Electric Light Company?"))
        yield found


@pytest.fixture
def session(engine: Engine) -> NamedNode:
    """The trace."""
    return find_trace(engine.store, "last")


def chunks_of(engine: Engine, session: NamedNode) -> list[PassageHit]:
    steps = read_trace(engine.store, session).steps
    return next(step.items["passages"] for step in steps if step.kind == "exploration")


def test_shares_make_the_score(engine: Engine, session: NamedNode) -> None:
    passages = chunks_of(engine, session)
    assert [passage.rank for passage in passages] == list(range(1, len(passages) + 1))
    best = passages[0]
    assert best.title == "Company"
    assert best.recomputed == pytest.approx(best.score)
    assert best.others + sum(share.share for share in best.paths) == pytest.approx(best.score)
    assert sum(best.signal_shares.values()) == pytest.approx(best.score)
    assert {path.label for path in best.paths} >= {"Tarnay Electric Light Company"}


def test_they_are_on_the_page(engine: Engine, session: NamedNode) -> None:
    page = export_trace(engine.store, engine.blobs, session, "html")
    assert "<h3>Chunks</h3>" in page
    assert "path" in page
