"""`trace replay` and `trace ask-without`: a question asked again, as it was or without something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import DONE, FAILED
from graphrag_rdf.cli.options import server_options
from graphrag_rdf.cli.output import format_option, one_line, say, styled
from graphrag_rdf.cli.session import open_engine, refuse, server_of

_model_option = click.option(
    "--model", metavar="M", help="Another model than the trace was made with; none works by rules."
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
@_model_option
@click.option("--trace", "stored", is_flag=True, help="Leave a trace of the new run in the store.")
@server_options
@format_option()
def replay_command(
    trace: str, model: str | None, stored: bool, server: str | None, token_file: Path | None, form: str
) -> int:
    """Ask the question of a trace again, with its pipeline, parameters and model; exit code 1 if it differs.

    It is asked of a copy, so no trace is left unless asked for; kept answers of models are not taken.
    """
    client = server_of(server, token_file)
    if client is not None:
        refuse({"model": model, "trace": stored})
        done = client.replay(trace)
    else:
        with open_engine() as engine:
            done = engine.replay(trace, model=model, stored=stored).as_json()
    if form == "json":
        output.write_json(done)
    else:
        show_differences(done["differences"])
        say("the same was found and answered" if done["same"] else "it came out otherwise")
        if done["replayed"]:
            output.note(f"the new run: {done['replayed']}")
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
    help="As if this fact were not there; in labels or N-Triples terms. May be repeated.",
)
@click.option("--with-sentences", is_flag=True, help="Nor the sentences that the facts were quoted from.")
@click.option("--document", "documents", multiple=True, metavar="DOC", help="Nor this document.")
@click.option(
    "--source", "sources", multiple=True, metavar="SOURCE", help="Nor this chunk, or imported file."
)
@_model_option
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
    """Ask the question of a trace as if a fact, document or source were not there, and tell what differs.

    It is taken out of a copy of the store, in which the question is asked with it and without it; the store
    stays as it is.
    """
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
        with open_engine() as engine:
            done = engine.ask_without(trace, **what, model=model).as_json()
    if form == "json":
        output.write_json(done)
        return
    for taken in done["without"]:
        say(one_line(f"without {taken}:"))
    say(output.wrapped(done["answer_without"] or "(no answer)", indent="  ", first="  "))
    say()
    say("the answer is another one" if done["changed"] else "the answer is the same")
    show_differences(done["differences"])
    if done["since_the_trace"]:
        output.note("the store, or the program, has changed since the trace: trace replay tells what differs")


def show_differences(found: Iterable[Mapping[str, Any]]) -> None:
    """What differs, before and after; as `trace diff --format json`."""
    shown = None
    for one in found:
        if (one["what"], one["name"]) != shown:
            shown = one["what"], one["name"]
            say(styled(one_line(f"{one['what']} {one['name']}").strip(), bold=True))
        for sign, value in (("-", one["before"]), ("+", one["after"])):
            if value is not None:
                say(output.wrapped(value, indent="    ", first=f"  {sign} "))
