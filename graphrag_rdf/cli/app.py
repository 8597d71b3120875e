"""The root command: a table of all commands, each loaded when it is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

import click

from graphrag_rdf import __version__
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.process import run_safely
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.wing import all_of, load

SECTIONS: Mapping[str, str] = {
    "start": later("Start"),
    "curate": later("Curate"),
    "exchange": later("Exchange"),
    "operate": later("Operate"),
    "measure": later("Measure"),
    "other": later("Other packages"),
}
"""Section of `--help` → its heading."""

COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "init": ("config:init", "Write a commented settings file.", "start"),
    "ingest": ("ingest", "Read documents and extract facts into the store.", "start"),
    "ask": ("ask", "Answer a question, with citations.", "start"),
    "serve": ("serve", "Serve the store over HTTP: pages, questions, SPARQL.", "start"),
    "documents": ("lists", "List the documents of the store.", "start"),
    "facts": ("facts", "Facts: list, show their evidence, remove, correct.", "start"),
    "entities": ("entities", "Entities: list, show, merge, split.", "start"),
    "trace": ("trace", "Traces of answers: list, show, verify, export.", "start"),
    "sparql": ("sparql", "Run a SPARQL query or update of your own.", "start"),
    "doctor": ("doctor", "Show the state of the store, its models and settings.", "start"),
    "relations": ("relations", "Relations of facts: list, merge, split.", "curate"),
    "decisions": ("decisions", "All decisions about facts and names: list, undo.", "curate"),
    "source": ("documents:source", "The facts of a document; weights of documents.", "curate"),
    "feedback": ("trace:feedback", "Mark an answer, or a citation, as helpful or wrong.", "curate"),
    "forget": ("documents:forget", "Erase documents and the facts that only they support.", "curate"),
    "export": ("exchange:export", "Write the store, or one of its graphs, as RDF.", "exchange"),
    "import": ("exchange:import", "Import RDF files or an evaluation set.", "exchange"),
    "check": ("check", "Check the integrity of the whole store.", "operate"),
    "refresh": ("refresh", "Run one stage of the ingest again.", "operate"),
    "index": ("refresh:index", "The search indexes: status and rebuild.", "operate"),
    "cache": ("llm:cache", "The caches of answers and vectors: stats and clear.", "operate"),
    "config": ("config", "Settings: list, get, set, trust, and their history.", "operate"),
    "llm": ("llm", "Prompts and answers of language models.", "operate"),
    "pipelines": ("pipelines", "Pipelines, their steps, and the parameters for --set.", "operate"),
    "queries": ("sparql:queries", "The program's query templates: list, show, run.", "operate"),
    "retrieve": ("retrieve", "Rank chunks and facts without answering.", "measure"),
}
"""Command → (module of `graphrag_rdf.cli` and the name of the command in it, one line of help, section);
`lists` makes the commands that lists declare."""


def commands() -> dict[str, str]:
    """All commands, those of wings too → one line of help; by sections."""
    return {name: line for named in sections().values() for name, line in named.items()}


def sections() -> dict[str, dict[str, str]]:
    """Section → its commands → one line of help. Empty sections are left out."""
    entries = {**COMMANDS, **_of_wings()}
    by_section = {
        section: {name: line for name, (_, line, place) in entries.items() if place == section}
        for section in SECTIONS
    }
    return {section: named for section, named in by_section.items() if named}


def _of_wings() -> dict[str, tuple[str, str, str]]:
    return all_of(lambda wing: wing.commands)


class Root(Group):
    """Loads a command's module when the command is called: `--help` shows the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the help."""
        del ctx
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        del ctx
        if place := _of_wings().get(cmd_name):
            return cast("click.Command", load(place[0]))
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        if module == "lists":
            from graphrag_rdf.cli.lists import command_of_list

            return command_of_list(cmd_name)
        found = getattr(import_module(f"graphrag_rdf.cli.{module}"), f"{name or module}_command")
        assert isinstance(found, click.Command)  # noqa: S101
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without loading any."""
        del ctx
        width = max(map(len, commands()))
        for section, named in sections().items():
            with formatter.section(tr(SECTIONS[section])):
                formatter.write_dl([(name.ljust(width), tr(line)) for name, line in named.items()])

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        """Run the program. Every failure ends in one message and the right exit code."""
        call: Callable[..., Any] = super().main
        return run_safely(lambda: call(*args, standalone_mode=False, **kwargs), exit_=standalone_mode)


@click.group(
    cls=Root,
    examples=[
        "graphrag-rdf ingest documents/",
        'graphrag-rdf ask "Who founded the company?"',
    ],
)
@click.version_option(__version__, prog_name="graphrag-rdf")
def root() -> None:
    """Ask questions about your documents. Facts, sources and traces of answers are RDF in one store."""
