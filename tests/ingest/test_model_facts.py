"""What a model's answer becomes in the store: quotes, qualifiers, definitions, names, negation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES
from graphrag_rdf.rdf.namespaces import RAG, SKOS, TG, Graphs
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.wings.audit.verify import verify
from tests.ingest.conftest import MakeEngine, by_model, chunk_in, everything
from tests.support.scripted_server import Request, ScriptedServer, offered

TEXT = (
    "Mary Hale opened the Lindow Mill in Tarn on 3 May 1851. Hale was mayor of Tarn from 1860 to 1866. "
    "She never sold the mill. The mill is a brick building by the river."
)
XSD = "http://www.w3.org/2001/XMLSchema#"


def statement(subject: str, predicate: str, value: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, **more}


@pytest.fixture
def store_of(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer):
    """Ingests one document that the model answers with these entities and relations."""

    def make(entities: list[Any], relations: list[Any], text: str = TEXT) -> Engine:
        answer = json.dumps({"entities": entities, "relations": relations})
        scripted_server.answer_with(lambda request: answer)
        (docs / "a.txt").write_text(text, "utf-8")
        engine = engine_of(**by_model(scripted_server, documents__chunk_size=2000))
        make.report = engine.ingest([docs])  # type: ignore[attr-defined]
        assert run_checks(engine.store, engine.blobs) == []
        assert run_shapes(plain_quads(engine.store)) == []
        return engine

    return make


def evidence(engine: Engine) -> list[dict[NamedNode, Any]]:
    """Each piece of evidence as property → value, in the order of its place."""
    nodes: dict[Any, dict[NamedNode, Any]] = {}
    for quad in everything(engine):
        if str(quad.subject).startswith("<urn:evidence:"):
            nodes.setdefault(quad.subject, {})[quad.predicate] = quad.object
    return sorted(nodes.values(), key=lambda node: (str(node.get(TG.sourceCharOffset)), str(node)))


def test_a_paraphrased_quote_is_found_by_its_content(store_of) -> None:
    said = "Mary Hale had opened a mill, the Lindow Mill, at Tarn in May 1851"
    engine = store_of([], [statement("Mary Hale", "opened", "Lindow Mill", evidence=said)])
    (found,) = evidence(engine)
    opened = "Mary Hale opened the Lindow Mill in Tarn on 3 May 1851."
    assert found[TG.sourceText] == Literal(opened, language="en")
    assert found[RAG.foundByContent] == Literal(True)
    assert store_of.report.by_content == 1
    assert store_of.report.unverified == 0


def test_a_fact_without_a_quote_is_found_by_its_names(store_of) -> None:
    (found,) = evidence(store_of([], [statement("Hale", "mayor of", "Tarn")]))
    assert found[TG.sourceText] == Literal("Hale was mayor of Tarn from 1860 to 1866.", language="en")


def test_a_quote_that_is_found_nowhere_is_unverified_and_counted(store_of) -> None:
    invented = statement("Mary Hale", "studied in", "Zurich", evidence="Zurich taught Mary chemistry")
    (found,) = evidence(store_of([], [invented]))
    assert found[RAG.verified] == Literal(False)
    assert store_of.report.unverified == 1


def test_qualifiers_are_properties_of_the_evidence(store_of) -> None:
    quote = "Hale was mayor of Tarn from 1860 to 1866."
    beside = {"from": "1860", "to": "1866", "at": "", "amount": None, "mood": "calm"}
    engine = store_of([], [statement("Mary Hale", "is mayor of", "Tarn", evidence=quote, qualifiers=beside)])
    (found,) = evidence(engine)
    year = NamedNode(XSD + "gYear")
    assert found[RAG.since] == Literal("1860", datatype=year)
    assert found[RAG.until] == Literal("1866", datatype=year)
    assert RAG.at not in found
    assert RAG.amount not in found


@pytest.mark.parametrize(
    "denied",
    [
        statement("Mary Hale", "sold", "Lindow Mill", negated=True),
        statement("Mary Hale", "never sold", "Lindow Mill"),
        statement("Mary Hale", "has", "no children", datatype="string"),
    ],
)
def test_what_the_text_denies_is_a_rejected_candidate(store_of, denied: dict[str, Any]) -> None:
    engine = store_of([{"name": "Mary Hale"}], [denied])
    assert store_of.report.rejected == {"negated": 1}
    assert Literal("negated") in {quad.object for quad in everything(engine) if quad.predicate == RAG.reason}
    assert not evidence(engine)


def test_what_only_the_quote_denies_is_rejected_too(store_of) -> None:
    sold = statement("Mary Hale", "sold", "Lindow Mill", evidence="She never sold the mill.")
    engine = store_of([], [sold])
    assert store_of.report.rejected == {"negated": 1}
    assert not evidence(engine)


def test_definitions_need_evidence(store_of) -> None:
    engine = store_of(
        [
            {
                "name": "Lindow Mill",
                "definition": "a brick building by the river",
                "definition_evidence": "The mill is a brick building by the river.",
            },
            {"name": "Tarn", "definition": "a large town in the north of the county"},
        ],
        [],
    )
    stated = {quad.object for quad in everything(engine) if quad.predicate == SKOS.definition}
    assert stated == {Literal("a brick building by the river")}
    assert store_of.report.rejected == {"no_evidence": 1}
    (found,) = evidence(engine)
    assert found[TG.sourceText] == Literal("The mill is a brick building by the river.", language="en")


def test_a_thing_has_one_name_within_an_answer(store_of) -> None:
    engine = store_of(
        [{"name": "Mary Hale", "type": "person", "aliases": ["Hale"]}, {"name": "Hale"}, {"name": "Tarn"}],
        [statement("Hale", "is mayor of", "Tarn", evidence="Hale was mayor of Tarn from 1860 to 1866.")],
    )
    nodes = {str(quad.subject) for quad in everything(engine)}
    assert "<http://trustgraph.ai/e/mary-hale>" in nodes
    assert "<http://trustgraph.ai/e/hale>" not in nodes  # nor do its sentences name another


def test_a_name_that_two_things_have_is_neither(store_of) -> None:
    engine = store_of(
        [{"name": "Mary Hale", "aliases": ["Hale"]}, {"name": "John Hale", "aliases": ["Hale"]}],
        [statement("Hale", "is mayor of", "Tarn")],
    )
    assert "<http://trustgraph.ai/e/hale>" in {str(quad.subject) for quad in everything(engine)}


def canonical_of(engine: Engine, name: str) -> str:
    entity = NamedNode(f"http://trustgraph.ai/e/{name}")
    (found,) = {
        str(quad.object)
        for quad in everything(engine)
        if (quad.subject, quad.predicate) == (entity, RAG.canonicalEntity)
        and quad.graph_name == Graphs.DERIVED
    }
    return found.rpartition("/")[2].rstrip(">")


def answer_about_orr(request: Request) -> str:
    """Each chunk that names somebody by first name says that the rest of the name will do."""
    text = chunk_in(request)
    found: list[dict[str, Any]] = [{"name": "Orr", "type": "person"}]
    for first in ("Ebenezer", "Thomas"):
        if first in text:
            found = [{"name": f"{first} Orr", "type": "person", "aliases": ["Orr"]}]
    return json.dumps({"entities": found, "relations": [statement(found[0]["name"], "sold", "wool")]})


def test_another_name_holds_within_a_document_while_one_entity_has_it(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    filler = "Nobody in the whole valley had ever seen so many looms together in one house."
    (docs / "a.txt").write_text(f"Ebenezer Orr sold wool. {filler} It was dark. Orr sold wool again.")
    scripted_server.answer_with(answer_about_orr)
    engine = engine_of(**by_model(scripted_server, documents__chunk_size=110))
    engine.ingest([docs])
    assert canonical_of(engine, "orr") == "ebenezer-orr"
    assert run_checks(engine.store, engine.blobs) == []
    commits = engine.store.content_commit()
    engine.ingest([docs])
    assert engine.store.content_commit() == commits
    (docs / "b.txt").write_text("Thomas Orr sold wool.")  # now two are called so
    engine.ingest([docs])
    assert canonical_of(engine, "orr") == "orr"
    assert run_checks(engine.store, engine.blobs) == []


def test_a_person_has_the_last_word_about_a_name(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    filler = "Nobody in the whole valley had ever seen so many looms together in one house."
    (docs / "a.txt").write_text(f"Ebenezer Orr sold wool. {filler} It was dark. Orr sold wool again.")
    scripted_server.answer_with(answer_about_orr)
    engine = engine_of(**by_model(scripted_server, documents__chunk_size=110))
    engine.ingest([docs])
    undo(engine, [one for one in read_decisions(engine.store, ENTITIES) if one.undone is None])
    assert canonical_of(engine, "orr") == "orr"
    engine.ingest([docs], refresh=True)
    assert canonical_of(engine, "orr") == "orr"


def test_an_unverified_fact_is_offered_as_such(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """The model that selects sees it, marked; what it chose may be in the answer's prompt."""
    (docs / "a.txt").write_text(TEXT, "utf-8")
    invented = statement("Mary Hale", "studied in", "Zurich", evidence="Zurich taught Mary chemistry")
    said = [invented, statement("Mary Hale", "opened", "Lindow Mill")]

    def answer(request: Request) -> str | None:
        if "knowledge graph. Read the passage" in request.prompt:
            return json.dumps({"relations": said})
        if "<evidence>" not in request.prompt:
            return None
        choice = next(key for key, words in offered(request.prompt).items() if "Zurich" in words)
        return f"[{choice}] says where\nANSWER: She studied in Zurich. [{choice}]"

    scripted_server.answer_with(answer)
    engine = engine_of(**by_model(scripted_server, documents__chunk_size=2000))
    engine.ingest([docs])
    list(engine.ask("Where did Mary Hale study?"))
    checks = verify(engine, engine.traces["last"].iri)
    assert [check.detail for check in checks if not check.ok] == []
    shown = [request.prompt for request in scripted_server.requests if "<evidence>" in request.prompt]
    assert any("Mary Hale studied in Zurich (unverified" in prompt for prompt in shown)
