"""Overviews: what the documents are about, by reports of the largest communities or by facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.wings.audit.verify import verify
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine
from tests.wings.communities.pipeline.test_local import LINE, TEXTS

QUESTION = "What are these documents about?"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "documents" / name).write_text(text)
    return tmp_path


@pytest.fixture
def engine(place: Path) -> Iterator[Engine]:
    config = load_settings(overrides={"extract.use": "rules"}).settings
    with open_engine(place / "store", config=config) as opened:
        opened.ingest([place / "documents"])
        yield opened


def require_verified(engine: Engine) -> None:
    checks = verify(engine, engine.traces["last"].iri)
    assert [check for check in checks if not check.ok] == []


def test_a_line_for_each_of_the_largest_communities(engine: Engine) -> None:
    engine.refresh("communities")
    *_, last = engine.ask(QUESTION, "overview")
    assert last.answer is not None
    lines = last.answer["answer"].splitlines()
    rows = engine.store.select("retrieval/main-reports", min_rating=0.0, limit=10)
    assert [line.partition(": ")[0] for line in lines] == [row["title"] for row in rows]
    assert {citation["marker"] for citation in last.answer["citations"]} == {
        f"[{number}]" for number in range(1, len(lines) + 1)
    }
    assert any(text.split(". ")[0] in last.answer["answer"] for text in TEXTS.values())
    assert last.answer["suggestions"]
    assert len([one for one in engine.traces["last"].steps if one.kind == "context"]) == 1
    require_verified(engine)


def test_no_more_lines_than_asked_for(engine: Engine) -> None:
    engine.refresh("communities")
    *_, last = engine.ask(QUESTION, "overview", settings={"synthesis.lines": "1"})
    assert last.answer is not None
    assert len(last.answer["answer"].splitlines()) == 1


def test_without_communities_facts_are_quoted(engine: Engine) -> None:
    *_, last = engine.ask(QUESTION, "overview")
    assert last.answer is not None
    assert {warning["type"] for warning in last.answer["warnings"]} == {"no_llm", "no_reports"}
    quotes = {source["quote"] for citation in last.answer["citations"] for source in citation["sources"]}
    assert quotes
    lines = last.answer["answer"].splitlines()
    names = [row["name"] for row in engine.store.select("entities/list", text="", limit=10)]
    heads = [line.partition(": ")[0] for line in lines]
    assert heads == [name for name in names if name in heads]
    assert len({line.partition(": ")[2].rpartition(" [")[0] for line in lines}) == len(lines)
    assert all(any(quote in text for text in TEXTS.values()) for quote in quotes)
    require_verified(engine)


def test_an_excluded_entity_is_not_part_of_it(engine: Engine) -> None:
    list(engine.ask(QUESTION, "overview", exclude=["Rhoda Tennant"]))
    (step,) = [one for one in engine.traces["last"].steps if one.kind == "context"]
    assert "Rhoda Tennant" not in {one.label for one in step.items["entities"]}


def test_a_model_writes_from_reports(engine: Engine, place: Path, scripted_server: ScriptedServer) -> None:
    engine.refresh("communities")
    engine.close()

    def reply(request: Request) -> Reply:
        number = next(
            number for number, text in LINE.findall(request.prompt) if "Isak Wennerby owned" in text
        )
        return Reply(f"Isak Wennerby owned Skell Forge. [{number}]")

    scripted_server.answer_with(reply)
    wire = {"llm.model": "openai/m", "llm.api_base": scripted_server.base_url, "llm.api_key": "k"}
    wire |= {"communities.reports": "extractive"}
    config = load_settings(overrides={"extract.use": "rules", **wire}).settings
    with open_engine(place / "store", config=config) as again:
        *_, last = again.ask(QUESTION, "overview", settings={"synthesis.suggestions": "0"})
        assert last.answer is not None
        assert len(scripted_server.requests) == 1
        sources = [source for citation in last.answer["citations"] for source in citation["sources"]]
        assert "Isak Wennerby owned Skell Forge." in {source["quote"] for source in sources}
        require_verified(again)
