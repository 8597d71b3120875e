"""`check`: whether the store is what it promises to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import DONE, FAILED
from graphrag_rdf.cli.output import format_option, one_line, say, styled
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import SearchIndexError

if TYPE_CHECKING:
    from graphrag_rdf.checks import Violation
    from graphrag_rdf.engine import Engine

_COLOURS = {"error": "red", "warning": "yellow"}


@click.command(cls=Command, examples=["graphrag-rdf check", "graphrag-rdf check --shapes --format json"])
@click.option("--shapes", is_flag=True, help="Also validate by ontology/shapes.ttl (needs pySHACL).")
@format_option()
def check_command(shapes: bool, form: str) -> int:
    """Check the integrity of the whole store; exit code 1 if something is wrong.

    Warnings, which alone leave the exit code at 0, are what a killed run leaves and the next one mends.
    """
    with open_engine() as engine:
        found = _violations(engine, shapes=shapes)
    if form == "json":
        output.write_json([violation.as_json() for violation in found])
    else:
        for violation in found:
            mark = styled(violation.severity, fg=_COLOURS[violation.severity])
            say(f"{mark}  {one_line(violation.check)}  {one_line(violation.focus)}")
            say(output.wrapped(violation.message, indent="    "))
        say(_summary(found))
    return FAILED if any(violation.severity == "error" for violation in found) else DONE


def _violations(engine: Engine, *, shapes: bool) -> list[Violation]:
    from graphrag_rdf.checks import Violation, run_checks, run_shapes
    from graphrag_rdf.store.plain import plain_quads

    index, damaged = None, []
    try:
        index = engine.text_index
    except SearchIndexError as error:
        message = f"{error.message} {error.hint or ''}".strip()
        damaged.append(Violation("index-damaged", "error", "urn:graphrag-rdf:store", message))
    found = [*run_checks(engine.store, engine.librarian, index), *damaged]
    return [*found, *run_shapes(plain_quads(engine.store))] if shapes else found


def _summary(found: list[Violation]) -> str:
    errors = sum(violation.severity == "error" for violation in found)
    if not found:
        return "everything is as it should be"
    return f"{errors:,} errors, {len(found) - errors:,} warnings"
