"""Local search: what it selects around the entities nearest to a question, how tokens are shared out, what
its answers cite, and that its traces hold, and lose words with the documents that these are from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.trace.model import TraceStep
from graphrag_rdf.trace.reader import trace_quads
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from graphrag_rdf.wings.communities.steps.local import LOCAL
from tests.support.scripted_server import Reply, Request, ScriptedServer
from tests.support.stores import open_engine

TEXTS = {
    "forge.txt": "Skell Forge rolled the plates of the Petrel in 1909. Isak Wennerby owned Skell Forge.\n",
    "paper.txt": "Isak Wennerby says that Skell Forge bribed Rhoda Tennant in 1910.\n",
    "letter.txt": "Skell Forge has never bribed Rhoda Tennant, neither in 1910 nor in any other year.\n",
    "tennant.txt": "Rhoda Tennant invented the reversing gear. Rhoda Tennant lived in Quay Street.\n",
    "petrel.txt": "Walter Pennock owned the Petrel. The Petrel sank in Skell Sound in 1911.\n",
    "lin.txt": "Lin Yuhua met Chen Liwen. Chen Liwen taught Lin Yuhua.\n",
}
QUESTION = "What is known about Skell Forge?"
QUOTES = {
    "paper.txt": "Skell Forge bribed Rhoda Tennant in 1910",
    "letter.txt": "Skell Forge has never bribed",
}
LINE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)

Open = Callable[..., Engine]


def claims_in(request: Request) -> str:
    found = [
        {
            "subject": "Skell Forge",
            "object": "Rhoda Tennant",
            "type": "bribery",
            "status": "FALSE" if "never" in quote else "SUSPECTED",
            "description": f"It is said: {name}.",
            "quotes": [quote],
        }
        for name, quote in QUOTES.items()
        if quote in request.prompt
    ]
    return json.dumps({"claims": found})


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    for name, text in TEXTS.items():
        (place / name).write_text(text)
    return place


@pytest.fixture
def open_one(documents: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Open]:
    """Opens a store of the documents, with claims and communities."""
    opened: list[Engine] = []

    def make(*, model: bool = False, communities: bool = True, **given: Any) -> Engine:
        for engine in opened:
            engine.close()
        wire = {"llm.model": "openai/m", "llm.api_base": scripted_server.base_url, "llm.api_key": "k"}
        settings = {"extract.use": "rules", "communities.reports": "extractive", "cache.enabled": False}
        settings |= {"answers.cache": False, **given}

        def opens(**more: Any) -> Engine:
            config = load_settings(overrides={**settings, **more}).settings
            return open_engine(tmp_path / "store", config=config)

        scripted_server.answer_with(claims_in)
        with opens(**wire) as first:
            first.ingest([documents])
            first.refresh("claims")
            if communities:
                first.refresh("communities")
        scripted_server.requests.clear()
        opened.append(opens(**(wire if model else {})))
        return opened[-1]

    yield make
    for engine in opened[-1:]:
        engine.close()


def ask(engine: Engine, question: str = QUESTION, **settings: str) -> dict[str, Any]:
    given = {f"context.{name}": value for name, value in settings.items()}
    *_, last = engine.ask(question, "local", settings=given)
    assert last.answer is not None
    return last.answer


def context_of(engine: Engine) -> TraceStep:
    return next(step for step in engine.traces["last"].steps if step.kind == "context")


def items(engine: Engine, name: str) -> list[Any]:
    return context_of(engine).items[name]


def require_verified(engine: Engine) -> None:
    checks = verify(engine, engine.traces["last"].iri)
    assert [check for check in checks if not check.ok] == []


# --- what is selected ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 3])
def test_exactly_so_many_entities_are_taken(open_one: Open, number: int) -> None:
    engine = open_one()
    ask(engine, entities=str(number))
    entities = items(engine, "entities")
    assert len(entities) == number
    assert entities[0].label == "Skell Forge"
    assert [one.rank for one in entities] == [*range(1, number + 1)]
    for one in entities:
        assert sum(one.parts.values()) == pytest.approx(one.score)


def test_reports_relations_claims_and_chunks_are_about_them(open_one: Open) -> None:
    engine = open_one()
    ask(engine, entities="1")
    step = context_of(engine)
    facts = [one.fact for one in step.selections if one.fact]
    assert facts
    assert all("Skell Forge" in (fact.s_label, fact.o_label) for fact in facts)
    assert {one.text.rpartition(": ")[2] for one in step.items["claims"]} == {"paper.txt.", "letter.txt."}
    (report,) = step.items["reports"]
    assert report.kept
    assert report.findings > 0
    chunks = [source.title for one in step.selections if one.whole for source in one.sources]
    assert "Lin" not in chunks[0]


def test_a_report_counts_once_and_is_that_of_the_smallest_community(open_one: Open) -> None:
    engine = open_one(**{"communities.max_size": 3})
    ask(engine, entities="8")
    deep = items(engine, "reports")
    ask(engine, entities="8", community_level="0")
    top = items(engine, "reports")
    assert len({one.report for one in deep}) == len(deep)
    levels = {
        row["report"]: int(row["level"].value)
        for row in engine.store.query(
            "PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> SELECT ?report ?level WHERE { GRAPH "
            "<urn:graph:community> { ?report rag:reportOf ?community . ?community rag:level ?level } }"
        ).rows
        or ()
    }
    assert {levels[one.report] for one in top} == {0}
    assert max(levels[one.report] for one in deep) > 0


def test_excluded_entities_are_not_among_them(open_one: Open) -> None:
    engine = open_one()
    list(engine.ask(QUESTION, "local", exclude=["Rhoda Tennant"]))
    step = context_of(engine)
    assert "Rhoda Tennant" not in {one.label for one in step.items["entities"]}
    assert not any("Rhoda Tennant" in one.fact.text for one in step.selections if one.fact)


def test_included_entities_are_among_them(open_one: Open) -> None:
    engine = open_one()
    list(engine.ask(QUESTION, "local", include=["Lin Yuhua"]))
    assert "Lin Yuhua" in {one.label for one in items(engine, "entities")}


# --- tokens ----------------------------------------------------------------------------------------------


def test_what_a_kind_leaves_goes_to_the_next(open_one: Open) -> None:
    engine = open_one()
    ask(engine, tokens="1000")
    budgets = items(engine, "budgets")
    assert [one.kind for one in budgets] == ["reports", "relations", "claims", "chunks"]
    shares, left = [150, 250, 100, 500], 0
    for one, share in zip(budgets, shares, strict=True):
        assert one.tokens == share + left
        assert one.used <= one.tokens
        left = one.tokens - one.used


def test_what_has_no_room_is_recorded_up_to_a_bound(open_one: Open) -> None:
    engine = open_one()
    ask(engine, tokens="60", considered_limit="1")
    step = context_of(engine)
    budgets = {one.kind: one for one in step.items["budgets"]}
    assert budgets["relations"].taken < budgets["relations"].candidates
    assert len([one for one in step.items["reports"] if not one.kept]) == 1
    assert len(step.items["considered"]) == 1
    assert len([one for one in step.items["claims"] if not one.kept]) == 1
    require_verified(engine)


def test_summaries_instead_of_reports(open_one: Open) -> None:
    engine = open_one()
    ask(engine)
    whole = items(engine, "budgets")[0]
    ask(engine, summaries="true")
    short = items(engine, "budgets")[0]
    assert short.taken == whole.taken > 0
    assert 0 < short.used < whole.used
    assert {one.findings for one in items(engine, "reports")} == {0}


# --- answers ---------------------------------------------------------------------------------------------


def test_without_a_model_it_quotes(open_one: Open) -> None:
    answer = ask(open_one(), "Who invented the reversing gear?")
    assert "Rhoda Tennant invented the reversing gear" in answer["answer"]
    assert answer["citations"][0]["sources"][0]["title"] == "Tennant"
    assert {warning["type"] for warning in answer["warnings"]} == {"no_llm"}


def test_without_communities_it_says_so_and_goes_on(open_one: Open) -> None:
    engine = open_one(communities=False)
    answer = ask(engine, "Who invented the reversing gear?")
    assert "Rhoda Tennant invented the reversing gear" in answer["answer"]
    assert {warning["type"] for warning in answer["warnings"]} == {"no_llm", "no_reports"}
    assert items(engine, "budgets")[0].candidates == 0


def answering(server: ScriptedServer, words: str) -> None:
    """Have the model cite the first line with these words."""

    def reply(request: Request) -> Reply:
        if "knowledge graph will be searched" in request.prompt:
            return Reply("Skell Forge\n")
        shown = {text: number for number, text in reversed(LINE.findall(request.prompt))}
        number = next(number for text, number in shown.items() if words in text)
        return Reply(f"Skell Forge had something to do with Rhoda Tennant. [{number}]")

    server.answer_with(reply)


def test_a_claim_is_cited_by_the_sentence_that_it_quotes(
    open_one: Open, scripted_server: ScriptedServer
) -> None:
    engine = open_one(model=True)
    answering(scripted_server, "bribery (denied): It is said: letter.txt.")
    answer = ask(engine)
    (citation,) = answer["citations"]
    assert citation["sources"][0]["quote"] == TEXTS["letter.txt"].strip()
    require_verified(engine)


def test_a_finding_is_cited_by_what_it_rests_on(open_one: Open, scripted_server: ScriptedServer) -> None:
    engine = open_one(model=True)
    prompts: list[str] = []

    def reply(request: Request) -> Reply:
        if "knowledge graph will be searched" in request.prompt:
            return Reply("Skell Forge\n")
        prompts.append(request.prompt)
        block = request.prompt.partition("<reports-and-claims>")[2].partition("</reports-and-claims>")[0]
        number = next(number for number, text in LINE.findall(block) if "Isak Wennerby owned" in text)
        return Reply(f"Isak Wennerby owned Skell Forge. [{number}]")

    scripted_server.answer_with(reply)
    answer = ask(engine)
    assert answer["citations"]
    quotes = {source["quote"] for citation in answer["citations"] for source in citation["sources"]}
    assert "Isak Wennerby owned Skell Forge." in quotes
    assert answer["warnings"] == []
    numbers = [int(number) for number, _ in LINE.findall(prompts[0])]
    assert len(set(numbers)) == len(numbers), "no number stands for two lines"
    require_verified(engine)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_the_conversation_is_told(open_one: Open, scripted_server: ScriptedServer) -> None:
    engine = open_one(model=True)
    answering(scripted_server, "Skell Forge")
    ask(engine)
    scripted_server.requests.clear()
    list(engine.ask("Who owned it?", "local", session="last"))
    assert QUESTION in scripted_server.requests[-1].prompt


def test_declared_templates_are_those_that_run(open_one: Open) -> None:
    engine = open_one()
    ask(engine)
    ran = {call.template for call in context_of(engine).calls}
    sometimes = {
        "derived/fact-descriptions",  # where an import described facts
        "facts/text-wrong",  # where somebody decided so
        "provenance/origins",  # of facts that were read from no text
        "communities/naming-sentences",  # of findings without a quote
        "index/report-count",  # without reports
        "retrieval/passage-sentences",  # of chunks longer than window_tokens
        "retrieval/mentioned-entities",  # of sentences that exploration has not looked at
    }
    declared = {*LOCAL.ways["rank"].templates}
    assert ran <= declared
    assert declared - ran <= sometimes


# --- traces ----------------------------------------------------------------------------------------------


def test_the_trace_shows_and_verifies(open_one: Open) -> None:
    engine = open_one()
    ask(engine)
    require_verified(engine)
    shown = render_trace(engine.traces["last"])
    for words in ("Reports: ", "Relations: ", "Claims: ", "Chunks: ", "Entity: Skell Forge"):
        assert words in shown


@pytest.mark.parametrize("name", ["forge.txt", "letter.txt"])
def test_forgetting_a_document_takes_its_words_from_the_trace(
    open_one: Open, scripted_server: ScriptedServer, documents: Path, name: str
) -> None:
    engine = open_one(model=True)
    answering(scripted_server, "Rhoda Tennant")
    ask(engine)
    trace = NamedNode(engine.traces["last"].iri)
    forget_documents(engine, find_documents(engine.store, [str(documents / name)]))
    assert engine.traces["last"].source_forgotten
    said = [str(quad) for quad in trace_quads(engine.store, trace)]
    said += [(engine.blobs.get(iri) or b"").decode("utf-8", "replace") for iri in engine.blobs.objects()]
    gone = {"forge.txt": ["Isak Wennerby owned", "rolled the plates"], "letter.txt": ["never bribed"]}[name]
    gone += [f"It is said: {name}"]
    assert not [text for text in said if any(words in text for words in gone)]
    found = run_checks(engine.store, engine.blobs, engine.text_index)
    assert [violation for violation in found if violation.severity == "error"] == []


def test_a_period_leaves_out_reports_relations_and_claims_of_other_texts(open_one: Open) -> None:
    engine = open_one()
    *_, last = engine.ask(QUESTION, "local", settings={"exploration.until": "1910"})
    assert last.answer is not None
    assert "dates_ignored" in {one["type"] for one in last.answer["warnings"]}
    assert (last.answer["citations"], items(engine, "reports"), items(engine, "claims")) == ([], [], [])
