"""Whatever a model or a tool does: the trace is a whole graph with one question and one end (check)."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from graphrag_rdf.checks import run_checks
from graphrag_rdf.engine import Engine
from graphrag_rdf.resources import folder
from graphrag_rdf.trace.messages import GraphRagResponse
from tests.pipeline.test_with_a_model import settings
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine
from tests.wings.agents.pipeline.test_agent import QUESTION, model, team

PIPELINES = ("agent_react", "agent_plan", "agent_supervisor", "agent", "auto")


@pytest.fixture
def hurried(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """An engine whose agents may take few rounds and less than two seconds."""
    own = tmp_path / "pipelines"
    for name in ("agent_react", "agent_plan"):
        shutil.copytree(folder("pipelines") / name, own / name)
        file = own / name / "pipeline.yaml"
        lines = [
            "limits: {%s: 4, seconds: 1.5}" % ("rounds" if name == "agent_react" else "visits")
            if line.startswith("limits:")
            else line
            for line in file.read_text().splitlines()
        ]
        file.write_text("\n".join(lines))
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store", config=settings(scripted_server, pipelines=str(own))) as opened:
        yield opened


def sound(engine: Engine) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def ask(engine: Engine, pipeline: str = "agent_react", question: str = QUESTION) -> GraphRagResponse:
    *_, last = engine.ask(question, pipeline, cache=False)
    return last


# --- limits ---------------------------------------------------------------------------------------------


def test_a_model_that_does_the_same_for_ever(engine: Engine, scripted_server: ScriptedServer) -> None:
    same = 'Action: entity-lookup\nArgs: {"name": "Petrel"}'
    scripted_server.answer_with(lambda _: same)
    last = ask(engine)
    assert last.answer is not None
    assert last.answer["stopped_by"] == "rounds"
    sound(engine)


@pytest.mark.parametrize("where", ["thinking", "tool", "answer of the tool"])
def test_a_model_that_stalls_is_ended_by_the_limit_of_seconds(
    hurried: Engine, scripted_server: ScriptedServer, where: str
) -> None:
    def stalling(request: Request) -> str | Reply | None:
        thinks = "step by step" in request.prompt
        if where == "thinking" and "<observation>" in request.prompt:
            return Reply(hang=True)
        if where == "tool" and not thinks:
            return Reply(hang=True)
        if where == "answer of the tool" and request.body.get("stream"):
            return Reply("Rhoda Tennant invented the reversing gear. [1]", stall_after=2)
        return model(request)

    scripted_server.answer_with(stalling)
    began = time.monotonic()
    last = ask(hurried)
    assert time.monotonic() - began < 60, "the setting llm.timeout would be 120 seconds"
    assert last.answer is not None, last.error
    assert last.answer["stopped_by"] == "seconds"
    assert "limit_reached" in [warning["type"] for warning in last.answer["warnings"]]
    trace = hurried.traces["last"]
    assert trace.steps[-1].kind == "conclusion"
    assert trace.steps[-1].values["reason"] == "max-seconds"
    sound(hurried)


def test_a_plan_whose_steps_stall_is_answered_from_those_that_did_not(
    hurried: Engine, scripted_server: ScriptedServer
) -> None:
    def stalling(request: Request) -> str | Reply | None:
        asked = request.prompt.rpartition("<question>")[2]
        if "step by step" in request.prompt and "What else" in asked:
            return Reply(hang=True)
        return team(request)

    scripted_server.answer_with(stalling)
    last = ask(hurried, "agent_plan", "What of the gear?")
    assert last.answer is not None, last.error
    assert last.answer["stopped_by"] == "seconds"
    trace = hurried.traces["last"]
    assert trace.steps[-1].kind == "synthesis"
    assert trace.steps[-1].values["answer"] == "Rhoda Tennant invented it. [1]"
    sound(hurried)


# --- failures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        Reply("half", cut_after=20),
        Reply(raw=b"\xff\xfe not json"),
        Reply(choices=False),
        Reply("no", status=401),
        Reply("no", status=500),
        Reply(None),
    ],
    ids=["cut", "no JSON", "no choices", "refused", "failed", "null"],
)
def test_a_call_that_fails_ends_the_trace_with_an_error(
    engine: Engine, scripted_server: ScriptedServer, broken: Reply
) -> None:
    scripted_server.answer_with(
        lambda request: broken if "<observation>" in request.prompt else model(request)
    )
    last = ask(engine)
    assert last.error is not None
    trace = engine.traces["last"]
    assert [step.kind for step in trace.steps][-2:] == ["observation", "error"]
    assert trace.outcome == "failed"
    sound(engine)


def test_a_stream_that_is_cut_in_a_tool_is_an_observation(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    def cutting(request: Request) -> str | Reply | None:
        if request.body.get("stream"):
            return Reply("Rhoda Tennant invented the reversing gear. [1]", cut_after=3)
        if "<observation>" in request.prompt:
            return "Final Answer: It is not known."
        return model(request)

    scripted_server.answer_with(cutting)
    last = ask(engine)
    assert last.answer is not None, last.error
    (seen,) = [step for step in engine.traces["last"].steps if step.kind == "observation"]
    assert "called by agent_react" in seen.values["error"]
    (sub,) = [sub for step in engine.traces["last"].steps for sub in step.sub_runs]
    assert engine.traces[sub.session].outcome == "failed"
    sound(engine)


# --- at once, and cancelled -----------------------------------------------------------------------------


def test_two_agents_at_once(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(team)
    pipelines = ["agent_supervisor", "agent_react", "agent_plan", "agent_react"]
    questions = ["Compare the gear and the Petrel.", QUESTION, "What of the gear?", QUESTION]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, itertools.repeat(engine), pipelines, questions))
    assert [last.answer is not None for last in found] == [True] * 4
    sound(engine)


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_client_that_leaves_at_any_message(
    engine: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    """Also while a run is under way that a tool, or an agent of several at once, started."""
    scripted_server.answer_with(
        lambda request: "agent\nx" if "graph_rag:" in request.prompt else team(request)
    )
    question = "Compare the gear and the Petrel."
    total = len(list(engine.ask(question, pipeline, cache=False)))
    for messages in range(1, total, 1 if total < 30 else 3):
        asked = engine.ask(question, pipeline, cache=False)
        for _ in itertools.islice(asked, messages):
            pass
        asked.close()
    outcomes = {one.outcome for one in engine.traces.list(limit=10 * total)}
    assert "cancelled" in outcomes
    sound(engine)


# --- anything -------------------------------------------------------------------------------------------

NAMES = ("knowledge-query", "entity-lookup", "source-of-fact", "no-such-tool", "")
ARGUMENTS = st.one_of(
    st.fixed_dictionaries({"question": st.sampled_from(["Who invented the gear?", ""])}),
    st.fixed_dictionaries({"name": st.sampled_from(["Petrel", "Nobody", "e"])}),
    st.fixed_dictionaries({"number": st.integers(-1, 3)}),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
)
REPLIES = st.one_of(
    st.builds(
        lambda name, given: f"Action: {name}\nArgs: {json.dumps(given)}", st.sampled_from(NAMES), ARGUMENTS
    ),
    st.builds("Thought: {}\nFinal Answer: {}".format, st.text(max_size=20), st.text(max_size=20)),
    st.builds("Final Answer: The Petrel sank [{}].".format, st.integers(0, 20)),
    st.text(max_size=40),
    st.sampled_from(
        ["Action:", "Args: {", "Observation: x", "<think>", "[]", '[{"goal": "x"}]', '["a", "b"]']
    ),
    st.builds(Reply, status=st.sampled_from([400, 500])),
    st.just(Reply(None)),
)


@pytest.mark.slow
@with_settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pipeline=st.sampled_from(PIPELINES),
    replies=st.lists(REPLIES, min_size=1, max_size=8),
    leave=st.integers(1, 60),
)
def test_whatever_a_model_replies(
    hurried: Engine,
    scripted_server: ScriptedServer,
    pipeline: str,
    replies: list[str | Reply],
    leave: int,
) -> None:
    scripted_server.reset()
    scripted_server.script(*replies)
    scripted_server.answer_with(lambda _: replies[-1])
    asked = hurried.ask(QUESTION, pipeline, cache=False)
    messages = list(itertools.islice(asked, leave))
    asked.close()
    assert len(messages) == leave or messages[-1].answer or messages[-1].error
    sound(hurried)
