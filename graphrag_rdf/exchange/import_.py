"""Import: a dump of a store is restored, and other RDF becomes facts with provenance.

A file is read to its end before anything is written, so a malformed file changes nothing. Nothing is fetched
from the network, not even `owl:imports`, JSON-LD contexts or external entities.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Literal as Choice

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.dump import BY_SUFFIX, format_of
from graphrag_rdf.exchange.foreign import take_facts
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.gate import Gate
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.formats import check_entities
from graphrag_rdf.rdf.namespaces import ENDPOINT_NODE, RAG, RDF, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql.complaints import declaration
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.migrations import MIGRATIONS, migrate

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
        settings, decisions: when restored.
        traces: when restored or imported.
        broken: results of a validation with SHACL shapes.
    """

    kind: Choice["restored", "imported", "loaded", "unchanged"]
    quads: int
    facts: int = 0
    entities: int = 0
    settings: int = 0
    decisions: int = 0
    traces: int = 0
    broken: int = 0


def import_file(
    engine: Engine, path: str | Path, graph: NamedNode | None = None, *, merge: bool = False
) -> ImportReport:
    """Import an RDF file, and update the indexes.

    - With `graph`, its triples are added to that named graph, unchanged.
    - A dump of a whole store (it has a graph `urn:graph:source`) is restored, into an empty store or, with
      `merge`, in addition to the store's own data.
    - Other RDF becomes facts: see `exchange.foreign`. Traces and provenance of TrustGraph stay what they are.

    Raises:
        UsageError: when the file is missing, of an unknown format, malformed (with the line), a dump that
        does
            not fit the store, or `graph` is one of the program's own.
        StoreError: when the store cannot be written.
    """
    file = Path(path)
    form = format_of(file)
    if not file.is_file():
        raise UsageError(tr("{path} does not exist, or is not a file").format(path=file))
    require_harmless(file, form)
    if graph is not None:
        return _load_into(engine, file, form, graph)
    summary = _look(file, form)
    if summary.is_dump:
        with parsing(file):
            settings, broken = restore(engine, file, lambda: read_quads(file, form), summary, merge=merge)
        return ImportReport(
            "restored",
            summary.quads,
            settings=settings,
            decisions=summary.decisions,
            traces=summary.traces,
            broken=broken,
        )
    with parsing(file):
        source = NamedNode(file.resolve().as_uri())
        quads = read_quads(file, form)
        taken = take_facts(engine, file.read_bytes(), quads, name=file.name, source=source)
    if taken is None:
        return ImportReport("unchanged", summary.quads)
    return ImportReport(
        "imported", summary.quads, taken.facts, taken.entities, traces=taken.traces, broken=taken.broken
    )


def require_harmless(file: Path, form: RdfFormat) -> None:
    """Refuse a file with entities that expand too much, or terms too deep for the parser.

    Raises:
        UsageError: also when the file cannot be read.
    """
    from mmap import ACCESS_READ, mmap

    with parsing(file), file.open("rb") as opened:
        size = file.stat().st_size
        if size == 0:
            return
        with mmap(opened.fileno(), 0, access=ACCESS_READ) as xml:
            if form != RdfFormat.RDF_XML and _DEEP.search(xml):
                raise UsageError(
                    tr("{file}: triple terms are nested too deeply").format(file=file),
                    hint=tr("nothing was imported"),
                )
            try:
                if form == RdfFormat.RDF_XML:
                    check_entities(xml, max(size, _MOST_ENTITIES))
            except UsageError as error:
                raise UsageError(f"{file}: {error.message}", hint=tr("nothing was imported")) from error


def _load_into(engine: Engine, file: Path, form: RdfFormat, graph: NamedNode) -> ImportReport:
    if graph in _OURS:
        raise UsageError(
            tr("the graph {graph} is one of the program's own").format(graph=graph.value),
            hint=tr("name another graph, or leave out --graph to import facts"),
        )
    with parsing(file):
        quads = [Quad(q.subject, q.predicate, q.object, graph) for q in read_quads(file, form)]
    passed = Gate(engine).quads(quads, stage="import")
    engine.store.commit(Changes(add=quads, content=False))
    passed.keep()
    return ImportReport("loaded", len(quads), broken=len(passed.results))


def read_quads(file: Path, form: RdfFormat) -> Iterator[Quad]:
    """The quads of a file; relative IRIs are resolved against the file's own."""
    return iter(parse(path=str(file), format=form, base_iri=file.resolve().as_uri()))


def _look(file: Path, form: RdfFormat) -> DumpSummary:
    """Parse the whole file, and summarise it if it is a dump."""
    summary = DumpSummary()
    with parsing(file):
        for quad in read_quads(file, form):
            summary.quads += 1
            if quad.graph_name == Graphs.SOURCE:
                summary.has_sources = True
                summary.star |= quad.predicate == RDF.reifies and isinstance(quad.subject, BlankNode)
            summary.note(quad)
    return summary


@contextmanager
def parsing(file: Path) -> Iterator[None]:
    """Raise a UsageError with the line for what is malformed in a file."""
    try:
        yield
    except SyntaxError as error:
        line = error.lineno or _line_of_xml_error(file)
        where = tr("{file}, line {line}").format(file=file, line=line) if line else str(file)
        hint = declaration(error) or tr("nothing was imported")
        raise UsageError(f"{where}: {error.msg}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            tr("{file}: not UTF-8: {error}").format(file=file, error=error), hint=tr("nothing was imported")
        ) from error
    except OSError as error:
        raise UsageError(tr("cannot read {path}: {cause}").format(path=file, cause=error)) from error


def _line_of_xml_error(file: Path) -> int | None:
    """The line of an XML error, which the engine's parser does not report; None for other formats."""
    from xml.parsers.expat import ExpatError, ParserCreate

    if BY_SUFFIX.get(file.suffix.lower()) != RdfFormat.RDF_XML:
        return None
    try:
        with file.open("rb") as opened:
            ParserCreate().ParseFile(opened)
    except ExpatError as error:
        return error.lineno
    return None


# --- restoring of dumps --------------------------------------------------------------------------------


@cache
def _classes_of_decisions() -> frozenset[NamedNode]:
    from graphrag_rdf.ingest.decisions import all_kinds

    return frozenset(kind.types[0] for kind in all_kinds())


_OWN = ("urn:graphrag-rdf:migration:", iris.setting("").value)
"""Beginnings of IRIs that describe the state of a store, like its own node."""
_RESTORE, _MERGE = "urn:graphrag-rdf:restore:", "urn:graphrag-rdf:merge:"
_NOTES = 1000
_COMMITS = frozenset({RAG.commit, RAG.contentCommit})


@dataclass(slots=True)
class DumpSummary:
    """The summary of a file.

    Attributes:
        has_sources, is_ours: it has the graph of sources, and terms of this program.
        star: its triple terms are in RDF-star syntax, which has another meaning in RDF 1.2.
        classic: its triple terms are RDF 1.1 statements.
        store_version: version of the store that was dumped.
        versions: (document, current version).
        settings, decisions, traces: their numbers.
    """

    quads: int = 0
    has_sources: bool = False
    is_ours: bool = False
    star: bool = False
    classic: bool = False
    store_version: int = 0
    versions: set[tuple[str, str]] = field(default_factory=set)
    settings: int = 0
    decisions: int = 0
    traces: int = 0

    @property
    def is_dump(self) -> bool:
        """Whether it is a dump of a whole store; TrustGraph has the graph of sources, too."""
        return self.has_sources and self.is_ours

    def note(self, quad: Quad) -> None:
        """Add a quad to the summary."""
        self.is_ours = self.is_ours or quad.predicate in RAG
        if quad.predicate == RAG.currentVersion:
            self.versions.add((text_of(quad.subject), text_of(quad.object)))
        elif quad.predicate == RAG.storeVersion and isinstance(quad.object, Literal):
            self.store_version = max(self.store_version, int(quad.object.value))
        elif quad.graph_name == Graphs.SYSTEM and quad.predicate == RAG.setting:
            self.settings += quad.subject == STORE_NODE
        elif quad.graph_name == Graphs.SYSTEM and quad.predicate == RDF.type:
            self.decisions += quad.object in _classes_of_decisions()
        elif quad.graph_name == Graphs.RETRIEVAL and quad.predicate == RDF.type:
            self.traces += quad.object == RAG.Session
        elif quad.predicate == RDF.subject and text_of(quad.subject).startswith(iris.STATEMENT):
            self.classic = True


def restore(
    engine: Engine, file: Path, read: Callable[[], Iterable[Quad]], summary: DumpSummary, *, merge: bool
) -> tuple[int, int]:
    """Write a dump into the store and rebuild the indexes.

    Everything in a dump is restored except commit numbers. In an empty store, the version, migrations and
    settings of the dump replace those of the store. With `merge`, those of the store stay. Decisions and
    traces of a dump take effect, so the report counts them.

    A dump is not written in one transaction. The store records the restore until it ends, and after a kill,
    the same import finishes it. Two stores with different versions of a document cannot be merged, because
    their chunks would contradict each other.

    Args:
        read: gives the quads of the dump, and may be called again.

    Returns:
        the number of settings of the dump that take effect, and of results of SHACL shapes.

    Raises:
        BrokenShapesError: the dump breaks SHACL shapes, see `ingest.gate`; then nothing is restored.
        UsageError: when the store is not empty and `merge` is not set, both have different versions of a
            document, or the dump is from a newer version or in RDF-star syntax.
    """
    if summary.star:
        raise UsageError(
            tr("{file} is in the dialect rdf-star, which cannot be restored").format(file=file),
            hint=tr("export it again with --dialect rdf12"),
        )
    if summary.store_version > len(MIGRATIONS):
        raise UsageError(
            tr(
                "{file} is from a store of version {store_version}, and this program supports "
                "versions up to {count}"
            ).format(file=file, store_version=summary.store_version, count=len(MIGRATIONS)),
            hint=tr("upgrade graphrag-rdf"),
        )
    store = engine.store
    dump = _hash_of(file)
    begun = [row["focus"] for row in store.select("checks/restores-finished", limit=_NOTES)]
    occupied = store.ask("exchange/holds-data") and _RESTORE + dump not in begun
    if occupied and not merge:
        raise UsageError(
            tr("{file} is a dump of a whole store, and this store is not empty").format(file=file),
            hint=tr("import it into a new store with --store DIR, or add it to this one with --merge"),
        )
    if occupied:
        _refuse_other_versions(engine, file, summary)

    def quads() -> Iterable[Quad]:
        return decode(read()) if summary.classic else read()

    passed = Gate(engine).dump(_kept(quads(), set(), with_system=not occupied), merge=occupied)
    node = NamedNode((_MERGE if occupied else _RESTORE) + dump)
    note = Quad(node, RDF.type, RAG.Restore, Graphs.SYSTEM)
    store.commit(Changes(add=[note]))
    store.sync()  # otherwise the bulk load could reach the disk before this commit
    own = [] if occupied else _self_description(engine)
    told: set[Quad] = set()
    store.bulk_add(_kept(quads(), told, with_system=not occupied))
    store.commit(Changes(remove=[quad for quad in own if quad not in told]))
    migrate(store)
    if occupied:
        _settle(engine)
    store.commit(Changes(remove=[note]))
    passed.keep()
    store.optimize()
    engine.indexer.catch_up()
    return 0 if occupied else summary.settings, len(passed.results)


def _hash_of(file: Path) -> str:
    with file.open("rb") as dump:
        return hashlib.file_digest(dump, "sha256").hexdigest()


def _refuse_other_versions(engine: Engine, file: Path, summary: DumpSummary) -> None:
    rows = engine.store.select("exchange/versions")
    here = {(row["document"], row["version"]) for row in rows}
    documents = {document for document, _ in here}
    other = sorted({document for document, _ in summary.versions - here if document in documents})
    if other:
        listed = ", ".join(other[:5] if len(other) <= 5 else [*other[:5], "…"])
        raise UsageError(
            tr("{file} and the store have different versions of the same documents: {listed}").format(
                file=file, listed=listed
            ),
            hint=tr("forget these documents in the store, or import the dump into another store"),
        )


def _self_description(engine: Engine) -> list[Quad]:
    """The version, migrations and settings of the store."""
    rows = engine.store.select("exchange/self-description")
    told = [Quad(row["s"], row["p"], row["o"], Graphs.SYSTEM) for row in rows]
    return [quad for quad in told if quad.subject == STORE_NODE or text_of(quad.subject).startswith(_OWN)]


def _kept(quads: Iterable[Quad], told: set[Quad], *, with_system: bool) -> Iterator[Quad]:
    """The quads to restore; those of the system graph are added to `told`."""
    for quad in quads:
        graph = quad.graph_name
        if graph == Graphs.SYSTEM:
            if quad.subject == ENDPOINT_NODE or quad.object == RAG.Restore:  # of the former store
                continue
            about_store = quad.subject == STORE_NODE
            if (about_store and quad.predicate in _COMMITS) or (about_store and not with_system):
                continue
            if not with_system and text_of(quad.subject).startswith(_OWN):
                continue
            told.add(quad)
        yield Quad(quad.subject, quad.predicate, quad.object) if graph == Graphs.FACTS else quad


def _settle(engine: Engine) -> None:
    """Choose one label for each thing with two labels, after a merge."""
    from graphrag_rdf.ingest.entity_decisions import settle
    from graphrag_rdf.ingest.names import unsettled

    things = [row["thing"] for row in engine.store.select("exchange/doubly-labelled")]
    marked = [thing for thing in things if isinstance(thing, NamedNode)]
    if marked:
        engine.store.commit(Changes(add=list(unsettled(marked))))
    settle(engine.store)
