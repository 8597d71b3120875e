"""SHACL shapes of the user as a gate of the ingest, and the reports that are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import DefaultGraph, NamedNode, Quad, Triple

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import import_file
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.gate import BrokenShapesError
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.store.base import Changes, plain_quads
from tests.ingest.conftest import MakeEngine, by_model, everything
from tests.support.scripted_server import Request, ScriptedServer

pytest.importorskip("pyshacl")

E = "http://trustgraph.ai/e/"
R = "http://trustgraph.ai/r/"
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix r: <http://trustgraph.ai/r/> .
@prefix type: <http://trustgraph.ai/type/> .
<urn:captains> a sh:NodeShape ; sh:targetSubjectsOf r:captain ;
  sh:property <urn:captain>, <urn:built> .
<urn:captain> sh:path r:captain ; sh:class type:person ; sh:message "a captain is a person" .
[] a sh:NodeShape ; sh:targetSubjectsOf r:captain ; sh:property [ sh:path r:home-port ; sh:maxCount 1 ] .
<urn:built> sh:path r:built-by ; sh:minCount 1 .
"""
ANSWERS: dict[str, dict[str, Any]] = {
    "Kell & Co": {"relations": [("Petrel", "captain", "Kell & Co")]},
    "Captain Ada Venn": {"relations": [("Petrel", "captain", "Ada Venn")]},
    "is a person": {"entities": [{"name": "Ada Venn", "type": "person"}]},
    "home port": {"relations": [("Petrel", "home port", "Port Merrin")]},
    "lies in Tarnay": {"relations": [("Petrel", "home port", "Tarnay")]},
    "Kell is one": {"entities": [{"name": "Kell & Co", "type": "person"}]},
}

Ingest = Callable[..., Engine]


def answer(request: Request) -> str:
    """What the words of a chunk are answered with."""
    text = request.messages[-1]["content"]
    chunk = re.search(r"<text>(.*?)</text>", text, re.DOTALL)
    said = chunk[1] if chunk else ""
    found: dict[str, list[Any]] = {"entities": [], "relations": []}
    for words, part in ANSWERS.items():
        if words in said:
            found["entities"] += part.get("entities", [])
            found["relations"] += [
                {"subject": s, "predicate": p, "object": o} for s, p, o in part.get("relations", [])
            ]
    return json.dumps(found)


@pytest.fixture
def ingest(docs: Path, tmp_path: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> Ingest:
    """Ingests texts, with shapes in force."""
    scripted_server.answer_with(answer)
    (tmp_path / "shapes.ttl").write_text(SHAPES, "utf-8")

    def make(texts: Sequence[str], engine: Engine | None = None, **settings: Any) -> Engine:
        for text in texts:
            (docs / f"{abs(hash(text))}.txt").write_text(text, "utf-8")
        given = {"validation__shapes": [str(tmp_path / "shapes.ttl")], "validation__mode": "reject"}
        engine = engine or engine_of(**by_model(scripted_server, **{**given, **settings}))
        make.report = engine.ingest([docs])  # type: ignore[attr-defined]
        assert run_checks(engine.store, engine.blobs) == []
        assert run_shapes(plain_quads(engine.store)) == []
        return engine

    return make


def values(engine: Engine, relation: str) -> set[str]:
    return {
        quad.object.value.removeprefix(E)
        for quad in everything(engine)
        if quad.graph_name == DefaultGraph() and quad.predicate == NamedNode(R + relation)
    }


def results(engine: Engine) -> list[str]:
    return [row["message"] for row in engine.store.select("validation/results", reports=[], limit=50)]


WRONG = "The Petrel sailed under Kell & Co from here."
RIGHT = "Captain Ada Venn led the Petrel."


def test_a_fact_that_breaks_a_shape_is_a_rejected_candidate(ingest: Ingest) -> None:
    engine = ingest([WRONG])
    assert values(engine, "captain") == set()
    found = ingest.report.validation  # type: ignore[attr-defined]
    assert (found.mode, found.rejected, found.violations) == ("reject", 1, 2)
    assert ingest.report.rejected == {"breaks_shape": 1}  # type: ignore[attr-defined]
    (row,) = engine.store.select("facts/rejected", reasons=["breaks_shape"], limit=9)
    assert row["candidate"].value == "Petrel | captain | Kell & Co: a captain is a person"
    (broken,) = engine.store.select("cookbook/broken-properties", limit=9)
    assert broken["property"] == NamedNode("urn:captain")


def test_what_is_missing_is_reported_and_nothing_is_rejected_for_it(ingest: Ingest) -> None:
    engine = ingest([f"{RIGHT} She is a person."])
    assert values(engine, "captain") == {"ada-venn"}
    assert ingest.report.validation.violations == 1  # type: ignore[attr-defined]
    assert "built-by" in "".join(results(engine))


def test_a_type_in_another_document_counts(ingest: Ingest) -> None:
    assert values(ingest([RIGHT, "Ada Venn is a person."]), "captain") == {"ada-venn"}
    assert ingest.report.validation.rejected == 0  # type: ignore[attr-defined]


def test_of_too_many_values_earlier_ones_stay(ingest: Ingest) -> None:
    engine = ingest([f"{RIGHT} She is a person. Its home port is here."])
    assert values(engine, "home-port") == {"port-merrin"}
    ingest(["The Petrel lies in Tarnay."], engine)
    assert values(engine, "home-port") == {"port-merrin"}
    assert ingest.report.validation.rejected == 1  # type: ignore[attr-defined]


def test_a_fact_that_another_document_states_stays_rejected_until_it_conforms(ingest: Ingest) -> None:
    engine = ingest([WRONG])
    ingest(["Again Kell & Co sailed. And Kell is one of us."], engine)
    assert values(engine, "captain") == {"kell-&-co"}


def test_mode_report_writes_and_reports(ingest: Ingest) -> None:
    engine = ingest([WRONG], validation__mode="report")
    assert values(engine, "captain") == {"kell-&-co"}
    assert (ingest.report.validation.violations, ingest.report.validation.rejected) == (2, 0)  # type: ignore[attr-defined]
    (report,) = engine.store.select("validation/reports", limit=9)
    assert report["report"].value == ingest.report.validation.report  # type: ignore[attr-defined]
    assert (report["stage"], report["conforms"]) == ("ingest", False)
    assert report["shapes"].value.endswith("/shapes.ttl")
    sources = {row["source"] for row in engine.store.select("validation/results", reports=[], limit=9)}
    assert sources == {quad.subject for quad in everything(engine) if quad.object == TG.Chunk}


def test_mode_off_marks_nothing(ingest: Ingest) -> None:
    engine = ingest([WRONG], validation__mode="off")
    assert ingest.report.validation is None  # type: ignore[attr-defined]
    assert values(engine, "captain") == {"kell-&-co"}
    assert not any(quad.predicate == RAG.unvalidated for quad in everything(engine))


def test_a_killed_run_is_validated_by_the_next(ingest: Ingest) -> None:
    engine = ingest([WRONG], validation__mode="report")
    (subgraph,) = {
        q.subject for q in everything(engine) if q.predicate == TG.contains and isinstance(q.object, Triple)
        and q.object.predicate == NamedNode(f"{R}captain")
    }  # fmt: skip
    mark = Quad(NamedNode("urn:graphrag-rdf:store"), RAG.unvalidated, subgraph, Graphs.SYSTEM)
    engine.store.commit(Changes(add=[mark]))
    ingest([], engine)
    assert ingest.report.validation.violations == 2  # type: ignore[attr-defined]
    assert mark not in everything(engine)


def test_old_reports_are_removed(ingest: Ingest) -> None:
    engine = ingest([WRONG], validation__mode="report", validation__keep=2)
    for number in range(3):
        ingest([f"In year {number}, Kell & Co sailed."], engine)
    assert len(engine.store.select("validation/reports", limit=9)) == 2
    kept = {q.subject for q in everything(engine) if q.object == RAG.Validation}
    assert len(kept) == 2


def test_forgetting_a_document_erases_what_reports_say_of_it(ingest: Ingest) -> None:
    engine = ingest([WRONG], validation__mode="report")
    assert results(engine)
    (document,) = {
        q.subject for q in everything(engine) if q.object == TG.Document and q.predicate == RDF.type
    }
    forget_documents(engine, [document])
    assert results(engine) == []
    assert not any(
        "kell" in str(quad).lower() for quad in everything(engine) if quad.graph_name == Graphs.SOURCE
    )
    (report,) = engine.store.select("validation/reports", limit=9)
    assert report["results"] == 2
    assert run_checks(engine.store, engine.blobs) == []


def test_forgetting_erases_results_of_refused_imports_about_names_that_go(
    ingest: Ingest, tmp_path: Path
) -> None:
    engine = ingest(["Kell is one of us, says Kell & Co."])
    broken = f'<{E}kell-&-co> <{R}captain> "nobody" .'
    (tmp_path / "broken.ttl").write_text(broken, "utf-8")
    with pytest.raises(BrokenShapesError, match="Kell"):
        import_file(engine, tmp_path / "broken.ttl")
    assert "a captain is a person" in results(engine)
    (document,) = {q.subject for q in everything(engine) if q.object == TG.Document}
    forget_documents(engine, [node_of(document)])
    assert results(engine) == []
    assert len(engine.store.select("validation/reports", limit=9)) == 2


def test_shapes_that_cannot_be_used_end_a_run_before_it_writes(ingest: Ingest, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        ingest([WRONG], validation__shapes=[str(tmp_path / "none.ttl")])
    with pytest.raises(UsageError, match="no graph urn:none"):
        ingest([WRONG], validation__shapes=["urn:none"])


def test_shapes_in_a_graph_of_the_store(
    ingest: Ingest, engine_of: MakeEngine, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    given = {"validation__shapes": ["urn:shapes"], "validation__mode": "reject"}
    engine = engine_of(**by_model(scripted_server, **given))
    import_file(engine, tmp_path / "shapes.ttl", NamedNode("urn:shapes"))
    assert values(ingest([WRONG], engine), "captain") == set()
