"""`ask`: answers for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import CONTROLS, Run
from tests.support.scripted_server import Reply, Request, ScriptedServer

QUESTION = "Who designed Drumlaw Head Lighthouse?"
ANSWER_KEYS = {
    "question", "question_iri", "pipeline", "answer", "citations", "sources", "references", "entities",
    "warnings", "steps", "usage", "seconds",
}  # fmt: skip


@pytest.fixture
def model(scripted_server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    """The scripted server as the model: it selects everything and cites the first statement."""
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", scripted_server.base_url)
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_KEY", "sk-planted")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MAX_RETRIES", "0")
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__MODEL", "openai/scripted")

    def answer(request: Request) -> str | None:
        return "Andrew Orr did. [1]" if request.body.get("stream") else None

    scripted_server.answer_with(answer)
    return scripted_server


def test_for_people(run: Run, store: Path) -> None:
    found = run("ask", QUESTION)
    assert found.code == 0
    answer, _, passage = found.out.partition("\n\nBest passage\n")
    assert "Andrew Orr" in answer
    assert "[1]" in answer
    assert passage.startswith("[1] Port Merrin\n")
    assert "**Andrew Orr designed Drumlaw Head Lighthouse in 1881.**" in " ".join(passage.split())
    assert all(len(line) <= 80 for line in passage.splitlines())
    assert "No language model is configured" in found.err
    way = "config set llm.model"
    assert way in found.err, "the first answer of a store says how to use one"
    assert way not in run("ask", QUESTION).err
    assert "no_llm" not in found.err
    assert "(no_llm)" in run("-v", "ask", QUESTION).err


def test_quiet_says_the_answer_only(run: Run, store: Path) -> None:
    assert run("ask", "-q", QUESTION).err == ""


def test_streamed_or_not_the_text_is_the_same(run: Run, store: Path) -> None:
    assert run("ask", QUESTION).out == run("ask", "--no-stream", QUESTION).out


def test_json_keys(run: Run, store: Path) -> None:
    found = run("ask", "--format", "json", QUESTION)
    assert found.code == 0
    answer = found.json
    assert answer.keys() >= ANSWER_KEYS
    (citation, *_) = answer["citations"]
    assert {"marker", "sentence", "score", "reasoning", "sources"} <= citation.keys()
    assert "edge" in citation or "chunk" in citation
    source = citation["sources"][0]
    assert source.keys() == {
        "document", "title", "name", "uri", "page_number", "chunk", "char_offset", "char_length", "quote",
        "verified", "authority",
    }  # fmt: skip
    text = (store.parent / "documents" / "harbour.md").read_text()
    start = source["char_offset"]
    assert text[start : start + source["char_length"]] == source["quote"]


def test_jsonl_is_the_stream_of_messages(run: Run, store: Path) -> None:
    messages = run("ask", "--format", "jsonl", QUESTION).lines
    kinds = [message["kind"] for message in messages]
    assert kinds[:5] == ["session", "question", "grounding", "exploration", "focus"]
    assert kinds[-2:] == ["synthesis", "final"]
    assert messages[-1]["end_of_session"]
    triple = messages[0]["explain_triples"][0]
    assert triple.keys() == {"s", "p", "o", "g"}
    assert triple["s"]["type"] == "uri"


def test_not_knowing_is_an_answer(run: Run, store: Path) -> None:
    found = run("ask", "--format", "json", "Which planets have rings?")
    assert found.code == 0
    assert found.json["answered"] is False
    assert "no_relevant_facts" in {warning["type"] for warning in found.json["warnings"]}
    assert "don't know" in run("ask", "Which planets have rings?").out


def test_what_comes_closest_is_shown_where_nothing_answers(run: Run, store: Path) -> None:
    question = "Which painter owned the granite castle of Andrew Orr?"
    found = run("ask", "--format", "json", question).json
    assert (found["answered"], found["citations"]) == (False, [])
    assert "no_relevant_facts" in {warning["type"] for warning in found["warnings"]}
    (nearest, *_) = found["closest"]
    assert {"document", "title", "chunk", "quote", "char_offset", "char_length"} <= nearest.keys()
    assert "Andrew Orr" in nearest["quote"]
    shown = run("ask", question).out
    assert shown.startswith("No sentence in the documents is a sure answer.")
    assert nearest["quote"].split()[0] in shown.partition("Closest passages")[2]
    assert "no answer: closest chunks" in run("trace", "list", "--outcome", "unanswered").out
    assert run("trace", "list", "--outcome", "failed").out.strip() == "no trace matches"
    assert all(check["ok"] for check in run("trace", "verify", "last", "--format", "json").json["checks"])


def test_a_doubtful_quote_says_so_below_the_answer(run: Run, store: Path) -> None:
    shown = run("ask", "Who designed Drumlaw Head Lighthouse for the company in 1897?")
    assert "\nThis quote may not answer the question: it does not contain “company”, “1897”.\n" in shown.out
    assert "1897" not in shown.err


def test_without_a_store_documents_come_first(run: Run, folder: Path) -> None:
    found = run("ask", QUESTION)
    assert found.code == 2
    assert found.err.startswith("error: there is no store yet: ingest documents first\n")


def test_question_from_standard_input(run: Run, store: Path) -> None:
    assert "Andrew Orr" in run("ask", "-", stdin=QUESTION + "\n").out


@pytest.mark.parametrize("question", ["", "  \n ", "x" * 100_000, "\ufeff \u200b"])
def test_questions_that_are_none(run: Run, store: Path, question: str) -> None:
    found = run("ask", "-", stdin=question)
    assert found.code in (0, 2)
    assert "Traceback" not in found.err
    if len(question) > 1000:
        assert found.code == 2
        assert found.err.startswith("error: the question")


def test_no_store(run: Run, folder: Path) -> None:
    found = run("ask", QUESTION)
    assert found.code == 2
    assert "graphrag-rdf ingest" in found.err
    assert not (folder / "graphrag-store").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--pipeline", "nothing"], "graph_rag"),
        (["--set", "exploration.nothing=1"], "passage_words"),
        (["--set", "nothing.edge_limit=1"], "exploration"),
        (["--set", "max_sentences=1"], "did you mean synthesis.max_sentences?"),
        (["--set", "focus.edge_limit=many"], "many"),
        (["--set", "exploration"], "name=value"),
        (["--include-entity", "Nobody At All"], "entities list"),
        (["--collection", "other"], "default"),
        (["--collection", "../x"], "letters"),
        (["--store", "ftp://localhost:7878"], "http"),
        (["--config", "nothing.toml"], "nothing.toml"),
    ],
)
def test_wrong_usage_names_the_way_out(run: Run, store: Path, arguments: list[str], told: str) -> None:
    found = run("ask", *arguments, QUESTION)
    assert found.code == 2
    assert found.out == ""
    assert told in found.err


def test_parameters_reach_the_pipeline(run: Run, store: Path) -> None:
    found = run("ask", "--set", "synthesis.max_sentences=1", "--format", "json", QUESTION).json
    assert found["answer"].count("[") == 1


def test_excluded_entities_are_not_followed(run: Run, store: Path) -> None:
    found = run("ask", "--exclude-entity", "Andrew Orr", "--format", "json", QUESTION).json
    edges = [citation["edge"] for citation in found["citations"] if "edge" in citation]
    assert all(edge["s_label"] != "Andrew Orr" for edge in edges)


@pytest.mark.parametrize("pipeline", ["graph_rag", "hybrid_rag", "hops_rag"])
def test_sentences_about_excluded_entities_are_left_out(run: Run, store: Path, pipeline: str) -> None:
    """Though their words answer the question."""
    asked = ("ask", "--pipeline", pipeline, "--format", "json", QUESTION)
    assert "designed" in run(*asked).json["answer"]
    without = run(*asked, "--exclude-entity", "Drumlaw Head Lighthouse").json
    assert "Drumlaw Head Lighthouse" not in str([without["answer"], without["closest"]])
    without = run(*asked, "--exclude-entity", "Andrew Orr").json
    assert "Andrew Orr" not in str([without["answer"], without["closest"]])


def test_what_only_a_model_follows_is_told_without_one(run: Run, store: Path) -> None:
    found = run("ask", "--response-type", "a list", "--allow-general-knowledge", "--format", "json", QUESTION)
    told = [warning for warning in found.json["warnings"] if warning["type"] == "setting_ignored"]
    assert [warning["detail"].split(" ")[0] for warning in told] == [
        "synthesis.response_type",
        "synthesis.allow_general_knowledge",
    ]
    assert "Warning: synthesis.response_type" in run("trace", "show", "last").out
    plain = run("ask", "--set", "synthesis.max_sentences=1", "--format", "json", QUESTION).json
    assert [warning["type"] for warning in plain["warnings"]] == ["no_llm"]
    run("config", "set", "graph_rag.synthesis.response_type", "a list")
    assert "synthesis.response_type had no effect" in run("ask", QUESTION).err


def test_with_a_model(run: Run, store: Path, model: ScriptedServer) -> None:
    found = run("ask", QUESTION)
    assert found.code == 0, found.err
    assert found.out.startswith("Andrew Orr did. [1]\n\nSources\n[1] ")
    assert "No language model" not in found.err


def test_response_type_and_general_knowledge_reach_the_model(
    run: Run, store: Path, model: ScriptedServer
) -> None:
    run("ask", "--response-type", "one single word", "--allow-general-knowledge", QUESTION)
    (asked,) = [request for request in model.requests if request.body.get("stream")]
    assert "one single word" in asked.prompt
    assert "[LLM: verify]" in asked.prompt


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_failed_run_ends_with_1(run: Run, store: Path, model: ScriptedServer, form: str) -> None:
    model.answer_with(lambda _: Reply("no such model", status=404))
    found = run("ask", "--format", form, QUESTION)
    assert found.code == 1
    assert found.err.startswith("error: ")
    assert "sk-planted" not in found.err + found.out
    if form == "jsonl":
        assert found.lines[-1]["error"]["type"] == "graph-rag-error"
    else:
        assert found.out == ""


def test_no_network_is_told_by_its_address(
    run: Run, store: Path, model: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHRAG_RDF_LLM__API_BASE", "http://127.0.0.1:9/v1")
    found = run("ask", QUESTION)
    assert found.code == 1
    assert "127.0.0.1:9" in found.err


@pytest.mark.parametrize("arguments", [[], ["--no-stream"], ["--format", "json"], ["--format", "jsonl"]])
def test_control_sequences_of_documents_are_data(run: Run, folder: Path, arguments: list[str]) -> None:
    (folder / "evil.json").write_text(json.dumps({"story": CONTROLS}))
    said = run("ingest", "evil.json")
    assert said.code == 0
    assert not set("\x1b\x07\x9b") & set(said.out + said.err)
    found = run("ask", *arguments, "Who founded the Lantern Society?")
    assert found.code == 0
    assert "1901" in found.out
    assert not set("\x1b\x07\x9b\u202e") & set(found.out + found.err)


def test_control_sequences_of_models_are_data(run: Run, store: Path, model: ScriptedServer) -> None:
    model.answer_with(lambda request: "Orr \x1b[2J\x07 did. [1]" if request.body.get("stream") else None)
    found = run("ask", QUESTION)
    assert found.code == 0
    assert not set("\x1b\x07") & set(found.out + found.err)


def test_a_collection_is_a_store_of_its_own(run: Run, store: Path, folder: Path) -> None:
    (folder / "other.txt").write_text("Mona Kell founded the Lantern Society in 1901.")
    assert run("ingest", "--collection", "other", "other.txt").code == 0
    assert "1901" in run("ask", "--collection", "other", "When was the Lantern Society founded?").out
    assert "a sure answer" in run("ask", "When was the Lantern Society founded?").out
    unknown = run("ask", "--collection", "third", "Who?")
    assert unknown.code == 2
    assert "default, other" in unknown.err


def test_questions_to_ask_next(run: Run, store: Path) -> None:
    found = run("ask", "--suggest", QUESTION, "--format", "json").json["suggestions"]
    assert 0 < len(found) <= 3
    assert {one["by"] for one in found} == {"graph"}
    shown = run("ask", "--suggest", QUESTION).out
    assert "Follow-up questions (from related facts)" in shown
    assert found[0]["question"] in " ".join(shown.split())
    one = run("ask", "--suggest", "--set", "synthesis.suggestions=1", QUESTION, "--format", "json").json
    assert len(one["suggestions"]) == 1
    assert "Follow-up questions" not in run("ask", QUESTION).out
    assert "To ask next: " in run("trace", "show", one["question_iri"]).out
