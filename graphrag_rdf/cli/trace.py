"""`trace`: list, show, verify, compare, replay and export the traces of answers; `feedback`: mark answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, Group, form_of, output_option, server_options
from graphrag_rdf.cli.output import colours, format_option, one_line, reading_width, say, styled
from graphrag_rdf.cli.process import DONE, FAILED
from graphrag_rdf.cli.session import open_engine, refuse, server_instead, server_of
from graphrag_rdf.errors import StoreLockedError, UsageError
from graphrag_rdf.i18n import counted, listed, tr

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.sparql.render import Dialect
    from graphrag_rdf.trace.catalogue import Pruned
    from graphrag_rdf.trace.export import TraceFormat
    from graphrag_rdf.trace.verify import Check


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


@trace_command.command("verify", examples=["graphrag-rdf trace verify last"])
@click.argument("trace")
@format_option()
def verify(trace: str, form: str) -> int:
    """Check that all edges, quotes, offsets, hashes and citations of a trace hold; exit code 1 if not.

    Traces of TrustGraph are checked as far as they go.
    """
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.verify import verify_trace

    with open_engine(beside=True) as engine:
        session = find_trace(engine.store, trace)
        checks = verify_trace(engine.store, engine.blobs, session)
    ok = all(check.ok is not False for check in checks)
    if not output.write(form, {"trace": session.value, "ok": ok, "checks": checks}):
        for check in checks:
            told = tr("{name}: {told}").format(name=tr(check.check), told=one_line(check.detail))
            say(f"{_mark(check)}  {told}")
            for query in check.queries:
                say(f"      {query.told}")
    return DONE if ok else FAILED


def _mark(check: Check) -> str:
    if check.changed:
        return styled(tr("changed"), fg="yellow")
    if check.ok is None:
        return tr("not checked")
    return styled(tr("ok"), fg="green") if check.ok else styled(tr("FAILED"), fg="red", bold=True)


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


@trace_command.command(
    "diff", examples=["graphrag-rdf trace diff 3fa9 last", "graphrag-rdf trace diff 3fa9 last --format json"]
)
@click.argument("before", metavar="TRACE")
@click.argument("after", metavar="OTHER")
@format_option()
def diff(before: str, after: str, form: str) -> None:
    """Show the differences between two traces: parameters, concepts, seeds, selections and answer."""
    from graphrag_rdf.rdf.json_values import to_json
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.difference import differences
    from graphrag_rdf.trace.reader import read_trace

    with open_engine(beside=True) as engine:
        first, second = (
            read_trace(engine.store, find_trace(engine.store, name), engine.blobs, with_runs=True)
            for name in (before, after)
        )
    found = to_json(differences(first, second))
    if output.write(form, {"before": first.iri, "after": second.iri, "differences": found}):
        return
    if not found:
        say(tr("no differences"))
    show_differences(found)


_EXPORTS = ("trig", "turtle", "nquads", "jsonld", "prov-n", "prov-json", "provx", "html")


@trace_command.command(
    "export",
    examples=[
        "graphrag-rdf trace export last -o answer.html",
        "graphrag-rdf trace export last --format trig > answer.trig",
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
def export(
    trace: str, form: TraceFormat | None, dialect: Dialect, path: Path | None, without_sources: bool
) -> None:
    """Export a trace with its evidence, as RDF, PROV or an HTML page."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.export import export_trace

    with open_engine(beside=True) as engine:
        session = find_trace(engine.store, trace)
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


# --- asking again ----------------------------------------------------------------------------------


_model_option = click.option(
    "--model", metavar="M", help="Use this model instead of the trace's own; none: rules only."
)


@trace_command.command(
    "replay",
    examples=[
        "graphrag-rdf trace replay last",
        "graphrag-rdf trace replay 3fa9 --format json",
        "graphrag-rdf trace replay last --server http://127.0.0.1:7878",
    ],
)
@click.argument("trace")
@_model_option
@click.option("--trace", "stored", is_flag=True, help="Store a trace of the new run.")
@server_options
@format_option()
def replay(
    trace: str, model: str | None, stored: bool, server: str | None, token_file: Path | None, form: str
) -> int:
    """Ask the question of a trace again, with its pipeline, parameters and model; exit code 1 if it differs.

    The question runs on a copy of the store, so only --trace stores a trace. Cached model answers are not
    used.
    """
    from graphrag_rdf.rdf.json_values import to_json

    client = server_of(server, token_file)
    if client is not None:
        refuse({"model": model, "trace": stored})
        done = client.replay(trace)
    else:
        with open_engine(beside=not stored) as engine:
            done = to_json(engine.replay(trace, model=model, stored=stored))
    if not output.write(form, done):
        show_differences(done["differences"])
        say(tr("the same result") if done["same"] else tr("a different result"))
        if done["replayed"]:
            output.note(tr("trace of the new run: {replayed}").format(replayed=done["replayed"]))
    return DONE if done["same"] else FAILED


@trace_command.command(
    "ask-without",
    examples=[
        "graphrag-rdf trace ask-without last --document documents/museum-guide.md",
        'graphrag-rdf trace ask-without last --fact Petrel "sank on" 1911-11-14 --with-sentences',
        "graphrag-rdf trace ask-without last --source urn:chunk:… --format json",
    ],
)
@click.argument("trace")
@click.option(
    "--fact",
    "facts",
    type=(str, str, str),
    multiple=True,
    metavar="S P O",
    help="Leave out this fact, given as labels or N-Triples terms; may be repeated.",
)
@click.option("--with-sentences", is_flag=True, help="Also leave out the sentences of the facts.")
@click.option("--document", "documents", multiple=True, metavar="DOC", help="Also leave out this document.")
@click.option(
    "--source", "sources", multiple=True, metavar="SOURCE", help="Also leave out this chunk or imported file."
)
@_model_option
@server_options
@format_option()
def ask_without(
    trace: str,
    facts: tuple[tuple[str, str, str], ...],
    with_sentences: bool,
    documents: tuple[str, ...],
    sources: tuple[str, ...],
    model: str | None,
    server: str | None,
    token_file: Path | None,
    form: str,
) -> None:
    """Ask the question of a trace without a fact, document or source, and show the differences.

    The question runs on a copy of the store, with it and without it. The store does not change.
    """
    from graphrag_rdf.rdf.json_values import to_json

    what: dict[str, Any] = {
        "facts": facts,
        "documents": documents,
        "sources": sources,
        "with_sentences": with_sentences,
    }
    client = server_of(server, token_file)
    if client is not None:
        refuse({"model": model})
        done = client.ask_without(trace, **what)
    else:
        with open_engine(beside=True) as engine:
            done = to_json(engine.ask_without(trace, **what, model=model))
    if output.write(form, done):
        return
    for taken in done["without"]:
        say(one_line(tr("without {taken}:").format(taken=taken)))
    say(output.wrapped(done["answer_without"] or tr("(no answer)"), indent="  ", first="  "))
    say()
    say(tr("the answer is different") if done["changed"] else tr("the answer is the same"))
    show_differences(done["differences"])
    if done["since_the_trace"]:
        output.note(
            tr("the store or the program has changed since the trace; see: graphrag-rdf trace replay")
        )


def show_differences(found: Iterable[Mapping[str, Any]]) -> None:
    """Print differences in the form of `trace diff --format json`."""
    shown = None
    for one in found:
        if (one["what"], one["name"], one.get("run")) != shown:
            shown = one["what"], one["name"], one.get("run")
            told = f"{one['what']} {one['name']}".strip()
            if one.get("run"):
                told = tr("{difference} (in the run “{run}”)").format(difference=told, run=one["run"])
            say(styled(one_line(told), bold=True))
        for sign, value in (("-", one["before"]), ("+", one["after"])):
            if value is not None:
                say(output.wrapped(value, indent="    ", first=f"  {sign} "))


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
