"""Several chunks in one call of the model: each is as if it had been asked about alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphrag_rdf.errors import LlmError
from graphrag_rdf.ingest.estimate import estimate
from graphrag_rdf.rdf.namespaces import RAG, TG
from tests.ingest.conftest import MakeEngine, assert_same, by_model, content, everything
from tests.support.scripted_server import Reply, Request, ScriptedServer, extract_answer, extract_answers

NAMES = (
    "Ada Byron",
    "Ben Corrin",
    "Cora Dale",
    "Dan Ewell",
    "Eve Falk",
    "Finn Garth",
    "Gwen Hask",
    "Hal Irby",
)


@pytest.fixture
def towns(docs: Path) -> Path:
    """Eight documents of one chunk."""
    for number, name in enumerate(NAMES):
        (docs / f"{number}.txt").write_text(f"{name} built Fort {number}. It stands near Tarn.", "utf-8")
    return docs


def texts_in(request: Request) -> list[str]:
    """The chunks that a request asks about."""
    return re.findall(r"<text>\n(.*?)\n</text>", request.prompt, re.DOTALL)


def sizes(server: ScriptedServer) -> list[int]:
    """How many chunks each request so far asked about."""
    return [len(texts_in(request)) for request in server.requests]


def tokens(engine, prop):
    return sum(int(quad.object.value) for quad in everything(engine) if quad.predicate == prop)


@pytest.mark.parametrize("jobs", [1, 8])
def test_calls_of_several_chunks_give_the_store_of_single_calls(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, jobs: int
) -> None:
    scripted_server.answer_with(
        lambda request: Reply(extract_answers(texts_in(request)), delay=0.02 * (len(request.prompt) % 3))
    )
    together = engine_of(**by_model(scripted_server, extract__call_chunks=3, extract__jobs=jobs))
    report = together.ingest([towns])
    assert sorted(sizes(scripted_server)) == [2, 3, 3]
    assert report.llm.calls == 3
    assert report.warnings == []
    alone = engine_of(**by_model(scripted_server, extract__jobs=jobs))
    alone.ingest([towns])
    assert sizes(scripted_server)[3:] == [1] * 8
    assert_same(content(together), content(alone))
    assert tokens(together, TG.inToken) == report.llm.in_tokens
    assert tokens(together, TG.outToken) == report.llm.out_tokens


def test_eight_chunks_cost_about_half(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    for number, name in enumerate(NAMES):
        (docs / f"{number}.txt").write_text(
            f"{name} met {NAMES[number - 1]} at Fort {number}. " * 15, "utf-8"
        )
    chosen = {"documents__chunk_size": 2000}
    read = []
    for chunks in (1, 8):
        engine = engine_of(**by_model(scripted_server, extract__call_chunks=chunks, **chosen))
        told = estimate(engine, [docs]).llm
        took = engine.ingest([docs]).llm
        assert told.calls == took.calls == 8 // chunks
        assert told.in_tokens == pytest.approx(took.in_tokens, rel=0.02)
        read.append(took.in_tokens)
    assert read[1] < 0.4 * read[0]


def test_a_call_holds_so_many_tokens_of_text(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    (towns / "3.txt").write_text("Dan Ewell sold Fort 3 to Gwen Hask, who lived there. " * 12, "utf-8")
    chosen = {"extract__call_chunks": 8, "extract__call_tokens": 100, "documents__chunk_size": 2000}
    engine_of(**by_model(scripted_server, extract__jobs=1, **chosen)).ingest([towns])
    assert sizes(scripted_server) == [3, 1, 4]


def test_an_edited_chunk_is_asked_about_alone(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    engine = engine_of(**by_model(scripted_server, extract__call_chunks=8))
    engine.ingest([towns])
    (towns / "5.txt").write_text("Finn Garth sold Fort 5.", "utf-8")
    engine.ingest([towns])
    assert sizes(scripted_server) == [8, 1]
    for number in (2, 6):
        (towns / f"{number}.txt").write_text(f"Finn Garth sold Fort {number}.", "utf-8")
    engine.ingest([towns])
    assert sizes(scripted_server) == [8, 1, 2]


def test_a_cut_answer_costs_the_chunks_that_it_lacks(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    def cut(request: Request) -> Reply:
        whole = extract_answers(texts_in(request))
        return Reply(whole[: whole.index("Fort 6") + 3], finish_reason="length")

    scripted_server.script(cut)
    engine = engine_of(**by_model(scripted_server, extract__call_chunks=8, extract__jobs=1))
    report = engine.ingest([towns])
    assert sizes(scripted_server) == [8, 1, 1]
    assert [text[:9] for request in scripted_server.requests[1:] for text in texts_in(request)] == [
        "Gwen Hask",
        "Hal Irby ",
    ]
    assert [warning["type"] for warning in report.warnings] == ["asked_alone"]
    assert report.failures == []
    assert not [quad for quad in everything(engine) if quad.predicate == RAG.parts]
    alone = engine_of(**by_model(scripted_server))
    alone.ingest([towns])
    assert_same(content(engine), content(alone))


def test_a_refused_chunk_fails_alone(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """The whole call is refused because of it; the others are asked about alone."""

    def filtered(request: Request) -> Reply:
        texts = texts_in(request)
        refused = any("Cora Dale" in text for text in texts)
        return Reply("content policy", status=400) if refused else Reply(extract_answers(texts))

    scripted_server.answer_with(filtered)
    engine = engine_of(**by_model(scripted_server, extract__call_chunks=4, extract__jobs=1))
    report = engine.ingest([towns])
    assert [Path(failure.path).name for failure in report.failures] == ["2.txt"]
    assert sizes(scripted_server)[-1] == 4
    assert report.documents.added == 8
    scripted_server.answer_with(None)
    engine.ingest([towns])
    alone = engine_of(**by_model(scripted_server))
    alone.ingest([towns])
    assert_same(content(engine, history=False), content(alone, history=False))


def test_an_unreadable_answer_is_the_failure_of_its_chunk(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    def answer(request: Request) -> Reply:
        parts = []
        for number, text in enumerate(texts_in(request), 1):
            told = json.loads(extract_answer(text))
            parts.append({"passage": number, **({"thoughts": "none"} if "Eve Falk" in text else told)})
        return Reply(json.dumps({"passages": parts}))

    scripted_server.answer_with(answer)
    engine = engine_of(**by_model(scripted_server, extract__call_chunks=8, extract__jobs=1))
    report = engine.ingest([towns])
    assert [Path(failure.path).name for failure in report.failures] == ["4.txt"]
    assert report.chunks.added == 8


def test_a_lost_connection_is_one_lost_call(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Its chunks fail; the run goes on, as after any single call."""
    scripted_server.script(
        lambda request: Reply(extract_answers(texts_in(request))), Reply("x" * 500, cut_after=0)
    )
    chosen = {"extract__call_chunks": 2, "llm__max_retries": 0, "extract__jobs": 1}
    report = engine_of(**by_model(scripted_server, **chosen)).ingest([towns])
    assert sizes(scripted_server) == [2, 2, 2, 2]
    assert [Path(failure.path).name for failure in report.failures] == ["2.txt", "3.txt"]


def test_a_model_out_of_reach_ends_the_run(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """With the fifth call in a row, not with the fifth chunk."""
    cut = Reply("x" * 500, cut_after=0)
    scripted_server.script(lambda request: Reply(extract_answers(texts_in(request))), *[cut] * 9)
    for number, name in enumerate(NAMES, 8):
        (towns / f"{number}.txt").write_text(f"{name} built Fort {number}. It stands near Tarn.", "utf-8")
    chosen = {"extract__call_chunks": 2, "llm__max_retries": 0, "extract__jobs": 1}
    with pytest.raises(LlmError):
        engine_of(**by_model(scripted_server, **chosen)).ingest([towns])
    assert len(scripted_server.requests) == 6
