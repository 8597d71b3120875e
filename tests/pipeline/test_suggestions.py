"""Questions to ask next: by a model, else from facts beside the answer, each marked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import model, settings
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine

QUESTION = "When did the Petrel sink?"
ASKED = {"synthesis.suggestions": "3"}


def final(engine: Engine, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    *_, last = engine.ask(question, settings=ASKED, **options)
    assert last.answer is not None
    return last.answer


@pytest.fixture
def plain(sample_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store") as opened:
        yield opened


@pytest.fixture
def with_model(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store", config=settings(scripted_server)) as opened:
        yield opened


def test_only_when_asked_for(plain: Engine) -> None:
    *_, last = plain.ask(QUESTION)
    assert last.answer is not None
    assert last.answer["suggestions"] == []
    with pytest.raises(ConfigError, match="from 0 to 10"):
        list(plain.ask(QUESTION, settings={"synthesis.suggestions": "11"}))


def test_from_facts_that_the_answer_does_not_tell(plain: Engine) -> None:
    answer = final(plain)
    suggested = answer["suggestions"]
    assert [one["by"] for one in suggested] == ["graph"] * 3
    assert len({one["question"] for one in suggested}) == 3
    trace = plain.traces["last"]
    kept = trace.steps[-1].items["suggestions"]
    assert [one.question for one in kept] == [one["question"] for one in suggested]
    cited = {tuple(c["edge"][x] for x in "spo") for c in answer["citations"] if "edge" in c}
    for one in kept:
        assert one.fact is not None
        assert (one.fact.s.value, one.fact.p.value, one.fact.o.value) not in cited
        assert one.fact.s_label in str(one.question) or one.fact.o_label in str(one.question)
        assert final(plain, str(one.question))["answer"]
    assert final(plain)["suggestions"] == suggested
    assert all(check.ok for check in verify(plain, "last"))


def test_beside_the_question_where_there_is_no_answer(plain: Engine) -> None:
    answer = final(plain, "Who painted the Petrel green in 1955?")
    assert "no_relevant_facts" in {warning["type"] for warning in answer["warnings"]}
    assert all("Petrel" in one["question"] for one in answer["suggestions"])
    assert answer["suggestions"]
    assert final(plain, "zzz qqq")["suggestions"] == []


def test_in_the_language_of_the_question(sample_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "Ada Lovelace kannte Charles Babbage. Ada Lovelace besuchte Mary Somerville in London. "
        "Das ist ein Text in deutscher Sprache, der von einigen Leuten und von ihren Wegen handelt."
    )
    with open_engine(":memory:") as engine:
        engine.ingest([tmp_path / "a.txt"])
        settings = ASKED | {"synthesis.max_sentences": "1"}
        *_, last = engine.ask("Wen kannte Ada Lovelace?", settings=settings)
        assert last.answer is not None
        suggested = [one["question"] for one in last.answer["suggestions"]]
        assert suggested
        assert all(question.startswith(("Was verbindet", "Was ist noch")) for question in suggested)


def test_by_the_model(with_model: Engine, scripted_server: ScriptedServer) -> None:
    prompts: list[str] = []
    inner = model("The ship was lost. [1]")

    def reply(request: Request) -> str | Reply:
        if "may want to ask next" in request.prompt:
            prompts.append(request.prompt)
            return "1. Who built the Petrel?\n\n- Where did she sink?\n- Who was lost?\n- A fourth?"
        return inner(request)

    scripted_server.answer_with(reply)
    answer = final(with_model)
    assert answer["suggestions"] == [
        {"question": question, "by": "llm"}
        for question in ("Who built the Petrel?", "Where did she sink?", "Who was lost?")
    ]
    (prompt,) = prompts
    assert QUESTION in prompt
    assert "at most 3" in prompt
    step = with_model.traces["last"].steps[-1]
    assert "suggest" in {call.purpose for call in step.calls}
    again = final(with_model)
    assert len(prompts) == 1
    assert again["suggestions"] == answer["suggestions"]
    *_, without = with_model.ask(QUESTION)
    assert without.answer is not None
    assert without.answer["suggestions"] == []


@pytest.mark.parametrize("failing", [Reply(status=500, text="out of order"), "\n \n"])
def test_a_model_that_cannot_is_named_and_the_graph_is_asked(
    failing: str | Reply, with_model: Engine, scripted_server: ScriptedServer
) -> None:
    inner = model()
    scripted_server.answer_with(
        lambda request: failing if "may want to ask next" in request.prompt else inner(request)
    )
    answer = final(with_model)
    assert "suggestions_failed" in {warning["type"] for warning in answer["warnings"]}
    assert {one["by"] for one in answer["suggestions"]} == {"graph"}
    assert answer["answer"]


def test_forgetting_erases_their_words(plain: Engine) -> None:
    final(plain)
    assert plain.traces["last"].steps[-1].items["suggestions"][0].question
    names = ["documents/loss-of-the-petrel.txt", "documents/museum-guide.md"]
    forget_documents(plain, find_documents(plain.store, names))
    for one in plain.traces["last"].steps[-1].items["suggestions"]:
        assert (one.question, one.fact) == (None, None)
