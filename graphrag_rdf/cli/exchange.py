"""`export` and `import`: RDF out of the store and into it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import DONE, IN_PART
from graphrag_rdf.cli.options import embedding_option, model_option
from graphrag_rdf.cli.output import format_option, note, one_line, say, warn
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import UsageError

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.exchange import ExportReport, Format
    from graphrag_rdf.sparql.dialect import Dialect

_FORMATS = ("trig", "nquads", "turtle", "ntriples", "rdfxml", "graphml")


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf export -o dump.trig",
        "graphrag-rdf export --format turtle --graph urn:graph:facts > facts.ttl",
        "graphrag-rdf export --format graphml -o graph.graphml",
    ],
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="trig",
    show_default=True,
    help="trig and nquads hold all graphs, the others one.",
)
@click.option("--graph", metavar="IRI", help="Only this graph; urn:graph:facts are the facts.")
@click.option(
    "--dialect",
    type=click.Choice(("rdf12", "rdf-star", "classic")),
    default="rdf12",
    show_default=True,
    help="How triple terms are spelled.",
)
@click.option(
    "-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE", help="Write it here."
)
@click.option("--counts", is_flag=True, help="Print what was written as JSON (with -o).")
def export_command(
    form: Format, graph: str | None, dialect: Dialect, path: Path | None, counts: bool
) -> None:
    """Write the store, or one graph of it, as RDF (or GraphML).

    A dump of the whole store in trig or nquads, in the dialect rdf12 or classic, can be imported again.
    """
    from graphrag_rdf.exchange import export_graph

    if counts and path is None:
        raise UsageError("--counts needs -o FILE, since stdout holds the export itself")
    wanted = None if graph is None else _iri(graph)
    with open_engine() as engine, _destination(path) as stream:
        report = export_graph(engine.store, stream, form, wanted, dialect)
    if counts:
        output.write_json(report.as_json())
    else:
        note(_written(report, path))
    if wanted is not None and not (report.quads or report.entities):
        warn(f"nothing is in the graph {wanted.value}")


def _written(report: ExportReport, path: Path | None) -> str:
    where = f" to {path}" if path else ""
    if report.entities:
        left_out = f"; {report.left_out:,} facts have no place in GraphML" if report.left_out else ""
        return f"wrote {report.entities:,} entities and {report.relations:,} relations{where}{left_out}"
    return f"wrote {report.quads:,} quads{where}"


@contextlib.contextmanager
def _destination(path: Path | None) -> Iterator[IO[bytes]]:
    """Where an export goes; a file appears only when it is whole."""
    if path is None or str(path) == "-":
        with output.binary_output() as stream:
            yield stream
        return
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        unfinished.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf import dump.trig --store new-store",
        "graphrag-rdf import people.ttl places.rdf",
        "graphrag-rdf import evalset musique.json --extraction recorded",
    ],
)
@click.argument("files", metavar="[evalset] FILE...", nargs=-1, required=True)
@click.option("--graph", metavar="IRI", help="Put the triples into this graph, as they are.")
@click.option("--merge", is_flag=True, help="Add a dump to a store that is not empty.")
@click.option(
    "--extraction",
    metavar="LIST",
    default="rules",
    show_default=True,
    help="Of an evaluation set: rules, recorded, llm, or several with commas (merged).",
)
@click.option("--no-titles", is_flag=True, help="Of an evaluation set: hide the titles.")
@model_option
@embedding_option
@format_option()
def import_command(
    files: tuple[str, ...],
    graph: str | None,
    merge: bool,
    extraction: str,
    no_titles: bool,
    model: str | None,
    embedding_model: str | None,
    form: str,
) -> int:
    """Take RDF files into the store, or (after the word evalset) an evaluation set.

    A dump of a whole store is restored. Any other RDF (.ttl .nt .nq .trig .rdf .owl .jsonld .n3) is taken in
    as facts with a provenance of their own. Nothing is fetched from the network. Run an import that was
    interrupted again: it finishes.
    """
    overrides = {"llm.model": model, "embedding.model": embedding_model}
    if files[0] == "evalset" and len(files) > 1:
        return _import_evalset(files[1:], overrides, extraction, titles=not no_titles, form=form)
    from graphrag_rdf.cli.signals import ended_at_once
    from graphrag_rdf.exchange import import_file
    from graphrag_rdf.exchange.formats import format_of

    paths = [Path(file) for file in files]
    for path in paths:  # before a store is made for them
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
        format_of(path)
    wanted = None if graph is None else _iri(graph)
    with open_engine(overrides, create=True) as engine:
        found: list[dict[str, Any]] = []

        def take() -> None:
            for path in paths:
                report = import_file(engine, path, wanted, merge=merge)
                found.append({"file": str(path), **report.as_json()})

        ended_at_once(take, "run the same command again: it finishes")
    if form == "json":
        output.write_json(found[0] if len(found) == 1 else found)
    else:
        for item in found:
            counts = f"{item['quads']:,} quads"
            if item["kind"] == "restored":  # whose word is taken for them
                counts += "".join(
                    f", {item[name]:,} {name}" for name in ("settings", "decisions", "traces") if item[name]
                )
            if item["kind"] == "imported":
                counts += f", {item['facts']:,} facts, {item['entities']:,} new entities"
            say(one_line(f"{item['file']}: {item['kind']}: {counts}"))
    return DONE


def _import_evalset(
    files: tuple[str, ...], overrides: dict[str, Any], extraction: str, *, titles: bool, form: str
) -> int:
    """Each passage is one document of one chunk, with its index as dcterms:identifier."""
    from graphrag_rdf.cli.progress import IngestProgress
    from graphrag_rdf.evaluation.corpus import ingest_corpus
    from graphrag_rdf.evaluation.evalset import load_evalset

    sets = [load_evalset(Path(file)) for file in files]
    reports = []
    with open_engine(overrides, create=True) as engine, IngestProgress(engine.budget) as progress:
        for evalset in sets:
            report = ingest_corpus(engine, evalset, extraction, titles=titles, partly=True, progress=progress)
            reports.append({"name": evalset.name, **report.as_json()})
    if form == "json":
        output.write_json(reports[0] if len(reports) == 1 else reports)
    else:
        for item in reports:
            counts = (
                f"{item['documents']['added']:,} passages, {item['facts']:,} facts, {item['quads']:,} quads"
            )
            say(one_line(f"{item['name']}: {counts}"))
    return IN_PART if any(item["failures"] or item["stopped"] for item in reports) else DONE


def _iri(text: str) -> NamedNode:
    from pyoxigraph import NamedNode

    try:
        return NamedNode(text.strip().strip("<>"))
    except ValueError as error:
        raise UsageError(f"{text!r} is not an IRI: {error}") from error
