"""What fails is recorded, listed, retried by the next run, and forgotten once it succeeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphrag_rdf.errors import LlmError
from graphrag_rdf.ingest.estimate import estimate
from graphrag_rdf.ingest.report import IngestReport
from graphrag_rdf.rdf.namespaces import RAG, TG
from tests.ingest.conftest import (
    MakeEngine,
    answer_of,
    assert_same,
    by_model,
    chunk_in,
    chunks,
    content,
    everything,
    facts,
    index_matches_store,
)
from tests.support.scripted_server import Reply, Request, ScriptedServer

TOWNS = ["Aldgate", "Barrow", "Corby", "Dover", "Exeter", "Fowey", "Goole", "Hythe"]


@pytest.fixture
def towns(docs: Path) -> Path:
    """Eight documents of one chunk, and so one call, each."""
    for town in TOWNS:
        (docs / f"{town.lower()}.txt").write_text(f"The mayor of {town} met Queen Anne of Windsor.")
    return docs


def failing(word: str, reply: Reply | str) -> Any:
    """Answers as always, but otherwise to chunks with a word."""
    return lambda request: reply if word in chunk_in(request) else None


def failures(engine: Any) -> list[dict[str, str]]:
    return [{**row, "about": row["about"].value} for row in engine.store.select("ingest/failures")]


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply("no such thing", status=400), "no such thing"),
        ("I am sorry, I cannot do that.", ""),
        (Reply("overloaded", status=503), "overloaded"),
    ],
    ids=["refused", "garbage", "server"],
)
def test_failing_chunk(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, reply: Reply | str, says: str
) -> None:
    engine = engine_of("store", **by_model(scripted_server, llm__max_retries=0))
    scripted_server.answer_with(failing("Corby", reply))
    report = engine.ingest([towns])
    (failure,) = report.failures
    assert failure.path == str(towns / "corby.txt")
    assert failure.chunk in chunks(engine)
    assert (failure.stage, says in failure.reason) == ("extract", True)
    assert report.documents.added == 8
    assert report.stopped is None
    (recorded,) = failures(engine)
    assert (recorded["about"], recorded["stage"]) == (failure.chunk, "extract")
    assert recorded["reason"] == failure.reason
    assert not any("corby" in fact[0] for fact in facts(engine))

    before = everything(engine)
    again = engine.ingest([towns])  # it fails again in the same way: reported, and nothing changes
    assert [f.chunk for f in again.failures] == [failure.chunk]
    changed = everything(engine) ^ before
    assert {q.subject for q in changed if "failure" in str(q.subject)} == set()

    scripted_server.reset()
    third = engine.ingest([towns])
    assert len(scripted_server.requests) == 1
    assert (third.failures, failures(engine)) == ([], [])
    assert (third.documents.read_again, third.documents.unchanged) == (1, 7)
    fresh = engine_of(**by_model(scripted_server))
    fresh.ingest([towns])
    assert_same(content(engine), content(fresh))
    assert index_matches_store(engine)


def test_failed_replacement_keeps_what_stood(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """Another model fails on a chunk: what the first found there stays until it succeeds."""
    engine_of("store", **by_model(scripted_server)).ingest([towns])
    before = None
    with engine_of("other", **by_model(scripted_server)) as engine:
        engine.ingest([towns])
        before = facts(engine)
    scripted_server.answer_with(failing("Dover", Reply("bad", status=400)))
    with engine_of("other", **by_model(scripted_server, llm__model="openai/second")) as engine:
        assert len(engine.ingest([towns]).failures) == 1
        assert facts(engine) == before
        assert index_matches_store(engine)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_passing_trouble_is_retried(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, status: int
) -> None:
    scripted_server.script(Reply("later", status=status, headers={"Retry-After": "0"}))
    engine = engine_of(**by_model(scripted_server, extract__jobs=1))
    report = engine.ingest([towns / "dover.txt"])
    assert (report.failures, len(scripted_server.requests)) == ([], 2)


def test_timeouts_are_retried(docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    (docs / "a.txt").write_text("Ada met Charles in London.")
    scripted_server.script(Reply(hang=True))
    engine = engine_of(**by_model(scripted_server, llm__timeout=0.5))
    assert engine.ingest([docs]).failures == []


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (403, "auth"), (404, "model")])
@pytest.mark.parametrize("jobs", [1, 4])
def test_useless_model_ends_the_run(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, status: int, kind: str, jobs: int
) -> None:
    """What was done before is kept, and the next run goes on."""
    done = 0

    def answer(request: Request) -> Reply | None:
        nonlocal done
        done += 1
        return None if done <= 3 else Reply("go away", status=status)

    scripted_server.answer_with(answer)
    engine = engine_of("store", **by_model(scripted_server, extract__jobs=jobs))
    with pytest.raises(LlmError) as error:
        engine.ingest([towns])
    assert error.value.kind == kind
    assert len(chunks(engine)) == 3
    assert failures(engine) == []
    assert index_matches_store(engine)
    scripted_server.reset()
    report = engine.ingest([towns])
    assert len(scripted_server.requests) == 5
    assert report.failures == []
    assert len(chunks(engine)) == 8


def test_no_connection_at_all(towns: Path, engine_of: MakeEngine) -> None:
    """Nobody listens: the run ends with the first call, however many documents there are."""
    engine = engine_of(
        "store",
        llm__model="openai/x",
        llm__api_base="http://127.0.0.1:9/v1",
        llm__api_key="k",
        llm__max_retries=0,
    )
    with pytest.raises(LlmError) as error:
        engine.ingest([towns])
    assert error.value.kind == "connection"
    assert (chunks(engine), failures(engine)) == ({}, [])


def test_lost_connection(towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    """One lost call is the failure of a chunk, with or without facts before it; many in a row end the run."""
    empty = '{"entities": [], "relations": []}'
    cut = Reply("x" * 500, cut_after=0)
    scripted_server.script(empty, cut)
    engine = engine_of("store", **by_model(scripted_server, llm__max_retries=0, extract__jobs=1))
    report = engine.ingest([towns])
    assert len(report.failures) == 1
    scripted_server.reset()
    scripted_server.script(empty, *[cut] * 9)
    other = engine_of("other", **by_model(scripted_server, llm__max_retries=0, extract__jobs=1))
    with pytest.raises(LlmError):
        other.ingest([towns])
    assert len(scripted_server.requests) == 6


@pytest.mark.parametrize("jobs", [1, 4])
def test_budget_stops_cleanly(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, jobs: int
) -> None:
    def run(budget: int | None) -> IngestReport:
        overrides = by_model(scripted_server, llm__budget_tokens=budget, extract__jobs=jobs)
        with engine_of("store", **overrides) as engine:
            report = engine.ingest([towns])
            assert failures(engine) == []
            assert index_matches_store(engine)
            return report

    first = run(4000)
    assert first.stopped == "budget"
    assert first.llm.calls == len(scripted_server.requests) > 0
    assert [warning["type"] for warning in first.warnings] == ["budget_spent"]
    last = run(None)
    assert last.stopped is None
    assert len(scripted_server.requests) == 8
    with engine_of("store", **by_model(scripted_server)) as engine:
        assert engine.ingest([towns]).quads == 0
        fresh = engine_of(**by_model(scripted_server))
        fresh.ingest([towns])
        assert_same(content(engine), content(fresh))


def test_interrupted(towns: Path, engine_of: MakeEngine) -> None:
    """Ctrl-C in the middle: the report says so, what is written is whole, the next run does the rest."""
    engine = engine_of("store")

    def progress(done: int, total: int, path: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    first = engine.ingest([towns], progress=progress)
    assert first.stopped == "interrupted"
    assert len(chunks(engine)) == 3
    assert index_matches_store(engine)
    second = engine.ingest([towns])
    assert (second.stopped, second.chunks.added, second.documents.added) == (None, 5, 5)
    fresh = engine_of()
    fresh.ingest([towns])
    assert_same(content(engine), content(fresh))


def test_stopped_by_request(towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer) -> None:
    """Calls that are under way are waited for and written: no answer is paid for twice."""
    scripted_server.answer_with(lambda request: Reply(answer_of(request), delay=0.3))
    engine = engine_of(**by_model(scripted_server, extract__jobs=4))
    report = engine.ingest([towns], stop=lambda: len(scripted_server.requests) >= 4)
    assert report.stopped == "interrupted"
    asked = len(scripted_server.requests)
    assert 4 <= asked <= 8  # on a busy machine a few more are under way before the stop is seen
    assert len(chunks(engine)) == asked
    engine.ingest([towns])
    assert len(scripted_server.requests) == 8


def test_unreadable_later(towns: Path, engine_of: MakeEngine) -> None:
    """A file that breaks keeps its old content; the failure is recorded once, and goes when it is mended."""
    engine = engine_of("store")
    good = (towns / "dover.txt").read_bytes()
    engine.ingest([towns])
    before = chunks(engine)
    (towns / "dover.txt").write_bytes(b"")
    report = engine.ingest([towns])
    assert [(f.path, f.chunk, f.stage) for f in report.failures] == [(str(towns / "dover.txt"), None, "read")]
    assert (report.documents.failed, report.documents.unchanged) == (1, 7)
    assert chunks(engine) == before
    quads = everything(engine)
    assert len(engine.ingest([towns]).failures) == 1
    assert_same(everything(engine), quads)
    (towns / "dover.txt").write_bytes(good)
    assert engine.ingest([towns]).failures == []
    assert failures(engine) == []


def test_failures_of_new_files(towns: Path, engine_of: MakeEngine) -> None:
    """A file that never could be read: recorded once under its name, dropped when it is gone."""
    (towns / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    engine = engine_of()
    assert engine.ingest([towns]).documents.failed == 1
    quads = everything(engine)
    assert engine.ingest([towns]).documents.failed == 1
    assert_same(everything(engine), quads)
    assert len(failures(engine)) == 1
    (towns / "broken.pdf").unlink()
    engine.ingest([towns])
    assert failures(engine) == []


def test_what_the_system_or_an_escape_makes_odd_does_not_stop_the_rest(
    towns: Path, engine_of: MakeEngine
) -> None:
    """Links in a circle, and escapes of JSON for what is no character."""
    (towns / "one.txt").symlink_to(towns / "two.txt")
    (towns / "two.txt").symlink_to(towns / "one.txt")
    (towns / "odd.json").write_text(
        r'[{"name": "Ada\ud800 Venn", "lives in": "Dover\u0000"},'
        r' {"name": "Mona Kell", "lives\udfff in": "Corby"}]'
    )
    engine = engine_of()
    report = engine.ingest([towns])
    assert {(Path(f.path).name, f.reason) for f in report.failures} == {
        ("one.txt", "a symbolic link that leads in a circle"),
        ("two.txt", "a symbolic link that leads in a circle"),
    }
    assert report.documents.added == len(TOWNS) + 1
    assert {"ada%EF%BF%BD-venn", "mona-kell"} <= {subject for subject, _, _ in facts(engine)}


def test_missing_arguments_leave_no_record(towns: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    report = engine.ingest([towns, towns / "nowhere.txt"])
    assert len(report.failures) == 1
    assert failures(engine) == []


def test_a_chunk_whose_answer_is_cut_off_is_asked_about_in_halves(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    """It is done then: the trace says in how many parts, the quotes stand where they did, nothing failed."""
    text = " ".join(f"The mayor of {town} met Queen Anne of Windsor." for town in TOWNS)
    (docs / "a.txt").write_text(text)

    def answer(request: Request) -> Reply | None:
        whole = len(chunk_in(request)) > 250
        return Reply('{"entities": [{"name": "Aldgate"}, {"na', finish_reason="length") if whole else None

    scripted_server.answer_with(answer)
    engine = engine_of("store", **by_model(scripted_server, documents__chunk_size=600))
    report = engine.ingest([docs])
    assert (report.failures, len(scripted_server.requests)) == ([], 3)
    assert [quad.object.value for quad in everything(engine) if quad.predicate == RAG.parts] == ["2"]
    quotes = {q.subject: q.object.value for q in everything(engine) if q.predicate == TG.sourceText}
    offsets = {
        q.subject: int(q.object.value) for q in everything(engine) if q.predicate == TG.sourceCharOffset
    }
    assert {text[offsets[node] :][: len(quote)] == quote for node, quote in quotes.items()} == {True}
    assert len(set(quotes.values())) == len(TOWNS)
    assert engine.ingest([docs]).documents.unchanged == 1
    assert len(scripted_server.requests) == 3


def test_a_chunk_whose_answer_is_always_cut_off_is_not_done(
    docs: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    (docs / "a.txt").write_text("The mayor of Aldgate met Queen Anne of Windsor.")
    scripted_server.answer_with(lambda _: Reply('{"entities": [{"name": "Aldgate"}', finish_reason="length"))
    engine = engine_of("store", **by_model(scripted_server))
    (failure,) = engine.ingest([docs]).failures
    assert "cut off at its token limit" in failure.reason
    scripted_server.reset()
    assert engine.ingest([docs]).failures == []


@pytest.mark.parametrize("accepted", [("json_schema", "text"), ("text",)], ids=["LM Studio", "none"])
def test_no_chunk_fails_where_a_server_refuses_the_json_format(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer, accepted: tuple[str, ...]
) -> None:
    def answer(request: Request) -> Reply | None:
        form = (request.body.get("response_format") or {"type": "text"})["type"]
        return None if form in accepted else Reply("'response_format.type' is not supported", status=400)

    scripted_server.answer_with(answer)
    with engine_of("store", **by_model(scripted_server)) as engine:
        assert engine.ingest([towns]).failures == []
        assert len(facts(engine)) >= len(TOWNS)
    tried = len(scripted_server.requests)
    with engine_of("store", **by_model(scripted_server)) as again:
        (towns / "more.txt").write_text("The mayor of Leeds met Queen Anne of Windsor.")
        assert again.ingest([towns]).failures == []
    assert len(scripted_server.requests) == tried + 1, "the form that works is remembered"


def test_a_small_model_gives_the_same_facts_with_two_calls_a_chunk(
    towns: Path, engine_of: MakeEngine, scripted_server: ScriptedServer
) -> None:
    whole = engine_of("whole", **by_model(scripted_server))
    whole.ingest([towns])
    calls = len(scripted_server.requests)
    small = engine_of("small", **by_model(scripted_server, llm__style="small"))
    assert small.ingest([towns]).failures == []
    assert len(scripted_server.requests) == 3 * calls
    assert estimate(small, [towns], refresh=True).llm.calls == 2 * calls
    assert facts(small) == facts(whole)
