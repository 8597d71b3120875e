"""`facts`: remove and correct facts by hand, list those that contradict, and compare extractions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, server_options, shapes_options
from graphrag_rdf.cli.documents import fact_command
from graphrag_rdf.cli.output import format_option, one_line, quoted, say, warn_of_results
from graphrag_rdf.cli.session import open_engine, refuse, server_of, validating
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import own_label, tr
from graphrag_rdf.rdf.terms import to_python

if TYPE_CHECKING:
    pass

Fact: TypeAlias = tuple[str, str, str]
"""Terms or labels."""
_PLACES = ("subject", "predicate", "object")
F = TypeVar("F", bound=Callable[..., Any])


def _fact(command: F) -> F:
    """The arguments and options of a decision about a fact."""
    for wrap in (
        format_option(),
        server_options,
        click.option("--dry-run", is_flag=True, help="Show the effect, and write nothing."),
        click.option("--undo", is_flag=True, help="Undo the decisions about this fact."),
        click.option(
            "--with-sentences",
            is_flag=True,
            help="The text is wrong too: leave out its sentences in answers. Can be added later.",
        ),
        click.option("--by", metavar="NAME", help="Your name, stored with the decision."),
        click.option("--reason", metavar="TEXT", help="Reason, stored with the decision."),
        click.argument("object_", metavar="O"),
        click.argument("predicate_", metavar="P"),
        click.argument("subject_", metavar="S"),
    ):
        command = wrap(command)  # type: ignore[assignment]
    return command


@click.group(
    cls=Group,
    examples=[
        'graphrag-rdf facts list --entity "Ada Lovelace"',
        'graphrag-rdf facts show "Ada Lovelace" "was born in" Paris',
        'graphrag-rdf facts remove "Ada Lovelace" "was born in" Paris --reason "misread"',
    ],
)
def facts_command() -> None:
    """List facts and show their evidence; remove or correct facts by hand, and undo it.

    A decision to remove or correct a fact records the person, time and reason; the documents keep their text.
    While it is in effect, no answer uses the fact, even after the document is read again.
    """


facts_command.add_command(fact_command, "show")


@facts_command.command(
    "remove",
    examples=[
        'graphrag-rdf facts remove "Ada Lovelace" "was born in" Paris --reason "misread" --by "R. Tennant"',
        'graphrag-rdf facts remove --undo "Ada Lovelace" "was born in" Paris',
        'graphrag-rdf facts remove --server http://127.0.0.1:7878 Petrel "sank on" 1911-11-14',
    ],
)
@_fact
def remove(subject_: str, predicate_: str, object_: str, dry_run: bool, form: str, **how: Any) -> None:
    """Remove a fact, given as labels or N-Triples terms."""
    done = _decided((subject_, predicate_, object_), dry_run=dry_run, **how)
    _print(done, form, dry_run=dry_run, none=tr("it is removed already"))


@facts_command.command(
    "correct",
    examples=[
        'graphrag-rdf facts correct "Ada Lovelace" "was born in" Paris --object London --by "R. Tennant"',
        'graphrag-rdf facts correct Petrel "sank on" 1911-11-17 --object 1911-11-19',
        "graphrag-rdf facts correct --undo Petrel 'sank on' 1911-11-17",
    ],
)
@click.option("--subject", metavar="NEW", help="New subject of the fact.")
@click.option("--predicate", metavar="NEW", help="New predicate of the fact.")
@click.option("--object", "object", metavar="NEW", help="New object of the fact.")
@shapes_options
@_fact
def correct(subject_: str, predicate_: str, object_: str, dry_run: bool, form: str, **how: Any) -> None:
    """Correct a fact: remove it, and add the corrected one.

    NEW is a label or an N-Triples term. An unknown label creates a new entity. The new value of a date or
    number must be a date or number too.
    """
    instead = {name: how.pop(name) for name in _PLACES}
    if not (how["undo"] or how["with_sentences"]) and all(value is None for value in instead.values()):
        raise UsageError(
            tr("nothing to correct: give the new --subject, --predicate or --object"),
            hint=tr("or undo a correction with --undo"),
        )
    done = _decided((subject_, predicate_, object_), instead, dry_run=dry_run, **how)
    _print(done, form, dry_run=dry_run, none=tr("its sentences are left out already"))
    warn_of_results(done.get("broken", 0))


def _decided(
    named: Fact,
    instead: dict[str, Any] | None = None,
    *,
    undo: bool,
    dry_run: bool,
    server: str | None,
    token_file: Path | None,
    shapes: tuple[str, ...] = (),
    validation: str | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Make or undo a decision about a fact, here or on a server; its result as JSON."""
    if undo:
        _nothing_beside_undo({**how, **(instead or {})})
    client = server_of(server, token_file)
    if client is not None:
        refuse({"shapes": shapes, "validation": validation})
        if undo:
            return client.undo_about(named, dry_run=dry_run)
        return client.decide(named, instead, dry_run=dry_run, **how)
    with open_engine(validating(shapes, validation)) as engine:
        facts = engine.facts
        if undo:
            done = facts.undo_about(*named, dry_run=dry_run)
        elif instead is None:
            done = facts.remove(*named, dry_run=dry_run, **how)
        else:
            done = facts.correct(*named, dry_run=dry_run, **{**instead, **how})
        return cast("dict[str, Any]", facts.as_json(done))


@facts_command.command(
    "conflicts",
    examples=["graphrag-rdf facts conflicts", "graphrag-rdf facts conflicts --about Petrel --format json"],
)
@click.option("--about", metavar="ENTITY", help="Only conflicts about this entity (label or IRI).")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Pairs for each rule.")
@format_option("text", "json", "jsonl")
def conflicts(about: str | None, limit: int, form: str) -> None:
    """List facts that contradict, with their quotes and documents.

    Two values contradict if a loaded ontology declares their relation functional, or if they are dates or
    numbers from different documents. Two types contradict if a loaded ontology declares them disjoint.
    """
    from graphrag_rdf.checks.conflicts import find_conflicts

    with open_engine(beside=True) as engine:
        entity = None if about is None else engine.entity(about)
        found = find_conflicts(engine.store, about=entity, limit=limit)
    if output.write(form, found):
        return
    for conflict in found:
        say(one_line(f"{conflict.subject_label} · {conflict.relation_label}"))
        for number, fact in enumerate(conflict.facts):
            more = tr("  ← more authority") if conflict.more_authority == number else ""
            say(f"  {one_line(fact.o_label)}{more}")
            for each in fact.sources:
                source = each.source
                told = quoted(source.words, source.title, source.page_number, source.authority)
                say(f"    {told if source.words else one_line(source.name)}")
    if not found:
        say(tr("no conflicts"))


@facts_command.command(
    "rejected",
    examples=["graphrag-rdf facts rejected", "graphrag-rdf facts rejected --reason hedged --format json"],
)
@click.option("--reason", "reasons", multiple=True, metavar="CODE", help="Only these; may be repeated.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Most candidates.")
@format_option("text", "json", "jsonl")
def rejected(reasons: tuple[str, ...], limit: int, form: str) -> None:
    """List what extraction found and rejected, with the reason, by document and place.

    The reasons that occur, with numbers: graphrag-rdf queries run system/rejected-counts
    """
    with open_engine(beside=True) as engine:
        known = {row["reason"] for row in engine.store.select("system/rejected-counts")}
        if unknown := [reason for reason in reasons if reason not in known]:
            told = tr("nothing was rejected for {unknown}").format(unknown=", ".join(unknown))
            reasons_known = tr("reasons that occur: {reasons}").format(reasons=", ".join(sorted(known)))
            raise UsageError(told, hint=reasons_known if known else tr("nothing was rejected"))
        rows = engine.store.select("facts/rejected", reasons=list(reasons), limit=limit)
    found = [{name: to_python(term) for name, term in row.items()} for row in rows]
    if output.write(form, found):
        return
    for (title, page), items in groupby(found, key=lambda row: (row["title"], row.get("page_number"))):
        say(one_line(tr("{title}, page {page}").format(title=title, page=page) if page else title))
        for item in items:
            say(output.wrapped(f"{item['reason']}: {one_line(item['candidate'])}", indent="    ", first="  "))
    if not found:
        say(tr("nothing was rejected"))
    elif len(found) == limit:
        output.note(tr("the first {limit:,}; --limit shows more").format(limit=limit))


@facts_command.command("undo", examples=["graphrag-rdf facts undo urn:graphrag-rdf:removal:…"])
@click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show the effect, and write nothing.")
@server_options
@format_option()
def undo_(
    iris: tuple[str, ...], dry_run: bool, server: str | None, token_file: Path | None, form: str
) -> None:
    """Undo decisions, named by IRI. They stay on record, without effect."""
    client = server_of(server, token_file)
    if client is not None:
        done = client.undo(iris, dry_run=dry_run)
    else:
        with open_engine() as engine:
            done = engine.facts.as_json(engine.facts.undo(iris, dry_run=dry_run))
    _print(done, form, dry_run=dry_run)


def _nothing_beside_undo(how: dict[str, Any]) -> None:
    given = sorted(name for name, value in how.items() if value)
    if given:
        raise UsageError(
            tr("--undo cannot be combined with --{name}").format(name=given[0].replace("_", "-"))
        )


def _print(done: dict[str, Any], form: str, *, dry_run: bool, none: str = "") -> None:
    if output.write(form, {"dry_run": dry_run, **done}):
        return
    if not done["decisions"]:
        say(none)
    if dry_run:
        say(tr("Nothing was written. This would be done:"))
    for decision in done["decisions"]:
        say(_told(decision))
    for fact in done["retracted"]:
        say(tr("  removed: {fact}").format(fact=_words(fact)))
    for fact in done["asserted"]:
        say(tr("  added: {fact}").format(fact=_words(fact)))
    if done["sentences"] and any(decision["with_sentences"] for decision in done["decisions"]):
        say(tr("  sentences left out in answers: {count}").format(count=len(done["sentences"])))
    standing = [decision for decision in done["decisions"] if decision["undone"] is None]
    if done["also"]:
        output.note(
            tr("merged entities still have this fact: {names}").format(
                names="; ".join(map(_words, done["also"]))
            )
        )
    if done["sentences"] and not all(decision["with_sentences"] for decision in standing):
        count = len(done["sentences"])
        output.note(
            tr(
                "a model still reads its sentences ({count}); leave out wrong text with --with-sentences"
            ).format(count=count)
        )


def _told(decision: dict[str, Any]) -> str:
    about = _words(decision["fact"])
    if decision["instead"] is not None:
        about += f" → {_words(decision['instead'])}"
    undone = decision["undone"]
    back = tr(", undone {when}").format(when=_minute(undone)) if undone else ""
    why = f": {decision['reason']}" if decision["reason"] else ""
    return one_line(
        f"{decision['iri']} {own_label(decision['label'])}, {_minute(decision['made'])}{back}{why} · {about}"
    )


def _minute(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M}"


def _words(fact: dict[str, str]) -> str:
    return one_line(f"({', '.join(fact[name] for name in ('s_label', 'p_label', 'o_label'))})")
