"""`source`: show the facts of a document, and the quotes behind a fact."""

from __future__ import annotations

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.output import colours, format_option, reading_width, say
from graphrag_rdf.cli.session import open_engine


@click.group(
    cls=Group,
    examples=[
        "graphrag-rdf source tree documents/report.pdf",
        'graphrag-rdf source fact "Ada Lovelace" "was born in" London',
    ],
)
def source_command() -> None:
    """Show the facts of a document, and the quotes behind a fact."""


@source_command.command("tree", examples=["graphrag-rdf source tree documents/report.pdf"])
@click.argument("document", metavar="DOC")
@format_option()
def tree(document: str, form: str) -> None:
    """Show a document (by path, title or IRI): its pages, their chunks, and the facts of each."""
    from graphrag_rdf.trace.sources import source_tree
    from graphrag_rdf.trace.text import render_tree

    with open_engine() as engine:
        found = source_tree(engine.store, document)
    if not output.write(form, found.as_json()):
        say(render_tree(found, width=reading_width(), colour=colours()).rstrip("\n"))


@source_command.command(
    "fact",
    examples=[
        'graphrag-rdf source fact "Ada Lovelace" "was born in" London',
        "graphrag-rdf source fact http://trustgraph.ai/e/ada http://trustgraph.ai/r/knows http://trustgraph.ai/e/bob",
    ],
)
@click.argument("subject", metavar="S")
@click.argument("predicate", metavar="P")
@click.argument("object_", metavar="O")
@format_option()
def fact(subject: str, predicate: str, object_: str, form: str) -> None:
    """Show every chunk, page, document and quote that supports a fact, given in labels or N-Triples terms."""
    from graphrag_rdf.trace.sources import source_fact
    from graphrag_rdf.trace.text import render_fact_sources

    with open_engine() as engine:
        found = source_fact(engine.store, subject, predicate, object_)
    if not output.write(form, [source.as_json() for source in found]):
        say(render_fact_sources(found, width=reading_width(), colour=colours()).rstrip("\n"))
