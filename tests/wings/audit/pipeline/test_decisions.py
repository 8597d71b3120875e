"""What a trace took was decided by queries, which give the same again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG, TG, Graphs
from graphrag_rdf.rdf.terms import double, integer, number_of, text_of
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Changes
from graphrag_rdf.wings.audit.pack import make_pack
from graphrag_rdf.wings.audit.pack_verify import verify_pack
from graphrag_rdf.wings.audit.verify import Check, verify
from tests.support.sample_stores import store_of
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

QUESTION = "Who whistled in Mill Harbour?"
PETREL = "http://trustgraph.ai/e/petrel"


def asked(engine: Engine, question: str, pipeline: str = "graph_rag", **chosen: Any) -> str:
    """Ask a question; its session."""
    messages = list(engine.ask(question, pipeline, **chosen))
    return str(messages[0].explain_id)


def ranking(engine: Engine, session: str) -> Check:
    """What `trace verify` says of the queries that decided."""
    checks = verify(engine, session)
    return next(check for check in checks if check.check == "ranking")


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Engine]:
    """Six documents about a harbour."""
    for number, line in enumerate(
        [
            "Tilda Voss visited Mill Harbour.",
            "Olga Brandt whistled in Mill Harbour.",
            *(f"Pier number {n} belongs to Mill Harbour." for n in range(1, 5)),
        ]
    ):
        (tmp_path / f"{number}.txt").write_text(line + "\n")
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([tmp_path])
        yield engine


@pytest.fixture
def session(harbour: Engine) -> str:
    """A question that was answered."""
    return asked(harbour, QUESTION)


@pytest.mark.parametrize("pipeline", ["graph_rag", "hybrid_rag"])
@pytest.mark.parametrize("question", ["Who owned the Petrel?", "how high is the tide"])
def test_the_queries_that_decided_return_the_same_rows_again(
    samples: Engine, question: str, pipeline: str
) -> None:
    session = asked(samples, question, pipeline)
    decided = samples.store.select("audit/decisions-taken", session=NamedNode(session))
    templates = {row["template"] for row in decided}
    ranked_by = {"graph_rag": "retrieval/ranked", "hybrid_rag": "retrieval/composite"}[pipeline]
    assert templates >= {ranked_by, "retrieval/evidence"}
    check = ranking(samples, session)
    assert check.ok
    assert check.detail == f"{len(decided)} of {len(decided)} queries that decided return the same rows again"


@pytest.mark.parametrize("dialect", ["rdf12", "classic"])
def test_an_untouched_store_gives_the_same_in_each_dialect(samples: Engine, dialect: Dialect) -> None:
    """Endpoints that speak the others: see remote/test_same_everywhere."""
    store = store_of(samples.store.quads(), dialect)
    with Engine(store, samples.blobs, samples.settings, None) as engine:
        check = ranking(engine, asked(engine, "Who owned the Petrel?"))
    assert check.ok
    found = {one.template: (one.rows, one.order, one.scores) for one in check.queries}
    assert {"retrieval/reached", "retrieval/ranked", "retrieval/evidence"} <= found.keys()
    assert {*found.values()} == {(True, True, True)}


@pytest.mark.parametrize("dialect", ["rdf12", "classic"])
def test_a_pack_proves_them_without_the_store(samples: Engine, dialect: Dialect, tmp_path: Path) -> None:
    store = store_of(samples.store.quads(), dialect)
    with Engine(store, samples.blobs, samples.settings, None) as engine:
        pack = make_pack(store, engine.blobs, asked(engine, "Who owned the Petrel?"), lambda *_: None)
    (tmp_path / "answer.zip").write_bytes(pack.to_zip())
    assert pack.unproved == []
    assert verify_pack(tmp_path / "answer.zip").ok


def test_other_scores_and_another_order_are_told(harbour: Engine, session: str) -> None:
    """The hashes of the order and of the scores are changed, one after the other."""
    call = next(
        q.subject
        for q in harbour.store.quads(Graphs.RETRIEVAL)
        if (q.predicate, q.object) == (RAG.template, Literal("retrieval/evidence"))
    )
    (kept,) = [
        q for q in harbour.store.quads(Graphs.RETRIEVAL) if (q.subject, q.predicate) == (call, RAG.resultHash)
    ]
    order, rows, _ = kept.object.value.split()
    for told, values in (
        ("other scores", (order, rows, "0" * 16)),
        ("another order", ("0" * 64, rows, "0" * 16)),
        ("other rows", ("0" * 64, "0" * 16, "0" * 16)),
    ):
        changed = Quad(call, RAG.resultHash, Literal(" ".join(values)), Graphs.RETRIEVAL)
        harbour.store.commit(Changes(remove=[kept], add=[changed], content=False))
        kept = changed
        check = ranking(harbour, session)
        assert not check.ok
        assert check.detail.startswith("retrieval/evidence (")
        assert check.detail.endswith(f": {told}")


def test_the_deciding_query_returns_the_recorded_ranking(samples: Engine) -> None:
    found = samples.retrieve("Who owned the Petrel?", k=10, stored=True)
    decided = samples.store.select("audit/decisions-taken", session=NamedNode(found["trace"]))
    last = [row for row in decided if row["template"] == "retrieval/ranked"][-1]
    rows = samples.store.query(samples.blobs.text(last["sparql"]) or "").rows or []
    assert [text_of(row["chunk"]) for row in rows][:10] == [one["chunk"] for one in found["results"]]
    scores = [number_of(row["score"]) for row in rows][:10]
    assert scores == pytest.approx([one["score"] for one in found["results"]], abs=1e-12)


def test_nothing_that_is_excluded_is_taken_by_a_query_either(samples: Engine) -> None:
    session = asked(samples, "Who owned the Petrel?", exclude=[PETREL])
    assert ranking(samples, session).ok


def replaced(engine: Engine, predicate: NamedNode, old: Literal, new: Literal) -> None:
    """Change what the trace says of the ranked chunk with this rank or score."""
    items = {q.object for q in engine.store.quads(Graphs.RETRIEVAL) if q.predicate == RAG.rankedPassage}
    found = [
        q
        for q in engine.store.quads(Graphs.RETRIEVAL)
        if q.subject in items and q.predicate == predicate and q.object == old
    ]
    assert found
    added = [Quad(q.subject, q.predicate, new, q.graph_name) for q in found]
    engine.store.commit(Changes(remove=found, add=added, content=False))


def test_a_rank_that_was_changed_is_found(harbour: Engine, session: str) -> None:
    replaced(harbour, RAG.rank, integer(1), integer(7))
    check = ranking(harbour, session)
    assert not check.ok
    assert "had rank 7 and has 1 now" in check.detail


def test_a_score_that_was_changed_is_found(harbour: Engine, session: str) -> None:
    row = harbour.store.select("audit/ranked", session=NamedNode(session))[0]
    replaced(harbour, TG.score, Literal(row["score"]), double(0.999))
    check = ranking(harbour, session)
    assert not check.ok
    assert "had score 0.999000" in check.detail


def test_rows_that_differ_are_found(harbour: Engine, session: str) -> None:
    quads = [q for q in harbour.store.quads(Graphs.RETRIEVAL) if q.predicate == RAG.resultHash]
    changed = [Quad(quads[0].subject, RAG.resultHash, Literal("0" * 64), quads[0].graph_name)]
    harbour.store.commit(Changes(remove=quads[:1], add=changed, content=False))
    check = ranking(harbour, session)
    assert not check.ok
    assert "other rows" in check.detail


def test_a_query_that_calls_another_server_is_not_run(
    harbour: Engine, session: str, scripted_server: ScriptedServer
) -> None:
    """Who verifies the trace of somebody else runs no query of theirs that reaches out."""
    address = f"{scripted_server.host_url}/sparql"
    planted = harbour.blobs.put(f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}")
    (call, *_) = [q.object for q in harbour.store.quads(Graphs.RETRIEVAL) if q.predicate == RAG.decidedBy]
    quads = [
        q for q in harbour.store.quads(Graphs.RETRIEVAL) if (q.subject, q.predicate) == (call, RAG.sparql)
    ]
    changed = [Quad(quads[0].subject, RAG.sparql, planted, quads[0].graph_name)]
    harbour.store.commit(Changes(remove=quads, add=changed, content=False))
    check = ranking(harbour, session)
    assert not check.ok
    assert "is not run: it calls another server" in check.detail
    assert scripted_server.requests == []


def test_after_an_ingest_differences_are_told_and_are_no_fault(
    harbour: Engine, session: str, tmp_path: Path
) -> None:
    (tmp_path / "more.txt").write_text("Olga Brandt sang in Mill Harbour. Tilda Voss heard Olga Brandt.\n")
    harbour.ingest([tmp_path / "more.txt"])
    check = ranking(harbour, session)
    assert (check.ok, check.changed) == (None, True)
    assert check.detail.startswith("the store has changed since; ")
    assert any(query.template == "retrieval/ranked" and query.ok is False for query in check.queries)


def test_a_summary_keeps_no_queries(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Olga Brandt whistled in Mill Harbour.\n")
    with open_engine(":memory:", config=Settings(trace={"detail": "summary"})) as engine:  # type: ignore[arg-type]
        engine.ingest([tmp_path])
        session = asked(engine, QUESTION)
        check = ranking(engine, session)
    assert check.ok is None
    assert not check.changed
    assert "was not kept" in check.detail
