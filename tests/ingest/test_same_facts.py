"""Facts that say the same by decisions are one edge of a question, with the evidence of all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest import entity_decisions
from graphrag_rdf.ingest.decisions import Merge
from graphrag_rdf.ingest.relation_decisions import merge, undo
from graphrag_rdf.rdf.iris import DEFAULT_NAMESPACE
from graphrag_rdf.trace.text import render_trace
from tests.ingest.conftest import MakeEngine, by_model, chunk_in
from tests.support.scripted_server import Request, ScriptedServer

TEXTS = {
    "a.txt": "Ada Venn [wrote] Reefs of Skell. Ada Venn [lives in] Tarn.",
    "b.txt": "In winter Ada Venn [composed] Reefs of Skell. Bob Holm [composed] Nets.",
}


def answer(request: Request) -> str:
    """The statements that a chunk spells out."""
    found = re.findall(r"([A-Z]\w+ [A-Z]\w+) \[([^]]+)\] ([A-Z]\w+(?: of \w+)?)", chunk_in(request))
    return json.dumps({"relations": [{"subject": s, "predicate": p, "object": o} for s, p, o in found]})


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
    assert [check for check in engine.traces.verify(trace.iri) if check.ok is False] == []
    if pipeline != "local":  # it lists facts in one line
        assert "The same fact: (Ada Venn, " in render_trace(trace, width=200)
    assert last.answer is not None


def test_merged_entities_give_one_edge(engine: Engine) -> None:
    merge(engine, [Merge(relation("wrote"), (relation("wrote"), relation("composed")))])
    assert len(composed(engine, "graph_rag")) == 1
    entity_decisions.merge(engine, [Merge(entity("bob-holm"), (entity("bob-holm"), entity("ada-venn")))])
    assert len(composed(engine, "graph_rag")) == 1
