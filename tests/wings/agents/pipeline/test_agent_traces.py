"""Traces of agents: shown with their runs, verified, compared, asked again, exported, forgotten, deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.lists.declaration import Asked
from graphrag_rdf.lists.table import list_text
from graphrag_rdf.lists.traces import TRACES
from graphrag_rdf.trace.catalogue import list_traces
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.difference import differences
from graphrag_rdf.wings.audit.pack import make_pack
from graphrag_rdf.wings.audit.pack_verify import verify_pack
from graphrag_rdf.wings.audit.replay import ask_without, replay
from graphrag_rdf.wings.audit.verify import verify
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.wings.agents.pipeline.test_agent import QUESTION, SUB_QUESTION, model, team

COMPARE = "Compare the gear and the Petrel."
ALL = {
    "agent_react": (QUESTION, model),
    "agent_supervisor": (COMPARE, team),
    "agent_plan": ("What of the gear?", team),
    "agent": (COMPARE, team),
}
"""Pipeline → a question, and the model that answers it."""
EACH = [
    *("agent_react", "agent"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("agent_supervisor", "agent_plan")),
]


def ask(engine: Engine, server: ScriptedServer, pipeline: str) -> Trace:
    """The trace of a question, with the runs that its steps started."""
    question, answers = ALL[pipeline]
    server.answer_with(answers)
    messages = list(engine.ask(question, pipeline))
    assert messages[-1].error is None
    return read_trace(engine.store, str(messages[0].explain_id), engine.blobs, with_runs=True)


def list_of_traces(engine: Engine) -> str:
    asked = Asked(5)
    return list_text(TRACES, TRACES.items(engine, asked), asked, width=150)


@pytest.mark.parametrize("pipeline", EACH)
def test_runs_are_shown_below_the_steps_that_started_them(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    trace = ask(engine, scripted_server, pipeline)
    text = render_trace(trace, width=150)
    assert trace.runs
    for run in trace.runs.values():
        assert f"    │ [session] {run.iri}" in text
        for step in run.steps:
            assert f"    │ [{step.kind}] {step.iri}" in text
    for step in trace.steps[1:]:
        assert f"\n[{step.kind}] {step.iri}" in text
    assert max(map(len, text.splitlines())) <= 160
    listed = list_of_traces(engine)
    assert f"  {pipeline}  " in listed
    assert "\n  20" in listed, "runs are indented"


@pytest.mark.parametrize("pipeline", EACH)
def test_asked_again_it_comes_to_the_same(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    trace = ask(engine, scripted_server, pipeline)
    count = len(list_traces(engine.store, 50))
    done = replay(engine, trace.iri)
    assert [*done.differences] == []
    assert done.same
    assert len(list_traces(engine.store, 50)) == count
    kept = replay(engine, trace.iri, stored=True)
    assert kept.same
    assert [check for check in verify(engine, kept.after.iri) if check.ok is not True] == []


def test_what_an_agent_does_in_another_way_is_named(engine: Engine, scripted_server: ScriptedServer) -> None:
    before = ask(engine, scripted_server, "agent_react")

    def other(request: Request) -> str | Reply | None:
        if "step by step" in request.prompt and "<observation>" not in request.prompt:
            return 'Action: document-query\nArgs: {"question": "Who invented the reversing gear?"}'
        return model(request)

    scripted_server.answer_with(other)
    done = replay(engine, before.iri)
    assert not done.same
    named = {(one.what, one.name, one.before, one.after) for one in done.differences}
    assert ("analysis", "action", "knowledge-query", None) in named
    assert ("analysis", "action", None, "document-query") in named
    assert any(one.run == SUB_QUESTION and one.what == "steps" for one in done.differences)
    assert json.loads(json.dumps([one.before for one in done.differences]))
    assert differences(before, before) == []


@pytest.mark.parametrize("pipeline", EACH)
def test_without_a_document_it_answers_otherwise(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    trace = ask(engine, scripted_server, pipeline)
    cited = [one for one in trace.selections if one.marker is not None]
    document = cited[0].sources[0].document
    done = ask_without(engine, trace.iri, documents=[document])
    assert not done.since
    assert done.before.answer == trace.answer
    gone = {source.document for one in done.after.selections for source in one.sources}
    assert document not in gone
    assert done.differences
    assert engine.traces[trace.iri].answer == trace.answer, "the store has not changed"


@pytest.mark.parametrize("pipeline", EACH)
def test_it_is_verified_exported_and_deleted_with_its_runs(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    before = len(list_traces(engine.store, 50))
    trace = ask(engine, scripted_server, pipeline)
    for one in (trace, *trace.runs.values()):
        assert [check for check in verify(engine, one.iri) if not check.ok] == []
    for form in ("prov-n", "prov-json", "trig", "html"):
        text = engine.traces.export(trace.iri, form)  # type: ignore[arg-type]
        for step in trace.steps[1:]:
            assert step.iri.rpartition(":")[2].rpartition("/")[2] in text
    assert engine.traces.delete(trace.iri).traces == 1 + sum(1 + len(r.runs) for r in trace.runs.values())
    assert len(list_traces(engine.store, 50)) == before


def test_a_forgotten_document_leaves_no_words_in_them(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    trace = ask(engine, scripted_server, "agent_react")
    document = next(one for one in trace.selections if one.marker is not None).sources[0].document
    forget_documents(engine, find_documents(engine.store, [document]))
    after = read_trace(engine.store, trace.iri, engine.blobs, with_runs=True)
    text = render_trace(after, full=True) + list_of_traces(engine)
    for words in ("Tennant invented", "The gear is not known yet"):
        assert words not in text
    assert after.source_forgotten
    assert [step.kind for step in after.steps] == [step.kind for step in trace.steps]


def test_sparql_reads_a_long_answer(engine: Engine, scripted_server: ScriptedServer) -> None:
    long = "Rhoda Tennant invented the reversing gear. [1] " * 400

    def verbose(request: Request) -> str | Reply | None:
        found = model(request)
        return (
            found.replace("Rhoda Tennant invented the reversing gear. [1]", long)
            if isinstance(found, str)
            else found
        )

    scripted_server.answer_with(verbose)
    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.answer is not None
    assert len(last.answer["answer"]) > 15_000
    query = (
        "PREFIX tg: <https://trustgraph.ai/ns/> SELECT ?text { GRAPH <urn:graph:retrieval> "
        "{ ?step a tg:Conclusion ; tg:document ?document ; tg:content ?text } }"
    )
    (row,) = engine.store.query(query).rows or []
    assert row["text"].value == last.answer["answer"]  # type: ignore[union-attr]


@pytest.mark.parametrize("pipeline", EACH)
def test_a_pack_proves_the_runs_too(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str, tmp_path: Path
) -> None:
    trace = ask(engine, scripted_server, pipeline)
    pack = make_pack(engine.store, engine.blobs, trace.iri, lambda *_: None)
    (tmp_path / "answer.zip").write_bytes(pack.to_zip())
    found = verify_pack(tmp_path / "answer.zip")
    assert [check.detail for check in found.checks if check.ok is False] == []
    assert pack.unproved == []
    assert found.trace is not None
    assert found.trace.runs.keys() == trace.runs.keys()
    assert any(name.endswith(".rq") for name in pack.files)
