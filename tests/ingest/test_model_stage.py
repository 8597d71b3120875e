"""A stage is declared in one module, and appears wherever stages do: a toy that no other module names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from graphrag_rdf import Engine
from graphrag_rdf.checks.diagnosis import index_status, warnings
from graphrag_rdf.cli.ingest import show_report
from graphrag_rdf.cli.refresh import refresh_command
from graphrag_rdf.config import Settings
from graphrag_rdf.ingest.estimate import estimate
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.stages import ingest_pipeline, model_stages, stages
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.wing import Wing, wings
from tests.ingest.conftest import MakeEngine, by_model, chunks
from tests.support.scripted_server import ScriptedServer

TOY = Path(__file__).parent / "toy_stage"
MODULE = "openings"


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A wing of another package that brings the stage."""
    toy = Wing(name="toy", about="A stage.", stages=(f"{MODULE}:STAGE",))
    monkeypatch.syspath_prepend(TOY)
    monkeypatch.setattr("graphrag_rdf.ingest.stages.wings", lambda: (*wings(), toy))
    for listed in (model_stages, stages):
        listed.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop(MODULE, None)
    for listed in (model_stages, stages):
        listed.cache_clear()


@pytest.fixture
def texts(docs: Path) -> Path:
    (docs / "a.txt").write_text("Rhoda Tennant built the Petrel in Port Merrin. It sank.\n")
    (docs / "b.txt").write_text("Isak Wennerby designed the reversing gear. It broke.\n")
    return docs


def engine_with(engine_of: MakeEngine, server: ScriptedServer, **overrides: Any) -> Engine:
    shared = {"extract__use": "rules", "queries": TOY / "queries", "extract__jobs": 1}
    return engine_of(**{**by_model(server), **shared, **overrides})


def openings(engine: Engine) -> list[str]:
    quads = engine.store.quads(Graphs.DERIVED)
    return sorted(str(q.object) for q in quads if str(q.subject).startswith("<urn:opening:"))


def test_it_stands_after_the_stages_of_the_file() -> None:
    assert ingest_pipeline(Settings()).end[-1].stage == "openings"
    assert [kind.stage.name for kind in model_stages()][-1] == "openings"


def test_an_ingest_estimates_runs_and_reports_it(
    texts: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = engine_with(engine_of, scripted_server)
    planned = estimate(engine, [texts])
    assert (planned.llm.calls, planned.llm.in_tokens, planned.llm.out_tokens) == (2, 20, 10)
    report = engine.ingest([texts])
    assert report.stages["openings"] == to_json(report)["openings"] == len(chunks(engine)) == 2
    show_report(report, "rules")
    assert ["openings", "2"] in [line.split() for line in capsys.readouterr().out.splitlines()]
    assert engine.ingest([texts]).stages["openings"] == 0
    assert engine.refresh("openings").counts.kept == 2
    assert engine.refresh("openings", again=True).as_json()["openings"]["asked"] == 2


def test_a_failure_is_reported_and_diagnosed(
    texts: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    (texts / "c.txt").write_text("This one is unreadable. Somebody wrote it.\n")
    engine = engine_with(engine_of, scripted_server)
    report = engine.ingest([texts])
    assert [(failure.stage, failure.reason) for failure in report.failures] == [
        ("openings", "it cannot be read")
    ]
    warning = {"type": "opening_failed", "detail": "1 openings: it cannot be read"}
    assert warning in report.warnings
    assert warning in warnings(engine, index_status(engine))
    (texts / "c.txt").unlink()
    engine.ingest([texts], sync=True)
    assert warning not in warnings(engine, index_status(engine))


def test_forgetting_a_document_erases_what_it_made(
    texts: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    engine = engine_with(engine_of, scripted_server)
    engine.ingest([texts])
    assert "Rhoda" in "".join(openings(engine))
    forget_documents(engine, find_documents(engine.store, [str(texts / "a.txt")]))
    assert "Rhoda" not in "".join(openings(engine))
    assert "Isak Wennerby" in "".join(openings(engine))


def test_refresh_has_a_command_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, texts: Path) -> None:
    store = tmp_path / "store"
    monkeypatch.setenv("GRAPHRAG_RDF_QUERIES", str(TOY / "queries"))
    monkeypatch.setenv("GRAPHRAG_RDF_STORE", str(store))
    with Engine.open(store) as engine:
        engine.ingest([texts])
    runner = CliRunner()
    assert "Keep the first sentence of each chunk." in runner.invoke(refresh_command, ["--help"]).output
    shown = runner.invoke(refresh_command, ["openings", "--help"]).output
    assert "1<=x<=50" in shown, "the option has the bounds of its setting"
    done = runner.invoke(refresh_command, ["openings", "--again"], standalone_mode=False)
    assert done.return_value == 0
    assert ["openings", "2", "asked"] in [line.split() for line in done.output.splitlines()]
