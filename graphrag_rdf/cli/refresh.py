"""`refresh`: run a stage of the ingest again, from the stored documents; `index`: the search indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Group, embedding_option, model_option
from graphrag_rdf.cli.output import colours, count_triples, format_option, pairs, reading_width, say
from graphrag_rdf.cli.process import DONE, FAILED, outcome, stop_requests
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.cli.stage import check_sources, documents_of, source_options, stage_command
from graphrag_rdf.i18n import later, listed, tr
from graphrag_rdf.rdf.terms import local_name

if TYPE_CHECKING:
    from graphrag_rdf.ingest.model_stage import ModelStage


class StageGroup(Group):
    """Has a command for each stage with a model, besides its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of its own commands and of the stages."""
        return [*super().list_commands(ctx), *self._stages()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        kind = self._stages().get(cmd_name)
        return stage_command(kind) if kind is not None else super().get_command(ctx, cmd_name)

    def _stages(self) -> dict[str, type[ModelStage[Any, Any, Any]]]:
        from graphrag_rdf.ingest.stages import model_stages

        group = self.name or ""
        return {kind.command[1]: kind for kind in model_stages() if kind.command[0] == group}


@click.group(
    "refresh",
    cls=StageGroup,
    examples=["graphrag-rdf refresh relations", "graphrag-rdf refresh facts --source documents/report.md"],
)
def refresh_command() -> None:
    """Run one stage of the ingest again, from the stored documents; no file is read."""


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

    check_sources(sources, every=every)
    with (
        open_engine(overrides) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        documents = documents_of(engine, sources)
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
    check_sources(sources, every=every)
    with open_engine() as engine:
        from graphrag_rdf.ingest.files import refresh_names

        number = refresh_names(engine, documents_of(engine, sources))
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
