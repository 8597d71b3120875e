"""`doctor`: what it tells, and what it must not tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import Run


def test_json_keys(run: Run, store: Path) -> None:
    found = run("doctor", "--format", "json")
    assert found.code == 0
    told = found.json
    assert {"versions", "extras", "settings", "models", "store", "indexes", "noise_control"} <= told.keys()
    assert told["entity_aliases"].keys() == {"total_entities", "with_aliases", "ratio"}
    assert told["entity_aliases"]["total_entities"] > 3
    assert told["feature_flags"]["bm25_enabled"]
    assert not told["feature_flags"]["llm_enabled"]
    assert told["relation_counts"]["designed"] == 1
    assert not [name for name in told["relation_counts"] if name.startswith("http")], "no bare IRIs"
    assert told["store"]["graphs"]["default"] > 10
    assert sum(told["store"]["graphs"].values()) == told["store"]["quads"]
    assert told["store"]["paths"]["database"]["bytes"] > 0
    assert told["indexes"]["text"]["up_to_date"]


def test_for_people(run: Run, store: Path) -> None:
    found = run("doctor")
    for title in ("Versions", "Store", "Indexes", "Feature flags", "Facts by relation"):
        assert title in found.out


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
    assert "not a store" in found.json["store"]["error"]
