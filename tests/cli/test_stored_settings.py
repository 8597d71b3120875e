"""`config set|unset|get|history|restore`: settings that the store keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run

WORDS = "graph_rag.exploration.passage_words"
RAG = "PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>\n"
QUESTION = "Who designed Drumlaw Head Lighthouse?"


def write(run: Run, key: str, value: str) -> None:
    """What somebody might do with an update of their own."""
    update = f"""{RAG}
        DELETE {{ GRAPH <urn:graph:system> {{ ?s rag:settingValue ?old }} }}
        INSERT {{ GRAPH <urn:graph:system> {{
            <urn:graphrag-rdf:store> rag:setting <urn:graphrag-rdf:setting:{key}> .
            <urn:graphrag-rdf:setting:{key}> rag:settingKey "{key}" ; rag:settingValue {value} }} }}
        WHERE {{ OPTIONAL {{ GRAPH <urn:graph:system> {{
            <urn:graphrag-rdf:store> rag:setting ?s .
            ?s rag:settingKey "{key}" ; rag:settingValue ?old }} }} }}
    """
    assert run("sparql", "--update", update).code == 0


def in_force(run: Run, key: str) -> dict[str, object]:
    found = run("config", "get", key, "--format", "json")
    assert found.code == 0, found.err
    told: dict[str, object] = found.json
    return told


def sessions(run: Run) -> list[dict[str, object]]:
    """Parameters and version of the settings of each trace, oldest first."""
    query = f"""{RAG} SELECT ?parameters ?version WHERE {{ GRAPH <urn:graph:retrieval> {{
        ?session rag:parameters ?parameters ; rag:commit ?commit .
        OPTIONAL {{ ?session rag:settings ?version }} }} }}
        ORDER BY ?commit"""
    found = run("sparql", query, "--format", "json").json["results"]["bindings"]
    return [
        {
            "words": json.loads(row["parameters"]["value"])["exploration"]["passage_words"],
            "version": row["version"]["value"] if "version" in row else None,
        }
        for row in found
    ]


def test_a_parameter_of_a_step_holds_for_the_next_question(run: Run, store: Path) -> None:
    """And the trace tells the version; the command line wins."""
    run("ask", QUESTION)
    assert run("config", "set", WORDS, "0.5").code == 0
    assert in_force(run, WORDS) == {"key": WORDS, "value": 0.5, "origin": "store"}
    run("ask", QUESTION)
    run("ask", QUESTION, "--set", "exploration.passage_words=0.75")
    version = run("config", "history", "--format", "json").json[0]["iri"]
    assert sessions(run) == [
        {"words": 1.0, "version": None},
        {"words": 0.5, "version": version},
        {"words": 0.75, "version": version},
    ]


def test_update_by_sparql_counts_and_becomes_a_version(run: Run, store: Path) -> None:
    run("config", "set", WORDS, "0.5")
    write(run, WORDS, "0.125")
    assert run("ask", QUESTION).code == 0
    history = run("config", "history", "--format", "json").json
    assert [entry["changed"] for entry in history] == [
        {WORDS: {"from": 0.5, "to": 0.125}},
        {WORDS: {"to": 0.5}},
    ]
    assert not any(entry["altered"] for entry in history)
    assert sessions(run) == [{"words": 0.125, "version": history[0]["iri"]}]
    assert run("check").code == 0


def test_settings_of_the_file_and_the_environment_win(
    run: Run, store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("config", "set", "documents.chunk_size", "900").code == 0
    assert in_force(run, "documents.chunk_size")["value"] == 900
    (folder / "graphrag.toml").write_text("[documents]\nchunk_size = 800\n")
    assert in_force(run, "documents.chunk_size") == {
        "key": "documents.chunk_size",
        "value": 800,
        "origin": "file",
    }
    found = run("config", "set", "documents.chunk_size", "700")
    assert "has no effect" in found.err
    monkeypatch.setenv("GRAPHRAG_RDF_DOCUMENTS__CHUNK_SIZE", "1000")
    assert in_force(run, "documents.chunk_size")["origin"] == "environment"


def test_what_is_kept_is_what_ingest_does(run: Run, store: Path) -> None:
    """And doctor tells what was made otherwise."""
    own = ("--store", "own")
    run("ingest", "documents", *own)
    assert run("doctor", "--format", "json", *own).json["configuration_drift"] == []
    run("config", "set", "documents.chunk_size", "60", *own)
    told = run("doctor", "--format", "json", *own).json
    assert told["settings"]["documents.chunk_size"] == {"value": 60, "origin": "store"}
    assert told["settings_version"].startswith("urn:graphrag-rdf:settings:")
    (drift,) = told["configuration_drift"]
    assert (drift["what"], drift["count"]) == ("documents cut", 2)
    assert "sentences/3;60;" in run("doctor", *own).out
    found = run("ingest", "documents", "--format", "json", *own)
    assert found.json["documents"]["read_again"] == 2
    assert run("doctor", "--format", "json", *own).json["configuration_drift"] == []
    linked = f"{RAG} ASK {{ GRAPH ?g {{ ?run a rag:IngestRun ; rag:settings ?version }} }}"
    assert run("sparql", linked, *own).out.strip() == "yes"


def test_lists_and_none(run: Run, store: Path) -> None:
    run("config", "set", "extract.entity_types", "Person, Place")
    run("config", "set", "llm.temperature", "none")
    assert in_force(run, "extract.entity_types")["value"] == ["Person", "Place"]
    assert in_force(run, "llm.temperature")["value"] is None


def test_history_and_restore(run: Run, store: Path) -> None:
    """A version that is in force again is a new one; nothing is done twice."""
    for value in ("0.5", "0.5", "1"):
        run("config", "set", WORDS, value)
    run("config", "unset", WORDS)
    assert in_force(run, WORDS)["origin"] == "default"
    assert run("config", "restore", "1").code == 0
    assert in_force(run, WORDS)["value"] == 0.5
    history = run("config", "history", "--format", "json").json
    assert [entry["version"] for entry in history] == [4, 3, 2, 1]
    assert history[1]["changed"] == {WORDS: {"from": 1.0}}
    assert history[0]["settings"] == history[3]["settings"] == {WORDS: 0.5}
    assert "config restore 1" in run("config", "history").out
    again = run("config", "restore", "1")
    assert (again.code, "nothing to restore" in again.err) == (0, True)
    assert "was already" in run("config", "set", WORDS, "0.5").err
    assert len(run("config", "history", "--format", "json").json) == 4
    assert run("config", "restore", "9").code == 2
    assert run("config", "unset", "llm.seed").code == 2


def test_an_altered_version_shows_and_is_not_restored(run: Run, store: Path) -> None:
    run("config", "set", WORDS, "0.5")
    run("config", "set", WORDS, "0.6")
    change = f"""{RAG} DELETE {{ GRAPH ?g {{ ?s rag:settingValue 5e-1 }} }}
        INSERT {{ GRAPH ?g {{ ?s rag:settingValue 7e-1 }} }}
        WHERE {{ GRAPH ?g {{ ?s rag:settingValue 5e-1 }} }}"""
    assert run("sparql", "--update", change).code == 0
    altered = {
        entry["version"]: entry["altered"] for entry in run("config", "history", "--format", "json").json
    }
    assert altered == {1: True, 2: False}
    assert "altered" in run("config", "restore", "1").err


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("llm.api_key", "sk-planted", "secret"),
        ("server.admin_token", "sk-planted", "secret"),
        ("llm.model", "https://me:sk-planted@models.example", "secret"),
        ("llm.api_base", "http://elsewhere.example", "cannot be stored"),
        ("server.anonymous", "admin", "cannot be stored"),
        ("store", "elsewhere", "cannot be stored"),
        ("llm.modl", "x", "llm.model"),
        ("exploration.rounds", "3", "did you mean graph_rag.exploration.rounds or hybrid_rag"),
        ("documents.chunk_size", "many", "documents.chunk_size"),
        ("documents.chunk_size", "5", "50"),
        ("graph_rag.exploration.passage_words", "5000", "from 0 to 1,000"),
        ("graph_rag.exploration.passage_wrods", "1", "passage_words"),
        ("graph_rag.explore.rounds", "1", "exploration"),
        ("graph_rag.exploration.use", "magic", "activation"),
        ("graph_rag.exploration.use", "hybrid", "hybrid_rag"),
        ("graph_rag.exploration.weight_causes", "0.5", "hybrid_rag has it"),
        ("graph_rag", "1", "STEP.PARAMETER"),
        ("doc_rga.exploration.rounds", "1", "unknown setting"),
        ("TOP_K", "8", "hybrid_rag.exploration.passage_limit here"),
    ],
)
def test_wrong_keys_and_values_are_refused(run: Run, store: Path, key: str, value: str, told: str) -> None:
    found = run("config", "set", key, value)
    assert found.code == 2
    assert told in found.err
    assert key in found.err
    assert "sk-planted" not in found.err
    assert run("config", "history", "--format", "json").json == []


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (WORDS, '"much"', "much"),
        (WORDS, "-1", "-1"),
        (WORDS, "<urn:x>", "not a literal"),
        (WORDS, "0.5, 0.6", "two values"),
        ("nonsense", "1", "nonsense = 1"),
        ("llm.api_key", '"sk-planted"', "secret"),
        ("server.anonymous", '"admin"', "server.anonymous"),
    ],
)
def test_wrong_settings_written_by_sparql_are_told(
    run: Run, store: Path, key: str, value: str, told: str
) -> None:
    """With key and value; what mends them still works."""
    write(run, key, value)
    for command in (
        ["ask", QUESTION],
        ["ingest", "documents"],
        ["config", "get"],
        ["config", "set", WORDS, "1"],
    ):
        found = run(*command)
        assert found.code == 2, command
        assert told in found.err
        assert f"config unset {key}" in found.err
        assert "sk-planted" not in found.err
    assert key in run("doctor", "--format", "json").json["settings_error"]["error"]
    assert run("config", "unset", key).code == 0
    assert run("ask", QUESTION).code == 0


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("graph_rag.exploration.use", "hybrid", "cannot use 'hybrid': hybrid_rag can"),
        ("graph_rag.exploration.pagerank_damping", "0.85", "no parameter 'pagerank_damping'"),
        ("server.outposts", "4", "connections no longer move"),
    ],
)
def test_settings_of_an_earlier_version_are_ignored_with_a_warning(
    run: Run, store: Path, key: str, value: str, why: str
) -> None:
    write(run, key, f'"{value}"')
    found = run("ask", "--format", "json", QUESTION)
    assert found.code == 0
    (warning,) = [one for one in found.json["warnings"] if one["type"] == "setting_ignored"]
    for told in (key, why, f"config unset {key}"):
        assert told in warning["detail"]
    trace = run("trace", "show", "last", "--format", "json").json
    assert warning in trace["warnings"]
    listed = run("config", "list", "--format", "json")
    assert why in listed.err
    assert all(one["origin"] == "default" for one in listed.json if one["key"] == key)
    assert warning in run("doctor", "--format", "json").json["warnings"]
    assert run("trace", "replay", "last").code == 0
    assert run("config", "unset", key).code == 0
    assert "setting_ignored" not in run("ask", "--format", "json", QUESTION).out
    assert run("ask", "--set", "exploration.use=hybrid", QUESTION).code == 2


def test_a_parameter_without_key_or_value(run: Run, store: Path) -> None:
    node = "<urn:graphrag-rdf:setting:x>"
    start = "INSERT DATA { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:setting "
    run("sparql", "--update", f"{RAG}{start}{node} }} }}")
    assert "rag:settingKey" in run("ask", QUESTION).err
    run("sparql", "--update", f'{RAG}{start}{node} . {node} rag:settingKey "llm.seed" }} }}')
    assert "llm.seed has no rag:settingValue" in run("ask", QUESTION).err
    assert run("config", "unset", "llm.seed").code == 0
    assert run("ask", QUESTION).code == 0


def test_while_the_store_is_in_use(run: Run, store: Path) -> None:
    """What the store cannot change is told all the same."""
    from graphrag_rdf import Engine

    run("config", "set", WORDS, "0.5")
    with Engine.open(store) as engine:
        assert run("config", "get", WORDS).code == 1
        found = run("config", "list")
        assert found.code == 0
        assert "in use" in found.err
        assert run("config", "get", "store", "--store", "graphrag-store").out == "graphrag-store\n"
        assert engine.settings.store
