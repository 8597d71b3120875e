"""`doctor`: what it tells, and what it must not tell."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from graphrag_rdf.checks.diagnosis import EXTRAS
from tests.support.commands import Run
from tests.support.scripted_server import Reply, ScriptedServer


def test_json_keys(run: Run, store: Path) -> None:
    found = run("doctor", "--format", "json")
    assert found.code == 0
    told = found.json
    assert {"versions", "extras", "settings", "models", "store", "indexes", "noise_control"} <= told.keys()
    assert told["entity_aliases"].keys() == {"total_entities", "with_aliases", "ratio"}
    assert told["entity_aliases"]["total_entities"] > 3
    assert told["feature_flags"]["bm25_enabled"]
    assert not told["feature_flags"]["llm_enabled"]
    assert told["relation_counts"]["designed"] == 1  # what, and its year in one fact
    assert not [name for name in told["relation_counts"] if name.startswith("http")], "no bare IRIs"
    assert told["store"]["graphs"]["default"] > 10
    assert sum(told["store"]["graphs"].values()) == told["store"]["quads"]
    assert told["store"]["paths"]["database"]["bytes"] > 0
    assert told["indexes"]["text"]["up_to_date"]


def titles(text: str) -> list[str]:
    """The headings of the output for people."""
    return [line for line in text.splitlines() if line and not line.startswith(" ")]


def test_the_store_comes_first(run: Run, store: Path) -> None:
    assert run("ask", "Who designed Drumlaw Head Lighthouse?").code == 0
    found = run("doctor")
    assert titles(found.out)[:5] == ["Store", "Models", "Problems", "Versions", "Paths"]
    head = found.out.split("Versions")[0]
    for line in (r"documents +2", r"chunks +2", r"questions +1", r"language model +none"):
        assert re.search(rf"^  {line}$", head, re.MULTILINE), line
    assert "graphrag-rdf config set llm.model" in head
    assert len(found.out.splitlines()) < 40
    assert "graphrag-rdf doctor --all" in found.out


def test_all_adds_the_rest(run: Run, store: Path) -> None:
    short, long = run("doctor").out, run("doctor", "--all").out
    assert titles(long)[:5] == titles(short)[:5]
    for title in ("Settings", "Weights", "Extras", "Indexes", "Feature flags", "Facts by relation"):
        assert title in titles(long)
        assert title not in titles(short)
    assert "documents.chunk_size" in long
    assert (
        run("doctor", "--all", "--format", "json").json.keys()
        == run("doctor", "--format", "json").json.keys()
    )


def test_files_that_could_not_be_read_are_told(run: Run, store: Path, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    assert run("ingest", "broken.pdf").code == 3
    assert "documents_failed" in [each["type"] for each in run("doctor", "--format", "json").json["warnings"]]
    told = " ".join(run("doctor").out.split())
    assert "1 file could not be read: broken.pdf: damaged" in told
    assert "ingest again" in told


def test_what_was_made_with_other_settings_is_told_with_the_remedy(run: Run, store: Path) -> None:
    run("config", "set", "documents.chunk_size", "60")
    told = " ".join(run("doctor").out.split())
    assert "documents cut: 2, made with sentences/" in told
    assert "graphrag-rdf ingest DOCUMENTS" in told


def test_origin_of_settings(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "graphrag.toml").write_text("[documents]\nchunk_size = 900\n")
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__JOBS", "7")
    settings = run("doctor", "--store", "s", "--format", "json").json["settings"]
    assert settings["documents.chunk_size"] == {"value": 900, "origin": "file"}
    assert settings["extract.jobs"] == {"value": 7, "origin": "environment"}
    assert settings["store"] == {"value": "s", "origin": "command line"}
    assert settings["documents.chunk_overlap"]["origin"] == "default"


@pytest.mark.parametrize("arguments", [[], ["--format", "json"]])
@pytest.mark.parametrize("command", [["doctor"], ["config", "list"], ["config", "get", "llm.api_key"]])
def test_secrets_are_never_shown(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], arguments: list[str]
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", "https://me:sk-planted@models.example/v1")
    found = run(*command, *arguments)
    assert found.code == 0
    assert "sk-planted" not in found.out + found.err
    assert "*****" in found.out


def test_keys_in_addresses_are_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", "https://m.example/v1?version=2&api_key=sk-planted#x")
    monkeypatch.setenv("GRAPHRAG_RDF_RERANK__API_BASE", "https://me:sk-pl@nted@m.example/v1")
    found = run("config", "list")
    assert "version=2&api_key=*****" in found.out
    assert "sk-pl" not in found.out
    assert "nted" not in found.out


def test_without_a_store(run: Run, folder: Path) -> None:
    found = run("doctor")
    assert found.code == 0
    assert "graphrag-rdf ingest" in found.out
    assert list(folder.iterdir()) == []


def test_damaged_index_is_told(run: Run, store: Path) -> None:
    (store / "index" / "text" / "manifest.json").write_text("{")
    found = run("doctor", "--format", "json")
    assert found.code == 1
    assert "rebuild" in found.json["indexes"]["text"]["hint"]


def test_unusable_store_is_told(run: Run, folder: Path) -> None:
    (folder / "graphrag-store").write_text("not a folder")
    found = run("doctor", "--format", "json")
    assert found.code == 1
    assert "not a folder" in found.json["store"]["error"]


def test_weights_with_their_origin(run: Run, store: Path) -> None:
    run("config", "set", "graph_rag.exploration.passage_words", "0.5")
    weights = run("doctor", "--format", "json").json["weights"]
    assert weights["graph_rag.exploration.passage_words"] == {"value": 0.5, "origin": "store"}
    assert weights["graph_rag.exploration.passage_entities"]["origin"] == "default"
    assert "Weights" in run("doctor", "--all").out


def test_a_feature_whose_weight_is_zero_is_off(run: Run, store: Path) -> None:
    run("config", "set", "hybrid_rag.exploration.weight_words", "0")
    run("config", "set", "hybrid_rag.exploration.weight_degree", "0.1")
    flags = run("doctor", "--format", "json").json["feature_flags"]
    assert (flags["bm25_enabled"], flags["graph_rank_enabled"]) == (False, True)


def test_what_works_worse_than_it_might_is_told(run: Run, store: Path) -> None:
    found = run("doctor", "--format", "json").json
    assert [warning["type"] for warning in found["warnings"]] == ["no_llm"]
    (store / "index" / "text" / "manifest.json").write_text("{")
    found = run("doctor", "--format", "json").json
    assert [warning["type"] for warning in found["warnings"]] == ["no_llm", "index_missing"]
    assert "index_missing" in run("-v", "doctor").out


def test_a_prompt_that_was_told_of_the_documents(
    run: Run, store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_PIPELINES", "pipelines")
    path = folder / "pipelines" / "ingest" / "extract.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("domain: ships\n")
    assert run("doctor", "--format", "json").json["feature_flags"]["prompt_tuned"] is True
    path.write_text("subject: ships\n")
    found = run("doctor", "--format", "json").json
    assert found["feature_flags"]["prompt_tuned"] is False
    assert "prompt_unread" in [warning["type"] for warning in found["warnings"]]


@pytest.fixture
def models(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/scripted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-test")
    monkeypatch.setenv("GRAPHRAG_RDF_EMBEDDING__MODEL", "openai/test-embedding")
    monkeypatch.setenv("GRAPHRAG_RDF_RERANK__MODEL", "infinity/test-reranker")
    return scripted_server


def test_models_are_asked_only_when_told_to(run: Run, store: Path, models: ScriptedServer) -> None:
    assert run("index", "rebuild").code == 0
    models.requests.clear()
    assert "probe" not in run("doctor", "--format", "json").json
    assert models.requests == []
    found = run("doctor", "--probe", "--format", "json")
    assert found.code == 0
    probed = found.json["probe"]
    assert probed["llm"]["reachable"]
    assert probed["embedding"]["dimension"] == probed["embedding"]["index_dimension"] > 0
    assert probed["embedding"]["fits"]
    assert probed["rerank"]["reachable"]
    assert any(request.path.endswith("/rerank") for request in models.requests)
    assert "answers in" in run("doctor", "--probe").out


def test_a_model_that_is_gone_is_told_at_once(run: Run, folder: Path, models: ScriptedServer) -> None:
    models.answer_with(lambda _: Reply("no such key", status=401))
    found = run("doctor", "--probe", "--format", "json")
    assert found.code == 1
    assert not found.json["probe"]["llm"]["reachable"]
    assert found.json["probe"]["llm"]["error"]
    assert found.json["probe"]["embedding"]["fits"] is None
    assert "does not answer" in run("doctor", "--probe").out


def test_vectors_of_another_length_are_told(
    run: Run, store: Path, models: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("index", "rebuild").code == 0
    monkeypatch.setattr(models, "dimensions", 7)
    found = run("doctor", "--probe", "--format", "json")
    assert found.code == 1
    assert found.json["probe"]["embedding"]["dimension"] == 7
    assert found.json["probe"]["embedding"]["fits"] is False


def test_all_extras_are_looked_at() -> None:
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text("utf-8"))
    builds_the_site = {"docs"}  # the program imports nothing of it
    assert set(EXTRAS) == set(project["project"]["optional-dependencies"]) - builds_the_site
