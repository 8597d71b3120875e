"""Exploration by the composite score: what relations add, and that the trace computes it again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.checks import run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.config.sections import RelationSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import datetime_, double, now, text_of, to_python
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.catalogue import delete_trace
from graphrag_rdf.trace.export import trace_quads
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.text import render_trace
from tests.support.stores import open_engine

QUESTION = "What caused the failure of Gate 4?"
WORDS_ONLY = {
    f"exploration.weight_{name}": "0"
    for name in (
        *(
            "vector",
            "activation",
            "degree",
            "relates",
            "cooccurs",
            "causes",
            "supports",
            "references",
            "substep_of",
        ),
        *("follows", "step_next", "part_of", "contrasts", "related_to"),
    )
}


@pytest.fixture(scope="module")
def related_folder(sample_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample store with derived relations; its names stand together once."""
    folder = tmp_path_factory.mktemp("related") / "store"
    shutil.copytree(sample_folder, folder)
    with open_engine(folder, config=Settings(relations=RelationSection(min_count=1))) as engine:
        engine.refresh("relations")
    return folder


@pytest.fixture
def engine(related_folder: Path, tmp_path: Path) -> Iterator[Engine]:
    folder = tmp_path / "store"
    shutil.copytree(related_folder, folder)
    with open_engine(folder, config=Settings()) as opened:
        yield opened


def retrieve(engine: Engine, **options: Any) -> dict[str, Any]:
    return engine.retrieve(QUESTION, k=50, pipeline="hybrid_rag", **options)


def relate(engine: Engine, start: str, kind: str, end: str, confidence: float, *, gone: bool = False) -> None:
    """A relation between chunks as a model would have found it."""
    node, one, other = NamedNode("urn:graphrag-rdf:test-relation"), NamedNode(start), NamedNode(end)
    facts = [
        (RDF.type, RAG.ChunkRelation),
        (RAG.relationType, RAG[kind]),
        (RAG.relationFrom, one),
        (RAG.relationTo, other),
        (RAG.confidence, double(confidence)),
        *([(PROV.invalidatedAtTime, datetime_(now()))] if gone else []),
    ]
    add = [Quad(node, p, o, Graphs.SOURCE) for p, o in facts]
    add.append(Quad(one, RAG[kind], other, Graphs.DERIVED))
    engine.store.commit(Changes(add=add, content=False))


def by_chunk(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["chunk"]: result for result in found["results"]}


def test_the_score_is_the_weighted_sum_of_its_signals(engine: Engine) -> None:
    results = retrieve(engine)["results"]
    assert [result["score"] for result in results] == sorted((r["score"] for r in results), reverse=True)
    for result in results:
        assert sum(result["weights"].values()) == pytest.approx(1)
        assert "vector" not in result["weights"], "there are no embeddings"
        assert all(0 <= value <= 1 for value in result["signals"].values())
        total = sum(result["weights"][name] * value for name, value in result["signals"].items())
        assert result["score"] == pytest.approx(total, abs=1e-9)
    assert results[0]["signals"]["words"] == 1
    assert any(result["signals"]["relates"] > 0 for result in results)
    assert any(result["signals"]["cooccurs"] > 0 for result in results)


@pytest.mark.parametrize("rank", ["activation", "degree", "none"])
@pytest.mark.parametrize("hops", ["0", "1", "2"])
def test_the_trace_computes_the_scores_again(engine: Engine, rank: str, hops: str) -> None:
    settings = {
        "exploration.relation_hops": hops,
        "exploration.weight_activation": str(int(rank == "activation")),
        "exploration.weight_degree": "0.3" if rank == "degree" else "0",
    }
    found = retrieve(engine, settings=settings, stored=True, preview=True)
    session = NamedNode(found["trace"])
    told = by_chunk(found)
    rows = engine.store.select("trace/composite-scores", session=session)
    assert len(rows) == 10
    for row in rows:
        score = told[text_of(row["chunk"])]["score"]
        assert to_python(row["score"]) == pytest.approx(score, abs=1e-9)
        assert to_python(row["recomputed"]) == pytest.approx(score, abs=1e-6)
    for result in found["results"][:10]:
        for signal in ("relates", "cooccurs", "follows"):
            shares = [path["share"] for path in result["relations"] if path["signal"] == signal]
            expected = result["weights"][signal] * result["signals"][signal]
            assert sum(shares) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "parameter"),
    [
        *(("causes", "causes"), ("supports", "supports"), ("references", "references")),
        *(("substepOf", "substep_of"), ("follows", "follows"), ("partOf", "part_of")),
        *(("contrasts", "contrasts"), ("relatedTo", "related_to")),
    ],
)
@pytest.mark.parametrize("forward", [True, False])
def test_each_type_of_relation_counts_by_its_weight_and_confidence(
    engine: Engine, kind: str, parameter: str, forward: bool
) -> None:
    settings = WORDS_ONLY | {f"exploration.weight_{parameter}": "1", "exploration.weight_words": "1"}
    before = retrieve(engine, settings={**settings, "exploration.relation_hops": "0"})["results"]
    first, last = before[0]["chunk"], before[-1]["chunk"]
    pair = (first, last) if forward else (last, first)
    plain = by_chunk(retrieve(engine, settings=settings))[last]["signals"][kind]
    relate(engine, pair[0], kind, pair[1], 0.8)
    found = by_chunk(retrieve(engine, settings=settings, preview=True))[last]
    (path,) = [path for path in found["relations"] if path["strength"] == pytest.approx(0.8)]
    assert (path["origin"], path["signal"], path["base"]) == (first, kind, pytest.approx(1))
    others = sum(p["base"] * p["strength"] for p in found["relations"] if p is not path)
    assert found["signals"][kind] == pytest.approx((0.8 + others) / (1.8 + others))
    assert found["signals"][kind] > plain
    # twice the weight of all: twice the share
    half = retrieve(engine, settings={**settings, f"exploration.weight_{parameter}": "3"}, preview=True)
    assert by_chunk(half)[last]["weights"][kind] == pytest.approx(0.75)


def test_what_was_taken_back_does_not_count(engine: Engine) -> None:
    results = retrieve(engine)["results"]
    relate(engine, results[0]["chunk"], "causes", results[-1]["chunk"], 0.9, gone=True)
    assert all(result["signals"]["causes"] == 0 for result in retrieve(engine)["results"])


def test_standing_beside_in_a_document_counts_as_the_fallback_says(engine: Engine) -> None:
    settings = WORDS_ONLY | {"exploration.weight_step_next": "1", "exploration.fallback_confidence": "0.5"}
    found = retrieve(engine, settings=settings, preview=True)
    paths = [path for result in found["results"] for path in result["relations"]]
    assert paths
    assert {(path["signal"], path["strength"]) for path in paths} == {("stepNext", 0.5)}
    none = retrieve(engine, settings=settings | {"exploration.fallback_confidence": "0"})
    assert all(result["signals"]["stepNext"] == 0 for result in none["results"])


@pytest.mark.parametrize("kind", ["causes", "follows"])
def test_standing_beside_counts_only_where_no_relation_was_read(engine: Engine, kind: str) -> None:
    settings = WORDS_ONLY | {"exploration.weight_step_next": "1"}

    def beside() -> dict[str, set[str]]:
        results = retrieve(engine, settings=settings, preview=True)["results"]
        paths = [(result["chunk"], path) for result in results for path in result["relations"]]
        return {
            chunk: {path["origin"] for one, path in paths if one == chunk and path["signal"] == "stepNext"}
            for chunk, _ in paths
        }

    before = beside()
    chunk = next(chunk for chunk, origins in before.items() if origins)
    origin = min(before[chunk])
    signal = by_chunk(retrieve(engine, settings=settings))[chunk]["signals"]["stepNext"]
    relate(engine, origin, kind, chunk, 0.8)
    assert origin not in beside().get(chunk, set())
    assert by_chunk(retrieve(engine, settings=settings))[chunk]["signals"]["stepNext"] < signal


def test_the_additive_scheme_is_the_plain_sum(engine: Engine) -> None:
    """words × 0.4 + 0.15 if entities are shared + 0.22 × Σ confidence of causes …; no activation."""
    settings = {"exploration.scheme": "additive"}
    before = retrieve(engine, settings=settings)["results"]
    relate(engine, before[0]["chunk"], "causes", before[-1]["chunk"], 0.8)
    results = retrieve(engine, settings=settings, preview=True, stored=True)
    weights = {"words": 0.4, "relates": 0.15, "cooccurs": 0.1, "causes": 0.22, "stepNext": 0.16}
    for result in results["results"]:
        signals = result["signals"]
        assert "activation" not in signals
        assert {signals["relates"], signals["cooccurs"]} <= {0, 1}
        total = sum(weight * signals.get(name, 0) for name, weight in weights.items())
        assert result["sum"] == pytest.approx(total)
        assert result["score"] == pytest.approx(total / (1 + total))
        assert {name: result["weights"][name] for name in weights} == pytest.approx(weights), (
            "as they are set"
        )
    best = results["results"][0]
    shares = [path["share"] for path in best["relations"] if path["signal"] == "relates"]
    assert sum(shares) == pytest.approx(0.15)
    related = by_chunk(results)[before[-1]["chunk"]]
    assert related["signals"]["causes"] == pytest.approx(0.8)
    rows = engine.store.select("trace/composite-scores", session=NamedNode(results["trace"]))
    assert rows
    assert run_shapes(engine.store.quads(Graphs.RETRIEVAL)) == [], "scores in traces are from 0 to 1"
    for row in rows:
        assert to_python(row["recomputed"]) == pytest.approx(to_python(row["score"]))


def test_relations_lead_to_passages_that_search_does_not_find(engine: Engine) -> None:
    """One hop, and in another, weaker."""
    settings = {"exploration.passage_limit": "1"}
    reached = [
        {r["chunk"] for r in retrieve(engine, settings={**settings, **WORDS_ONLY, **more})["results"]}
        for more in (
            {"exploration.relation_hops": "0"},
            {"exploration.relation_hops": "1", "exploration.weight_step_next": "1"},
            {"exploration.relation_hops": "2", "exploration.weight_step_next": "1"},
        )
    ]
    assert len(reached[0]) == 1
    assert reached[0] < reached[1] <= reached[2]


def test_weights_are_changed_live_and_traces_lead_to_the_version(engine: Engine) -> None:
    before = by_chunk(retrieve(engine))
    engine.live.set("hybrid_rag.exploration.weight_relates", "5")
    found = retrieve(engine, stored=True)
    chunk = next(result for result in found["results"] if result["signals"]["relates"] > 0)
    assert chunk["weights"]["relates"] > before[chunk["chunk"]]["weights"]["relates"]
    said = {
        quad.object
        for quad in engine.store.quads(Graphs.RETRIEVAL)
        if quad.subject == NamedNode(found["trace"]) and quad.predicate == RAG.settings
    }
    version = engine.live.read().version
    assert version is not None
    assert said == {version}


def test_an_answer_and_its_trace_tell_of_relations(engine: Engine) -> None:
    *_, last = engine.ask("What did Rhoda Tennant invent?", pipeline="hybrid_rag")
    assert last.answer is not None
    assert "Rhoda Tennant" in last.answer["answer"]
    node = NamedNode(last.answer["question_iri"])
    session = engine.store.select("trace/session-of", node=node)[0]["session"].value
    trace = read_trace(engine.store, session, engine.blobs)
    exploration = next(step for step in trace.steps if step.kind == "exploration")
    assert exploration.mode == "hybrid"
    relations = [relation for passage in exploration.items["passages"] for relation in passage.relations]
    assert {"relates", "cooccurs"} <= {relation.signal for relation in relations}
    assert all(relation.label for relation in relations)
    for passage in exploration.items["passages"]:
        assert sum(passage.signal_shares.values()) == pytest.approx(passage.score, abs=1e-9)
    shown = render_trace(trace)
    assert "Relation: " in shown
    assert "words 0." in shown
    assert '<th scope="col">Relation</th>' in render_page(engine.store, trace)


def test_without_relations_it_ranks_by_what_search_says(samples: Engine) -> None:
    found = retrieve(samples)
    assert found["results"][0]["signals"]["words"] == 1
    assert all(result["signals"]["relates"] == 0 for result in found["results"])


@pytest.mark.parametrize("pipeline", ["hybrid_rag", "graph_rag", "hops_rag"])
def test_a_trace_is_exported_whole_and_goes_whole(engine: Engine, pipeline: str) -> None:
    """With the shares and paths of its passages."""
    settings = {"focus.filter": "rerank"}
    *_, last = engine.ask("Who invented the reversing gear?", pipeline, settings=settings)
    assert last.answer is not None
    node = NamedNode(last.answer["question_iri"])
    session = engine.store.select("trace/session-of", node=node)[0]["session"]
    run = session.value.rsplit(":", 1)[-1]
    stored = {(q.subject, q.predicate, q.object) for q in engine.store.quads() if run in str(q)}
    exported = trace_quads(engine.store, session, with_sources=False)
    assert {(q.subject, q.predicate, q.object) for q in exported} == stored
    delete_trace(engine.store, engine.blobs, session)
    assert not [quad for quad in engine.store.quads() if run in str(quad)]
