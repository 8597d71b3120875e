"""`sparql`: run a query or update; `queries`: list, show and run the program's templates."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, Group, key_values, shapes_options
from graphrag_rdf.cli.output import format_option, pairs, safe, say, styled, warn_of_results
from graphrag_rdf.cli.process import ended_by_interrupt
from graphrag_rdf.cli.session import load, open_engine, validating
from graphrag_rdf.errors import UsageError, did_you_mean, read_text
from graphrag_rdf.i18n import bracketed, ngettext, tr

if TYPE_CHECKING:
    from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
    from graphrag_rdf.store.base import Store


_BINDINGS = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
}
_GRAPHS = {"turtle": "text/turtle", "trig": "application/trig", "nquads": "application/n-quads"}
RESULT_FORMATS = ("table", *_BINDINGS, *_GRAPHS)
_PATIENCE = 3.0
"""Seconds for each changed form of an empty query; after so many in all, no more are tried."""
_BEGINNING = 4096
"""Bytes of a result that are kept to see whether it is empty."""
_UPDATE = re.compile(
    r"(?:\s|#.*|(?:PREFIX|BASE)\b[^>]*>)*(?:INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH)\b", re.I
)


@click.command(
    cls=Command,
    examples=[
        'graphrag-rdf sparql "SELECT ?s ?p ?o { ?s ?p ?o } LIMIT 10"',
        "graphrag-rdf sparql query.rq --format csv > out.csv",
        'graphrag-rdf sparql --union "SELECT ?text { ?evidence tg:sourceText ?text }"',
        "graphrag-rdf sparql --update -f change.ru --shapes shapes.ttl --validation reject",
    ],
)
@click.argument("query", metavar="QUERY|FILE", required=False)
@click.option(
    "-f",
    "--file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Read the query from this file (-: stdin).",
)
@click.option("--update", is_flag=True, help="Run an update, which changes the store.")
@click.option("--union", is_flag=True, help="Query the union of all graphs as the default graph.")
@shapes_options
@format_option(*RESULT_FORMATS)
def sparql_command(
    query: str | None,
    file: Path | None,
    update: bool,
    union: bool,
    shapes: tuple[str, ...],
    validation: str | None,
    form: str,
) -> None:
    """Run a SPARQL 1.1 query, or the one in a file (RDF 1.2: triple terms are <<( s p o )>>), on the store.

    Facts are in the default graph; provenance is in urn:graph:source, traces are in urn:graph:retrieval. The
    prefixes of the program (tg, rag, prov, rdfs, skos, dcterms …) need no declaration.
    """
    from graphrag_rdf.ingest.gate import Gate
    from graphrag_rdf.search_service import with_hits
    from graphrag_rdf.sparql.render import with_prefixes
    from graphrag_rdf.sparql.tokens import clearing_silently

    if update and union:
        raise UsageError(tr("--union is for queries"), hint=tr("updates name graphs by GRAPH, WITH or USING"))
    if (shapes or validation) and not update:
        raise UsageError(tr("--shapes and --validation are for updates"), hint=tr("add --update"))
    overrides = validating(shapes, validation)
    written = _text(query, file)
    text = with_prefixes(written)
    with open_engine(overrides, beside=not update) as engine:
        if not update:
            try:
                with ended_by_interrupt():
                    text = with_hits(text, engine)
                    if not write_result(engine.store, text, form, union=union):
                        _explain_empty(engine.store, written, union=union)
            except UsageError as error:
                if _UPDATE.match(text):
                    raise UsageError(
                        tr("this is an update, not a query"), hint=tr("add --update to run it")
                    ) from error
                raise
            return
        text = clearing_silently(text)
        passed = Gate(engine).update(text)
        before = engine.store.count()
        engine.store.update(text)
        change = engine.store.count() - before
        say(ngettext("done: {change:+,} quad", "done: {change:+,} quads", abs(change)).format(change=change))
        passed.keep()
        warn_of_results(len(passed.results), unvalidated=passed.unvalidated)
        engine.indexer.catch_up()


def _text(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageError(
            tr("give either a query or a file"), hint=tr('graphrag-rdf sparql "ASK { ?s ?p ?o }"')
        )
    if query == "-" or str(file) == "-":
        return output.read_stdin()
    path = file or Path(query or "")
    return read_text(path) if file or path.suffix in (".rq", ".ru", ".sparql") else query or ""


def _explain_empty(store: Store, query: str, *, union: bool) -> None:
    """Say on stderr which change of an empty query would find something."""
    from graphrag_rdf.reader_process.limited import LimitedQueries
    from graphrag_rdf.sparql.empty import alternatives
    from graphrag_rdf.sparql.render import with_prefixes
    from graphrag_rdf.store.embedded import EmbeddedStore

    if output.is_quiet() or not isinstance(store, EmbeddedStore):
        return
    end = time.monotonic() + _PATIENCE
    with LimitedQueries(store, _PATIENCE) as limited:
        for changed in takewhile(lambda _: time.monotonic() < end, alternatives(query, union=union)):
            try:
                matches = limited.run(with_prefixes(changed.probe), 1, union=changed.union).boolean
            except UsageError:  # it is malformed so, or takes too long
                continue
            if not matches:
                continue
            if changed.changes:
                option = "--union " if changed.union else ""
                text = shlex.quote(changed.text.strip())
                output.note(tr("nothing found. {rows}").format(rows=changed.summary()))
                output.note(tr("  graphrag-rdf sparql {option}{text}").format(option=option, text=text))
            return


class _Watched:
    """Passes a result on, and keeps its beginning, by which an empty result is known."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._start = bytearray()

    def write(self, data: bytes) -> int:
        """A part of the result."""
        if len(self._start) <= _BEGINNING:
            self._start += data
        self._stream.write(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def has_results(self, media_type: str) -> bool:
        """Whether there is a solution or statement, or the answer is yes."""
        from graphrag_rdf.sparql.empty import found_nothing

        return len(self._start) > _BEGINNING or not found_nothing(bytes(self._start), media_type)


def write_result(store: Store, query: str, form: str, *, union: bool = False) -> bool:
    """Run a query and print its result.

    Args:
        union: the default graph is the union of all graphs.

    Returns:
        False if there is nothing, or the answer is no.

    Raises:
        UsageError: when the query is malformed, or its result cannot be written in the format.
    """
    if form == "table":
        return _table(store, query, union=union)
    media_type = (_BINDINGS | _GRAPHS)[form]
    try:
        with output.binary_output() as stream:
            watched = _Watched(stream)
            store.write_results(query, cast("IO[bytes]", watched), media_type, union=union)
            return watched.has_results(media_type)
    except UsageError as error:
        if "cannot be written as" in error.message:
            fitting = _GRAPHS if form in _BINDINGS else _BINDINGS
            raise UsageError(
                tr("the result of this query cannot be written as {form}").format(form=form),
                hint=tr("use --format with one of: table, {fitting}").format(fitting=", ".join(fitting)),
            ) from error
        raise


def _table(store: Store, query: str, *, union: bool) -> bool:
    from graphrag_rdf.rdf.terms import readable
    from graphrag_rdf.sparql.empty import lexical, nothing_in

    answer = store.query(query, union=union)
    if answer.boolean is not None:
        say("yes" if answer.boolean else "no")
    elif answer.triples is not None:
        rows = [(readable(t.subject), readable(t.predicate), readable(t.object)) for t in answer.triples]
        output.table((tr("subject"), tr("predicate"), tr("object")), rows)
    else:
        solutions = answer.rows or []
        output.table(
            [f"?{name}" for name in answer.variables],
            [
                [readable(row[name]) if name in row else None for name in answer.variables]
                for row in solutions
            ],
        )
        return not nothing_in(map(lexical, row.values()) for row in solutions)
    return bool(answer.boolean or answer.triples)


@click.group(
    cls=Group,
    examples=["graphrag-rdf queries list", "graphrag-rdf queries run system/languages"],
)
def queries_command() -> None:
    """List, show and run the program's own SPARQL templates."""


@queries_command.command("list", examples=["graphrag-rdf queries list retrieval"])
@click.argument("purpose", default="")
@format_option()
def list_(purpose: str, form: str) -> None:
    """List the templates (of one PURPOSE, a folder)."""
    found = [
        t
        for name, t in sorted(_library().items())
        if not purpose or name.startswith(purpose.strip("/") + "/")
    ]
    if not output.write(form, [_described(template) for template in found]):
        output.table(
            (tr("name"), tr("kind"), tr("summary")),
            [(t.name, t.header.kind, tr(t.header.summary)) for t in found],
        )


@queries_command.command(
    "show",
    examples=[
        "graphrag-rdf queries show provenance/sources",
        "graphrag-rdf queries show provenance/sources --format turtle",
    ],
)
@click.argument("name")
@format_option("text", "json", "turtle")
def show(name: str, form: str) -> None:
    """Show the summary, parameters and text of a template, or a sh:SPARQLExecutable in Turtle."""
    template = _template(name)
    if form == "turtle":
        output.write_text(_turtle(template))
        return
    if output.write(form, {**_described(template), "template": template.body}):
        return
    say(styled(safe(template.name), bold=True) + bracketed(template.header.kind))
    say(safe(tr(template.header.summary)))
    optional = tr(" (optional)")
    pairs(
        [
            (f"  -p {key}=…", f"{p.type} {tr(p.about)}{optional * p.optional}")
            for key, p in template.params.items()
        ]
    )
    say(safe(f"  {template.path}"))
    say()
    say(safe(template.body.rstrip()))


@queries_command.command(
    "run",
    examples=[
        "graphrag-rdf queries run system/languages",
        "graphrag-rdf queries run retrieval/labels -p things=http://trustgraph.ai/e/ada",
    ],
)
@click.argument("name")
@click.option(
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter; repeat it for a list."
)
@click.option("--show", "show_query", is_flag=True, help="Print the query instead of running it.")
@format_option(*RESULT_FORMATS)
def run(name: str, parameters: tuple[str, ...], show_query: bool, form: str) -> None:
    """Run a template that reads. Give IRIs without brackets, other terms as in N-Triples."""
    template = _template(name)
    if template.header.kind == "update":
        raise UsageError(
            tr("{name} is an update, which only the program runs").format(name=name),
            hint=tr("graphrag-rdf queries show {name}").format(name=name),
        )
    values = _values(template, parameters)
    with open_engine(beside=True) as engine:
        query = engine.store.render(name, **values)
        if show_query:
            say(safe(query.rstrip()))
        else:
            write_result(engine.store, query, form)


def _values(template: QueryTemplate, given: tuple[str, ...]) -> dict[str, Any]:
    from graphrag_rdf.sparql.parameters import read_texts

    texts: dict[str, list[str]] = {}
    for item in given:
        ((key, text),) = key_values([item]).items()
        if key not in template.params:
            known = ", ".join(template.params) or "none"
            raise UsageError(
                tr("{template} has no parameter {key!r}").format(template=template.name, key=key),
                hint=tr("its parameters: {known}").format(known=known),
            )
        texts.setdefault(key, []).append(text)
    values = {key: read_texts(key, template.params[key], given_texts) for key, given_texts in texts.items()}
    missing = [key for key, p in template.params.items() if key not in values and not p.optional]
    if missing:
        wanted = ", ".join(f"-p {key}=… ({template.params[key].type})" for key in missing)
        raise UsageError(
            tr("{template} needs {wanted}").format(template=template.name, wanted=wanted),
            hint=f"e.g. {_example(template, given, missing)}",
        )
    return values


def _example(template: QueryTemplate, given: Sequence[str], missing: Sequence[str]) -> str:
    """A command line that runs a template, with sample values for the missing parameters."""
    options = list(given)
    for key in missing:
        sample = template.params[key].sample
        values = sample if template.params[key].type.endswith("[]") else [sample]
        options += [f"{key}={_written(value)}" for value in values]
    return shlex.join(
        ["graphrag-rdf", "queries", "run", template.name, *(word for one in options for word in ("-p", one))]
    )


def _written(sample: object) -> str:
    """A sample value in the form of -p: the terms of a row are separated by spaces."""
    if isinstance(sample, list):
        return " ".join(map(_written, sample))
    return str(sample).lower() if isinstance(sample, bool) else str(sample)


def _template(name: str) -> QueryTemplate:
    """A template by name. Raises UsageError when there is none."""
    library = _library()
    if name not in library:
        hint = did_you_mean(name, library, tr("graphrag-rdf queries list shows the names"))
        raise UsageError(tr("unknown query {name}").format(name=name), hint=hint)
    return library[name]


def _library() -> TemplateLibrary:
    from graphrag_rdf.components import template_library

    return template_library(load().settings)


def _turtle(template: QueryTemplate) -> str:
    import pyoxigraph as ox

    from graphrag_rdf.rdf.namespaces import PREFIXES
    from graphrag_rdf.sparql.documentation import SH, executables
    from graphrag_rdf.sparql.render import Renderer

    triples = list(executables([template], Renderer(), "urn:graphrag-rdf:query:"))
    data = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes={**PREFIXES, "sh": str(SH)})
    return (data or b"").decode()


def _described(template: QueryTemplate) -> dict[str, Any]:
    return template.header.model_dump()
