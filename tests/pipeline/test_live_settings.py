"""Settings in the store, changed while an engine is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import DocumentSection, LlmSection, Settings
from graphrag_rdf.errors import ConfigError
from tests.support.stores import open_engine

QUESTION = "Who founded the Tarnay Electric Light Company?"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "c.txt").write_text("Walter Pennock founded the Tarnay Electric Light Company in 1897.\n")
    engine = open_engine(":memory:", config=Settings(llm=LlmSection(seed=1)))
    engine.ingest([tmp_path / "c.txt"])
    return engine


def test_hold_at_the_next_question(engine: Engine) -> None:
    engine.live.set("graph_rag.focus.use", "edges")
    assert engine.pipeline("graph_rag").parameters(with_model=False)["focus"]["use"] == "rank"
    first, *_ = engine.ask(QUESTION)
    assert engine.pipeline("graph_rag").parameters(with_model=False)["focus"]["use"] == "edges"
    assert any(str(triple.predicate).endswith("ns#settings>") for triple in first.explain_triples)
    engine.live.unset("graph_rag.focus.use")
    engine.retrieve(QUESTION)
    assert engine.pipeline("graph_rag").parameters(with_model=False)["focus"]["use"] == "rank"


def test_parts_are_made_anew_when_their_settings_change(engine: Engine) -> None:
    gateway, index = engine.gateway, engine.text_index
    engine.live.set("llm.max_retries", "1")
    engine.live.set("llm.seed", "2")
    engine.retrieve(QUESTION)
    assert engine.gateway is not gateway
    assert engine.text_index is index
    assert engine.settings.llm.max_retries == 1
    assert engine.settings.llm.seed == 1, "what was given wins"


def test_a_question_whose_settings_cannot_be_is_refused(engine: Engine) -> None:
    engine.store.update(
        "PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> INSERT DATA { GRAPH <urn:graph:system> { "
        "<urn:graphrag-rdf:store> rag:setting <urn:s> . "
        '<urn:s> rag:settingKey "graph_rag.focus.edge_limit" ; rag:settingValue 2.5 } }'
    )
    with pytest.raises(ConfigError, match=r"graph_rag\.focus\.edge_limit = 2\.5"):
        engine.ask(QUESTION)


def test_nothing_is_written_where_nothing_is_kept(engine: Engine) -> None:
    commit = engine.store.commit_number()
    engine.retrieve(QUESTION)
    assert engine.live.history() == []
    assert engine.store.commit_number() == commit


def test_dropping_everything_drops_the_settings(engine: Engine) -> None:
    engine.live.set("documents.chunk_size", "900")
    assert engine.live.read().settings.documents.chunk_size == 900
    engine.store.update("DROP ALL")
    assert engine.live.read().settings.documents == DocumentSection()
    assert engine.live.read().version is None
