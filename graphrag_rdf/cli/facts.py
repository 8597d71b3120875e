"""`facts`: what a person decides about facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.fact_edits import Edited
    from graphrag_rdf.rdf.fact_decisions import FactDecision, Statement

F = TypeVar("F", bound=Callable[..., Any])


def _fact(command: F) -> F:
    """A fact, and how it is decided about."""
    for wrap in (
        format_option(),
        click.option("--dry-run", is_flag=True, help="Say what would be decided; decide nothing."),
        click.option("--undo", is_flag=True, help="Take back what was decided about this fact."),
        click.option(
            "--with-sentences",
            is_flag=True,
            help="The text is wrong, not only its reading: questions leave out its sentences too.",
        ),
        click.option("--by", metavar="NAME", help="Who decides; kept with the decision."),
        click.option("--reason", metavar="TEXT", help="Why; kept with the decision."),
        click.argument("object_", metavar="O"),
        click.argument("predicate_", metavar="P"),
        click.argument("subject_", metavar="S"),
    ):
        command = wrap(command)  # type: ignore[assignment]
    return command


@click.group(
    cls=Group,
    examples=[
        'graphrag-rdf facts remove "Ada Lovelace" "was born in" Paris --reason "misread"',
        'graphrag-rdf facts correct "Ada Lovelace" "was born in" Paris --object London',
    ],
)
def facts_command() -> None:
    """Remove or correct facts by hand, and take that back.

    What documents say stays on record. A decision says who decided what, when and why; while it stands, the
    fact is not asserted and answers nothing, however often the document is read again.
    """


@facts_command.command(
    "remove",
    examples=[
        'graphrag-rdf facts remove "Ada Lovelace" "was born in" Paris --reason "misread" --by "R. Tennant"',
        'graphrag-rdf facts remove --undo "Ada Lovelace" "was born in" Paris',
    ],
)
@_fact
def remove(
    subject_: str, predicate_: str, object_: str, undo: bool, dry_run: bool, form: str, **how: Any
) -> None:
    """Decide that a fact, given in labels or N-Triples terms, does not hold."""
    named = subject_, predicate_, object_
    with open_engine() as engine:
        if undo:
            _nothing_beside_undo(how)
            done = engine.facts.undo_about(*named, dry_run=dry_run)
        else:
            done = engine.facts.remove(*named, dry_run=dry_run, **how)
        _print(engine, done, form, dry_run=dry_run, none="it was removed before")


@facts_command.command(
    "correct",
    examples=[
        'graphrag-rdf facts correct "Ada Lovelace" "was born in" Paris --object London --by "R. Tennant"',
        'graphrag-rdf facts correct Petrel "sank on" 1911-11-17 --object 1911-11-19',
        "graphrag-rdf facts correct --undo Petrel 'sank on' 1911-11-17",
    ],
)
@click.option("--subject", metavar="NEW", help="What the fact is about instead.")
@click.option("--predicate", metavar="NEW", help="The relation instead.")
@click.option("--object", "object", metavar="NEW", help="The object instead.")
@_fact
def correct(
    subject_: str, predicate_: str, object_: str, undo: bool, dry_run: bool, form: str, **how: Any
) -> None:
    """Decide that another fact holds in the place of one.

    NEW is a label or an N-Triples term. A label that nothing has makes a new thing of that name; in the place
    of a date or number another one is taken.
    """
    named = subject_, predicate_, object_
    if not undo and not any(how[name] is not None for name in ("subject", "predicate", "object")):
        raise UsageError(
            "it is not said what holds instead", hint="give --object, --subject or --predicate; or --undo"
        )
    with open_engine() as engine:
        if undo:
            _nothing_beside_undo(how)
            done = engine.facts.undo_about(*named, dry_run=dry_run)
        else:
            done = engine.facts.correct(*named, dry_run=dry_run, **how)
        _print(engine, done, form, dry_run=dry_run)


@facts_command.command("list", examples=["graphrag-rdf facts list --format json"])
@click.option("--all", "every", is_flag=True, help="Also those that were taken back.")
@format_option("text", "json", "jsonl")
def list_(every: bool, form: str) -> None:
    """List what was decided about facts, in order."""
    with open_engine() as engine:
        found = engine.facts.decisions(every=every)
        items = [decision.as_json() for decision in found]
        if form == "json":
            output.write_json(items)
        elif form == "jsonl":
            output.write_jsonl(items)
        elif not found:
            say("nothing was decided")
        else:
            for decision in found:
                say(_told(engine, decision))


@facts_command.command("undo", examples=["graphrag-rdf facts undo urn:graphrag-rdf:removal:…"])
@click.argument("iris", metavar="DECISION...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Say what would hold again; take nothing back.")
@format_option()
def undo_(iris: tuple[str, ...], dry_run: bool, form: str) -> None:
    """Take decisions back, named by IRI; facts hold as before, and the decisions stay on record."""
    with open_engine() as engine:
        done = engine.facts.undo(iris, dry_run=dry_run)
        _print(engine, done, form, dry_run=dry_run)


def _nothing_beside_undo(how: dict[str, Any]) -> None:
    given = sorted(name for name, value in how.items() if value)
    if given:
        raise UsageError(f"--undo goes without --{given[0].replace('_', '-')}")


def _print(engine: Engine, done: Edited, form: str, *, dry_run: bool, none: str = "") -> None:
    if form == "json":
        output.write_json({"dry_run": dry_run, **done.as_json()})
        return
    if not done.decisions:
        say(none)
    if dry_run:
        say("nothing was written; it would be:")
    for decision in done.decisions:
        say(_told(engine, decision))
    for fact in done.facts:
        say(f"  holds no more: {_words(engine, fact)}")
    for fact in done.asserted:
        say(f"  holds: {_words(engine, fact)}")
    standing = [decision for decision in done.decisions if decision.undone is None]
    if done.also:
        said = "; ".join(_words(engine, fact) for fact in done.also)
        output.note(f"still said of what is one with it: {said}")
    if done.sentences and not all(decision.with_sentences for decision in standing):
        count = len(done.sentences)
        which = "the sentence that it was" if count == 1 else f"the {count} sentences that it was"
        output.note(f"questions still use {which} quoted from; --with-sentences leaves out wrong texts too")


def _told(engine: Engine, decision: FactDecision) -> str:
    about = _words(engine, decision.fact)
    if decision.instead is not None:
        about += f" → {_words(engine, decision.instead)}"
    moment = f"{decision.made:%Y-%m-%d %H:%M}"
    back = f", taken back {decision.undone:%Y-%m-%d %H:%M}" if decision.undone else ""
    why = f": {decision.reason}" if decision.reason else ""
    return one_line(f"{decision.iri.value} {decision.label}, {moment}{back}{why} · {about}")


def _words(engine: Engine, fact: Statement) -> str:
    from graphrag_rdf.trace.labels import label_of, read_labels

    labels = read_labels(engine.store, fact)
    return one_line(f"({', '.join(label_of(term, labels) for term in fact)})")
