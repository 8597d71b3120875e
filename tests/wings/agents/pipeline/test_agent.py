"""An agent uses tools, over the wire to a scripted model. Its trace leads to the runs that it asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.resources import folder
from graphrag_rdf.steps.checking import SENTINEL
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.agents.agent import read_reply
from graphrag_rdf.wings.agents.team import read_plan
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import settings
from tests.support.scripted_server import Reply, Request, ScriptedServer, number_of, offered, shown
from tests.support.stores import open_engine

QUESTION = "Who invented the gear that turns the blades?"
SUB_QUESTION = "Who invented the reversing gear?"
WORDS = "Tennant invented"


def think(prompt: str) -> str | None:
    """What the agent writes: it asks the graph once, and answers with what that cites."""
    if "step by step" not in prompt:
        return None
    if "<observation>" not in prompt:
        return (
            "Thought: The gear is not known yet.\nAction: knowledge-query\n"
            f'Args: {{"question": "{SUB_QUESTION}"}}\nObservation: Nobody.\nThought: made up'
        )
    return "Thought: That is enough.\nFinal Answer: Rhoda Tennant invented the reversing gear. [1]"


def model(request: Request) -> str | Reply | None:
    prompt = request.prompt
    if (thought := think(prompt)) is not None:
        return thought
    if "JSON Lines" in prompt:
        lines = offered(prompt)
        number = number_of(lines, WORDS)
        return json.dumps({"id": number, "reasoning": "it says who"})
    if "knowledge graph will be searched" in prompt:
        return "reversing gear"
    return f"Rhoda Tennant invented the reversing gear. [{number_of(shown(prompt), WORDS)}]"


def test_it_asks_a_tool_and_answers_with_its_citations(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(model)
    messages = list(engine.ask(QUESTION, "agent_react"))
    last = messages[-1]
    assert last.answer is not None, last.error
    assert last.answer["answer"] == "Rhoda Tennant invented the reversing gear. [1]"
    assert last.answer["warnings"] == []
    citations = last.answer["citations"]
    assert {citation["marker"] for citation in citations} == {"[1]"}, "a sentence, and the fact read from it"
    assert all("reversing gear" in citation["sources"][0]["quote"] for citation in citations)
    kinds = [message.kind for message in messages]
    for kind in ("thought", "action", "observation", "answer"):
        assert kind in kinds
    assert last.answer["usage"]["llm_calls"] == 3

    session = messages[0].explain_id
    assert session is not None
    trace = engine.traces[session]
    assert [step.kind for step in trace.steps] == [
        "question",
        "analysis",
        "observation",
        "analysis",
        "conclusion",
    ]
    run = session.rpartition(":")[2]
    assert [step.iri.removeprefix(f"urn:trustgraph:agent:{run}") for step in trace.steps] == [
        "",
        "/i1",
        "/i1/observation",
        "/i2",
        "/final",
    ]
    (asked,) = [sub for step in trace.steps for sub in step.sub_runs]
    assert asked.question == SUB_QUESTION
    sub = engine.traces[asked.session]
    assert trace.steps[2].derived_from == (sub.steps[-1].iri,), "what was seen derives from the tool's answer"
    assert trace.steps[-1].selections
    for selected in trace.steps[-1].selections:
        assert selected.taken_from in {one.iri for one in sub.selections}
        assert selected.sources, "it leads to the characters of the document"


def test_its_trace_is_shown_verified_and_sound(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(model)
    list(engine.ask(QUESTION, "agent_react"))
    trace = engine.traces["last"]
    text, page = render_trace(trace, width=200), render_page(engine.store, trace)
    for shown_as in (text, page):
        assert "The gear is not known yet." in shown_as
        assert "knowledge-query" in shown_as
        assert "Rhoda Tennant invented the reversing gear." in shown_as
    assert json.loads(json.dumps(to_json(trace)))["steps"][1]["action"] == "knowledge-query"
    assert [check for check in verify(engine, trace.iri) if not check.ok] == []
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []
    assert "hadMember" in engine.traces.export(trace.iri, "prov-n")


@pytest.mark.parametrize(
    ("reply", "observed"),
    [
        ("Action: no-such-tool\nArgs: {}", "there is no tool 'no-such-tool'"),
        ("Action: knowledge-query\nArgs: {broken", "the arguments are no JSON object"),
        ('Action: knowledge-query\nArgs: {"query": "x"}', "wrong arguments: question: it is missing"),
        ("I don't know how to write that.", "neither an Action nor a Final Answer"),
        ("", "neither an Action nor a Final Answer"),
    ],
)
def test_mistakes_are_told_to_the_model(
    engine: Engine, scripted_server: ScriptedServer, reply: str, observed: str
) -> None:
    scripted_server.script(reply, "Final Answer: Nothing was found, so I cannot say.")
    list(engine.ask(QUESTION, "agent_react"))
    assert observed in scripted_server.requests[-1].prompt
    trace = engine.traces["last"]
    (seen,) = [step for step in trace.steps if step.kind == "observation"]
    assert observed in seen.values["error"]


def test_a_limit_ends_it_with_a_conclusion_that_says_so(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(
        lambda request: "Action: text-completion\nArgs: {}" if "step by step" in request.prompt else None
    )
    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.answer is not None
    assert last.answer["answered"] is False
    assert last.answer["stopped_by"] == "rounds"
    assert "limit_reached" in [warning["type"] for warning in last.answer["warnings"]]
    trace = engine.traces["last"]
    assert trace.steps[-1].values["reason"] == "max-iterations"
    assert len(trace.steps) == 1 + 2 * 10 + 1


TOOLS = """
- {name: open, type: prompt, prompt: open.j2, description: Opens., state: opened,
   arguments: [{name: what, description: a thing}]}
- {name: look, type: text-completion, description: After it., states: [opened]}
- {name: other, type: text-completion, description: Of others., group: [others]}
- {name: ask, type: pipeline, pipeline: doc_rag, description: Asks.}
"""


@pytest.fixture
def own_tools(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> Iterator[tuple[Engine, Path]]:
    """An engine whose agent_react has other tools, and their file."""
    own = tmp_path / "pipelines" / "agent_react"
    shutil.copytree(folder("pipelines") / "agent_react", own)
    (own / "tools.yaml").write_text(TOOLS)
    (own / "open.j2").write_text("Open {{ what }}.")
    store = tmp_path / "store"
    shutil.copytree(sample_folder, store)
    config = settings(scripted_server, pipelines=str(tmp_path / "pipelines"))
    with open_engine(store, config=config) as opened:
        yield opened, own / "tools.yaml"


def test_tools_are_offered_by_group_and_state(
    own_tools: tuple[Engine, Path], scripted_server: ScriptedServer
) -> None:
    engine, _ = own_tools
    scripted_server.script(
        'Action: look\nArgs: {"question": "x"}',  # not before it was opened
        'Action: other\nArgs: {"question": "x"}',  # of another group
        'Action: open\nArgs: {"what": "the door"}',
        "It is open.",
        'Action: look\nArgs: {"question": "What is there?"}',
        "A room.",
        "Final Answer: A room.",
    )
    list(engine.ask(QUESTION, "agent_react"))
    trace = engine.traces["last"]
    analyses = [step for step in trace.steps if step.kind == "analysis"]
    assert [step.values["tools"] for step in analyses] == [["ask", "open"]] * 3 + [
        ["ask", "look", "open"]
    ] * 2
    seen = [step for step in trace.steps if step.kind == "observation"]
    assert ["there is no tool" in (step.values["error"] or "") for step in seen] == [True, True, False, False]
    assert [step.answer for step in seen[2:]] == ["It is open.", "A room."]
    assert "Open the door." in [request.prompt for request in scripted_server.requests]


def test_an_unknown_group_is_an_error_that_names_the_groups(own_tools: tuple[Engine, Path]) -> None:
    engine, _ = own_tools
    *_, last = engine.ask(QUESTION, "agent_react", settings={"analysis.tools": "default oters"})
    assert last.error is not None
    assert "'oters'" in last.error["message"]
    assert last.error["hint"] == "groups: default, others, or *"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TOOLS.replace("doc_rag", "basic"), "tool ask asks the pipeline 'basic', which"),
        ("- {name: ask, type: magic, description: x}", "tool ask has the unknown type 'magic'"),
        ("- {name: ask}", "tools.yaml: "),
        ("{", "tools.yaml: "),
    ],
)
def test_what_is_wrong_with_the_tools_is_told(
    own_tools: tuple[Engine, Path], scripted_server: ScriptedServer, text: str, told: str
) -> None:
    engine, file = own_tools
    file.write_text(text)
    scripted_server.answer_with(lambda _: 'Action: ask\nArgs: {"question": "x"}')
    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.error is not None
    assert told in last.error["message"]
    assert not scripted_server.requests, "it is told before the model is asked"


def test_without_a_model_it_refuses(sample_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store") as engine:
        *_, last = engine.ask(QUESTION, "agent_react")
        assert last.error is not None
        assert "needs a model" in last.error["message"]


@pytest.mark.parametrize(
    ("text", "action", "arguments", "answer"),
    [
        ('Thought: a\nAction: t\nArgs: {"q": 1}', "t", {"q": 1}, None),
        ('**Thought:** a\n**Action:** `t`\n**Action Input:** {"q": 1}', "t", {"q": 1}, None),
        ('thought: a\naction: t\nargs: ```json\n{"q": 1}\n```', "t", {"q": 1}, None),
        ('Action: t({"q": 1})', "t", {"q": 1}, None),
        ('Action: t {"q": 1}', "t", {"q": 1}, None),
        ("Thought: a\nFinal Answer: b\nc [1]", "", {}, "b\nc [1]"),
        ("思考\nFinal Answer：答案", "", {}, "答案"),
        ("b", "", {}, None),
    ],
)
def test_replies_are_read_in_the_forms_that_models_use(
    text: str, action: str, arguments: dict[str, object], answer: str | None
) -> None:
    turn = read_reply(text)
    assert (turn.action, turn.arguments, turn.answer) == (action, arguments, answer)


def test_a_session_of_an_agent_is_named_as_trustgraph_names_it(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(model)
    list(engine.ask(QUESTION, "agent_react"))
    graph = NamedNode("urn:graph:retrieval")
    thoughts = {
        quad.object.value
        for quad in engine.store.quads(graph)
        if quad.predicate.value.endswith("/thought") and isinstance(quad.object, NamedNode)
    }
    assert {iri.rpartition(":")[2].partition("/")[2] for iri in thoughts} == {"i1/thought", "i2/thought"}


# --- agents that divide the question --------------------------------------------------------------------

PARTS = ["Who invented the reversing gear?", "When did the Petrel sink?"]


def team(request: Request) -> str | Reply | None:
    """A model that divides the question in two, and puts the answers together."""
    prompt = request.prompt
    asked = prompt.rpartition("<question>")[2]
    if "ways" in prompt or "name of one way" in prompt:
        return "supervisor\na comparison"
    if "array of strings" in prompt:
        return "Here they are:\n" + json.dumps(PARTS)
    if "depends_on" in prompt:
        if "Found nothing" in prompt:
            return json.dumps([{"goal": PARTS[1], "depends_on": []}])
        return json.dumps([{"goal": PARTS[0]}, {"goal": "What else did they invent?", "depends_on": [1]}])
    if "results below" in prompt:
        return "Rhoda Tennant invented it. [1]"
    if "step by step" in prompt:
        if "What else" in asked:
            return f"Final Answer: {SENTINEL}"
        if "<observation>" not in prompt:
            question = PARTS[0] if "reversing" in asked else PARTS[1]
            return f"Action: knowledge-query\nArgs: {json.dumps({'question': question})}"
        return "Final Answer: That is what the documents say. [1]"
    return model(request) if "reversing" in asked else cite_first(prompt)


def cite_first(prompt: str) -> str:
    if "JSON Lines" in prompt:
        return json.dumps({"id": next(iter(offered(prompt))), "reasoning": "first"})
    if "knowledge graph will be searched" in prompt:
        return "Petrel"
    number, line = next(iter(shown(prompt).items()))
    return f"{line} [{number}]"


def test_a_supervisor_has_parts_answered_at_once(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(team)
    *_, last = engine.ask("Compare the gear and the Petrel.", "agent_supervisor")
    assert last.answer is not None, last.error
    trace = engine.traces["last"]
    kinds = [step.kind for step in trace.steps]
    assert kinds == ["question", "decomposition", "finding", "finding", "synthesis"]
    assert [part.text for part in trace.steps[1].items["parts"]] == PARTS
    assert len(trace.steps[-1].derived_from) == 2, "the answer derives from all findings"
    subs = {sub.session: sub.question for step in trace.steps for sub in step.sub_runs}
    assert sorted(filter(None, subs.values())) == sorted(PARTS)
    inner = [sub for session in subs for step in engine.traces[session].steps for sub in step.sub_runs]
    assert len(inner) == 2, "each agent asked the graph"
    assert all(citation["sources"] for citation in last.answer["citations"])
    selected = trace.steps[-1].selections
    assert selected
    assert all(one.taken_from is not None for one in selected)
    assert run_shapes(engine.store.quads()) == []
    assert [check for check in verify(engine, trace.iri) if not check.ok] == []


def test_a_plan_is_carried_out_and_made_anew(engine: Engine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(team)
    *_, last = engine.ask("What of the gear?", "agent_plan")
    assert last.answer is not None, last.error
    trace = engine.traces["last"]
    kinds = [step.kind for step in trace.steps]
    assert kinds == ["question", "plan", "step-result", "step-result", "plan", "step-result", "synthesis"]
    first, failed, again = [step for step in trace.steps if step.kind == "step-result"]
    assert failed.values["error"] == "it has no answer"
    assert again.values["goal"] == PARTS[1]
    told, *_ = [one.prompt for one in scripted_server.requests if "found out before" in one.prompt]
    assert "That is what the documents say. [1]" in told
    assert set(trace.steps[-1].derived_from) == {first.iri, failed.iri, again.iri}
    assert trace.steps[-1].answer == "Rhoda Tennant invented it. [1]"
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_the_router_runs_what_it_chose_in_its_own_run(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(team)
    *_, last = engine.ask("Compare the gear and the Petrel.", "agent")
    assert last.answer is not None, last.error
    trace = engine.traces["last"]
    kinds = [step.kind for step in trace.steps]
    assert kinds == ["question", "pattern-decision", "decomposition", "finding", "finding", "synthesis"]
    reason = "the model chose it"
    assert trace.steps[1].values == {"pattern": "supervisor", "task": "a comparison", "reason": reason}
    *_, last = engine.ask(QUESTION, "agent", settings={"pattern.pattern": "react"})
    assert last.answer is not None, last.error
    trace = engine.traces["last"]
    assert [step.kind for step in trace.steps][1:3] == ["pattern-decision", "analysis"]
    limits = engine.pipeline("agent_react").definition.limits
    assert limits
    assert trace.parameters["react.limits"] == limits, "of the pipeline whose steps ran"


def test_a_failure_among_parts_ends_the_trace_once(engine: Engine, scripted_server: ScriptedServer) -> None:
    def failing(request: Request) -> str | Reply | None:
        return Reply("no", status=401) if "results below" in request.prompt else team(request)

    scripted_server.answer_with(failing)
    *_, last = engine.ask("Compare the gear and the Petrel.", "agent_supervisor")
    assert last.error is not None
    trace = engine.traces["last"]
    assert [step.kind for step in trace.steps][-1] == "error"
    assert len(trace.steps[-1].derived_from) == 2, "both findings lead to it"
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_a_part_that_fails_is_a_finding(engine: Engine, scripted_server: ScriptedServer) -> None:
    def failing(request: Request) -> str | Reply | None:
        asked = request.prompt.rpartition("<question>")[2].partition("</question>")[0]
        broken = "step by step" in request.prompt and "Petrel" in asked
        return Reply("no", status=401) if broken else team(request)

    scripted_server.answer_with(failing)
    *_, last = engine.ask("Compare the gear and the Petrel.", "agent_supervisor")
    assert last.answer is not None, last.error
    findings = [step for step in engine.traces["last"].steps if step.kind == "finding"]
    assert {step.iri[-1]: bool(step.values["error"]) for step in findings} == {"0": False, "1": True}
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_the_steps_of_runs_that_tools_start_are_told_with_their_run(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(team)
    messages = list(engine.ask("Compare the gear and the Petrel.", "agent_supervisor"))
    assert [message.message_id for message in messages] == [str(n) for n in range(len(messages))]
    own = {message.explain_id for message in messages if message.run is None}
    runs = {message.run for message in messages} - {None}
    assert len(runs) == 4, "two agents, each of which asked the graph"
    for run in runs:
        told = [message for message in messages if message.run == run]
        assert {message.message_type for message in told} == {"explain"}, "only the answer is answered"
        assert [one.explain_id for one in told] == [run, *(step.iri for step in engine.traces[run].steps)]
        assert own.isdisjoint(one.explain_id for one in told)
        assert to_json(told[0])["run"] == run


@pytest.mark.parametrize("messages", [*range(1, 9), 11, 14])
def test_a_client_that_leaves_leaves_a_whole_trace(
    engine: Engine, scripted_server: ScriptedServer, messages: int
) -> None:
    scripted_server.answer_with(model)
    asked = engine.ask(QUESTION, "agent_react")
    for _ in range(messages):
        next(asked)
    asked.close()
    trace = engine.traces["last"]
    assert trace.outcome == "cancelled"
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ('[{"goal": "a", "depends_on": [2, 1, 0, 9]}, {"goal": "b", "depends_on": [1]}]', [(), (1,)]),
        ('```json\n[{"goal": "a"}]\n```', [()]),
        ('{"goal": "a"}', []),
        ("[1, 2]", []),
        ("no plan", []),
    ],
)
def test_a_plan_only_builds_on_earlier_steps(text: str, plan: list[tuple[int, ...]]) -> None:
    assert [step.depends_on for step in read_plan(text, 5)] == plan
