"""`feedback`: mark answers and citations as helpful or wrong."""

from __future__ import annotations

from typing import Any, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, one_line, say
from graphrag_rdf.cli.session import open_engine


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf feedback last helpful",
        'graphrag-rdf feedback last wrong --citation 2 --note "another lighthouse"',
        "graphrag-rdf feedback last none --citation 2",
    ],
)
@click.argument("trace", metavar="ANSWER")
@click.argument("rating", type=click.Choice(("helpful", "wrong", "none")))
@click.option(
    "--citation",
    type=click.IntRange(1),
    metavar="N",
    help="Mark citation [N] instead of the answer.",
)
@click.option(
    "--edge",
    type=click.IntRange(1),
    metavar="N",
    help="Mark the N-th selected fact or sentence instead of the answer.",
)
@click.option("--note", metavar="TEXT", help="Reason, stored with the mark.")
@click.option("--by", metavar="NAME", help="Your name; each person has a mark of their own.")
@format_option()
def feedback_command(
    trace: str,
    rating: str,
    citation: int | None,
    edge: int | None,
    note: str | None,
    by: str | None,
    form: str,
) -> None:
    """Mark an ANSWER as helpful or wrong; none removes the mark.

    ANSWER is the question_iri of an answer, another name of its trace, or last.
    """
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.feedback import Rating, add_mark, take_back

    where: dict[str, Any] = {"citation": citation, "edge": edge, "by": by}
    with open_engine() as engine:
        session = find_trace(engine.store, trace)
        if rating == "none":
            gone = take_back(engine.store, session, **where)
            if not output.write(form, {"taken_back": gone}):
                say("mark removed" if gone else "there is no such mark")
            return
        graph = engine.store.renderer.trace_graph
        mark = add_mark(engine.store, session, cast("Rating", rating), note=note, graph=graph, **where)
    if not output.write(form, mark):
        say(one_line(f"marked as {mark.rating}: {mark.about}"))
