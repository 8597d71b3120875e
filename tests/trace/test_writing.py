"""Traces are written beside the run: in order, told once they are stored, nothing after a failure; what
several runs have to write is one transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from pyoxigraph import Literal, Quad

from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import integer
from graphrag_rdf.steps.ground import GROUNDING
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.kinds import NodeKind
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import TraceRecorder
from tests.trace.conftest import Sample

WAIT = 20  # seconds; nothing here takes one


def begun(sample: Sample) -> TraceRecorder:
    recorder = TraceRecorder(sample.store, sample.blobs)
    begin = recorder.begin("Q?", pipeline="p", label="P", parameters={}, model=None)
    assert [recorder.written(message).kind for message in begin] == ["session", "question"]
    return recorder


def step(recorder: TraceRecorder, kind: str) -> GraphRagResponse:
    return recorder.finish(recorder.step(NodeKind(kind, TG[kind.capitalize()], "A step.")))


def stored(sample: Sample, message: GraphRagResponse) -> bool:
    quads = set(sample.store.quads(Graphs.RETRIEVAL))
    return all(quad in quads for quad in message.explain_triples)


class Gate:
    """Lets commits through one by one, or refuses them."""

    def __init__(self, commit: Callable[[Changes], int]) -> None:
        self.commit = commit
        self.open = threading.Semaphore(0)
        self.full = False
        self.waiting = 0

    def __call__(self, changes: Changes) -> int:
        self.waiting += 1
        assert self.open.acquire(timeout=WAIT)
        self.waiting -= 1
        if self.full:
            raise StoreError("the disk is full")
        return self.commit(changes)


@pytest.fixture
def gate(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate(sample.store.commit)
    monkeypatch.setattr(sample.store, "commit", gate)
    gate.open.release()  # session and question
    return gate


def test_a_run_goes_on_while_a_step_is_written(sample: Sample, gate: Gate) -> None:
    recorder = begun(sample)
    first, second = step(recorder, "grounding"), step(recorder, "exploration")
    assert not recorder.is_written(first)
    assert not stored(sample, first)
    gate.open.release(2)
    assert stored(sample, recorder.written(first))
    assert stored(sample, recorder.written(second))
    gate.open.release()
    recorder.end()


def test_what_waits_is_one_transaction(sample: Sample, gate: Gate) -> None:
    recorder, others = begun(sample), [TraceRecorder(sample.store, sample.blobs) for _ in range(5)]
    first = step(recorder, "grounding")
    while gate.waiting == 0:
        time.sleep(0.001)
    messages = [step(each, "grounding") for each in (recorder, *others, recorder)]
    gate.open.release(2)  # the first, and all that came meanwhile
    assert all(
        stored(sample, each.written(m))
        for each, m in zip((recorder, *others, recorder), messages, strict=True)
    )
    assert stored(sample, recorder.written(first))


def test_a_run_that_is_refused_fails_alone(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, begin = sample.store.commit, threading.Event()

    def refusing(changes: Changes) -> int:
        assert begin.wait(WAIT)
        if any(quad.object == Literal("odd") for quad in changes.add):
            raise StoreError("no such literal")
        return commit(changes)

    monkeypatch.setattr(sample.store, "commit", refusing)
    good, bad = (TraceRecorder(sample.store, sample.blobs) for _ in range(2))
    odd = bad.step(GROUNDING)
    bad.say(odd, RDFS.comment, Literal("odd"))
    first, refused, second, later = (
        step(good, "grounding"),
        bad.finish(odd),
        step(good, "exploration"),
        step(bad, "exploration"),
    )
    begin.set()
    assert stored(sample, good.written(first))
    assert stored(sample, good.written(second))
    for message in (refused, later):
        with pytest.raises(StoreError, match="no such literal"):
            bad.written(message)
    assert not stored(sample, later)


def test_after_a_failure_nothing_is_written_but_the_error(sample: Sample, gate: Gate) -> None:
    recorder = begun(sample)
    gate.full = True
    gate.open.release(3)
    first, second = step(recorder, "grounding"), step(recorder, "exploration")
    with pytest.raises(StoreError, match="full"):
        recorder.written(first)
    with pytest.raises(StoreError, match="full"):
        recorder.written(second)
    gate.full = False
    gate.open.release(2)
    (told, last) = recorder.fail(StoreError("the disk is full"), "StoreError")
    assert stored(sample, told)
    assert last.error is not None
    assert not stored(sample, first)
    assert not stored(sample, second)
    said = {quad.predicate: quad.object for quad in sample.store.quads(Graphs.RETRIEVAL)}
    assert RAG.reason in said


def test_an_error_that_could_not_be_stored_is_told_but_not_as_stored(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, commit = begun(sample), sample.store.commit

    def refusing(changes: Changes) -> int:
        if any(quad.object == TG.Error for quad in changes.add):
            raise StoreError("the disk is full")
        return commit(changes)

    monkeypatch.setattr(sample.store, "commit", refusing)
    assert [told.kind for told in recorder.fail(StoreError("it went wrong"), "StoreError")] == ["error"]
    ended = {quad.object for quad in sample.store.quads(Graphs.RETRIEVAL) if quad.predicate == RAG.outcome}
    assert ended == {Literal("failed")}


def test_the_end_waits_for_all(sample: Sample, gate: Gate) -> None:
    recorder = begun(sample)
    messages = [step(recorder, "grounding"), step(recorder, "exploration")]
    gate.open.release(3)
    recorder.end()
    assert all(stored(sample, message) for message in messages)


def test_all_runs_over_a_store_are_written_in_one_thread(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one for each run, a write took longer the more runs there had been."""
    threads, commit = set(), sample.store.commit

    def noting(changes: Changes) -> int:
        threads.add(threading.current_thread())
        return commit(changes)

    monkeypatch.setattr(sample.store, "commit", noting)
    for _ in range(3):
        begun(sample).end()
    assert len(threads) == 1
    assert threading.main_thread() not in threads


def test_what_is_not_to_be_stored_counts_as_written(sample: Sample) -> None:
    before = set(sample.store.quads())
    recorder = TraceRecorder(sample.store, sample.blobs, stored=False)
    message = step(recorder, "grounding")
    assert recorder.is_written(message)
    assert recorder.written(message) is message
    recorder.end()
    assert set(sample.store.quads()) == before


def test_what_was_handed_over_is_not_changed_by_what_comes_later(sample: Sample, gate: Gate) -> None:
    recorder = begun(sample)
    grounding = recorder.step(GROUNDING)
    message = recorder.finish(grounding)
    grounding.quads.append(Quad(grounding.iri, RDFS.comment, integer(1), Graphs.RETRIEVAL))
    gate.open.release(2)
    recorder.end()
    quads = set(sample.store.quads(Graphs.RETRIEVAL))
    assert stored(sample, message)
    assert any(q.subject == grounding.iri and q.predicate == RDF.type for q in quads)
    assert not any(q.predicate == RDFS.comment for q in quads)
