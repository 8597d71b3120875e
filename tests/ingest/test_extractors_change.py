"""Another extractor, model or prompt on the same store, and --refresh."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.rdf.namespaces import PROV, RAG
from graphrag_rdf.resources import folder
from tests.ingest.conftest import (
    MakeEngine,
    assert_same,
    by_model,
    chunk_in,
    content,
    everything,
    facts,
    index_matches_store,
)
from tests.support.scripted_server import Reply, ScriptedServer

TEXT = "Ada Lovelace met Charles Babbage. Charles Babbage knew Mary Somerville of Jedburgh."


def _extractors(engine: object) -> set[str]:
    return {q.object.value for q in engine.store.quads() if q.predicate.value.endswith("#extractor")}  # type: ignore[attr-defined]


def test_from_rules_to_a_model_and_back(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """What rules found stays beside what the model finds; going back finds it done."""
    (docs / "a.txt").write_text(TEXT)
    with engine_of("store") as engine:
        engine.ingest([docs])
        by_rules = facts(engine)
    with engine_of("store", **by_model(scripted_server)) as engine:
        report = engine.ingest([docs])
        assert report.documents.read_again == 1
        assert by_rules <= facts(engine)
        assert {key.split("/")[0] for key in _extractors(engine)} == {"mentions", "rules", "llm"}
        assert index_matches_store(engine)
        before = everything(engine)
    with engine_of("store") as engine:
        assert engine.ingest([docs]).documents.unchanged == 1
        assert_same(everything(engine), before)


def test_another_model_supersedes_the_first(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    (docs / "a.txt").write_text(TEXT)
    with engine_of("store", **by_model(scripted_server)) as engine:
        engine.ingest([docs])
    scripted_server.answer_with(lambda request: '{"entities": [{"name": "Jedburgh"}], "relations": []}')
    second = by_model(scripted_server, llm__model="openai/second")
    with engine_of("store", **second) as engine:
        engine.ingest([docs])
        fresh = engine_of(**second)
        fresh.ingest([docs])
        assert_same(content(engine), content(fresh))
        assert facts(engine) == set()
        assert index_matches_store(engine)


def test_another_prompt_supersedes_the_first(
    docs: Path, tmp_path: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    (docs / "a.txt").write_text(TEXT)
    with engine_of("store", **by_model(scripted_server)) as engine:
        engine.ingest([docs])
    own = tmp_path / "pipelines"
    shutil.copytree(folder("pipelines") / "ingest", own / "ingest")
    prompt = own / "ingest" / "extract.j2"
    prompt.write_text("Be brief.\n" + prompt.read_text())
    mine = by_model(scripted_server, pipelines=own)
    with engine_of("store", **mine) as engine:
        assert engine.ingest([docs]).documents.read_again == 1
        fresh = engine_of(**mine)
        fresh.ingest([docs])
        assert_same(content(engine), content(fresh))


def test_refresh_by_rules_changes_nothing_that_counts(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "a.txt").write_text(TEXT)
    (docs / "b.md").write_text("# Ada Lovelace\n\n" + TEXT)
    engine = engine_of("store")
    engine.ingest([docs])
    before = content(engine)
    report = engine.ingest([docs], refresh=True)
    assert (report.documents.read_again, report.chunks.added, report.chunks.removed) == (2, 0, 0)
    assert_same(content(engine), before)
    assert index_matches_store(engine)


def test_refresh_asks_the_model_again(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Despite the cache; and what it no longer says is gone."""
    (docs / "a.txt").write_text(TEXT)
    engine = engine_of("store", **by_model(scripted_server))
    engine.ingest([docs])
    asked = len(scripted_server.requests)
    answer = '{"entities": [{"name": "Mary Somerville"}], "relations": []}'
    scripted_server.answer_with(lambda request: answer)
    report = engine.ingest([docs], refresh=True)
    assert (len(scripted_server.requests), report.llm.cached) == (2 * asked, 0)
    fresh = engine_of(**by_model(scripted_server))
    fresh.ingest([docs])
    assert_same(content(engine), content(fresh))


def test_a_prompt_is_described_as_long_as_something_asked_with_it(
    docs: Path, tmp_path: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Also when the first passage fails, and when what asked with it is replaced or edited away."""

    def prompts(engine: Engine) -> tuple[set[str], set[str]]:
        quads = everything(engine)
        described = {str(quad.subject) for quad in quads if quad.object == RAG.Prompt}
        return described, {str(quad.object) for quad in quads if quad.predicate == RAG.usedPrompt}

    (docs / "a.txt").write_text(TEXT)
    (docs / "b.txt").write_text("Mona Kell built the Petrel.")
    with engine_of("store", **by_model(scripted_server)) as engine:
        engine.ingest([docs])
        described, used = prompts(engine)
        assert described == used
        assert len(used) == 1
    (docs / "b.txt").write_text("Mona Kell sold the Petrel.")
    (docs / "a.txt").write_text("Ada Moor met Mona Kell.")
    own = tmp_path / "pipelines" / "ingest"
    own.mkdir(parents=True)
    (own / "extract.yaml").write_text("domain: ships\ntuned_by: urn:tuning:1\n")
    scripted_server.script(Reply(status=400, text="no"))
    with engine_of("store", **by_model(scripted_server, pipelines=own.parent)) as engine:
        assert len(engine.ingest([docs]).failures) == 1
        described, used = prompts(engine)
        assert described == used
        assert len(used) == 1
        influences = [q for q in everything(engine) if q.predicate == PROV.wasInfluencedBy]
        assert [str(q.subject) for q in influences] == list(used)
        engine.ingest([docs])  # the one that failed
        described, used = prompts(engine)
        assert described == used
        assert len(used) == 1


def test_small_models_are_not_asked_again(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    (docs / "a.txt").write_text("Ada met Charles in London.")
    engine = engine_of(**by_model(scripted_server, llm__style="small", extract__gleaning_rounds=1))
    with pytest.raises(ConfigError, match="gleaning_rounds is 1"):
        engine.ingest([docs])


def test_a_chunk_with_another_context_is_read_again(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """What a model is shown of the text before a chunk is part of what its facts depend on."""
    first = "Mary Hale came to Tarn. She bought looms there and much wool."
    last = "She opened a mill in May."
    filler = "Nobody in the valley had ever seen so many looms together in one single house before."
    (docs / "a.txt").write_text(f"{first} {filler} {last}", "utf-8")
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([docs])
    asked = [chunk_in(request) for request in scripted_server.requests]
    assert len(asked) > 1
    assert any("<before>" in request.prompt for request in scripted_server.requests)
    (docs / "a.txt").write_text(f"{first.replace('Mary', 'Ann')} {filler} {last}", "utf-8")
    before = len(scripted_server.requests)
    engine.ingest([docs])
    again = [chunk_in(request) for request in scripted_server.requests[before:]]
    assert len(again) > 1  # the chunk that was edited, and the one that follows it
    assert {text for text in asked if "Mary" not in text} & set(again)  # chunks are asked about side by side
    hashes = [quad for quad in everything(engine) if quad.predicate == RAG.contextHash]
    assert len(hashes) == len(asked) - 1  # the first chunk has nothing before it, and no old one is left
    before = len(scripted_server.requests)
    engine.ingest([docs])
    assert len(scripted_server.requests) == before
