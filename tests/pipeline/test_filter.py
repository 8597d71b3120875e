"""The filter before the selection: what it keeps, what the trace tells, and what happens when it fails."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_message, render_trace
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine

QUESTION = "Who invented the reversing gear?"
FILTER = {"focus.filter": "llm", "focus.use": "rank", "synthesis.use": "extractive", "grounding.use": "rules"}
BY_SCORE = {"focus.filter": "rerank", "focus.use": "rank", "focus.rerank_weight": "0"}


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with a scripted model."""
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    overrides = {
        "llm.model": "openai/test-model",
        "llm.api_base": scripted_server.base_url,
        "llm.api_key": "secret-key-1234567890",
        "llm.max_retries": 0,
        "rerank.model": "lexical",
    }
    with open_engine(folder, config=load_settings(overrides=overrides).settings) as opened:
        yield opened


def offered(request: Request) -> dict[str, dict[str, str]]:
    """What a prompt offers, by id."""
    lines = re.findall(r'^\{"id": .*\}$', request.prompt.split("<statements>")[1], re.M)
    return {item["id"]: item for item in map(json.loads, lines)}


def keeping(tells: Callable[[dict[str, str]], bool]) -> Callable[[Request], str]:
    """A model that keeps what it is told to keep, with reasons, and says of one why it is dropped."""

    def reply(request: Request) -> str:
        found = offered(request)
        kept = [key for key, item in found.items() if tells(item)]
        dropped = [key for key in found if key not in kept][:1]
        lines = [json.dumps({"id": key, "reason": f"tells of  {key}"}) for key in kept]
        lines += [json.dumps({"id": key, "keep": False, "reason": "beside the point"}) for key in dropped]
        return "Here they are:\n```jsonl\n" + "\n".join(lines) + "\n```"

    return reply


def gear(item: dict[str, str]) -> bool:
    return "reversing gear" in " ".join(item.values())


def ask(engine: Engine, settings: dict[str, str]) -> tuple[dict[str, Any], Trace, list[GraphRagResponse]]:
    messages = [*engine.ask(QUESTION, settings=settings, cache=False)]
    answer = messages[-1].answer
    assert answer is not None, messages[-1].error
    node = NamedNode(answer["question_iri"])
    session = engine.store.select("trace/session-of", node=node)[0]["session"].value
    return answer, read_trace(engine.store, session, engine.blobs), messages


def test_the_model_decides_what_goes_into_the_selection(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(keeping(gear))
    answer, trace, messages = ask(engine, FILTER)
    (request,) = scripted_server.requests
    assert {key[0] == "s" and "s" not in item for key, item in offered(request).items()} == {True, False}
    focus = next(step for step in trace.steps if step.kind == "focus")
    kept = [decision for decision in focus.items["filter"] if decision.kept]
    dropped = [decision for decision in focus.items["filter"] if not decision.kept]
    assert kept
    assert dropped
    assert len(focus.items["filter"]) == len(offered(request))
    assert all("reversing gear" in f"{one.fact} {one.text}" for one in kept if one.fact is None)
    assert all(one.reasoning and one.reasoning.startswith("tells of ") for one in kept)
    assert [one.reasoning for one in dropped if one.reasoning] == ["beside the point"]
    facts = {one.fact for one in kept if one.fact}
    sentences = {one.sentence for one in kept if one.sentence}
    for selection in focus.selections:
        assert selection.whole or selection.fact in facts or selection.sentence in sentences
    assert {decision.filter for decision in focus.items["filter"]} == {"llm"}
    assert [step.kind for step in trace.steps] == [
        *("question", "grounding", "exploration", "focus", "synthesis")
    ], "the chain is that of TrustGraph"
    assert focus.in_tokens
    shown = render_trace(trace, full=True)
    assert f"kept {len(kept)} of {len(focus.items['filter'])} candidate(s)" in shown
    assert "beside the point" in shown
    assert "beside the point" in render_page(engine.store, trace)
    message = next(message for message in messages if message.kind == "focus")
    assert "Dropped: " in render_message(engine.store, engine.blobs, message)
    assert "Rhoda Tennant" in answer["answer"]


def test_candidates_that_nobody_looked_at_are_left_out(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(keeping(lambda item: True))
    _, trace, _ = ask(engine, FILTER | {"focus.filter_limit": "2"})
    focus = next(step for step in trace.steps if step.kind == "focus")
    assert len(focus.items["filter"]) == 4
    facts = {one.fact for one in focus.items["filter"] if one.fact}
    sentences = {one.sentence for one in focus.items["filter"] if one.sentence}
    taken = [one for one in focus.selections if not one.whole]
    assert taken
    assert all(one.fact in facts or one.sentence in sentences for one in taken)


def test_a_model_that_keeps_none_makes_an_honest_answer(
    engine: Engine, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda request: '{"id": "none"}')
    answer, trace, _ = ask(engine, FILTER)
    assert not answer["citations"]
    assert "no_relevant_facts" in [warning["type"] for warning in answer["warnings"]]
    assert not any(decision.kept for step in trace.steps for decision in step.items.get("filter", ()))


@pytest.mark.parametrize(
    "reply",
    [Reply("broken", status=500), Reply("I would keep the first."), Reply('{"id": "77777777"}'), Reply("")],
)
def test_a_filter_that_fails_keeps_everything_and_says_so(
    engine: Engine, scripted_server: ScriptedServer, reply: Reply
) -> None:
    plain, _, _ = ask(engine, FILTER | {"focus.filter": "none"})
    scripted_server.answer_with(lambda request: reply)
    answer, trace, _ = ask(engine, FILTER)
    assert "filter_failed" in [warning["type"] for warning in answer["warnings"]]
    assert answer["answer"] == plain["answer"]
    assert not any(step.items.get("filter") for step in trace.steps)


def test_what_was_not_offered_is_a_warning(engine: Engine, scripted_server: ScriptedServer) -> None:
    inner = keeping(gear)
    scripted_server.answer_with(lambda request: inner(request) + '\n{"id": "77777777", "reason": "made up"}')
    answer, _, _ = ask(engine, FILTER)
    told = [w["detail"] for w in answer["warnings"] if w["type"] == "selection_ignored"]
    assert len(told) == 1
    assert "77777777" in told[0]


def test_a_reranker_drops_what_scores_low(engine: Engine) -> None:
    settings = BY_SCORE | {"grounding.use": "rules", "synthesis.use": "extractive"}
    _, trace, _ = ask(engine, settings | {"focus.filter_min_score": "0.6"})
    focus = next(step for step in trace.steps if step.kind == "focus")
    given = [(decision.reranked or 0.0, decision.kept) for decision in focus.items["filter"]]
    least, most = min(score for score, _ in given), max(score for score, _ in given)
    assert {kept for _, kept in given} == {True, False}
    assert all(kept == ((score - least) / (most - least) >= 0.6) for score, kept in given)
    assert [call.purpose for call in focus.calls if call.kind == "rerank"] == ["rerank candidates"]


def test_a_filter_without_its_model_is_a_warning(samples: Engine) -> None:
    for way in ("llm", "rerank"):
        messages = [*samples.ask(QUESTION, settings={"focus.filter": way})]
        assert messages[-1].answer
        told = [w["detail"] for w in messages[-1].answer["warnings"] if w["type"] == "filter_failed"]
        assert len(told) == 1
        assert "none is set" in told[0]


def test_an_unknown_filter_is_refused(samples: Engine) -> None:
    with pytest.raises(Exception, match="one of none, llm, rerank"):
        samples.ask(QUESTION, settings={"focus.filter": "magic"})


def test_forgetting_takes_the_reasons_too(engine: Engine, scripted_server: ScriptedServer) -> None:
    """Also where nothing but a dropped sentence came from the document."""
    scripted_server.answer_with(keeping(gear))
    _, trace, _ = ask(engine, FILTER)
    dropped = next(d for s in trace.steps for d in s.items.get("filter", ()) if not d.kept and d.sentence)
    row = engine.store.select("retrieval/sentence-texts", sentences=[dropped.sentence])[0]
    forget_documents(engine, [NamedNode(row["document"])])
    after = read_trace(engine.store, trace.iri, engine.blobs)
    assert after.source_forgotten
    decisions = [decision for step in after.steps for decision in step.items.get("filter", ())]
    assert decisions
    assert not any(decision.reasoning or decision.fact for decision in decisions)
