"""`trace`: how answers came about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group
from graphrag_rdf.cli.failures import DONE, FAILED
from graphrag_rdf.cli.output import colours, format_option, one_line, reading_width, say, styled
from graphrag_rdf.cli.replay import ask_without_command, replay_command, show_differences
from graphrag_rdf.cli.session import open_engine

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.trace.export import TraceFormat
    from graphrag_rdf.trace.prune import Pruned


@click.group(cls=Group, examples=["graphrag-rdf trace list", "graphrag-rdf trace show last"])
def trace_command() -> None:
    """How answers came about.

    A TRACE is named by the IRI of its session, question or a step, by its UUID or the beginning of it, or
    last.
    """


@trace_command.command("list", examples=["graphrag-rdf trace list --limit 5"])
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--pipeline", metavar="NAME", help="Only traces of this pipeline.")
@click.option(
    "--outcome",
    type=click.Choice(["completed", "unanswered", "failed", "cancelled", "unfinished"]),
    help="Only traces that ended so.",
)
@format_option("text", "json", "jsonl")
def list_(limit: int, pipeline: str | None, outcome: str | None, form: str) -> None:
    """List traces, newest first; sub-traces stand indented under theirs."""
    from graphrag_rdf.trace.catalogue import list_traces
    from graphrag_rdf.trace.outcomes import count_outcomes, outcome_told
    from graphrag_rdf.trace.text import render_list

    with open_engine() as engine:
        found = list_traces(engine.store, limit, pipeline, outcome=outcome)
        counts = count_outcomes(engine.store)
    if form == "json":
        output.write_json([summary.as_json() for summary in found])
    elif form == "jsonl":
        output.write_jsonl(summary.as_json() for summary in found)
    elif found:
        say(render_list(found, width=reading_width(), colour=colours()).rstrip("\n"))
        say("\nall: " + ", ".join(f"{number} {outcome_told(code)}" for code, number in counts.items()))
    else:
        say("there is no such trace" if counts else "there is no trace yet")


@trace_command.command(
    "show", examples=["graphrag-rdf trace show last", "graphrag-rdf trace show --full 3fa9"]
)
@click.argument("trace")
@click.option("--full", is_flag=True, help="Also parameters, considered edges and every call.")
@format_option()
def show(trace: str, full: bool, form: str) -> None:
    """Show a trace step by step, each selection with the characters it rests on."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.reader import read_trace

    with open_engine() as engine:
        session = find_trace(engine.store, trace).value
        if form == "json":
            output.write_json(read_trace(engine.store, session, engine.blobs).as_json())
        else:
            say(trace_text(engine, session, full=full))


@trace_command.command("verify", examples=["graphrag-rdf trace verify last"])
@click.argument("trace")
@format_option()
def verify(trace: str, form: str) -> int:
    """Check that every edge, quote, offset, hash and citation of a trace still holds; exit code 1 if not."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.verify import verify_trace

    with open_engine() as engine:
        session = find_trace(engine.store, trace)
        checks = verify_trace(engine.store, engine.blobs, session)
    ok = all(check.ok for check in checks)
    if form == "json":
        output.write_json({"trace": session.value, "ok": ok, "checks": [check.as_json() for check in checks]})
    else:
        for check in checks:
            mark = styled("ok", fg="green") if check.ok else styled("FAILED", fg="red", bold=True)
            say(f"{mark}  {check.check}: {one_line(check.detail)}")
    return DONE if ok else FAILED


@trace_command.command(
    "diff", examples=["graphrag-rdf trace diff 3fa9 last", "graphrag-rdf trace diff 3fa9 last --format json"]
)
@click.argument("before", metavar="TRACE")
@click.argument("after", metavar="OTHER")
@format_option()
def diff(before: str, after: str, form: str) -> None:
    """Tell what differs between two traces: parameters, concepts, seeds, what was selected, the answer."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.difference import differences
    from graphrag_rdf.trace.reader import read_trace

    with open_engine() as engine:
        first, second = (
            read_trace(engine.store, find_trace(engine.store, name), engine.blobs) for name in (before, after)
        )
    found = [difference.as_json() for difference in differences(first, second)]
    if form == "json":
        output.write_json({"before": first.iri, "after": second.iri, "differences": found})
        return
    if not found:
        say("they came to the same answer in the same way")
    show_differences(found)


trace_command.add_command(replay_command)
trace_command.add_command(ask_without_command)


@trace_command.command(
    "export",
    examples=[
        "graphrag-rdf trace export last --format html -o answer.html",
        "graphrag-rdf trace export last --format trig > answer.trig",
    ],
)
@click.argument("trace")
@click.option(
    "--format",
    "form",
    type=click.Choice(("trig", "turtle", "nquads", "prov-n", "prov-json", "html")),
    default="trig",
    show_default=True,
    help="What to write.",
)
@click.option(
    "-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write it here."
)
@click.option("--without-sources", is_flag=True, help="The trace alone, not what it rests on.")
def export(trace: str, form: TraceFormat, path: Path | None, without_sources: bool) -> None:
    """Write a trace, with the evidence that it rests on, for elsewhere: RDF, PROV, or a page for people."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.export import export_trace

    with open_engine() as engine:
        session = find_trace(engine.store, trace)
        text = export_trace(engine.store, engine.blobs, session, form, with_sources=not without_sources)
    output.write_file(text, path)


@trace_command.command(
    "prune", examples=["graphrag-rdf trace prune --older-than 90", "graphrag-rdf trace prune --keep 1000"]
)
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N.")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(0, max=1_000_000),
    metavar="DAYS",
    help="Take out what is older.",
)
@format_option()
def prune(keep: int | None, days: float | None, form: str) -> None:
    """Take out old traces with their sub-traces, prompts and completions. Export first what audits need."""
    from datetime import timedelta

    from graphrag_rdf.trace.prune import prune as prune_traces

    older_than = None if days is None else timedelta(days=days)
    with open_engine() as engine:
        gone = prune_traces(engine.store, engine.blobs, keep=keep, older_than=older_than)
    _show_pruned(gone, form)


@trace_command.command("delete", examples=["graphrag-rdf trace delete last"])
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@format_option()
def delete(traces: tuple[str, ...], form: str) -> None:
    """Take out traces with their sub-traces."""
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.prune import Pruned, delete_trace

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
    if form == "json":
        output.write_json(gone.as_json())
    else:
        say(f"took out {gone.traces:,} traces, {gone.objects:,} texts, {gone.chunks:,} retired chunks")


def trace_text(engine: Engine, session: str, *, full: bool = False) -> str:
    """A trace for people, safe to print."""
    from graphrag_rdf.trace.reader import read_trace
    from graphrag_rdf.trace.text import render_trace

    trace = read_trace(engine.store, session, engine.blobs)
    return render_trace(trace, width=reading_width(), colour=colours(), full=full).rstrip("\n")
