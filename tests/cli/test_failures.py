"""Every failure ends in one message and its exit code."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import click
import pytest
from pydantic import ValidationError

from graphrag_rdf.cli.process import run_safely
from graphrag_rdf.config import DocumentSection
from graphrag_rdf.errors import ConfigError, GraphRagError, LlmError, StoreError, UsageError, short_cause
from tests.support.commands import Run


def _raising(error: BaseException) -> int:
    def work() -> None:
        raise error

    code = run_safely(work, exit_=False)
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GraphRagError("broken"), 1),
        (StoreError("broken"), 1),
        (LlmError("broken", "server"), 1),
        (UsageError("broken"), 2),
        (ConfigError("broken"), 2),
        (click.UsageError("broken"), 2),
        (click.BadParameter("broken"), 2),
        (OSError(28, "broken", "file"), 1),
        (BrokenPipeError(32, "broken"), 1),  # of another pipe than stdout
        (RuntimeError("broken"), 1),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_exit_codes(error: BaseException, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert _raising(error) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert "Traceback" not in said.err


def test_hint_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(StoreError("it is full", hint="make room"))
    assert capsys.readouterr().err == "error: it is full\nhint: make room\n"


def test_the_unexpected_asks_for_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(ZeroDivisionError("division by zero"))
    err = capsys.readouterr().err
    assert "unexpected error: ZeroDivisionError: division by zero" in err
    assert "-vv" in err


def test_traceback_with_vv_only(run: Run, folder: Path) -> None:
    (folder / "graphrag-store").write_text("a file")
    assert "Traceback" not in run("entities", "list").err
    assert "Traceback" in run("-vv", "entities", "list").err
    logging.getLogger("graphrag_rdf").setLevel(logging.WARNING)


def test_what_errors_quote_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _raising(GraphRagError("the file \x1b[2J\x07evil is broken", hint="\x9b31m"))
    err = capsys.readouterr().err
    assert not set("\x1b\x07\x9b") & set(err)


def test_returned_number_is_the_exit_code() -> None:
    assert run_safely(lambda: 3, exit_=False) == 3
    assert run_safely(lambda: None, exit_=False) == 0


def test_terminals_that_are_not_utf_8(process: Run, folder: Path) -> None:
    """Here the Latin-1 of old systems; ASCII is taken for a mistake, and UTF-8 is written."""
    text = "Zoë Müller founded the Café Österreich in 1901. Łukasz Żak died there. Łukasz Żak owned it."
    (folder / "é.txt").write_text(text, encoding="utf-8")
    found = process("ingest", "é.txt", PYTHONIOENCODING="ascii")
    assert (found.code, found.err) == (0, "")
    people = process("entities", "list", "--match", "ukasz", PYTHONIOENCODING="latin-1")
    assert (people.code, people.err) == (0, "")
    assert "?ukasz ?ak" in people.out
    machines = process("entities", "list", "--match", "ukasz", "--format", "json", PYTHONIOENCODING="latin-1")
    assert [entity["name"] for entity in machines.json] == ["Łukasz Żak"]


@pytest.mark.skipif(os.name != "posix", reason="pipes as POSIX has them")
@pytest.mark.parametrize(
    "arguments", [["entities", "list"], ["ask", "-q", "Who designed Drumlaw Head Lighthouse?"]]
)
def test_reader_that_leaves_is_no_error(store: Path, tmp_path: Path, arguments: list[str]) -> None:
    import subprocess

    from tests.support.commands import environment, program

    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run(
        program(*arguments),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
        check=False,
    )
    os.close(writing)
    assert found.stderr == ""
    assert found.returncode == 1


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        OSError(12, "Cannot allocate memory"),
        ValueError("System error.'Failed to spawn segment updater thread'"),
    ],
)
def test_memory_that_ends_is_named(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    assert _raising(error) == 1
    told = capsys.readouterr().err
    assert "out of memory" in told
    assert "hint: raise the limit" in told
    assert "report it" not in told


def test_causes_are_one_short_line() -> None:
    """Whatever structures a library prints."""
    rust = 'No Lockfile: IoError(Os { code: 13, kind: PermissionDenied, message: "Denied" }). None'
    assert short_cause(ValueError(rust)) == "Denied"
    assert short_cause(ValueError("of\n  several\n\tlines")) == "of several lines"
    assert short_cause(KeyError()) == "KeyError"
    assert len(short_cause("x" * 10_000)) == 300
    quoted = 'Meta file cannot be read. Content: "{ all of the file }".'
    assert short_cause(ValueError(quoted)) == "Meta file cannot be read"
    with pytest.raises(ValidationError) as found:
        DocumentSection(chunk_size=1, chunk_unit="pages")  # type: ignore[arg-type]
    told = short_cause(found.value)
    assert told.startswith("chunk_size: must be at least 50; chunk_unit: not one of ")
    assert "pydantic" not in told
