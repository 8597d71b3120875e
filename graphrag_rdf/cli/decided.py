"""What the commands about decisions share: `entities` and `relations`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.output import one_line, say
from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.terms import local_name

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.decisions import Decision, Sort

by_option = click.option("--by", metavar="NAME", help="Your name, stored with the decision.")
reason_option = click.option("--reason", metavar="TEXT", help="Reason, stored with the decision.")
confidence_option = click.option(
    "--confidence", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Your confidence."
)


def decisions_in_effect(engine: Engine, iris: Sequence[str], sort: Sort) -> list[Decision]:
    """The decisions that IRIs name.

    Raises:
        UsageError: one is not in effect, or follows from the synonyms file.
    """
    from graphrag_rdf.ingest.decisions import read_decisions
    from graphrag_rdf.ingest.joins import SYNONYMS

    known = {d.iri.value: d for d in read_decisions(engine.store, sort) if d.undone is None}
    for iri in iris:
        if iri not in known:
            raise UsageError(
                f"no decision in effect has the IRI {iri}",
                hint=f"graphrag-rdf {sort.command} decisions lists them",
            )
        if known[iri].by == SYNONYMS:
            raise UsageError(
                f"{iri} comes from the synonyms file", hint="remove its line from the file, and ingest again"
            )
    return [known[iri] for iri in dict.fromkeys(iris)]


def write_decisions(found: Sequence[Decision], form: str, none: str = "", done: str = "decided") -> None:
    """Print decisions.

    Args:
        none: printed if there are none.
        done: what happened to them; empty for a list.
    """
    from graphrag_rdf.rdf.json_values import to_json

    items: list[dict[str, Any]] = to_json(found)
    if output.write(form, items):
        return
    if not items:
        say(none)
    for item in items:
        when = " (undone)" if item["undone"] and not done else ""
        if item["link"]:
            (member,), to = item["members"], item["link"]
            relation = local_name(to["relation"])
            say(one_line(f"{done} {item['iri']}: {member} {relation} {to['target']}{when}".strip()))
            continue
        chosen = item["canonical"] or item["apart"]
        others = ", ".join(member for member in item["members"] if member != chosen)
        link = "represents" if item["kind"] == "merge" else "is not"
        say(one_line(f"{done} {item['iri']}: {chosen} {link} {others}{when}".strip()))
