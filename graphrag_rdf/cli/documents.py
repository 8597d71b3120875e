"""`source` and `forget`: show what supports a fact, and erase documents."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, Group
from graphrag_rdf.cli.output import colours, format_option, one_line, pairs, reading_width, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import bracketed, counted, tr


@click.group(
    cls=Group,
    examples=[
        "graphrag-rdf source tree documents/report.pdf",
        "graphrag-rdf source authority registers/ships.md 0.9",
    ],
)
def source_command() -> None:
    """Show the facts of a document; weight documents. `source fact` is `facts show`."""


@source_command.command("tree", examples=["graphrag-rdf source tree documents/report.pdf"])
@click.argument("document", metavar="DOC")
@format_option()
def tree(document: str, form: str) -> None:
    """Show a document (by path, title or IRI): its pages, their chunks, and the facts of each."""
    from graphrag_rdf.trace.sources import source_tree
    from graphrag_rdf.trace.text import render_tree

    with open_engine(beside=True) as engine:
        found = source_tree(engine.store, document)
    if not output.write(form, found):
        say(render_tree(found, width=reading_width(), colour=colours()).rstrip("\n"))


@source_command.command(
    "fact",
    examples=[
        'graphrag-rdf facts show "Ada Lovelace" "was born in" London',
        'graphrag-rdf source fact "Ada Lovelace" "was born in" London',
        "graphrag-rdf facts show http://trustgraph.ai/e/ada http://trustgraph.ai/r/knows http://trustgraph.ai/e/bob",
    ],
)
@click.argument("subject", metavar="S")
@click.argument("predicate", metavar="P")
@click.argument("object_", metavar="O")
@format_option()
def fact_command(subject: str, predicate: str, object_: str, form: str) -> None:
    """Show every chunk, page, document and quote that supports a fact, given in labels or N-Triples terms."""
    from graphrag_rdf.trace.sources import source_fact
    from graphrag_rdf.trace.text import render_fact_sources

    with open_engine(beside=True) as engine:
        found = source_fact(engine.store, subject, predicate, object_)
    if not output.write(form, found):
        say(render_fact_sources(found, width=reading_width(), colour=colours()).rstrip("\n"))


@source_command.command(
    "authority",
    examples=[
        "graphrag-rdf source authority",
        "graphrag-rdf source authority registers/ships.md 0.9",
        "graphrag-rdf source authority registers/ships.md --unset",
    ],
)
@click.argument("document", metavar="[DOC]", required=False)
@click.argument("value", metavar="[NUMBER]", required=False, type=click.FloatRange(0, 1))
@click.option("--unset", is_flag=True, help="Take the authority of DOC back.")
@format_option("text", "json", "jsonl")
def authority(document: str | None, value: float | None, unset: bool, form: str) -> None:
    """Give a document (by path, title or IRI) an authority from 0 to 1, or list those that have one.

    Answers prefer documents with a higher authority. Without one a document counts as 0.5. The
    setting documents.authority gives authorities by path.
    """
    from graphrag_rdf.ingest.authority import assign_authority

    if (document is not None) != (value is not None or unset) or (unset and value is not None):
        raise UsageError(tr("name a document and a number from 0 to 1, or a document and --unset"))
    with open_engine(beside=document is None) as engine:
        if document is not None:
            assign_authority(engine.store, engine.settings.documents.authority, document, value)
        rows = engine.store.select("documents/authorities", documents=[])
    items = [dict(row) for row in rows]
    if output.write(form, items):
        return
    for item in items:
        by = tr("assigned") if item["assigned"] is not None else tr("by the settings")
        say(one_line(f"{item['authority']:g}  {item['path']}{bracketed(by)}"))
    if not items:
        say(tr("no document has an authority; all count as 0.5"))


@click.command(
    cls=Command,
    examples=["graphrag-rdf forget --dry-run documents/old.pdf", "graphrag-rdf forget documents/old.pdf"],
)
@click.argument("documents", metavar="DOC...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show what would be erased, and erase nothing.")
@format_option()
def forget_command(documents: tuple[str, ...], dry_run: bool, form: str) -> None:
    """Erase documents, named by path, title or IRI.

    Facts that only they support are erased too, and their text in traces, blobs, caches and indexes. Names
    that no other document has are replaced by hashes.

    The whole database is rewritten, so several documents take no longer than one. If the command fails or is
    stopped, run it again to finish.
    """
    from graphrag_rdf.ingest.forget import forget_named

    with open_engine(beside=dry_run) as engine:
        forgotten = forget_named(
            engine, documents, dry_run=dry_run, notify=lambda what: output.note(f"{what} …")
        )
    for warning in forgotten.warnings:
        output.warn_of(warning)
    if output.write(form, {"dry_run": dry_run, **forgotten.as_json()}):
        return
    say(tr("would be erased:") if dry_run else tr("erased:"))
    pairs(
        [
            (tr("documents"), f"{forgotten.documents:,}"),
            (tr("chunks"), f"{forgotten.chunks:,}"),
            (
                tr("facts"),
                tr("{facts:,} (kept, as other documents support them: {kept_facts:,})").format(
                    facts=forgotten.facts, kept_facts=forgotten.kept_facts
                ),
            ),
            (tr("entities"), f"{forgotten.entities:,}"),
            (
                tr("traces"),
                counted(
                    "text of {count:,} trace that uses them",
                    "text of {count:,} traces that use them",
                    forgotten.traces,
                ),
            ),
        ],
        indent="  ",
    )
