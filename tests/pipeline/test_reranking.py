"""Reranking of passages, facts and sentences: what changes, and what the trace says of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import SearchIndexError
from graphrag_rdf.rdf.terms import to_python
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_trace
from tests.support.cross_encoder import write_cross_encoder
from tests.support.scripted_server import Reply, ScriptedServer
from tests.support.stores import open_engine

QUESTION = "What caused the failure of Gate 4?"

Open = Callable[..., Engine]


@pytest.fixture
def open_samples(sample_folder: Path, tmp_path: Path) -> Iterator[Open]:
    """Opens a copy of the sample store with settings."""
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    opened: list[Engine] = []

    def open_with(**settings: Any) -> Engine:
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        opened.append(open_engine(folder, config=load_settings(overrides=overrides).settings))
        return opened[-1]

    yield open_with
    for engine in opened:
        engine.close()


def chunks(found: dict[str, Any]) -> list[str]:
    return [result["chunk"] for result in found["results"]]


def test_a_remote_model_decides_the_order(open_samples: Open, scripted_server: ScriptedServer) -> None:
    """Over HTTP, as litellm asks it; the server's score is the share of the question's words."""
    engine = open_samples(rerank__model="infinity/test", rerank__api_base=scripted_server.host_url)
    plain = engine.retrieve(QUESTION, k=20, settings={"exploration.rerank_weight": "0"})
    assert not scripted_server.requests
    found = engine.retrieve(QUESTION, k=20, settings={"exploration.rerank_weight": "1"})
    (request,) = [r for r in scripted_server.requests if r.path.endswith("/rerank")]
    assert request.body["query"] == QUESTION
    assert len(request.body["documents"]) == len(plain["results"]) > 5
    assert "authorization" not in request.headers or "secret" not in request.headers["authorization"]
    given = [result["rerank_score"] for result in found["results"]]
    assert given == sorted(given, reverse=True)
    assert chunks(found) != chunks(plain)
    assert [plain["results"][r["rank_before"] - 1]["chunk"] for r in found["results"]] == chunks(found)
    assert not found["warnings"]


@pytest.mark.parametrize("provider", ["cohere", "jina_ai"])
def test_providers_speak_to_the_server_that_is_named(
    open_samples: Open, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "cohere-key")
    monkeypatch.setenv("JINA_AI_API_KEY", "jina-key")
    engine = open_samples(
        llm__api_key="the-models-own-key",
        rerank__model=f"{provider}/test",
        rerank__api_base=scripted_server.host_url,
    )
    found = engine.retrieve(QUESTION, k=3)
    assert not found["warnings"]
    (request,) = scripted_server.requests
    assert request.path.endswith("rerank")
    assert "the-models-own-key" not in str(request.headers), "a key goes to its own server only"


def test_a_cross_encoder_in_a_folder(open_samples: Open, tmp_path: Path) -> None:
    folder = tmp_path / "reranker"
    folder.mkdir()
    engine = open_samples(rerank__model=f"local:{write_cross_encoder(folder)}")
    found = engine.retrieve(QUESTION, k=20, settings={"exploration.rerank_weight": "1"})
    first, last = found["results"][0], found["results"][-1]
    assert first["text"].lower().count("harbour") > last["text"].lower().count("harbour")
    assert first["rerank_score"] > last["rerank_score"]


@pytest.mark.parametrize("pipeline", ["graph_rag", "hops_rag"])
def test_shares_add_up(open_samples: Open, pipeline: str) -> None:
    engine = open_samples(rerank__model="lexical")
    found = engine.retrieve(QUESTION, k=10, preview=True, stored=True, pipeline=pipeline)
    session = NamedNode(found["trace"])
    for result in found["results"]:
        assert sum(result["weights"].values()) <= 1 + 1e-9
        mixed = sum(result["weights"][name] * value for name, value in result["signals"].items())
        assert mixed == pytest.approx(result["score"], abs=1e-9)
    before = engine.store.select("trace/reranked", session=session)
    assert [to_python(row["rank"]) for row in before] == [*range(1, 11)]
    assert [to_python(row["rank_before"]) for row in before] == [
        result["rank_before"] for result in found["results"]
    ]
    assert all(0 <= float(to_python(row["score_before"])) <= 1 for row in before)  # type: ignore[arg-type]


def test_what_was_not_asked_about_stays_behind_in_its_order(open_samples: Open) -> None:
    engine = open_samples(rerank__model="lexical")
    found = engine.retrieve(QUESTION, k=12, settings={"exploration.rerank_limit": "3"})
    assert {result["rank_before"] for result in found["results"][:3]} == {1, 2, 3}
    assert [result["rank_before"] for result in found["results"][3:]] == [*range(4, 13)]
    assert found["results"][5]["rerank_score"] is None
    scores = [result["score"] for result in found["results"]]
    assert scores == sorted(scores, reverse=True)


def test_facts_and_sentences_are_reranked_too(open_samples: Open) -> None:
    engine = open_samples(rerank__model="lexical")
    *_, last = engine.ask(QUESTION, settings={"focus.rerank_weight": "1"})
    assert last.answer is not None
    session = next(
        row["session"].value
        for row in engine.store.select("trace/session-of", node=NamedNode(last.answer["question_iri"]))
    )
    focus = next(s for s in read_trace(engine.store, session).steps if s.kind == "focus")
    given = [selection.reranked for selection in focus.selections]
    assert any(score is not None for score in given)
    assert [call.kind for call in focus.calls if call.kind == "rerank"] == ["rerank"]
    edges = [s.score for s in focus.selections if s.chunk is None]
    assert edges == sorted(edges, key=lambda score: -(score or 0))
    shown = read_trace(engine.store, session, engine.blobs)
    assert "(was " in render_trace(shown)
    assert "reranker gave" in render_page(engine.store, shown)


def test_a_reranker_that_fails_is_a_warning_and_the_order_before(
    open_samples: Open, scripted_server: ScriptedServer
) -> None:
    engine = open_samples(
        rerank__model="infinity/test", rerank__api_base=scripted_server.host_url, llm__max_retries=0
    )
    plain = engine.retrieve(QUESTION, settings={"exploration.rerank_weight": "0"})
    scripted_server.script(Reply("broken", status=500))
    found = engine.retrieve(QUESTION)
    assert chunks(found) == chunks(plain)
    assert [warning["type"] for warning in found["warnings"]] == ["rerank_failed"]
    assert "rank_before" not in found["results"][0]


def test_a_reranker_that_cannot_be_is_refused(open_samples: Open, tmp_path: Path) -> None:
    with pytest.raises(SearchIndexError, match="lacks"):
        open_samples(rerank__model=f"local:{tmp_path}").retrieve(QUESTION)


def test_without_a_reranker_nothing_is_different(samples: Engine) -> None:
    found = samples.retrieve(QUESTION, preview=True)
    assert "rerank" not in found["results"][0]["signals"]
    assert "rank_before" not in found["results"][0]
