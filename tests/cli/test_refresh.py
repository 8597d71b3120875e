"""`refresh relations`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run, documents_in
from tests.support.scripted_server import Reply, Request, ScriptedServer


def test_builds_and_counts(run: Run, store: Path) -> None:
    found = run("refresh", "relations", "--min-count", "1", "--format", "json")
    assert found.code == 0, found.err
    assert found.json["relations"]["rag:coOccursWith"] > 2
    assert found.json["relations"]["rag:sharesEntityWith"] == 1
    told = run("doctor", "--format", "json").json
    assert told["relation_counts"]["rag:sharesEntityWith"] == 1
    assert [drift["what"] for drift in told["configuration_drift"]] == ["relations derived"]
    assert run("check").code == 0


def test_of_one_document(run: Run, store: Path) -> None:
    whole = run("refresh", "relations", "--min-count", "1").out
    assert run("refresh", "relations", "--min-count", "1", "--source", "Port Merrin").out == whole
    run("config", "set", "relations.hub_limit", "3")
    found = run("refresh", "relations", "--source", "Port Merrin")
    assert found.code == 2
    assert "--all" in found.err
    assert run("refresh", "relations", "--all").code == 0


def test_wrong_use(run: Run, store: Path) -> None:
    assert run("refresh", "relations", "--all", "--source", "x").code == 2
    assert "no document" in run("refresh", "relations", "--source", "x").err
    assert run("refresh", "relations", "--window", "0").code == 2


def test_after_ingest_when_the_store_says_so(run: Run, store: Path) -> None:
    run("config", "set", "relations.build", "true")
    run("config", "set", "relations.min_count", "1")
    (store.parent / "documents" / "more.txt").write_text("Andrew Orr lived in Port Merrin.\n")
    assert run("ingest", "documents/more.txt").code == 0
    told = run("doctor", "--format", "json").json
    assert told["relation_counts"]["rag:sharesEntityWith"] >= 2
    assert told["configuration_drift"] == []


def test_other_stages(run: Run, store: Path) -> None:
    before = run("entities", "list", "--format", "json").json
    for file in (store.parent / "documents").iterdir():
        file.unlink()
    for stage in ("facts", "mentions"):
        found = run("refresh", stage, "--source", "Port Merrin", "--format", "json")
        assert found.code == 0, found.err
        told = run("refresh", stage, "--source", "Port Merrin").out.split("\n")
        assert told[0].split() == ["documents", "1", "read", "again"]
        assert told[2].split() == ["facts", "0", "new,", "by", "rules"]
        assert found.json["documents"] | {"updated": 0, "read_again": 1} == found.json["documents"]
    assert run("refresh", "names", "--format", "json").json["settled"] > 3
    assert run("entities", "list", "--format", "json").json == before
    assert run("check").code == 0
    assert run("refresh", "facts", "--all", "--source", "x").code == 2


def test_ingest_with_and_without_relations(run: Run, folder: Path) -> None:
    documents_in(folder)
    assert run("ingest", "documents").code == 0
    run("config", "set", "relations.build", "true")
    without = run("ingest", "--refresh", "--no-relations", "documents", "--format", "json").json
    assert without["relations"] == {}
    assert without["documents"]["read_again"] == 2
    found = run("ingest", "--refresh", "documents", "--format", "json").json
    assert found["relations"]["rag:sharesEntityWith"] == 1
    assert [warning["type"] for warning in found["warnings"]] == ["no_llm"]


def test_relations_by_a_model(
    run: Run, store: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found is counted by type, what failed is a warning and exit code 3, and is asked for again."""
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-test")
    monkeypatch.setenv("GRAPHRAG_RDF_EXTRACT__USE", "rules")
    monkeypatch.setenv("GRAPHRAG_RDF_DOCUMENTS__CHUNK_SIZE", "60")
    assert run("refresh", "facts").code == 0
    wanted = ("refresh", "relations", "--model", "openai/scripted", "--window", "1")
    planned = run(*wanted, "--dry-run", "--format", "json").json
    assert planned["pairs"]["asked"] == planned["llm"]["calls"] > 1
    assert planned["llm"]["in_tokens"] > 100 * planned["llm"]["calls"]
    assert "calls" in run(*wanted, "--dry-run").out
    assert scripted_server.requests == []
    scripted_server.answer_with(lambda _: Reply("surely so"))
    failed = run(*wanted, "--format", "json")
    assert failed.code == 3
    assert failed.json["pairs"]["failed"] == len(failed.json["failures"]) > 1
    assert failed.json["pairs"]["asked"] == 0
    assert failed.json["pairs"]["failed"] == planned["pairs"]["asked"]
    assert [warning["type"] for warning in failed.json["warnings"]] == ["relation_parse_fallback"]
    assert "relation_parse_fallback" in run("-v", "doctor").out

    def causes(request: Request) -> Reply:
        quote = request.prompt.split("<second>\n")[1].split("\n</second>")[0]
        said = {"type": "causes", "from": 1, "to": 2, "confidence": 0.9, "evidence": [quote]}
        vague = {**said, "type": "supports", "confidence": 0.2}
        return Reply(json.dumps({"relations": [said, vague]}))

    scripted_server.answer_with(causes)
    found = run(*wanted)
    assert found.code == 0, found.err
    pairs = failed.json["pairs"]["failed"]
    assert f"{pairs:,} asked" in found.out
    assert f"{pairs:,} low confidence" in found.out
    told = run("doctor", "--format", "json").json
    assert told["relation_counts"]["rag:causes"] == told["relation_counts"]["llm_rel"] == pairs
    assert told["noise_control"]["rejected"]["low_confidence"] == pairs
    assert "relation_parse_fallback" not in {warning["type"] for warning in told["warnings"]}
    assert run("check").code == 0


def test_claims_by_a_model(
    run: Run, store: Path, scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("refresh", "claims")
    assert refused.code == 2
    assert "claims need a language model" in refused.err
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-test")
    wanted = ("refresh", "claims", "--model", "openai/scripted", "--source", "Port Merrin")
    planned = run(*wanted, "--dry-run", "--format", "json").json
    assert planned["chunks"]["asked"] == planned["llm"]["calls"] == 1
    assert "1 asked" in run(*wanted, "--dry-run").out
    assert scripted_server.requests == []
    scripted_server.answer_with(lambda _: Reply("surely so"))
    failed = run(*wanted, "--format", "json")
    assert failed.code == 3
    assert [warning["type"] for warning in failed.json["warnings"]] == ["claims_failed"]
    assert "claims_failed" in run("-v", "doctor").out

    def claims(request: Request) -> Reply:
        quote = request.prompt.split("<text>\n")[1].split("\n</text>")[0][:40]
        said = {"subject": "Port Merrin", "object": "NONE", "type": "size", "status": "TRUE"}
        whole = {**said, "description": "Port Merrin is said to be small.", "quotes": [quote]}
        return Reply(json.dumps({"claims": [whole, {**whole, "status": "MAYBE"}]}))

    scripted_server.answer_with(claims)
    found = run(*wanted)
    assert found.code == 0, found.err
    assert "1 new" in found.out
    assert "1 status not listed" in found.out
    listed = run("queries", "run", "cookbook/claims", "-p", "names=port merrin", "--format", "csv").out
    assert "Port Merrin is said to be small." in listed
    assert run("queries", "run", "cookbook/claim-contradictions").code == 0
    assert run("check").code == 0


def test_schema(run: Run, store: Path) -> None:
    ontology = "GRAPH <urn:graph:ontology> { ?term <http://www.w3.org/2000/01/rdf-schema#label> ?label }"
    query = f"SELECT ?term ?label WHERE {{ {ontology} }} ORDER BY ?term"
    before = run("sparql", "--format", "json", query).json
    assert run("refresh", "schema", "--format", "json").json["ObjectProperty"] > 0
    assert run("refresh", "schema").out.startswith("Class ")
    assert run("sparql", "--format", "json", query).json == before
