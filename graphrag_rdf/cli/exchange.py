"""`export` and `import` of RDF."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import (
    Command,
    embedding_option,
    form_of,
    iri_of,
    model_option,
    output_option,
    shapes_options,
)
from graphrag_rdf.cli.output import format_option, note, one_line, say, warn, warn_of_results
from graphrag_rdf.cli.process import DONE, IN_PART, ended_at_once, outcome, stop_requests
from graphrag_rdf.cli.session import about_default, open_engine, validating
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import bracketed, counted, tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.exchange import ExportReport, Format
    from graphrag_rdf.exchange.ms_graphrag.report import TablesReport
    from graphrag_rdf.sparql.render import Dialect

TABLES = "ms-graphrag"
"""The word before a folder of tables of Microsoft GraphRAG."""
_FORMATS = ("trig", "nquads", "turtle", "ntriples", "rdfxml", "jsonld", "graphml")


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf export -o dump.trig",
        "graphrag-rdf export --format turtle --graph urn:graph:facts > facts.ttl",
        "graphrag-rdf export -o graph.graphml",
        "graphrag-rdf export ms-graphrag output",
    ],
)
@click.argument("tables", metavar="[ms-graphrag DIR]", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Output format (default: by the suffix of -o FILE, else trig); trig, nquads and jsonld hold all "
    "graphs, the others one.",
)
@click.option("--graph", metavar="IRI", help="Export only this graph; urn:graph:facts for the facts.")
@click.option(
    "--dialect",
    type=click.Choice(("rdf12", "rdf-star", "classic")),
    default="rdf12",
    show_default=True,
    help="Syntax of triple terms; jsonld is always classic.",
)
@output_option
@click.option("--counts", is_flag=True, help="Print the numbers of quads or rows as JSON (with -o or DIR).")
def export_command(
    tables: tuple[str, ...],
    form: Format | None,
    graph: str | None,
    dialect: Dialect,
    path: Path | None,
    counts: bool,
) -> None:
    """Write the store, or one of its graphs, as RDF or GraphML.

    import restores a dump of the whole store in trig, nquads or jsonld, in the dialect rdf12 or classic.
    After ms-graphrag: write parquet tables, which Microsoft GraphRAG 3 reads, into a folder.
    """
    from graphrag_rdf.exchange import export_graph

    if tables:
        _export_tables(tables, counts=counts)
        return
    if counts and path is None:
        raise UsageError(tr("--counts needs -o FILE: without it, stdout holds the export"))
    wanted = None if graph is None else iri_of(graph)
    written: Format = form_of(form, path, _FORMATS)
    with open_engine(beside=True) as engine, destination(path) as stream:
        report = export_graph(engine.store, stream, written, wanted, dialect)
        namespace = engine.settings.extract.namespace
    if told := about_default(namespace):
        note(told)
    if counts:
        output.write_json(report)
    else:
        note(_written(report, path))
    if wanted is None and written in ("turtle", "ntriples", "rdfxml"):
        note(
            tr("{form} holds one graph, here the facts; trig, nquads and jsonld hold all").format(
                form=written
            )
        )
    if wanted is not None and not (report.quads or report.entities):
        warn(tr("the graph {wanted} is empty").format(wanted=wanted.value))


def _export_tables(given: tuple[str, ...], *, counts: bool) -> None:
    """Write the tables of Microsoft GraphRAG."""
    from graphrag_rdf.exchange.ms_graphrag.export import export_tables

    if given[0] != TABLES or len(given) != 2:
        raise UsageError(
            tr("unexpected argument {given!r}").format(given=given[0]),
            hint=tr("write: graphrag-rdf export {tables} DIR, or -o FILE").format(tables=TABLES),
        )
    with open_engine(beside=True) as engine:
        report = export_tables(engine, given[1])
    if counts:
        output.write_json(report.as_json())
        return
    rows = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in report.tables.items())
    note(tr("wrote {quads} to {place}").format(quads=rows, place=given[1]))
    if report.values:
        note(
            tr("left out {values:,} facts with a value, for which the tables have no place").format(
                values=report.values
            )
        )
    if report.loops:
        note(
            tr("left out facts between names of the same entity: {loops:,} pairs").format(loops=report.loops)
        )


def _quads(number: int) -> str:
    return counted("{count:,} quad", "{count:,} quads", number)


def _written(report: ExportReport, path: Path | None) -> str:
    place = path or "stdout"
    if not report.entities:
        return tr("wrote {quads} to {place}").format(quads=_quads(report.quads), place=place)
    told = (
        tr(
            "wrote {entities:,} entities, {relations:,} relations and {values:,} values to {place}, and left "
            "out {left_out:,} facts, which GraphML cannot hold"
        )
        if report.left_out
        else tr("wrote {entities:,} entities, {relations:,} relations and {values:,} values to {place}")
    )
    return told.format(**asdict(report), place=place)


@contextlib.contextmanager
def destination(path: Path | None) -> Iterator[IO[bytes]]:
    """The stream of an export. A file appears under its name only when it is complete."""
    if path is None or str(path) == "-":
        with output.binary_output() as stream:
            yield stream
        return
    from graphrag_rdf.exchange.whole_file import whole_file

    with whole_file(path) as stream:
        yield stream


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf import dump.trig --store new-store",
        "graphrag-rdf import people.ttl places.rdf",
        "graphrag-rdf import ms-graphrag output",
        "graphrag-rdf import evalset musique.json --extraction recorded",
    ],
)
@click.argument("files", metavar="[evalset|ms-graphrag] FILE...", nargs=-1, required=True)
@click.option("--graph", metavar="IRI", help="Put the triples into this graph, unchanged.")
@click.option("--merge", is_flag=True, help="Add a dump to a store that is not empty.")
@click.option(
    "--extraction",
    metavar="LIST",
    default="rules",
    show_default=True,
    help="Extraction of an evaluation set: rules, recorded, llm, names, or several with commas (merged).",
)
@click.option("--no-titles", is_flag=True, help="Leave out the titles of an evaluation set.")
@shapes_options
@model_option
@embedding_option
@format_option()
def import_command(
    files: tuple[str, ...],
    graph: str | None,
    merge: bool,
    extraction: str,
    no_titles: bool,
    shapes: tuple[str, ...],
    validation: str | None,
    model: str | None,
    embedding_model: str | None,
    form: str,
) -> int:
    """Import RDF files or, after the word evalset, an evaluation set; after ms-graphrag, a folder of tables.

    A dump of a whole store is restored. Other RDF (.ttl .nt .nq .trig .rdf .owl .jsonld .n3) becomes facts,
    with the file as their source. The tables of Microsoft GraphRAG become documents, facts, claims and
    communities. Nothing is fetched from the network. An interrupted import continues when you run it again.
    """
    overrides: dict[str, Any] = {"llm.model": model, "embedding.model": embedding_model}
    overrides = validating(shapes, validation, overrides)
    if files[0] == "evalset" and len(files) > 1:
        if shapes or validation:
            raise UsageError(
                tr("evaluation sets are not validated"), hint=tr("leave out --shapes and --validation")
            )
        return _import_evalset(files[1:], overrides, extraction, titles=not no_titles, form=form)
    if files[0] == TABLES and len(files) == 2:
        return _import_tables(Path(files[1]), overrides, form)
    from graphrag_rdf.exchange import import_file
    from graphrag_rdf.exchange.dump import format_of

    paths = [Path(file) for file in files]
    for path in paths:  # before a store is created for them
        if not path.is_file():
            raise UsageError(tr("{path} does not exist, or is not a file").format(path=path))
        format_of(path)
    wanted = None if graph is None else iri_of(graph)
    with open_engine(overrides, create=True) as engine:
        found: list[dict[str, Any]] = []

        def take() -> None:
            for path in paths:
                report = import_file(engine, path, wanted, merge=merge)
                found.append({"file": str(path), **asdict(report)})

        ended_at_once(take, tr("run the same command again to continue"))
        imported = any(item["kind"] == "imported" for item in found)
        code = _build_communities(engine) if imported and engine.settings.communities.auto else DONE
    if not output.write(form, found[0] if len(found) == 1 else found):
        for item in found:
            counts = _quads(item["quads"])
            if item["kind"] == "restored":  # people check these, since they take effect
                counts += "".join(
                    f", {item[name]:,} {name}" for name in ("settings", "decisions", "traces") if item[name]
                )
            if item["kind"] == "imported":
                counts += ", " + counted("{count:,} fact", "{count:,} facts", item["facts"])
                new = counted("{count:,} new entity", "{count:,} new entities", item["entities"])
                counts += f", {new}"
                if item["traces"]:
                    counts += ", " + counted("{count:,} trace", "{count:,} traces", item["traces"])
            say(one_line(f"{item['file']}: {item['kind']}: {counts}"))
    if any(item["kind"] == "restored" for item in found):
        note(not_in_dumps())
    warn_of_results(sum(item["broken"] for item in found))
    return code


def not_in_dumps() -> str:
    """What a restored store lacks."""
    return tr(
        "A dump holds no blobs: original files, whole texts, prompts, queries and outputs of traces. Ingest "
        "or import of the same files restores theirs; those of traces come only from a backup of the "
        "store's folder."
    )


def _build_communities(engine: Engine) -> int:
    """What each ingest does with the setting communities.auto."""
    from graphrag_rdf.cli.progress import IngestProgress

    with stop_requests() as stop, IngestProgress(engine.budget, "reports") as progress:
        report = engine.refresh("communities", progress=progress, stop=stop)
    note(
        tr("communities: {communities:,}, reports: {written:,}").format(
            communities=report.stage.result(report), written=report.counts.done
        )
    )
    for warning in report.warnings:
        output.warn_of(warning)
    return outcome(report.stopped, failed=bool(report.failures))


def _import_evalset(
    files: tuple[str, ...], overrides: dict[str, Any], extraction: str, *, titles: bool, form: str
) -> int:
    """Ingest sets: each passage is a document of one chunk, with its index as dcterms:identifier."""
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.evaluation.corpus import ingest_corpus
    from graphrag_rdf.evaluation.evalset import load_evalset
    from graphrag_rdf.rdf.json_values import to_json

    sets = [load_evalset(Path(file)) for file in files]
    reports = []
    with open_engine(overrides, create=True) as engine, IngestProgress(engine.budget) as progress:
        for evalset in sets:
            report = ingest_corpus(engine, evalset, extraction, titles=titles, partly=True, progress=progress)
            reports.append({"name": evalset.name, **to_json(report)})
    if not output.write(form, reports[0] if len(reports) == 1 else reports):
        for item in reports:
            counts = tr("{added:,} passages, {facts:,} facts, {quads:,} quads").format(
                added=item["documents"]["added"], facts=item["facts"], quads=item["quads"]
            )
            say(one_line(f"{item['name']}: {counts}"))
    return IN_PART if any(item["failures"] or item["stopped"] for item in reports) else DONE


def _import_tables(folder: Path, overrides: dict[str, Any], form: str) -> int:
    """Import the tables of Microsoft GraphRAG."""
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.exchange.ms_graphrag.import_ import import_tables
    from graphrag_rdf.exchange.ms_graphrag.tables import find_tables

    find_tables(folder)  # before a store is created for them
    with (
        open_engine(overrides, create=True) as engine,
        stop_requests() as stop,
        IngestProgress(engine.budget) as progress,
    ):
        report = import_tables(engine, folder, progress=progress, stop=stop)
    if not output.write(form, report.as_json()):
        _show_tables(report)
    return outcome(report.stopped, failed=bool(report.validation and report.validation.rejected))


def _show_tables(report: TablesReport) -> None:
    from graphrag_rdf.cli.ingest import validated
    from graphrag_rdf.exchange.ms_graphrag.report import KEPT, REASONS

    for name, counts in report.tables.items():
        reasons = report.reasons.get(name, {})
        problems = [f"{number:,} {reason.replace('_', ' ')}" for reason, number in reasons.items()]
        rest = bracketed(", ".join(problems)) if problems else ""
        say(
            tr("{name:<18} {imported:>7,} of {rows:,}{rest}").format(
                name=name.replace("_", " "), imported=counts.imported, rows=counts.rows, rest=rest
            )
        )
    cited = report.citations
    if cited.total:
        say(
            tr(
                "{name:<18} {resolved:>7,} of {total:,} resolved, "
                "{dangling:,} dangling, {outside:,} outside of their community"
            ).format(
                name="citations",
                resolved=cited.resolved,
                total=cited.total,
                dangling=cited.dangling,
                outside=cited.outside,
            )
        )
    if report.missing:
        say(tr("no table of {names}").format(names=", ".join(report.missing)))
    say(
        tr("{facts:,} facts, {entities:,} new entities, {seconds:.1f} s").format(
            facts=report.facts, entities=report.entities, seconds=report.seconds
        )
    )
    if report.validation is not None:
        say(tr("shapes: {found}").format(found=validated(report.validation)))
    for reason in dict.fromkeys(problem.reason for problem in report.problems):
        kept = tr("imported nevertheless") if reason in KEPT else tr("omitted")
        note(f"{reason.replace('_', ' ')}: {tr(REASONS[reason])}{bracketed(kept)}")
    if report.problems:
        note(tr("--format json lists each row"))
    for warning in report.warnings:
        output.warn_of(warning)
    if report.stopped:
        warn(tr("the import was interrupted: run the same command again to continue"))
