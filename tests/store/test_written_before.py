"""Stores that earlier versions wrote are opened and read as they are.

Each archive in `written/` is the folder of a small store with traces of all kinds of that time: ways of
exploring, a filter, look-ups, suggestions, a follow-up, a failed run, a mark. Keep them, and add one when the
form of anything changes.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify

ARCHIVES = sorted(Path(__file__).parent.glob("written/*.tar.xz"))
pytestmark = pytest.mark.embedded


@pytest.fixture(params=ARCHIVES, ids=[path.name for path in ARCHIVES])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    with Engine.open(tmp_path / "store") as opened:
        yield opened


def test_every_trace_is_read_whole(engine: Engine) -> None:
    summaries = engine.traces.list()
    assert len(summaries) == 10
    for summary in summaries:
        trace = engine.traces[summary.iri]
        assert {step.kind for step in trace.steps} >= {"question"}
        assert all(step.derived_from for step in trace.steps if step.kind != "question")
        shown = render_trace(trace, full=True)
        assert "_" not in shown.split("\n")[0]
        for step in trace.steps:
            assert f"[{step.kind}] {step.iri}" in shown
        checks = {check.check: check for check in verify(engine, summary.iri)}
        assert all(check.ok for check in checks.values()), [c for c in checks.values() if not c.ok]
        assert "class=" in engine.traces.export(summary.iri, "html")


def test_it_conforms_to_the_shapes(engine: Engine) -> None:
    pytest.importorskip("pyshacl")
    assert run_shapes(engine.store.quads()) == []


def test_what_their_steps_wrote_is_known(engine: Engine) -> None:
    traces = [engine.traces[summary.iri] for summary in engine.traces.list()]
    steps = [step for trace in traces for step in trace.steps]
    written = {key for step in steps for key, items in step.items.items() if items}
    assert written >= {
        *("concepts", "seeds", "considered", "passages", "filter", "look_ups", "selections"),
        *("sentences", "suggestions", "margin", "warnings", "calls"),
    }
    assert {step.kind for step in steps} == {
        *("question", "grounding", "exploration", "focus", "synthesis", "error"),
    }
    (marked,) = [trace for trace in traces if trace.marks]
    assert to_json(marked)["feedback"][0]["note"] == "no"
    looked_up = next(items for step in steps if (items := step.items.get("look_ups")))
    assert looked_up[0].text == "Thea Lund"


def test_mentions_are_counted_when_it_is_opened_for_writing(engine: Engine) -> None:
    counted = [q for q in engine.store.quads(Graphs.DERIVED) if q.predicate == RAG.chunkCount]
    mentioned = {q.object for q in engine.store.quads(Graphs.SOURCE) if q.predicate == RAG.mentions}
    assert {q.subject for q in counted} == mentioned


def test_it_can_be_used_on(engine: Engine) -> None:
    *_, last = engine.ask("Who built the Ostby bridge?")
    assert last.answer is not None
    assert "Egon Falk" in last.answer["answer"]
    secret = [trace.iri for trace in engine.traces.list() if "ledger" in trace.question]
    forget_documents(engine, find_documents(engine.store, ["docs/secret.md"]))
    for iri in secret:
        trace = engine.traces[iri]
        assert trace.source_forgotten
        assert "Olga" not in render_trace(trace, full=True)
