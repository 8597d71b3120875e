"""`trace`: list, show, verify, compare, replay and export the traces of answers; `feedback`: mark answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, Group, form_of, output_option, server_options
from graphrag_rdf.cli.output import colours, format_option, one_line, reading_width, say
from graphrag_rdf.cli.session import open_engine, server_instead, server_of
from graphrag_rdf.errors import StoreLockedError, UsageError
from graphrag_rdf.i18n import counted, listed, tr
from graphrag_rdf.wing import in_words, load, wings

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.sparql.render import Dialect
    from graphrag_rdf.trace.catalogue import Pruned
    from graphrag_rdf.trace.export import TraceFormat


@click.group(cls=Group, examples=["graphrag-rdf trace list", "graphrag-rdf trace show last"])
def trace_command() -> None:
    """List, show, verify, compare, replay and export the traces of answers.

    Name a TRACE by the IRI of its session, question or one of its steps, by its UUID or the beginning of it,
    or as last.
    """


@trace_command.command(
    "show", examples=["graphrag-rdf trace show last", "graphrag-rdf trace show --full 3fa9"]
)
@click.argument("trace")
@click.option("--full", is_flag=True, help="Also show parameters, considered edges and every call.")
@format_option()
def show(trace: str, full: bool, form: str) -> None:
    """Show a trace step by step, with the quotes behind each selection."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.reader import read_trace

    with open_engine(beside=True) as engine:
        session = find_trace(engine.store, trace).value
        if form == "json":
            output.write_json(read_trace(engine.store, session, engine.blobs))
        else:
            say(trace_text(engine, session, full=full))


@trace_command.command(
    "query",
    examples=[
        "graphrag-rdf trace query last retrieval/ranked > ranking.rq",
        "graphrag-rdf trace query last 22",
    ],
)
@click.argument("trace")
@click.argument("call", metavar="TEMPLATE|NUMBER")
def query(trace: str, call: str) -> None:
    """Print a query that a trace ran, word for word: the last one of a template, or by its number."""
    from graphrag_rdf.rdf.terms import text_of
    from graphrag_rdf.trace.catalogue import find_trace

    with open_engine(beside=True) as engine:
        rows = engine.store.select("trace/calls", session=find_trace(engine.store, trace))
        ran = [row for row in rows if "template" in row]
        found = [row for row in ran if call in (text_of(row["template"]), text_of(row["number"]))]
        if not found:
            names = ", ".join(sorted({text_of(row["template"]) for row in ran}))
            raise UsageError(
                tr("the trace has no query {call}").format(call=call),
                hint=tr("it ran {names}").format(names=names) if names else None,
            )
        kept = engine.blobs.text(text_of(found[-1]["sparql"])) if "sparql" in found[-1] else None
        if kept is None:
            raise UsageError(tr("the text of this query was not kept, or was erased"))
        output.write_text(kept)


_EXPORTS = ("trig", "turtle", "nquads", "jsonld", "prov-n", "prov-json", "provx", "html")


@trace_command.command(
    "export",
    examples=[
        "graphrag-rdf trace export last -o answer.html",
        "graphrag-rdf trace export last --format trig > answer.trig",
        "graphrag-rdf trace export last --pack answer.zip --sign audit.pem",
    ],
)
@click.argument("trace")
@click.option(
    "--format",
    "form",
    type=click.Choice(_EXPORTS),
    help="Output format (default: by the suffix of -o FILE, else trig).",
)
@click.option(
    "--dialect",
    type=click.Choice(("rdf12", "rdf-star", "classic")),
    default="rdf12",
    show_default=True,
    help="Syntax of triple terms; classic is RDF 1.1.",
)
@output_option
@click.option("--without-sources", is_flag=True, help="Leave out the evidence.")
@click.option(
    "--pack",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.zip",
    help="Write the answer with all that proves it; `pack verify` checks it without the store.",
)
@click.option(
    "--sign",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="KEY",
    help="Sign the pack with this key, which `keys new` writes.",
)
@click.option("--with-documents", is_flag=True, help="Pack whole documents, not only the cited pages.")
@click.option("--without-prompts", is_flag=True, help="Pack only hashes of prompts and raw answers.")
def export(
    trace: str,
    form: TraceFormat | None,
    dialect: Dialect,
    path: Path | None,
    without_sources: bool,
    pack: Path | None,
    sign: Path | None,
    with_documents: bool,
    without_prompts: bool,
) -> None:
    """Export a trace with its evidence, as RDF, PROV, an HTML page, or a pack that proves the answer."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.export import export_trace

    writers = [load(wing.packs) for wing in wings() if wing.packs]
    if pack is None and (sign or with_documents or without_prompts):
        raise UsageError(tr("--sign, --with-documents and --without-prompts need --pack FILE.zip"))
    if pack is not None and (form or path or without_sources):
        raise UsageError(tr("--pack writes a file of its own: leave out --format, -o and --without-sources"))
    if pack is not None and not writers:
        raise UsageError(tr("no wing of this installation makes packs") + in_words())
    with open_engine(beside=True) as engine:
        session = find_trace(engine.store, trace)
        if pack is not None:
            options = {"with_prompts": not without_prompts, "with_documents": with_documents}
            writers[0](engine, session, pack, sign, **options)
            return
        text = export_trace(
            engine.store,
            engine.blobs,
            session,
            form_of(form, path, _EXPORTS),
            with_sources=not without_sources,
            dialect=dialect,
        )
    output.write_file(text, path)


@trace_command.command(
    "prune", examples=["graphrag-rdf trace prune --older-than 90", "graphrag-rdf trace prune --keep 1000"]
)
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N traces.")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(0, max=1_000_000),
    metavar="DAYS",
    help="Delete traces older than this.",
)
@format_option()
def prune(keep: int | None, days: float | None, form: str) -> None:
    """Delete old traces with their sub-traces, prompts and completions. Export the ones you need first."""
    from datetime import timedelta

    from graphrag_rdf.trace.catalogue import prune as prune_traces

    older_than = None if days is None else timedelta(days=days)
    with open_engine() as engine:
        gone = prune_traces(engine.store, engine.blobs, keep=keep, older_than=older_than)
    _show_pruned(gone, form)


@trace_command.command("delete", examples=["graphrag-rdf trace delete last"])
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@format_option()
def delete(traces: tuple[str, ...], form: str) -> None:
    """Delete traces with their sub-traces."""
    from graphrag_rdf.trace.catalogue import Pruned, delete_trace, find_trace

    total = Pruned()
    with open_engine() as engine:
        sessions = {find_trace(engine.store, trace).value for trace in traces}
        for session in sorted(sessions):
            gone = delete_trace(engine.store, engine.blobs, session)
            total.traces += gone.traces
            total.objects += gone.objects
            total.chunks += gone.chunks
    _show_pruned(total, form)


def _show_pruned(gone: Pruned, form: str) -> None:
    if not output.write(form, gone):
        parts = (
            counted("deleted {count:,} trace", "deleted {count:,} traces", gone.traces),
            counted("{count:,} text", "{count:,} texts", gone.objects),
            counted("{count:,} retired chunk", "{count:,} retired chunks", gone.chunks),
        )
        say(listed(parts))


def trace_text(engine: Engine, session: str, *, full: bool = False) -> str:
    """A trace as text, safe to print."""
    from graphrag_rdf.trace.reader import read_trace
    from graphrag_rdf.trace.text import render_trace

    trace = read_trace(engine.store, session, engine.blobs, with_runs=True)
    return render_trace(trace, width=reading_width(), colour=colours(), full=full).rstrip("\n")


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
@server_options
@format_option()
def feedback_command(
    trace: str,
    rating: str,
    citation: int | None,
    edge: int | None,
    note: str | None,
    by: str | None,
    server: str | None,
    token_file: Path | None,
    form: str,
) -> None:
    """Mark an ANSWER as helpful or wrong; none removes the mark.

    ANSWER is the question_iri of an answer, another name of its trace, or last.
    """
    from graphrag_rdf.client import Client
    from graphrag_rdf.rdf.json_values import to_json
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.feedback import Rating, add_mark, take_back
    from graphrag_rdf.trace.model import Mark

    where: dict[str, Any] = {"citation": citation, "edge": edge, "by": by}
    opened = server_of(server, token_file) or _store_or_server()
    if isinstance(opened, Client):
        done = opened.mark(trace, {"rating": rating, "note": note, **where})
    else:
        with opened as engine:
            session = find_trace(engine.store, trace)
            if rating == "none":
                done = {"taken_back": take_back(engine.store, session, **where)}
            else:
                graph = engine.store.renderer.trace_graph
                rated = cast("Rating", rating)
                done = to_json(add_mark(engine.store, session, rated, note=note, graph=graph, **where))
    if output.write(form, done):
        return
    if rating == "none":
        say(tr("mark removed") if done["taken_back"] else tr("there is no such mark"))
    else:
        mark = Mark("", "", rating, marker=done["citation"], rank=done["edge"])
        say(one_line(tr("marked as {rating}: {about}").format(rating=rating, about=mark.about)))


def _store_or_server() -> Engine | Client:
    try:
        return open_engine()
    except StoreLockedError as error:
        return server_instead(error)
