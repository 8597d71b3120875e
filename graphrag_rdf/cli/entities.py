"""`entities`: what the facts are about."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import format_option
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.rdf.terms import text_of, to_python


@click.group(cls=Group, examples=["graphrag-rdf entities list --match harbour"])
def entities_command() -> None:
    """The entities of the knowledge graph."""


@entities_command.command("list", examples=["graphrag-rdf entities list --match harbour --limit 10"])
@click.option("--match", "text", default="", metavar="TEXT", help="Only names that hold this text.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="How many.")
@format_option("text", "json", "jsonl")
def list_(text: str, limit: int, form: str) -> None:
    """List entities, those with the most facts first."""
    with open_engine() as engine:
        rows = engine.store.select("entities/list", text=text, limit=limit)
    found = [
        {"iri": text_of(row["entity"]), "name": text_of(row["name"]), "facts": to_python(row["facts"])}
        for row in rows
    ]
    if form == "json":
        output.write_json(found)
    elif form == "jsonl":
        output.write_jsonl(found)
    else:
        output.table(("name", "facts", "iri"), [(e["name"], e["facts"], e["iri"]) for e in found])
