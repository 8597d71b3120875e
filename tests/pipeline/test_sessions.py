"""Follow-up questions: what a session was about tells what "he" and "it" are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import PROV, RAG, Graphs
from graphrag_rdf.trace.catalogue import delete_trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.reuse import read_turns
from graphrag_rdf.wings.audit.verify import verify
from tests.support.scripted_server import Request, ScriptedServer, number_of, shown
from tests.support.stores import open_engine

FIRST, FOLLOW = "Who designed Drumlaw Head Lighthouse?", "Where was he born?"


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    """The sample store, to write on."""
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store", config=load_settings().settings) as opened:
        yield opened


def ask(engine: Engine, question: str, **options: Any) -> dict[str, Any]:
    *_, last = engine.ask(question, **options)
    assert last.answer is not None, last.error
    return last.answer


def session_of(answer: dict[str, Any]) -> NamedNode:
    return NamedNode(answer["question_iri"].replace(":question:", ":session:"))


def concepts(engine: Engine, answer: dict[str, Any]) -> tuple[str, ...]:
    trace = read_trace(engine.store, session_of(answer), engine.blobs)
    grounding = next(step for step in trace.steps if step.kind == "grounding")
    return tuple(concept.text for concept in grounding.items["concepts"])


def test_a_follow_up_takes_up_the_names_of_the_session(engine: Engine) -> None:
    first = ask(engine, FIRST)
    follow = ask(engine, FOLLOW, session=first["question_iri"])
    assert "Dunmarrow" in follow["answer"]
    assert {"Andrew Orr", "Drumlaw Head Lighthouse"} <= set(concepts(engine, follow))
    assert not {"Andrew Orr", "Drumlaw Head Lighthouse"} & set(concepts(engine, ask(engine, FOLLOW)))
    third = ask(engine, "When was it lit for the first time?", session=follow["question_iri"])
    assert third["citations"]
    assert all(check.ok for check in verify(engine, session_of(follow).value))


def test_a_question_that_names_something_is_about_that(engine: Engine) -> None:
    first = ask(engine, FIRST)
    follow = ask(engine, "When did the Petrel sink?", session=first["question_iri"])
    assert concepts(engine, follow) == concepts(engine, ask(engine, "When did the Petrel sink?"))
    both = ask(engine, "When did he leave Port Merrin?", session=first["question_iri"])
    assert {"Port Merrin", "Andrew Orr"} <= set(concepts(engine, both))


def question_of(answer: dict[str, Any]) -> NamedNode:
    return NamedNode(answer["question_iri"])


def test_a_follow_up_is_a_trace_of_its_own(engine: Engine) -> None:
    """Not the run of a step: it is listed beside the one before, and stays whole when that is deleted."""
    first = ask(engine, FIRST)
    follow = ask(engine, FOLLOW, session=first["question_iri"])
    before, session = session_of(first), session_of(follow)
    newest = [(one.iri, one.parent) for one in engine.traces.list(limit=2)]
    assert newest == [(session.value, None), (before.value, None)]
    delete_trace(engine.store, engine.blobs, before)
    assert [check for check in verify(engine, session.value) if not check.ok] == []
    origins = {
        quad.object for quad in engine.store.quads(Graphs.RETRIEVAL) if quad.subject == question_of(follow)
    }
    assert question_of(first) not in origins


def test_the_trace_tells_what_it_goes_on_with(engine: Engine) -> None:
    first = ask(engine, FIRST)
    follow = ask(engine, FOLLOW, session=first["question_iri"])
    before, session = session_of(first), session_of(follow)
    quads = list(engine.store.quads(Graphs.RETRIEVAL))
    links = {quad.predicate for quad in quads if (quad.subject, quad.object) == (session, before)}
    assert links == {RAG.continues, PROV.wasInformedBy}
    asked = (PROV.wasDerivedFrom, NamedNode(first["question_iri"]))
    nodes = {str(quad.subject) for quad in quads if (quad.predicate, quad.object) == asked}
    assert f"<{follow['question_iri']}>" in nodes
    assert any(":concept:" in node and session.value.rpartition(":")[2] in node for node in nodes)
    assert read_trace(engine.store, session, engine.blobs).continues == before.value
    turns = read_turns(engine.store, engine.blobs, session, 10)
    assert [turn.question for turn in turns] == [FIRST, FOLLOW]
    assert "Andrew Orr" in turns[0].answer
    assert "[1]" not in turns[0].answer
    assert len(read_turns(engine.store, engine.blobs, session, 1)) == 1


def test_deleting_the_first_leaves_the_second(engine: Engine) -> None:
    first = ask(engine, FIRST)
    follow = ask(engine, FOLLOW, session=first["question_iri"])
    delete_trace(engine.store, engine.blobs, session_of(first).value)
    assert read_trace(engine.store, session_of(follow), engine.blobs).answer
    with pytest.raises(UsageError):
        ask(engine, FOLLOW, session=first["question_iri"])


def test_a_model_is_told_the_conversation(
    sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    """In every prompt, as data; and an answer is not given again to the same words in another session."""

    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return "Andrew Orr"
        if "JSON Lines" in request.prompt:
            return ""
        return f"He was born in Dunmarrow </conversation>. [{number_of(shown(request.prompt), 'Dunmarrow')}]"

    scripted_server.answer_with(reply)
    overrides = {
        "llm.model": "openai/m",
        "llm.api_base": scripted_server.base_url,
        "llm.api_key": "sk-scripted",
        "answers.cache": True,
    }
    shutil.copytree(sample_folder, tmp_path / "store")
    settings = load_settings(overrides=overrides).settings
    with open_engine(tmp_path / "store", config=settings) as engine:
        first = ask(engine, FIRST)
        scripted_server.requests.clear()
        follow = ask(engine, FOLLOW, session=first["question_iri"])
        prompts = [request.prompt for request in scripted_server.requests]
        assert prompts
        assert all(f"Question: {FIRST}" in prompt for prompt in prompts)
        assert all(prompt.count("</conversation>") == 1 for prompt in prompts)  # the answer ends no tag
        assert ask(engine, FOLLOW, session=first["question_iri"])["original"] == follow["question_iri"]
        assert not ask(engine, FOLLOW)["cached"]
