"""`forget`: erase documents, and the facts that only they support."""

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

    with open_engine() as engine:
        forgotten = forget_named(
            engine, documents, dry_run=dry_run, notify=lambda what: output.note(f"{what} …")
        )
    for warning in forgotten.warnings:
        output.warn_of(warning)
    if output.write(form, {"dry_run": dry_run, **forgotten.as_json()}):
        return
    say("would be erased:" if dry_run else "erased:")
    pairs(
        [
            ("documents", f"{forgotten.documents:,}"),
            ("chunks", f"{forgotten.chunks:,}"),
            (
                "facts",
                f"{forgotten.facts:,} (kept, as other documents support them: {forgotten.kept_facts:,})",
            ),
            ("entities", f"{forgotten.entities:,}"),
            ("traces", f"text of {forgotten.traces:,} traces that use them"),
        ],
        indent="  ",
    )
