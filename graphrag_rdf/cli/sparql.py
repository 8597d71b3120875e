"""`sparql`: run a query or update, and print the result in a W3C format or as a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, say
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.signals import ended_by_interrupt
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from graphrag_rdf.rdf.terms import Term
    from graphrag_rdf.store.base import Store

_BINDINGS = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
}
_GRAPHS = {"turtle": "text/turtle", "trig": "application/trig", "nquads": "application/n-quads"}
RESULT_FORMATS = ("table", *_BINDINGS, *_GRAPHS)
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
    "-f",
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the query from this file (-: stdin).",
)
@click.option("--update", is_flag=True, help="Run an update, which changes the store.")
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
                    raise UsageError(
                        "this is an update, not a query", hint="add --update to run it"
                    ) from error
                raise
            return
        before = engine.store.count()
        engine.store.update(text)
        say(f"done: {engine.store.count() - before:+,} quads")
        engine.indexer.catch_up()


def _text(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageError("give either a query or -f FILE", hint='graphrag-rdf sparql "ASK { ?s ?p ?o }"')
    from graphrag_rdf.evaluation.jsonlines import read_text

    if query == "-" or str(file) == "-":
        return output.read_stdin()
    if query is not None:
        return query
    assert file is not None  # noqa: S101 - one of the two is given
    return read_text(file)


def with_prefixes(text: str) -> str:
    """The query with the program's prefixes on its first line; its own declarations override them."""
    from graphrag_rdf.sparql.render import prologue

    return prologue(text).replace("\n", " ") + text


def write_result(store: Store, query: str, form: str) -> None:
    """Run a query and print its result.

    Raises:
        UsageError: when the query is malformed, or its result cannot be written in the format.
    """
    if form == "table":
        _table(store, query)
        return
    try:
        with output.binary_output() as stream:
            store.write_results(query, stream, (_BINDINGS | _GRAPHS)[form])
    except UsageError as error:
        if "cannot be written as" in error.message:
            fitting = _GRAPHS if form in _BINDINGS else _BINDINGS
            raise UsageError(
                f"the result of this query cannot be written as {form}",
                hint=f"use --format with one of: table, {', '.join(fitting)}",
            ) from error
        raise


def _table(store: Store, query: str) -> None:
    answer = store.query(query)
    if answer.boolean is not None:
        say("yes" if answer.boolean else "no")
    elif answer.triples is not None:
        rows = [(shown(t.subject), shown(t.predicate), shown(t.object)) for t in answer.triples]
        output.table(("subject", "predicate", "object"), rows)
    else:
        found = answer.rows or []
        output.table(
            [f"?{name}" for name in answer.variables],
            [[shown(row[name]) if name in row else None for name in answer.variables] for row in found],
        )


def shown(term: Term) -> str:
    """A readable term: IRIs with prefixes, literals without quotes, triple terms part by part."""
    from pyoxigraph import Literal, NamedNode, Triple

    from graphrag_rdf.rdf.namespaces import prefixed

    if isinstance(term, Triple):
        return f"<<( {shown(term.subject)} {shown(term.predicate)} {shown(term.object)} )>>"
    if isinstance(term, NamedNode):
        return prefixed(term) or f"<{term.value}>"
    if isinstance(term, Literal):
        return f"{term.value}@{term.language}" if term.language else term.value
    return str(term)
