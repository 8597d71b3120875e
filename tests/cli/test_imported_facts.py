"""Facts of an imported file are found, answered with, cited by the file, and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.scripted_server import Request, ScriptedServer, offered

FACTS = """@prefix : <http://example.org/> . @prefix e: <http://trustgraph.ai/e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:mona rdfs:label "Mona Kell" ; :founded :society .
:society rdfs:label "Lantern Society" .
e:drumlaw-head-lighthouse :trustee :mona .
"""
QUESTION = "Who founded the Lantern Society?"
ANSWER = "Mona Kell founded Lantern Society. [1]"
CITED = {"name": "people.ttl", "authority": None}
NOT_READ = {
    "page_number": None,
    "chunk": None,
    "char_offset": None,
    "char_length": None,
    "quote": None,
    "verified": False,
}


@pytest.fixture
def imported(run: Run, store: Path, folder: Path) -> dict[str, str]:
    """The keys of a source that an answer from the imported file has."""
    file = folder / "people.ttl"
    file.write_text(FACTS)
    assert run("import", file).code == 0
    query = "SELECT ?file WHERE { GRAPH <urn:graph:source> { ?s prov:used ?file . ?s a rag:Import } }"
    found = run("sparql", query, "--format", "json").json
    document = found["results"]["bindings"][0]["file"]["value"]
    return {"document": document, "title": "people.ttl", "uri": file.resolve().as_uri()}


def test_an_extractive_answer_is_the_fact_and_cites_the_file(run: Run, imported: dict[str, str]) -> None:
    answer = run("ask", QUESTION, "--format", "json").json
    assert answer["answer"] == ANSWER
    [citation] = answer["citations"]
    assert citation["edge"]["s"] == "http://example.org/mona"
    assert citation["sources"] == [imported | CITED | NOT_READ]
    [source] = answer["sources"]
    text = "Mona Kell founded Lantern Society"
    assert source == {"id": "S1", "chunk": None, "text": text, **imported, **CITED}
    assert answer["references"] == [{"label": "[1]", "source_id": "S1"}]


def test_a_model_answers_with_it_and_the_citation_is_the_same(
    run: Run, imported: dict[str, str], scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = [""]

    def reply(request: Request) -> str:
        if "knowledge graph will be searched" in request.prompt:
            return "Lantern Society"
        found = [key for key, words in offered(request.prompt).items() if "Mona Kell" in words]
        assert found, "the fact was offered"
        number[0] = found[0]
        return f"[{found[0]}] it says so\nANSWER: Mona Kell did. [{number[0]}]"

    scripted_server.answer_with(reply)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/test-model")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "secret-key-1234567890")
    answer = run("ask", QUESTION, "--format", "json").json
    assert answer["answer"] == f"Mona Kell did. [{number[0]}]"
    assert answer["citations"][0]["sources"] == [imported | CITED | NOT_READ]
    assert answer["citations"][0]["reasoning"] == "it says so"
    assert all(check["ok"] for check in run("trace", "verify", "last", "--format", "json").json["checks"])


def test_people_are_shown_the_fact_and_the_file(run: Run, imported: dict[str, str]) -> None:
    told = " ".join(run("ask", QUESTION, "--explain").out.split())
    assert "[1] people.ttl (a fact, not a quotation) **Mona Kell founded Lantern Society**" in told
    assert "Source: people.ttl (a fact, not a quotation)" in told


def test_the_trace_names_the_file_and_holds(run: Run, imported: dict[str, str]) -> None:
    run("ask", QUESTION)
    trace = run("trace", "show", "last", "--format", "json").json
    focus = next(step for step in trace["steps"] if step["type"] == "focus")
    cited = next(selection for selection in focus["selections"] if selection["marker"] == 1)
    [source] = cited["sources"]
    assert imported | NOT_READ | {"state": "current"} == {
        key: source[key] for key in (*imported, *NOT_READ, "state")
    }
    assert source["subgraph"]
    assert source["activity"]
    checked = run("trace", "verify", "last", "--format", "json")
    assert checked.code == 0, checked.out
    assert run("check").code == 0
    for form in ("trig", "prov-n", "prov-json", "html"):
        assert "people.ttl" in run("trace", "export", "last", "--format", form).out


def test_a_damaged_file_fails_the_trace(run: Run, store: Path, imported: dict[str, str]) -> None:
    """What the blob store keeps of the file must still hash to its name."""
    run("ask", QUESTION)
    name = imported["document"].rsplit(":", 1)[-1]
    [kept] = [path for path in store.rglob("*") if path.is_file() and name.endswith(path.name[-40:])]
    kept.chmod(0o600)
    kept.write_bytes(b"something else")
    found = run("trace", "verify", "last", "--format", "json").json["checks"]
    checks = {check["check"]: check for check in found}
    assert not checks["objects"]["ok"]
    assert imported["document"] in checks["objects"]["detail"]


def test_sources_of_a_fact(run: Run, imported: dict[str, str]) -> None:
    """Also when the predicate has no label but the one that is shown."""
    [source] = run("source", "fact", "Mona Kell", "founded", "Lantern Society", "--format", "json").json
    expected = imported | NOT_READ | {"page": None, "state": "current"}
    assert expected == {key: source[key] for key in expected}
    told = run("source", "fact", "Mona Kell", "founded", "Lantern Society").out
    assert "people.ttl (a fact, not a quotation)" in " ".join(told.split())


def test_a_fact_that_was_both_read_and_imported_has_both_sources(run: Run, store: Path, folder: Path) -> None:
    edge = run("ask", "Who designed Drumlaw Head Lighthouse?", "--format", "json").json["citations"][0][
        "edge"
    ]
    file = folder / "more.nt"
    object_ = f"<{edge['o']}>" if edge["o"].startswith("http") else json.dumps(edge["o"])
    file.write_text(f"<{edge['s']}> <{edge['p']}> {object_} .\n")
    assert run("import", file).code == 0
    answer = run("ask", "Who designed Drumlaw Head Lighthouse?", "--format", "json").json
    sources = next(c["sources"] for c in answer["citations"] if c["edge"] == edge)
    assert [source["chunk"] is None for source in sources] == [False, True]
    assert sources[1]["title"] == "more.nt"
    assert {source["title"] for source in answer["sources"]} > {"more.nt"}


def test_sentences_and_imported_facts_answer_together(run: Run, imported: dict[str, str]) -> None:
    """The chain goes from a sentence of a document over an entity to a fact of the file."""
    answer = run("ask", "Who is trustee of the lighthouse that Andrew Orr designed?", "--format", "json").json
    assert {"people.ttl", "Port Merrin"} <= {passage["title"] for passage in answer["passages"]}
    assert any("Mona Kell" in passage["text"] for passage in answer["passages"])


def test_an_untitled_synonym_list_is_named_by_its_file(run: Run, store: Path, folder: Path) -> None:
    """Names that a list of synonyms gave lead to that list."""
    (folder / "synonyms.txt").write_text("Andrew Orr = A. Orr the builder\n")
    (folder / "graphrag.toml").write_text('[extract]\nsynonyms = "synonyms.txt"\n')
    (folder / "new.txt").write_text("Andrew Orr was a builder.\n")
    assert run("ingest", "new.txt").code == 0
    altlabel = "http://www.w3.org/2004/02/skos/core#altLabel"
    found = run("source", "fact", "Andrew Orr", altlabel, '"A. Orr the builder"', "--format", "json").json
    assert [source["title"] for source in found] == ["synonyms.txt"]
    assert found[0]["chunk"] is None
