"""`index`: show and rebuild the search indexes."""

from __future__ import annotations

from typing import Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.failures import DONE, FAILED
from graphrag_rdf.cli.options import embedding_option
from graphrag_rdf.cli.output import format_option, say
from graphrag_rdf.cli.session import open_engine


@click.group(cls=Group, examples=["graphrag-rdf index status", "graphrag-rdf index rebuild"])
def index_command() -> None:
    """Show and rebuild the search indexes of words and vectors."""


@index_command.command("status", examples=["graphrag-rdf index status"])
@embedding_option
@format_option()
def status(embedding_model: str | None, form: str) -> int:
    """Show the contents of the indexes, and whether they are up to date; exit code 1 if one is damaged."""
    from graphrag_rdf.checks.diagnosis import index_status

    with open_engine({"embedding.model": embedding_model}) as engine:
        found = index_status(engine)
    if not output.write(form, found):
        show_indexes(found)
    return FAILED if any(entry.get("error") for entry in found["indexes"].values()) else DONE


@index_command.command("rebuild", examples=["graphrag-rdf index rebuild"])
@embedding_option
@format_option()
def rebuild(embedding_model: str | None, form: str) -> None:
    """Build the indexes again from the store, whatever their state."""
    from graphrag_rdf.checks.diagnosis import index_status

    with open_engine({"embedding.model": embedding_model}) as engine:
        engine.rebuild_indexes()
        found = index_status(engine)
    if not output.write(form, found):
        show_indexes(found)


def show_indexes(found: dict[str, Any], indent: str = "") -> None:
    """Print the status of the indexes."""
    say(f"{indent}store at commit {found['content_commit']}")
    for name, entry in found["indexes"].items():
        if entry.get("error"):
            say(output.safe(f"{indent}{name}: {entry['error']}"))
            continue
        counts = ", ".join(f"{number:,} {kind}" for kind, number in entry["counts"].items())
        state = "up to date" if entry["up_to_date"] else f"behind, at commit {entry['commit']}"
        model = f", {entry['model']} ({entry['dimension']} dimensions)" if entry.get("model") else ""
        say(output.safe(f"{indent}{name}: {counts}; {state}{model}"))
