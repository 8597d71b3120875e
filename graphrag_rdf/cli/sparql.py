"""`sparql`: people's own queries on the store."""

from __future__ import annotations

import re
from pathlib import Path

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, say
from graphrag_rdf.cli.results import RESULT_FORMATS, write_result
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.signals import ended_by_interrupt
from graphrag_rdf.errors import UsageError

_UPDATE = re.compile(
    r"(?:\s|#.*|(?:PREFIX|BASE)\b[^>]*>)*(?:INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b", re.I
)


@click.command(
    cls=Command,
    examples=[
        'graphrag-rdf sparql "SELECT ?s ?p ?o { ?s ?p ?o } LIMIT 10"',
        "graphrag-rdf sparql -f query.rq --format csv > out.csv",
    ],
)
@click.argument("query", required=False)
@click.option(
    "-f", "--file", type=click.Path(path_type=Path), metavar="FILE", help="Read it from here (-: stdin)."
)
@click.option("--update", is_flag=True, help="It is an update: it changes the store.")
@format_option(*RESULT_FORMATS)
def sparql_command(query: str | None, file: Path | None, update: bool, form: str) -> None:
    """Run a SPARQL 1.1 QUERY (RDF 1.2: triple terms are <<( s p o )>>) on the store.

    Facts are in the default graph; provenance is in urn:graph:source, traces are in urn:graph:retrieval. The
    prefixes of the program (tg, rag, prov, rdfs, skos, dcterms …) need no declaration.
    """
    text = with_prefixes(_text(query, file))
    with open_engine() as engine:
        if not update:
            try:
                with ended_by_interrupt():
                    write_result(engine.store, text, form)
            except UsageError as error:
                if _UPDATE.match(text):
                    raise UsageError("this is an update, not a query", hint="add --update") from error
                raise
            return
        before = engine.store.count()
        engine.store.update(text)
        say(f"done: {engine.store.count() - before:+,} quads")
        engine.indexer.catch_up()


def _text(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageError("give either a query or -f FILE", hint='graphrag-rdf sparql "ASK { ?s ?p ?o }"')
    if query == "-" or str(file) == "-":
        return output.read_stdin()
    if query is not None:
        return query
    assert file is not None  # noqa: S101 - one of the two is given
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 text") from error


def with_prefixes(text: str) -> str:
    """The query with the program's prefixes on its first line; those that it declares itself win."""
    from graphrag_rdf.sparql.render import prologue

    return prologue(text).replace("\n", " ") + text
