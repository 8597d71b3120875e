"""The root command: which commands there are, and how they are loaded only when they are called."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click

from graphrag_rdf import __version__
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.failures import run_safely

COMMANDS: Mapping[str, tuple[str, str]] = {
    "init": ("init", "Write a commented settings file."),
    "ingest": ("ingest", "Read documents and extract facts into the store."),
    "ask": ("ask", "Answer a question, with citations."),
    "retrieve": ("retrieve", "Rank passages and facts for a question without answering it."),
    "trace": ("trace", "How answers came about: list, show, verify, diff, replay, export and more."),
    "feedback": ("feedback", "Mark an answer, or what it rests on, as helpful or wrong."),
    "documents": (
        "documents",
        "List the documents of the store: size, chunks, facts, language, date, failures.",
    ),
    "source": ("source", "From documents to facts, and from facts to the characters they rest on."),
    "sparql": ("sparql", "Run a SPARQL query or update of your own."),
    "serve": ("serve", "Serve the store over HTTP: SPARQL, graphs, questions."),
    "mcp": ("mcp", "Serve the store as tools for programs with a language model (MCP)."),
    "pipelines": ("pipelines", "The pipelines, their steps, and the parameters that --set takes."),
    "queries": ("queries", "The query templates that the program itself works with."),
    "entities": ("entities", "The entities of the knowledge graph."),
    "facts": ("facts", "Remove or correct facts by hand, and take that back."),
    "forget": ("forget", "Erase documents, and what only they supported."),
    "export": ("exchange:export", "Write the store, or a graph of it, as RDF."),
    "import": ("exchange:import", "Take in RDF files or an evaluation set."),
    "check": ("check", "Check the integrity of the whole store."),
    "doctor": ("doctor", "Show versions, settings, paths, sizes and indexes."),
    "index": ("index", "The search indexes: status and rebuild."),
    "refresh": ("refresh", "Run a stage of the ingest again: facts, mentions, names, relations, index."),
    "cache": ("cache", "The caches of answers and vectors: stats and clear."),
    "config": ("config", "The settings in force, and where each comes from."),
    "llm": ("llm", "What was asked of models."),
    "tune": ("tune", "Learn parameters from marks or from an evaluation set."),
    "eval": ("evaluate:eval", "Measure retrieval and answers on an evaluation set."),
}
"""Command → (module of `graphrag_rdf.cli` and the name of the command in it, one line of help)."""


class Root(Group):
    """Loads a command's module when the command is called: `--help` shows the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found = getattr(import_module(f"graphrag_rdf.cli.{module}"), f"{name or module}_command")
        assert isinstance(found, click.Command)  # noqa: S101
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command to run; an unknown one is named together with those that are spelt alike."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=3, cutoff=0.7)
            meant = f" (did you mean {' or '.join(near)}?)" if near else ""
            ctx.fail(f"there is no command {args[0]!r}{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without loading any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        """Run the program; whatever fails is said in one message and ends with the right exit code."""
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
    """GraphRAG whose whole memory is RDF: ask questions over your documents and walk every answer back."""
