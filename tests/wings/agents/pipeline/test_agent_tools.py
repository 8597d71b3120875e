"""The tools of agents: look-ups that can be cited, typed arguments, and tools of MCP servers."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.resources import folder
from graphrag_rdf.steps.selection import adopted
from graphrag_rdf.steps.state import Called, Selection, SentenceHit, State
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import settings
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

QUESTION = "When did the Petrel sink?"
SERVER = Path(__file__).parents[3] / "support" / "mcp_server.py"


def use(tool: str, **arguments: Any) -> str:
    return f"Action: {tool}\nArgs: {json.dumps(arguments)}"


def ask(engine: Engine, server: ScriptedServer, *replies: str) -> tuple[dict[str, Any], Trace]:
    """What the agent answers when the model replies so, and its trace."""
    server.script(*replies)
    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.answer is not None, last.error
    return last.answer, engine.traces["last"]


def seen(trace: Trace) -> list[str]:
    """What the tools returned, or what was wrong."""
    steps = [step for step in trace.steps if step.kind == "observation"]
    return [step.values["error"] or step.values["answer"] for step in steps]


# --- look-ups in the graph ------------------------------------------------------------------------------


def test_an_entity_is_looked_up_with_facts_that_can_be_cited(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(
        lambda request: (
            use("entity-lookup", name="petrel")
            if "<observation>" not in request.prompt
            else f"Final Answer: It sank on 14 or on 17 November 1911. {dates(request.prompt)}"
        )
    )

    def dates(prompt: str) -> str:
        (line,) = [line for line in prompt.splitlines() if line.startswith("- sank on (2): ")]
        assert "Petrel sank on 1911-11-14 [" in line
        assert "Petrel sank on 1911-11-17 [" in line
        return "".join(f"[{part.partition(']')[0]}]" for part in line.split("[")[1:])

    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.answer is not None, last.error
    assert last.answer["warnings"] == []
    quotes = {one["sources"][0]["quote"] for one in last.answer["citations"]}
    assert quotes == {
        "The Petrel sank in Skell Sound on 14 November 1911.",
        "The Petrel sank in Skell Sound on 17 November 1911.",
    }
    trace = engine.traces["last"]
    assert "10 fact(s), 8 relation(s):" in seen(trace)[0]
    assert [check for check in verify(engine, trace.iri) if not check.ok] == []
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []


def test_lists_that_are_cut_tell_how_many_there_are(engine: Engine, scripted_server: ScriptedServer) -> None:
    _, trace = ask(
        engine,
        scripted_server,
        use("entity-lookup", name="Skell Tidal Power Company"),
        use("entity-lookup", name="e"),
        use("entity-lookup", name="Rhoda Tenant"),
        "Final Answer: x",
    )
    company, many, unknown = seen(trace)
    assert "- payer (9): " in company
    assert "; … (3 of 9)" in company
    assert re.search(r"… \(5 of 1\d\d entities; give a longer name\)", many)
    assert unknown == "no entity is called 'Rhoda Tenant' (did you mean Rhoda Tennant?)"


def test_where_a_fact_stands(engine: Engine, scripted_server: ScriptedServer) -> None:
    answer, trace = ask(
        engine,
        scripted_server,
        use("source-of-fact", subject="Petrel", relation="sank on", object="1911-11-17"),
        use("source-of-fact", number=1),
        use("source-of-fact", number=9),
        use("source-of-fact", subject="Petrel", relation="sank on", object="1812"),
        use("source-of-fact", subject="Petrel"),
        "Final Answer: On 17 November 1911. [1]",
    )
    first, again, no_number, no_fact, half = seen(trace)
    assert first == again
    assert first == (
        "Petrel sank on 1911-11-17 [1]\n"
        "- The Tidal Museum: a short guide: “The Petrel sank in Skell Sound on 17 November 1911.”"
    )
    assert no_number == "nothing has the number 9 (numbers so far: 1)"
    assert "there is no fact (Petrel, sank on, 1812) (there is: " in no_fact
    assert half.startswith("wrong arguments: ")
    assert half.endswith("give a number, or subject, relation and object")
    assert answer["citations"][0]["sources"][0]["quote"].endswith("on 17 November 1911.")


def test_an_answer_that_is_adopted_keeps_what_it_cites() -> None:
    """Also what the run holds already, with a number or without."""

    def sentence(number: int, marker: int | None) -> Selection:
        return Selection(score=1.0, hit=SentenceHit(NamedNode(f"urn:chunk:x#s{number}")), marker=marker)

    state = State("?", selections=[sentence(1, None), sentence(2, 4)])
    called = State("?", selections=[sentence(n, marker) for n, marker in ((1, 1), (2, 2), (3, 2), (4, 3))])
    text = adopted(state, Called({"answer": "One [1]. Two [2]. Three [3]."}, called))
    assert text == "One [5]. Two [4][6]. Three [7]."
    held = {one.hit.sentence.value[-1]: one.marker for one in state.selections if one.hit}
    assert held == {"1": 5, "2": 4, "3": 6, "4": 7}
    called = State("?", selections=[sentence(n, marker) for n, marker in ((2, 1), (4, 2), (2, 3))])
    assert adopted(state, Called({"answer": "One [1][2][3]. Two [3]."}, called)) == "One [4][7]. Two [4]."


# --- arguments ------------------------------------------------------------------------------------------


@pytest.fixture
def agent(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> Iterator[tuple[Engine, Path]]:
    """An engine, and the folder of its agent, whose tools a test writes."""
    own = tmp_path / "pipelines" / "agent_react"
    shutil.copytree(folder("pipelines") / "agent_react", own)
    store = tmp_path / "store"
    shutil.copytree(sample_folder, store)
    with open_engine(
        store, config=settings(scripted_server, pipelines=str(tmp_path / "pipelines"))
    ) as opened:
        yield opened, own


TYPED = """
- name: measure
  type: prompt
  prompt: measure.j2
  description: Measures.
  arguments:
    - {name: what, description: a thing}
    - {name: times, type: integer, description: how often}
    - {name: length, type: number, description: about}
    - {name: exact, type: boolean, description: whether it matters}
    - {name: unit, enum: [m, ft], description: the unit}
    - {name: note, description: for yourself, required: false}
"""
GOOD = {"what": "x", "times": 2, "length": 1.5, "exact": True, "unit": "m"}


def test_arguments_have_types(agent: tuple[Engine, Path], scripted_server: ScriptedServer) -> None:
    engine, own = agent
    (own / "tools.yaml").write_text(TYPED)
    (own / "measure.j2").write_text(
        "{{ times + 1 }} {{ length * 2 }} {{ unit }}{% if note %} {{ note }}{% endif %}"
    )
    wrong = [
        ({"times": "two"}, "times: not a whole number"),
        ({"length": "long"}, "length: not a number"),
        ({"exact": "perhaps"}, "exact: neither true nor false"),
        ({"unit": "miles"}, "unit: not one of 'm' or 'ft'"),
        ({"what": None}, "what: not a text"),
        ({"other": 1}, "other: unknown key"),
    ]
    replies = [use("measure", **{**GOOD, **change}) for change, _ in wrong]
    _, trace = ask(engine, scripted_server, *replies, use("measure", **GOOD), "5 m", "Final Answer: 5 m")
    found = seen(trace)
    for (_, told), text in zip(wrong, found, strict=False):
        assert text == f"wrong arguments: {told}" or text.startswith(f"wrong arguments: {told},")
    assert found[-1] == "5 m"
    first = scripted_server.requests[0].prompt
    assert "   times (integer): how often" in first
    assert "   unit (one of m, ft): the unit" in first
    assert "   note (string, optional): for yourself" in first
    assert "3 3.0 m" in [request.prompt for request in scripted_server.requests]


# --- tools of MCP servers -------------------------------------------------------------------------------


def mcp(*tools: str, **more: Any) -> str:
    server = {"command": [sys.executable, str(SERVER)], "seconds": 20, **more}
    return yaml.safe_dump([{"name": f"my-{tool}", "type": "mcp", "tool": tool, **server} for tool in tools])


def test_tools_of_an_mcp_server(
    agent: tuple[Engine, Path], scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, own = agent
    monkeypatch.setenv("SECRET", "of ours")
    (own / "tools.yaml").write_text(
        mcp("add", "big", "break", "leave", chars=1000)
        + mcp("secret")
        + mcp("secret", env=["SECRET"]).replace("my-", "our-")
    )
    answer, trace = ask(
        engine,
        scripted_server,
        use("my-add", first=1, second=2, unit="ft"),
        use("my-add", first="one", second=2),
        use("my-big"),
        use("my-break"),
        use("my-leave"),
        use("my-secret"),
        use("our-secret"),
        "Final Answer: 3 ft",
    )
    added, wrong, big, broken, left, secret, ours = seen(trace)
    assert added == "3 ft"
    assert wrong == "wrong arguments: first: 'one' is not of type 'integer'"
    assert big.endswith("x\n… (cut: 1,000 of 10,000,000 characters)")
    assert len(big) < 1100
    assert broken == "it broke"
    assert "onnection closed" in left
    assert (secret, ours) == ("none", "of ours"), (
        "a program gets the variables that tools.yaml names, no others"
    )
    assert "my-add: To add.\n   first (integer): a number" in scripted_server.requests[0].prompt
    assert [step.values["error"] is None for step in trace.steps if step.kind == "observation"] == [
        *(True, False, True, False, False, True, True)
    ]
    assert "uncited_sentence" in [warning["type"] for warning in answer["warnings"]]
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_a_tool_that_hangs_is_ended(agent: tuple[Engine, Path], scripted_server: ScriptedServer) -> None:
    engine, own = agent
    (own / "tools.yaml").write_text(mcp("hang", seconds=1.5))
    _, trace = ask(engine, scripted_server, use("my-hang"), "Final Answer: x")
    assert seen(trace) == [f"{sys.executable} did not answer within 1.5 seconds"]


def test_a_server_that_is_down_leaves_its_tools_out(
    agent: tuple[Engine, Path], scripted_server: ScriptedServer
) -> None:
    engine, own = agent
    down = mcp("add", url="http://127.0.0.1:1/mcp", command=[])
    silent = mcp("add", command=[sys.executable, str(SERVER), "silent"], seconds=0.5)
    (own / "tools.yaml").write_text(down + silent + mcp("nothing") + mcp("break"))
    answer, trace = ask(engine, scripted_server, use("my-break"), "Final Answer: x")
    assert trace.steps[1].values["tools"] == ["my-break"]
    told = [warning["detail"] for warning in answer["warnings"] if warning["type"] == "tool_unavailable"]
    assert told == [
        "the tools of a server are left out: http://127.0.0.1:1/mcp: All connection attempts failed",
        f"the tools of a server are left out: {sys.executable} did not answer within 0.5 seconds",
        f"{sys.executable} has no tool 'nothing', so my-nothing is left out",
    ]


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        (
            mcp("add", command=["/no/such/program"]),
            "the program /no/such/program of an MCP tool was not found",
        ),
        (mcp("add", env=["NOT_SET_ANYWHERE"]), "the environment variable NOT_SET_ANYWHERE is not set"),
        (mcp("add", url="http://127.0.0.1/mcp"), "tool my-add of type mcp needs either command: or url:"),
        ("- {name: x, type: mcp, command: [x]}", "tool x of type mcp needs tool:"),
        ("- {name: x, type: pipeline, pipeline: basic}", "tool x of type pipeline needs description:"),
        (
            TYPED.replace("integer", "date"),
            "type: not one of 'string', 'integer', 'number' or 'boolean'",
        ),
    ],
)
def test_what_is_wrong_with_a_definition_ends_the_run(
    agent: tuple[Engine, Path], scripted_server: ScriptedServer, tools: str, told: str
) -> None:
    engine, own = agent
    (own / "tools.yaml").write_text(tools)
    scripted_server.answer_with(lambda _: "Final Answer: x")
    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.error is not None
    assert told in last.error["message"]


def test_without_the_package_the_error_names_the_extra(
    agent: tuple[Engine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, own = agent
    (own / "tools.yaml").write_text(mcp("add"))
    monkeypatch.setitem(sys.modules, "mcp", None)
    *_, last = engine.ask(QUESTION, "agent_react")
    assert last.error is not None
    assert last.error["hint"] == "pip install 'graphrag-rdf[mcp]'"
