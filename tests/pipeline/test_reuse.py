"""Answers that are given again: when, at what cost, with which trace."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import plain_quads
from graphrag_rdf.trace import reuse
from graphrag_rdf.trace.catalogue import delete_trace
from graphrag_rdf.wings.audit.verify import verify
from tests.pipeline.test_with_a_model import CITED, QUESTION, model, settings
from tests.support.scripted_server import ScriptedServer
from tests.support.stores import open_engine

KEPT = {"answers.cache": True, "cache.enabled": False, "communities.reports": "extractive"}
VOLATILE = {"question_iri", "steps", "usage", "seconds", "cached", "original"}


@pytest.fixture
def engine(sample_folder: Path, tmp_path: Path, scripted_server: ScriptedServer) -> Iterator[Engine]:
    """The sample store with a scripted model, whose raw answers are not cached."""
    folder = tmp_path / "store"
    shutil.copytree(sample_folder, folder)
    scripted_server.answer_with(model(CITED))
    with open_engine(folder, config=settings(scripted_server, **KEPT)) as opened:
        yield opened


def ask(engine: Engine, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    *_, last = engine.ask(question, **options)
    assert last.answer is not None
    return last.answer


def test_the_same_answer_without_a_call(engine: Engine, scripted_server: ScriptedServer) -> None:
    first = ask(engine)
    asked = len(scripted_server.requests)
    messages = list(engine.ask(QUESTION))
    again = messages[-1].answer
    assert again is not None
    assert len(scripted_server.requests) == asked
    assert (first["cached"], again["cached"]) == (False, True)
    assert again["original"] == first["question_iri"] != again["question_iri"]
    assert {k: v for k, v in again.items() if k not in VOLATILE} == {
        k: v for k, v in first.items() if k not in VOLATILE
    }
    assert again["usage"]["llm_calls"] == 0
    assert [m.kind for m in messages] == ["session", "question", "answer", "synthesis", "final"]
    assert "".join(m.response for m in messages) == CITED


def test_other_reports_of_communities_end_the_reuse(engine: Engine, scripted_server: ScriptedServer) -> None:
    ask(engine)
    assert ask(engine)["cached"]
    engine.refresh("communities")
    assert not ask(engine)["cached"]
    assert ask(engine)["cached"]


def test_its_trace_leads_to_the_first(engine: Engine) -> None:
    ask(engine)
    synthesis = next(m for m in engine.ask(QUESTION) if m.kind == "synthesis")
    said = {quad.predicate: quad.object for quad in synthesis.explain_triples}
    assert text_of(said[RAG.mode]) == "cached"
    first = said[RAG.reusesAnswer]
    assert engine.store.select("trace/session-of", node=first)
    assert RAG.usedChunk in said
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    pytest.importorskip("pyshacl")
    assert run_shapes(plain_quads(engine.store)) == []


def test_its_trace_can_be_verified(engine: Engine) -> None:
    ask(engine)
    ask(engine)
    for row in engine.store.select("trace/list", pipelines=[], outcomes=[], texts=[], limit=2, offset=0):
        session = row["session"]
        assert isinstance(session, NamedNode)
        assert all(check.ok for check in verify(engine, session.value))


@pytest.mark.parametrize(
    "options",
    [
        {"question": f"{QUESTION} Please."},
        {"settings": {"synthesis.response_type": "a list"}},
        {"include": ["Rhoda Tennant"]},
        {"exclude": ["Rhoda Tennant"]},
        {"cache": False},
    ],
)
def test_not_of_another_question(engine: Engine, options: dict[str, Any]) -> None:
    ask(engine)
    assert not ask(engine, **options)["cached"]
    assert ask(engine)["cached"]


def test_not_of_another_model(engine: Engine, scripted_server: ScriptedServer) -> None:
    ask(engine)
    place = engine.place
    assert place is not None
    engine.close()
    for change in ({"llm.model": "openai/other"}, {"llm.temperature": 0.5}, {"answers.cache": False}):
        with open_engine(place.root, config=settings(scripted_server, **{**KEPT, **change})) as other:
            assert not ask(other)["cached"]
    with open_engine(place.root, config=settings(scripted_server, **KEPT)) as same:
        assert ask(same)["cached"]


def test_not_of_another_prompt(engine: Engine, tmp_path: Path, scripted_server: ScriptedServer) -> None:
    ask(engine)
    place = engine.place
    assert place is not None
    engine.close()
    from graphrag_rdf.resources import folder

    shutil.copytree(folder("pipelines") / "graph_rag", tmp_path / "own" / "graph_rag")
    with open_engine(place.root, config=settings(scripted_server, pipelines=tmp_path / "own", **KEPT)) as own:
        assert ask(own)["cached"]
    prompt = next((tmp_path / "own" / "graph_rag").glob("*.j2"))
    prompt.write_text(prompt.read_text("utf-8") + "\n", "utf-8")
    with open_engine(place.root, config=settings(scripted_server, pipelines=tmp_path / "own", **KEPT)) as own:
        assert not ask(own)["cached"]


def test_not_after_the_content_changed(engine: Engine, tmp_path: Path) -> None:
    ask(engine)
    (tmp_path / "new.txt").write_text("Ada Lovelace met Charles Babbage.")
    engine.settings.__dict__["extract"] = engine.settings.extract.model_copy(update={"use": "rules"})
    engine.ingest([tmp_path / "new.txt"])
    assert not ask(engine)["cached"]
    assert ask(engine)["cached"]
    ada, charles = iris.entity("ada-lovelace"), iris.entity("charles-babbage")
    merge(engine, [Merge(ada, (ada, charles))])
    assert not ask(engine)["cached"]


def test_traces_do_not_change_content(engine: Engine) -> None:
    ask(engine)
    ask(engine, "What is Skell Sound?")
    assert ask(engine)["cached"]


def test_not_without_a_model(sample_folder: Path, tmp_path: Path) -> None:
    """An extractive answer costs less than it takes to look whether it was given, and has paths to show."""
    shutil.copytree(sample_folder, tmp_path / "plain")
    with open_engine(tmp_path / "plain") as plain:
        assert not ask(plain)["cached"]
        assert not ask(plain)["cached"]
        assert reuse.stats(plain.store) == reuse.KeptStats(0, 0)


def test_an_answer_goes_with_its_trace(engine: Engine) -> None:
    first = ask(engine)
    again = ask(engine)
    (owner,) = engine.store.select("trace/session-of", node=NamedNode(first["question_iri"]))
    delete_trace(engine.store, engine.blobs, owner["session"].value)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert not ask(engine)["cached"]
    (left,) = engine.store.select("trace/session-of", node=NamedNode(again["question_iri"]))
    assert left


def test_clearing(engine: Engine) -> None:
    ask(engine)
    ask(engine)
    assert reuse.stats(engine.store) == reuse.KeptStats(1, 1)
    assert reuse.clear(engine.store, engine.blobs) == 1
    assert reuse.clear(engine.store, engine.blobs) == 0
    assert not ask(engine)["cached"]
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_forgetting_reaches_answers_given_again(engine: Engine) -> None:
    """Also where the first trace is gone: the words of the second go too."""
    first = ask(engine)
    again = ask(engine)
    (owner,) = engine.store.select("trace/session-of", node=NamedNode(first["question_iri"]))
    delete_trace(engine.store, engine.blobs, owner["session"].value)
    documents = sorted({source["document"] for source in again["sources"]})
    forget_documents(engine, find_documents(engine.store, documents))
    text = "invented the reversing gear. [1]"
    assert not any(text in str(quad) for quad in plain_quads(engine.store))
    objects = [engine.blobs.get(iri) or b"" for iri in engine.blobs.objects()]
    assert not any(text.encode() in data for data in objects)
    found = run_checks(engine.store, engine.blobs, engine.text_index)
    assert [violation for violation in found if violation.severity == "error"] == []
    (left,) = engine.store.select("trace/session-of", node=NamedNode(again["question_iri"]))
    assert not any(left["session"].value.rsplit(":", 1)[-1] in violation.focus for violation in found)  # type: ignore[union-attr]


def test_not_where_something_was_missing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer with a warning that may be gone next time is not kept."""
    from graphrag_rdf.steps.state import State

    original = State.__init__

    def degraded(self: State, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        self.warn("embedding_failed", "out of reach")

    monkeypatch.setattr(State, "__init__", degraded)
    ask(engine)
    assert not ask(engine)["cached"]


def test_a_trace_that_is_not_stored_keeps_nothing(engine: Engine) -> None:
    ask(engine, stored=False)
    assert not ask(engine)["cached"]
    assert not ask(engine, stored=False)["cached"]


def test_shown_with_what_it_leads_to(engine: Engine) -> None:
    first = ask(engine)
    again = ask(engine)
    from graphrag_rdf.trace.reader import read_trace
    from graphrag_rdf.trace.text import render_trace

    (owner,) = engine.store.select("trace/session-of", node=NamedNode(again["question_iri"]))
    session = owner["session"]
    assert isinstance(session, NamedNode)
    trace = read_trace(engine.store, session, engine.blobs)
    assert [step.kind for step in trace.steps] == ["question", "synthesis"]
    shown = render_trace(trace)
    assert "by cached" in shown
    assert "Given before:" in shown
    assert first["question_iri"].replace("question", "prov:synthesis") in shown
