"""A merged entity has the names of all that are one with it, for queries and exports."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange.dump import export_graph
from graphrag_rdf.ingest.decisions import undo
from graphrag_rdf.ingest.entity_decisions import merge, split
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge, Resolution
from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.rdf.namespaces import RAG, SKOS, Graphs
from graphrag_rdf.store.base import Changes, plain_quads
from graphrag_rdf.wings.ontologies.owl import export_owl
from tests.ingest.conftest import MakeEngine, assert_same, by_model, chunk_in, everything
from tests.support.scripted_server import Request, ScriptedServer

TEXTS = {
    "a.txt": "The year was long. International Business Machines [bought] Tarn Works, and the town was glad.",
    "b.txt": "In the spring IBM [employs] Ada Venn, who has been with the house for many years.",
    "c.txt": "Das Unternehmen ist groß. Die Firma Büromaschinen AG [kaufte] Kelm, und das war nicht billig.",
}


def answer(request: Request) -> str:
    found = re.findall(
        r"(IBM|Büromaschinen AG|International Business Machines) \[([^]]+)\] ([A-Z]\w+(?: [A-Z]\w+)*)",
        chunk_in(request),
    )
    return json.dumps({"relations": [{"subject": s, "predicate": p, "object": o} for s, p, o in found]})


def entity(slug: str) -> NamedNode:
    return NamedNode(f"{DEFAULT_NAMESPACE}e/{slug}")


IBM, LONG, GERMAN = entity("ibm"), entity("international-business-machines"), entity("büromaschinen-ag")


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> Engine:
    scripted_server.answer_with(answer)
    for name, text in TEXTS.items():
        (docs / name).write_text(text)
    engine = engine_of(**by_model(scripted_server))
    engine.ingest([docs])
    return engine


def merged(engine: Engine) -> list[Resolution]:
    return merge(engine, [Merge(IBM, (IBM, LONG)), Merge(IBM, (IBM, GERMAN))])


def others(engine: Engine, thing: NamedNode = IBM) -> set[object]:
    """The aliases in the graph of facts."""
    return {q.object for q in plain_quads(engine.store) if (q.subject, q.predicate) == (thing, SKOS.altLabel)}


def sound(engine: Engine) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(plain_quads(engine.store)) == []


BOTH = {
    Literal("International Business Machines", language="en"),
    Literal("Büromaschinen AG", language="de"),
}


def test_a_merged_entity_has_the_names_of_all(engine: Engine) -> None:
    before = everything(engine)
    made = merged(engine)
    assert others(engine) == BOTH
    assert others(engine, LONG) == set()
    sound(engine)
    undo(engine, made)
    assert {quad.graph_name for quad in everything(engine) ^ before} == {Graphs.SYSTEM}


def test_a_split_takes_them_back(engine: Engine) -> None:
    merged(engine)
    split(engine, [GERMAN])
    assert {one.value for one in others(engine)} == {"International Business Machines"}  # type: ignore[attr-defined]
    sound(engine)


def test_another_that_represents_all_has_them(engine: Engine) -> None:
    merged(engine)
    merge(engine, [Merge(LONG, (LONG, IBM))])
    assert {one.value for one in others(engine, LONG)} == {"IBM", "Büromaschinen AG"}  # type: ignore[attr-defined]
    assert others(engine) == set()
    sound(engine)


def test_names_of_later_documents_count_and_forgotten_ones_do_not(engine: Engine, docs: Path) -> None:
    merged(engine)
    before = everything(engine)
    engine.ingest([docs])
    assert_same(everything(engine), before)
    forget_documents(engine, find_documents(engine.store, [str(docs / "a.txt")]))
    assert {one.value for one in others(engine)} == {"Büromaschinen AG"}  # type: ignore[attr-defined]
    assert not [quad for quad in everything(engine) if "International" in str(quad)]
    sound(engine)


def test_stores_of_earlier_versions_get_them_with_the_next_run(engine: Engine, docs: Path) -> None:
    merged(engine)
    known = [q for q in plain_quads(engine.store) if q.predicate == RAG.mergedName]
    names = [Quad(q.subject, SKOS.altLabel, q.object, DefaultGraph()) for q in known]
    engine.store.commit(Changes(remove=[*known, *names]))
    at = {"number": 2, "now": datetime(2026, 1, 1, tzinfo=UTC)}
    engine.store.commit(Changes(updates=[("migrations/002-merged-names", at)]))
    engine.ingest([docs])
    assert others(engine) == BOTH
    sound(engine)


def test_exports_have_them(engine: Engine, tmp_path: Path) -> None:
    merged(engine)
    turtle = io.BytesIO()
    export_graph(engine.store, turtle, "turtle")
    export_owl(engine.store, tmp_path / "owl", DEFAULT_NAMESPACE)
    for text in (turtle.getvalue().decode(), (tmp_path / "owl" / "facts.ttl").read_text("utf-8")):
        assert '"International Business Machines"@en' in text.partition("skos:altLabel")[2]
        assert re.search(r'altLabel [^.]*"Büromaschinen AG"@de', text)
