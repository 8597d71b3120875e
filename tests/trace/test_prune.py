"""Traces that are taken out leave nothing behind, and take nothing that others need."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pyoxigraph import Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.retract import retract_chunks
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import now
from graphrag_rdf.steps.answer import SYNTHESIS
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace import recorder
from graphrag_rdf.trace.catalogue import delete_trace, keep_by_rule, list_traces, prune
from graphrag_rdf.trace.feedback import add_mark
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.wings.audit.verify import verify_trace
from tests.trace.conftest import ANSWER, Sample, nest, record


def everything(sample: Sample) -> tuple[set[Quad], set[str]]:
    """The quads of traces, and the objects of the blob store."""
    return set(sample.store.quads(Graphs.RETRIEVAL)), {iri.value for iri in sample.blobs.objects()}


def holds(sample: Sample, run: TraceRecorder) -> bool:
    return all(check.ok for check in verify_trace(sample.store, sample.blobs, run.session))


def test_nothing_is_left(sample: Sample) -> None:
    before = everything(sample)
    run = record(sample)
    taken = delete_trace(sample.store, sample.blobs, run.session)
    assert everything(sample) == before
    assert taken.traces == 1
    assert taken.objects == 4  # query, prompt, completion, answer


def test_what_others_name_stays(sample: Sample, run: TraceRecorder) -> None:
    other = record(sample)
    taken = delete_trace(sample.store, sample.blobs, run.session)
    assert taken.objects == 0
    assert holds(sample, other)


def test_sub_traces_go_with_their_parent(sample: Sample) -> None:
    before = everything(sample)
    parent, child, grandchild, other = (record(sample, name) for name in ("A?", "B?", "C?", "D?"))
    nest(sample, child, parent)
    nest(sample, grandchild, child, "focus")
    assert delete_trace(sample.store, sample.blobs, parent.session).traces == 3
    assert [summary.iri for summary in list_traces(sample.store, 9)] == [other.session.value]
    delete_trace(sample.store, sample.blobs, other.session)
    assert everything(sample) == before


def test_an_unknown_trace_is_an_error(sample: Sample) -> None:
    with pytest.raises(UsageError):
        delete_trace(sample.store, sample.blobs, "urn:trustgraph:session:0")


def test_keep_the_newest(sample: Sample) -> None:
    runs = [record(sample, f"{number}?") for number in range(5)]
    nest(sample, runs[4], runs[3])
    taken = prune(sample.store, sample.blobs, keep=2)
    assert to_json(taken) == {"traces": 2, "objects": 0, "chunks": 0}
    assert {s.iri for s in list_traces(sample.store, 9)} == {run.session.value for run in runs[2:]}


def test_older_than(sample: Sample) -> None:
    record(sample)
    moment = now() + timedelta(milliseconds=1)
    while now() <= moment:
        pass
    newer = record(sample)
    assert prune(sample.store, sample.blobs, older_than=timedelta(days=1)).traces == 0
    assert prune(sample.store, sample.blobs, older_than=moment).traces == 1
    assert [s.iri for s in list_traces(sample.store, 9)] == [newer.session.value]


def test_everything(sample: Sample) -> None:
    before = everything(sample)
    for _ in range(3):
        record(sample)
    assert prune(sample.store, sample.blobs, keep=0).traces == 3
    assert everything(sample) == before
    assert prune(sample.store, sample.blobs, keep=0).traces == 0


@pytest.mark.parametrize(
    ("rule", "left"),
    [("all", [0, 1, 2, 3]), ("2", [2, 3]), ("30 days", [1, 2, 3]), ("1 day", [3]), ("marked", [1, 3])],
)
def test_a_rule_says_which_traces_are_kept(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, rule: str, left: list[int]
) -> None:
    """Of 40, 20, 10 and 0 days ago; the second was marked."""
    runs = []
    for days in (40, 20, 10, 0):
        monkeypatch.setattr(recorder, "now", lambda days=days: now() - timedelta(days=days))
        runs.append(record(sample))
    monkeypatch.undo()
    add_mark(sample.store, runs[1].session, "helpful", graph=Graphs.RETRIEVAL)
    keep_by_rule(sample.store, sample.blobs, rule)
    kept = {summary.iri for summary in list_traces(sample.store, 9)}
    assert kept == {runs[number].session.value for number in left}


def test_something_must_say_what(sample: Sample) -> None:
    with pytest.raises(UsageError):
        prune(sample.store, sample.blobs)
    with pytest.raises(UsageError):
        prune(sample.store, sample.blobs, keep=-1)


def test_retired_chunks_go_with_the_last_trace_that_used_them(sample: Sample, run: TraceRecorder) -> None:
    other = record(sample)
    changes = Changes()
    retract_chunks(sample.store, [sample.letter_chunk], changes)
    sample.store.commit(changes)
    assert delete_trace(sample.store, sample.blobs, run.session).chunks == 0
    tombstone = Quad(sample.letter_chunk, RDF.type, RAG.Tombstone, Graphs.SOURCE)
    assert tombstone in set(sample.store.quads(Graphs.SOURCE))
    assert delete_trace(sample.store, sample.blobs, other.session).chunks == 1
    left = {quad.subject for quad in sample.store.quads(Graphs.SOURCE)}
    assert sample.letter_chunk not in left
    assert sample.subgraph(sample.letter_chunk) not in left
    assert {sample.first, iris.page(sample.report, 1)} <= left


def test_pruning_leaves_what_a_running_question_has_put(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is the same as that of a trace that goes; the store does not name it yet."""
    old = record(sample)
    running = TraceRecorder(sample.store, sample.blobs)
    begin = running.begin("Q?", pipeline="graph_rag", label="GraphRAG", parameters={}, model=None)
    assert all(map(running.written, begin))
    step = running.step(SYNTHESIS)
    kept = running.keep_text(ANSWER)
    running.say(step, RAG.storedText, kept)
    commit = sample.store.commit

    def late(changes: Changes) -> int:
        """Between the text and the triples that name it."""
        monkeypatch.undo()
        delete_trace(sample.store, sample.blobs, old.session)
        return commit(changes)

    monkeypatch.setattr(sample.store, "commit", late)
    running.written(running.finish(step))
    assert sample.blobs.text(kept) == ANSWER
    running.end()
    assert [summary.iri for summary in list_traces(sample.store, 9)] == [running.session.value]
    delete_trace(sample.store, sample.blobs, running.session)
    assert sample.blobs.text(kept) is None
