"""Document RAG: `doc_rag` and `basic` answer from chunks, and their traces are those of TrustGraph."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import load_settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.steps.checking import SENTINEL
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.page import render_page
from graphrag_rdf.trace.reader import trace_quads
from graphrag_rdf.trace.text import render_trace
from graphrag_rdf.wings.audit.replay import ask_without, replay
from graphrag_rdf.wings.audit.verify import verify
from tests.support.pages import Page
from tests.support.scripted_server import Request, ScriptedServer, number_of, shown
from tests.support.stores import open_engine

QUESTION = "Who invented the reversing gear?"
BOTH = ("doc_rag", "basic")

Open = Callable[..., Engine]


@pytest.fixture
def open_samples(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Open]:
    """Opens a copy of the sample store with settings; models are those of the scripted server."""
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    opened: list[Engine] = []

    def open_with(**settings: Any) -> Engine:
        for engine in opened:
            engine.close()
        overrides = {name.replace("__", "."): value for name, value in settings.items()}
        if overrides:
            wire = {
                "api_base": scripted_server.base_url,
                "api_key": "secret-key-1234567890",
                "max_retries": 0,
            }
            overrides |= {f"llm.{name}": value for name, value in wire.items()}
        opened.append(open_engine(folder, config=load_settings(overrides=overrides).settings))
        if "embedding.model" in overrides:
            opened[-1].rebuild_indexes()
        return opened[-1]

    yield open_with
    for engine in opened[-1:]:
        engine.close()


def answering(request: Request) -> str:
    """A model that names a concept, and cites the sentence that says who invented it."""
    if "knowledge graph will be searched" in request.prompt:
        return "reversing gear\n"
    number = number_of(shown(request.prompt), "Rhoda Tennant invented")
    return f"Rhoda Tennant invented it. [{number}]"


def ask(engine: Engine, pipeline: str, question: str = QUESTION, **settings: str) -> list[GraphRagResponse]:
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return list(engine.ask(question, pipeline, settings=given))


def answer_of(messages: list[GraphRagResponse]) -> dict[str, Any]:
    assert messages[-1].answer is not None
    return messages[-1].answer


def said(messages: list[GraphRagResponse], kind: str) -> dict[NamedNode, dict[NamedNode, list[Any]]]:
    """What the message of a step says: node → predicate → values."""
    found: dict[NamedNode, dict[NamedNode, list[Any]]] = {}
    (message,) = [m for m in messages if m.kind == kind]
    for quad in message.explain_triples:
        found.setdefault(quad.subject, {}).setdefault(quad.predicate, []).append(quad.object)  # type: ignore[arg-type]
    return found


def step(messages: list[GraphRagResponse], kind: str) -> dict[NamedNode, list[Any]]:
    (iri,) = [m.explain_id for m in messages if m.kind == kind]
    assert iri is not None
    return said(messages, kind)[NamedNode(iri)]


def holds(engine: Engine) -> None:
    """Traces verify, the store is sound and conforms to the shapes."""
    assert [check for check in verify(engine, "last") if not check.ok] == []
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    pytest.importorskip("pyshacl")
    assert run_shapes(trace_quads(engine.store, NamedNode(engine.traces["last"].iri))) == []


# --- the trace -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pipeline", BOTH)
def test_the_trace_has_trustgraphs_form(open_samples: Open, pipeline: str) -> None:
    engine = open_samples()
    messages = ask(engine, pipeline)
    kinds = ["session", "question", "grounding", "exploration", "answer", "synthesis", "final"]
    assert [m.kind for m in messages] == kinds, "without a reranker there is no focus"
    run = answer_of(messages)["question_iri"].rpartition(":")[2]
    iris = {m.kind: m.explain_id for m in messages if m.explain_id}
    assert iris["question"] == f"urn:trustgraph:docrag:{run}"
    for kind in ("grounding", "exploration", "synthesis"):
        assert iris[kind] == f"urn:trustgraph:docrag:{run}/{kind}"
    question = step(messages, "question")
    assert {PROV.Entity, TG.Question, TG.DocRagQuestion} == set(question[RDF.type])
    assert text_of(question[RDFS.label][0]) == "DocumentRAG Question"
    for before, after in itertools.pairwise(("question", "grounding", "exploration", "synthesis")):
        assert step(messages, after)[PROV.wasDerivedFrom] == [NamedNode(iris[before])]
    assert step(messages, "synthesis")[TG.document] == [NamedNode(f"urn:trustgraph:docrag:{run}/answer")]
    holds(engine)


def test_the_exploration_names_its_chunks_in_order_with_scores(open_samples: Open) -> None:
    messages = ask(
        open_samples(), "doc_rag", "What caused the failure of Gate 4?", exploration__candidate_limit="5"
    )
    exploration = step(messages, "exploration")
    chunks = exploration[TG.selectedChunk]
    assert [to_python(value) for value in exploration[TG.chunkCount]] == [5]
    nodes = said(messages, "exploration")
    ranked = sorted(
        (
            to_python(nodes[item][RAG.rank][0]),
            nodes[item][TG.document][0],
            to_python(nodes[item][TG.score][0]),
        )
        for item in exploration[RAG.rankedPassage]
    )
    assert [chunk for _, chunk, _ in ranked] == chunks
    scores = [score for _, _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0
    assert TG.entity not in exploration
    assert TG.edgeCount not in exploration


def test_a_reranker_adds_a_focus(open_samples: Open, scripted_server: ScriptedServer) -> None:
    engine = open_samples(rerank__model="infinity/test", rerank__api_base=scripted_server.host_url)
    messages = ask(engine, "doc_rag", "What caused the failure of Gate 4?")
    focus = step(messages, "focus")
    assert text_of(focus[RDFS.label][0]) == "Chunk Selection"
    assert focus[RAG.mode][0].value == "rerank"
    nodes = said(messages, "focus")
    chosen = [nodes[item] for item in focus[TG.selectedChunk]]
    assert chosen
    for one in chosen:
        assert TG.ChunkSelection in one[RDF.type]
        assert {TG.document, TG.score, RAG.rank} <= one.keys()
    found = step(messages, "exploration")[TG.selectedChunk]
    assert {one[TG.document][0] for one in chosen} <= set(found)
    assert step(messages, "synthesis")[PROV.wasDerivedFrom] == [
        NamedNode(next(m.explain_id for m in messages if m.kind == "focus"))
    ]
    assert not any(m.kind == "focus" for m in ask(engine, "basic")), "basic does not rerank"
    holds(engine)


def test_pages_and_text_show_the_chunks(open_samples: Open) -> None:
    engine = open_samples()
    ask(engine, "doc_rag")
    trace = engine.traces["last"]
    told = render_trace(trace)
    assert "Found 3 chunk(s) by words" in told
    assert "seed" not in told
    page = Page(render_page(engine.store, trace))
    assert "Found 3 chunks by words" in page.text
    assert "edges" not in page.text
    assert json.loads(json.dumps([s.kind for s in trace.steps])) == [
        *("question", "grounding", "exploration", "synthesis"),
    ]


# --- ranking -------------------------------------------------------------------------------------------


def test_ranks_of_both_indexes_are_fused(open_samples: Open) -> None:
    engine = open_samples(embedding__model="openai/test-embedding")
    orders = {}
    for use in ("words", "meaning", "both"):
        found = engine.retrieve(
            QUESTION,
            k=100,
            pipeline="doc_rag",
            settings={"exploration.use": use, "exploration.rank_constant": "10"}
            if use == "both"
            else {"exploration.use": use},
        )
        orders[use] = {one["chunk"]: one for one in found["results"]}
    places = {use: {chunk: n for n, chunk in enumerate(orders[use], start=1)} for use in ("words", "meaning")}
    assert len({tuple(places[use]) for use in places}) == 2
    fused = {
        chunk: sum(0.5 * 11 / (10 + places[use][chunk]) for use in places if chunk in places[use])
        for chunk in places["words"].keys() | places["meaning"].keys()
    }
    expected = sorted(fused, key=lambda chunk: (-round(fused[chunk], 12), chunk))
    assert list(orders["both"]) == expected[:100]
    for chunk, one in orders["both"].items():
        assert one["score"] == pytest.approx(fused[chunk])
        assert sum(one["signals"][name] * one["weights"][name] for name in one["signals"]) == pytest.approx(
            one["score"]
        )


def test_a_weight_of_zero_leaves_the_other_index(open_samples: Open) -> None:
    engine = open_samples(embedding__model="openai/test-embedding")

    def order(**settings: str) -> list[str]:
        given = {f"exploration.{name}": value for name, value in settings.items()}
        found = engine.retrieve(QUESTION, k=10, pipeline="doc_rag", settings=given)
        return [one["chunk"] for one in found["results"]]

    assert order(words_weight="0") == order(use="meaning")
    words = order(use="words")
    assert order(meaning_weight="0")[: len(words)] == words


def test_meaning_without_an_embedding_model_is_an_error(open_samples: Open) -> None:
    engine = open_samples()
    *_, last = ask(engine, "doc_rag", exploration__use="meaning")
    assert last.error is not None
    assert "no embedding model" in last.error["message"]
    assert "embedding.model" in last.error["hint"]
    with pytest.raises(ConfigError, match="no embedding model"):
        engine.retrieve(QUESTION, pipeline="doc_rag", settings={"exploration.use": "meaning"})


def test_diversity_prefers_chunks_that_differ(tmp_path: Path) -> None:
    """Two documents say the same, a third something else with the same name in it."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.md").write_text("# First\n\nThe ferry Linnet sank in the storm near Arnhythe harbour.\n")
    (folder / "b.md").write_text(
        "# Second\n\nThe ferry Linnet sank in the storm near Arnhythe harbour wall.\n"
    )
    (folder / "c.md").write_text("# Third\n\nLinnet carried mail and was painted green by her owner.\n")
    with open_engine(tmp_path / "store") as engine:
        engine.ingest([folder])

        def titles(**settings: str) -> list[str]:
            messages = ask(
                engine,
                "doc_rag",
                "Where did the ferry Linnet sink?",
                exploration__chunk_limit="2",
                **settings,
            )
            trace = engine.traces["last"]
            assert all(check.ok for check in verify(engine, "last"))
            chosen = [one for s in trace.steps for one in s.selections if one.whole]
            assert any(m.kind == "focus" for m in messages) is bool(settings)
            return [
                source.title for one in sorted(chosen, key=lambda one: one.rank) for source in one.sources
            ]

        assert titles() == ["First", "Second"]
        assert titles(focus__diversity="mmr", focus__balance="1") == ["First", "Second"]
        assert titles(focus__diversity="mmr", focus__balance="0.3") == ["First", "Third"]


# --- answers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pipeline", BOTH)
@pytest.mark.parametrize("with_model", [False, True])
def test_citations_lead_to_sentences(
    open_samples: Open, scripted_server: ScriptedServer, pipeline: str, with_model: bool
) -> None:
    scripted_server.answer_with(answering)
    engine = open_samples(llm__model="openai/test-model") if with_model else open_samples()
    answer = answer_of(ask(engine, pipeline))
    assert answer["answered"]
    (citation,) = answer["citations"]
    assert re.findall(r"\[\d+\]", answer["answer"]) == [citation["marker"]]
    (source,) = citation["sources"]
    assert source["quote"] == "Rhoda Tennant invented the reversing gear."
    (row,) = engine.store.select("retrieval/chunks", chunks=[NamedNode(source["chunk"])])
    start = source["char_offset"] - row["offset"]
    assert row["text"][start : start + source["char_length"]] == source["quote"]
    assert citation["chunk"] == source["chunk"]
    calls = {"doc_rag": 2, "basic": 1}[pipeline] if with_model else 0
    assert answer["usage"]["llm_calls"] == calls
    holds(engine)


def test_the_prompt_holds_what_fits_and_nothing_else(
    open_samples: Open, scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(answering)
    engine = open_samples(llm__model="openai/test-model")
    ask(engine, "basic", exploration__chunk_limit="1")
    one = shown(scripted_server.requests[-1].prompt)
    ask(engine, "basic")
    all_ = shown(scripted_server.requests[-1].prompt)
    assert set(one.values()) < set(all_.values())
    trace = engine.traces["last"]
    chunks = {selection.chunk for selection in trace.selections if selection.whole}
    assert len(chunks) == 3
    assert not trace.parameters["exploration"].get("entity_limit")


@pytest.mark.parametrize("pipeline", BOTH)
def test_it_owns_up_to_not_knowing(
    open_samples: Open, scripted_server: ScriptedServer, pipeline: str
) -> None:
    scripted_server.answer_with(lambda request: SENTINEL)
    for models in ({}, {"llm__model": "openai/test-model"}):
        engine = open_samples(**models)
        answer = answer_of(ask(engine, pipeline, "Which zebra chartered Gate 4 for the opera?"))
        assert not answer["answered"]
        assert not answer["citations"]


def test_nothing_found_is_said(open_samples: Open) -> None:
    engine = open_samples()
    answer = answer_of(ask(engine, "doc_rag", "Zzqx wqqzz?"))
    assert "no_relevant_facts" in {warning["type"] for warning in answer["warnings"]}
    holds(engine)


def test_excluded_entities_are_not_quoted_and_included_ones_cannot_be_followed(open_samples: Open) -> None:
    engine = open_samples()
    *_, last = engine.ask(QUESTION, "doc_rag", include=["Port Merrin"], exclude=["Rhoda Tennant"])
    assert last.answer is not None
    assert "Rhoda Tennant" not in last.answer["answer"]
    told = [one["detail"] for one in last.answer["warnings"] if one["type"] == "setting_ignored"]
    assert any("include" in detail for detail in told)


def test_a_follow_up_finds_what_the_question_before_named(open_samples: Open) -> None:
    engine = open_samples()
    ask(engine, "basic", "Who designed Drumlaw Head Lighthouse?")
    messages = list(engine.ask("Where was he born?", "basic", session="last"))
    concepts = {text_of(value) for value in step(messages, "grounding")[TG.concept]}
    assert "Drumlaw Head Lighthouse" in concepts


# --- what is done with traces --------------------------------------------------------------------------


def test_only_declared_templates_run(open_samples: Open, scripted_server: ScriptedServer) -> None:
    scripted_server.answer_with(answering)
    rerank = {"rerank__model": "infinity/test", "rerank__api_base": scripted_server.host_url}
    models = {"llm__model": "openai/test-model", "embedding__model": "openai/test-embedding", **rerank}
    for opened in ({}, models):
        engine = open_samples(**opened)
        for pipeline in BOTH:
            kinds = {one.name: one.kind for one in engine.pipeline(pipeline).definition.steps}
            settings = {
                "exploration.window_tokens": "20",
                **({"focus.diversity": "mmr"} if pipeline == "doc_rag" else {}),
            }
            for message in engine.ask(QUESTION, pipeline, settings=settings):
                if message.kind in kinds:
                    known = {t for way in kinds[message.kind].ways.values() for t in way.templates}
                    ran = {text_of(q.object) for q in message.explain_triples if q.predicate == RAG.template}
                    assert ran <= known, (pipeline, message.kind)


@pytest.mark.parametrize("pipeline", BOTH)
def test_replay_gives_the_same(open_samples: Open, scripted_server: ScriptedServer, pipeline: str) -> None:
    scripted_server.answer_with(answering)
    engine = open_samples(llm__model="openai/test-model")
    ask(engine, pipeline)
    done = replay(engine, "last")
    assert done.same
    assert done.differences == []


def test_without_its_document_the_answer_goes(open_samples: Open) -> None:
    engine = open_samples()
    answer = answer_of(ask(engine, "doc_rag"))
    done = ask_without(engine, "last", documents=[answer["citations"][0]["sources"][0]["document"]])
    assert done.changed


@pytest.mark.parametrize("cited", [True, False])
def test_forgetting_erases_words_and_prompts(
    open_samples: Open, scripted_server: ScriptedServer, cited: bool
) -> None:
    """Also of a document that the prompt showed and the answer does not cite."""
    scripted_server.answer_with(answering)
    engine = open_samples(llm__model="openai/test-model")
    answer = answer_of(ask(engine, "doc_rag"))
    shown_to_model = {source.document for one in engine.traces["last"].selections for source in one.sources}
    used = {source["document"] for source in answer["citations"][0]["sources"]}
    document = sorted(used if cited else shown_to_model - used)[0]
    forget_documents(engine, find_documents(engine.store, [document]))
    trace = engine.traces["last"]
    assert trace.source_forgotten
    assert trace.answer is None
    words = "Rhoda Tennant invented it."
    assert not any(words in str(quad) for quad in trace_quads(engine.store, NamedNode(trace.iri)))
    assert not any(words.encode() in (engine.blobs.get(iri) or b"") for iri in engine.blobs.objects())
    assert "(erased)" in render_trace(trace)
    assert [
        v for v in run_checks(engine.store, engine.blobs, engine.text_index) if v.severity == "error"
    ] == []


def test_deleting_a_trace_leaves_the_chunks(open_samples: Open) -> None:
    engine = open_samples()
    before = [set(engine.store.quads(graph=graph)) for graph in (Graphs.SOURCE, Graphs.RETRIEVAL)]
    ask(engine, "doc_rag")
    engine.traces.delete("last")
    assert [set(engine.store.quads(graph=graph)) for graph in (Graphs.SOURCE, Graphs.RETRIEVAL)] == before
