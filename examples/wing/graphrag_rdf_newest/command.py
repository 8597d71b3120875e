"""`newest`: the documents by their date."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option
from graphrag_rdf.cli.session import open_engine


@click.command(cls=Command, examples=["graphrag-rdf newest", "graphrag-rdf newest --format json"])
@format_option()
def newest_command(form: str) -> None:
    """List documents by their date, the newest first."""
    with open_engine(beside=True) as engine:
        rows = engine.store.select("newest/dates")
    documents = [{"date": row["date"], "title": row["title"] or row["document"].value} for row in rows]
    if not output.write(form, documents):
        output.table(("date", "title"), [(each["date"], each["title"]) for each in documents])
