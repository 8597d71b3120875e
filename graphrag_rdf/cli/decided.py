"""What the commands about decisions share: `entities` and `relations`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import F, Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, ngettext, tr
from graphrag_rdf.rdf.terms import local_name

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.decisions import Decision, Sort

    Undo = Callable[[Engine, Sequence[Decision]], None]

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


def add_record_commands(
    group: Group, load: Callable[[], tuple[Sort, Undo]], *, prefix: str, order: str, after_undo: str
) -> None:
    """Give a group the commands `decisions` and `undo`.

    Args:
        load: imports what the decisions are about, and the function that undoes them.
        prefix: of the IRIs of its merges, for an example.
        order: of the list, for its help.
        after_undo: what becomes of undone decisions, for the help.
    """
    name = str(group.name)

    @group.command(
        "decisions",
        examples=[f"graphrag-rdf {name} decisions --format json"],
        help=f"List the decisions about {name}, {order}.",
    )
    @click.option("--all", "every", is_flag=True, help="Also list those that were undone.")
    @format_option("text", "json", "jsonl")
    def decisions(every: bool, form: str) -> None:
        from graphrag_rdf.ingest.decisions import read_decisions

        sort, _ = load()
        with open_engine(beside=True) as engine:
            found = [d for d in read_decisions(engine.store, sort) if every or d.undone is None]
        write_decisions(found, form, tr("no decisions"), done="")

    @group.command(
        "undo",
        examples=[f"graphrag-rdf {name} undo urn:graphrag-rdf:{prefix}merge:…"],
        help=f"Undo decisions, named by IRI. {after_undo}",
    )
    @click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
    @format_option()
    def undo_(iris: tuple[str, ...], form: str) -> None:
        sort, undo = load()
        with open_engine() as engine:
            taken = _in_effect(engine, iris, sort)
            undo(engine, taken)
        write_decisions(taken, form, done=tr("undone"))


def undo_all(engine: Engine, standing: Sequence[Decision], undo: Undo, limit: int | None, form: str) -> None:
    """Undo decisions, newest first, and print them.

    Args:
        standing: in the order in which they were made.
    """
    taken = standing[::-1][:limit]
    if taken:
        undo(engine, taken)
    write_decisions(taken, form, tr("nothing to undo"), done=tr("undone"))


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


def _in_effect(engine: Engine, iris: Sequence[str], sort: Sort) -> list[Decision]:
    """The decisions that IRIs name.

    Raises:
        UsageError: one is not in effect, or follows from the synonyms file.
    """
    from graphrag_rdf.ingest.decisions import read_decisions
    from graphrag_rdf.ingest.joins import SYNONYMS

    known = {d.iri.value: d for d in read_decisions(engine.store, sort) if d.undone is None}
    for iri in iris:
        if iri not in known:
            raise UsageError(
                tr("no decision in effect has the IRI {iri}").format(iri=iri),
                hint=tr("graphrag-rdf {command} decisions lists them").format(command=sort.command),
            )
        if known[iri].by == SYNONYMS:
            raise UsageError(
                tr("{iri} comes from the synonyms file").format(iri=iri),
                hint=tr("remove its line from the file, and ingest again"),
            )
    return [known[iri] for iri in dict.fromkeys(iris)]


_LINKS = {"merge": later("represents"), "split": later("is not"), "inverse": later("is the inverse of")}
"""What a decision says of the first thing and the others."""


def write_decisions(found: Sequence[Decision], form: str, none: str = "", done: str | None = None) -> None:
    """Print decisions.

    Args:
        none: printed if there are none.
        done: what happened to them, by default that they were decided; empty for a list.
    """
    from graphrag_rdf.rdf.json_values import to_json

    items: list[dict[str, Any]] = to_json(found)
    if output.write(form, items):
        return
    done = tr("decided") if done is None else done
    if not items:
        say(none)
    for item in items:
        when = tr(" (undone)") if item["undone"] and not done else ""
        if item["link"]:
            (member,), to = item["members"], item["link"]
            relation = local_name(to["relation"])
            say(one_line(f"{done} {item['iri']}: {member} {relation} {to['target']}{when}".strip()))
            continue
        chosen = item["canonical"] or item["apart"]
        if item["kind"] == "inverse":
            chosen = item["members"][0] if item["members"] else ""
        others = ", ".join(member for member in item["members"] if member != chosen)
        link = tr(_LINKS[item["kind"]])
        say(one_line(f"{done} {item['iri']}: {chosen} {link} {others}{when}".strip()))
