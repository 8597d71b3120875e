"""`ingest`: read documents and extract facts with their provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import (
    Command,
    embedding_option,
    model_option,
    require_shapes,
    server_options,
    shapes_options,
    shapes_overrides,
)
from graphrag_rdf.cli.exchange import write_shards
from graphrag_rdf.cli.output import counts, format_option, pairs, planned, say, usage
from graphrag_rdf.cli.process import DONE, IN_PART, outcome, stop_requests
from graphrag_rdf.cli.session import client_of, in_folder, load, open_engine, refuse
from graphrag_rdf.errors import DocumentError, StoreMissingError, UsageError
from graphrag_rdf.i18n import counted, later, listed, ngettext, tr

if TYPE_CHECKING:
    from graphrag_rdf.client import Client
    from graphrag_rdf.config import Settings
    from graphrag_rdf.documents.discover import Discovery, Source
    from graphrag_rdf.ingest.estimate import Estimate
    from graphrag_rdf.ingest.report import FailureReport, IngestReport, ValidationCounts
    from graphrag_rdf.ingest.schedule import Progress

_REASONS = 3
_SHARDS = 8


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf ingest documents/",
        "graphrag-rdf ingest --model openai/gpt-4.1 --jobs 8 reports/*.pdf",
        "graphrag-rdf ingest --model openai/gpt-4.1 --ontology ships.ttl documents/",
        "graphrag-rdf ingest --shapes shapes.ttl --validation reject documents/",
        "graphrag-rdf ingest --dry-run --model openai/gpt-4.1 documents/",
        "graphrag-rdf ingest --exclude _sources --exclude 'drafts/*' documents/",
        "graphrag-rdf ingest --refresh --no-relations documents/",
        "graphrag-rdf ingest --server http://127.0.0.1:7878 --token-file token documents/",
    ],
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@model_option
@embedding_option
@click.option(
    "--ontology",
    "ontologies",
    multiple=True,
    metavar="FILE|IRI",
    help="Extract facts in terms of this ontology: a file, which is loaded, or the IRI of a loaded one; may "
    "be repeated.",
)
@click.option(
    "--ontology-mode",
    type=click.Choice(["strict", "open"]),
    help="strict (default): reject facts without a property of the ontology; open: keep them as proposals.",
)
@shapes_options
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Number of concurrent model calls.")
@click.option(
    "--dask", metavar="ADDRESS", help="Read documents and apply rules on the cluster of this Dask scheduler."
)
@click.option(
    "--to-shards",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Use the store DIR/store, and write it to DIR as files for an engine's bulk loader.",
)
@click.option("--dry-run", is_flag=True, help="Estimate the work and its cost, and write nothing.")
@click.option("--refresh", is_flag=True, help="Extract all facts again.")
@click.option(
    "--relations/--no-relations",
    default=None,
    help="Relate chunks and entities afterwards (default: the setting relations.build).",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out files and folders with this name or path below PATH; may be repeated.",
)
@click.option(
    "--sync", is_flag=True, help="Also forget documents of these folders that were deleted from disk."
)
@server_options
@format_option()
def ingest_command(
    paths: tuple[str, ...],
    server: str | None,
    token_file: Path | None,
    model: str | None,
    embedding_model: str | None,
    ontologies: tuple[str, ...],
    ontology_mode: str | None,
    shapes: tuple[str, ...],
    validation: str | None,
    jobs: int | None,
    dask: str | None,
    to_shards: Path | None,
    dry_run: bool,
    refresh: bool,
    relations: bool | None,
    exclude: tuple[str, ...],
    sync: bool,
    form: str,
) -> int:
    """Read documents (files, folders, globs) and extract facts into the store.

    Only new and changed documents are read. A stopped run continues where it stopped. Without a model, rules
    extract the facts.

    Formats: PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, HTML, Markdown, reStructuredText, Org, LaTeX,
    RTF, CSV, JSON, mail, subtitles, source code, and any other text; also compressed with gzip.
    """
    remote = {"client.server": server, "client.token_file": token_file}
    if (settings := load(remote).settings).client.server is not None:
        own: dict[str, Any] = {"model": model, "embedding_model": embedding_model, "jobs": jobs}
        own["dask"] = dask
        own |= {"ontology": ontologies or None, "ontology_mode": ontology_mode}
        own |= {"shapes": shapes or None, "validation": validation}
        refuse({**own, "to_shards": to_shards, "dry_run": dry_run, "relations": relations, "sync": sync})
        return _send(paths, exclude, settings, form, refresh=refresh)
    overrides: dict[str, Any] = {"llm.model": model, "embedding.model": embedding_model, "extract.jobs": jobs}
    overrides |= {"relations.build": relations, "extract.ontology_mode": ontology_mode}
    overrides |= shapes_overrides(shapes, validation)
    if dask:
        overrides["dask.scheduler"] = dask
    if to_shards:
        overrides["store"] = str(to_shards / "store")
    files, iris = _ontologies(ontologies)
    overrides["extract.ontology"] = iris or None
    settings = load(overrides).settings
    if ontology_mode and not settings.extract.ontology:
        raise UsageError(
            tr("--ontology-mode has no effect without an ontology"), hint=tr("name one with --ontology")
        )
    require_shapes(settings, validation)
    require_documents(paths, settings, exclude, sync=sync)
    if dry_run:
        if files:
            raise UsageError(
                tr("--dry-run writes nothing, so it cannot load {files}").format(files=files[0]),
                hint=tr("load it with: graphrag-rdf ontology load FILE, and name its IRI"),
            )
        return _dry_run(paths, overrides, settings, refresh=refresh, sync=sync, exclude=exclude, form=form)
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.exchange.ontologies import load_ontologies

    with (
        open_engine(overrides, create=True) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        if files:
            now, keep = datetime.now(UTC), settings.reasoning.keep
            load_ontologies(engine.store, files, settings.extract.namespace, now, keep=keep)
        report = engine.ingest(
            paths, refresh=refresh, sync=sync, exclude=exclude, progress=progress, stop=stop
        )
        if to_shards and report.stopped is None:
            write_shards(engine, to_shards, _SHARDS, "rdf12", counts=False)
    if not output.write(form, report):
        from graphrag_rdf.ingest.extractors import read_by

        show_report(report, read_by(engine.settings))
    rejected = report.validation is not None and report.validation.rejected > 0
    return outcome(report.stopped, failed=bool(report.failures) or rejected)


def _ontologies(named: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The files among named ontologies, and the IRIs of all.

    Raises:
        UsageError: a file is missing or malformed.
    """
    if not named:
        return [], []
    from graphrag_rdf.exchange.ontologies import read_ontologies

    files = [Path(name) for name in named if Path(name).exists() or ":" not in name]
    read, missing = read_ontologies(files)
    for iri in missing:
        output.warn(
            tr("the import {iri} was not loaded: no entry of catalog-v001.xml names a file for it").format(
                iri=iri
            )
        )
    own = {path.resolve() for path in files}
    iris = [file.ontology.value for file in read if file.path.resolve() in own]
    return files, [*iris, *(name for name in named if Path(name) not in files)]


def _send(
    paths: Sequence[str], exclude: Sequence[str], settings: Settings, form: str, *, refresh: bool
) -> int:
    """Send the documents to a server, which ingests them."""
    from graphrag_rdf.cli.progress import IngestProgress

    found = require_documents(paths, settings, exclude)
    with IngestProgress() as progress:
        client, most = client_of(settings.client), settings.documents.max_bytes
        report = send_documents(client, found, most, progress, refresh=refresh)
    if not output.write(form, report):
        show_report(report, tr("the server {server}").format(server=settings.client.server))
    return outcome(report.stopped, failed=bool(report.failures))


def require_documents(
    paths: Sequence[str], settings: Settings, exclude: Sequence[str] = (), *, sync: bool = False
) -> Discovery:
    """The documents to read. Raises UsageError without any, before a store is created."""
    from graphrag_rdf.documents.discover import discover
    from graphrag_rdf.store.folder import is_store

    found = discover(paths, exclude=[Path(settings.store)], patterns=exclude, is_store=is_store)
    if found.sources or (sync and not found.errors):
        return found
    if found.errors:
        reasons = [f"{_first(names)}: {reason}" for reason, names in by_reason(found.errors)]
        raise UsageError("; ".join(reasons))
    from graphrag_rdf.documents.readers import readable

    left_out = "".join(
        tr("; {folder} is {why}").format(folder=folder, why=tr(why))
        for folder, why in found.left_out[:_REASONS]
    )
    left_out += "".join(f"; {_first(names)}: {tr(why)}" for why, names in by_reason(found.skipped))
    raise UsageError(
        tr("no document was found in {paths}{left_out}").format(paths=", ".join(paths), left_out=left_out),
        hint=readable(),
    )


# --- for people ----------------------------------------------------------------------------------


def show_report(report: IngestReport, by: str) -> None:
    """Print the report of a run; `by` names the model or rules."""
    from graphrag_rdf.ingest.stages import model_stages

    documents, chunks = report.documents, report.chunks
    lines: list[tuple[str, object]] = [
        (tr("documents"), counts(documents) or tr("none")),
        (tr("chunks"), counts(chunks) or tr("none")),
        (tr("facts"), tr("{facts:,} new, by {by}").format(facts=report.facts, by=_by(by))),
        (tr("entities"), tr("{entities:,} new, minor ones too").format(entities=report.entities)),
    ]
    if report.by_content or report.unverified:
        told = tr(
            "{by_content:,} facts located by their content, {unverified:,} not found "
            "(queries run cookbook/unverified)"
        )
        located = told.format(by_content=report.by_content, unverified=report.unverified)
        lines.append((tr("quotes"), located))
    if report.rejected:
        reasons = left_out(report.rejected, _REASONS)
        told = tr("{reasons} (facts rejected: each with its reason)").format(reasons=reasons)
        lines.append((tr("left out"), told))
    if report.unread:
        lines.append(
            (tr("not read"), tr("{unread:,} sentences that no rule reads").format(unread=report.unread))
        )
    if report.validation is not None:
        lines.append((tr("shapes"), validated(report.validation)))
    lines += [
        kind.row(report.stages[kind.stage.name])
        for kind in model_stages()
        if report.stages.get(kind.stage.name, kind.unset) != kind.unset
    ]
    if report.links is not None:
        lines.append((tr("links"), tr("{links:,} new, to vocabularies").format(links=report.links)))
    if report.llm.calls or report.llm.cached:
        lines.append((tr("model"), usage(report.llm)))
    lines.append((tr("time"), f"{report.seconds:.1f} s"))
    pairs(lines)
    _warn(report.warnings)
    _list_contradictions(report.contradictions.first if report.contradictions else ())
    _list_rest(report.failures, report.skipped, report.missing)
    if report.stopped == "interrupted":
        output.warn(tr("interrupted: the work so far is kept; run the same command again to continue"))
    elif report.stopped:
        output.warn(tr("the budget is used up: raise it and run the same command again to continue"))


def validated(found: ValidationCounts) -> str:
    """What a validation found, for people."""
    told = counted("{count:,} violation", "{count:,} violations", found.violations)
    told = listed([told, counted("{count:,} warning", "{count:,} warnings", found.warnings)])
    if found.mode == "reject":
        facts = counted("{count:,} fact", "{count:,} facts", found.rejected)
        rejected = tr("{results}; rejected: {facts} (facts rejected --reason breaks_shape)")
        told = rejected.format(results=told, facts=facts)
    return told + (" (queries run validation/results)" if found.violations or found.warnings else "")


def _list_contradictions(found: Sequence[Mapping[str, Any]]) -> None:
    """The justification of contradictions, as the report has it."""
    for one in found:
        say(f"  {output.one_line(one['focus'])} {output.one_line(one['message'])} [{one['rule']}]")
        for premise in one["premises"]:
            fact = premise["fact"]
            words = ", ".join(fact[name] for name in ("s_label", "p_label", "o_label"))
            say(f"    {premise['held']}: ({output.one_line(words)})")
            for source in premise["sources"]:
                quote = output.quoted(source["quote"], source["title"])
                say(f"      {quote if source['quote'] else output.one_line(source['name'])}")


def _list_rest(failures: Sequence[FailureReport], skipped: Sequence[str], missing: Sequence[str]) -> None:
    """One line on stderr for each reason, however many files share it. Failures are printed with -q, too."""
    for reason, names in by_reason((failure.path, failure.reason) for failure in failures):
        message = tr("{count:,} failed: {reason} ({names})")
        text = message.format(count=len(names), reason=reason, names=_first(names))
        click.echo(output.labelled(tr("error:"), "red") + output.one_line(text), err=True)
    for reason, names in by_reason((text.partition(": ")[::2]) for text in skipped):
        message = tr("{count:,} skipped: {reason} ({names})")
        output.warn(output.one_line(message.format(count=len(names), reason=reason, names=_first(names))))
    if missing:
        message = tr("{count:,} deleted from disk, which --sync forgets: {names}")
        output.warn(output.one_line(message.format(count=len(missing), names=_first(missing))))


def _warn(warnings: Sequence[Mapping[str, Any]]) -> None:
    """Print warnings; those of one type that differ only in the place before the reason as one."""
    groups: dict[tuple[str, str], list[str]] = {}
    for warning in warnings:
        place, reason = _reason_last(warning["detail"])
        groups.setdefault((warning["type"], reason), []).append(place)
    for (kind, reason), places in groups.items():
        detail = f"{places[0]}: {reason}" if places[0] else reason
        if len(places) > 1:
            message = tr("{count:,} times: {reason} ({names})")
            detail = message.format(count=len(places), reason=reason, names=_first(places))
        output.warn_of({"type": kind, "detail": detail})


def by_reason(named: Iterable[tuple[object, str]]) -> list[tuple[str, list[str]]]:
    """Each reason with the names that have it.

    Args:
        named: names with their reasons.
    """
    groups: dict[str, list[str]] = {}
    for name, reason in named:
        groups.setdefault(reason, []).append(str(name))
    return [*groups.items()]


def _reason_last(text: str) -> tuple[str, str]:
    """What stands before the last colon of a text, and the reason after it."""
    place, _, reason = text.rpartition(": ")
    return place, reason


def _first(names: Sequence[str]) -> str:
    """The first names of a line."""
    different = [*dict.fromkeys(names)]
    return listed([*different[:_REASONS], *(["…"] if len(different) > _REASONS else [])])


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
    from graphrag_rdf.ingest.extractors import read_by
    from graphrag_rdf.store.folder import StoreFolder

    empty = {**overrides, "store": ":memory:"}
    if in_folder(settings):
        place = StoreFolder.of_collection(Path(settings.store), settings.collection)
        overrides = overrides if place.exists else empty
    try:
        engine = open_engine(overrides, read_only=True, beside=True)
    except StoreMissingError:  # the endpoint has no store yet
        engine = open_engine(empty, read_only=True)
    with engine:
        found = estimate(engine, paths, refresh=refresh, sync=sync, exclude=exclude)
    if not output.write(form, found.as_json()):
        _show_estimate(found, read_by(engine.settings))
    return IN_PART if found.failures else DONE


def _show_estimate(found: Estimate, by: str) -> None:
    llm = found.llm
    lines: list[tuple[str, object]] = [
        (tr("documents"), counts(found.documents) or tr("none")),
        (tr("chunks"), counts(found.chunks) or tr("none")),
        (
            tr("to extract"),
            ngettext("{number:,} chunk, by {by}", "{number:,} chunks, by {by}", found.extracted).format(
                number=found.extracted, by=_by(by)
            ),
        ),
    ]
    if llm.calls:
        lines.append((tr("model"), planned(llm.calls, llm.in_tokens, llm.out_tokens, llm.cost_usd)))
        if found.model and not found.measured:
            lines.append(
                (
                    "",
                    tr(
                        "output tokens of an average model; ingest a few documents first for a better "
                        "estimate"
                    ),
                )
            )
    if found.uncounted:
        what = tr(" and ").join(tr(_uncounted(stage)) for stage in found.uncounted)
        lines.append((tr("and"), tr("calls for {what}, as many as the facts will need").format(what=what)))
    say(tr("Nothing was written. This would be done:"))
    pairs(lines, indent="  ")
    _list_rest(found.failures, found.skipped, found.missing)


def _uncounted(stage: str) -> str:
    from graphrag_rdf.ingest.stages import model_stages

    made = {kind.stage.name: kind.uncounted for kind in model_stages()}
    return made.get(stage) or _CORRECTIONS


_CORRECTIONS = later("corrections of facts that break the ontology")
_WITHOUT_MODEL = {"rules": later("rules"), "metadata": later("metadata")}


def _by(name: str) -> str:
    """What extracts facts: the name of a model, or a word."""
    return tr(_WITHOUT_MODEL[name]) if name in _WITHOUT_MODEL else name


_WORDS: Mapping[str, str] = {
    "predicate_not_in_ontology": later("without a property of the ontology"),
    "type_not_in_ontology": later("types without a class of the ontology"),
    "breaks_domain": later("outside the domain of the property"),
    "breaks_range": later("outside the range of the property"),
    "breaks_datatype": later("with a value of another datatype"),
    "breaks_unit": later("with a value in another unit"),
    "breaks_functional": later("with a second value of a functional property"),
    "breaks_inverse_functional": later("with a second subject of an inverse-functional property"),
    "breaks_cardinality": later("with more values than the class allows"),
    "breaks_disjoint": later("types that exclude another one of the entity"),
    "breaks_value_set": later("with an object outside the value set"),
    "breaks_shape": later("that break a SHACL shape"),
    "value_of_object_property": later("with a value where the range is a class of things"),
    "only_digits": later("with a number as a name"),
    "mostly_symbols": later("with symbols as a name"),
    "placeholder": later("with a placeholder for a missing name"),
    "empty": later("without a name"),
    "too_short": later("with too short a name"),
    "too_long": later("with too long a name"),
    "stop_word": later("with a name that names nothing"),
    "possessive": later("with an unnamed relative, such as “her brother”"),
    "names_class": later("about a class"),
    "not_in_text": later("with a name, number or year that is not in the text"),
    "unresolved_description": later("described but not named"),
    "unresolved_pronoun": later("with an unclear pronoun"),
    "unresolved_owner": later("with an unclear owner"),
    "unnamed_subject": later("without a named subject"),
    "literal_subject": later("about a number or date"),
    "counted_subject": later("about a number of things"),
    "light_noun": later("about a word like “thing”"),
    "speaker_or_reader": later("about speaker or reader"),
    "pronoun_object": later("with a pronoun as object"),
    "self_relation": later("about a thing and itself"),
    "number_mismatch": later("in which verb and subject differ in number"),
    "reported": later("that somebody else reports"),
    "conditional": later("with a condition"),
    "negated": later("negated"),
    "hedged": later("hedged"),
    "question": later("question"),
    "request": later("request"),
    "cut": later("cut"),
    "heading": later("quoting only a heading"),
    "predicate_not_listed": later("predicate not listed"),
    "no_evidence": later("no evidence"),
    "invalid_relation": later("invalid relation"),
    "answer_truncated": later("answer truncated"),
}
"""Code → description; other codes are words with underscores."""


def left_out(rejected: Mapping[str, int], most: int) -> str:
    """The number of statements that were left out, and the most frequent reasons."""
    ranked = sorted(rejected.items(), key=lambda item: (-item[1], item[0]))
    told = listed(
        f"{number:,} {tr(_WORDS.get(code, code.replace('_', ' ')))}" for code, number in ranked[:most]
    )
    number = counted("{count:,} statement", "{count:,} statements", sum(rejected.values()))
    if len(ranked) > most:
        message = tr("{number}: {reasons} and {more} more reasons")
        return message.format(number=number, reasons=told, more=len(ranked) - most)
    return tr("{number}: {reasons}").format(number=number, reasons=told)


# --- sending documents to a server -----------------------------------------------------------------


_AT_ONCE, _FILES = 16 << 20, 500
"""Bytes and files of one request. A larger file has a request of its own; a server accepts 1000 files."""


def send_documents(
    client: Client, found: Discovery, max_bytes: int, progress: Progress, *, refresh: bool
) -> IngestReport:
    """Send files to a server, which ingests those that are new or changed, or with `refresh` all.

    Args:
        max_bytes: larger files are not sent.

    Raises:
        ServerError: when the server cannot be reached, refuses, or closes the connection.
    """
    from graphrag_rdf.ingest.report import FailureReport, IngestReport
    from graphrag_rdf.rdf.json_values import to_json

    failures = [FailureReport(path, None, "read", reason) for path, reason in found.errors]
    whole: dict[str, Any] = to_json(IngestReport())
    for batch in _batches(found.sources, max_bytes, failures):
        whole = merged(whole, client.ingest(batch, progress, refresh=refresh))
        if whole["stopped"]:
            break
    report = IngestReport.of_json(whole)
    report.failures = [*failures, *report.failures]
    report.documents.failed += len(failures)
    report.skipped = [f"{path}: {tr(why)}" for path, why in found.skipped]
    for pattern in found.idle:
        report.warn(
            "unused_exclude", tr("--exclude {pattern} matches no file or folder").format(pattern=pattern)
        )
    return report


def _batches(
    sources: Sequence[Source], max_bytes: int, failures: list[Any]
) -> Iterator[list[tuple[str, bytes]]]:
    from graphrag_rdf.documents.readers import load_bytes
    from graphrag_rdf.ingest.report import FailureReport

    batch: list[tuple[str, bytes]] = []
    size = 0
    for source in sources:
        try:
            data = load_bytes(source.path, max_bytes=max_bytes)
        except DocumentError as error:
            failures.append(FailureReport(error.path, None, "read", error.reason))
            continue
        if batch and (size + len(data) > _AT_ONCE or len(batch) == _FILES):
            yield batch
            batch, size = [], 0
        batch.append((source.identity, data))
        size += len(data)
    if batch:
        yield batch


def merged(one: Any, other: Any) -> Any:
    """The sum of two reports: numbers are added, lists are joined."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: merged(one.get(key), other.get(key)) for key in {**one, **other}}
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one + other
    return [*one, *(item for item in other if item not in one)] if isinstance(one, list) else other
