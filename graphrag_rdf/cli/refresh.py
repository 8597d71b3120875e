"""`refresh`: run a stage of the ingest again, from the stored documents; `index`: the search indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, embedding_option, model_option
from graphrag_rdf.cli.output import (
    colours,
    count_triples,
    counts,
    format_option,
    made_by,
    model_rows,
    pairs,
    planned,
    reading_width,
    say,
)
from graphrag_rdf.cli.process import DONE, FAILED, outcome, stop_requests
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, listed, tr
from graphrag_rdf.rdf.terms import local_name

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.engine import Engine
    from graphrag_rdf.ingest.claims import ClaimEstimate, ClaimReport
    from graphrag_rdf.ingest.relations import RelationEstimate, RelationReport
    from graphrag_rdf.ingest.summaries import SummaryEstimate, SummaryReport


F = TypeVar("F", bound=Callable[..., Any])


def source_options(command: F) -> F:
    """`--source` and `--all`; the parameters are `sources` and `every`."""
    source = click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="DOC",
        help="Only this document (path, title or IRI); may be repeated.",
    )
    every = click.option("--all", "every", is_flag=True, help="All documents (the default).")
    return source(every(command))


@click.group(
    cls=Group,
    examples=["graphrag-rdf refresh relations", "graphrag-rdf refresh facts --source documents/report.md"],
)
def refresh_command() -> None:
    """Run one stage of the ingest again, from the stored documents; no file is read.

    \b
    facts      extract facts and names, with rules or a model
    mentions   find names in sentences
    names      choose labels, and apply the decisions about entities
    relations  relate chunks and entities
    claims     have a model read what is claimed of whom
    summaries  merge the descriptions of what several texts describe
    schema     declare the relations and types of the facts
    inferences infer facts by ontologies
    """


@refresh_command.command(
    "relations",
    examples=[
        "graphrag-rdf refresh relations",
        "graphrag-rdf refresh relations --model openai/gpt-4.1-mini --window 1 --truncate 2000",
        "graphrag-rdf refresh relations --source documents/report.md",
    ],
)
@source_options
@model_option
@click.option(
    "--window",
    type=click.IntRange(1, 50),
    metavar="N",
    help="The model reads each chunk with each of the next N chunks (default: 2).",
)
@click.option(
    "--truncate",
    type=click.IntRange(100),
    metavar="N",
    help="Characters of each chunk that the model reads (default: 1000).",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Leave out relations with a lower confidence of the model (default: 0.5).",
)
@click.option("--dry-run", is_flag=True, help="Estimate the model calls and their cost, and write nothing.")
@click.option("--again", is_flag=True, help="Let the model read all pairs again.")
@click.option(
    "--min-count",
    type=click.IntRange(1),
    metavar="N",
    help="Number of sentences that name two entities, from which they co-occur (default: 2).",
)
@format_option()
def relations(
    sources: tuple[str, ...],
    every: bool,
    model: str | None,
    window: int | None,
    truncate: int | None,
    min_confidence: float | None,
    dry_run: bool,
    again: bool,
    min_count: int | None,
    form: str,
) -> int:
    """Relate chunks to each other, and entities that co-occur.

    A model, if one is set, reads pairs of neighbouring chunks and classifies their relation: causes,
    supports, contrasts, references, substep of, follows, part of. It reads each pair once, and a stopped run
    continues where it stopped. Without a model too, chunks are related that name the same entities or follow
    each other. Entities in more chunks than the setting relations.hub_limit do not relate them.

    The relations are stored in urn:graph:derived, and the evidence of the model in urn:graph:source. With the
    setting relations.build, each ingest that changes something runs this stage too.
    """
    _check(sources, every)
    overrides = {
        "llm.model": model,
        "relations.window": window,
        "relations.truncate": truncate,
        "relations.min_confidence": min_confidence,
        "relations.min_count": min_count,
    }
    if dry_run:
        from graphrag_rdf.ingest.relations import estimate_relations

        with open_engine(overrides, read_only=True, beside=True) as engine:
            found = estimate_relations(engine, _documents(engine, sources), again=again)
        _show_estimate(tr("pairs of chunks"), found.pairs, found, form)
        return DONE
    from graphrag_rdf.cli.progress import IngestProgress

    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget, "pairs") as progress,
    ):
        report = engine.refresh_relations(
            _documents(engine, sources), again=again, progress=progress, stop=stop
        )
    if not output.write(form, report.as_json()):
        _show(report)
    return outcome(report.read.stopped, failed=bool(report.read.failures))


def _show_estimate(
    what: str, number: object, found: RelationEstimate | ClaimEstimate | SummaryEstimate, form: str
) -> None:
    if output.write(form, found.as_json()):
        return
    llm = found.llm
    output.say(tr("Nothing was written. This would be done:"))
    model = planned(llm.calls, llm.in_tokens, llm.out_tokens, llm.cost_usd)
    pairs([(what, counts(number) or tr("none")), (tr("model"), model)], indent="  ")


def _show(report: RelationReport) -> None:
    from graphrag_rdf.ingest.relations import relation_names

    named = relation_names(report.relations)
    rows: list[tuple[str, object]] = [(name, f"{number:,}") for name, number in named.items()]
    read = report.read
    if told := counts(read.pairs):
        rows.append((tr("pairs of chunks"), told))
    rows += model_rows(read.rejected, report.llm)
    pairs(rows or [(tr("none"), "")])
    for warning in report.warnings:
        output.warn_of(warning)
    if read.stopped:
        output.warn(tr("some pairs were not read: run the same command again to continue"))


@refresh_command.command(
    "claims",
    examples=[
        "graphrag-rdf refresh claims --model openai/gpt-4.1-mini",
        "graphrag-rdf refresh claims --source documents/report.md --dry-run",
    ],
)
@source_options
@model_option
@click.option("--description", metavar="TEXT", help="What a claim is, as the model is told.")
@click.option(
    "--gleaning-rounds",
    type=click.IntRange(0, 5),
    metavar="N",
    help="Number of times to ask the model for missed claims (default: 0).",
)
@click.option("--dry-run", is_flag=True, help="Estimate the model calls and their cost, and write nothing.")
@click.option("--again", is_flag=True, help="Let the model read all chunks again.")
@format_option()
def claims(
    sources: tuple[str, ...],
    every: bool,
    model: str | None,
    description: str | None,
    gleaning_rounds: int | None,
    dry_run: bool,
    again: bool,
    form: str,
) -> int:
    """Let a model read which claims the chunks make.

    A claim has a subject, an object, a type, a status (TRUE, FALSE or SUSPECTED), a period, a description and
    quotes. The model reads each chunk once, and a stopped run continues where it stopped. Another model,
    prompt or description reads all chunks again and replaces the claims.

    To list the claims: queries run cookbook/claims. With the setting claims.build, each ingest runs this
    stage too.
    """
    _check(sources, every)
    overrides = {
        "llm.model": model,
        "claims.description": description,
        "claims.gleaning_rounds": gleaning_rounds,
    }
    if dry_run:
        from graphrag_rdf.ingest.claims import estimate_claims

        with open_engine(overrides, read_only=True, beside=True) as engine:
            found = estimate_claims(engine, _documents(engine, sources), again=again)
        _show_estimate(tr("chunks"), found.chunks, found, form)
        return DONE
    from graphrag_rdf.cli.progress import IngestProgress

    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        documents = _documents(engine, sources)
        report = engine.refresh_claims(documents, again=again, progress=progress, stop=stop)
    if not output.write(form, report.as_json()):
        _show_claims(report)
    return outcome(report.stopped, failed=bool(report.failures))


def _show_claims(report: ClaimReport) -> None:
    rows: list[tuple[str, object]] = [
        (tr("claims"), tr("{found:,} new").format(found=report.found)),
        (tr("chunks"), counts(report.chunks) or tr("none")),
    ]
    if report.unverified:
        rows.append(
            (tr("quotes"), tr("{unverified:,} not in their chunk").format(unverified=report.unverified))
        )
    if report.linked:
        rows.append((tr("names"), tr("{linked:,} linked to entities").format(linked=report.linked)))
    pairs([*rows, *model_rows(report.rejected, report.llm)])
    for warning in report.warnings:
        output.warn_of(warning)
    if report.stopped:
        output.warn(tr("some chunks were not read: run the same command again to continue"))


@refresh_command.command(
    "summaries",
    examples=[
        "graphrag-rdf refresh summaries --model openai/gpt-4.1-mini",
        "graphrag-rdf refresh summaries --use extractive",
        "graphrag-rdf refresh summaries --dry-run",
    ],
)
@model_option
@click.option(
    "--use",
    type=click.Choice(("auto", "extractive", "llm")),
    help="auto: by a model, if one is set; extractive: the most central texts (default: auto).",
)
@click.option("--dry-run", is_flag=True, help="Estimate the model calls and their cost, and write nothing.")
@click.option("--again", is_flag=True, help="Merge all descriptions again, without the cache.")
@format_option()
def summaries(model: str | None, use: str | None, dry_run: bool, again: bool, form: str) -> int:
    """Merge the descriptions of entities and facts that several texts describe.

    An entity is described by what texts say that it is, or by the sentences that name it; a fact by its
    quotes. A model, if one is set, merges them into one description. Without a model, the most central texts
    are quoted. Descriptions are merged again only if what they are made from changed.

    They are stored in urn:graph:derived, and the texts that they are made from stay. With the setting
    summaries.build, each ingest runs this stage too. To show one: entities show NAME
    """
    overrides = {"llm.model": model, "summaries.use": use}
    if dry_run:
        from graphrag_rdf.ingest.summaries import estimate_summaries

        with open_engine(overrides, read_only=True, beside=True) as engine:
            found = estimate_summaries(engine, again=again)
        _show_estimate(tr("descriptions"), found.summaries, found, form)
        return DONE
    from graphrag_rdf.cli.progress import IngestProgress

    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget, "descriptions") as progress,
    ):
        report = engine.refresh_summaries(again=again, progress=progress, stop=stop)
    if not output.write(form, report.as_json()):
        _show_summaries(report)
    return outcome(report.stopped, failed=bool(report.failures))


def _show_summaries(report: SummaryReport) -> None:
    rows: list[tuple[str, object]] = [
        (tr("descriptions"), counts(report.summaries) or tr("none")),
        (tr("made"), made_by(report.by)),
    ]
    pairs([*rows, *model_rows({}, report.llm)])
    for warning in report.warnings:
        output.warn_of(warning)
    if report.stopped:
        output.warn(tr("some descriptions were not merged: run the same command again to continue"))


def _check(sources: Sequence[str], every: bool) -> None:
    if sources and every:
        raise UsageError(tr("--source and --all cannot be combined"), hint=tr("give one of them"))


def _documents(engine: Engine, sources: Sequence[str]) -> list[NamedNode]:
    from graphrag_rdf.ingest.plan import find_documents

    return find_documents(engine.store, sources) if sources else []


# --- other stages --------------------------------------------------------------------------------


@refresh_command.command(
    "facts",
    examples=[
        "graphrag-rdf refresh facts",
        "graphrag-rdf refresh facts --model openai/gpt-4.1 --source documents/report.md",
    ],
)
@source_options
@model_option
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Number of concurrent model calls.")
@format_option()
def facts(sources: tuple[str, ...], every: bool, model: str | None, jobs: int | None, form: str) -> int:
    """Extract facts and names again from the stored documents; a model is called without its cache."""
    overrides = {"llm.model": model, "extract.jobs": jobs}
    return _texts(sources, every, form, overrides, mentions_only=False)


@refresh_command.command("mentions", examples=["graphrag-rdf refresh mentions --source documents/report.md"])
@source_options
@format_option()
def mentions(sources: tuple[str, ...], every: bool, form: str) -> int:
    """Find names in sentences again, without a model; facts and known names stay."""
    return _texts(sources, every, form, {}, mentions_only=True)


def _texts(
    sources: Sequence[str], every: bool, form: str, overrides: dict[str, Any], *, mentions_only: bool
) -> int:
    from graphrag_rdf.cli.ingest import show_report
    from graphrag_rdf.cli.progress import IngestProgress

    _check(sources, every)
    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        documents = _documents(engine, sources)
        report = engine.refresh_texts(documents, mentions_only=mentions_only, progress=progress, stop=stop)
    if not output.write(form, report):
        from graphrag_rdf.ingest.extractors import read_by

        show_report(report, read_by(engine.settings))
    return outcome(report.stopped, failed=bool(report.failures))


@refresh_command.command("names", examples=["graphrag-rdf refresh names"])
@source_options
@format_option()
def names(sources: tuple[str, ...], every: bool, form: str) -> None:
    """Choose the labels again, and apply the decisions about entities again."""
    _check(sources, every)
    with open_engine() as engine:
        from graphrag_rdf.ingest.files import refresh_names

        number = refresh_names(engine, _documents(engine, sources))
    if not output.write(form, {"settled": number}):
        pairs([(tr("settled"), tr("{number:,} entities, relations and types").format(number=number))])


@refresh_command.command("schema", examples=["graphrag-rdf refresh schema"])
@format_option()
def schema(form: str) -> None:
    """Declare the relations and types of the facts again, in urn:graph:ontology."""
    with open_engine() as engine:
        engine.indexer.recover()
        engine.indexer.observe_schema()
        rows = engine.store.select("ontology/observed-kinds")
    found = {local_name(row["kind"].value): row["terms"] for row in rows}
    if not output.write(form, found):
        pairs([(name, f"{number:,}") for name, number in found.items()] or [(tr("declared"), tr("nothing"))])


@refresh_command.command(
    "inferences",
    examples=["graphrag-rdf refresh inferences", "graphrag-rdf refresh inferences --profile rdfs"],
)
@click.option("--profile", type=click.Choice(("rdfs", "rl")), help="Rules of RDFS, or also of OWL 2 RL.")
@format_option()
def inferences(profile: str | None, form: str) -> int:
    """Infer what follows from facts and ontologies, and list what contradicts them.

    Removes urn:graph:inferred and builds it from scratch. Changes of facts or ontologies by commands empty
    it, or with reasoning.auto keep it up to date. A contradiction is shown with the axiom and the facts that
    contradict it, and their quotes and documents. Exit code 1 if something contradicts an ontology.
    """
    with open_engine({"reasoning.profile": profile}) as engine:
        from graphrag_rdf.schema.reasoning import find_inconsistencies, infer
        from graphrag_rdf.trace.sources import contradictions
        from graphrag_rdf.trace.text import render_premises

        engine.indexer.recover()
        report = infer(engine.store, engine.settings.reasoning.profile)
        found = contradictions(engine.store, [*find_inconsistencies(engine.store)])
    if not output.write(form, {"profile": report.profile, "rules": report.rules, "inconsistencies": found}):
        pairs([(rule, count_triples(number)) for rule, number in report.rules.items() if number])
        if not any(report.rules.values()):
            say(tr("nothing inferred"))
        for one in found:
            output.warn(output.safe(f"{one.focus} {one.message} [{one.rule}]"))
            say(render_premises(one.premises, width=reading_width(), colour=colours()).rstrip("\n"))
    return FAILED if found else DONE


@click.group(cls=Group, examples=["graphrag-rdf index status", "graphrag-rdf index rebuild"])
def index_command() -> None:
    """Show and rebuild the search indexes of words and vectors."""


@index_command.command("status", examples=["graphrag-rdf index status"])
@embedding_option
@format_option()
def status(embedding_model: str | None, form: str) -> int:
    """Show the contents of the indexes, and whether they are up to date; exit code 1 if one is damaged."""
    from graphrag_rdf.checks.diagnosis import index_status

    with open_engine({"embedding.model": embedding_model}, beside=True) as engine:
        found = index_status(engine)
    if not output.write(form, found):
        show_indexes(found)
    return FAILED if any(entry.get("error") for entry in found["indexes"].values()) else DONE


@index_command.command("rebuild", examples=["graphrag-rdf index rebuild"])
@embedding_option
@format_option()
def rebuild(embedding_model: str | None, form: str) -> None:
    """Build the indexes again from the store, whatever their state."""
    from graphrag_rdf.checks.diagnosis import index_status

    with open_engine({"embedding.model": embedding_model}) as engine:
        engine.rebuild_indexes()
        found = index_status(engine)
    if not output.write(form, found):
        show_indexes(found)


def show_indexes(found: dict[str, Any], indent: str = "") -> None:
    """Print the status of the indexes."""
    say(
        tr("{indent}store at commit {content_commit}").format(
            indent=indent, content_commit=found["content_commit"]
        )
    )
    for name, entry in found["indexes"].items():
        if entry.get("error"):
            say(output.safe(f"{indent}{name}: {entry['error']}"))
            continue
        told = [f"{tr(_KINDS[kind])} {number:,}" for kind, number in entry["counts"].items()]
        if entry.get("model"):
            told.append(tr("{model} ({dimension} dimensions)").format(**entry))
        told.append(
            tr("up to date") if entry["up_to_date"] else tr("behind, at commit {commit}").format(**entry)
        )
        say(output.safe(f"{indent}{name}: {listed(told)}"))


_KINDS = {
    "entity": later("entities"),
    "sentence": later("sentences"),
    "chunk": later("chunks"),
    "report": later("reports"),
}
"""Kind of an index → its heading."""
