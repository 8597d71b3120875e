"""`export` and `import` of RDF."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

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
from graphrag_rdf.cli.process import DONE, ended_at_once, outcome, stop_requests
from graphrag_rdf.cli.session import about_default, open_engine, validating
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import counted, tr
from graphrag_rdf.wing import all_of, load

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.exchange import ExportReport, Format
    from graphrag_rdf.sparql.render import Dialect

_FORMATS = ("trig", "nquads", "turtle", "ntriples", "rdfxml", "jsonld", "graphml")


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf export -o dump.trig",
        "graphrag-rdf export --format turtle --graph urn:graph:facts > facts.ttl",
        "graphrag-rdf export -o graph.graphml",
        "graphrag-rdf export ms-graphrag output",
        "graphrag-rdf export --shards 8 -o shards",
    ],
)
@click.argument("words", metavar="[ms-graphrag DIR]", nargs=-1)
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
@click.option(
    "--shards",
    type=click.IntRange(1, 9999),
    metavar="N",
    help="Write N gzipped N-Quads files and a manifest into the folder of -o, for an engine's bulk loader.",
)
@click.option("--counts", is_flag=True, help="Print the numbers of quads or rows as JSON (with -o or DIR).")
def export_command(
    words: tuple[str, ...],
    form: Format | None,
    graph: str | None,
    dialect: Dialect,
    path: Path | None,
    shards: int | None,
    counts: bool,
) -> None:
    """Write the store, or one of its graphs, as RDF or GraphML.

    import restores a dump of the whole store in trig, nquads or jsonld, in the dialect rdf12 or classic.
    After ms-graphrag: write parquet tables, which Microsoft GraphRAG 3 reads, into a folder.
    """
    from graphrag_rdf.exchange import export_graph

    if words:
        _export_by_wing(words, counts=counts)
        return
    if counts and path is None:
        raise UsageError(tr("--counts needs -o FILE: without it, stdout holds the export"))
    if shards is not None:
        if path is None or graph or form not in (None, "nquads"):
            raise UsageError(tr("--shards needs -o DIR, and writes the whole store as nquads"))
        with open_engine(beside=True) as engine:
            write_shards(engine, path, shards, dialect, counts=counts)
        return
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


def write_shards(engine: Engine, folder: Path, number: int, dialect: Dialect, *, counts: bool) -> None:
    """Write a store in shards, and report it."""
    from graphrag_rdf.exchange import export_shards

    manifest = export_shards(engine.store, folder, number, dialect)
    if counts:
        output.write_json(manifest.model_dump())
        return
    files = counted("{count:,} shard", "{count:,} shards", number)
    place = tr("{files} in {folder}").format(files=files, folder=folder)
    note(tr("wrote {quads} to {place}").format(quads=_quads(manifest.quads), place=place))
    note(
        tr("load them with the engine's bulk loader, then: graphrag-rdf adopt URL {folder}").format(
            folder=folder
        )
    )


def _export_by_wing(words: tuple[str, ...], *, counts: bool) -> None:
    """Write what a wing exports, which the first word names, into a folder."""
    brought: dict[str, str] = all_of(lambda wing: wing.exports)
    if words[0] not in brought or len(words) != 2:
        raise UsageError(
            tr("unexpected argument {given!r}").format(given=words[0]),
            hint=tr("write: graphrag-rdf export {tables} DIR, or -o FILE").format(tables=" | ".join(brought)),
        )
    load(brought[words[0]])(words[1], counts=counts)


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
    brought: dict[str, str] = all_of(lambda wing: wing.imports)
    if files[0] in brought and len(files) > 1:
        options = {"extraction": extraction, "titles": not no_titles, "validated": bool(shapes or validation)}
        return cast("int", load(brought[files[0]])(files[1:], overrides, form, options))
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
        code = _run_stages(engine) if imported else DONE
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


def _run_stages(engine: Engine) -> int:
    """Run the stages of each ingest that read the whole graph, such as communities."""
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.ingest.stages import model_stages

    code = DONE
    for kind in model_stages():
        if kind.of_documents or not kind.is_wanted(engine.settings):
            continue
        with stop_requests() as stop, IngestProgress(engine.budget, kind.tasks) as progress:
            report = engine.refresh(kind.stage.name, progress=progress, stop=stop)
        name, made = kind.row(kind.result(report))
        note(f"{name}: {made}, {tr(kind.tasks)}: {report.counts.done:,}")
        for warning in report.warnings:
            output.warn_of(warning)
        code = code or outcome(report.stopped, failed=bool(report.failures))
    return code
