"""Traces are read back with every detail, in both dialects."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.forget import erase_and_mark
from graphrag_rdf.ingest.retract import retract_chunks
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.model import Trace, TraceStep
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.text import render_trace
from tests.trace.conftest import (
    ANSWER,
    BURNING,
    FIRST,
    FOUNDING,
    LETTER,
    REPORT,
    SECOND,
    STANDING,
    Sample,
    record,
)


@pytest.fixture
def trace(sample: Sample, run: TraceRecorder) -> Trace:
    return read_trace(sample.store, run.session, sample.blobs)


def step(trace: Trace, kind: str) -> TraceStep:
    return next(step for step in trace.steps if step.kind == kind)


def test_the_session(trace: Trace, run: TraceRecorder) -> None:
    assert trace.iri == run.session.value
    assert trace.question_iri == run.question.value
    assert (trace.kind, trace.model, trace.outcome) == ("graph_rag", "scripted/model", "completed")
    assert trace.question == "Who founded the mill?"
    assert trace.parameters == {"focus": {"edge_limit": 25, "use": "rank"}}
    assert trace.commit == 1
    assert trace.ms is not None
    assert trace.started is not None
    assert trace.ended is not None
    assert trace.started <= trace.ended
    assert not trace.source_forgotten


def test_steps_are_in_order_though_they_take_no_time(trace: Trace) -> None:
    kinds = [step.kind for step in trace.steps]
    assert kinds == ["question", "grounding", "exploration", "focus", "synthesis"]
    assert [step.derived_from for step in trace.steps[1:]] == [(step.iri,) for step in trace.steps[:-1]]


def test_grounding(trace: Trace) -> None:
    grounding = step(trace, "grounding")
    assert [one.text for one in grounding.items["concepts"]] == ["mill", "founder"]
    assert (grounding.mode, grounding.in_tokens, grounding.out_tokens) == ("llm", 7, 3)
    (call,) = grounding.calls
    assert (call.kind, call.purpose, call.ms, call.cached) == ("llm", "concepts", 500, False)
    assert call.prompt is not None


def test_a_prompt_can_be_fetched(trace: Trace, sample: Sample) -> None:
    (call,) = step(trace, "grounding").calls
    assert call.prompt is not None and call.completion is not None  # noqa: PT018
    assert sample.blobs.text(call.prompt.value) == "Which?"
    assert sample.blobs.text(call.completion.value) == "mill\nfounder"


def test_exploration(trace: Trace) -> None:
    exploration = step(trace, "exploration")
    undated = {"period": [], "period_chunks": None, "outside_weight": None}
    assert exploration.values == {"candidates": 5, "edges": 2, "chunks": None, **undated}
    (seed,) = exploration.items["seeds"]
    assert (seed.label, seed.score, seed.matched_by, seed.matched_text) == ("mill", 1.0, "exact", "mill")
    (active,) = exploration.items["activated"]
    assert (active.label, active.value, active.round) == ("Ada", 0.5, 1)
    first, second = exploration.items["considered"]
    assert (first.selected, second.selected) == (True, False)
    assert first.fact is not None
    assert (first.fact.s_label, first.fact.p_label, first.fact.o_label) == ("Ada", "founded", "mill")
    (call,) = exploration.calls
    assert (call.kind, call.template, call.rows) == ("template", "retrieval/canonical", 1)


def test_selections(trace: Trace) -> None:
    founding, standing, burning, sentence = trace.selections
    facts = [(s.fact.s, s.fact.p, s.fact.o) for s in (founding, standing, burning) if s.fact]
    assert facts == [FOUNDING, STANDING, BURNING]
    assert (founding.score, founding.lexical, founding.vector) == (0.75, 0.5, None)
    assert (founding.rank, founding.hop, founding.concept) == (1, 1, "mill")
    assert founding.reasoning == "It names the founder."
    assert [s.marker for s in trace.selections] == [1, 2, None, None]
    assert sentence.fact is None
    assert burning.fact is not None
    assert burning.fact.p_label == "burnt down in", "a thing without a label is called by its IRI"


def test_every_source_stands_at_its_offset_in_the_document(trace: Trace) -> None:
    texts = {"A letter": LETTER, "Report on the mill": REPORT}
    located = [source for s in trace.selections for source in s.sources if source.verified]
    assert len(located) == 4
    for source in located:
        assert source.char_offset is not None
        assert source.char_length is not None
        text = texts[str(source.title)]
        assert text[source.char_offset : source.char_offset + source.char_length] == source.quote


def test_sources(trace: Trace, sample: Sample) -> None:
    founding, _, burning, sentence = (selection.sources for selection in trace.selections)
    by_quote = {source.quote: source for source in founding}
    assert set(by_quote) == {"Ada founded the mill in 1903.", "Ada founded the mill.", "she built the mill"}
    paged = by_quote["Ada founded the mill."]
    assert (paged.chunk, paged.chunk_number, paged.chunk_label) == (sample.first.value, 1, "Chunk 1")
    assert (paged.page_number, paged.title) == (1, "Report on the mill")
    assert paged.uri == "file:///library/report.pdf"
    lost = by_quote["she built the mill"]
    assert (lost.verified, lost.char_offset, lost.char_length) == (False, None, None)
    (whole,) = burning
    assert (whole.quote, whole.char_offset, whole.char_length) == ("", len(FIRST), len(SECOND))
    assert whole.page_number == 2
    (spoken,) = sentence
    assert spoken.quote == "The mill stands in Corvane."
    assert spoken.page_number is None


def test_the_answer(trace: Trace) -> None:
    synthesis = step(trace, "synthesis")
    assert synthesis.answer == trace.answer == ANSWER
    assert [s.text for s in synthesis.items["sentences"]] == [
        "Ada founded the mill. [1]",
        "It stands in Corvane. [2]",
    ]
    assert [s.markers for s in synthesis.items["sentences"]] == [(1,), (2,)]
    assert [s.cites for s in synthesis.items["sentences"]] == [(s.iri,) for s in trace.selections[:2]]
    assert to_json(trace.warnings) == [{"type": "unused_sources", "detail": "one is not cited"}]


def test_a_long_answer_is_read_from_the_blob_store(sample: Sample) -> None:
    answer = ANSWER + " and so on" * 7000
    run = record(sample, answer=answer)
    assert read_trace(sample.store, run.session).answer is None
    assert read_trace(sample.store, run.session, sample.blobs).answer == answer


def test_a_failed_run(sample: Sample) -> None:
    recorder = TraceRecorder(sample.store, sample.blobs)
    begin = recorder.begin("Why?", pipeline="p", label="P", parameters={}, model=None)
    list(begin)
    list(recorder.fail(UsageError("the model is gone"), "LlmError"))
    trace = read_trace(sample.store, recorder.session)
    error = step(trace, "error")
    assert (trace.outcome, error.values["reason"], error.values["stage"]) == (
        "failed",
        "the model is gone",
        "LlmError",
    )


def test_retired_sources_keep_their_words(sample: Sample, run: TraceRecorder) -> None:
    changes = Changes()
    retract_chunks(sample.store, [sample.letter_chunk], changes)
    sample.store.commit(changes)
    sources = [s for selection in read_trace(sample.store, run.session).selections for s in selection.sources]
    retired = [source for source in sources if source.state == "retired"]
    assert {source.chunk for source in retired} == {sample.letter_chunk.value}
    assert {source.quote for source in retired} == {
        "Ada founded the mill in 1903.",
        "The mill stands in Corvane.",
    }
    assert all(source.retired is not None for source in retired)


def test_forgotten_sources_are_named_as_such(sample: Sample, run: TraceRecorder) -> None:
    updates = [
        *erase_and_mark([run.session]),
        ("ingest/retract-chunks", {"chunks": [sample.letter_chunk]}),
    ]
    sample.store.commit(Changes(updates=updates))
    trace = read_trace(sample.store, run.session, sample.blobs)
    assert trace.source_forgotten
    gone = [s for selection in trace.selections for s in selection.sources if s.state == "forgotten"]
    assert {source.chunk for source in gone} == {sample.letter_chunk.value}
    assert all(selection.fact is None for selection in trace.selections)
    json.dumps(to_json(trace))


def test_json_is_plain_and_has_stable_keys(trace: Trace) -> None:
    found = json.loads(json.dumps(to_json(trace)))
    assert list(found) == [
        "iri", "kind", "form", "label", "question", "question_iri", "started", "ended", "seconds", "outcome",
        "stopped_by", "model", "parameters", "commit", "source_forgotten", "erased", "answer", "steps",
        "warnings", "feedback", "continues", "pipeline_hash", "include", "exclude",
    ]  # fmt: skip
    assert [s["type"] for s in found["steps"]] == [
        "question",
        "grounding",
        "exploration",
        "focus",
        "synthesis",
    ]
    selection = found["steps"][3]["selections"][0]
    assert {
        "edge",
        "score",
        "score_parts",
        "rank",
        "hop",
        "concept",
        "reasoning",
        "marker",
    } < selection.keys()
    assert {"s", "p", "o", "s_label", "p_label", "o_label"} == selection["edge"].keys()
    assert {
        "document", "title", "uri", "page_number", "chunk", "char_offset", "char_length", "quote", "verified",
    } < selection["sources"][0].keys()  # fmt: skip


def test_only_its_own_trace_is_read(sample: Sample, run: TraceRecorder) -> None:
    record(sample, "Another question?")
    assert len(read_trace(sample.store, run.session).steps) == 5


def test_an_unknown_trace_is_an_error(sample: Sample) -> None:
    with pytest.raises(UsageError, match="there is no trace"):
        read_trace(sample.store, "urn:trustgraph:session:0")


def test_a_trace_of_a_killed_run_can_be_read(sample: Sample) -> None:
    run = record(sample, closed=False)
    trace = read_trace(sample.store, run.session)
    assert (trace.outcome, trace.ended, trace.ms) == (None, None, None)


def test_missing_details_are_none(sample: Sample, run: TraceRecorder) -> None:
    item = NamedNode(f"urn:trustgraph:prov:edge:{run.run}:0")
    quads = [q for q in sample.store.quads(Graphs.RETRIEVAL) if q.subject == item]
    gone = (TG.score, RAG.rank, RAG.hop, TG.concept)
    sample.edit(remove=[Quad(*q) for q in quads if q.predicate in gone])
    selection = next(s for s in read_trace(sample.store, run.session).selections if s.iri == item)
    assert (selection.score, selection.rank, selection.hop, selection.concept) == (None,) * 4


def test_what_trustgraph_writes_is_read(sample: Sample) -> None:
    """Numbers and times as plain text, classes that have no kind here, blank nodes that do not belong."""
    base = "urn:trustgraph:"
    run = "0b0d4b9c-5c1e-4a35-8f57-0e4f8a6c2d11"
    session, question = NamedNode(f"{base}session:{run}"), NamedNode(f"{base}question:{run}")
    focus, edge = NamedNode(f"{base}prov:focus:{run}"), NamedNode(f"{base}prov:edge:{run}:0")
    plan, other = NamedNode(f"{base}agent:{run}/plan"), NamedNode(f"{base}agent:{run}/other")
    said: list[tuple[NamedNode, NamedNode, Term]] = [
        (session, PROV.startedAtTime, Literal("2026-01-02T03:04:05Z")),
        (session, TG.query, Literal("Who?")),
        (question, RDF.type, TG.Question),
        (question, TG.query, Literal("Who?")),
        (question, PROV.wasGeneratedBy, session),
        (focus, RDF.type, TG.Focus),
        (focus, PROV.wasDerivedFrom, question),
        (focus, PROV.wasGeneratedBy, session),
        (focus, TG.inToken, Literal("12")),
        (focus, TG.selectedEdge, edge),
        (edge, RDF.type, TG.EdgeSelection),
        (edge, TG.score, Literal("0.75")),
        (plan, RDF.type, TG.Plan),
        (plan, TG.planStep, Literal("first ask")),
        (plan, PROV.wasDerivedFrom, focus),
        (plan, PROV.wasGeneratedBy, session),
        (other, RDF.type, TG.Unheard),
        (other, TG.planStep, Literal("then ask")),
        (other, PROV.wasDerivedFrom, plan),
        (other, PROV.wasGeneratedBy, session),
    ]
    sample.edit(add=[Quad(*one, Graphs.RETRIEVAL) for one in said])
    trace = read_trace(sample.store, session)
    assert trace.started == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    (selection,) = step(trace, "focus").selections
    assert (selection.score, step(trace, "focus").in_tokens) == (0.75, 12)
    assert step(trace, "plan").values == {"goals": ["first ask"]}
    assert step(trace, "unheard").values == {"planStep": ["then ask"]}
    assert "first ask" in render_trace(trace, full=True)
    assert "planStep: then ask" in render_trace(trace, full=True)
    json.dumps(to_json(trace))
