"""`facts`: remove and correct facts by hand, list those that contradict, and compare extractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, server_options, shapes_options
from graphrag_rdf.cli.output import format_option, one_line, quoted, say, warn_of_results
from graphrag_rdf.cli.session import open_engine, refuse, server_of, validating
from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.i18n import own_label, tr
from graphrag_rdf.rdf.terms import to_python

if TYPE_CHECKING:
    from graphrag_rdf.evaluation.runs import Compared, FoundFact, Side
    from graphrag_rdf.store.base import Store

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
        'graphrag-rdf facts remove "Ada Lovelace" "was born in" Paris --reason "misread"',
        'graphrag-rdf facts correct "Ada Lovelace" "was born in" Paris --object London',
    ],
)
def facts_command() -> None:
    """Remove or correct facts by hand, and undo it.

    The documents keep their text. A decision records the person, time and reason. While it is in effect, no
    answer uses the fact, even after the document is read again.
    """


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
    "compare",
    examples=[
        "graphrag-rdf facts compare rules llm",
        "graphrag-rdf facts compare graphrag-store other-store --format json",
        "graphrag-rdf facts compare old-store/ dump.nq --limit 100",
        "graphrag-rdf facts compare llm --gold facts.csv --min-f1 0.8",
    ],
)
@click.argument("first", metavar="A")
@click.argument("second", metavar="[B]", required=False)
@click.option("--gold", type=click.Path(path_type=Path), help="Compare A with the facts of this file.")
@click.option(
    "--limit", type=click.IntRange(0), default=20, show_default=True, help="Facts to list of each side."
)
@click.option("--min-f1", type=click.FloatRange(0, 1), help="Exit with 1 if F1 is lower.")
@format_option()
def compare(
    first: str, second: str | None, gold: Path | None, limit: int, min_f1: float | None, form: str
) -> None:
    """Compare the facts of two extractions: what A found and B did not, and the reverse, with quotes.

    A and B are extractions of the store (rules, llm, the name of a model, an activity), other stores, or
    exported files. Precision and recall are those of A, measured against B. A gold file has a fact on each
    line: JSON, or three columns of CSV or TSV. Alternatives are separated by |.
    """
    if (second is None) == (gold is None):
        raise UsageError(tr("give B, or --gold FILE"))
    from graphrag_rdf.evaluation.runs import compare as compared
    from graphrag_rdf.evaluation.runs import gold_side, listed

    with ExitStack() as opened:
        one, store = _side(opened, first)
        two, other = _side(opened, second) if second is not None else (gold_side(cast("Path", gold)), None)
        found = compared(one, two)
        more = listed(store, one, found.more[:limit])
        missed = listed(other, two, found.missed[:limit])
    low = min_f1 is not None and (found.f1 or 0.0) < min_f1
    counts = {"common": len(found.common), "only_a": len(found.more), "only_b": len(found.missed)}
    measures = {
        name: None if value is None else round(value, 4)
        for name, value in (("precision", found.precision), ("recall", found.recall), ("f1", found.f1))
    }
    sides = {key: {"name": side.name, "facts": side.size} for key, side in (("a", one), ("b", two))}
    result = {**sides, **counts, **measures, "facts_only_a": more, "facts_only_b": missed}
    if not output.write(form, result):
        _show_compared(found, more, missed)
    if low:
        raise GraphRagError(
            tr("F1 is {f1:.3f}, less than {min_f1:g}").format(f1=found.f1 or 0, min_f1=min_f1)
        )


def _side(opened: ExitStack, name: str) -> tuple[Side, Store]:
    """The facts of an argument, and the store that holds them, open until the stack is closed."""
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.evaluation.runs import side_of
    from graphrag_rdf.exchange import import_file

    place = Path(name)
    if place.is_dir():
        store = opened.enter_context(Engine.open(place, create=False, read_only=True)).store
        return side_of(store, name), store
    if place.is_file():
        engine = opened.enter_context(Engine.open(":memory:"))
        import_file(engine, place)
        return side_of(engine.store, name), engine.store
    store = opened.enter_context(open_engine(read_only=True, beside=True)).store
    return side_of(store, name, name), store


def _show_compared(found: Compared, more: Sequence[FoundFact], missed: Sequence[FoundFact]) -> None:
    first, second = found.first, found.second
    say(tr("A  {first}: {size:,} facts").format(first=one_line(first.name), size=first.size))
    say(tr("B  {second}: {size:,} facts").format(second=one_line(second.name), size=second.size))
    told = tr("in both: {common:,}; only in A: {more:,}; only in B: {missed:,}")
    say(told.format(common=len(found.common), more=len(found.more), missed=len(found.missed)))
    told = tr("A against B: precision {precision}, recall {recall}, F1 {f1}")
    say(told.format(precision=_share(found.precision), recall=_share(found.recall), f1=_share(found.f1)))
    for side, number, facts in (("A", len(found.more), more), ("B", len(found.missed), missed)):
        if facts:
            say()
            say(tr("Only in {side}").format(side=side))
        for fact in facts:
            say(one_line(f"  {fact.subject} · {fact.predicate} · {fact.object}"))
            for source in fact.sources[:3]:
                say(output.wrapped(quoted(source.quote, source.title, source.page_number), indent="    "))
        if number > len(facts):
            say(tr("  … and {more:,} more (--limit lists them)").format(more=number - len(facts)))


def _share(value: float | None) -> str:
    return tr("none") if value is None else f"{value:.3f}"


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
