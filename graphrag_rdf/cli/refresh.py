"""`refresh`: build anew what follows from what the store holds."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option, pairs
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import prefixed


@click.group(cls=Group, examples=["graphrag-rdf refresh relations"])
def refresh_command() -> None:
    """Build anew what follows from what the store holds."""


@refresh_command.command(
    "relations",
    examples=[
        "graphrag-rdf refresh relations",
        "graphrag-rdf refresh relations --window 3 --min-count 2",
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
@click.option(
    "--window",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Sentences within which two entities count as named together (default: 2).",
)
@click.option(
    "--min-count", type=click.IntRange(1), metavar="N", help="Leave rarer co-occurrences out (default: 2)."
)
@format_option()
def relations(
    sources: tuple[str, ...], every: bool, window: int | None, min_count: int | None, form: str
) -> None:
    """Relate passages that name the same entities or follow each other, and entities named together.

    They are kept in urn:graph:derived. An entity in more passages than the setting relations.hub_limit makes
    no relation. With the setting relations.build, each ingest that changed something does this too.
    """
    if sources and every:
        raise UsageError("--source and --all exclude each other", hint="give one of the two")
    overrides = {"relations.window": window, "relations.min_count": min_count}
    with open_engine(overrides) as engine:
        from graphrag_rdf.ingest.forget import find_documents

        counts = engine.refresh_relations(find_documents(engine.store, sources) if sources else ())
    found = {_short(iri): number for iri, number in sorted(counts.items())}
    if form == "json":
        output.write_json({"relations": found})
    else:
        pairs([(name, f"{number:,}") for name, number in found.items()] or [("none", "")])


def _short(iri: str) -> str:
    from pyoxigraph import NamedNode

    return prefixed(NamedNode(iri)) or iri
