"""`decisions`: show and undo decisions; and what other commands about decisions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import F, Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.i18n import ngettext, tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.decisions import Decision

by_option = click.option("--by", metavar="NAME", help="Your name, stored with the decision.")
reason_option = click.option("--reason", metavar="TEXT", help="Reason, stored with the decision.")
confidence_option = click.option(
    "--confidence", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Your confidence."
)


def proposal_options(noun: str, apply: str, limit: str) -> Callable[[F], F]:
    """`--dry-run`, `--apply` and `--undo`, of which one is the parameter `act`, and `--limit`.

    Args:
        noun: what the command proposes, in the plural.
        apply, limit: the help of these options.
    """

    def add(command: F) -> F:
        for option in (
            click.option("--limit", type=click.IntRange(1), help=limit),
            click.option(
                "--undo", "act", flag_value="undo", help=f"Undo all {noun} of this command, newest first."
            ),
            click.option("--apply", "act", flag_value="apply", help=apply),
            click.option(
                "--dry-run", "act", flag_value="dry-run", help=f"List the proposed {noun} (the default)."
            ),
        ):
            command = option(command)
        return command

    return add


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


def undo_all(engine: Engine, standing: Sequence[Decision], limit: int | None, form: str) -> None:
    """Undo decisions, newest first, and print them.

    Args:
        standing: in the order in which they were made.
    """
    from graphrag_rdf.ingest.decisions import undo

    undone = undo(engine, standing[::-1][:limit])
    write_decisions(undone, form, tr("nothing to undo"), done=tr("undone"))


def write_merges(
    found: Sequence[Any],
    form: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    applied: bool,
) -> None:
    """Print the proposals of `normalise`.

    Args:
        columns, rows: their table.
        applied: they were decided on.
    """
    items = [proposal.as_json() for proposal in found]
    if form == "json":
        output.write_json({"applied": applied, "proposals": items})
        return
    if form == "jsonl":
        output.write_jsonl(items)
        return
    output.table(columns, rows)
    command = click.get_current_context().command_path
    if applied:
        told = ngettext(
            "decided on {count} pair; undo with: {command} --undo",
            "decided on {count} pairs; undo with: {command} --undo",
            len(items),
        )
    else:
        told = ngettext(
            "{count} pair; decide on it with: {command} --apply",
            "{count} pairs; decide on them with: {command} --apply",
            len(items),
        )
    say(told.format(count=len(items), command=command))


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
