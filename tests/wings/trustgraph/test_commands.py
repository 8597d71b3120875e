"""The commands of the unmodified `trustgraph-cli` against a server; `make test-trustgraph` installs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.steps.conftest import sample_folder
from tests.support.endpoint import TOKENS, WRITE, Endpoint, eventually
from tests.support.scripted_server import ScriptedServer
from tests.wings.agents.pipeline.test_agent import team

__all__ = ["sample_folder"]

pytestmark = pytest.mark.trustgraph

QUESTION = "Who invented the reversing gear?"
DOCUMENT = "https://trustgraph.ai/doc/documents/gate-four-inquiry.pdf"
MARWICK = "http://trustgraph.ai/e/elspeth-marwick"


class Commands:
    """The commands, for a server."""

    def __init__(self, url: str, folder: Path) -> None:
        self.bin = Path(os.environ["TRUSTGRAPH_BIN"]).resolve()
        self.folder = folder
        self.env = {**os.environ, "TRUSTGRAPH_URL": f"{url}/", "TRUSTGRAPH_TOKEN": WRITE}

    def run(self, command: str, *arguments: str, timeout: float = 60, fails: bool = False) -> tuple[str, str]:
        """Standard output and error of a command."""
        done = subprocess.run(
            [str(self.bin / command), *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.env,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = done.stdout + done.stderr
        assert ("Exception:" in told) == fails, told
        return done.stdout, done.stderr

    def __call__(self, command: str, *arguments: str) -> str:
        return self.run(command, *arguments)[0]


@pytest.fixture(scope="module")
def tg(
    sample_folder: Path, _scripted_server: ScriptedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    """The commands, against a server over the samples with a scripted model."""
    folder = tmp_path_factory.mktemp("commands")
    shutil.copytree(sample_folder, folder / "store")
    _scripted_server.answer_with(team)
    env = {
        "GRAPHRAG_RDF_LLM__MODEL": "openai/test-model",
        "GRAPHRAG_RDF_LLM__API_BASE": _scripted_server.base_url,
        "GRAPHRAG_RDF_LLM__API_KEY": "secret-key-1234567890",
        "GRAPHRAG_RDF_EXTRACT__USE": "rules",
    }
    with Endpoint.start(folder / "store", **env, **TOKENS) as endpoint:
        yield Commands(endpoint.url, folder)
    _scripted_server.reset()


def test_graph_rag_with_its_trace_from_the_answer_to_the_documents(tg: Commands) -> None:
    answer, steps = tg.run("tg-invoke-graph-rag", "-x", "-q", QUESTION)
    assert "Rhoda Tennant invented the reversing gear." in answer
    assert "tarnay-chronicle-1936.html" in steps, "its sources"
    for step in ("question", "grounding", "exploration", "focus", "synthesis"):
        assert f"[{step}] urn:trustgraph:" in steps
    _, named = tg.run("tg-invoke-graph-rag", "-x", "-q", "What did Rhoda Tennant invent?")
    assert "Concepts: 1\n      - Rhoda Tennant" in named
    (seeds,) = re.findall(r"Seed entities: (\d+)\n((?:      - .+\n)+)", named)
    labels = re.findall("- (.+)", seeds[1])
    assert len(labels) == len({*labels}) == int(seeds[0]) > 0, "each seed once"
    answer, usage = tg.run("tg-invoke-graph-rag", "--show-usage", "-q", QUESTION)
    assert "Rhoda Tennant invented the reversing gear." in answer
    assert re.search(r"Input tokens: \d+  Output tokens: \d+  Model: openai/test-model", usage)

    listed = json.loads(tg("tg-list-explain-traces", "--format", "json", "--limit", "1"))
    assert [(one["type"], one["question"]) for one in listed] == [("GraphRAG", QUESTION)]
    assert QUESTION in tg("tg-list-explain-traces")
    shown = tg("tg-show-explain-trace", listed[0]["id"])
    assert f"Question: {QUESTION}\nTime: 20" in shown
    assert "edges from knowledge graph" in shown
    assert "Answer:\n  Rhoda Tennant invented the reversing gear." in shown
    trace = json.loads(tg("tg-show-explain-trace", "--format", "json", listed[0]["id"]))
    assert trace["synthesis"]["document"].startswith("urn:trustgraph:synthesis:")


def test_the_sources_of_selected_facts(tg: Commands, sample_folder: Path) -> None:
    """Without a model, facts are selected; the trace leads from them to documents."""
    store = tg.folder / "facts"
    shutil.copytree(sample_folder, store)
    with Endpoint.start(store) as endpoint:
        plain = Commands(endpoint.url, tg.folder)
        plain.env.pop("TRUSTGRAPH_TOKEN")
        _, steps = plain.run("tg-invoke-graph-rag", "-x", "-q", "Who designed the Skell Tidal Station?")
        (listed,) = json.loads(plain("tg-list-explain-traces", "--format", "json"))
        shown = plain("tg-show-explain-trace", "--show-provenance", listed["id"])
    assert "Edge: (Skell Tidal Station, is a, Place)" in steps, "relations of other vocabularies have names"
    assert "1. (Elspeth Marwick, designed, Skell Tidal Station)" in shown
    assert re.search(r"Concept: .+  Score: 0\.\d{4}|Score: 1\.0000", shown)
    assert re.search(r"Source: \S+ -> Chunk \d -> Elspeth Marwick, engineer of the tide", shown)
    assert "Content: urn:chunk:" in shown


def test_document_rag(tg: Commands) -> None:
    answer, steps = tg.run("tg-invoke-document-rag", "-x", "-q", QUESTION)
    assert "Rhoda Tennant" in answer
    for step in ("question", "grounding", "exploration", "synthesis"):
        assert f"[{step}] urn:trustgraph:docrag:" in steps
    assert "Rhoda Tennant" in tg("tg-invoke-document-rag", "--no-streaming", "-q", QUESTION)
    (listed,) = json.loads(tg("tg-list-explain-traces", "--format", "json", "--limit", "1"))
    assert listed["type"] == "DocRAG"
    assert "Answer:\n  Rhoda Tennant" in tg("tg-show-explain-trace", listed["id"])


@pytest.mark.parametrize(
    ("pattern", "headings"),
    [
        ("react", ["Analysis", "Observation", "Analysis", "Conclusion"]),
        ("plan-then-execute", ["Plan", "Step Result", "Step Result", "Plan", "Step Result", "Synthesis"]),
        ("supervisor", ["Decomposition", "Finding", "Finding", "Synthesis"]),
    ],
)
def test_agents_and_their_traces(tg: Commands, pattern: str, headings: list[str]) -> None:
    question = f"Compare the reversing gear and the Petrel: {pattern}"
    assert "[1]" in tg("tg-invoke-agent", "-v", "-p", pattern, "-q", question)
    (listed,) = json.loads(tg("tg-list-explain-traces", "--format", "json", "--limit", "1"))
    assert (listed["type"], listed["question"]) == ("Agent", question)
    shown = tg("tg-show-explain-trace", listed["id"])
    assert re.findall(r"^--- (.+) ---$", shown, re.MULTILINE) == headings
    trace = json.loads(tg("tg-show-explain-trace", "--format", "json", listed["id"]))
    assert len(trace["steps"]) == len(headings)


def test_an_agent_explains_what_it_does(tg: Commands) -> None:
    answer, steps = tg.run("tg-invoke-agent", "-x", "-q", "Compare the gear and the Petrel.")
    assert "Rhoda Tennant invented it." in answer
    for step in ("session", "decompose", "analysis: knowledge-query", "observation", "finding", "synthesis"):
        assert f"[{step}] urn:trustgraph:" in steps
    assert "    Thread 0: Who invented the reversing gear?" in steps


def test_where_facts_were_extracted(tg: Commands) -> None:
    shown = tg("tg-show-extraction-provenance", "--show-content", DOCUMENT)
    assert shown.startswith(f"Document: {DOCUMENT}\n  Title: ")
    assert "  Type: application/pdf" in shown
    assert "Page: Page 3" in shown
    assert "Chunk: Chunk 2" in shown
    assert 'Content: "2. The events of 12 January 1957"' in shown
    assert "Edge: (" in shown
    assert "Unknown" not in shown


def test_triples_and_sparql(tg: Commands) -> None:
    assert (
        tg("tg-show-graph", "-g", "urn:graph:source", "-l", "5", "--show-graph").count("[urn:graph:source]")
        == 5
    )
    assert f'{MARWICK} http://www.w3.org/2000/01/rdf-schema#label "Elspeth Marwick"' in tg(
        "tg-query-graph", "-s", MARWICK
    )
    edge = f"<<{MARWICK} http://trustgraph.ai/r/designed http://trustgraph.ai/e/skell-tidal-station>>"
    assert f"https://trustgraph.ai/ns/contains {edge}" in tg("tg-query-graph", "-o", edge)
    died = ("--qt-subject", MARWICK, "--qt-predicate", "http://trustgraph.ai/r/died-on-value")
    found = tg("tg-query-graph", *died, "--qt-object", "1968-08-19", "-g", "urn:graph:source")
    assert '"1968-08-19"^^http://www.w3.org/2001/XMLSchema#date' in found, (
        "a plain literal stands for its text"
    )
    query = "SELECT ?name { ?s rdfs:label ?name } ORDER BY ?name"
    assert json.loads(tg("tg-invoke-sparql-query", "-l", "3", "--format", "json", "-q", query))[2]["name"]
    assert tg("tg-invoke-sparql-query", "-q", "ASK { ?s ?p ?o }") == "true\n"


def test_loading_knowledge(tg: Commands) -> None:
    (tg.folder / "fleet.ttl").write_text(
        "@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        'ex:vela rdfs:label "Vela"@en ; ex:tonnage 412 ; ex:keel [ ex:made 1901 ] ;'
        ' skos:definition "A cutter." .\n',
        encoding="utf-8",
    )
    assert "Triples and entity contexts loaded." in tg("tg-load-knowledge", "-i", "urn:fleet", "fleet.ttl")
    assert "File loaded." in tg("tg-load-turtle", "-i", "urn:fleet", "fleet.ttl")
    named = ("-g", "urn:graph:fleet")
    assert "Loaded 5 triples" in tg("tg-load-knowledge", "-i", "urn:fleet", *named, "fleet.ttl")
    eventually(lambda: tg("tg-show-graph", *named).count("\n") == 5)
    about = tg("tg-query-graph", "-s", "http://example.org/vela", "-g", "")
    assert about.count("http://example.org/tonnage") == 1
    assert about.count("http://example.org/keel") == 1, "a file is loaded once"
    label = ("-p", "http://www.w3.org/2000/01/rdf-schema#label")
    definition = "http://www.w3.org/2004/02/skos/core#definition"
    assert '"is defined as"' in tg("tg-query-graph", "-s", definition, *label), "what traces call it"


OTTER = "# Cutters\n\nAda Brook built the cutter Otter in 1903.\n"


@pytest.fixture(scope="module")
def otter(tg: Commands) -> str:
    """The id of a document that a command added."""
    (tg.folder / "otter.md").write_text(OTTER, encoding="utf-8")
    named = ("--name", "Otter, a cutter", "--id", "https://example.org/otter", "-k", "text/markdown")
    assert "otter.md: Loaded successfully." in tg("tg-add-library-document", *named, "otter.md")
    return "https://example.org/otter"


def test_adding_documents(tg: Commands, otter: str) -> None:
    assert tg("tg-show-extraction-provenance", f"{otter}.md").count("ada-brook")
    assert "| Otter, a cutter" in tg("tg-show-library-documents"), "its name is its title"


def test_processing_documents(tg: Commands, otter: str) -> None:
    assert tg("tg-start-library-processing", "-d", otter, "--id", "p1") == ""
    failed, _ = tg.run("tg-start-library-processing", "-d", f"{otter}/no", "--id", "p2", fails=True)
    assert "there is no document" in failed


def test_documents_and_texts(tg: Commands, otter: str) -> None:
    assert f"| {otter}.md" in tg("tg-show-library-documents")
    for name in (otter, f"{otter}.md"):
        assert tg("tg-get-document-content", name) == f"{OTTER}\n"
    assert "Written " in tg("tg-get-document-content", "-o", "inquiry.pdf", DOCUMENT)
    assert (tg.folder / "inquiry.pdf").read_bytes().startswith(b"%PDF")
    tg("tg-invoke-graph-rag", "-q", QUESTION)
    (listed,) = json.loads(tg("tg-list-explain-traces", "--format", "json", "--limit", "1"))
    trace = json.loads(tg("tg-show-explain-trace", "--format", "json", listed["id"]))
    assert "Rhoda Tennant" in tg("tg-get-document-content", trace["synthesis"]["document"])
    assert "404" in tg.run("tg-get-document-content", "urn:x", fails=True)[0]
