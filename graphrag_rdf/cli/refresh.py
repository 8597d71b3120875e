"""`refresh`: build anew what follows from what the store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.options import model_option
from graphrag_rdf.cli.output import format_option, pairs
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.summary import counts, outcome, usage
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from graphrag_rdf.ingest.relate import RelationReport


@click.group(cls=Group, examples=["graphrag-rdf refresh relations"])
def refresh_command() -> None:
    """Build anew what follows from what the store holds."""


@refresh_command.command(
    "relations",
    examples=[
        "graphrag-rdf refresh relations",
        "graphrag-rdf refresh relations --model openai/gpt-4.1-mini --window 1 --truncate 2000",
        "graphrag-rdf refresh relations --source documents/report.md",
    ],
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="DOC",
    help="Only what touches this document (path, title or IRI); may be repeated.",
)
@click.option("--all", "every", is_flag=True, help="Everything, which is the default.")
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
    if sources and every:
        raise UsageError("--source and --all exclude each other", hint="give one of the two")
    overrides = {
        "llm.model": model,
        "relations.window": window,
        "relations.truncate": truncate,
        "relations.min_confidence": min_confidence,
        "relations.sentence_window": sentence_window,
        "relations.min_count": min_count,
    }
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.cli.signals import stop_requests

    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget, "pairs") as progress,
    ):
        from graphrag_rdf.ingest.forget import find_documents

        documents = find_documents(engine.store, sources) if sources else []
        report = engine.refresh_relations(documents, again=again, progress=progress, stop=stop)
    if form == "json":
        output.write_json(report.as_json())
    else:
        _show(report)
    return outcome(report.read.stopped, failed=bool(report.read.failures))


def _show(report: RelationReport) -> None:
    from graphrag_rdf.ingest.relate import relation_names

    named = relation_names(report.relations)
    rows: list[tuple[str, object]] = [(name, f"{number:,}") for name, number in named.items()]
    read = report.read
    if told := counts(read.pairs):
        rows.append(("pairs of passages", told))
    if read.rejected:
        rows.append(("left out", counts(read.rejected)))
    if report.llm.calls or report.llm.cached:
        rows.append(("model", usage(report.llm)))
    pairs(rows or [("none", "")])
    for warning in report.warnings:
        output.warn(f"{warning['detail']} ({warning['type']})")
    if read.stopped:
        output.warn("not all pairs were read: run the same command again to go on")
