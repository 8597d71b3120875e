"""The same corpus gives the same store, answers and traces, whatever keeps the triples."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode, Quad, RdfFormat, Triple, parse

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange.dump import export_graph
from graphrag_rdf.exchange.import_ import import_file
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import ENDPOINT_NODE, PROV, RAG, STORE_NODE, Graphs
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.trace.catalogue import list_traces
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.wings.audit.replay import replay
from graphrag_rdf.wings.audit.verify import verify
from tests.support.sample_stores import SAMPLES
from tests.support.stores import open_engine

pytestmark = pytest.mark.every_kind

QUESTIONS = ("Who owned the Petrel?", "What caused the failure of Gate 4?", "Who is the king of Ruritania?")
RUN = re.compile(r"(?<=urn:trustgraph:)([a-z:-]+?):[0-9a-f]{8}-[0-9a-f-]{27}|(?<=ingest:)[0-9a-f-]{36}")
CHANGING = {
    *(PROV.startedAtTime, PROV.endedAtTime, PROV.generatedAtTime, PROV.invalidatedAtTime),
    *(RAG.startedAt, RAG.durationMs, RAG.milliseconds, RAG.commit, RAG.contentCommit),
    RAG.sparql,  # the text of a query, by hash: it holds the run's own IRIs, and is spelled for the engine
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a store came to hold, and to say."""

    content: set[Quad]
    traces: set[Quad]
    answers: list[dict[str, Any]]
    hybrid: dict[str, float]
    steps: dict[str, list[str]]


def asked(engine: Engine) -> list[dict[str, Any]]:
    """The answers, without what is different each time."""
    found = []
    for question in QUESTIONS:
        answer = [*engine.ask(question)][-1].answer
        assert answer is not None
        kept = {k: v for k, v in answer.items() if k not in ("seconds", "steps", "question_iri", "usage")}
        found.append(json.loads(RUN.sub("RUN", json.dumps(kept, sort_keys=True))))
    return found


def alike(term: Any) -> Any:
    """A term with runs made equal."""
    if isinstance(term, NamedNode):
        return NamedNode(RUN.sub(lambda found: found[1] or "RUN", term.value))
    return term


def seen(engine: Engine) -> Seen:
    """Look at a store."""
    answers = asked(engine)
    content, traces = set(), set()
    for quad in plain_quads(engine.store):
        if quad.predicate in CHANGING or quad.subject in (ENDPOINT_NODE, STORE_NODE):
            continue
        same = Quad(alike(quad.subject), quad.predicate, alike(quad.object), quad.graph_name)
        (traces if quad.graph_name == Graphs.RETRIEVAL else content).add(same)
    ranked = engine.retrieve(QUESTIONS[1], k=10, pipeline="hybrid_rag")["results"]
    read = [read_trace(engine.store, trace.iri) for trace in list_traces(engine.store, len(QUESTIONS))]
    steps = {trace.question: [step.kind for step in trace.steps] for trace in read}
    return Seen(content, traces, answers, {result["chunk"]: result["score"] for result in ranked}, steps)


@pytest.fixture(scope="module")
def engine(store_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The sample documents in a store of the kind in turn."""
    with open_engine(tmp_path_factory.mktemp(store_kind) / "store", config=Settings()) as opened:
        opened.ingest(SAMPLES)
        yield opened


@pytest.fixture(scope="module")
def here(engine: Engine) -> Seen:
    return seen(engine)


@pytest.fixture(scope="session")
def embedded() -> Seen:
    """What an embedded store holds and says."""
    with Engine.open(":memory:", config=Settings()) as opened:
        opened.ingest(SAMPLES)
        return seen(opened)


def test_the_same_corpus_gives_the_same_store(here: Seen, embedded: Seen) -> None:
    assert here.content - embedded.content == set()
    assert embedded.content - here.content == set()


def test_the_same_questions_get_the_same_answers(here: Seen, embedded: Seen) -> None:
    assert here.answers == embedded.answers
    assert here.answers[0]["citations"]


def test_the_composite_score_is_the_same(here: Seen, embedded: Seen) -> None:
    """All of it is worked out by the engine, which may add up in another order."""
    assert here.hybrid == pytest.approx(embedded.hybrid)
    assert len(here.hybrid) > 1


def test_their_traces_say_the_same(here: Seen, embedded: Seen) -> None:
    assert here.traces - embedded.traces == set()
    assert embedded.traces - here.traces == set()
    assert any(isinstance(quad.object, Triple) for quad in here.traces)


def test_nothing_is_wrong_with_it(engine: Engine, here: Seen) -> None:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(plain_quads(engine.store)) == []


def test_traces_hold_what_they_claim(engine: Engine, here: Seen) -> None:
    traces = list_traces(engine.store, 10)
    assert len(traces) == len(QUESTIONS)
    for trace in traces:
        assert [c for c in verify(engine, trace.iri) if not c.ok] == []


def test_traces_are_read_back_the_same(here: Seen, embedded: Seen) -> None:
    assert here.steps == embedded.steps
    assert ["question", "grounding", "exploration", "focus", "synthesis"] in here.steps.values()


def test_a_question_that_is_asked_again_comes_out_the_same(engine: Engine, here: Seen) -> None:
    """Of a copy that is in the dialect of this program, whatever that of the endpoint is."""
    for trace in list_traces(engine.store, 10):
        assert replay(engine, trace.iri).differences == []


def test_a_second_ingest_writes_nothing(engine: Engine) -> None:
    before = engine.store.commit_number()
    report = engine.ingest(SAMPLES)
    assert (report.documents.unchanged, report.quads) == (len(SAMPLES), 0)
    assert engine.store.commit_number() == before


@pytest.mark.parametrize("dialect", ["rdf12", "classic"])
def test_an_export_is_taken_in_elsewhere(engine: Engine, here: Seen, tmp_path: Path, dialect: Any) -> None:
    out = io.BytesIO()
    export_graph(engine.store, out, "nquads", dialect=dialect)
    file = tmp_path / "all.nq"
    file.write_bytes(out.getvalue())
    if dialect == "rdf12":
        exported = set(parse(out.getvalue(), format=RdfFormat.N_QUADS))
        assert exported == set(plain_quads(engine.store))
    with open_engine(":memory:", config=Settings()) as other:
        import_file(other, file)
        assert asked(other) == here.answers


def test_a_deleted_index_is_built_anew_from_the_store(engine: Engine, here: Seen) -> None:
    engine.rebuild_indexes()
    assert asked(engine) == here.answers


def test_what_is_forgotten_is_gone(engine: Engine, here: Seen, store_kind: str) -> None:
    """The last test: it changes the store that the others look at."""
    gone = forget_documents(engine, find_documents(engine.store, [str(SAMPLES[0])]))
    assert gone.chunks
    assert [warning["type"] for warning in gone.warnings] == ["not_purged"] * (store_kind != "embedded")
    found = run_checks(engine.store, engine.blobs, engine.text_index)
    assert {violation.check for violation in found} <= {"object-missing"}  # of the traces that were erased
    left = list(engine.store.quads())
    assert "Walter Pennock owned the Petrel" not in " ".join(map(str, left))
    spoken_of = {quad.object for quad in left}
    statements = {quad.subject for quad in left if str(quad.subject).startswith("<urn:statement:")}
    assert statements <= spoken_of  # where they have nodes of their own
