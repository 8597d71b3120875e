"""Merged descriptions: what they are made from and when, that claims and they reach reports, and that nothing
outlives its text. The model is a server that answers over HTTP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Triple

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.entity_decisions import merge, split
from graphrag_rdf.ingest.fact_decisions import remove_facts
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.model_stage import estimate
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.wings.communities.stages.descriptions import Summaries
from tests.ingest.conftest import MakeEngine, by_model
from tests.support.scripted_readers import answer_all, kind_of
from tests.support.scripted_server import Reply, Request, ScriptedServer

TEXTS = {
    "a.txt": "Walter Pennock founded Tarnay Light. Walter Pennock lived in Port Merrin.\n",
    "b.txt": "In May 1911 Walter Pennock founded Tarnay Light. Beatrice Pennock succeeded Walter Pennock.\n",
    "c.txt": "Lin Yuhua met Chen Liwen.\n",
}
WALTER = iris.entity("walter-pennock")


@pytest.fixture
def texts(docs: Path) -> Path:
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    return docs


@pytest.fixture
def model(scripted_server: ScriptedServer) -> ScriptedServer:
    scripted_server.answer_with(answer_all)
    return scripted_server


def described(engine: Engine) -> dict[NamedNode | Triple, dict[NamedNode, Any]]:
    """What is known of each merged description, by the element."""
    nodes: dict[Any, dict[NamedNode, Any]] = {}
    for quad in decode(engine.store.quads(Graphs.DERIVED)):
        nodes.setdefault(quad.subject, {})[quad.predicate] = quad.object
    return {
        known.get(RAG.summaryOf) or known[RDF.reifies]: {**known, **nodes[known[PROV.wasGeneratedBy]]}
        for known in nodes.values()
        if known.get(RDF.type) == RAG.ElementSummary
    }


def asked(server: ScriptedServer, kind: str = "summary") -> list[Request]:
    return [request for request in server.requests if kind_of(request) == kind]


def text(engine: Engine, element: NamedNode | Triple = WALTER) -> str:
    return str(described(engine)[element][DCTERMS.description].value)


def require_sound(engine: Engine) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


# --- without a model --------------------------------------------------------------------------------------


def test_without_a_model_the_most_central_sentences_are_quoted(texts: Path, engine_of: MakeEngine) -> None:
    engine = engine_of(extract__use="rules", summaries__sentences=2)
    engine.ingest([texts])
    report = engine.refresh("summaries")
    assert report.by == "extractive"
    assert report.counts.done == len(described(engine)) > 0
    found = described(engine)[WALTER]
    # of four sentences, these two share words beside the name
    assert found[DCTERMS.description].value == (
        "Walter Pennock founded Tarnay Light. In May 1911 Walter Pennock founded Tarnay Light."
    )
    assert found[RAG.sourceCount].value == "2"
    assert TG.llmModel not in found
    assert iris.entity("lin-yuhua") not in described(engine), "one sentence is a description already"
    assert run_shapes(engine.store.quads()) == []
    require_sound(engine)


def test_llm_without_a_model_is_refused(texts: Path, engine_of: MakeEngine) -> None:
    engine = engine_of(extract__use="rules", summaries__use="llm")
    with pytest.raises(ConfigError, match=r"summaries\.use is llm, but no model is set"):
        engine.refresh("summaries")


# --- by a model -------------------------------------------------------------------------------------------


def test_a_model_merges_definitions_and_each_stays(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([texts])
    before = [*engine.store.select("summaries/definitions")]
    report = engine.refresh("summaries")
    assert (report.by, report.failures) == ("openai/scripted", [])
    assert report.llm.calls == report.counts.done == len(asked(model))
    found = described(engine)[WALTER]
    assert found[DCTERMS.description].value.startswith("Merged: ")
    assert "founded Tarnay Light" in found[DCTERMS.description].value
    assert (found[TG.llmModel].value, found[RAG.sourceCount].value) == ("openai/scripted", "2")
    assert TG.inToken in found
    assert RAG.promptHash in found
    made_from = {
        quad.object
        for quad in engine.store.quads(Graphs.DERIVED)
        if quad.subject == iris.summary(WALTER) and quad.predicate == PROV.wasDerivedFrom
    }
    assert len(made_from) > 1
    assert [*engine.store.select("summaries/definitions")] == before, "descriptions of extractions stay"
    rows = engine.store.select("derived/descriptions", entities=[WALTER, iris.entity("chen-liwen")])
    told = {row["entity"].value: row["summary"] is not None for row in rows}
    assert told == {WALTER.value: True, iris.entity("chen-liwen").value: False}
    require_sound(engine)


def test_a_fact_with_several_quotes_has_a_description_and_a_weight(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([texts])
    engine.refresh("summaries")
    fact = (WALTER, iris.relation("founded"), iris.entity("tarnay-light"))
    found = described(engine)[Triple(*fact)]
    assert "In May 1911 Walter Pennock founded Tarnay Light." in found[DCTERMS.description].value
    (row,) = engine.store.select("derived/fact-descriptions", edges=[fact])
    (weight,) = engine.store.select("derived/weights", edges=[fact])
    assert row["sources"] == weight["sources"] == 2
    assert row["weight"] == weight["weight"] == 1.8


def test_texts_over_the_budget_are_folded_in_rounds(
    docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    said = [
        f"In 19{n} Walter Pennock built a quay, and was feared all along the coast." for n in range(10, 40)
    ]
    for number, sentence in enumerate(said):
        (docs / f"{number}.txt").write_text(sentence + "\n")
    engine = engine_of(**by_model(model), summaries__input_tokens=500, extract__jobs=1)
    engine.ingest([docs])
    planned = estimate(engine, Summaries)
    model.reset()
    model.answer_with(
        lambda request: (
            Reply(f"So far {len(asked(model))}.") if kind_of(request) == "summary" else answer_all(request)
        )
    )
    engine.refresh("summaries")
    of_walter = [request for request in asked(model) if "<name>Walter Pennock</name>" in request.prompt]
    assert len(of_walter) > 2
    assert planned.llm.calls >= len(asked(model))
    shown = [
        re.findall(r"^- (.*)$", str(request.messages[0]["content"]).split("<texts>")[1], re.M)
        for request in of_walter
    ]
    assert sorted(one for each in shown for one in each) == sorted(said), "each text is read once"
    assert all(re.search(r"<before>\nSo far \d+\.\n</before>", request.prompt) for request in of_walter[1:])
    assert text(engine).startswith("So far ")


def test_only_what_changed_is_merged_again(texts: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_of("store", **by_model(model), cache__enabled=False)
    engine.ingest([texts])
    number = engine.refresh("summaries").counts.done
    commit = engine.store.commit_number()
    assert engine.refresh("summaries").counts.kept == number
    assert engine.store.commit_number() == commit, "nothing to do writes nothing"
    (texts / "d.txt").write_text("Lin Yuhua taught in Kanton.\n")
    engine.ingest([texts])
    model.requests.clear()
    report = engine.refresh("summaries").counts
    assert (report.done, report.kept) == (1, number)
    assert ["Lin Yuhua" in request.prompt for request in asked(model)] == [True]
    (texts / "d.txt").unlink()
    engine.ingest([texts], sync=True)
    report = engine.refresh("summaries").counts
    assert (report.done, report.kept, report.removed) == (0, number, 0), "it went with its document"


def test_a_failure_costs_one_description(texts: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    def reply(request: Request) -> Reply:
        bad = kind_of(request) == "summary" and "<name>Walter Pennock</name>" in request.prompt
        return Reply("") if bad else answer_all(request)

    model.answer_with(reply)
    engine = engine_of(**by_model(model))
    engine.ingest([texts])
    report = engine.refresh("summaries")
    assert [warning["type"] for warning in report.warnings] == ["summary_failed"]
    assert report.counts.failed == 1
    assert WALTER not in described(engine)
    assert described(engine)
    model.answer_with(answer_all)
    assert engine.refresh("summaries").counts.done == 1
    assert not engine.store.select("ingest/failures")
    require_sound(engine)


def test_an_ingest_merges_at_its_end(texts: Path, engine_of: MakeEngine, model: ScriptedServer) -> None:
    engine = engine_of(**by_model(model), summaries__build=True)
    report = engine.ingest([texts])
    assert report.stages["summaries"] == len(described(engine)) > 0


# --- what uses them, and what takes them along -------------------------------------------------------------


def test_reports_read_descriptions_and_claims_and_go_with_them(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model), communities__max_size=20)
    engine.ingest([texts])
    engine.refresh("communities")
    assert not any("Merged: " in request.prompt for request in asked(model, "report"))
    engine.refresh("claims")
    engine.refresh("summaries")
    model.requests.clear()
    engine.refresh("communities")
    contexts = [str(request.messages[0]["content"]) for request in asked(model, "report")]
    assert any(re.search(r"^e\d+ \| Walter Pennock \| .*Merged: ", one, re.M) for one in contexts)
    claims = r"^c\d+ \| Walter Pennock – Tarnay Light \| report \| TRUE \| It is told"
    assert any(re.search(claims, one, re.M) for one in contexts)
    cited = [text_of(q.object) for q in engine.store.quads(Graphs.COMMUNITY) if q.predicate == RAG.cites]
    assert any(iri.startswith("urn:claim:") for iri in cited)
    require_sound(engine)
    number = len(_reports(engine))
    model.requests.clear()
    assert engine.refresh("communities").counts.kept == number
    forget_documents(engine, find_documents(engine.store, [str(texts / "b.txt")]))
    assert 0 < len(_reports(engine)) < number
    assert WALTER not in described(engine)
    require_sound(engine)


def _reports(engine: Engine) -> set[Any]:
    return {q.subject for q in engine.store.quads(Graphs.COMMUNITY) if q.predicate == RAG.reportOf}


def test_claims_that_are_read_again_take_their_reports_along(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([texts])
    engine.refresh("claims")
    engine.refresh("communities")
    assert _reports(engine)
    engine.refresh("claims", again=True)
    require_sound(engine)
    assert engine.refresh("communities").counts.done > 0
    require_sound(engine)


def test_forgotten_words_are_in_no_description_and_no_kept_answer(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of("store", **by_model(model))
    engine.ingest([texts])
    engine.refresh("summaries")
    assert "In May 1911" in text(engine)
    forget_documents(engine, find_documents(engine.store, [str(texts / "b.txt")]))
    assert not any("In May 1911" in str(quad) for quad in engine.store.quads())
    assert engine.response_cache is not None
    kept = engine.response_cache._db.execute("SELECT prompt || answer FROM entry").fetchall()
    assert kept
    assert not any("In May 1911" in text for (text,) in kept)
    require_sound(engine)


def test_a_removed_fact_takes_what_was_made_from_it(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([texts])
    engine.refresh("summaries")
    fact = (WALTER, iris.relation("founded"), iris.entity("tarnay-light"))
    assert Triple(*fact) in described(engine)
    remove_facts(engine, [fact])
    assert Triple(*fact) not in described(engine)
    engine.refresh("summaries")
    assert Triple(*fact) not in described(engine)
    require_sound(engine)


def test_merged_and_split_entities_are_described_anew(
    texts: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    engine = engine_of(**by_model(model))
    engine.ingest([texts])
    engine.refresh("summaries")
    beatrice = iris.entity("beatrice-pennock")
    merge(engine, [Merge(beatrice, (beatrice, WALTER), None, 1.0)])
    assert WALTER not in described(engine)
    engine.refresh("summaries")
    assert "founded Tarnay Light" in text(engine, beatrice)
    require_sound(engine)
    split(engine, [WALTER])
    assert beatrice not in described(engine), "its description told of both"
    engine.refresh("summaries")
    assert "founded Tarnay Light" in text(engine)
    require_sound(engine)


# --- what other programs lose -------------------------------------------------------------------------------


def test_claims_of_every_round_reach_the_store_and_reports(
    docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    (docs / "a.txt").write_text("Walter Pennock founded Tarnay Light. Walter Pennock was feared by all.\n")
    engine = engine_of(**by_model(model), claims__gleaning_rounds=2)
    engine.ingest([docs])
    found = engine.refresh("claims")
    told = [text_of(q.object) for q in engine.store.quads(Graphs.SOURCE) if q.predicate == RAG.claimType]
    assert found.results["found"] == len(told) == 2, (
        "one of each of the first two rounds; the third adds nothing"
    )
    engine.refresh("communities")
    contexts = "".join(str(request.messages[0]["content"]) for request in asked(model, "report"))
    assert "It is told: Walter Pennock founded Tarnay Light." in contexts
    assert "It is told: Walter Pennock was feared by all." in contexts


def test_a_report_reads_all_facts_between_its_members(
    docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    verbs = ("founded", "praised", "left", "rebuilt", "visited")
    said = [f"Walter Pennock {verb} Tarnay Light." for verb in verbs]
    (docs / "a.txt").write_text(" ".join(said))
    (docs / "b.txt").write_text(said[3])
    engine = engine_of(**by_model(model), documents__chunk_size=1000)
    engine.ingest([docs])
    engine.refresh("communities")
    (request,) = asked(model, "report")
    shown = re.findall(r"^f\d+ \| (.*)$", str(request.messages[0]["content"]), re.M)
    assert sorted(shown) == sorted(f"Walter Pennock {verb} Tarnay Light" for verb in verbs)
    assert shown[0] == "Walter Pennock rebuilt Tarnay Light", "what two texts state comes first"


def test_an_entity_with_two_types_keeps_both(
    docs: Path, engine_of: MakeEngine, model: ScriptedServer
) -> None:
    def typed(request: Request) -> Reply:
        said = answer_all(request).text or ""
        if kind_of(request) == "extract" and "visited" in request.prompt.rpartition("<text>")[2]:
            said = said.replace('"thing"', '"company"')
        return Reply(said)

    model.answer_with(typed)
    (docs / "a.txt").write_text("Walter Pennock founded Tarnay Light.")
    (docs / "b.txt").write_text("Ada Lark visited Tarnay Light.")
    engine = engine_of(**by_model(model))
    engine.ingest([docs])
    light = iris.entity("tarnay-light")
    types = {row["type"].value for row in engine.store.select("entities/types", entities=[light])}
    assert {iri.rpartition("/")[2] for iri in types} == {"thing", "company"}
    engine.refresh("summaries")
    both = text(engine, light)
    assert "Walter Pennock founded Tarnay Light." in both
    assert "Ada Lark visited Tarnay Light." in both
    forget_documents(engine, find_documents(engine.store, [str(docs / "b.txt")]))
    types = {row["type"].value for row in engine.store.select("entities/types", entities=[light])}
    assert {iri.rpartition("/")[2] for iri in types} == {"thing"}
    require_sound(engine)
