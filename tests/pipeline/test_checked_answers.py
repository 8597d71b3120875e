"""Checks of a model's answer, over the wire: warnings, refusals, citations, thinking, what is kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.steps.checking import SENTINEL, not_answered
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import QUESTION, model, settings
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine

# 16 is the number of this sentence in the selected chunks
GOOD = "Rhoda Tennant invented the reversing gear. [16]"


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with a scripted model, and its cache."""
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=settings(scripted_server, **{"answers.cache": True})) as opened:
        yield opened


def ask(
    engine: Engine, server: ScriptedServer, answer: str | Reply, question: str = QUESTION
) -> dict[str, Any]:
    server.answer_with(model(answer))
    final = list(engine.ask(question))[-1].answer
    assert final is not None
    return final


def kinds(answer: dict[str, Any]) -> set[str]:
    return {warning["type"] for warning in answer["warnings"]}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("I'm sorry, I don't know.", "answer_refused"),
        ("Die Dokumente sagen dazu nichts.", "answer_refused"),
        (Reply(GOOD + " She also inv", finish_reason="length"), "answer_truncated"),
        (Reply("<think>Rhoda or Isak?", finish_reason="length"), "answer_truncated"),
        (GOOD + " The gear made her rich.", "uncited_sentence"),
        (GOOD + " James Watt helped her. [16]", "unsupported_name"),
        (GOOD + " It had 97 teeth. [16]", "unsupported_numeric"),
        (GOOD + " More is known. [777]", "invalid_citation"),
        (
            "Das Umsteuergetriebe wurde von Rhoda Tennant und nicht von jemand anderem erfunden. [16]",
            "answer_language",
        ),
    ],
)
def test_an_answer_with_a_fault_has_a_warning_and_is_not_kept(
    engine: Engine, scripted_server: ScriptedServer, answer: str | Reply, kind: str
) -> None:
    """In the JSON, in the trace and on its page; asked again, the model is asked again."""
    found = ask(engine, scripted_server, answer)
    assert kind in kinds(found)
    recorded = {q.object.value for q in engine.store.quads() if q.predicate == RAG.warningType}  # type: ignore[attr-defined]
    assert kind in recorded
    assert next(w["detail"] for w in found["warnings"] if w["type"] == kind)[:40] in render_page(
        engine.store, engine.traces["last"]
    ).replace("&#39;", "'").replace("&#34;", '"')
    before = len(scripted_server.requests)
    again = ask(engine, scripted_server, GOOD)
    assert again["answer"] == GOOD
    assert not again["cached"]
    assert len(scripted_server.requests) == before + 1, "the other steps' answers are kept"
    third = ask(engine, scripted_server, "never asked for")
    assert (third["answer"], third["cached"]) == (GOOD, True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (SENTINEL, not_answered("en")),
        (f"**{SENTINEL}**\n", not_answered("en")),
        (f"<think>Hm.</think>\n{SENTINEL}.", not_answered("en")),
        ("<think>and so on", not_answered("en")),
        ("The statements do not mention it. [16]", "The statements do not mention it. [16]"),
    ],
)
def test_a_model_that_does_not_know(
    engine: Engine, scripted_server: ScriptedServer, answer: str, said: str
) -> None:
    """The sentinel is never shown, not even in pieces; nothing is cited, the closest passages are named."""
    scripted_server.answer_with(model(Reply(answer, chunk_size=3)))
    messages = list(engine.ask(QUESTION))
    found = messages[-1].answer
    assert found is not None
    assert found["answer"] == said
    assert "".join(message.response for message in messages if message.kind == "answer").strip() in (said, "")
    assert (found["answered"], found["citations"]) == (False, [])
    assert "answer_refused" in kinds(found)
    assert found["closest"]


def test_the_sentinel_is_translated(engine: Engine, scripted_server: ScriptedServer) -> None:
    found = ask(engine, scripted_server, SENTINEL, "谁发明了 reversing gear？ Rhoda Tennant 吗？")
    assert found["answer"] == not_answered("zh")


def test_a_sentinel_after_a_partial_answer_is_left_out(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    found = ask(engine, scripted_server, f"{GOOD}\n{SENTINEL}")
    assert (found["answer"], found["answered"]) == (GOOD, True)


@pytest.mark.parametrize("marker", ["【16】", "[^16]", "[16-17]", "[S16, S17]", "(16)", "[16][17]"])
def test_other_forms_of_citations(engine: Engine, scripted_server: ScriptedServer, marker: str) -> None:
    found = ask(engine, scripted_server, GOOD.replace("[16]", marker))
    numbers = {citation["marker"] for citation in found["citations"]}
    assert numbers == ({"[16]", "[17]"} if "17" in marker else {"[16]"})
    assert found["answer"].endswith("".join(sorted(numbers)))
    assert not kinds(found) & {"uncited_sentence", "invalid_citation"}


def test_thinking_reaches_nobody_but_the_log(engine: Engine, scripted_server: ScriptedServer) -> None:
    raw = f"<think>Was it [777] in 1812? No, James Watt.</think>\n{GOOD}"
    scripted_server.answer_with(model(Reply(raw, chunk_size=5)))
    messages = list(engine.ask(QUESTION))
    found = messages[-1].answer
    assert found is not None
    assert found["answer"] == GOOD
    assert "".join(message.response for message in messages if message.kind == "answer") == GOOD
    assert not kinds(found) & {"invalid_citation", "unsupported_numeric", "unsupported_name"}
    quads = list(engine.store.quads())  # type: ignore[attr-defined]
    assert raw in [engine.blobs.text(quad.object) for quad in quads if quad.predicate == RAG.completion]
    assert "James Watt" not in str(quads)


DRAFT = GOOD + " It had 97 teeth. [16]"


def repaired(
    engine: Engine, server: ScriptedServer, draft: str, second: str | Reply
) -> tuple[dict[str, Any], list[str], list[GraphRagResponse]]:
    """The answer with `synthesis.repair`, the prompts of answers, and all messages."""
    prompts: list[str] = []

    def reply(request: Request) -> str | Reply:
        if not request.prompt.startswith("Answer the question"):
            return model()(request)
        prompts.append(request.prompt)
        return second if "<problems>" in request.prompt else draft

    server.answer_with(reply)
    messages = list(engine.ask(QUESTION, settings={"synthesis.repair": "true"}))
    found = messages[-1].answer
    assert found is not None
    return found, prompts, messages


def test_a_model_corrects_its_answer_once(engine: Engine, scripted_server: ScriptedServer) -> None:
    """The correction is given in one piece; the draft stays in the trace, and tokens are summed."""
    found, prompts, messages = repaired(engine, scripted_server, DRAFT, GOOD)
    assert found["answer"] == GOOD
    assert "unsupported_numeric" not in kinds(found)
    assert [m.response for m in messages if m.kind == "answer"] == [GOOD]
    assert found["usage"]["llm_calls"] == 2
    first, second = prompts
    assert second.startswith(first), "a provider's cache of prompts has the beginning"
    assert DRAFT in second
    assert "97" in second.partition("<problems>")[2]
    trace = engine.traces["last"]
    step = next(step for step in trace.steps if step.kind == "synthesis")
    assert step.values["draft"] is not None
    assert engine.blobs.text(step.values["draft"].value) == DRAFT
    assert f"the first draft is kept as {step.values['draft'].value}" in render_trace(trace)
    assert all(check.ok for check in verify(engine, trace.iri))


@pytest.mark.parametrize(
    "second",
    [
        SENTINEL,
        GOOD + " It had 98 teeth. [16]",
        "It had 98 teeth.",
        Reply(GOOD, finish_reason="length"),
    ],
)
def test_a_correction_that_is_no_better_is_not_taken(
    engine: Engine, scripted_server: ScriptedServer, second: str | Reply
) -> None:
    found, prompts, _ = repaired(engine, scripted_server, DRAFT, second)
    assert found["answer"] == DRAFT
    assert "unsupported_numeric" in kinds(found)
    assert len(prompts) == 2
    assert not [q for q in engine.store.quads() if q.predicate == RAG.supersededDraft]  # type: ignore[attr-defined]


@pytest.mark.parametrize("draft", [GOOD, SENTINEL])
def test_what_has_no_problem_is_not_repaired(
    engine: Engine, scripted_server: ScriptedServer, draft: str
) -> None:
    found, prompts, messages = repaired(engine, scripted_server, draft, "never asked for")
    assert found["answered"] == (draft == GOOD)
    assert len(prompts) == 1
    assert [m.response for m in messages if m.kind == "answer"] == [found["answer"]]
