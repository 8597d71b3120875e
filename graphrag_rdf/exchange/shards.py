"""Shards: the whole store in N-Quads files of nearly equal size, for the bulk loader of an engine.

A manifest beside them counts the quads of each graph, so that the loaded engine can be checked. The engine's
description (`store.probe`) is among the quads: whoever opens the loaded store needs no probe that guesses.
Facts are in the default graph in `rdf12`, else in `urn:graph:facts`, because most engines of the other
dialects have a union for their default graph.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Triple, serialize

from graphrag_rdf.errors import UsageError, system_cause
from graphrag_rdf.exchange.whole_file import whole_file
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import ENDPOINT_NODE, Graphs
from graphrag_rdf.sparql.render import Dialect, encode
from graphrag_rdf.sparql.star import star_line
from graphrag_rdf.store.base import Store, in_batches, plain_quads
from graphrag_rdf.store.migrations import store_version
from graphrag_rdf.store.probe import Capabilities
from graphrag_rdf.store.updates import placed

MANIFEST = "manifest.json"
DEFAULT_GRAPH = "default"
"""Key of the default graph in a manifest."""
_NAME = r"shard-[0-9]{4}\.nq\.gz"
_OWN = re.compile(rf"(?:{_NAME}|{re.escape(MANIFEST)})(?:\.part)?")
_BATCH = 1_000
_LEVEL = 1  # of gzip: higher levels take twice the time for a tenth of the size


class Shard(BaseModel):
    """A file of shards.

    Attributes:
        sha256: of the compressed file.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=rf"^{_NAME}$")
    quads: int
    bytes: int
    sha256: str


class Manifest(BaseModel):
    """What a folder of shards holds.

    Attributes:
        store_version: as of `store.migrations`.
        documents: their number.
        ontologies: IRI → version IRI, or the graph of the version, of the active ontologies.
        graphs: IRI of a graph, or `DEFAULT_GRAPH` → its number of quads.
    """

    model_config = ConfigDict(extra="forbid")

    store_version: int
    dialect: Dialect
    documents: int
    ontologies: dict[str, str]
    graphs: dict[str, int]
    shards: list[Shard]

    @property
    def quads(self) -> int:
        """The number of quads."""
        return sum(self.graphs.values())


def export_shards(store: Store, folder: Path, number: int, dialect: Dialect = "rdf12") -> Manifest:
    """Write a store in shards, and their manifest at the end. Former shards in the folder are deleted first.

    Args:
        folder: created if missing.
        number: of files.
        dialect: syntax of triple terms.

    Raises:
        UsageError: when a file cannot be written, or the dialect cannot express the data.
    """
    if (folder / MANIFEST).exists():
        read_manifest(folder)  # one of something else is not to be overwritten
    names = [f"shard-{index:04}.nq.gz" for index in range(number)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.iterdir()):  # the manifest first; of a killed export there is none
            if _OWN.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        cause = system_cause(error)
        raise UsageError(tr("cannot write {path}: {cause}").format(path=folder, cause=cause)) from error
    facts = None if dialect == "rdf12" else Graphs.FACTS
    try:
        quads = placed(encode(_described(store, dialect, facts), dialect), facts)
        written, graphs = _write(quads, [folder / name for name in names], dialect)
    except TypeError as error:
        raise UsageError(
            tr("cannot export in the dialect {dialect}: {error}").format(dialect=dialect, error=error)
        ) from error
    versions = (row for row in store.select("ontology/versions") if row["active"])
    manifest = Manifest(
        store_version=store_version(store),
        dialect=dialect,
        documents=store.select("exchange/document-count")[0]["documents"],
        ontologies={row["ontology"].value: row["version"] or row["graph"].value for row in versions},
        graphs=dict(sorted(graphs.items())),
        shards=[_shard(folder / name, written[name]) for name in names],
    )
    with whole_file(folder / MANIFEST) as stream:
        stream.write(f"{manifest.model_dump_json(indent=2)}\n".encode())
    return manifest


def read_manifest(place: Path) -> Manifest:
    """The manifest of a folder of shards.

    Args:
        place: the folder, or the file.

    Raises:
        UsageError: it is missing or malformed.
    """
    path = place / MANIFEST if place.is_dir() else place
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(
            tr("cannot read {path}: {cause}").format(path=path, cause=system_cause(error)),
            hint=tr("write shards with: graphrag-rdf export --shards N -o DIR"),
        ) from error
    except ValidationError as error:
        raise UsageError(
            tr("{path} is not a manifest of shards").format(path=path),
            hint=tr("write shards with: graphrag-rdf export --shards N -o DIR"),
        ) from error


def _described(store: Store, dialect: Dialect, facts: NamedNode | None) -> Iterator[Quad]:
    """The quads of a store, with the description of the engine to load in place of its own."""
    description = Capabilities(dialect, facts, lateral=False, numbered=False).quads()
    return chain(description, (q for q in plain_quads(store) if q.subject != ENDPOINT_NODE))


def _write(quads: Iterable[Quad], paths: list[Path], dialect: Dialect) -> tuple[dict[str, int], Counter[str]]:
    """Write the files; return name → number of quads, and graph → number of quads.

    Batches go to the files in turn. Quads with blank nodes, which are others in each file, go to the first.
    """
    written: Counter[str] = Counter()
    graphs: Counter[object] = Counter()
    named = [path.name for path in paths]
    with ExitStack() as opened:
        raw = [opened.enter_context(whole_file(path)) for path in paths]
        files = [opened.enter_context(gzip.GzipFile("", "wb", _LEVEL, each, mtime=0)) for each in raw]
        for turn, batch in enumerate(in_batches(quads, _BATCH)):
            graphs.update(quad.graph_name for quad in batch)
            lines = _lines(batch, dialect)
            parts = [(turn % len(files), batch, lines)]
            if b"_:" in lines:
                plain = [quad for quad in batch if not _is_blank(quad)]
                blank = [quad for quad in batch if _is_blank(quad)]
                parts = [
                    (turn % len(files), plain, _lines(plain, dialect)),
                    (0, blank, _lines(blank, dialect)),
                ]
            for index, part, lines in parts:
                files[index].write(lines)
                written[named[index]] += len(part)
    return written, Counter({_key(graph): count for graph, count in graphs.items()})


def _is_blank(statement: Quad | Triple) -> bool:
    terms = (statement.subject, statement.object, getattr(statement, "graph_name", None))
    return any(
        isinstance(term, BlankNode) or (isinstance(term, Triple) and _is_blank(term)) for term in terms
    )


def _lines(quads: list[Quad], dialect: Dialect) -> bytes:
    if dialect == "rdf-star":
        return "".join(star_line(quad, with_graph=True) for quad in quads).encode()
    return serialize(quads, format=RdfFormat.N_QUADS) or b""


def _key(graph: object) -> str:
    if isinstance(graph, DefaultGraph):
        return DEFAULT_GRAPH
    return graph.value if isinstance(graph, NamedNode) else str(graph)


def _shard(path: Path, quads: int) -> Shard:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Shard(name=path.name, quads=quads, bytes=path.stat().st_size, sha256=digest)
