"""`documents`, `source` and `forget`: list documents, show what supports a fact, and erase documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, Group, server_options
from graphrag_rdf.cli.output import colours, format_option, one_line, pairs, reading_width, say
from graphrag_rdf.cli.session import open_engine, server_of
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import bracketed, counted, later, tr
from graphrag_rdf.trace.lines import human_size

if TYPE_CHECKING:
    from graphrag_rdf.trace.documents import DocumentSummary


_COLUMNS = (
    later("title"),
    later("path"),
    later("size"),
    later("pages"),
    later("chunks"),
    later("facts"),
    later("lang"),
    later("added"),
    later("failures"),
)
_NUMBERS = ("size", "pages", "chunks", "facts", "added", "failures")
_OTHERS = 65
"""Columns of a terminal for everything except title and path."""
_LEAST = 40
_LISTED = 20
_SORTS = ("path", "title", "type", "size", "pages", "chunks", "facts", "language", "added", "failures")


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf documents",
        "graphrag-rdf documents --sort size reports",
        "graphrag-rdf documents '*.pdf' --failed",
        "graphrag-rdf documents --duplicates",
        "graphrag-rdf documents --format jsonl | jq 'select(.facts == 0) | .path'",
    ],
)
@click.argument("text", required=False, default="")
@click.option("--failed", is_flag=True, help="List only documents with failures, with the reasons.")
@click.option("--sort", type=click.Choice(_SORTS), help="Sort by this; the largest and newest come first.")
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option(
    "--duplicates",
    is_flag=True,
    help="List pairs of documents with the same or nearly the same content instead.",
)
@server_options
@format_option("text", "json", "jsonl")
def documents_command(
    text: str,
    failed: bool,
    sort: str | None,
    reverse: bool,
    duplicates: bool,
    server: str | None,
    token_file: Path | None,
    form: str,
) -> None:
    """List the documents of the store: size, chunks, facts, language, date and failures.

    TEXT is a part of a path or title, or a glob ('*.pdf'). The column facts counts quotes that state a fact.
    """
    client = server_of(server, token_file)
    items: Sequence[Mapping[str, Any]]
    if duplicates:
        if client is not None:
            items = client.duplicates()
        else:
            from graphrag_rdf.ingest.duplicates import find_duplicates

            with open_engine(beside=True) as engine:
                items = [pair.as_json() for pair in find_duplicates(engine.store, engine.blobs)]
        if form == "text":
            _show_duplicates(items)
            return
    else:
        from graphrag_rdf.rdf.json_values import to_json
        from graphrag_rdf.trace.documents import arrange, list_documents

        if client is not None:
            found = arrange(client.documents(), match=text, failed=failed, sort=sort, reverse=reverse)
        else:
            with open_engine(beside=True) as engine:
                found = list_documents(engine.store, match=text, failed=failed, sort=sort, reverse=reverse)
        if form == "text":
            _show(found, text, why=failed)
            return
        items = to_json(found)
    output.write(form, items)


def _show(found: Sequence[DocumentSummary], text: str, *, why: bool) -> None:
    if not found:
        say(tr("no documents"))
        if text and not why:
            output.note(
                tr("no path or title has {text!r} in it; to list all: graphrag-rdf documents").format(
                    text=text
                )
            )
        return
    room = _room()
    output.table(
        [tr(name) for name in _COLUMNS],
        (_row(document, *room) for document in found),
        numbers=[tr(name) for name in _NUMBERS],
    )
    failing = [document for document in found if document.failures]
    output.note(tr("documents: {count:,}").format(count=len(found)))
    if failing and not why:
        output.note(
            tr("{count:,} with failures; see: graphrag-rdf documents --failed").format(count=len(failing))
        )
    elif failing:
        _show_failures(failing)


def _row(document: DocumentSummary, title: int, path: int) -> tuple[object, ...]:
    return (
        _cut(document.title, title),
        _cut(document.path, path, end=True),
        None if document.bytes is None else human_size(document.bytes),
        document.pages,
        f"{document.chunks:,}",
        f"{document.facts:,}",
        document.language,
        document.added.date() if document.added else None,
        len(document.failures) or None,
    )


def _cut(text: str, columns: int, *, end: bool = False) -> str:
    """A text cut to a number of columns on a terminal: its beginning, or its end."""
    from rich.cells import cell_len

    text = one_line(text)
    if output.terminal_width() is None or cell_len(text) <= columns:
        return text
    while cell_len(text) >= columns:
        text = text[1:] if end else text[:-1]
    return f"…{text}" if end else f"{text}…"


def _room() -> tuple[int, int]:
    """Columns for the title and for the path."""
    left = max(_LEAST, (output.terminal_width() or 0) - _OTHERS)
    return left * 2 // 5, left * 3 // 5


def _show_failures(found: Sequence[DocumentSummary]) -> None:
    """Print the failures of each document with their remedies; equal failures are printed once."""
    say()
    for document in found[:_LISTED]:
        reasons: dict[tuple[str, str, str], int] = {}
        for one in document.failures:
            key = (one.stage, one.reason, one.way_out)
            reasons[key] = reasons.get(key, 0) + 1
        say(one_line(document.path))
        for (stage, reason, way_out), times in reasons.items():
            told = f"{stage}: {reason}"
            if times > 1:
                told = tr("{failure} ({times:,} chunks)").format(failure=told, times=times)
            say(output.wrapped(told, indent="    ", first="  "))
            say(output.wrapped(way_out, indent="      ", first="    → "))
    if len(found) > _LISTED:
        say(tr("… and {more:,} more (--format json lists all)").format(more=len(found) - _LISTED))


def _show_duplicates(pairs: Sequence[Mapping[str, Any]]) -> None:
    if not pairs:
        say(tr("no duplicates"))
        return
    rows = [
        (pair["kind"], f"{pair['share']:.0%}", *(_cut(path, 38, end=True) for path in pair["paths"]))
        for pair in pairs
    ]
    output.table(
        (tr("kind"), tr("share"), tr("document"), tr("other document")), rows, numbers=(tr("share"),)
    )
    output.note(
        tr(
            "pairs: {count:,}. To remove a document: graphrag-rdf forget; to leave it out: ingest --exclude"
        ).format(count=len(pairs))
    )


@click.group(
    cls=Group,
    examples=[
        "graphrag-rdf source tree documents/report.pdf",
        'graphrag-rdf source fact "Ada Lovelace" "was born in" London',
    ],
)
def source_command() -> None:
    """Show the facts of a document and the quotes behind a fact; weight documents."""


@source_command.command("tree", examples=["graphrag-rdf source tree documents/report.pdf"])
@click.argument("document", metavar="DOC")
@format_option()
def tree(document: str, form: str) -> None:
    """Show a document (by path, title or IRI): its pages, their chunks, and the facts of each."""
    from graphrag_rdf.trace.sources import source_tree
    from graphrag_rdf.trace.text import render_tree

    with open_engine(beside=True) as engine:
        found = source_tree(engine.store, document)
    if not output.write(form, found):
        say(render_tree(found, width=reading_width(), colour=colours()).rstrip("\n"))


@source_command.command(
    "fact",
    examples=[
        'graphrag-rdf source fact "Ada Lovelace" "was born in" London',
        "graphrag-rdf source fact http://trustgraph.ai/e/ada http://trustgraph.ai/r/knows http://trustgraph.ai/e/bob",
    ],
)
@click.argument("subject", metavar="S")
@click.argument("predicate", metavar="P")
@click.argument("object_", metavar="O")
@format_option()
def fact(subject: str, predicate: str, object_: str, form: str) -> None:
    """Show every chunk, page, document and quote that supports a fact, given in labels or N-Triples terms."""
    from graphrag_rdf.trace.sources import source_fact
    from graphrag_rdf.trace.text import render_fact_sources

    with open_engine(beside=True) as engine:
        found = source_fact(engine.store, subject, predicate, object_)
    if not output.write(form, found):
        say(render_fact_sources(found, width=reading_width(), colour=colours()).rstrip("\n"))


@source_command.command(
    "authority",
    examples=[
        "graphrag-rdf source authority",
        "graphrag-rdf source authority registers/ships.md 0.9",
        "graphrag-rdf source authority registers/ships.md --unset",
    ],
)
@click.argument("document", metavar="[DOC]", required=False)
@click.argument("value", metavar="[NUMBER]", required=False, type=click.FloatRange(0, 1))
@click.option("--unset", is_flag=True, help="Take the authority of DOC back.")
@format_option("text", "json", "jsonl")
def authority(document: str | None, value: float | None, unset: bool, form: str) -> None:
    """Give a document (by path, title or IRI) an authority from 0 to 1, or list those that have one.

    Answers prefer documents with a higher authority. Without one a document counts as 0.5. The
    setting documents.authority gives authorities by path.
    """
    from graphrag_rdf.ingest.authority import assign_authority

    if (document is not None) != (value is not None or unset) or (unset and value is not None):
        raise UsageError(tr("name a document and a number from 0 to 1, or a document and --unset"))
    with open_engine(beside=document is None) as engine:
        if document is not None:
            assign_authority(engine.store, engine.settings.documents.authority, document, value)
        rows = engine.store.select("documents/authorities", documents=[])
    items = [dict(row) for row in rows]
    if output.write(form, items):
        return
    for item in items:
        by = tr("assigned") if item["assigned"] is not None else tr("by the settings")
        say(one_line(f"{item['authority']:g}  {item['path']}{bracketed(by)}"))
    if not items:
        say(tr("no document has an authority; all count as 0.5"))


@click.command(
    cls=Command,
    examples=["graphrag-rdf forget --dry-run documents/old.pdf", "graphrag-rdf forget documents/old.pdf"],
)
@click.argument("documents", metavar="DOC...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Show what would be erased, and erase nothing.")
@format_option()
def forget_command(documents: tuple[str, ...], dry_run: bool, form: str) -> None:
    """Erase documents, named by path, title or IRI.

    Facts that only they support are erased too, and their text in traces, blobs, caches and indexes. Names
    that no other document has are replaced by hashes.

    The whole database is rewritten, so several documents take no longer than one. If the command fails or is
    stopped, run it again to finish.
    """
    from graphrag_rdf.ingest.forget import forget_named

    with open_engine(beside=dry_run) as engine:
        forgotten = forget_named(
            engine, documents, dry_run=dry_run, notify=lambda what: output.note(f"{what} …")
        )
    for warning in forgotten.warnings:
        output.warn_of(warning)
    if output.write(form, {"dry_run": dry_run, **forgotten.as_json()}):
        return
    say(tr("would be erased:") if dry_run else tr("erased:"))
    pairs(
        [
            (tr("documents"), f"{forgotten.documents:,}"),
            (tr("chunks"), f"{forgotten.chunks:,}"),
            (
                tr("facts"),
                tr("{facts:,} (kept, as other documents support them: {kept_facts:,})").format(
                    facts=forgotten.facts, kept_facts=forgotten.kept_facts
                ),
            ),
            (tr("entities"), f"{forgotten.entities:,}"),
            (
                tr("traces"),
                counted(
                    "text of {count:,} trace that uses them",
                    "text of {count:,} traces that use them",
                    forgotten.traces,
                ),
            ),
        ],
        indent="  ",
    )
