"""`ask --server`, `ingest --server`: the same output as from a store of one's own."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run
from tests.support.endpoint import READ, WRITE, Endpoint

QUESTION = "Who founded the Tarnay Electric Light Company?"
_CHANGING = ("question_iri", "steps", "seconds")


@pytest.fixture(scope="module")
def served(_ingested: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server over a copy of the store that the other commands work on; it takes a token."""
    store = tmp_path_factory.mktemp("served") / "store"
    shutil.copytree(_ingested / "store", store)
    tokens = {"GRAPHRAG_RDF_SERVER__READ_TOKEN": READ, "GRAPHRAG_RDF_SERVER__WRITE_TOKEN": WRITE}
    with Endpoint.start(store, "--anonymous", "nothing", **tokens) as endpoint:
        yield endpoint


@pytest.fixture
def token(folder: Path) -> Path:
    """A file with a token."""
    file = folder / "token"
    file.write_text(f"read {READ}\n")
    return file


def stable(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in _CHANGING}


def test_the_output_is_that_of_a_store_of_ones_own(
    run: Run, store: Path, served: Endpoint, token: Path
) -> None:
    there = ("--server", served.url, "--token-file", token)
    local, remote = (run("ask", QUESTION, "--format", "json", *more) for more in ((), there))
    assert (local.code, remote.code) == (0, 0), remote.err
    assert stable(local.json) == stable(remote.json)
    local, remote = (run("ask", QUESTION, *more) for more in ((), there))
    assert local.out == remote.out
    local, remote = (run("ask", QUESTION, "--format", "jsonl", *more) for more in ((), there))
    kinds = [message["kind"] for message in local.lines]
    assert [message["kind"] for message in remote.lines] == kinds
    assert [sorted(m) for m in local.lines] == [sorted(m) for m in remote.lines]
    explained = run("ask", QUESTION, "--explain", *there).out
    assert "[exploration] urn:trustgraph:prov:exploration:" in explained
    assert "cannot be set over HTTP" in run("ask", QUESTION, "--set", "focus.use=rank", *there).err
    one = run("ask", QUESTION, "--set", "synthesis.max_sentences=1", "--format", "json", *there).json
    assert len({citation["sentence"] for citation in one["citations"]}) == 1


def test_refusals(run: Run, folder: Path, served: Endpoint, token: Path) -> None:
    found = run("ask", QUESTION, "--server", served.url)
    assert found.code == 1
    assert "--token-file" in found.err
    token.write_text("a-wrong-token-for-tests\n")
    assert "the token is not known" in run("ask", QUESTION, "--server", served.url, "--token-file", token).err
    assert run("ask", QUESTION, "--server", "nonsense").code == 2
    for option in (("--model", "openai/x"), ("--response-type", "a list"), ("--no-cache",)):
        refused = run("ask", QUESTION, "--server", served.url, *option)
        assert refused.code == 2
        assert option[0] in refused.err
    assert run("ask", QUESTION, "--token-file", token).code == 2
    refused = run("ask", " ", "--pipeline", "doc_rag", "--server", served.url, "--token-file", token)
    assert refused.code in (1, 2)


def test_the_token_may_come_from_the_environment(process: Run, served: Endpoint) -> None:
    found = process("ask", QUESTION, GRAPHRAG_RDF_CLIENT__SERVER=served.url, GRAPHRAG_RDF_CLIENT__TOKEN=READ)
    assert "Walter Pennock" in found.out, found.err


def test_a_session_goes_on_over_http(run: Run, folder: Path, served: Endpoint, token: Path) -> None:
    there = ("--server", served.url, "--token-file", token, "--format", "json")
    first = run("ask", "Who designed Drumlaw Head Lighthouse?", *there).json
    follow = run("ask", "Where was he born?", "--session", first["question_iri"], *there).json
    assert "Arnhythe" in follow["answer"]
    unknown = first["question_iri"][:-4] + "0000"  # a server takes it as the name of a new session
    assert run("ask", "Where was he born?", "--session", unknown, *there).code == 0
    assert run("ask", "Where was he born?", "--session", "last", *there).code == 2


# --- decisions about facts, and questions asked again ---------------------------------------------------

BORN = ("Andrew Orr", "was born in", "Arnhythe")


@pytest.fixture
def there(folder: Path, served: Endpoint) -> tuple[str, ...]:
    """The options of a server that lets us write."""
    (folder / "write").write_text(f"write {WRITE}\n")
    return ("--server", served.url, "--token-file", str(folder / "write"))


def test_facts_are_decided_about_on_a_server_as_here(run: Run, store: Path, there: tuple[str, ...]) -> None:
    def both(*arguments: str) -> None:
        local, remote = (run("facts", *arguments, *more) for more in ((), there))
        assert (local.code, local.err) == (remote.code, remote.err)
        assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "T", local.out) == re.sub(
            r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "T", remote.out
        )

    both("remove", *BORN, "--dry-run", "--reason", "misread")
    both("remove", *BORN, "--reason", "misread", "--by", "R. T.")
    both("remove", *BORN)
    both("list")
    both("remove", "--undo", *BORN)
    both("correct", *BORN, "--object", "Tarnay", "--with-sentences")
    assert "Tarnay" in run("ask", "Where was Andrew Orr born?", *there).out
    [decision] = run("facts", "decisions", *there, "--format", "json").json
    assert "Arnhythe" in run("facts", "undo", decision["iri"], *there).out
    assert run("facts", "decisions", *there).out == "no decisions\n"
    unknown = run("facts", "remove", "Nobody", "was born in", "Arnhythe", *there)
    assert (unknown.code, "nothing is called 'Nobody'" in unknown.err) == (2, True)


def test_traces_are_asked_again_on_a_server(run: Run, served: Endpoint, there: tuple[str, ...]) -> None:
    first = run("ask", "Where was Andrew Orr born?", *there, "--format", "json").json
    trace = first["question_iri"]
    same = run("trace", "replay", trace, *there)
    assert (same.code, same.out) == (0, "the same result\n"), same.err
    without = ("trace", "ask-without", trace, "--fact", *BORN, "--with-sentences", *there)
    answer = run(*without, "--format", "json")
    assert answer.code == 0, answer.err
    found = answer.json
    assert (found["changed"], found["answer"]) == (True, first["answer"])
    assert "Arnhythe" not in found["answer_without"]
    assert "the answer is different" in run(*without).out
    assert (
        run("ask", "Where was Andrew Orr born?", *there, "--format", "json").json["answer"] == first["answer"]
    )
    assert not [*served.store.glob("snapshots/*/index")]
    for option in (("--model", "none"), ("--trace",)):
        refused = run("trace", "replay", trace, *option, *there)
        assert (refused.code, option[0] in refused.err) == (2, True)
    assert run("trace", "replay", trace[:-4] + "0000", *there).code == 2
    assert run("trace", "ask-without", trace, *there).code == 2


# --- documents ----------------------------------------------------------------------------------------


def test_documents_are_sent_and_found_by_their_names(run: Run, folder: Path, tmp_path: Path) -> None:
    places = tmp_path / "places"
    (places / "deep").mkdir(parents=True)
    (places / 'the "old" one.txt').write_text("Mona Kell wrote the Almanac in 1905.\n")
    (places / "deep" / "größe.md").write_text("# Orrin\n\nAda Venn built Orrin Bridge.\n")
    (places / "bad.pdf").write_bytes(b"no pdf")
    (places / "tool.bin").write_bytes(b"\0\1\2")
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint:
        done = run("ingest", "--server", endpoint.url, places, "--format", "json")
        assert done.code == 3, done.err
        report = done.json
        assert (report["documents"]["added"], report["documents"]["failed"]) == (2, 1)
        assert [failure["path"] for failure in report["failures"]] == ["places/bad.pdf"]
        assert [Path(name.partition(": ")[0]).name for name in report["skipped"]] == ["tool.bin"]
        again = run("ingest", "--server", endpoint.url, places)
        assert "2 unchanged" in again.out + again.err
        with endpoint.client() as client:
            found = client.get("/documents", headers={"Accept": "application/json"}).json()["items"]
        assert {item["identity"] for item in found} == {'places/the "old" one.txt', "places/deep/größe.md"}
        refreshed = run("ingest", "--server", endpoint.url, "--refresh", places, "--format", "json")
        assert refreshed.json["documents"]["unchanged"] == 0
        refused = run("ingest", "--server", endpoint.url, "--sync", places)
        assert refused.code == 2
        assert "--sync has no effect with --server" in refused.err


def test_more_files_than_a_request_holds_are_sent_in_several(run: Run, tmp_path: Path) -> None:
    places = tmp_path / "places"
    places.mkdir()
    for number in range(1005):
        (places / f"n{number}.txt").touch()
    (places / "last.txt").write_text("Mona Kell wrote the Almanac in 1905.\n")
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint:
        report = run("ingest", "--server", endpoint.url, places, "--format", "json").json
    assert (report["documents"]["added"], report["documents"]["failed"]) == (1, 1005)


def test_a_file_that_the_server_does_not_take_is_told(run: Run, tmp_path: Path) -> None:
    """Also when it refuses before all of it was sent."""
    file = tmp_path / "large.txt"
    file.write_bytes(b"a" * (30 << 20))
    with Endpoint.start(
        tmp_path / "store", "--anonymous", "write", GRAPHRAG_RDF_SERVER__MAX_BODY_MB="1"
    ) as endpoint:
        refused = run("ingest", "--server", endpoint.url, file)
    assert refused.code == 1
    assert "larger than 1,048,576 bytes" in refused.err


def test_who_may_not_write_is_told(run: Run, folder: Path, served: Endpoint, token: Path) -> None:
    (folder / "a.txt").write_text("Ada Venn built Orrin Bridge.\n")
    refused = run("ingest", "--server", served.url, "--token-file", token, folder / "a.txt")
    assert refused.code == 1
    assert "this needs the role write" in refused.err
    nowhere = run("ingest", "--server", "http://127.0.0.1:9", folder / "a.txt")
    assert nowhere.code == 1
    assert "cannot be reached" in nowhere.err
