"""Values that an engine cannot hold, as Virtuoso integers of more than 64 bits: an ingest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Literal

from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import RemoteSection, Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import EndpointError
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import typed
from tests.support.endpoints import Server
from tests.support.gateway import Gateway, Passed, Said

NUMBER = "12345678901234567890123"
LARGE = f'"{NUMBER}"^^<{XSD.integer.value}>'


def no_large_integers(request: Passed) -> Said | None:
    return Said(500, b"cannot convert") if LARGE in request.body else None


def opened(url: str, folder: Path) -> Engine:
    return Engine.open(url, config=Settings(remote=RemoteSection(folder=folder, retries=0)))


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    (place / "a.txt").write_text("Ada Kerrow founded the Skerry Mail in 1902.\n")
    (place / "b.txt").write_text(
        f"Ben Loy founded the Fell Gazette. The population of Ostmark was {NUMBER}.\n"
    )
    (place / "c.txt").write_text("Cora Munn founded the Brae Gazette in 1951.\n")
    return place


def test_a_fact_has_it_as_a_plain_text_and_says_so(server: Server, documents: Path, tmp_path: Path) -> None:
    (documents / "n.csv").write_text(f"name,lamps\nOstmark,{NUMBER[:18]}\nWestmark,2\n")
    with (
        Gateway(server.url, no_large_integers) as between,
        opened(between.url, tmp_path / "beside") as engine,
    ):
        report = engine.ingest([documents])
        assert report.documents.added == 4
        (warning,) = (found for found in report.warnings if found["type"] == "literal_as_text")
        assert "b.txt" in warning["detail"]
        assert NUMBER in warning["detail"]
        rows = (
            engine.store.query(f'SELECT ?o {{ ?s ?p ?o FILTER(CONTAINS(STR(?o), "{NUMBER}")) }}').rows or []
        )
        assert {row["o"] for row in rows} == {Literal(NUMBER)}
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []
        assert engine.ingest([documents]).quads == 0


def test_an_engine_that_holds_it_keeps_what_it_is(server: Server, documents: Path, tmp_path: Path) -> None:
    with opened(server.url, tmp_path / "beside") as engine:
        assert engine.ingest([documents]).warnings == []
        assert engine.store.query(f"ASK {{ ?s ?p {LARGE} }}").boolean


def test_an_endpoint_that_refuses_everything_says_nothing_of_a_value(
    server: Server, documents: Path, tmp_path: Path
) -> None:
    """It is no reason to write something else."""

    def judge(request: Passed) -> Said | None:
        return Said(401, b"who?") if "VALUES ?value" in request.body else None

    with Gateway(server.url) as between, opened(between.url, tmp_path / "beside") as engine:
        between.judge = judge
        with pytest.raises(EndpointError, match="requires credentials"):
            engine.ingest([documents])
        between.judge = lambda request: None
        assert engine.ingest([documents]).warnings == []
        assert engine.store.refused([typed(NUMBER, XSD.integer.value)]) == set()
