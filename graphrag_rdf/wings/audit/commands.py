"""`trace verify`, `diff`, `replay`, `ask-without`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, server_options
from graphrag_rdf.cli.output import format_option, one_line, say, styled
from graphrag_rdf.cli.process import DONE, FAILED
from graphrag_rdf.cli.session import open_engine, refuse, server_of
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.wings.audit.past import Past
    from graphrag_rdf.wings.audit.verify import Check


@click.command("verify", cls=Command, examples=["graphrag-rdf trace verify last"])
@click.argument("trace")
@format_option()
def verify_command(trace: str, form: str) -> int:
    """Check that all edges, quotes, offsets, hashes and citations of a trace hold; exit code 1 if not.

    If not all is as it was, the trace is also checked against the state of the store when the question was
    asked, if that is kept. Traces of TrustGraph are checked as far as they go.
    """
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.wings.audit.past import all_holds, past_of
    from graphrag_rdf.wings.audit.verify import verify_trace

    with open_engine(beside=True) as engine:
        session = find_trace(engine.store, trace)
        checks = verify_trace(engine.store, engine.blobs, session)
        with nullcontext() if all_holds(checks) else past_of(engine, session) as past:
            pass
    ok = all(check.ok is not False for check in checks)
    out = {"trace": session.value, "ok": ok, "checks": checks}
    if past is not None:
        out["past"] = {"commit": past.commit, "ok": past.ok, "checks": past.checks}
    if not output.write(form, out):
        for check in checks:
            show_check(check)
        if past is not None:
            _show_past(past)
    return DONE if ok else FAILED


def _show_past(past: Past) -> None:
    """Print whether a trace held when the question was asked, and what did not."""
    message = tr("in {state}, all holds") if past.ok else tr("in {state}, from before the question:")
    say(message.format(state=past.name))
    for check in past.checks:
        if check.ok is False or check.changed:
            show_check(check)


def show_check(check: Check) -> None:
    """Print a check, with the queries that it ran."""
    if check.ok is None:
        mark = styled(tr("changed"), fg="yellow") if check.changed else tr("not checked")
    else:
        mark = styled(tr("ok"), fg="green") if check.ok else styled(tr("FAILED"), fg="red", bold=True)
    say(f"{mark}  " + tr("{name}: {told}").format(name=tr(check.check), told=one_line(check.detail)))
    for query in check.queries:
        say(f"      {one_line(query.told)}")


@click.command(
    "diff",
    cls=Command,
    examples=["graphrag-rdf trace diff 3fa9 last", "graphrag-rdf trace diff 3fa9 last --format json"],
)
@click.argument("before", metavar="TRACE")
@click.argument("after", metavar="OTHER")
@format_option()
def diff_command(before: str, after: str, form: str) -> None:
    """Show the differences between two traces: parameters, concepts, seeds, selections and answer."""
    from graphrag_rdf.rdf.json_values import to_json
    from graphrag_rdf.trace.catalogue import find_trace
    from graphrag_rdf.trace.reader import read_trace
    from graphrag_rdf.wings.audit.difference import differences

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


# --- asking again ----------------------------------------------------------------------------------


model_option = click.option(
    "--model", metavar="M", help="Use this model instead of the trace's own; none: rules only."
)


@click.command(
    "replay",
    cls=Command,
    examples=[
        "graphrag-rdf trace replay last",
        "graphrag-rdf trace replay 3fa9 --format json",
        "graphrag-rdf trace replay last --server http://127.0.0.1:7878",
    ],
)
@click.argument("trace")
@model_option
@click.option("--trace", "stored", is_flag=True, help="Store a trace of the new run.")
@server_options
@format_option()
def replay_command(
    trace: str, model: str | None, stored: bool, server: str | None, token_file: Path | None, form: str
) -> int:
    """Ask the question of a trace again, with its pipeline, parameters and model; exit code 1 if it differs.

    The question runs on a copy of the store, so only --trace stores a trace. Cached model answers are not
    used.
    """
    from graphrag_rdf.rdf.json_values import to_json
    from graphrag_rdf.wings.audit.replay import replay

    client = server_of(server, token_file)
    if client is not None:
        refuse({"model": model, "trace": stored})
        done = client.ask_again(trace, "replay", {})
    else:
        with open_engine(beside=not stored) as engine:
            done = to_json(replay(engine, trace, model=model, stored=stored))
    if not output.write(form, done):
        show_differences(done["differences"])
        say(tr("the same result") if done["same"] else tr("a different result"))
        if done["replayed"]:
            output.note(tr("trace of the new run: {replayed}").format(replayed=done["replayed"]))
    return DONE if done["same"] else FAILED


@click.command(
    "ask-without",
    cls=Command,
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
@model_option
@server_options
@format_option()
def ask_without_command(
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
    from graphrag_rdf.wings.audit.replay import ask_without

    what: dict[str, Any] = {
        "facts": facts,
        "documents": documents,
        "sources": sources,
        "with_sentences": with_sentences,
    }
    client = server_of(server, token_file)
    if client is not None:
        refuse({"model": model})
        done = client.ask_again(trace, "ask-without", what)
    else:
        with open_engine(beside=True) as engine:
            done = to_json(ask_without(engine, trace, **what, model=model))
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
