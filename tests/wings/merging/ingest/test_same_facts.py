"""Facts that say the same by decisions are one edge of a question, with the evidence of all."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.ontologies import load_ontologies
from graphrag_rdf.ingest import entity_decisions
from graphrag_rdf.ingest.decisions import undo
from graphrag_rdf.ingest.fact_decisions import remove_facts
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.relation_decisions import merge
from graphrag_rdf.ingest.resolutions import Merge, Resolution
from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.rdf.namespaces import OWL, Graphs
from graphrag_rdf.schema.reasoning import infer
from graphrag_rdf.schema.relation_forms import voices
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.trace.facts import facts_called
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.verify import verify
from graphrag_rdf.wings.merging import relation_normalisation as normalisation
from graphrag_rdf.wings.merging.relations import merge_and_invert
from graphrag_rdf.wings.merging.relations_by_model import by_model as groups_of_model
from tests.ingest.conftest import MakeEngine, by_model, chunk_in, everything
from tests.support.scripted_server import Request, ScriptedServer

TEXTS = {
    "a.txt": "Ada Venn [wrote] Reefs of Skell. Ada Venn [lives in] Tarn.",
    "b.txt": "In winter Ada Venn [composed] Reefs of Skell. Bob Holm [composed] Nets.",
}


def answer(request: Request) -> str:
    """The statements that a chunk spells out."""
    found = re.findall(r"([A-Z]\w+ [A-Z]\w+) \[([^]]+)\] ([A-Z]\w+(?: of \w+| [A-Z]\w+)*)", chunk_in(request))
    people = [{"name": "Ada Venn", "type": "person"}] if "Ada Venn" in chunk_in(request) else []
    relations = [{"subject": s, "predicate": p, "object": o} for s, p, o in found]
    return json.dumps({"entities": people, "relations": relations})


def relation(slug: str) -> NamedNode:
    return NamedNode(f"{DEFAULT_NAMESPACE}r/{slug}")


def entity(slug: str) -> NamedNode:
    return NamedNode(f"{DEFAULT_NAMESPACE}e/{slug}")


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> Engine:
    """A store whose facts a model read, opened without a model."""
    scripted_server.answer_with(answer)
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    reader = engine_of("store", **by_model(scripted_server))
    reader.ingest([docs])
    reader.close()
    return engine_of("store")


def composed(engine: Engine, pipeline: str) -> list[dict[str, Any]]:
    """What a question meets of who made the book."""
    found = engine.retrieve("Who wrote Reefs of Skell?", pipeline=pipeline)["edges"]
    return [edge for edge in found if edge["o_label"] == "Reefs of Skell"]


PIPELINES = ("graph_rag", "hops_rag", "local")


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_merged_relations_give_one_edge(engine: Engine, pipeline: str) -> None:
    assert {edge["p_label"] for edge in composed(engine, pipeline)} == {"wrote", "composed"}
    made = merge(engine, [Merge(relation("wrote"), (relation("wrote"), relation("composed")))])
    assert len(composed(engine, pipeline)) == 1
    undo(engine, made)
    assert len(composed(engine, pipeline)) == 2


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_it_has_the_evidence_of_all(engine: Engine, pipeline: str) -> None:
    merge(engine, [Merge(relation("wrote"), (relation("wrote"), relation("composed")))])
    *_, last = engine.ask("Who wrote Reefs of Skell?", pipeline)
    trace = engine.traces["last"]
    selected = [one for one in trace.selections if one.fact and one.fact.o_label == "Reefs of Skell"]
    (one,) = selected
    assert {one.fact.p_label, *(fact.p_label for fact in one.also_facts)} == {"wrote", "composed"}  # type: ignore[union-attr]
    assert {source.title for source in one.sources} == {"A", "B"}
    assert [check for check in verify(engine, trace.iri) if check.ok is False] == []
    if pipeline != "local":  # it lists facts in one line
        assert "The same fact: (Ada Venn, " in render_trace(trace, width=200)
    assert last.answer is not None


def test_merged_entities_give_one_edge(engine: Engine) -> None:
    merge(engine, [Merge(relation("wrote"), (relation("wrote"), relation("composed")))])
    assert len(composed(engine, "graph_rag")) == 1
    entity_decisions.merge(engine, [Merge(entity("bob-holm"), (entity("bob-holm"), entity("ada-venn")))])
    assert len(composed(engine, "graph_rag")) == 1


# --- inverses ---


def inverses(engine: Engine, graph: NamedNode) -> set[tuple[str, str]]:
    return {
        (q.subject.value.rpartition("/")[2], q.object.value.rpartition("/")[2])  # type: ignore[union-attr]
        for q in plain_quads(engine.store, graph)
        if q.predicate == OWL.inverseOf
    }


def of_firm(engine: Engine, pipeline: str = "graph_rag", *, inferred: bool = False) -> list[dict[str, Any]]:
    """What a question meets of who works at the firm."""
    how = {"exploration.inferred": "true"} if inferred else {}
    found = engine.retrieve("Who works for Kelm Yard?", pipeline=pipeline, settings=how)["edges"]
    return [edge for edge in found if "Kelm Yard" in (edge["s_label"], edge["o_label"])]


def decide(engine: Engine) -> list[Resolution]:
    pair = (relation("works-for"), relation("employs"))
    return merge_and_invert(engine, (), [Merge(pair[0], pair, "for a test")])


@pytest.fixture
def firm(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> Engine:
    scripted_server.answer_with(answer)
    (docs / "c.txt").write_text("Ada Venn [works for] Kelm Yard.")
    (docs / "d.txt").write_text("In May the Kelm Yard [employs] Ada Venn.")
    (docs / "e.txt").write_text("The Kelm Yard [hires] Bob Holm.")
    reader = engine_of("store", **by_model(scripted_server))
    reader.ingest([docs])
    reader.close()
    return engine_of("store")


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_fact_and_its_inverse_are_one_edge(firm: Engine, pipeline: str) -> None:
    assert {edge["p_label"] for edge in of_firm(firm, pipeline)} == {"works for", "employs", "hires"}
    made = decide(firm)
    assert sorted(edge["p_label"] == "hires" for edge in of_firm(firm, pipeline)) == [False, True]
    *_, last = firm.ask("Who works for Kelm Yard?", pipeline)
    trace = firm.traces["last"]
    (one,) = [each for each in trace.selections if each.also]
    assert {source.title for source in one.sources} == {"C", "D"}
    assert [check for check in verify(firm, trace.iri) if check.ok is False] == []
    assert last.answer is not None
    undo(firm, made)
    assert len(of_firm(firm, pipeline)) == 3


def test_the_schema_declares_inverses_until_they_are_undone(firm: Engine) -> None:
    before = everything(firm)
    made = decide(firm)
    both = {("works-for", "employs"), ("employs", "works-for")}
    assert inverses(firm, Graphs.DERIVED) == inverses(firm, Graphs.ONTOLOGY) == both
    assert run_checks(firm.store, firm.blobs, firm.text_index) == []
    assert run_shapes(plain_quads(firm.store)) == []
    assert decide(firm) == []
    undo(firm, made)
    left = everything(firm) - before
    assert {quad.graph_name for quad in left} == {Graphs.SYSTEM}


def test_inverses_follow_merges(firm: Engine) -> None:
    decide(firm)
    made = merge(firm, [Merge(relation("hires"), (relation("hires"), relation("employs")))])
    assert inverses(firm, Graphs.DERIVED) == {("works-for", "hires"), ("hires", "works-for")}
    with pytest.raises(UsageError, match="are the same relation"):
        merge_and_invert(firm, (), [Merge(relation("hires"), (relation("hires"), relation("employs")))])
    undo(firm, made)
    with pytest.raises(UsageError, match="is the inverse of"):
        merge_and_invert(firm, (), [Merge(relation("hires"), (relation("hires"), relation("works-for")))])


def test_forgetting_a_document_forgets_its_inverse(firm: Engine, docs: Path) -> None:
    decide(firm)
    forget_documents(firm, find_documents(firm.store, [str(docs / "c.txt")]))
    assert inverses(firm, Graphs.DERIVED) == inverses(firm, Graphs.ONTOLOGY) == set()
    assert not [quad for quad in everything(firm) if "works-for" in str(quad)]
    assert run_shapes(plain_quads(firm.store)) == []


def test_removing_a_fact_reports_its_inverse(firm: Engine) -> None:
    decide(firm)
    (fact,) = facts_called(firm.store, "Ada Venn", "works for", "Kelm Yard")
    assert [one[1] for one in remove_facts(firm, [fact], dry_run=True).also] == [relation("employs")]


def test_an_inferred_inverse_is_not_a_second_edge(firm: Engine) -> None:
    decide(firm)
    merge(firm, [Merge(relation("employs"), (relation("employs"), relation("hires")))])
    infer(firm.store, "rl")
    assert firm.store.query(
        "ASK { GRAPH <urn:graph:inferred> { ?ship <http://trustgraph.ai/r/works-for> ?yard } }"
    ).boolean, "Bob works for the yard that employs him"
    edges = [(edge["s_label"], edge["p_label"]) for edge in of_firm(firm, inferred=True)]
    assert len(edges) == 2, edges


@pytest.mark.parametrize(
    ("active", "passive"),
    [("founded", "was founded by"), ("wrote", "written by"), ("owns", "is owned by"), ("led", "led by")],
)
def test_active_and_passive_are_inverse(active: str, passive: str) -> None:
    assert (voices(active), voices(passive)) == ((False, voices(active)[1]), (True, voices(active)[1]))


@pytest.mark.parametrize(
    ("one", "other"),
    [("passed", "passed by"), ("founded", "founded in"), ("is", "by")],
)
def test_other_names_are_not(one: str, other: str) -> None:
    first, second = voices(one), voices(other)
    assert not (second[0] and second[1] and second[1] == first[1])


def test_form_proposes_inverses(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(answer)
    (docs / "a.txt").write_text("Ada Venn [founded] Kelm Yard. Kelm Yard [was founded by] Ada Venn.")
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([docs])
    known = normalisation.read_known(engine)
    (found,) = normalisation.choose(engine, known, normalisation.by_form(known))
    assert (found.names, found.reason) == (
        ("founded", "was founded by"),
        "one name is the passive of the other",
    )
    normalisation.apply(engine, [found])
    assert len(inverses(engine, Graphs.ONTOLOGY)) == 2


ONTOLOGY = """@prefix ex: <http://example.org/firms#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/firms> a owl:Ontology .
ex:employer a owl:ObjectProperty ; rdfs:label "works for"@en ; owl:inverseOf ex:employee .
ex:employee a owl:ObjectProperty ; rdfs:label "employs"@en .
"""


def test_an_ontology_proposes_inverses(firm: Engine, tmp_path: Path) -> None:
    (tmp_path / "firms.ttl").write_text(ONTOLOGY)
    load_ontologies(firm.store, [tmp_path / "firms.ttl"], DEFAULT_NAMESPACE, datetime.now(UTC))
    known = normalisation.read_known(firm)
    found = normalisation.choose(firm, known, normalisation.by_ontology(firm.store, known))
    assert [one.pair.rule for one in found] == ["ontology", "ontology", "inverse"]
    made = normalisation.apply(firm, found)
    assert len(of_firm(firm)) == 2
    known = normalisation.read_known(firm)
    assert normalisation.choose(firm, known, normalisation.by_ontology(firm.store, known)) == []
    undo(firm, [one for one in made if one.kind.name == "inverse"])
    known = normalisation.read_known(firm)
    again = normalisation.choose(firm, known, normalisation.by_ontology(firm.store, known))
    assert again == [], "what was undone is not proposed again"


def test_a_model_proposes_inverses(
    firm: Engine, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    firm.close()

    def inverse(request: Request) -> str:
        prompt = request.messages[-1]["content"]
        ids = {name: key for key, name in re.findall(r"^(r\d+): ([a-z ]+?) \(", prompt, re.MULTILINE)}
        pairs = [[ids["works for"], ids["employs"]], ["r99", ids["hires"]]] if "hires" in ids else []
        return json.dumps({"groups": [], "inverses": pairs})

    scripted_server.answer_with(inverse)
    engine = engine_of("store", **by_model(scripted_server))
    known = normalisation.read_known(engine)
    pairs, dropped = groups_of_model(engine, known, "openai/scripted")
    assert dropped == {"not_a_pair_of_relations": 1}
    (proposal,) = normalisation.choose(engine, known, pairs, by="openai/scripted")
    assert proposal.reason == "openai/scripted says that they mean the same in opposite directions"
    (decision,) = normalisation.apply(engine, [proposal])
    assert decision.kind.name == "inverse"
    assert normalisation.standing(engine.store) == [decision]


def test_a_query_over_a_relation_also_follows_its_inverse(
    firm: Engine, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    merge(firm, [Merge(relation("employs"), (relation("employs"), relation("hires")))])
    decide(firm)
    firm.close()

    def writing(request: Request) -> str:
        """A model that writes a query with the relation as it is listed for the firm."""
        if "Write a SPARQL" not in request.prompt:
            return "Ada Venn. [1] Bob Holm. [2]"
        (path,) = set(re.findall(r"← (\S*works-for\S*) ", request.prompt))
        yard = f"<{DEFAULT_NAMESPACE}e/kelm-yard>"
        return f"```sparql\nSELECT ?who ?name {{ ?who {path} {yard} . ?who rdfs:label ?name }}\n```"

    scripted_server.answer_with(writing)
    engine = engine_of("store", **by_model(scripted_server))
    *_, last = engine.ask("Who works for Kelm Yard?", "sparql", cache=False)
    assert last.answer is not None, last.error
    cited = {citation["edge"]["p_label"] for citation in last.answer["citations"]}
    assert cited == {"works for", "employs", "hires"}
