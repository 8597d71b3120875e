"""What `trace verify` finds when a trace is whole, and when it was tampered with."""

from __future__ import annotations

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.retract import retract_chunks
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PROV, RAG, TG, Graphs
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.sparql.render import encode
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.wings.audit.verify import Check, verify_trace
from tests.trace.conftest import ANSWER, FOUNDING, LETTER, Sample, make_sample, record

NAMES = [
    "session", "chain", "edges", "quotes", "sentences", "chunks", "offsets", "objects", "answer", "prompt",
    "citations", "ranking", "sources",
]  # fmt: skip


def failed(sample: Sample, run: TraceRecorder) -> dict[str, Check]:
    """The checks that do not hold."""
    checks = verify_trace(sample.store, sample.blobs, run.session)
    assert [check.check for check in checks] == NAMES
    return {check.check: check for check in checks if not check.ok}


def replace(
    sample: Sample, subject: NamedNode, predicate: NamedNode, graph: NamedNode, value: Literal
) -> None:
    """Give a property one other value."""
    old = [q for q in sample.store.quads(graph) if (q.subject, q.predicate) == (subject, predicate)]
    assert old
    sample.edit(remove=old, add=[Quad(subject, predicate, value, graph)])


def test_a_whole_trace_holds(sample: Sample, run: TraceRecorder) -> None:
    assert failed(sample, run) == {}
    details = {c.check: c.detail for c in verify_trace(sample.store, sample.blobs, run.session)}
    assert details["edges"] == "3 of 3 selected facts are asserted and contained"
    assert details["quotes"] == "3 of 3 quotes stand at their offsets; 1 were never located and say so"


def test_an_unknown_trace_is_an_error(sample: Sample) -> None:
    with pytest.raises(UsageError):
        verify_trace(sample.store, sample.blobs, "urn:trustgraph:session:0")


def test_a_fact_that_is_no_longer_asserted() -> None:
    sample = make_sample("rdf12")
    run = record(sample)
    sample.edit(remove=[Quad(*FOUNDING, DefaultGraph())])
    found = failed(sample, run)
    assert found.keys() == {"edges"}
    assert found["edges"].detail == "(Ada, founded, mill) is no longer asserted"


def test_a_fact_that_nothing_contains(sample: Sample, run: TraceRecorder) -> None:
    for chunk in (sample.letter_chunk, sample.first):
        contained = Quad(sample.subgraph(chunk), TG.contains, Triple(*FOUNDING), Graphs.SOURCE)
        dialect = sample.store.renderer.dialect
        links = [q for q in encode([contained], dialect) if q.predicate == TG.contains]
        sample.edit(remove=links)
    assert "is no longer contained" in failed(sample, run)["edges"].detail


def test_a_quote_that_was_changed(sample: Sample, run: TraceRecorder) -> None:
    evidence = sample.evidence(sample.letter_chunk, FOUNDING, LETTER, "Ada founded the mill in 1903.")
    replace(sample, evidence, TG.sourceText, Graphs.SOURCE, Literal("Ada founded the mill in 1904."))
    found = failed(sample, run)
    assert found.keys() == {"quotes"}
    assert found["quotes"].detail == "“Ada founded the mill in 1904.” is not at 0"


def test_a_quote_at_another_offset(sample: Sample, run: TraceRecorder) -> None:
    evidence = sample.evidence(sample.letter_chunk, FOUNDING, LETTER, "Ada founded the mill in 1903.")
    replace(sample, evidence, TG.sourceCharOffset, Graphs.SOURCE, integer(1))
    assert failed(sample, run).keys() == {"quotes"}


def test_evidence_of_another_fact(run: TraceRecorder, sample: Sample) -> None:
    other = sample.evidence(sample.letter_chunk, FOUNDING, LETTER, "Ada founded the mill in 1903.")
    selection = NamedNode(f"urn:trustgraph:prov:edge:{run.run}:1")
    sample.edit(add=[Quad(selection, RAG.supportedBy, other, Graphs.RETRIEVAL)])
    assert "does not speak of (mill, stands in, Corvane)" in failed(sample, run)["quotes"].detail


def test_evidence_that_is_gone(sample: Sample, run: TraceRecorder) -> None:
    evidence = sample.evidence(sample.letter_chunk, FOUNDING, LETTER, "Ada founded the mill in 1903.")
    sample.edit(remove=[q for q in sample.store.quads(Graphs.SOURCE) if q.subject == evidence])
    assert failed(sample, run).keys() == {"quotes"}


def test_a_chunk_whose_text_was_changed(sample: Sample, run: TraceRecorder) -> None:
    replace(sample, sample.first, TG.content, Graphs.SOURCE, Literal("Eve founded the mill."))
    assert failed(sample, run).keys() == {"quotes", "chunks", "offsets"}


def test_a_sentence_that_leaves_its_chunk(sample: Sample, run: TraceRecorder) -> None:
    sentence = iris.sentence(sample.letter_chunk, 1)
    replace(sample, sentence, TG.charLength, Graphs.SOURCE, integer(900))
    assert failed(sample, run).keys() == {"sentences"}


def test_a_sentence_that_is_gone(sample: Sample, run: TraceRecorder) -> None:
    sentence = iris.sentence(sample.letter_chunk, 1)
    sample.edit(remove=[q for q in sample.store.quads(Graphs.SOURCE) if q.subject == sentence])
    assert "is gone" in failed(sample, run)["sentences"].detail


def test_a_chunk_at_another_offset(sample: Sample, run: TraceRecorder) -> None:
    replace(sample, sample.second, TG.charOffset, Graphs.SOURCE, integer(40))
    assert "does not stand at 40" in failed(sample, run)["offsets"].detail


def test_a_document_without_its_text(sample: Sample, run: TraceRecorder) -> None:
    sample.blobs.delete(iris.stored_object(iris.digest(LETTER)))
    assert "missing or damaged" in failed(sample, run)["offsets"].detail


def test_a_prompt_that_is_gone(sample: Sample, run: TraceRecorder) -> None:
    sample.blobs.delete(iris.stored_object(iris.digest("Which?")))
    assert failed(sample, run).keys() == {"objects"}


def test_an_answer_that_was_changed(sample: Sample, run: TraceRecorder) -> None:
    synthesis = iris.trace_step("synthesis", run.run)
    replace(sample, synthesis, TG.content, Graphs.RETRIEVAL, Literal(ANSWER.replace("Ada", "Eve")))
    assert failed(sample, run).keys() == {"answer"}


def test_a_citation_of_another_trace(sample: Sample, run: TraceRecorder) -> None:
    other = record(sample)
    sentence = iris.trace_item("sentence", run.run, 0)
    foreign = iris.trace_item("edge", other.run, 0)
    sample.edit(add=[Quad(sentence, RAG.cites, foreign, Graphs.RETRIEVAL)])
    assert "was not selected in this trace" in failed(sample, run)["citations"].detail


def test_a_citation_without_its_mark(sample: Sample, run: TraceRecorder) -> None:
    sentence = iris.trace_item("sentence", run.run, 0)
    second = iris.trace_item("edge", run.run, 1)
    sample.edit(add=[Quad(sentence, RAG.cites, second, Graphs.RETRIEVAL)])
    assert failed(sample, run).keys() == {"citations"}


def test_a_run_that_was_killed(sample: Sample) -> None:
    run = record(sample, closed=False)
    assert "never closed" in failed(sample, run)["session"].detail


def test_an_outcome_without_its_step(sample: Sample) -> None:
    run = TraceRecorder(sample.store, sample.blobs)
    list(run.begin("Why?", pipeline="p", label="P", parameters={}, model=None))
    run.end()
    assert "no such step" in failed(sample, run)["session"].detail


def test_a_cancelled_run_is_whole(sample: Sample) -> None:
    run = TraceRecorder(sample.store, sample.blobs)
    list(run.begin("Why?", pipeline="p", label="P", parameters={}, model=None))
    run.end("cancelled")
    assert failed(sample, run) == {}


def test_a_broken_chain(sample: Sample, run: TraceRecorder) -> None:
    focus, exploration = (iris.trace_step(step, run.run) for step in ("focus", "exploration"))
    sample.edit(remove=[Quad(focus, PROV.wasDerivedFrom, exploration, Graphs.RETRIEVAL)])
    detail = failed(sample, run)["chain"].detail
    assert "focus" in detail
    assert "synthesis" in detail


def test_a_step_of_nothing(sample: Sample, run: TraceRecorder) -> None:
    focus = iris.trace_step("focus", run.run)
    sample.edit(add=[Quad(focus, PROV.wasDerivedFrom, NamedNode("urn:nowhere"), Graphs.RETRIEVAL)])
    assert "urn:nowhere, which is not there" in failed(sample, run)["chain"].detail


EDITED = """
PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>
DELETE { GRAPH ?g { ?version prov:generatedAtTime ?read } }
INSERT { GRAPH ?g { ?version prov:generatedAtTime "2999-01-01T00:00:00Z"^^xsd:dateTime } }
WHERE { GRAPH ?g { ?document rag:currentVersion ?version . ?version prov:generatedAtTime ?read } }
"""
"""The current version of a document was read after the question."""


def test_an_edited_document(sample: Sample, run: TraceRecorder) -> None:
    """Retired sources keep their quotes and are named; what only they said has changed."""
    changes = Changes()
    retract_chunks(sample.store, [sample.letter_chunk], changes)
    sample.store.commit(changes)
    sample.store.update(EDITED)
    found = {check.check: check for check in verify_trace(sample.store, sample.blobs, run.session)}
    assert [name for name, check in found.items() if check.ok is False] == []
    assert [name for name, check in found.items() if check.changed] == ["edges", "sources"]
    assert "(mill, stands in, Corvane) is not in the documents since an edit" in found["edges"].detail
    assert "was retired by an edit" in found["sources"].detail


def test_a_retired_chunk_whose_text_was_changed(sample: Sample, run: TraceRecorder) -> None:
    """What is kept for a trace must still be what the trace saw."""
    changes = Changes()
    retract_chunks(sample.store, [sample.letter_chunk], changes)
    sample.store.commit(changes)
    text = next(
        q
        for q in sample.store.quads(Graphs.SOURCE)
        if (q.subject, q.predicate) == (sample.letter_chunk, TG.content)
    )
    sample.edit(remove=[text], add=[prov.source(sample.letter_chunk, TG.content, Literal("forged"))])
    assert "its text is not the one" in failed(sample, run)["chunks"].detail


def test_a_forgotten_document(sample: Sample, run: TraceRecorder) -> None:
    sample.store.commit(Changes(updates=[("ingest/retract-chunks", {"chunks": [sample.letter_chunk]})]))
    found = failed(sample, run)
    assert f"{sample.letter_chunk.value}: source forgotten" in found["sources"].detail
    assert {"quotes", "sentences"} <= found.keys()


def test_repeated_texts_keep_their_names(sample: Sample) -> None:
    """A chunk is named after its text and which occurrence it is; the second one holds too."""
    twin = iris.chunk(sample.letter, iris.digest(LETTER), 1)
    quads = [*prov.chunk(twin, sample.letter, LETTER), *prov.chunk_place(twin, 1, 0, [sample.letter])]
    sample.store.commit(Changes(add=quads))
    run = record(sample)
    used = Quad(iris.trace_item("edge", run.run, 2), RAG.usedChunk, twin, Graphs.RETRIEVAL)
    sample.edit(add=[used])
    assert failed(sample, run) == {}


def test_many_failures_are_summed_up(sample: Sample, run: TraceRecorder) -> None:
    for number in range(8):
        sentence = iris.trace_item("sentence", run.run, 0)
        foreign = NamedNode(f"urn:foreign:{number}")
        sample.edit(add=[Quad(sentence, RAG.cites, foreign, Graphs.RETRIEVAL)])
    assert failed(sample, run)["citations"].detail.endswith("and 3 more")
