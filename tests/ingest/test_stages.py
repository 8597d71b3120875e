"""Stages that are run again from what the store keeps: they mend what they make, and touch nothing else."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Quad

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.files import refresh_names
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import RAG, RDFS, SKOS
from graphrag_rdf.store.base import Changes
from tests.ingest.conftest import (
    KilledError,
    MakeEngine,
    assert_same,
    by_model,
    content,
    everything,
    facts,
    index_matches_store,
    killed_after,
    settings,
)
from tests.support.scripted_server import ScriptedServer

TEXTS = {
    "petrel.txt": "Rhoda Tennant built the Petrel in Port Merrin. The Petrel sank in Skell Sound. "
    "Isak Wennerby, who met Rhoda Tennant in Port Merrin, designed the reversing gear.\n",
    "orr.txt": "Andrew Orr lived in Port Merrin. Andrew Orr designed Drumlaw Head Lighthouse.\n",
}


@pytest.fixture
def written(docs: Path) -> Path:
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    return docs


def test_no_file_is_needed(written: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([written])
    before = content(engine)
    for file in written.iterdir():
        file.unlink()
    report = engine.refresh_texts()
    assert report.documents.read_again == 2
    assert report.failures == []
    assert_same(content(engine), before)
    assert index_matches_store(engine)


def test_mentions_are_found_again_and_facts_stay(written: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([written])
    before, said = content(engine), facts(engine)
    lost = [quad for quad in everything(engine) if quad.predicate == RAG.mentions]
    engine.store.commit(Changes(remove=lost))
    document = find_documents(engine.store, [str(written / "orr.txt")])
    engine.refresh_texts(document, mentions_only=True)
    found = {quad for quad in everything(engine) if quad.predicate == RAG.mentions}
    assert found
    assert found < set(lost), "those of one document"
    engine.refresh_texts(mentions_only=True)
    assert facts(engine) == said
    assert_same(content(engine), before)
    assert index_matches_store(engine)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_mentions_of_what_a_model_found_need_no_model(
    written: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([written])
    before, asked = content(engine), len(scripted_server.requests)
    engine.refresh_texts(mentions_only=True)
    assert len(scripted_server.requests) == asked
    assert_same(content(engine), before)


def test_what_was_cut_otherwise_is_not_looked_at_for_mentions_alone(
    written: Path, engine_of: MakeEngine
) -> None:
    engine = engine_of("kept")
    engine.ingest([written])
    before = content(engine)
    engine.close()
    other = engine_of("kept", documents__chunk_size=60)
    report = other.refresh_texts(mentions_only=True)
    assert len(report.skipped) == 2
    assert_same(content(other), before)
    assert other.refresh_texts().chunks.added > 0


def test_a_model_is_asked_again_for_one_document(
    written: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    engine = engine_of("kept", **by_model(scripted_server))
    engine.ingest([written])
    before = content(engine)
    scripted_server.requests.clear()
    document = find_documents(engine.store, [str(written / "orr.txt")])
    engine.refresh_texts(document)
    assert scripted_server.requests
    assert all("Andrew Orr" in request.prompt for request in scripted_server.requests)
    assert_same(content(engine), before)


def test_a_document_whose_bytes_are_gone_is_a_failure(written: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([written])
    row = engine.store.select("ingest/originals", documents=[])[0]
    engine.blobs.delete(row["original"])  # type: ignore[arg-type]
    report = engine.refresh_texts()
    assert [failure.reason for failure in report.failures] == ["its bytes are not in the blob store"]
    assert report.documents.read_again == 1


def test_labels_are_elected_again(written: Path, engine_of: MakeEngine) -> None:
    (written / "loud.txt").write_text("RHODA TENNANT lived in Port Merrin.\n")
    engine = engine_of()
    engine.ingest([written])
    before = content(engine)
    names = {
        quad.object.value: quad  # type: ignore[union-attr]
        for quad in everything(engine)
        if quad.predicate in (RDFS.label, SKOS.altLabel) and str(quad.subject).endswith("/rhoda-tennant>")
        if isinstance(quad.graph_name, DefaultGraph)
    }
    quiet, loud = names["Rhoda Tennant"], names["RHODA TENNANT"]
    assert quiet.predicate == RDFS.label
    swapped = [
        Quad(quiet.subject, other.predicate, one.object) for one, other in ((quiet, loud), (loud, quiet))
    ]
    engine.store.commit(Changes(remove=[quiet, loud], add=swapped))
    document = find_documents(engine.store, [str(written / "petrel.txt")])
    assert refresh_names(engine, document) < refresh_names(engine, [])
    assert_same(content(engine), before)
    assert index_matches_store(engine)


def edit(engine: Engine, docs: Path) -> None:
    """Ingest the documents with a sentence between others, and one other that names somebody else."""
    (docs / "petrel.txt").write_text(TEXTS["petrel.txt"].replace(". The", ". Masons came from Leeds. The"))
    (docs / "orr.txt").write_text(TEXTS["orr.txt"].replace("Andrew Orr lived", "Ida Brandt lived"))
    engine.ingest([docs])


STAGES: dict[str, Callable[[Engine, Path], object]] = {
    "edit": edit,
    "facts": lambda engine, _: engine.refresh_texts(),
    "mentions": lambda engine, _: engine.refresh_texts(mentions_only=True),
    "relations": lambda engine, _: engine.refresh("relations"),
    "names": lambda engine, _: refresh_names(engine, []),
    "index": lambda engine, _: engine.rebuild_indexes(),
}


@pytest.mark.slow
@pytest.mark.embedded
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("size", [50, 2000])
def test_a_run_that_is_killed_leaves_warnings_which_the_next_clears(
    written: Path,
    tmp_path: Path,
    scripted_server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    size: int,
) -> None:
    """After each of its commits. A model read the texts before, and relations were built."""
    with Engine.open(
        tmp_path / "whole", config=settings(**by_model(scripted_server), documents__chunk_size=size)
    ) as engine:
        engine.ingest([written])
        engine.refresh("relations")
    for number in itertools.count(1):
        store = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", store)
        config = settings(documents__chunk_size=size)
        with Engine.open(store, config=config) as engine, monkeypatch.context() as patch:
            patch.setattr(engine.store, "commit", killed_after(number, engine.store.commit))
            with suppress(KilledError):
                STAGES[stage](engine, written)
                break
        with Engine.open(store, config=config) as engine:
            found = run_checks(engine.store, engine.blobs, engine.text_index)
            assert [violation for violation in found if violation.severity == "error"] == []
            STAGES[stage](engine, written)
            assert run_checks(engine.store, engine.blobs, engine.text_index) == []
            assert index_matches_store(engine)
