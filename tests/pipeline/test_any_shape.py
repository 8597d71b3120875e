"""A run of any shape is recorded, shown, verified, exported, erased and replayed by generic code only.

Twelve steps of three kinds that only this test knows, two runs that they start, and a join.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import RAG, TG
from graphrag_rdf.steps.kinds import StepKind, Way, kinds, register
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace import kinds as node_kinds
from graphrag_rdf.trace.catalogue import prune
from graphrag_rdf.trace.kinds import ItemKind, NodeKind, StepField, item, said
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.replay import replay
from graphrag_rdf.wings.audit.verify import verify
from tests.support.stores import open_engine

EX = "http://example.org/"
FILES = {
    "petrel": "The Petrel sank in 1911. Rhoda Orr owned the Petrel.",
    "lamp": "Andrew Orr lit the lamp. The lamp stood in Halden.",
}
QUESTIONS = ["Who owned the Petrel?", "Who lit the lamp?"]


@item
class Note:
    text: str | None = said(NamedNode(EX + "text"), words=True)
    weight: float = said(NamedNode(EX + "weight"))
    index: int | None = said(RAG.index, default=None)
    iri: NamedNode | None = None


NOTE = ItemKind("note", "notes", NamedNode(EX + "note"), NamedNode(EX + "Note"), Note)
PLAN = NodeKind("plan", NamedNode(EX + "Plan"), "Says what to ask.", items=(NOTE,))
LOOK = NodeKind(
    "look",
    NamedNode(EX + "Look"),
    "Looks at an answer.",
    fields=(StepField("seen", NamedNode(EX + "seen"), words=True),),
    items=(NOTE,),
)
JOIN = NodeKind(
    "join",
    NamedNode(EX + "Join"),
    "Joins answers.",
    types=(TG.Answer,),
    fields=(StepField("answer", TG.content, words=True),),
    items=(NOTE,),
)


def plan(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    state.work.items = QUESTIONS
    step = context.recorder.step(PLAN)
    context.recorder.items(step, NOTE, [Note(one, 1.0) for one in QUESTIONS])
    yield context.recorder.finish(step)


def look(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    answer = next((one["answer"] for one in state.work.results if isinstance(one, dict)), state.work.item)
    step = context.recorder.step(LOOK)
    context.recorder.say(step, NamedNode(EX + "seen"), node_kinds.term(str(answer)))  # type: ignore[arg-type]
    context.recorder.queried(step, context.store.run("documents/languages"))
    context.recorder.items(step, NOTE, [Note(str(answer), 0.5)])
    yield context.recorder.finish(step)


def join(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    answers = [one["answer"] for one in state.work.results if isinstance(one, dict)]
    state.answer = " ".join(answers)
    state.final["answer"] = state.answer
    step = context.recorder.step(JOIN)
    context.recorder.say(step, TG.content, node_kinds.term(state.answer))  # type: ignore[arg-type]
    context.recorder.items(step, NOTE, [Note(one, 0.25) for one in answers])
    yield context.recorder.finish(step)


STEPS = """
name: shapes
summary: A test.
label: Test
question: [tg:GraphRagQuestion]
flow: map_reduce
steps:
  - {name: first, step: plan, slot: begin}
  - {name: plan, step: plan, slot: split}
  - {name: look, step: look, slot: each}
  - {name: look more, step: look, slot: each}
  - {name: ask, call: graph_rag, slot: each}
  - {name: see, step: look, slot: each}
  - {name: see more, step: look, slot: each}
  - {name: draft, step: join, slot: reduce}
  - {name: answer, step: join, slot: reduce}
"""


@pytest.fixture(autouse=True)
def own_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_rdf.steps.kinds._KINDS", dict(kinds()))
    monkeypatch.setattr("graphrag_rdf.trace.kinds._registered", dict(node_kinds.node_kinds()))
    for run, node in ((plan, PLAN), (look, LOOK), (join, JOIN)):
        register(StepKind(run.__name__, node, f"Does {run.__name__}.", {run.__name__: Way(run)}))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in FILES.items():
        (docs / f"{name}.md").write_text(text + "\n")
    folder = tmp_path / "pipelines" / "shapes"
    folder.mkdir(parents=True)
    (folder / "pipeline.yaml").write_text(STEPS)
    with open_engine(tmp_path / "store", config=Settings(pipelines=tmp_path / "pipelines")) as opened:
        opened.ingest([docs])
        yield opened


@pytest.fixture
def trace(engine: Engine) -> Trace:
    *_, last = engine.ask("Who owned what, and who lit it?", "shapes")
    assert last.answer is not None, last.error
    assert "Rhoda Orr owned" in last.answer["answer"]
    (summary,) = [one for one in engine.traces.list() if one.kind == "shapes"]
    return engine.traces[summary.iri]


def test_it_is_a_graph_of_twelve_steps_that_starts_two_runs_and_joins_them(
    engine: Engine, trace: Trace
) -> None:
    steps = [step for step in trace.steps if step.kind != "question"]
    assert [step.kind for step in steps].count("look") == 8
    assert len(steps) == 12
    assert len({step.iri for step in steps}) == 12
    asked = [run for step in steps for run in step.sub_runs]
    assert sorted(run.question or "" for run in asked) == sorted(QUESTIONS)
    draft = next(step for step in steps if step.kind == "join")
    assert len(draft.derived_from) == 2, "it joins two branches"
    answers = {engine.traces[run.session].steps[-1].iri for run in asked}
    assert {iri for step in steps for iri in step.derived_from} >= answers
    assert {one.parent for one in engine.traces.list() if one.kind == "graph_rag"} == {trace.iri}


def test_it_is_shown(engine: Engine, trace: Trace) -> None:
    shown, page = render_trace(trace, width=200), render_page(engine.store, trace)
    for text in (shown, page):
        assert "Rhoda Orr owned the Petrel." in text
        assert all(question in text for question in QUESTIONS)
    assert shown.count("[look]") == 8
    assert "seen: " in shown
    found = json.loads(json.dumps(to_json(trace)))
    assert [len(step["notes"]) for step in found["steps"] if step["type"] == "plan"] == [2, 2]
    assert found["steps"][1]["notes"][0]["text"] == QUESTIONS[0]
    assert all(step["calls"] for step in found["steps"] if step["type"] == "look")


def test_it_is_verified_and_exported(engine: Engine, trace: Trace) -> None:
    assert [check for check in verify(engine, trace.iri) if not check.ok] == []
    for form in ("trig", "turtle", "nquads", "prov-n", "prov-json", "html"):
        assert QUESTIONS[0] in engine.traces.export(trace.iri, form)  # type: ignore[arg-type]
    assert "hadMember" in engine.traces.export(trace.iri, "prov-n")


def test_forget_erases_its_words(engine: Engine, trace: Trace) -> None:
    forget_documents(engine, find_documents(engine.store, ["docs/petrel.md"]))
    after = engine.traces[trace.iri]
    assert after.source_forgotten
    assert len(after.steps) == len(trace.steps)
    for text in (render_trace(after, full=True), render_page(engine.store, after)):
        assert "Rhoda" not in text
        assert "Petrel" not in text
    assert not any("Rhoda" in str(quad) for quad in engine.store.quads(NamedNode("urn:graph:retrieval")))


def test_it_is_replayed(engine: Engine, trace: Trace) -> None:
    replayed = replay(engine, trace.iri)
    assert list(replayed.differences) == []


def test_it_goes_with_the_runs_that_it_started(engine: Engine, trace: Trace) -> None:
    assert engine.traces.delete(trace.iri).traces == 3
    assert engine.traces.list() == []
    assert list(engine.store.quads(NamedNode("urn:graph:retrieval"))) == []


def test_pruning_counts_it_once_and_takes_its_runs_along(engine: Engine, trace: Trace) -> None:
    list(engine.ask(QUESTIONS[0]))
    assert prune(engine.store, engine.blobs, keep=2).traces == 0
    assert prune(engine.store, engine.blobs, keep=1).traces == 3
    assert [one.kind for one in engine.traces.list()] == ["graph_rag"]
    assert trace.iri not in {one.iri for one in engine.traces.list()}


def test_the_store_is_sound(engine: Engine, trace: Trace) -> None:
    assert trace.outcome == "completed"
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []
