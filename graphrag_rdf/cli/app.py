"""The root command: a table of all commands, each loaded when it is called."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

import click

from graphrag_rdf import __version__
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.process import run_safely
from graphrag_rdf.errors import alternatives
from graphrag_rdf.i18n import tr
from graphrag_rdf.wing import all_of, in_words, load

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("config:init", "Write a commented settings file."),
    "ingest": ("ingest", "Read documents and extract facts into the store."),
    "ask": ("ask", "Answer a question, with citations."),
    "retrieve": ("retrieve", "Rank chunks and facts for a question without answering it."),
    "trace": ("trace", "Traces of answers: list, show, verify, diff, replay, export and more."),
    "feedback": ("trace:feedback", "Mark an answer, or a citation of it, as helpful or wrong."),
    "documents": (
        "lists",
        "List the documents of the store: size, chunks, facts, language, date, failures.",
    ),
    "source": ("documents:source", "The facts of a document, and the quotes behind a fact."),
    "sparql": ("sparql", "Run a SPARQL query or update of your own."),
    "serve": ("serve", "Serve the store over HTTP: SPARQL, graphs, questions."),
    "pipelines": ("pipelines", "Pipelines, their steps, and the parameters for --set: list, show."),
    "queries": ("sparql:queries", "The program's query templates: list, show, run."),
    "entities": ("entities", "Entities: list, merge, split, find those that are the same."),
    "relations": ("relations", "Relations of facts: list, merge, split, find those that are the same."),
    "decisions": ("decisions", "Decisions about entities, relations and facts: list, show, undo."),
    "facts": ("facts", "Remove or correct facts by hand, undo it, and list facts that contradict."),
    "forget": ("documents:forget", "Erase documents and the facts that only they support."),
    "export": ("exchange:export", "Write the store, or one of its graphs, as RDF."),
    "import": ("exchange:import", "Import RDF files or an evaluation set."),
    "check": ("check", "Check the integrity of the whole store."),
    "doctor": ("doctor", "Show versions, settings, paths, sizes and indexes."),
    "index": ("refresh:index", "The search indexes: status and rebuild."),
    "refresh": ("refresh", "Run one stage of the ingest again: facts, mentions, names or relations."),
    "cache": ("llm:cache", "The caches of answers and vectors: stats and clear."),
    "config": ("config", "Settings: list, get, set, trust, and their history."),
    "llm": ("llm", "Prompts and answers of language models."),
}
"""Command → (module of `graphrag_rdf.cli` and the name of the command in it, one line of help); `lists` makes
the commands that lists declare."""


def commands() -> dict[str, str]:
    """All commands, those of wings too → one line of help."""
    return {
        **{name: line for name, (_, line) in COMMANDS.items()},
        **{name: line for name, (_, line) in _of_wings().items()},
    }


def _of_wings() -> dict[str, tuple[str, str]]:
    return all_of(lambda wing: wing.commands)


class Root(Group):
    """Loads a command's module when the command is called: `--help` shows the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to run. The error for an unknown one suggests commands with a similar name."""
        names = commands()
        if args and args[0] not in names and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], names, n=3, cutoff=0.7)
            if near:
                ctx.fail(
                    tr("unknown command {name!r}. Did you mean {near}?").format(
                        name=args[0], near=alternatives(near)
                    )
                )
            ctx.fail(tr("unknown command {name!r}").format(name=args[0]) + in_words())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without loading any."""
        del ctx
        with formatter.section(tr("Commands")):
            formatter.write_dl([(name, tr(line)) for name, line in commands().items()])

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
