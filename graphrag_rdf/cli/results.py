"""Answers to SPARQL queries: W3C formats for machines, a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_rdf.cli import output
from graphrag_rdf.cli.output import say
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


def write_result(store: Store, query: str, form: str) -> None:
    """Run a query and print its answer.

    Raises:
        UsageError: when the query is malformed, or its answer cannot be written in the format.
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
                f"the answer to this query cannot be written as {form}",
                hint=f"formats for it: table, {', '.join(fitting)}",
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
    """A term as people read it: prefixed names, plain texts, triple terms part by part."""
    from pyoxigraph import Literal, NamedNode, Triple

    from graphrag_rdf.rdf.namespaces import prefixed

    if isinstance(term, Triple):
        return f"<<( {shown(term.subject)} {shown(term.predicate)} {shown(term.object)} )>>"
    if isinstance(term, NamedNode):
        return prefixed(term) or f"<{term.value}>"
    if isinstance(term, Literal):
        return f"{term.value}@{term.language}" if term.language else term.value
    return str(term)
