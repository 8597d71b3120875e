"""Questions of traces asked again: as they were, and as if something were not there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import load_settings
from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.exchange import import_file
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.wings.audit.replay import ask_without, replay
from graphrag_rdf.wings.audit.verify import verify
from tests.support.commands import documents_in
from tests.support.scripted_server import Reply, Request, ScriptedServer, number_of, shown

QUESTION = "Where was Andrew Orr born?"
BORN = ("Andrew Orr", "was born in", "Arnhythe")


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("replay")
    with Engine.open(place / "store") as engine:
        engine.ingest([documents_in(place)])
    return place


@pytest.fixture
def engine(ingested: Path, tmp_path: Path) -> Iterator[Engine]:
    shutil.copytree(ingested / "store", tmp_path / "store")
    with Engine.open(tmp_path / "store") as opened:
        yield opened


def ask(engine: Engine, question: str = QUESTION, **options: object) -> str:
    *_, last = engine.ask(question, **options)  # type: ignore[arg-type]
    assert last.answer is not None
    return str(last.answer["answer"])


def everything(engine: Engine) -> tuple[set[str], set[str], int]:
    quads = {str(quad) for quad in engine.store.quads()}
    return quads, {iri.value for iri in engine.blobs.objects()}, engine.store.commit_number()


@pytest.mark.parametrize(
    ("pipeline", "settings"),
    [
        ("graph_rag", {}),
        ("hops_rag", {"synthesis.suggestions": "2", "focus.min_score": "0.2"}),
        ("hybrid_rag", {"exploration.relation_hops": "2"}),
        ("doc_rag", {"focus.diversity": "mmr", "exploration.chunk_limit": "4"}),
        ("basic", {}),
    ],
)
def test_the_same_comes_out_and_nothing_is_left(
    engine: Engine, pipeline: str, settings: dict[str, str]
) -> None:
    ask(engine, pipeline=pipeline, settings=settings)
    before = everything(engine)
    done = replay(engine, "last")
    assert done.differences == []
    assert done.same
    assert done.after.parameters == done.before.parameters
    assert everything(engine) == before
    assert engine.place is not None
    assert not engine.place.snapshots.exists()


def test_what_an_edit_changed_is_told(tmp_path: Path) -> None:
    file = documents_in(tmp_path) / "harbour.md"
    with Engine.open(tmp_path / "store") as engine:
        engine.ingest([tmp_path / "documents"])
        ask(engine)
        file.write_text(file.read_text().replace("born in Arnhythe", "born in Tarnay"))
        engine.ingest([tmp_path / "documents"])
        done = replay(engine, "last")
    assert not done.same
    answers = {one.what: one for one in done.differences}["answer"]
    assert "Arnhythe" in str(answers.before)
    assert "Tarnay" in str(answers.after)


def test_entities_and_sessions_are_those_of_the_trace(engine: Engine) -> None:
    ask(engine, "Who designed Drumlaw Head Lighthouse?")
    ask(engine, "Where was he born?", session="last", exclude=["Walter Pennock"], include=["Port Merrin"])
    done = replay(engine, "last")
    assert done.same
    assert done.differences == []
    assert done.after.continues == done.before.continues is not None
    assert [iri.rpartition("/")[2] for iri in done.after.include] == ["port-merrin"]
    assert [iri.rpartition("/")[2] for iri in done.after.exclude] == ["walter-pennock"]
    ask(engine, "Where was he born?")
    assert not engine.traces["last"].include


def test_a_trace_is_left_where_it_is_asked_for(engine: Engine) -> None:
    ask(engine)
    done = replay(engine, "last", stored=True)
    assert done.kept
    assert engine.traces["last"].iri == done.after.iri != done.before.iri
    assert all(check.ok for check in verify(engine, "last"))


def test_the_same_in_memory(ingested: Path) -> None:
    with Engine.open(":memory:") as engine:
        engine.ingest([ingested / "documents"])
        ask(engine)
        before = everything(engine)
        assert replay(engine, "last").same
        assert ask_without(engine, "last", documents=["documents/harbour.md"]).changed
        assert everything(engine) == before


def test_without_a_document(engine: Engine) -> None:
    answer = ask(engine)
    before = everything(engine)
    done = ask_without(engine, "last", documents=["documents/harbour.md"])
    assert done.before.answer == answer
    assert "Arnhythe" not in str(done.after.answer)
    assert done.changed
    assert done.since == []
    assert {one.what for one in done.differences} >= {"selection", "answer"}
    assert everything(engine) == before
    assert ask(engine) == answer
    assert not ask_without(engine, "last", documents=["documents/company.txt"]).changed


def test_without_a_fact_and_its_sentences(engine: Engine) -> None:
    ask(engine)
    left = ask_without(engine, "last", facts=[BORN])
    gone = {one.before for one in left.differences if one.what == "selection"}
    assert "Andrew Orr was born in Arnhythe" in gone
    assert "Arnhythe" not in str(left.after.answer)
    done = ask_without(engine, "last", facts=[BORN], with_sentences=True)
    assert "Arnhythe" not in str(done.after.answer)
    assert engine.facts.decisions(every=True) == []


def test_without_a_chunk_or_an_imported_file(engine: Engine, tmp_path: Path) -> None:
    ask(engine)
    cited = next(one for one in engine.traces["last"].selections if one.marker)
    chunk = cited.sources[0].chunk
    assert "Arnhythe" not in str(ask_without(engine, "last", sources=[str(chunk)]).after.answer)
    (tmp_path / "people.nt").write_text(
        '<urn:mona> <http://www.w3.org/2000/01/rdf-schema#label> "Mona Kell" .\n'
        "<urn:mona> <urn:founded> <urn:society> .\n"
        '<urn:society> <http://www.w3.org/2000/01/rdf-schema#label> "Lantern Society" .\n'
    )
    import_file(engine, tmp_path / "people.nt")
    assert "Mona" in ask(engine, "Who founded the Lantern Society?")
    before = everything(engine)
    done = ask_without(engine, "last", sources=["people.nt"])
    assert "Mona" not in str(done.after.answer)
    assert everything(engine) == before


def test_without_a_correction_by_hand(engine: Engine) -> None:
    engine.facts.correct(*BORN, object="Upper Tarnay", by="R. Tennant", with_sentences=True)
    assert "Upper Tarnay" in ask(engine)
    [decision] = engine.facts.decisions()
    for name in (decision.iri.value, "correction by R. Tennant"):
        done = ask_without(engine, "last", sources=[name])
        assert list(done.taken) == [f"source {decision.iri.value}"]
        assert "Upper Tarnay" not in str(done.after.answer)


def test_what_cannot_be(engine: Engine) -> None:
    with pytest.raises(UsageError, match="no trace yet"):
        replay(engine, "last")
    ask(engine)
    with pytest.raises(UsageError, match="nothing to leave out"):
        ask_without(engine, "last")
    with pytest.raises(UsageError, match="unknown source 'nothing'"):
        ask_without(engine, "last", sources=["nothing"])
    with pytest.raises(UsageError, match="no document"):
        ask_without(engine, "last", documents=["nothing"])
    engine.facts.remove(*BORN)
    with pytest.raises(UsageError, match="is removed already"):
        ask_without(engine, "last", facts=[BORN])
    assert engine.place is not None
    assert not engine.place.snapshots.exists()


def test_with_the_model_of_the_trace(ingested: Path, tmp_path: Path, scripted_server: ScriptedServer) -> None:
    said = ["He was born in Arnhythe. [1]"]

    def reply(request: Request) -> str | Reply:
        if "JSON Lines" in request.prompt:
            return ""
        if "knowledge graph will be searched" in request.prompt:
            return "Andrew Orr"
        return said[0]

    scripted_server.answer_with(reply)
    shutil.copytree(ingested / "store", tmp_path / "store")
    overrides = {
        "llm.api_base": scripted_server.base_url,
        "llm.api_key": "secret-key-1234567890",
        "llm.max_retries": 0,
    }
    with_model = load_settings(overrides={**overrides, "llm.model": "openai/test-model"}).settings
    with Engine.open(tmp_path / "store", config=with_model) as engine:
        ask(engine)
    with Engine.open(tmp_path / "store", config=load_settings(overrides=overrides).settings) as engine:
        trace = engine.traces["last"]
        assert trace.model == "openai/test-model"
        calls = len(scripted_server.requests)
        with pytest.raises(UsageError, match="which is not in your settings"):
            replay(engine, "last")
        with pytest.raises(UsageError, match="which is not in your settings"):
            ask_without(engine, "last", documents=["documents/harbour.md"])
        assert len(scripted_server.requests) == calls, "the trace alone does not say whom to ask"
    with Engine.open(tmp_path / "store", config=with_model) as engine:
        assert replay(engine, "last").same
        assert len(scripted_server.requests) > calls, "kept answers of the model are not taken"
        said[0] = "In Tarnay. [1]"
        done = replay(engine, "last")
        assert {one.what for one in done.differences} >= {"answer"}
        assert not done.same
        ruled = replay(engine, "last", model="none")
        assert ("openai/test-model", None) in {
            (one.before, one.after) for one in ruled.differences if one.what == "model"
        }
        scripted_server.answer_with(lambda _: Reply(status=500, text="out of order"))
        with pytest.raises(LlmError):
            replay(engine, "last")


def test_an_answer_that_was_given_again_is_asked_for_as_the_first_time(
    ingested: Path, tmp_path: Path, scripted_server: ScriptedServer
) -> None:
    def reply(request: Request) -> str:
        if "<evidence>" not in request.prompt or "JSON Lines" in request.prompt:
            return ""
        return f"He was born in Arnhythe. [{number_of(shown(request.prompt), 'Arnhythe')}]"

    scripted_server.answer_with(reply)
    shutil.copytree(ingested / "store", tmp_path / "store")
    overrides = {
        "llm.model": "openai/test-model",
        "llm.api_base": scripted_server.base_url,
        "answers.cache": True,
        "llm.api_key": "secret-key-1234567890",
    }
    with Engine.open(tmp_path / "store", config=load_settings(overrides=overrides).settings) as engine:
        ask(engine)
        first = engine.traces["last"].iri
        *_, again = engine.ask(QUESTION)
        assert again.answer is not None
        assert again.answer["cached"]
        done = replay(engine, "last")
        assert done.before.iri == first
        assert done.same


def test_a_question_that_was_forgotten(engine: Engine) -> None:
    """Its words may be the document's: they went with it, and the error says so."""
    ask(engine)
    forget_documents(engine, find_documents(engine.store, ["documents/harbour.md"]))
    with pytest.raises(UsageError, match="has no question any more"):
        replay(engine, "last")
