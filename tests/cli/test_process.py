"""What only processes of their own can show: locks, signals, kills, full disks, broken networks."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.commands import Run, documents_in, environment, processor_seconds, program
from tests.support.scripted_server import Reply, Request, ScriptedServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.embedded,
    pytest.mark.skipif(os.name != "posix", reason="signals and limits as POSIX has them"),
]

QUESTION = "Who designed Drumlaw Head Lighthouse?"
FACTS = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for something to hold, and fail if it never does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def facts(run: Run, store: Path) -> list[str]:
    """All facts of a store, sorted."""
    return sorted(run("sparql", "--store", store, "--format", "nquads", FACTS).out.splitlines())


def whole(run: Run, store: Path) -> None:
    """Its own check finds no error in the store."""
    checked = run("check", "--store", store)
    assert checked.code == 0, checked.out + checked.err


def sound(run: Run, store: Path) -> None:
    """The store is whole, and the index is in step with it."""
    whole(run, store)
    assert run("index", "status", "--store", store, "--format", "json").json["indexes"]["text"]["up_to_date"]


@pytest.fixture
def many(folder: Path) -> Path:
    """Twelve documents, each one chunk."""
    documents = folder / "many"
    documents.mkdir()
    for number in range(12):
        text = f"Person {number:02} Smith founded Company {number:02} Works in {1900 + number}."
        (documents / f"{number:02}.txt").write_text(text)
    return documents


@pytest.fixture
def model(scripted_server: ScriptedServer) -> dict[str, str]:
    """Environment that leads to the scripted server."""
    return {
        "GRAPHRAG_RDF_LLM__API_BASE": scripted_server.base_url,
        "GRAPHRAG_RDF_EXTRACT__CALL_CHUNKS": "1",
        "GRAPHRAG_RDF_LLM__API_KEY": "sk-planted",
        "GRAPHRAG_RDF_LLM__MODEL": "openai/scripted",
        "GRAPHRAG_RDF_LLM__MAX_RETRIES": "0",
    }


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command line and leave it running; it is ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: object, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            program(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment(**env),
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def slow_answers(server: ScriptedServer, seconds: float = 0.3) -> None:
    """Answer each chunk as always, but only after a while."""
    server.answer_with(lambda request: Reply(_extracted(request), delay=seconds))


def _extracted(request: Request) -> str:
    from tests.support.scripted_server import extract_answer

    found = re.search(r"<text>\n?(.*?)\n?</text>", request.prompt, re.DOTALL)
    return extract_answer(found[1] if found else "")


# --- an ordinary day -----------------------------------------------------------------------------


def test_cold_question(process: Run, store: Path) -> None:
    """Processor time, since other work shares the machine."""
    assert "Andrew Orr" in process("ask", QUESTION).out
    assert processor_seconds(program("ask", QUESTION), store.parent) < 1.5


def test_exit_codes(process: Run, store: Path, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
    assert process("ask", QUESTION).code == 0
    assert process("ask", "--store", "nowhere", QUESTION).code == 2
    assert process("ask", "", "--pipeline", "doc_rag").code == 2
    assert process("ask", "", "--pipeline", "local").code == 0  # an overview
    assert process("ingest", "nowhere").code == 2
    assert process("ingest", "broken.pdf").code == 3


def test_question_of_100_kb(process: Run, store: Path) -> None:
    found = process("ask", "-", stdin="who " * 25_000)
    assert found.code == 2
    assert "100,0" in found.err or "99,9" in found.err


def test_no_traceback_and_no_warning_of_python(process: Run, store: Path) -> None:
    """Not even where Python's own warnings are shown."""
    found = process("ask", "-q", QUESTION, PYTHONWARNINGS="default", PYTHONDEVMODE="1")
    assert found.code == 0
    assert found.err == ""


# --- models --------------------------------------------------------------------------------------


def test_unknown_model_name(process: Run, store: Path) -> None:
    found = process("ask", "--model", "no-such-provider/thing", QUESTION)
    assert found.code == 1
    assert found.err.startswith("error: ")
    assert "no-such-provider/thing" in found.err
    assert "Traceback" not in found.err


def test_refused_key(
    process: Run, many: Path, model: dict[str, str], scripted_server: ScriptedServer
) -> None:
    scripted_server.answer_with(lambda _: Reply("wrong key sk-planted", status=401))
    found = process("ingest", many, **model)
    assert found.code == 1
    assert "key" in found.err
    assert "sk-planted" not in found.out + found.err
    assert "Traceback" not in found.err


def test_no_network(process: Run, many: Path, model: dict[str, str]) -> None:
    """Nothing listens on the discard port."""
    found = process("ingest", many, **{**model, "GRAPHRAG_RDF_LLM__API_BASE": "http://127.0.0.1:9/v1"})
    assert found.code == 1
    assert "127.0.0.1:9" in found.err
    assert "Traceback" not in found.err


# --- the store -----------------------------------------------------------------------------------


def test_locked_store_names_who_holds_it(
    process: Run,
    start: Callable[..., subprocess.Popen[str]],
    many: Path,
    model: dict[str, str],
    scripted_server: ScriptedServer,
) -> None:
    slow_answers(scripted_server, 60)
    holder = start("ingest", many, **model)
    wait_until(lambda: bool(scripted_server.requests))
    for command in (["ask", QUESTION], ["ingest", "--dry-run", many], ["entities", "list"]):
        found = process(*command)
        assert found.code == 1
        assert f"process {holder.pid}" in found.err
        assert "ingest" in found.err


def test_store_of_a_newer_program(process: Run, store: Path) -> None:
    update = "INSERT DATA { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> rag:storeVersion 99 } }"
    assert process("sparql", "--update", update).code == 0
    for command in (["ask", QUESTION], ["ingest", "--dry-run", "documents"]):
        found = process(*command)
        assert found.code == 1
        assert "version 99" in found.err
        assert "upgrade" in found.err


def test_damaged_database(process: Run, store: Path) -> None:
    for file in (store / "oxigraph").glob("MANIFEST-*"):
        file.write_bytes(b"\0" * 64)
    found = process("ask", QUESTION)
    assert found.code == 1
    assert "cannot open" in found.err
    assert "Traceback" not in found.err


def test_damaged_index_is_worked_around_and_mended(process: Run, store: Path) -> None:
    (store / "index" / "text" / "manifest.json").write_bytes(b"rubbish")
    found = process("ask", QUESTION)
    assert found.code == 0
    assert "index rebuild" in found.err
    assert process("index", "rebuild").code == 0
    sound(process, store)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_full_disk(process: Run, folder: Path, small_disk: Path) -> None:
    documents = folder / "large"
    documents.mkdir()
    for number in range(40):
        names = [f"Person {number}-{line} Smith founded Company {number}-{line} Works." for line in range(40)]
        (documents / f"{number:02}.txt").write_text("\n".join(names))
    found = process("ingest", "--store", small_disk / "store", documents)
    assert found.code == 1
    assert "No space left" in found.err
    assert "free space" in found.err
    assert "Traceback" not in found.err
    roomy = folder / "roomy"
    shutil.copytree(small_disk / "store", roomy)
    assert process("ingest", "--store", roomy, documents).code == 0
    sound(process, roomy)
    assert process("ingest", "--store", folder / "fresh", documents).code == 0
    assert facts(process, roomy) == facts(process, folder / "fresh")


def test_read_only_folder(process: Run, store: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    for path in [store, *store.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    found = process("ask", QUESTION)
    assert found.code == 1
    assert "ermission denied" in found.err


def test_unreadable_document(process: Run, folder: Path) -> None:
    documents = documents_in(folder)
    (documents / "company.txt").unlink()
    (documents / "company.txt").symlink_to("nowhere")
    found = process("ingest", documents, "--format", "json")
    assert found.code == 3
    assert found.json["failures"][0]["path"].endswith("company.txt")
    assert found.json["documents"]["added"] == 1


# --- being stopped -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_ingest_finishes_what_is_in_hand(
    process: Run,
    start: Callable[..., subprocess.Popen[str]],
    many: Path,
    model: dict[str, str],
    scripted_server: ScriptedServer,
    number: signal.Signals,
) -> None:
    slow_answers(scripted_server)
    stopped = start("ingest", "--jobs", "2", "--format", "json", many, **model)
    wait_until(lambda: len(scripted_server.requests) >= 4)
    stopped.send_signal(number)
    out, err = stopped.communicate(timeout=30)
    assert stopped.returncode == 130, err
    assert "stopping" in err
    assert "Traceback" not in err
    report = json.loads(out)
    assert report["stopped"] == "interrupted"
    asked = len(scripted_server.requests)
    assert asked < 12
    assert report["llm"]["calls"] == asked
    store = many.parent / "graphrag-store"
    sound(process, store)
    again = process("ingest", "--format", "json", many, **model)
    assert again.code == 0
    assert again.json["llm"]["calls"] == 12 - asked
    sound(process, store)


def test_asked_twice_to_stop_it_stops_at_once(
    process: Run,
    start: Callable[..., subprocess.Popen[str]],
    many: Path,
    model: dict[str, str],
    scripted_server: ScriptedServer,
) -> None:
    slow_answers(scripted_server, 60)
    stopped = start("ingest", many, **model)
    wait_until(lambda: bool(scripted_server.requests))
    stopped.send_signal(signal.SIGINT)
    assert stopped.stderr is not None
    assert "stopping" in stopped.stderr.readline()
    stopped.send_signal(signal.SIGINT)
    assert stopped.wait(timeout=5) == 130
    scripted_server.answer_with(None)
    assert process("ingest", many, **model).code == 0
    sound(process, many.parent / "graphrag-store")


@pytest.mark.parametrize("after", [1, 3, 7])
def test_killed_ingest_goes_on_where_it_stopped(
    process: Run,
    start: Callable[..., subprocess.Popen[str]],
    many: Path,
    model: dict[str, str],
    scripted_server: ScriptedServer,
    after: int,
) -> None:
    slow_answers(scripted_server, 0.1)
    killed = start("ingest", "--jobs", "1", many, **model)
    wait_until(lambda: len(scripted_server.requests) > after)
    killed.kill()
    killed.communicate()
    store, fresh = many.parent / "graphrag-store", many.parent / "fresh"
    whole(process, store)  # the index may be behind: the next run brings it up
    done = len(scripted_server.requests)
    again = process("ingest", "--format", "json", many, **model)
    assert again.code == 0
    assert again.json["llm"]["calls"] <= 12 - done + 1
    sound(process, store)
    assert process("ingest", "--store", fresh, many, **model).code == 0
    assert facts(process, store) == facts(process, fresh)


def test_interrupted_question(
    process: Run,
    start: Callable[..., subprocess.Popen[str]],
    store: Path,
    model: dict[str, str],
    scripted_server: ScriptedServer,
) -> None:
    slow_answers(scripted_server, 60)
    stopped = start("ask", QUESTION, **model)
    wait_until(lambda: bool(scripted_server.requests))
    stopped.send_signal(signal.SIGINT)
    _, err = stopped.communicate(timeout=10)
    assert stopped.returncode == 130, err
    assert err.strip() == "error: interrupted"
    assert process("trace", "list", "--format", "json").json[0]["outcome"] == "cancelled"


def test_serving_writers_from_anywhere_is_warned_of(process: Run, folder: Path) -> None:
    """There is no store that could be served."""
    (folder / "file").write_text("no store")
    for host, anonymous, warned in (
        ("0.0.0.0", "write", True),
        ("0.0.0.0", "read", False),
        ("127.0.0.2", "admin", False),
        ("localhost", "write", False),
    ):
        found = process("serve", "--host", host, "--anonymous", anonymous, "--port", "1", "--store", "file")
        assert found.code != 0
        assert ("without a token" in found.err) == warned, (host, anonymous, found.err)
