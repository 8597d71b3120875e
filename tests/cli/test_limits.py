"""Little room: few open files, little memory, a store that may only be read. Real processes, real limits."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Outcome, environment, program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits are set as Linux has them")

QUESTION = "Who founded the Tarnay Electric Light Company?"


def limited(folder: Path, limit: str, *arguments: object, prefix: tuple[str, ...] = ()) -> Outcome:
    """A command in a process under `ulimit`."""
    command = shlex.join([*prefix, *program(*arguments)])
    found = subprocess.run(
        ["sh", "-c", f"{limit or ':'}; exec {command}"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=environment(),
        check=False,
    )
    return Outcome(found.returncode, found.stdout, found.stderr)


def is_clear(found: Outcome) -> bool:
    """Whether it ends with an error in one line and a way out, and has no traceback."""
    lines = found.err.strip().splitlines()[-2:]
    return [line.partition(":")[0] for line in lines] == ["error", "hint"] and "Traceback" not in found.err


@pytest.mark.parametrize("command", [("ask", QUESTION), ("ingest", "documents"), ("serve", "--port", "0")])
def test_few_open_files_are_named_as_the_cause(store: Path, folder: Path, command: tuple[str, ...]) -> None:
    found = limited(folder, "ulimit -n 64", *command)
    assert found.code == 1
    assert is_clear(found), found.err
    assert "may open only 64 files at once (ulimit -n)" in found.err


@pytest.mark.parametrize("files", [24, 40])
def test_few_open_files_are_no_damage(store: Path, folder: Path, files: int) -> None:
    """Wherever the check meets the limit."""
    for options in ([], ["--full"]):
        found = limited(folder, f"ulimit -n {files}", "check", *options)
        told = found.out + found.err
        assert found.code in (0, 1), told
        assert "backup" not in told
        assert "damaged" not in told
        if found.code:
            assert is_clear(found), told
            assert "raise the limit of open files" in told


def test_the_soft_limit_of_files_is_raised(store: Path, folder: Path) -> None:
    found = limited(folder, "ulimit -Sn 64", "ask", QUESTION)
    assert (found.code, "Walter Pennock" in found.out) == (0, True), found.err


@pytest.mark.parametrize(
    "command", [("ask", QUESTION), ("ingest", "documents"), ("trace", "list"), ("check",)]
)
def test_little_memory_is_named_as_the_cause(store: Path, folder: Path, command: tuple[str, ...]) -> None:
    found = limited(folder, "ulimit -v 400000", *command)
    assert found.code == 1
    assert is_clear(found), found.err
    assert "may use only 390 MB (ulimit -v)" in found.err


def test_a_check_keeps_to_a_limit_that_is_set(store: Path, folder: Path) -> None:
    found = limited(folder, "ulimit -v 2400000", "check")
    assert (found.code, found.out) == (0, "no errors, no warnings\n"), found.err


def test_memory_that_ends_in_the_middle(folder: Path) -> None:
    """An ingest under a limit that is enough to begin with."""
    sentences = (f"Mona Kell founded Society number {n} in {1700 + n % 300}.\n" for n in range(20_000))
    (folder / "big.txt").write_text("".join(sentences))
    found = limited(folder, "ulimit -v 750000", "ingest", "big.txt")
    assert found.code in (1, 3, -6, 134), found.err
    assert "memory" in found.err or "Resource temporarily unavailable" in found.err  # the engine aborts
    assert "File " not in found.err, "no stack of calls"


# --- stores that may only be read ----------------------------------------------------------------


@pytest.fixture
def read_only(store: Path) -> Iterator[tuple[str, ...]]:
    """Take the right to write to the store; how to run a process that cannot take it back."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:  # who may write anyway
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv")
        prefix = ("setpriv", "--bounding-set=-dac_override")
    places = [store, *store.rglob("*")]
    for place in places:
        place.chmod(place.stat().st_mode & ~0o222)
    try:
        if (
            subprocess.run([*prefix, "touch", str(store / "x")], check=False, capture_output=True).returncode
            == 0
        ):
            pytest.skip("permissions are not obeyed here")
        yield prefix
    finally:
        for place in places:
            place.chmod(place.stat().st_mode | 0o200)


def test_a_store_that_may_only_be_read_answers(store: Path, folder: Path, read_only: tuple[str, ...]) -> None:
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    asked = limited(folder, "", "ask", QUESTION, "--format", "json", prefix=read_only)
    assert asked.code == 0, asked.err
    outcome = asked.json
    assert "Walter Pennock" in outcome["answer"]
    kinds = [warning["type"] for warning in outcome["warnings"]]
    assert sorted(kinds) == ["no_llm", "trace_not_stored"]
    ranked = limited(folder, "", "retrieve", QUESTION, "--trace", "--format", "json", prefix=read_only)
    assert [warning["type"] for warning in ranked.json["warnings"]] == ["trace_not_stored"]
    for command in (("trace", "list"), ("sparql", "ASK { ?s ?p ?o }"), ("check",)):
        found = limited(folder, "", *command, prefix=read_only)
        assert found.code == 0, (command, found.err)
        assert "error" not in found.err, command
        assert "warning" not in found.err, command
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before


@pytest.mark.parametrize(
    "command",
    [
        ("ingest", "documents", "--refresh"),
        ("config", "set", "answers.cache", "false"),
        ("sparql", "--update", "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }"),
        ("forget", "documents/company.txt"),
        ("facts", "remove", "Walter Pennock", "founded", "Tarnay Electric Light Company"),
        ("index", "rebuild"),
        ("refresh", "facts"),
        ("serve", "--port", "0"),
    ],
)
def test_a_store_that_may_only_be_read_is_not_written(
    store: Path, folder: Path, read_only: tuple[str, ...], command: tuple[str, ...]
) -> None:
    found = limited(folder, "", *command, prefix=read_only)
    assert found.code == 1
    assert is_clear(found), found.err
    assert "no permission to write" in found.err or "for reading only" in found.err, found.err
