"""`ingest`: documents in, facts with provenance out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import DONE, IN_PART
from graphrag_rdf.cli.options import embedding_option, model_option, server_options
from graphrag_rdf.cli.output import format_option, pairs, say
from graphrag_rdf.cli.reasons import left_out
from graphrag_rdf.cli.session import client_of, in_folder, load, open_engine, refuse
from graphrag_rdf.cli.summary import counts, outcome, usage
from graphrag_rdf.errors import StoreMissingError, UsageError

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.documents.discover import Discovery
    from graphrag_rdf.ingest.estimate import Estimate
    from graphrag_rdf.ingest.report import FailureReport, IngestReport

_LISTED = 20
_REASONS = 3


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf ingest documents/",
        "graphrag-rdf ingest --model openai/gpt-4.1 --jobs 8 reports/*.pdf",
        "graphrag-rdf ingest --dry-run --model openai/gpt-4.1 documents/",
        "graphrag-rdf ingest --exclude _sources --exclude 'drafts/*' documents/",
        "graphrag-rdf ingest --refresh --no-relations documents/",
        "graphrag-rdf ingest --server http://127.0.0.1:7878 --token-file token documents/",
    ],
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@model_option
@embedding_option
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Chunks at the model at once.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and what it would cost; write nothing.")
@click.option("--refresh", is_flag=True, help="Extract everything anew.")
@click.option(
    "--relations/--no-relations",
    default=None,
    help="Build relations afterwards, or not (default: the setting relations.build).",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out files and folders of this name, or of this path below PATH; may be repeated.",
)
@click.option("--sync", is_flag=True, help="Also forget documents of these folders that are gone from disk.")
@server_options
@format_option()
def ingest_command(
    paths: tuple[str, ...],
    server: str | None,
    token_file: Path | None,
    model: str | None,
    embedding_model: str | None,
    jobs: int | None,
    dry_run: bool,
    refresh: bool,
    relations: bool | None,
    exclude: tuple[str, ...],
    sync: bool,
    form: str,
) -> int:
    """Read documents (files, folders, globs) and extract facts into the store.

    What is in the store already is not done again; a run that was stopped goes on where it stopped. Without
    a model, facts are extracted by rules.

    Formats: PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, HTML, Markdown, reStructuredText, Org, LaTeX,
    RTF, CSV, JSON, mail, subtitles, source code, and any other text; also compressed with gzip.
    """
    remote = {"client.server": server, "client.token_file": token_file}
    if (settings := load(remote).settings).client.server is not None:
        own = {"model": model, "embedding_model": embedding_model, "jobs": jobs}
        refuse({**own, "dry_run": dry_run, "refresh": refresh, "relations": relations, "sync": sync})
        return _send(paths, exclude, settings, form)
    overrides = {"llm.model": model, "embedding.model": embedding_model, "extract.jobs": jobs}
    overrides["relations.build"] = relations
    settings = load(overrides).settings
    require_documents(paths, settings, exclude, sync=sync)
    if dry_run:
        return _dry_run(paths, overrides, settings, refresh=refresh, sync=sync, exclude=exclude, form=form)
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.cli.signals import stop_requests

    with (
        open_engine(overrides, create=True) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        report = engine.ingest(
            paths, refresh=refresh, sync=sync, exclude=exclude, progress=progress, stop=stop
        )
    if form == "json":
        output.write_json(report.as_json())
    else:
        show_report(report, engine.settings.llm.model or "rules")
    return outcome(report.stopped, failed=bool(report.failures))


def _send(paths: Sequence[str], exclude: Sequence[str], settings: Settings, form: str) -> int:
    """Send the documents to a server, which ingests them."""
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.cli.upload import send_documents

    found = require_documents(paths, settings, exclude)
    with IngestProgress() as progress:
        report = send_documents(client_of(settings.client), found, settings.documents.max_bytes, progress)
    if form == "json":
        output.write_json(report.as_json())
    else:
        show_report(report, f"the server {settings.client.server}")
    return outcome(report.stopped, failed=bool(report.failures))


def require_documents(
    paths: Sequence[str], settings: Settings, exclude: Sequence[str] = (), *, sync: bool = False
) -> Discovery:
    """What there is to read. Refuses a request that names nothing, before a store is made for it."""
    from graphrag_rdf.documents.discover import discover
    from graphrag_rdf.store.folder import is_store

    found = discover(paths, exclude=[Path(settings.store)], patterns=exclude, is_store=is_store)
    if found.sources or (sync and not found.errors):
        return found
    if found.errors:
        raise UsageError("; ".join(f"{path}: {reason}" for path, reason in found.errors))
    from graphrag_rdf.documents.readers import READABLE

    left_out = "".join(f"; {folder} is {why}" for folder, why in found.left_out[:_REASONS])
    left_out += "".join(f"; {path}: {why}" for path, why in found.skipped[:_REASONS])
    raise UsageError(
        f"no document was found in {', '.join(paths)}{left_out}",
        hint=READABLE,
    )


# --- for people ----------------------------------------------------------------------------------


def show_report(report: IngestReport, by: str) -> None:
    """What a run did, for people; `by` is what read the facts."""
    documents, chunks = report.documents, report.chunks
    again = documents.read_again and not (documents.added or documents.updated)
    lines: list[tuple[str, object]] = [
        ("documents", counts(documents) or "none"),
        ("chunks", counts(chunks) or "none"),
        ("facts", f"{report.facts:,} {'read again' if again else 'new'}, by {by}"),
        ("entities", f"{report.entities:,} new"),
    ]
    if report.by_content or report.unverified:
        told = f"{report.by_content:,} facts placed by their content, {report.unverified:,} found nowhere"
        lines.append(("quotes", f"{told} (queries run cookbook/unverified)"))
    if report.rejected:
        told = f"{left_out(report.rejected, _REASONS)} (queries run system/rejected-counts)"
        lines.append(("left out", told))
    if report.relations:
        lines.append(("relations", counts(report.relations)))
    if report.llm.calls or report.llm.cached:
        lines.append(("model", usage(report.llm)))
    lines.append(("time", f"{report.seconds:.1f} s"))
    pairs(lines)
    for warning in report.warnings:
        output.warn_of(warning)
    _list_rest(report.failures, report.skipped, report.missing)
    if report.stopped == "interrupted":
        output.warn("interrupted: what was done is kept; run the same command again to go on")
    elif report.stopped:
        output.warn("the budget is used up: raise it and run the same command again to go on")


def _list_rest(failures: Sequence[FailureReport], skipped: Sequence[str], missing: Sequence[str]) -> None:
    for title, items in (
        ("failed", [f"{failure.path}: {failure.reason}" for failure in failures]),
        ("skipped", skipped),
        ("gone from disk (--sync forgets them)", missing),
    ):
        if not items:
            continue
        say(f"{title}:")
        for item in items[:_LISTED]:
            say(f"  {output.one_line(item)}")
        if len(items) > _LISTED:
            say(f"  … and {len(items) - _LISTED:,} more (--format json lists all)")


# --- dry run -------------------------------------------------------------------------------------


def _dry_run(
    paths: Sequence[str],
    overrides: dict[str, Any],
    settings: Settings,
    *,
    refresh: bool,
    sync: bool,
    exclude: Sequence[str],
    form: str,
) -> int:
    from graphrag_rdf.ingest.estimate import estimate
    from graphrag_rdf.store.folder import StoreFolder

    empty = {**overrides, "store": ":memory:"}
    if in_folder(settings):
        place = StoreFolder.of_collection(Path(settings.store), settings.collection)
        overrides = overrides if place.exists else empty
    try:
        engine = open_engine(overrides, read_only=True)
    except StoreMissingError:  # at an endpoint there is none yet
        engine = open_engine(empty, read_only=True)
    with engine:
        found = estimate(engine, paths, refresh=refresh, sync=sync, exclude=exclude)
    if form == "json":
        output.write_json(found.as_json())
    else:
        _show_estimate(found)
    return IN_PART if found.failures else DONE


def _show_estimate(found: Estimate) -> None:
    llm = found.llm
    cost = "price unknown" if llm.cost_usd is None else f"{llm.cost_usd:.2f} USD"
    lines: list[tuple[str, object]] = [
        ("documents", counts(found.documents) or "none"),
        ("chunks", counts(found.chunks) or "none"),
        ("to extract", f"{found.extracted:,} chunks, by {found.model or 'rules'}"),
    ]
    if llm.calls:
        tokens = f"about {llm.in_tokens or 0:,} + {llm.out_tokens or 0:,} tokens"
        lines.append(("model", f"{llm.calls:,} calls, {tokens}, {cost}"))
        if found.model and not found.measured:
            lines.append(
                ("", "output by the average model; ingest a few documents first for a closer estimate")
            )
    say("Nothing was written. This would be done:")
    pairs(lines, indent="  ")
    _list_rest(found.failures, found.skipped, found.missing)
