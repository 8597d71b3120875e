"""`forget`: documents, and what only they supported, leave the store for good."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, pairs, say
from graphrag_rdf.cli.session import open_engine


@click.command(
    cls=Command,
    examples=["graphrag-rdf forget --dry-run documents/old.pdf", "graphrag-rdf forget documents/old.pdf"],
)
@click.argument("documents", metavar="DOC...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Say what would be erased; erase nothing.")
@format_option()
def forget_command(documents: tuple[str, ...], dry_run: bool, form: str) -> None:
    """Erase documents, named by path, title or IRI.

    Facts that only they supported go too. Their text is erased from traces, blobs, cache and indexes.
    Hashes take the place of names that no other document has.
    The database is written anew for that: several documents at once take no longer than one. If the command
    fails or is stopped, run it again: it finishes.
    """
    from graphrag_rdf.ingest.forget import forget_named

    with open_engine() as engine:
        forgotten = forget_named(
            engine, documents, dry_run=dry_run, tell=lambda what: output.note(f"{what} …")
        )
    for warning in forgotten.warnings:
        output.warn_of(warning)
    if form == "json":
        output.write_json({"dry_run": dry_run, **forgotten.as_json()})
        return
    say("would be erased:" if dry_run else "erased:")
    pairs(
        [
            ("documents", f"{forgotten.documents:,}"),
            ("chunks", f"{forgotten.chunks:,}"),
            (
                "facts",
                f"{forgotten.facts:,} ({forgotten.kept_facts:,} stay: other documents support them too)",
            ),
            ("entities", f"{forgotten.entities:,}"),
            ("traces", f"the text of {forgotten.traces:,} that rest on them"),
        ],
        indent="  ",
    )
