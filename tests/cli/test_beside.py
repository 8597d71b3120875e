"""Commands while a server has the store open: reading ones read a frozen copy, others go through it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from graphrag_rdf.store.frozen import FrozenCopy
from tests.support.commands import Run, environment, program
from tests.support.endpoint import WRITE, Endpoint, bearer

QUESTION = "Who founded the Tarnay Electric Light Company?"
SLOW = """SELECT (COUNT(*) AS ?n) {
    GRAPH ?g { ?a ?b ?c } GRAPH ?h { ?d ?e ?f } GRAPH ?i { ?j ?k ?l } GRAPH ?m { ?q ?o ?p }
    FILTER(STR(?c) < STR(?p))
}"""
"""It runs for hours."""


@pytest.fixture(scope="module")
def ingested(_ingested: Path) -> Path:
    """The store that tests copy."""
    return _ingested / "store"


@pytest.fixture(scope="module")
def served(ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server that strangers may not use; the store has a trace."""
    store = tmp_path_factory.mktemp("beside") / "store"
    shutil.copytree(ingested, store)
    env = {"GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE}
    with Endpoint.start(store, "--anonymous", "nothing", **env) as endpoint:
        asked = httpx.post(
            f"{endpoint.url}/ask",
            json={"question": QUESTION},
            headers=bearer(WRITE),
            timeout=60,
            verify=False,
        )
        assert asked.status_code == 200, asked.text
        yield endpoint


READING = {
    "sparql SELECT(COUNT(*)AS?n){?s?p?o}": "n",
    "retrieve Drumlaw": "Drumlaw",
    "queries run system/languages": "en",
    "source tree Port|Merrin": "Drumlaw",
    "source authority": "no document",
    "documents": "harbour.md",
    "documents --duplicates": "",
    "forget --dry-run documents/harbour.md": "would be erased",
    "entities list": "Walter Pennock",
    "entities show Walter|Pennock": "founded",
    "entities decisions": "",
    "entities normalise": "",
    "entities normalise --dry-run": "",
    "relations list": "founded",
    "relations decisions": "",
    "relations normalise --dry-run": "0 pairs",
    "facts list --entity Walter|Pennock": "founded",
    "facts list --relation founded --text pennock": "Tarnay Electric Light Company",
    "facts decisions": "",
    "facts conflicts": "",
    "facts rejected": "",
    "trace list": "Tarnay",
    "trace show last": "Walter Pennock",
    "trace verify last": "",
    "trace diff last last": "",
    "trace export last": "tg:GraphRagQuestion",
    "trace replay last": "the same result",
    "llm log": "",
    "cache stats": "vectors of texts",
    "index status": "up to date",
    "check": "no errors",
    "doctor": "pyoxigraph",
    "export": "Pennock",
    "config list": "server.port",
    "config history": "",
    "ontology list": "",
    "ontology suggest --least 1": "owl:Ontology",
    "ontology export owl": "assertions",
}
"""Command line, with | for spaces in an argument → part of its output."""


def words(line: str) -> list[str]:
    return [word.replace("|", " ") for word in line.split()]


def copies(served: Endpoint) -> list[Path]:
    return list((served.store / "frozen").glob("*"))


@pytest.mark.parametrize("line", READING)
def test_reading(line: str, run: Run, served: Endpoint) -> None:
    found = run("--store", served.store, *words(line))
    assert found.code == 0, found.err
    assert READING[line] in found.out
    assert found.err.count(f"{served.url} has this store open: reading its state of commit") == 1
    assert not copies(served)


def test_what_was_acknowledged_is_seen(run: Run, served: Endpoint) -> None:
    for number in range(3):
        update = f"INSERT DATA {{ GRAPH <urn:mine> {{ <urn:s> <urn:p> {number} }} }}"
        headers = {**bearer(WRITE), "Content-Type": "application/sparql-update"}
        done = httpx.post(f"{served.url}/update", content=update, headers=headers, timeout=30, verify=False)
        assert done.is_success, done.text
        asked = run("--store", served.store, "sparql", f"ASK {{ GRAPH <urn:mine> {{ ?s ?p {number} }} }}")
        assert asked.out == "yes\n"
        assert f"of commit {done.headers['GraphRAG-Commit']}\n" in asked.err


def test_asking_and_marking_go_through_the_server(process: Run, served: Endpoint) -> None:
    there = ("--store", served.store)
    refused = process(*there, "ask", QUESTION, GRAPHRAG_RDF_CLIENT__TOKEN="another-token-of-somebody")
    assert refused.code == 1
    assert "the token is not known" in refused.err
    own = served.store / "token"
    assert own.stat().st_mode & 0o777 == 0o600
    own.rename(served.store / "hidden")  # as for another user
    assert "--token-file" in process(*there, "ask", QUESTION).err
    token = {"GRAPHRAG_RDF_CLIENT__TOKEN": WRITE}
    assert process(*there, "feedback", "last", "helpful", **token).code == 0
    (served.store / "hidden").rename(own)
    asked = process(*there, "ask", QUESTION, "--format", "json")
    assert "Walter Pennock" in asked.out, asked.err
    assert asked.err.count("has this store open") == 1
    goes_on = process(*there, "ask", "--session", "last", "And Drumlaw Head?")
    assert goes_on.code == 0, goes_on.err
    resumed = process(*there, "ask", "--resume", "last")
    assert "stop the server first" in resumed.err
    marked = process(*there, "feedback", "last", "helpful", "--by", "Ada")
    assert "marked as helpful" in marked.out, marked.err
    shown = process(*there, "trace", "show", "last")
    assert "helpful" in shown.out, shown.err


def test_settings_are_changed_through_the_server(run: Run, served: Endpoint) -> None:
    there = ("--store", served.store)
    key = "hybrid_rag.exploration.weight_relates"

    def in_force() -> float:
        """What the server ranks by; weights add up to 1."""
        asked = {"question": QUESTION, "pipeline": "hybrid_rag"}
        with served.client(WRITE) as client:
            weights = client.post("/retrieve", json=asked).json()["results"][0]["weights"]
        return float(weights["relates"])

    before = in_force()
    changed = run(*there, "config", "set", key, "5")
    assert changed.code == 0, changed.err
    assert f"{served.url} has this store open: sending the command to it" in changed.err
    assert (high := in_force()) > before
    assert run(*there, "config", "get", key).out == "5.0\n"
    assert run(*there, "config", "set", key, "0").code == 0
    assert in_force() == 0
    newest, former = run(*there, "config", "history", "--format", "json").json[:2]
    assert (newest["reason"], former["settings"]) == (f"config set {key} 0", {key: 5})
    assert run(*there, "config", "restore", former["version"]).code == 0
    assert in_force() == high
    assert run(*there, "config", "unset", key).code == 0
    assert in_force() == before
    refused = run(*there, "config", "set", key, "many")
    assert (refused.code, key in refused.err) == (2, True)


def test_what_needs_the_store_itself(run: Run, served: Endpoint) -> None:
    """The error names the server, and what to do."""
    there = ("--store", served.store)
    for line in (
        ("index", "rebuild"),
        ("trace", "prune", "--keep", "1"),
        ("sparql", "--update", "CLEAR ALL"),
    ):
        found = run(*there, *line)
        assert found.code == 1
        assert f"process {served.process.pid}" in found.err
        assert served.url in found.err
    for line, request in (
        (("sparql", "--update", "CLEAR ALL"), f"update@FILE {served.url}/update"),
        (("forget", "documents/harbour.md"), f"curl -X DELETE {served.url}/documents/PATH"),
        (("cache", "clear"), f"curl -X POST {served.url}/cache/clear"),
    ):
        assert request in run(*there, *line).err
    hint = run(*there, "facts", "remove", "Andrew Orr", "was born in", "Arnhythe").err
    assert f"run the same command with --server {served.url}" in hint
    assert f"ask --server {served.url}" in run(*there, "ask", "--model", "openai/x", QUESTION).err


def test_only_who_reads_the_folder_gets_a_copy(served: Endpoint) -> None:
    note = json.loads((served.store / "holder.json").read_text("utf-8"))
    with httpx.Client(base_url=served.url, verify=False) as client:
        assert client.post("/frozen", json={}).status_code == 422
        assert client.post("/frozen", json={"key": "a" * 32}).status_code == 403
        strange = client.post(
            "/frozen", json={"key": note["key"]}, headers={"Origin": "http://elsewhere.example"}
        )
        assert strange.status_code == 403
        assert not copies(served)
        given = client.post("/frozen", json={"key": note["key"]}).json()
    copy = FrozenCopy(served.store / "frozen", given["copy"])
    assert copy.database.is_dir()
    copy.close()
    assert not copies(served)


def test_erasing_waits_the_copy_outlives_its_server_and_a_killed_reader_leaves_none(
    ingested: Path, folder: Path, run: Run
) -> None:
    store = folder / "store"
    shutil.copytree(ingested, store)
    env = {"GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE}
    with Endpoint.start(store, "--query-timeout", "0.5", **env) as endpoint:
        command = program("--store", store, "sparql", SLOW)
        reader = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
        assert reader.stderr is not None
        assert "has this store open" in reader.stderr.readline()
        (copy,) = copies(endpoint)
        with endpoint.client(WRITE) as client:
            erased = client.delete("/documents/documents/company.txt?wait=true").json()
        assert [warning["type"] for warning in erased["warnings"]] == ["not_purged"]  # the copy has the text
        assert (store / "token").exists()
        assert endpoint.stop() == 0
    assert not (store / "token").exists()
    assert copy.exists()
    assert run("--store", store, "documents").code == 0  # writes: nobody else has it open
    assert copy.exists()
    assert reader.poll() is None
    reader.kill()
    reader.wait()
    reader.stderr.close()
    assert run("--store", store, "documents").code == 0
    assert not (store / "frozen").exists()
