"""`refresh`: build anew what follows from what the store holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.failures import DONE
from graphrag_rdf.cli.options import embedding_option, model_option
from graphrag_rdf.cli.output import format_option, pairs
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.summary import counts, outcome, usage
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.relations import RelationReport


F = TypeVar("F", bound=Callable[..., Any])


def source_options(command: F) -> F:
    """`--source` and `--all`, passed on as `sources` and `every`."""
    source = click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="DOC",
        help="Only what comes from this document (path, title or IRI); may be repeated.",
    )
    every = click.option("--all", "every", is_flag=True, help="Everything, which is the default.")
    return source(every(command))


@click.group(
    cls=Group,
    examples=["graphrag-rdf refresh relations", "graphrag-rdf refresh facts --source documents/report.md"],
)
def refresh_command() -> None:
    """Run a stage of the ingest again, from what the store keeps; no file is read.

    \b
    facts      extract anew, with rules or a model
    mentions   look for names in sentences anew
    names      elect labels, and let entities point at what stands for them
    relations  relate passages and entities
    index      write the search indexes
    """


@refresh_command.command(
    "relations",
    examples=[
        "graphrag-rdf refresh relations",
        "graphrag-rdf refresh relations --model openai/gpt-4.1-mini --window 1 --truncate 2000",
        "graphrag-rdf refresh relations --source documents/report.md",
    ],
)
@source_options
@model_option
@click.option(
    "--window",
    type=click.IntRange(1, 50),
    metavar="N",
    help="A passage and each of N after it are a pair for the model (default: 2).",
)
@click.option(
    "--truncate",
    type=click.IntRange(100),
    metavar="N",
    help="Characters of each passage that the model sees (default: 1000).",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Leave out relations that the model is less sure of (default: 0.5).",
)
@click.option("--dry-run", is_flag=True, help="Say what a model would be asked and what it would cost.")
@click.option("--again", is_flag=True, help="Have the model read also the pairs that it has read before.")
@click.option(
    "--sentence-window",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Sentences within which two entities count as named together (default: 2).",
)
@click.option(
    "--min-count", type=click.IntRange(1), metavar="N", help="Leave rarer co-occurrences out (default: 2)."
)
@format_option()
def relations(
    sources: tuple[str, ...],
    every: bool,
    model: str | None,
    window: int | None,
    truncate: int | None,
    min_confidence: float | None,
    dry_run: bool,
    again: bool,
    sentence_window: int | None,
    min_count: int | None,
    form: str,
) -> int:
    """Relate passages, and entities that are named together.

    A model, if one is set, reads each pair of neighbouring passages and says how one stands to the other:
    causes, supports, contrasts, references, substep of, follows, part of. Pairs that it has read are not read
    again, and a run that was stopped goes on where it stopped. Beside that, and without any model, passages
    are related that name the same entities or follow each other. An entity in more passages than the setting
    relations.hub_limit makes no relation.

    All of them are kept in urn:graph:derived, what the model said with its evidence in urn:graph:source. With
    the setting relations.build, each ingest that changed something does this too.
    """
    _check(sources, every)
    overrides = {
        "llm.model": model,
        "relations.window": window,
        "relations.truncate": truncate,
        "relations.min_confidence": min_confidence,
        "relations.sentence_window": sentence_window,
        "relations.min_count": min_count,
    }
    if dry_run:
        _estimate(overrides, sources, again=again, form=form)
        return DONE
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.cli.signals import stop_requests

    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget, "pairs") as progress,
    ):
        report = engine.refresh_relations(
            _documents(engine, sources), again=again, progress=progress, stop=stop
        )
    if form == "json":
        output.write_json(report.as_json())
    else:
        _show(report)
    return outcome(report.read.stopped, failed=bool(report.read.failures))


def _estimate(overrides: dict[str, Any], sources: Sequence[str], *, again: bool, form: str) -> None:
    from graphrag_rdf.ingest.relations import estimate_relations

    with open_engine(overrides, read_only=True) as engine:
        found = estimate_relations(engine, _documents(engine, sources), again=again)
    if form == "json":
        output.write_json(found.as_json())
        return
    llm = found.llm
    cost = "price unknown" if llm.cost_usd is None else f"{llm.cost_usd:.2f} USD"
    tokens = f"about {llm.in_tokens or 0:,} + {llm.out_tokens or 0:,} tokens"
    output.say("Nothing was written. This would be done:")
    rows = [("pairs of passages", counts(found.pairs) or "none")]
    rows.append(("model", f"{llm.calls:,} calls, {tokens}, {cost}"))
    pairs(rows, indent="  ")


def _show(report: RelationReport) -> None:
    from graphrag_rdf.ingest.relations import relation_names

    named = relation_names(report.relations)
    rows: list[tuple[str, object]] = [(name, f"{number:,}") for name, number in named.items()]
    read = report.read
    if told := counts(read.pairs):
        rows.append(("pairs of passages", told))
    if read.rejected:
        reasons = {code.replace("_", " "): number for code, number in read.rejected.items()}
        rows.append(("left out", counts(reasons)))
    if report.llm.calls or report.llm.cached:
        rows.append(("model", usage(report.llm)))
    pairs(rows or [("none", "")])
    for warning in report.warnings:
        output.warn_of(warning)
    if read.stopped:
        output.warn("not all pairs were read: run the same command again to go on")


def _check(sources: Sequence[str], every: bool) -> None:
    if sources and every:
        raise UsageError("--source and --all exclude each other", hint="give one of the two")


def _documents(engine: Engine, sources: Sequence[str]) -> list[NamedNode]:
    from graphrag_rdf.ingest.forget import find_documents

    return find_documents(engine.store, sources) if sources else []


# --- other stages --------------------------------------------------------------------------------


@refresh_command.command(
    "facts",
    examples=[
        "graphrag-rdf refresh facts",
        "graphrag-rdf refresh facts --model openai/gpt-4.1 --source documents/report.md",
    ],
)
@source_options
@model_option
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Chunks at the model at once.")
@format_option()
def facts(sources: tuple[str, ...], every: bool, model: str | None, jobs: int | None, form: str) -> int:
    """Extract facts and names anew from documents as they are kept; a model is asked without the cache."""
    overrides = {"llm.model": model, "extract.jobs": jobs}
    return _texts(sources, every, form, overrides, mentions_only=False)


@refresh_command.command("mentions", examples=["graphrag-rdf refresh mentions --source documents/report.md"])
@source_options
@format_option()
def mentions(sources: tuple[str, ...], every: bool, form: str) -> int:
    """Look anew for names in sentences; facts and names that are known stay, and no model is asked."""
    return _texts(sources, every, form, {}, mentions_only=True)


def _texts(
    sources: Sequence[str], every: bool, form: str, overrides: dict[str, Any], *, mentions_only: bool
) -> int:
    from graphrag_rdf.cli.ingest import show_report
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.cli.signals import stop_requests

    _check(sources, every)
    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        documents = _documents(engine, sources)
        report = engine.refresh_texts(documents, mentions_only=mentions_only, progress=progress, stop=stop)
    if form == "json":
        output.write_json(report.as_json())
    else:
        show_report(report, engine.settings.llm.model or "rules")
    return outcome(report.stopped, failed=bool(report.failures))


@refresh_command.command("names", examples=["graphrag-rdf refresh names"])
@source_options
@format_option()
def names(sources: tuple[str, ...], every: bool, form: str) -> None:
    """Elect labels anew, and let entities point at what stands for them by the decisions about entities."""
    _check(sources, every)
    with open_engine() as engine:
        from graphrag_rdf.ingest.files import refresh_names

        number = refresh_names(engine, _documents(engine, sources))
    if form == "json":
        output.write_json({"settled": number})
    else:
        pairs([("settled", f"{number:,} entities, relations and types")])


@refresh_command.command("index", examples=["graphrag-rdf refresh index --source documents/report.md"])
@source_options
@embedding_option
@format_option()
def index(sources: tuple[str, ...], every: bool, embedding_model: str | None, form: str) -> None:
    """Write the search indexes anew; without --source the same as index rebuild."""
    from graphrag_rdf.cli.index import show_indexes
    from graphrag_rdf.diagnosis import index_status

    _check(sources, every)
    with open_engine({"embedding.model": embedding_model}) as engine:
        from graphrag_rdf.ingest.files import refresh_index

        refresh_index(engine, _documents(engine, sources))
        status = index_status(engine)
    if form == "json":
        output.write_json(status)
    else:
        show_indexes(status)
