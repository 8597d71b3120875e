"""The core alone: a copy of the package without its wings."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import graphrag_rdf
from tests.support.commands import Outcome, Run, documents_in, environment, program
from tests.support.endpoint import Endpoint
from tests.support.scripted_server import Reply, Request, ScriptedServer

PACKAGE = Path(graphrag_rdf.__file__).parent
QUESTION = "Who designed Drumlaw Head Lighthouse?"
LACKS = "this installation lacks the wings agents, "


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The surroundings of a process that imports the copy."""
    place = tmp_path_factory.mktemp("core")
    without = shutil.ignore_patterns("wings", "__pycache__")
    shutil.copytree(PACKAGE, place / PACKAGE.name, ignore=without)
    for name in ("queries", "pipelines", "ontology"):
        shutil.copytree(PACKAGE.parent / name, place / name)
    return {"PYTHONPATH": str(place), "PYTHONSAFEPATH": "1", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def run(core: dict[str, str], tmp_path: Path) -> Run:
    """Run a command of the copy in a process."""
    documents_in(tmp_path)

    def call(*arguments: object, **env: str) -> Outcome:
        ended = subprocess.run(
            program(*arguments),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment(**core, **env),
            check=False,
            timeout=120,
        )
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    return call


def test_documents_are_read_asked_and_traced(run: Run, core: dict[str, str], tmp_path: Path) -> None:
    ingested = run("ingest", "documents", "--format", "json")
    assert ingested.code == 0, ingested.err
    assert ingested.json["documents"]["added"] == 2
    answer = run("ask", QUESTION, "--format", "json")
    assert answer.code == 0, answer.err
    assert "Andrew Orr" in answer.json["answer"]
    (trace,) = run("trace", "list", "--format", "json").json
    assert "Andrew Orr" in run("trace", "show", trace["iri"]).out
    for command in (["check"], ["doctor"], ["documents"], ["pipelines", "list"], ["config", "list"]):
        ended = run(*command)
        assert ended.code == 0, ended.err
    with Endpoint.start(tmp_path / "graphrag-store", **core) as server, server.client() as client:
        asked = client.post("/ask", json={"question": QUESTION}).raise_for_status()
        assert "Andrew Orr" in asked.json()["answer"]
        assert client.get("/", headers={"Accept": "text/html"}).status_code == 200
        assert client.post("/mcp", json={}).status_code == 404


def test_a_model_reads_and_answers(run: Run, scripted_server: ScriptedServer) -> None:
    def reply(request: Request) -> str | Reply | None:
        if request.body.get("stream"):
            return "ANSWER: Andrew Orr did. [1]"
        return json.dumps({"entities": [{"name": "Andrew Orr", "type": "person"}], "relations": []})

    scripted_server.answer_with(reply)
    env = {
        "GRAPHRAG_RDF_LLM__MODEL": "openai/scripted",
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "sk-planted",
    }
    ingested = run("ingest", "documents", "--format", "json", **env)
    assert ingested.json["documents"]["added"] == 2, ingested.err
    answer = run("ask", QUESTION, "--format", "json", **env)
    assert answer.json["answer"] == "Andrew Orr did. [1]", answer.err
    assert answer.json["citations"]


def test_files_that_a_wing_reads_are_skipped_and_named(run: Run, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    for name in ("a.docx", "b.json", "c.py", "d.rtf", "e.eml.gz"):
        (documents / name).write_bytes(b"Mona Kell built it.")
    (documents / "f.yaml").write_text("note: Mona Kell built it.")
    report = run("ingest", "documents", "--format", "json")
    assert report.code == 0, report.err
    assert report.json["documents"]["added"] == 3
    assert [line.partition("documents/")[2] for line in report.json["skipped"]] == [
        f"{name}: {suffix} needs the wing formats, which this installation lacks"
        for name, suffix in (
            ("a.docx", ".docx"),
            ("b.json", ".json"),
            ("c.py", ".py"),
            ("d.rtf", ".rtf"),
            ("e.eml.gz", ".eml"),
        )
    ]
    alone = run("ingest", "documents/a.docx")
    assert alone.code == 2
    assert "needs the wing formats" in alone.err


def test_forget_says_what_it_cannot_erase(run: Run) -> None:
    run("ingest", "documents")
    forgotten = run("forget", "documents/harbour.md", "--format", "json")
    assert forgotten.code == 0, forgotten.err
    assert "wings_missing" in [warning["type"] for warning in forgotten.json["warnings"]]


def test_what_a_wing_has_is_told(run: Run) -> None:
    run("ingest", "documents")
    for command in (["eval", "retrieval", "set.json"], ["communities", "list"], ["trace", "verify", "last"]):
        ended = run(*command)
        assert ended.code == 2
        assert LACKS in ended.err
    ended = run("ask", "--pipeline", "drift", QUESTION)
    assert ended.code == 2
    assert LACKS in ended.err
    listed = run("pipelines", "list")
    assert "graph_rag" in listed.out
    assert "drift" not in listed.out
    assert LACKS in listed.err


def test_settings_of_a_wing_are_told(run: Run, tmp_path: Path) -> None:
    ended = run("documents", GRAPHRAG_RDF_CLAIMS__BUILD="true")
    assert ended.code == 2
    assert f"claims: unknown setting ({LACKS}" in ended.err
    run("ingest", "documents")
    stored = {"claims.build": "true", "hybrid_rag.exploration.relation_hops": "2"}
    for key, value in stored.items():
        whole = program("config", "set", key, value)
        subprocess.run(whole, cwd=tmp_path, env=environment(), check=True, capture_output=True)
    answer = run("ask", QUESTION, "--format", "json")
    assert "Andrew Orr" in answer.json["answer"]
    warnings = run("doctor", "--format", "json").json["warnings"]
    ignored = [warning["detail"] for warning in warnings if warning["type"] == "setting_ignored"]
    assert {detail.split()[0] for detail in ignored} == set(stored)
    assert all(LACKS in detail for detail in ignored)
    assert run("config", "unset", "claims.build").code == 0
