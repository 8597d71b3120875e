"""The root command: what there is, what help says, and that nothing is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from graphrag_rdf.cli.app import commands, root
from tests.support.commands import Run, environment, processor_seconds

HEAVY = {"litellm", "numpy", "tantivy", "rdflib", "pydantic", "pyoxigraph", "rich.console", "HanTa", "jinja2"}


def _all_commands() -> list[list[str]]:
    """Every command line up to its options."""
    found: list[list[str]] = []

    def walk(command: click.Command, path: list[str]) -> None:
        found.append(path)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                walk(below, [*path, name])

    walk(root, [])
    return found


@pytest.mark.parametrize("path", _all_commands(), ids=" ".join)
def test_help_shows_an_example_of_the_command(run: Run, path: list[str]) -> None:
    found = run(*path, "--help")
    assert found.code == 0
    _, _, examples = found.out.partition("Example")
    command = " ".join(["graphrag-rdf", *path])
    assert any(line.strip().startswith(command) for line in examples.splitlines())
    assert ("--store PATH" in found.out) == (not path)
    assert "Common options" in found.out


def test_help_shows_ten_commands_to_start_with_each_on_a_line(run: Run) -> None:
    shown = run("--help").out
    start = shown.partition("Start:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in start] == (
        ["init", "ingest", "ask", "serve", "documents", "facts", "entities", "trace", "sparql", "doctor"]
    )
    table = shown.partition("Start:\n")[2].partition("Options:")[0].splitlines()
    rows = [line for line in table if line.startswith("  ")]
    assert [row.split()[0] for row in rows] == list(commands())


@pytest.mark.parametrize("name", commands())
def test_the_table_of_commands_says_what_each_is(name: str) -> None:
    """Each command has help of its own beside its line in the table."""
    command = root.get_command(click.Context(root), name)
    assert command is not None
    assert command.name is not None
    assert command.help
    assert commands()[name].endswith(".")


def test_every_option_has_help() -> None:
    for path in _all_commands():
        command: click.Command = root
        for name in path:
            assert isinstance(command, click.Group)
            found = command.get_command(click.Context(command), name)
            assert found is not None
            command = found
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{' '.join(path)} {parameter.opts}"


def test_unknown_command_names_what_is_near(run: Run) -> None:
    found = run("ingst", "documents")
    assert found.code == 2
    assert found.err == ("error: unknown command 'ingst'. Did you mean ingest?\nhint: graphrag-rdf --help\n")


@pytest.mark.parametrize("before", [True, False])
def test_common_options_stand_before_or_after_the_command(run: Run, store: Path, before: bool) -> None:
    moved = store.rename(store.with_name("elsewhere"))
    option = ["--store", moved]
    line = (
        [*option, "queries", "run", "system/languages"]
        if before
        else ["queries", "run", "system/languages", *option]
    )
    assert "en" in run(*line).out


def test_the_option_nearest_to_the_command_wins(run: Run, store: Path) -> None:
    assert run("--store", "nowhere", "entities", "list", "--store", store).code == 0


def test_python_minus_m_is_the_program(process: Run) -> None:
    found = process("--version")
    assert found.code == 0
    assert found.out.startswith("graphrag-rdf, version ")


@pytest.mark.parametrize(
    "code", ["import graphrag_rdf", "from graphrag_rdf.cli.app import root; root(['--help'])"]
)
def test_nothing_heavy_is_imported_for_help(code: str) -> None:
    assert HEAVY & _imported(code) == set()


def test_what_reaches_endpoints_is_not_imported_for_a_store_that_is_here(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann lives in Rome.")
    code = f"""
from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
with Engine.open({str(tmp_path / "store")!r}, config=Settings()) as engine:
    assert engine.ingest([{str(tmp_path / "a.txt")!r}]).documents.added == 1
"""
    assert {"SPARQLWrapper", "litellm", "rdflib"} & _imported(code) == set()


def test_a_question_imports_no_reader_of_documents(store: Path) -> None:
    code = f"""
from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
with Engine.open({str(store)!r}, config=Settings()) as engine:
    assert list(engine.ask("Who owned the Petrel?"))
"""
    assert not [name for name in _imported(code) if name.startswith("graphrag_rdf.documents.readers")]


def _imported(code: str) -> set[str]:
    script = f"import sys, atexit\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n{code}"
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
    )
    return set(found.stderr.split())


@pytest.mark.parametrize("arguments", [["-c", "import graphrag_rdf"], ["-m", "graphrag_rdf", "--help"]])
def test_help_comes_at_once(arguments: list[str]) -> None:
    """Processor time, since other work shares the machine."""
    assert processor_seconds([sys.executable, *arguments], Path.cwd()) < 0.3


@pytest.mark.parametrize("command", ["documents", "entities", "facts", "decisions", "trace"])
def test_help_of_lists_imports_no_store(command: str) -> None:
    code = f"sys.argv[1:] = [{command!r}, '--help']\nfrom graphrag_rdf.cli import main\nmain()"
    assert not _imported(code) & {"jinja2", "pydantic", "graphrag_rdf.store.base"}


def test_engine_is_at_the_top_of_the_package() -> None:
    import graphrag_rdf
    from graphrag_rdf.engine import Engine

    assert graphrag_rdf.Engine is Engine
    with pytest.raises(AttributeError):
        _ = graphrag_rdf.Nothing


@pytest.mark.parametrize("group", ["refresh", "entities", "trace", "queries", "config", "cache", "index"])
def test_a_group_alone_shows_its_commands(run: Run, group: str) -> None:
    found = run(group)
    assert found.code == 0
    assert found.out.startswith(f"Usage: graphrag-rdf {group}")
    assert found.err == ""
