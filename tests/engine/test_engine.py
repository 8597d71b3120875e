"""The Python API: asynchronous questions, and traces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.wings.audit.verify import verify
from tests.support.commands import documents_in

QUESTION = "Who founded the Tarnay Electric Light Company?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A store with two small documents."""
    place = tmp_path_factory.mktemp("engine")
    with Engine.open(config=Settings(store=str(place / "store"))) as found:
        found.ingest([documents_in(place)])
        yield found


def test_an_asynchronous_run_has_the_messages_of_any_other(engine: Engine) -> None:
    async def run() -> list[str]:
        return [message.kind async for message in engine.aask(QUESTION)]

    assert asyncio.run(run()) == [message.kind for message in engine.ask(QUESTION)]
    assert engine.traces["last"].answer is not None


def test_who_stops_reading_cancels_the_run(engine: Engine) -> None:
    async def run() -> None:
        messages = engine.aask(QUESTION)
        async for message in messages:
            if message.kind == "grounding":
                break
        await messages.aclose()

    asyncio.run(run())
    assert engine.traces.list(1)[0].outcome == "cancelled"


def test_what_a_run_raises_is_raised(engine: Engine) -> None:
    async def run() -> None:
        async for _ in engine.aask("  "):
            pass

    with pytest.raises(UsageError):
        asyncio.run(run())


def test_traces(engine: Engine) -> None:
    list(engine.ask(QUESTION))
    newest = next(iter(engine.traces))
    assert newest.question == QUESTION
    trace = engine.traces[newest.iri]
    assert [step.kind for step in trace.steps][-1] == "synthesis"
    assert all(check.ok for check in verify(engine, "last"))
    assert newest.iri in engine.traces.export("last")
    engine.traces.delete(newest.iri)
    with pytest.raises(UsageError):
        engine.traces[newest.iri]


def test_documents_that_were_sent(tmp_path: Path) -> None:
    from graphrag_rdf.ingest.files import Upload

    with Engine.open(config=Settings(store=str(tmp_path / "store"))) as engine:
        sent = [Upload("notes/kell.txt", b"Mona Kell wrote the Almanac in 1905.")]
        assert engine.ingest_uploads(sent).documents.added == 1
        assert engine.ingest_uploads(sent).documents.unchanged == 1
        answer = list(engine.ask("Who wrote the Almanac?"))[-1].answer
        assert answer is not None
        assert answer["sources"][0]["uri"] == "https://trustgraph.ai/doc/notes/kell.txt"


def test_what_is_sent_is_no_file_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphrag_rdf.ingest.files import Upload

    monkeypatch.chdir(tmp_path)
    (tmp_path / "kell.docx").write_bytes(b"nothing that can be read")
    with Engine.open(config=Settings(store=str(tmp_path / "store"))) as engine:
        report = engine.ingest_uploads([Upload("kell.docx", b"nothing that can be read")])
        assert [failure.path for failure in report.failures] == ["kell.docx"]
        assert not [quad for quad in engine.store.quads() if tmp_path.as_uri() in str(quad)]
