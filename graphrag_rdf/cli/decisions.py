"""`decisions`: show and undo decisions; undoing and printing for other commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.ingest.decisions import Decision


def add_undo_command(group: Group, *, about: str | None, prefix: str, after_undo: str) -> None:
    """Give a group the command `undo`.

    Args:
        about: what the decisions are about, as in `Kind.about`; None for anything.
        prefix: of the IRIs of its merges, for an example.
        after_undo: what becomes of undone decisions, for the help.
    """

    @group.command(
        "undo",
        examples=[f"graphrag-rdf {group.name} undo urn:graphrag-rdf:{prefix}merge:…"],
        help=f"Undo decisions, named by IRI. {after_undo}",
    )
    @click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
    @format_option()
    def undo_(iris: tuple[str, ...], form: str) -> None:
        from graphrag_rdf.ingest.decisions import all_kinds, named, undo

        kinds = [kind for kind in all_kinds() if about in (None, kind.about)]
        with open_engine() as engine:
            undone = undo(engine, named(engine.store, iris, kinds))
        write_decisions(undone, form, done=tr("undone"))


@click.group("decisions", cls=Group, examples=["graphrag-rdf decisions list"])
def decisions_command() -> None:
    """List all decisions about entities, relations and facts, and undo them."""


@decisions_command.command("show", examples=["graphrag-rdf decisions show urn:graphrag-rdf:merge:…"])
@click.argument("iri", metavar="DECISION")
@format_option()
def show(iri: str, form: str) -> None:
    """Show a decision in effect: what it decides, the person or rule, the reason and the time."""
    from graphrag_rdf.ingest.decisions import all_kinds, named
    from graphrag_rdf.rdf.json_values import to_json

    with open_engine(beside=True) as engine:
        (decision,) = named(engine.store, [iri], all_kinds())
    item = to_json(decision)
    if not output.write(form, item):
        output.pairs([(key, value) for key, value in item.items() if value])


add_undo_command(decisions_command, about=None, prefix="", after_undo="They stay on record, without effect.")


def write_decisions(
    decisions: Sequence[Decision], form: str, none: str = "", done: str | None = None
) -> None:
    """Print decisions.

    Args:
        none: printed if there are none.
        done: what happened to them, by default that they were decided.
    """
    from graphrag_rdf.rdf.json_values import to_json

    if output.write(form, to_json(decisions)):
        return
    if not decisions:
        say(none)
    verb = done or tr("decided")
    for decision in decisions:
        say(one_line(f"{verb} {decision.iri.value}: {decision.in_words()}"))
