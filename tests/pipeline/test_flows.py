"""Flows run steps in their order, within their limits, and traces say what led to what."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError, GraphRagError
from graphrag_rdf.rdf.namespaces import PROV, RDFS
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.kinds import Some, StepKind, StepParameters, Way, kinds, register
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.kinds import NodeKind
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.text import render_trace
from tests.pipeline.test_with_a_model import model, settings
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

NOTE = NodeKind("note", NamedNode("http://example.org/Note"), "A note of a test.")
LAST = NodeKind("ending", NamedNode("http://example.org/Ending"), "The end of a test.")
QUESTION = "north east south west"


class CountParameters(StepParameters):
    enough: Some = Field(3, description="rounds after which the work is done")


def note(context: Context, text: str, kind: NodeKind = NOTE) -> GraphRagResponse:
    step = context.recorder.step(kind)
    context.recorder.say(step, RDFS.comment, Literal(text))
    return context.recorder.finish(step)


def count(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    state.work.results.append(len(state.work.results) + 1)
    state.work.done = len(state.work.results) >= parameters["enough"]
    yield note(context, f"round {len(state.work.results)}")


def split(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    state.work.items = state.question.split()
    yield note(context, "split")


together = threading.Barrier(2, timeout=20)


def shout(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Waits for another item to be worked on at the same time."""
    del parameters
    if state.work.item == "broken":
        raise GraphRagError("this item is broken")
    together.wait()
    state.concepts.append(state.work.item)
    assert state.concepts == [state.work.item], "items share no lists"
    state.work.results.append(state.work.item.upper())
    yield note(context, state.work.item)


def seeds(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    state.work.found = [(0.5, "low"), (0.9, "high"), (0.5, "low too")]
    yield note(context, "seeds")


def visit(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    item = state.work.item
    state.work.results.append(item)
    if item == "high":
        state.work.found = [(0.7, "middle")]
    yield note(context, item)


def finish(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    del parameters
    results = [one["answer"] if isinstance(one, dict) else str(one) for one in state.work.results]
    state.answer = ", ".join(results)
    state.final["answer"] = state.answer
    yield note(context, state.answer, LAST)


@pytest.fixture(autouse=True)
def test_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(kinds())
    monkeypatch.setattr("graphrag_rdf.steps.kinds._KINDS", known)
    ways = {"count": Way(count, CountParameters)} | {
        run.__name__: Way(run) for run in (split, shout, seeds, visit, finish)
    }
    for name, way in ways.items():
        register(StepKind(name, LAST if name == "finish" else NOTE, f"Does {name}.", {name: way}))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "c.txt").write_text("Walter Pennock founded the Tarnay Electric Light Company in 1897.\n")
    (tmp_path / "pipelines").mkdir()
    with open_engine(":memory:", config=Settings(pipelines=tmp_path / "pipelines")) as opened:
        opened.ingest([tmp_path / "c.txt"])
        yield opened


def write(engine: Engine, name: str, flow: str, steps: str) -> None:
    assert engine.settings.pipelines is not None
    folder = engine.settings.pipelines / name
    folder.mkdir()
    head = f"name: {name}\nsummary: A test.\nlabel: Test\nquestion: [tg:GraphRagQuestion]\n"
    (folder / "pipeline.yaml").write_text(f"{head}{flow}\nsteps:\n{steps}")


def ask(engine: Engine, pipeline: str, question: str = QUESTION, **settings: str) -> dict[str, Any]:
    given = {key.replace("__", "."): value for key, value in settings.items()}
    *_, last = engine.ask(question, pipeline, settings=given)
    assert last.answer is not None, last.error
    return last.answer


def origins(engine: Engine) -> dict[str, set[str]]:
    """What each step says → what those say that it derives from; a question says its words."""
    said: dict[object, str] = {}
    derived: dict[object, set[object]] = {}
    for quad in engine.store.quads(NamedNode("urn:graph:retrieval")):
        if quad.predicate in (RDFS.comment, NamedNode("https://trustgraph.ai/ns/query")):
            said[quad.subject] = text_of(quad.object)
        if quad.predicate == PROV.wasDerivedFrom:
            derived.setdefault(quad.subject, set()).add(quad.object)
    led: dict[str, set[str]] = {}
    for node, found in derived.items():
        if node in said:
            led.setdefault(said[node], set()).update(said[one] for one in found)
    return led


LOOP = """
  - {name: think, step: count, slot: repeat}
  - {name: answer, step: finish, slot: end}
"""


@pytest.mark.parametrize(
    ("limits", "enough", "answer", "stopped_by"),
    [
        ("{rounds: 10}", "3", "1, 2, 3", "done"),
        ("{rounds: 2, tokens: 1000}", "5", "1, 2", "rounds"),
        ("{seconds: 0.000001}", "5", "", "seconds"),
    ],
)
def test_a_loop_ends_when_a_step_is_done_or_a_limit_is_reached(
    engine: Engine, limits: str, enough: str, answer: str, stopped_by: str
) -> None:
    write(engine, "thinking", f"flow: loop\nlimits: {limits}", LOOP)
    found = ask(engine, "thinking", think__enough=enough)
    assert (found["answer"], found["stopped_by"]) == (answer, stopped_by)
    trace = engine.traces["last"]
    assert trace.stopped_by == stopped_by
    assert "limits" in trace.parameters
    assert f"ended by {stopped_by}" in render_trace(trace)
    rounds = answer.split(", ") if answer else []
    assert [step["type"] for step in found["steps"]] == ["question", *["note"] * len(rounds), "ending"]
    assert len({step["iri"] for step in found["steps"]}) == len(found["steps"])


MAP = """
  - {name: parts, step: split, slot: split}
  - {name: shout, step: shout, slot: each}
  - {name: answer, step: finish, slot: reduce}
"""


def test_a_map_works_on_items_at_once_and_joins_them_in_order(engine: Engine) -> None:
    write(engine, "mapping", "flow: map_reduce", MAP)
    assert ask(engine, "mapping")["answer"] == "NORTH, EAST, SOUTH, WEST"
    found = origins(engine)
    assert found["split"] == {QUESTION}
    assert all(found[item] == {"split"} for item in QUESTION.split())
    assert found["NORTH, EAST, SOUTH, WEST"] == set(QUESTION.split())


def test_a_map_without_items_still_answers(engine: Engine) -> None:
    write(engine, "mapping", "flow: map_reduce", MAP.replace("step: split", "step: count"))
    assert ask(engine, "mapping")["answer"] == "1"


def test_a_broken_item_ends_the_run_with_an_error(engine: Engine) -> None:
    write(engine, "mapping", "flow: map_reduce", MAP)
    *_, last = engine.ask("broken broken", "mapping")
    assert last.error is not None
    assert last.error["message"] == "this item is broken"


BEST = """
  - {name: begin, step: seeds, slot: begin}
  - {name: visit, step: visit, slot: visit}
  - {name: answer, step: finish, slot: end}
"""


@pytest.mark.parametrize(
    ("visits", "answer", "stopped_by"),
    [(10, "high, middle, low, low too", "empty"), (2, "high, middle", "visits")],
)
def test_the_best_is_visited_first(engine: Engine, visits: int, answer: str, stopped_by: str) -> None:
    write(engine, "searching", f"flow: best_first\nlimits: {{visits: {visits}}}", BEST)
    found = ask(engine, "searching")
    assert (found["answer"], found["stopped_by"]) == (answer, stopped_by)


def test_a_pipeline_calls_others_for_each_item(engine: Engine) -> None:
    write(engine, "inner", "flow: loop\nlimits: {rounds: 1}", LOOP)
    write(engine, "outer", "flow: map_reduce", MAP.replace("step: shout", "call: inner"))
    messages = list(engine.ask("one two", "outer"))
    assert messages[-1].answer is not None
    assert messages[-1].answer["answer"] == "1, 1"
    own = [message.kind for message in messages if message.run is None]
    assert own.count("session") == 1, "those of sub-runs are marked"
    assert messages[-1].answer["usage"] == {
        "llm_calls": 0, "in_tokens": None, "out_tokens": None, "cost_usd": None
    }  # fmt: skip
    found = origins(engine)
    assert found["one"] == found["two"] == {"split"}
    assert found["round 1"] == {"one", "two"}  # both rounds say the same
    assert found["1, 1"] == {"1"}


@pytest.mark.parametrize(
    ("flow", "steps", "told"),
    [
        ("flow: lop", LOOP, "unknown flow 'lop'"),
        ("flow: loop", LOOP, "needs limits"),
        ("flow: loop\nlimits: {rounds: 0}", LOOP, "rounds: 0 is no limit"),
        ("flow: loop\nlimits: {visits: 3}", LOOP, "visits: 3 is no limit of flow loop"),
        ("flow: sequence\nlimits: {rounds: 3}", LOOP, "flow sequence"),
        (
            "flow: loop\nlimits: {rounds: 3}",
            "  - {name: a, step: count, slot: repeat}\n",
            "needs a step with slot: end",
        ),
        ("flow: map_reduce", MAP.replace("slot: each", "slot: eech"), "has no slot 'eech'"),
        ("flow: map_reduce", MAP.replace("name: shout", "name: parts"), "two steps are named parts"),
        ("flow: map_reduce", MAP.replace("step: shout", "call: nothing"), "no pipeline named 'nothing'"),
        ("flow: map_reduce", MAP.replace("step: shout", "call: wrong"), "in a circle: wrong → wrong"),
        (
            "flow: map_reduce",
            MAP.replace("step: shout", "step: shout, call: wrong"),
            "one of step:, call: and run:",
        ),
        ("flow: sequence", "  []\n", "steps"),
    ],
)
def test_what_a_flow_lacks_is_told_when_the_file_is_read(
    engine: Engine, flow: str, steps: str, told: str
) -> None:
    write(engine, "wrong", flow, steps)
    with pytest.raises(ConfigError, match=told) as refused:
        engine.pipeline("wrong")
    assert "pipeline.yaml" in str(refused.value)


def test_tokens_of_called_pipelines_count(
    engine: Engine, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    """For the limit of a loop, and in the answer."""
    assert engine.settings.pipelines is not None
    steps = LOOP.replace("step: count", "call: graph_rag")
    write(engine, "rounds", "flow: loop\nlimits: {tokens: 1, rounds: 5}", steps)
    scripted_server.answer_with(model())
    config = settings(scripted_server, pipelines=str(engine.settings.pipelines))
    with open_engine(":memory:", config=config) as asking:
        (tmp_path / "d.txt").write_text("Walter Pennock founded the Tarnay Electric Light Company in 1897.\n")
        asking.ingest([tmp_path / "d.txt"])
        found = ask(asking, "rounds", "Who founded the Tarnay Electric Light Company?")
    assert found["stopped_by"] == "tokens"
    assert found["usage"]["llm_calls"] == 1
    assert found["usage"]["in_tokens"] > 0
