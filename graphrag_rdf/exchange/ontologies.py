"""Ontologies: loaded into `urn:graph:ontology` with their imports, and kept by version.

Each version has a graph of its own, `urn:graph:ontology:` and the beginning of the SHA-256 of its file. The
triples of the active version of each ontology are also in `urn:graph:ontology`, where tools find them.
Besides RDF, the syntaxes of wings are read: OWL/XML, functional-style syntax. Imports (OWL 2 §3.4) are
resolved by the XML catalogue beside the file, as in Protégé; nothing is fetched from the network.

A file that declares no ontology has the IRI of its SKOS concept scheme, if it has exactly one, else a `urn:`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeGuard
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, Triple
from pyoxigraph import Literal as RdfLiteral

from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange.dump import format_of
from graphrag_rdf.exchange.import_ import parsing, read_quads, require_harmless
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.decisions import person_quads
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.formats import check_entities
from graphrag_rdf.rdf.namespaces import DCTERMS, OWL, PROV, RAG, RDF, SKOS, XSD, Graphs
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.schema.observed import observe
from graphrag_rdf.schema.reasoning import Profile
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.wing import load, wings

CATALOG = "catalog-v001.xml"
_NAME = "{urn:oasis:names:tc:entity:xmlns:xml:catalog}uri"
_PREFIX = "urn:graph:ontology:"


@dataclass(frozen=True, slots=True)
class OntologyVersion:
    """A version of an ontology in the store.

    Attributes:
        graph: holds its triples.
        file: name of the file.
        loaded: when.
        version: its owl:versionIRI.
        active: whether its triples are in `urn:graph:ontology`.
    """

    ontology: str
    graph: str
    file: str
    loaded: str
    version: str | None
    active: bool


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What `load_ontologies` did.

    Attributes:
        loaded: IRI → number of triples.
        unchanged: IRIs of ontologies whose active version is this one.
        missing: imported IRIs that no file provides.
    """

    loaded: dict[str, int] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OntologyFile:
    """A file that was read: its ontology, triples and imports."""

    path: Path
    ontology: NamedNode
    version: NamedNode | None
    graph: NamedNode
    triples: tuple[Triple, ...]
    imports: tuple[str, ...]

    @property
    def names(self) -> set[str]:
        """The IRIs by which others may import it."""
        return {self.ontology.value, *([self.version.value] if self.version else [])}


def load_ontologies(
    store: Store,
    paths: Iterable[str | Path],
    namespace: str,
    now: datetime,
    by: str | None = None,
    keep: Profile | None = None,
) -> LoadReport:
    """Load files, and the files that they import. A malformed file changes nothing.

    Args:
        namespace: of extraction, see `schema.observed`.
        keep: as there.
        now: recorded with each version.
        by: name of the person who edited them, if known.

    Raises:
        UsageError: a file is missing, malformed, has triple terms or several ontologies.
    """
    files, missing = read_ontologies([Path(path) for path in paths])
    report = keep_ontologies(store, files, namespace, now, by, keep)
    report.missing.extend(missing)
    return report


def keep_ontologies(
    store: Store,
    files: Iterable[OntologyFile],
    namespace: str,
    now: datetime,
    by: str | None = None,
    keep: Profile | None = None,
) -> LoadReport:
    """Load files that were read. The arguments are those of `load_ontologies`."""
    report = LoadReport()
    versions = {each.graph: each for each in ontology_versions(store)}
    for file in files:
        known = versions.get(file.graph.value)
        for former in _former_names(file, versions.values()):
            remove_ontology(store, former, namespace, keep)
            known = None
        if known is not None and known.active:
            report.unchanged.append(file.ontology.value)
            continue
        if known is None:
            store.commit(Changes(add=list(_description(file, now, by)), content=False))
        named = {"ontology": file.ontology}
        store.commit(
            Changes(
                updates=[
                    ("ontology/deactivate", named),
                    ("ontology/activate", {**named, "version": file.graph}),
                    ("ontology/mark-linked", {}),
                ],
                content=False,
            )
        )
        report.loaded[file.ontology.value] = len(file.triples)
    if report.loaded:
        observe(store, namespace, keep)  # its declarations may be among those that were taken away
    return report


def ontology_versions(store: Store) -> list[OntologyVersion]:
    """The versions in the store, by ontology, the newest first."""
    return [
        OntologyVersion(
            row["ontology"].value,
            row["graph"].value,
            row["file"],
            row["loaded"],
            row["version"],
            row["active"],
        )
        for row in store.select("ontology/versions")
    ]


def remove_ontology(store: Store, ontology: str, namespace: str, keep: Profile | None = None) -> int:
    """Remove an ontology with all its versions.

    Args:
        namespace: of extraction, see `schema.observed`.
        keep: as there.

    Returns:
        the number of versions.

    Raises:
        UsageError: there is no such ontology.
    """
    known = [each for each in ontology_versions(store) if each.ontology == ontology]
    if not known:
        raise UsageError(
            tr("no ontology {ontology} is loaded").format(ontology=ontology),
            hint=tr("graphrag-rdf ontology list shows their IRIs"),
        )
    named = {"ontology": NamedNode(ontology)}
    updates = [("ontology/deactivate", named), ("ontology/drop", named), ("ontology/mark-linked", {})]
    store.commit(Changes(updates=updates, content=False))
    observe(store, namespace, keep)
    return len(known)


def _former_names(file: OntologyFile, versions: Iterable[OntologyVersion]) -> set[str]:
    """The other IRIs of a file in the store: it was moved, or an earlier program named it by its place."""
    place = file.path.resolve().as_uri()
    named = {each.ontology for each in versions if each.graph == file.graph.value or each.ontology == place}
    return named - {file.ontology.value}


# --- reading ------------------------------------------------------------------------------------------


def read_ontologies(paths: list[Path]) -> tuple[list[OntologyFile], list[str]]:
    """Files with all that they import, and the imports that no file provides.

    Raises:
        UsageError: see `load_ontologies`.
    """
    files: list[OntologyFile] = []
    waiting, seen, wanted = list(paths), set[Path](), dict[str, None]()
    while waiting:
        path = waiting.pop(0)
        if path.resolve() in seen:
            continue
        seen.add(path.resolve())
        file = _read(path)
        files.append(file)
        catalog = _catalog(path.parent / CATALOG) if file.imports else {}
        wanted |= dict.fromkeys(file.imports)
        waiting += [catalog[iri] for iri in file.imports if iri in catalog]
    names = set[str]().union(*(file.names for file in files)) if files else set()
    catalogued = {iri for path in seen for iri in _catalog(path.parent / CATALOG)}
    return files, [iri for iri in wanted if iri not in names and iri not in catalogued]


def as_ontology(name: NamedNode, triples: Sequence[Triple], file: OntologyFile) -> OntologyFile:
    """A part of a file as an ontology of its own, without imports."""
    whole = (Triple(name, *_ONTOLOGY), *triples)
    digest = hashlib.sha256("\n".join(sorted(map(str, whole))).encode()).hexdigest()
    return OntologyFile(file.path, name, None, NamedNode(_PREFIX + digest[:32]), whole, ())


def _read(path: Path) -> OntologyFile:
    if not path.is_file():
        raise UsageError(tr("{path} does not exist, or is not a file").format(path=path))
    with parsing(path):
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        triples = tuple(_renamed(triple, digest) for triple in _triples(path, data))
    if any(isinstance(triple.object, Triple) for triple in triples):
        raise UsageError(
            tr("{path} has triple terms, which OWL lacks").format(path=path),
            hint=tr("import it with: graphrag-rdf import FILE"),
        )
    declared = list(dict.fromkeys(t.subject for t in triples if (t.predicate, t.object) == _ONTOLOGY))
    if len(declared) > 1:
        listed = ", ".join(text_of(each) for each in declared)
        raise UsageError(
            tr("{path} declares several ontologies: {listed}").format(path=path, listed=listed),
            hint=tr("load each from a file of its own"),
        )
    named = next(filter(_is_named, declared), None) or _scheme(triples) or iris.unnamed_ontology(path)
    about = [t for t in triples if declared and t.subject == declared[0]]
    versions = [node_of(t.object) for t in about if t.predicate == OWL.versionIRI]
    imports = tuple(text_of(t.object) for t in about if t.predicate == OWL.imports)
    graph = NamedNode(_PREFIX + digest[:32])
    return OntologyFile(path, named, versions[0] if versions else None, graph, triples, imports)


def _scheme(triples: Iterable[Triple]) -> NamedNode | None:
    """The SKOS concept scheme of a vocabulary, if it has exactly one."""
    found = {t.subject for t in triples if (t.predicate, t.object) == (RDF.type, SKOS.ConceptScheme)}
    return next(filter(_is_named, found)) if len(found) == 1 and all(map(_is_named, found)) else None


def _triples(path: Path, data: bytes) -> Iterable[Triple]:
    """The triples of a file: syntaxes of wings by its beginning, RDF by its suffix."""
    try:
        for place in (place for wing in wings() for place in wing.syntaxes):
            triples: Iterable[Triple] | None = load(place)(data)
            if triples is not None:
                return triples
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=tr("nothing was imported")) from error
    if path.suffix.lower() in _OWL_ONLY:
        raise UsageError(
            tr("{path} is neither OWL/XML nor in functional-style syntax").format(path=path),
            hint=tr("save it as Turtle; in Protégé: File > Save as"),
        )
    form = format_of(path)
    if form == RdfFormat.RDF_XML and _TURTLE.match(data):
        form = RdfFormat.TURTLE
    require_harmless(path, form)
    return (quad.triple for quad in read_quads(path, form))


_OWL_ONLY = frozenset({".owx", ".ofn", ".omn", ".obo"})
"""Suffixes of syntaxes that are not RDF."""
_TURTLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*+(?:@prefix|@base|prefix|base)\s", re.IGNORECASE)
"""Protégé writes Turtle into files called `.owl`, too."""
_ONTOLOGY = (RDF.type, OWL.Ontology)


def _renamed(triple: Triple, digest: str) -> Triple:
    """A triple whose blank nodes cannot be those of another file."""
    subject, value = triple.subject, triple.object
    if isinstance(subject, BlankNode):
        subject = BlankNode(f"o{digest[:16]}{subject.value}")
    if isinstance(value, BlankNode):
        value = BlankNode(f"o{digest[:16]}{value.value}")
    return Triple(subject, triple.predicate, value)


def _in_graph(triple: Triple, graph: NamedNode) -> Quad:
    return Quad(triple.subject, triple.predicate, triple.object, graph)


def _catalog(path: Path) -> dict[str, Path]:
    """IRI → existing file, of an OASIS XML catalogue; empty if there is none.

    Raises:
        UsageError: it is malformed.
    """
    if not path.is_file():
        return {}
    try:
        data = path.read_bytes()
        check_entities(data, len(data))
        entries = ElementTree.fromstring(data).iter(_NAME)  # noqa: S314 - its entities were checked
    except (OSError, ElementTree.ParseError) as error:
        raise UsageError(
            tr("cannot read the catalogue {path}: {error}").format(path=path, error=error)
        ) from error
    found = {entry.get("name", ""): _named_file(path, entry.get("uri", "")) for entry in entries}
    return {iri: file for iri, file in found.items() if iri and file.is_file()}


def _named_file(catalog: Path, uri: str) -> Path:
    """The file of a URI reference (RFC 3986) in a catalogue: `my%20ships.ttl`, `file:/home/o.ttl`."""
    parts = urlsplit(uri)
    beside = catalog.parent / unquote(uri if parts.scheme != "file" else parts.path)
    return beside if beside.is_file() else catalog.parent / uri


def _description(file: OntologyFile, now: datetime, by: str | None) -> Iterable[Quad]:
    """The triples of a version, and what is recorded of it."""
    for triple in file.triples:
        yield _in_graph(triple, file.graph)
    told: list[tuple[NamedNode, NamedNode | RdfLiteral]] = [
        (RDF.type, RAG.OntologyVersion),
        (RAG.ontology, file.ontology),
        (DCTERMS.source, RdfLiteral(file.path.name)),
        (PROV.generatedAtTime, RdfLiteral(now.isoformat(), datatype=XSD.dateTime)),
        *([(OWL.versionIRI, file.version)] if file.version else []),
    ]
    for predicate, value in told:
        yield Quad(file.graph, predicate, value, Graphs.SYSTEM)
    if by is not None:
        yield Quad(file.graph, PROV.wasAttributedTo, iris.person(by), Graphs.SYSTEM)
        yield from person_quads(iris.person(by), by)


def _is_named(term: object) -> TypeGuard[NamedNode]:
    return isinstance(term, NamedNode)
