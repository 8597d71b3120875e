"""`queries`: the templates that the program itself works with."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.options import key_values
from graphrag_rdf.cli.output import format_option, pairs, safe, say, styled
from graphrag_rdf.cli.results import RESULT_FORMATS, write_result
from graphrag_rdf.cli.session import load, open_engine
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary


@click.group(
    cls=Group,
    examples=["graphrag-rdf queries list", "graphrag-rdf queries run system/languages"],
)
def queries_command() -> None:
    """The SPARQL templates that the program itself works with."""


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
    if form == "json":
        output.write_json([_described(template) for template in found])
    else:
        output.table(("name", "kind", "summary"), [(t.name, t.header.kind, t.header.summary) for t in found])


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
    """Show a template: what it does, its parameters, its text; in Turtle as a sh:SPARQLExecutable."""
    template = _template(name)
    if form == "turtle":
        output.write_text(_turtle(template))
        return
    if form == "json":
        output.write_json({**_described(template), "template": template.body})
        return
    say(styled(safe(template.name), bold=True) + f" ({template.header.kind})")
    say(safe(template.header.summary))
    pairs(
        [
            (f"  -p {key}=…", f"{p.type} {p.about}{' (optional)' * p.optional}")
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
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter; repeat one that is a list."
)
@click.option(
    "--show", "show_query", is_flag=True, help="Print the query for these parameters; do not run it."
)
@format_option(*RESULT_FORMATS)
def run(name: str, parameters: tuple[str, ...], show_query: bool, form: str) -> None:
    """Run a reading template; IRIs may be given bare, other terms as in N-Triples."""
    template = _template(name)
    if template.header.kind == "update":
        raise UsageError(
            f"{name} changes the store: the program runs it itself", hint="queries show prints it"
        )
    values = _values(template, parameters)
    with open_engine() as engine:
        query = engine.store.render(name, **values)
        if show_query:
            say(safe(query.rstrip()))
        else:
            write_result(engine.store, query, form)


def _values(template: QueryTemplate, given: tuple[str, ...]) -> dict[str, Any]:
    from graphrag_rdf.sparql.parameters import parse

    values: dict[str, Any] = {}
    for item in given:
        ((key, text),) = key_values([item]).items()
        if key not in template.params:
            known = ", ".join(template.params) or "none"
            raise UsageError(f"{template.name} has no parameter {key!r}", hint=f"it has: {known}")
        declared = template.params[key].type
        try:
            if declared.startswith("("):
                value: Any = parse(declared, [[cell.strip() for cell in text.split(" ")]])
            else:
                value = parse(declared, text)
        except ValueError as error:
            raise UsageError(f"parameter {key} ({declared}): {error}") from error
        values[key] = [*values.get(key, []), *value] if declared.endswith("[]") else value
    missing = [key for key, p in template.params.items() if key not in values and not p.optional]
    if missing:
        wanted = ", ".join(f"-p {key}=… ({template.params[key].type})" for key in missing)
        raise UsageError(f"{template.name} needs {wanted}", hint=f"e.g. {_example(template, given, missing)}")
    return values


def _example(template: QueryTemplate, given: Sequence[str], missing: Sequence[str]) -> str:
    """A command line that runs a template: what was given, and samples for the rest."""
    options = list(given)
    for key in missing:
        sample = template.params[key].sample
        values = sample if template.params[key].type.endswith("[]") else [sample]
        options += [f"{key}={_written(value)}" for value in values]
    return shlex.join(
        ["graphrag-rdf", "queries", "run", template.name, *(word for one in options for word in ("-p", one))]
    )


def _written(sample: object) -> str:
    """A sample as it is given with -p: the terms of a row with blanks between them."""
    if isinstance(sample, list):
        return " ".join(map(_written, sample))
    return str(sample).lower() if isinstance(sample, bool) else str(sample)


def _template(name: str) -> QueryTemplate:
    """A template by name. Raises UsageError when there is none."""
    library = _library()
    if name not in library:
        near = difflib.get_close_matches(name, library, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "graphrag-rdf queries list shows the names"
        raise UsageError(f"there is no query named {name}", hint=hint)
    return library[name]


def _library() -> TemplateLibrary:
    from graphrag_rdf.resources import folder
    from graphrag_rdf.sparql.library import TemplateLibrary

    own = load().settings.queries
    return TemplateLibrary(folder("queries"), *([Path(own)] if own else []))


def _turtle(template: QueryTemplate) -> str:
    import pyoxigraph as ox

    from graphrag_rdf.rdf.namespaces import PREFIXES
    from graphrag_rdf.sparql.executables import SH, executables
    from graphrag_rdf.sparql.render import Renderer

    triples = list(executables([template], Renderer(), "urn:graphrag-rdf:query:"))
    data = ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes={**PREFIXES, "sh": str(SH)})
    return (data or b"").decode()


def _described(template: QueryTemplate) -> dict[str, Any]:
    return template.header.model_dump()
