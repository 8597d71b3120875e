"""A defect of the program, met in one chunk or document, is recorded there, and the run goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.errors import StoreError
from tests.ingest.conftest import (
    MakeEngine,
    assert_same,
    by_model,
    chunks,
    content,
    everything,
    facts,
    index_matches_store,
)
from tests.support.scripted_server import ScriptedServer

NEWS = "\n\n".join(
    f"The {town} Society met Queen Anne of Windsor. They opened the new bridge of {town} on a cold day."
    for town in ("Aldgate", "Barrow", "Corby")
)


@pytest.fixture
def news(docs: Path) -> Path:
    """A document of three chunks and one of a single chunk."""
    (docs / "news.txt").write_text(NEWS)
    (docs / "other.txt").write_text("Dover was founded by John Fowey in 1912.")
    return docs


def broken(monkeypatch: pytest.MonkeyPatch, place: str, error: type[Exception], word: str) -> None:
    """Let a function raise wherever its arguments name the word."""
    module, _, name = place.rpartition(".")
    works: Callable[..., Any] = getattr(import_module(module), name)

    def raising(*args: Any, **kwargs: Any) -> Any:
        if word in repr((args, kwargs)):
            raise error("out of luck")
        return works(*args, **kwargs)

    monkeypatch.setattr(place, raising)


def failures(engine: Any) -> list[tuple[str, str]]:
    rows = engine.store.select("ingest/failures")
    return [(row["about"].value, row["reason"]) for row in rows]


IN_A_CHUNK = [
    ("graphrag_rdf.wings.rules.extractor.find_mentions", IndexError),
    ("graphrag_rdf.wings.rules.extractor.find_mentions", RecursionError),
    ("graphrag_rdf.wings.rules.extractor.find_mentions", MemoryError),
    ("graphrag_rdf.ingest.run.topics_of", KeyError),
    ("graphrag_rdf.rdf.prov.evidence", ValueError),
]


@pytest.mark.parametrize(("place", "error"), IN_A_CHUNK)
def test_a_chunk_fails_alone(
    news: Path, engine_of: MakeEngine, monkeypatch: pytest.MonkeyPatch, place: str, error: type[Exception]
) -> None:
    whole = engine_of()
    whole.ingest([news])
    engine = engine_of("store")
    with monkeypatch.context() as patched:
        broken(patched, place, error, "Barrow")
        report = engine.ingest([news])
        (failure,) = report.failures
        assert failure.path == str(news / "news.txt")
        assert failure.chunk in chunks(engine)
        assert failure.stage == "extract"
        assert failure.reason.startswith(f"unexpected {error.__name__} in ")
        assert [warning["type"] for warning in report.warnings] == ["unexpected_error"]
        assert report.stopped is None
        assert failures(engine) == [(failure.chunk, failure.reason)]
        assert len(chunks(engine)) == len(chunks(whole))
        assert {fact for fact in facts(whole) if "barrow" not in str(fact)} >= facts(engine)
        assert any("dover" in fact[0] for fact in facts(engine))
        index_matches_store(engine)
        assert len(engine.ingest([news]).failures) == 1  # tried again
    assert engine.ingest([news]).failures == []
    assert failures(engine) == []
    assert_same(content(engine), content(whole))
    index_matches_store(engine)


@pytest.mark.parametrize(
    "place",
    [
        "graphrag_rdf.ingest.plan.chunk_text",
        "graphrag_rdf.documents.readers.detect_language",
        "graphrag_rdf.documents.readers.encoding.decode",
    ],
)
def test_a_document_fails_alone(
    news: Path, engine_of: MakeEngine, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    engine = engine_of()
    with monkeypatch.context() as patched:
        broken(patched, place, IndexError, "Barrow")
        report = engine.ingest([news])
        (failure,) = report.failures
        assert (failure.path, failure.chunk, failure.stage) == (str(news / "news.txt"), None, "read")
        assert "unexpected IndexError" in failure.reason
        assert (report.documents.added, report.documents.failed) == (1, 1)
        assert len(failures(engine)) == 1
    report = engine.ingest([news])
    assert (report.documents.added, report.failures, failures(engine)) == (1, [], [])


def test_the_answer_of_a_model_that_breaks_the_parser(
    news: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(**by_model(scripted_server))
    broken(monkeypatch, "graphrag_rdf.extract.answers.parse_sections", RecursionError, "Barrow")
    report = engine.ingest([news])
    (failure,) = report.failures
    assert "unexpected RecursionError" in failure.reason
    assert report.chunks.added == 4


def test_what_the_store_refuses_ends_the_run(
    news: Path, engine_of: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of()
    before = everything(engine)
    broken(monkeypatch, "graphrag_rdf.ingest.plan.chunk_text", StoreError, "")
    with pytest.raises(StoreError, match="out of luck"):
        engine.ingest([news])
    assert_same(everything(engine), before)


def test_the_command_reports_it_and_shows_the_traceback_on_request(news: Path, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from graphrag_rdf.cli import main\n"
        "from graphrag_rdf.wings.rules import extractor as rules\n"
        "works = rules.find_mentions\n"
        "def find_mentions(text, *args, **kwargs):\n"
        "    return [][1] if 'Barrow' in text else works(text, *args, **kwargs)\n"
        "rules.find_mentions = find_mentions\n"
        "sys.exit(main())\n"
    )

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = ["ingest", "--store", str(tmp_path / "store"), "--model", "none", str(news), *options]
        return subprocess.run(
            [sys.executable, "-c", script, *command], capture_output=True, text=True, check=False
        )

    first = run("--format", "json")
    assert first.returncode == 3
    report = json.loads(first.stdout)
    assert "unexpected IndexError" in report["failures"][0]["reason"]
    assert report["documents"]["added"] == 2
    assert "Traceback" not in first.stdout + first.stderr
    again = run("-v")
    assert again.returncode == 3
    assert "IndexError: list index out of range" in again.stderr
    assert "Traceback" in again.stderr
