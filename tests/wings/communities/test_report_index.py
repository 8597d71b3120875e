"""Reports in the indexes: found by words and meaning, in step with the store, and rebuilt from it alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks.diagnosis import index_status
from graphrag_rdf.config import load_settings
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.store.base import Changes
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

TEXTS = {
    "a.txt": "Walter Pennock founded the Tarnay Electric Light Company. He lived in Port Merrin.\n",
    "b.txt": "Beatrice Pennock succeeded Walter Pennock in 1911. Andrew Orr visited Port Merrin.\n",
    "d.txt": "Lin Yuhua met Chen Liwen. Chen Liwen taught Lin Yuhua.\n",
}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    for name, text in TEXTS.items():
        (place / name).write_text(text)
    return place


def opened(place: Path, documents: Path, **given: object) -> Engine:
    config = load_settings(None, {"extract.use": "rules", **given}).settings
    engine = open_engine(place, config=config)
    engine.ingest([documents])
    return engine


@pytest.fixture
def engine(tmp_path: Path, documents: Path) -> Iterator[Engine]:
    with opened(tmp_path / "store", documents) as engine:
        yield engine


def reports(engine: Engine) -> set[str]:
    return {row["report"].value for row in engine.store.select("index/all-reports")}


def require_in_step(engine: Engine) -> None:
    assert [*engine.indexer.differences()] == []
    assert {*engine.text_index.iris("report")} == reports(engine)


def test_a_build_indexes_its_reports(engine: Engine) -> None:
    assert engine.text_index.count("report") == 0
    engine.refresh("communities")
    require_in_step(engine)
    counts = index_status(engine)["indexes"]["text"]["counts"]
    assert counts["report"] == len(reports(engine)) > 1
    (best, *_) = engine.text_index.search("Who taught Lin Yuhua?", kind="report", k=5, language="en")
    rows = engine.store.select("index/findings", reports=[NamedNode(best.iri)])
    assert "Chen Liwen taught Lin Yuhua." in {row["explanation"] for row in rows}
    engine.rebuild_indexes()
    require_in_step(engine)


def test_a_report_speaks_the_language_of_its_documents(engine: Engine, documents: Path) -> None:
    for number in range(3):
        text = "Der Leuchtturm wurde von Georg Asmussen gebaut. Er wohnte mit Anna Asmussen dort."
        (documents / f"de{number}.txt").write_text(f"{text} Das war im Jahr 190{number}.\n")
    engine.ingest([documents])
    engine.refresh("communities")
    spoken = {
        row["report"]: row["language"]
        for row in reversed(
            engine.store.select("index/report-languages", reports=map(NamedNode, reports(engine)))
        )
    }
    assert {*spoken.values()} == {"en", "de"}


def test_reports_go_with_what_they_were_written_from(engine: Engine, documents: Path) -> None:
    engine.refresh("communities")
    before = reports(engine)
    forget_documents(engine, find_documents(engine.store, [str(documents / "d.txt")]))
    assert reports(engine) < before
    require_in_step(engine)
    (documents / "b.txt").write_text("Beatrice Pennock succeeded Walter Pennock in 1912.\n")
    engine.ingest([documents])
    require_in_step(engine)


def test_without_reports_there_are_none_to_find(engine: Engine, tmp_path: Path, documents: Path) -> None:
    engine.refresh("communities")
    engine.close()
    with opened(tmp_path / "store", documents, **{"communities.reports": "none"}) as engine:
        engine.refresh("communities")
        require_in_step(engine)
        assert engine.text_index.count("report") == 0


def test_a_question_catches_up_with_reports_that_were_never_indexed(engine: Engine) -> None:
    engine.refresh("communities")
    gone = sorted(reports(engine))[0]
    # a process that was killed between the removal of a report and the write of the index
    engine.store.commit(
        Changes(updates=[("communities/drop-reports", {"reports": [NamedNode(gone)]})], content=False)
    )
    assert gone in {*engine.text_index.iris("report")}
    list(engine.ask("Who taught Lin Yuhua?", stored=False))
    require_in_step(engine)


def test_vectors_of_reports(tmp_path: Path, documents: Path, scripted_server: ScriptedServer) -> None:
    place = {"embedding.model": "openai/embed", "llm.api_base": scripted_server.base_url, "llm.api_key": "k"}
    with opened(tmp_path / "store", documents, **place) as engine:
        engine.refresh("communities")
        assert engine.vectors is not None
        assert {*engine.vectors.iris("report")} == {*engine.text_index.iris("report")} == reports(engine)
        assert [*engine.indexer.differences()] == []


@pytest.mark.embedded
def test_an_index_of_an_earlier_version_gets_the_new_kind(engine: Engine, tmp_path: Path) -> None:
    assert engine.place is not None
    folder = engine.place.index / "text"
    engine.refresh("communities")
    engine.close()
    manifest = json.loads((folder / "manifest.json").read_text())
    for one in folder.glob("report-*"):
        shutil.rmtree(one)
    del manifest["kinds"]["report"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with open_engine(tmp_path / "store", config=engine.settings) as again:
        assert again.text_index.count("report") == 0
        assert again.text_index.count("chunk") > 0
        list(again.ask("Who taught Lin Yuhua?", stored=False))
        require_in_step(again)
