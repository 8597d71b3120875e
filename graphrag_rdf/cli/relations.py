"""`relations`: a group whose commands lists and wings bring, but for `undo`."""

from __future__ import annotations

import click

from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.decisions import add_undo_command


@click.group(cls=Group, examples=["graphrag-rdf relations list --match work"])
def relations_command() -> None:
    """List the relations of facts, and decide which of them are the same, or inverse."""


add_undo_command(
    relations_command,
    about="relations",
    prefix="relation-",
    after_undo="They stay on record, without effect, and no ingest makes them again.",
)
