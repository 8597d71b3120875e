"""Import: a dump of a store is restored, and other RDF becomes facts with provenance.

A file is read to its end before anything is written, so a malformed file changes nothing. Nothing is fetched
from the network, not even `owl:imports`, JSON-LD contexts or external entities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.foreign import take_facts
from graphrag_rdf.exchange.formats import format_of
from graphrag_rdf.exchange.restore import DumpSummary, restore
from graphrag_rdf.rdf.namespaces import RDF, Graphs
from graphrag_rdf.rdf.xml_entities import check_entities
from graphrag_rdf.store.base import Changes

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_MOST_ENTITIES = 64 << 20
"""Limit of the expanded entities of a smaller file, in bytes."""
_DEEP = re.compile(rb"(?:\)>>(?:\s|#[^\n\r]*+)*+){501}")
"""Too many nested triple terms."""
_OURS = frozenset({Graphs.FACTS, Graphs.SOURCE, Graphs.RETRIEVAL, Graphs.DERIVED, Graphs.SYSTEM})


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    Attributes:
        kind: restored (a dump of a store), imported (other RDF), loaded (into a named graph), unchanged (the
            same file was imported before).
        quads: number in the file.
        facts, entities: new ones, when imported.
        settings, decisions, traces: when restored.
    """

    kind: Literal["restored", "imported", "loaded", "unchanged"]
    quads: int
    facts: int = 0
    entities: int = 0
    settings: int = 0
    decisions: int = 0
    traces: int = 0


def import_file(
    engine: Engine, path: str | Path, graph: NamedNode | None = None, *, merge: bool = False
) -> ImportReport:
    """Import an RDF file, and update the indexes.

    - With `graph`, its triples are added to that named graph, unchanged.
    - A dump of a whole store (it has a graph `urn:graph:source`) is restored, into an empty store or, with
      `merge`, in addition to the store's own data.
    - Other RDF becomes facts: see `exchange.foreign`.

    Raises:
        UsageError: when the file is missing, of an unknown format, malformed (with the line), a dump that
        does
            not fit the store, or `graph` is one of the program's own.
        StoreError: when the store cannot be written.
    """
    file = Path(path)
    form = format_of(file)
    if not file.is_file():
        raise UsageError(f"{file} does not exist, or is not a file")
    _check_bombs(file, form)
    if graph is not None:
        return _load_into(engine, file, form, graph)
    summary = _look(file, form)
    if summary.is_dump:
        with _parsing(file):
            settings = restore(engine, file, read_quads(file, form), summary, merge=merge)
        return ImportReport(
            "restored",
            summary.quads,
            settings=settings,
            decisions=summary.decisions,
            traces=summary.traces,
        )
    with _parsing(file):
        taken = take_facts(engine, file, read_quads(file, form))
    if taken is None:
        return ImportReport("unchanged", summary.quads)
    return ImportReport("imported", summary.quads, taken.facts, taken.entities)


def _check_bombs(file: Path, form: RdfFormat) -> None:
    """Refuse a file with entities that expand too much, or terms too deep for the parser.

    Raises:
        UsageError: also when the file cannot be read.
    """
    from mmap import ACCESS_READ, mmap

    with _parsing(file), file.open("rb") as opened:
        size = file.stat().st_size
        if size == 0:
            return
        with mmap(opened.fileno(), 0, access=ACCESS_READ) as xml:
            if form != RdfFormat.RDF_XML and _DEEP.search(xml):
                raise UsageError(f"{file}: triple terms are nested too deeply", hint="nothing was imported")
            try:
                if form == RdfFormat.RDF_XML:
                    check_entities(xml, max(size, _MOST_ENTITIES))
            except UsageError as error:
                raise UsageError(f"{file}: {error.message}", hint="nothing was imported") from error


def _load_into(engine: Engine, file: Path, form: RdfFormat, graph: NamedNode) -> ImportReport:
    if graph in _OURS:
        raise UsageError(
            f"the graph {graph.value} is one of the program's own",
            hint="name another graph, or leave out --graph to import facts",
        )
    with _parsing(file):
        quads = [Quad(q.subject, q.predicate, q.object, graph) for q in read_quads(file, form)]
    engine.store.commit(Changes(add=quads, content=False))
    return ImportReport("loaded", len(quads))


def read_quads(file: Path, form: RdfFormat) -> Iterator[Quad]:
    """The quads of a file; relative IRIs are resolved against the file's own."""
    return iter(parse(path=str(file), format=form, base_iri=file.resolve().as_uri()))


def _look(file: Path, form: RdfFormat) -> DumpSummary:
    """Parse the whole file, and summarise it if it is a dump."""
    summary = DumpSummary()
    with _parsing(file):
        for quad in read_quads(file, form):
            summary.quads += 1
            if quad.graph_name == Graphs.SOURCE:
                summary.is_dump = True
                summary.star |= quad.predicate == RDF.reifies and isinstance(quad.subject, BlankNode)
            summary.note(quad)
    return summary


@contextmanager
def _parsing(file: Path) -> Iterator[None]:
    try:
        yield
    except SyntaxError as error:
        line = error.lineno or _line_of_xml_error(file)
        where = f"{file}, line {line}" if line else str(file)
        raise UsageError(f"{where}: {error.msg}", hint="nothing was imported") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8: {error}", hint="nothing was imported") from error
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error}") from error


def _line_of_xml_error(file: Path) -> int | None:
    """The line of an XML error, which the engine's parser does not report; None for other formats."""
    from xml.parsers.expat import ExpatError, ParserCreate

    if format_of(file) != RdfFormat.RDF_XML:
        return None
    try:
        with file.open("rb") as opened:
            ParserCreate().ParseFile(opened)
    except ExpatError as error:
        return error.lineno
    return None
