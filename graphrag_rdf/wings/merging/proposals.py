"""What commands that merge and link share: options, undoing, and the table of proposals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import F
from graphrag_rdf.cli.decisions import write_decisions
from graphrag_rdf.cli.output import say
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
