"""`check` on damaged files: a finding that names the file, never a traceback, in bounded memory."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from graphrag_rdf.cli.check import bounded
from tests.support.commands import Run, documents_in, environment

pytestmark = pytest.mark.embedded


def files(store: Path, pattern: str) -> list[Path]:
    return sorted(store.glob(pattern), key=lambda file: file.stat().st_size, reverse=True)


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 0x40
    file.write_bytes(data)


@pytest.mark.parametrize("number", range(5))
def test_a_damaged_block_of_any_index_is_found(run: Run, store: Path, number: int) -> None:
    """Each of the larger files is one of the engine's indexes, or the texts."""
    file = files(store, "oxigraph/*.sst")[number]
    flip(file, file.stat().st_size // 4)
    found = run("check", "--full", "--format", "json")
    assert found.code == 1
    assert ("database-damaged", str(file.resolve())) in {
        (violation["check"], str(Path(violation["focus"]).resolve())) for violation in found.json
    }


@pytest.mark.parametrize("suffix", ["store", "term", "idx", "pos", "fast", "fieldnorm"])
def test_a_damaged_file_of_the_search_index_is_found(run: Run, store: Path, suffix: str) -> None:
    file = files(store, f"index/text/sentence-*/*.{suffix}")[0]
    flip(file, 1)
    found = run("check", "--full", "--format", "json")
    assert found.code == 1
    assert {violation["check"] for violation in found.json} <= {"index-differs", "index-damaged"}, found.out
    assert run("index", "rebuild").code == 0
    assert run("check", "--full").code == 0


def test_what_a_killed_process_began_to_write_is_no_damage(run: Run, store: Path) -> None:
    file = files(store, "index/text/sentence-*/*.store")[0]
    file.with_name(".tmpAb12Cd").write_bytes(b"half of a fi")
    assert run("check", "--full").code == 0


def test_entries_of_the_index_are_compared_in_both_directions(run: Run, store: Path) -> None:
    """Each of two stores gets the other's index."""
    more = store.with_name("more")
    shutil.copytree(store, more)
    assert run("forget", "documents/harbour.md").code == 0
    for one, other, said in (
        (store, more, "the index of words has it"),
        (more, store, "the index of words lacks it"),
    ):
        mixed = store.with_name("mixed")
        shutil.copytree(one, mixed, ignore=shutil.ignore_patterns("index"))
        shutil.copytree(other / "index", mixed / "index")
        found = run("--store", mixed, "check", "--full", "--format", "json").json
        assert said in {v["message"].split(",")[0] for v in found if v["check"] == "index-differs"}
        shutil.rmtree(mixed)


@pytest.mark.parametrize("lost", ["index", "cache"])
def test_what_can_be_made_again_may_be_deleted(run: Run, store: Path, lost: str) -> None:
    question = ("ask", "Who founded the Tarnay Electric Light Company?")
    before = run(*question).out
    shutil.rmtree(store / lost, ignore_errors=True)
    found = run("check", "--full", "--format", "json")
    assert found.code == 0
    said = [(violation["check"], violation["severity"]) for violation in found.json]
    assert said == ([("index-behind", "warning")] if lost == "index" else [])
    assert run("check").code == 0
    assert run(*question).out == before
    assert run("check", "--full").out == "no errors, no warnings\n"


def test_a_copy_of_the_store_is_a_backup(run: Run, store: Path) -> None:
    question = ("ask", "Who founded the Tarnay Electric Light Company?")
    before, backup = run(*question).out, store.with_name("backup")
    shutil.copytree(store, backup)
    shutil.rmtree(store)
    assert "there is no store" in run("check").err
    shutil.copytree(backup, store)
    assert run("check", "--full").out == "no errors, no warnings\n"
    assert run(*question).out == before
    assert run("trace", "verify", "last").code == 0


@pytest.mark.parametrize("loss", ["missing", "damaged", "all"])
def test_the_next_ingest_puts_texts_back(run: Run, folder: Path, loss: str) -> None:
    """Of documents that did not change, and of an imported file."""
    store = folder / "graphrag-store"
    assert run("ingest", documents_in(folder)).code == 0
    rdf = store.with_name("people.ttl")
    rdf.write_text('<http://e/mona> <http://www.w3.org/2000/01/rdf-schema#label> "Mona Kell" .')
    assert run("import", rdf).code == 0
    for file in files(store, "librarian/**/*"):
        if loss == "damaged" and file.is_file():
            file.write_bytes(b"x")
        elif loss == "missing" and file.is_file():
            file.unlink()
    if loss == "all":
        shutil.rmtree(store / "librarian")
    found = run("check", "--format", "json").json
    assert {v["check"] for v in found} == {"object-damaged" if loss == "damaged" else "object-missing"}
    report = run("ingest", "documents", "--format", "json")
    assert (report.code, report.json["documents"]["unchanged"]) == (0, 2)
    assert run("import", rdf).code == 0
    assert run("check", "--full").out == "no errors, no warnings\n"


def test_what_is_not_read_is_said(run: Run, store: Path) -> None:
    assert "--full also reads every quad through every index" in run("check").err
    assert "not read" not in run("check", "--full").err


def test_a_check_ends_when_its_memory_is_used_up(store: Path) -> None:
    """As a damaged length in a file, after which a library asks for gigabytes."""
    code = """
    import resource
    from graphrag_rdf.cli.check import ProcessEndedError, bounded
    try:
        bounded(lambda: len(bytearray(8 << 30)) + len([bytearray(1 << 20) for _ in range(3000)]), 256)
    except (ProcessEndedError, MemoryError) as error:
        print(type(error).__name__, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    how, kilobytes = done.stdout.split() or ("", "0")
    assert how in ("ProcessEndedError", "MemoryError"), done.stderr
    assert int(kilobytes) < 2 << 20


def test_what_a_process_holds_already_is_no_part_of_the_limit() -> None:
    """A large process, as an application that embeds the commands, can check too."""
    assert bounded(lambda: time.sleep(0.3) or "done", 16) == "done"


def test_an_error_of_the_check_is_no_damage_and_keeps_its_traceback() -> None:
    class OwnError(Exception):
        """An exception that pickle cannot restore. Libraries may teach it those that are defined before."""

        def __init__(self, what: str, where: str) -> None:
            super().__init__(f"{what} at {where}")

    def ends() -> None:
        raise OwnError("a mistake", "the roof")

    with pytest.raises(RuntimeError, match="OwnError: a mistake at the roof") as raised:
        bounded(ends, 64)
    assert "in ends" in raised.value.__notes__[0]
    with pytest.raises(ZeroDivisionError):
        bounded(lambda: 1 // 0, 64)
