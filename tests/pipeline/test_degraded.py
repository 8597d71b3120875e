"""What still works when an index is damaged or a server does not answer, and that it is said."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.checks.diagnosis import diagnostics
from graphrag_rdf.config import Settings, load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.rdf.namespaces import RDFS, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.checking import SENTINEL
from graphrag_rdf.store.base import Changes
from tests.pipeline.test_with_a_model import model, settings
from tests.support.scripted_server import Reply, ScriptedServer
from tests.support.stores import open_engine

Degrade = Callable[[Path, ScriptedServer], Settings]
QUESTION = "What did Rhoda Tennant invent?"
INVENTOR = "http://trustgraph.ai/e/rhoda-tennant"


def final(engine: Engine, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    answer = list(engine.ask(question, **options))[-1].answer
    assert answer is not None
    return answer


def kinds(answer: dict[str, Any]) -> list[str]:
    return [warning["type"] for warning in answer["warnings"]]


# --- without the index of words ----------------------------------------------------------------------


@pytest.fixture
def without_index(sample_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    """The sample store with an index of words that cannot be read."""
    damaged = tmp_path / "store"
    shutil.copytree(sample_folder, damaged)
    for file in (damaged / "index" / "text").rglob("*.json"):
        file.write_text("{broken")
    with open_engine(damaged, config=Settings()) as engine:
        yield engine


@pytest.mark.parametrize("pipeline", ["hops_rag", "graph_rag"])
def test_without_an_index_names_are_looked_up_in_the_store(without_index: Engine, pipeline: str) -> None:
    answer = final(without_index, pipeline=pipeline)
    assert kinds(answer).count("index_missing") == 1
    assert answer["citations"]
    assert "reversing gear" in answer["answer"]
    found = without_index.retrieve(QUESTION, preview=True, pipeline=pipeline)
    assert [(seed["label"], seed["matched_by"]) for seed in found["seeds"]] == [("Rhoda Tennant", "exact")]
    assert found["results"]


def test_entities_can_be_named_without_an_index(without_index: Engine) -> None:
    found = without_index.retrieve("Who?", include=["Rhoda Tennant"], preview=True)
    assert found["seeds"][0]["entity"] == INVENTOR
    with pytest.raises(UsageError, match="Nobody Atall"):
        without_index.retrieve("Who?", include=["Nobody Atall"])


def test_names_with_a_language_are_found_too(without_index: Engine) -> None:
    """Labels that were imported may have a language; names of people who wrote them any character."""
    name = 'Räder "Ö\'Neil" \\ {{ 1 }}'
    label = Quad(NamedNode(INVENTOR), RDFS.label, Literal(name, language="en"))
    without_index.store.commit(Changes(add=[label], content=False))
    before = list(without_index.store.quads(Graphs.RETRIEVAL))
    found = without_index.retrieve("Who?", include=[name], preview=True)
    assert found["seeds"][0]["entity"] == INVENTOR
    assert list(without_index.store.quads(Graphs.RETRIEVAL)) == before


# --- odd questions and names -------------------------------------------------------------------------


@pytest.mark.parametrize("pipeline", ["hops_rag", "graph_rag"])
@pytest.mark.parametrize(
    "question",
    ["???", "the of and", "谁发明了换向齿轮？", "🙂", "x\x00y", ' O\'Neil "x" \\ <b>', "Rhoda " * 3000],
)
def test_odd_questions_have_an_answer(samples: Engine, question: str, pipeline: str) -> None:
    assert final(samples, question, pipeline=pipeline)["answer"]


def test_lower_and_upper_case_are_one_question(samples: Engine) -> None:
    """The best quote is the same; in capitals, names cannot be told from words, so others may differ."""
    upper, lower = (
        final(samples, text)["citations"][0]["sentence"] for text in (QUESTION.upper(), QUESTION.lower())
    )
    assert upper == lower


def test_what_is_not_unicode_is_refused(samples: Engine) -> None:
    """Bytes of a command line that are not UTF-8 arrive as lone surrogates."""
    with pytest.raises(UsageError, match="Unicode"):
        final(samples, "Wer \udcfc?")


@pytest.mark.parametrize("name", ["http://not an iri/", "http://example.org/unknown", "urn:x:y"])
def test_an_unknown_iri_is_no_entity(samples: Engine, name: str) -> None:
    with pytest.raises(UsageError, match="no entity is called"):
        final(samples, "Who?", include=[name])


def test_no_results_cannot_be_ranked(samples: Engine) -> None:
    with pytest.raises(UsageError, match="0 results"):
        samples.retrieve("Who?", k=0)


# --- with servers that fail --------------------------------------------------------------------------


@pytest.fixture
def place(sample_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "copy"
    shutil.copytree(sample_folder, folder)
    return folder


@pytest.fixture
def embedded(place: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with vectors of a scripted embedding model, and no model for text."""
    overrides = {
        "embedding.model": "openai/test-embedding",
        "llm.api_base": scripted_server.base_url,
        "llm.api_key": "secret-key-1234567890",
        "llm.max_retries": 0,
        "cache.enabled": False,
    }
    with open_engine(place, config=load_settings(overrides=overrides).settings) as engine:
        engine.rebuild_indexes()
        scripted_server.reset()
        yield engine


def embedding_requests(server: ScriptedServer) -> list[Any]:
    return [request.body["input"] for request in server.requests if request.path.endswith("/embeddings")]


@pytest.mark.parametrize("pipeline", ["hops_rag", "graph_rag"])
def test_meaning_counts_where_there_are_vectors(
    embedded: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    messages = list(embedded.ask(QUESTION, pipeline=pipeline))
    assert embedding_requests(scripted_server) == [[QUESTION]], "a name that is known needs no vector"
    step = next(message for message in messages if message.kind == "exploration")
    said = {"hops_rag": "vectorScore", "graph_rag": "cosine"}[pipeline]
    assert said in str(step.explain_triples)
    assert "Rhoda Tennant" in messages[-1].answer["answer"]  # type: ignore[index]


@pytest.mark.parametrize("pipeline", ["hops_rag", "graph_rag"])
def test_when_the_embedding_server_fails_words_are_searched(
    embedded: Engine, scripted_server: ScriptedServer, pipeline: str
) -> None:
    scripted_server.script(Reply(status=500, text="out of order"))
    answer = final(embedded, pipeline=pipeline)
    assert kinds(answer).count("embedding_failed") == 1
    assert "Rhoda Tennant" in answer["answer"]


def test_the_embedding_server_may_fail_half_way(embedded: Engine, scripted_server: ScriptedServer) -> None:
    """After the question, before the names in it: in one request, however many they are."""
    scripted_server.script(Reply(), Reply(status=500, text="out of order"))
    answer = final(embedded, "Where did Roda Tenant meet Isak Wennerby?")
    assert kinds(answer).count("embedding_failed") == 1
    assert len(embedding_requests(scripted_server)) == 2


def test_an_embedding_model_that_finds_all_names_alike_names_no_seed(
    place: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a model for English does with Chinese names."""
    monkeypatch.setattr(scripted_server, "dimensions", 1)
    with open_engine(place, config=by_meaning(scripted_server, "openai/alike")) as engine:
        engine.rebuild_indexes()
        found = engine.retrieve("Was erfand Zwetlana Ypsilanti?", preview=True)
    assert embedding_requests(scripted_server)[-1] == ["Zwetlana Ypsilanti"]
    assert [seed for seed in found["seeds"] if seed["matched_by"] == "vector"] == []


def test_a_retrieval_that_fails_closes_its_trace(place: Path, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(lambda _: Reply(status=401, text="no"))
    with open_engine(place, config=settings(scripted_server)) as engine:
        with pytest.raises(LlmError):
            engine.retrieve(QUESTION, stored=True, settings={"grounding.use": "llm"})
        failed = engine.store.query(
            'ASK { GRAPH <urn:graph:retrieval> { ?s <https://w3id.org/graphrag-rdf/ns#outcome> "failed" } }'
        )
        assert failed.boolean


def test_a_model_that_does_not_know_is_believed(place: Path, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(model(SENTINEL))
    with open_engine(place, config=settings(scripted_server)) as engine:
        answer = final(engine)
    assert "answer_refused" in kinds(answer)
    assert not answer["answered"]
    assert answer["citations"] == []
    assert answer["closest"]


def test_a_model_is_not_asked_to_choose_from_nothing(place: Path, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(model("Rhoda Tennant invented it. [1]"))
    with open_engine(place, config=settings(scripted_server)) as engine:
        answer = final(engine, settings={"focus.use": "edges", "focus.offered_limit": "0"})
    assert not any("JSON Lines" in request.prompt for request in scripted_server.requests)
    assert not answer["answered"]


# --- each degraded mode is named, in the answer, in the trace, and by doctor if it lasts -----------------


def damaged_words(place: Path, server: ScriptedServer) -> Settings:
    del server
    (place / "index" / "text" / "manifest.json").write_text("{")
    return Settings()


def missing_vectors(place: Path, server: ScriptedServer) -> Settings:
    """An index of vectors that another model made: no vector of this one's can be compared with it."""
    made = by_meaning(server, "openai/other-embedding")
    with open_engine(place, config=made) as engine:
        engine.rebuild_indexes()
    return by_meaning(server, "openai/test-embedding")


def failing_embeddings(place: Path, server: ScriptedServer) -> Settings:
    with open_engine(place, config=by_meaning(server, "openai/test-embedding")) as engine:
        engine.rebuild_indexes()
    server.script(Reply(status=500, text="out of order"))
    return by_meaning(server, "openai/test-embedding")


def unreadable_relations(place: Path, server: ScriptedServer) -> Settings:
    server.answer_with(lambda _: Reply("The first passage surely causes the second."))
    with open_engine(place, config=settings(server)) as engine:
        assert engine.refresh("relations").warnings
    return Settings()


def no_model(place: Path, server: ScriptedServer) -> Settings:
    del place, server
    return Settings()


def by_meaning(server: ScriptedServer, model: str) -> Settings:
    overrides = {
        "embedding.model": model,
        "llm.api_base": server.base_url,
        "llm.api_key": "secret-key-1234567890",
        "llm.max_retries": 0,
        "cache.enabled": False,
    }
    return load_settings(overrides=overrides).settings


@pytest.mark.parametrize(
    ("degrade", "kind", "lasts"),
    [
        (damaged_words, "index_missing", True),
        (missing_vectors, "index_missing", True),
        (failing_embeddings, "embedding_failed", False),
        (unreadable_relations, "relation_parse_fallback", True),
        (no_model, "no_llm", True),
    ],
)
def test_each_degraded_mode_is_named(
    place: Path, scripted_server: ScriptedServer, degrade: Degrade, kind: str, lasts: bool
) -> None:
    with open_engine(place, config=degrade(place, scripted_server)) as engine:
        answer = final(engine, pipeline="hybrid_rag")
        assert kinds(answer).count(kind) == 1
        assert answer["citations"], "it still works"
        session = engine.store.select("trace/list", pipelines=[], outcomes=[], texts=[], limit=1, offset=0)[
            0
        ]["session"]
        rows = engine.store.select("trace/warnings", session=session)
        assert kind in {text_of(row["type"]) for row in rows}
        told = {warning["type"] for warning in diagnostics(engine)["warnings"]}
        assert (kind in told) == lasts


def test_nothing_is_named_that_is_not_degraded(place: Path, scripted_server: ScriptedServer) -> None:
    """Relations that were read, vectors that are there."""
    scripted_server.answer_with(
        lambda request: Reply('{"relations": []}') if "<first>" in request.prompt else None
    )
    with open_engine(place, config=settings(scripted_server)) as engine:
        assert engine.refresh("relations").warnings == []
        engine.rebuild_indexes()
    with open_engine(place, config=by_meaning(scripted_server, "openai/test-embedding")) as engine:
        engine.rebuild_indexes()
        answer = final(engine, pipeline="hybrid_rag")
        assert kinds(answer) == ["no_llm"]
        assert [warning["type"] for warning in diagnostics(engine)["warnings"]] == ["no_llm"]
