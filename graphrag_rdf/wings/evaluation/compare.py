"""`facts compare`: the facts of two extractions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, one_line, quoted, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.wings.evaluation.runs import Compared, FoundFact, Side


@click.command(
    "compare",
    cls=Command,
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
def compare_command(
    first: str, second: str | None, gold: Path | None, limit: int, min_f1: float | None, form: str
) -> None:
    """Compare the facts of two extractions: what A found and B did not, and the reverse, with quotes.

    A and B are extractions of the store (rules, llm, the name of a model, an activity), other stores, or
    exported files. Precision and recall are those of A, measured against B. A gold file has a fact on each
    line: JSON, or three columns of CSV or TSV. Alternatives are separated by |.
    """
    if (second is None) == (gold is None):
        raise UsageError(tr("give B, or --gold FILE"))

    from graphrag_rdf.wings.evaluation.runs import compare, gold_side, listed

    with ExitStack() as opened:
        one, store = _side(opened, first)
        two, other = _side(opened, second) if second is not None else (gold_side(cast("Path", gold)), None)
        found = compare(one, two)
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
    from graphrag_rdf.exchange import import_file
    from graphrag_rdf.wings.evaluation.runs import side_of

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
