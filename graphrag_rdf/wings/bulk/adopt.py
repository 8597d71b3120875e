"""`adopt`: a store that an engine's bulk loader has loaded is checked, and gets its search indexes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command, embedding_option
from graphrag_rdf.cli.output import format_option, note
from graphrag_rdf.cli.refresh import show_indexes
from graphrag_rdf.cli.session import open_engine
from graphrag_rdf.errors import StoreError, StoreMissingError, UsageError
from graphrag_rdf.i18n import counted, listed, tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.exchange import Manifest

_TIMEOUT = 3600.0
"""Seconds for a query that counts all quads."""


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf adopt http://127.0.0.1:7878 shards",
        "graphrag-rdf adopt http://127.0.0.1:7878 part-1 part-2",
    ],
)
@click.argument("url")
@click.argument("folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path))
@embedding_option
@format_option()
def adopt_command(url: str, folders: tuple[Path, ...], embedding_model: str | None, form: str) -> None:
    """Check and index a store that an engine's bulk loader has loaded.

    DIR is a folder of shards that were loaded, of `export --shards` or `ingest --to-shards`, or the manifest
    in it. The engine must hold at least the quads that the manifest counts in each graph, and the documents
    of all manifests. With several, labels are then elected and names linked over the whole store. The search
    indexes are built on this computer. Original files and texts are copied from DIR/store if it is there.
    """
    from graphrag_rdf.checks.diagnosis import index_status
    from graphrag_rdf.exchange import read_manifest

    manifests = [read_manifest(folder) for folder in folders]
    overrides = {"store": url, "remote.timeout": _TIMEOUT, "embedding.model": embedding_model}
    try:
        with open_engine(overrides) as engine:
            sizes = _require_loaded(engine, manifests)
            _note_other_graphs(engine, manifests, sizes)
    except StoreMissingError as error:
        hint = tr("load the shards into an empty dataset first, with the engine's bulk loader")
        raise StoreMissingError(error.message, hint) from error
    with open_engine(overrides) as engine:
        _copy_blobs(engine, folders)
        engine.rebuild_indexes()
        if len(manifests) > 1:
            _settle(engine)
        status = {"quads": sum(sizes.values()), **index_status(engine)}
    if not output.write(form, status):
        output.say(counted("{count:,} quad", "{count:,} quads", status["quads"]))
        show_indexes(status)


def _require_loaded(engine: Engine, manifests: Sequence[Manifest]) -> Mapping[str, int]:
    """The numbers of quads by graph, if all of the manifests are there.

    Raises:
        StoreError: quads or documents are missing, or the engine cannot use them.
    """
    from graphrag_rdf.exchange.shards import DEFAULT_GRAPH
    from graphrag_rdf.store.remote import RemoteStore

    store = engine.store
    if not isinstance(store, RemoteStore):
        raise UsageError(
            tr("adopt needs the URL of an engine"), hint=tr("index a store in a folder with: index rebuild")
        )
    sizes = Counter({str(row["graph"].value): row["quads"] for row in store.select("remote/graphs")})
    if store.renderer.facts_graph is None:
        if store.ask("remote/is-union"):
            raise StoreError(
                tr("the default graph of {url} is a union, and the facts are in it").format(
                    url=store.endpoint.addresses.query
                ),
                hint=tr("switch the union off, or export shards with --dialect rdf-star or classic"),
            )
        sizes[DEFAULT_GRAPH] = store.select("remote/default-size")[0]["quads"]
    wanted: Counter[str] = Counter()
    for manifest in manifests:  # parts share names, so their sum is not to be expected
        wanted |= Counter(manifest.graphs)
    lacking = [f"{graph} ({count:,})" for graph, count in (wanted - sizes).items()]
    documents = store.select("exchange/document-count")[0]["documents"]
    expected = sum(manifest.documents for manifest in manifests)
    if lacking or documents < expected:
        missing = lacking or [counted("{count:,} document", "{count:,} documents", expected - documents)]
        raise StoreError(
            tr("the engine lacks quads of its shards: {missing}").format(missing=listed(missing)),
            hint=tr("load all shards into an empty dataset, and read the log of the loader"),
        )
    surplus = sum((sizes - wanted).values())
    if surplus and len(manifests) == 1:
        note(tr("the engine holds {surplus:,} quads more than its shards").format(surplus=surplus))
    return sizes


def _note_other_graphs(engine: Engine, manifests: Sequence[Manifest], sizes: Mapping[str, int]) -> None:
    """Record graphs that no manifest has, such as an engine's own, as no part of the store."""
    from graphrag_rdf.exchange.shards import DEFAULT_GRAPH
    from graphrag_rdf.rdf.namespaces import ENDPOINT_NODE, RAG, Graphs
    from graphrag_rdf.store.base import Changes

    ours = {graph.value for graph in vars(Graphs).values() if isinstance(graph, NamedNode)}
    own_graphs = ours.union({DEFAULT_GRAPH}, *(manifest.graphs for manifest in manifests))
    if manifests and (foreign := sorted(set(sizes) - own_graphs)):
        quads = [Quad(ENDPOINT_NODE, RAG.otherGraph, NamedNode(graph), Graphs.SYSTEM) for graph in foreign]
        engine.store.commit(Changes(add=quads, content=False))


def _settle(engine: Engine) -> None:
    """Elect labels, link names and count mentions of what several parts may have."""
    from graphrag_rdf.ingest.entity_decisions import settle
    from graphrag_rdf.ingest.names import unlinked, unsettled
    from graphrag_rdf.store.base import Changes

    store = engine.store
    things = (row["thing"] for row in store.select("exchange/merged-things"))
    topics = (row["entity"] for row in store.select("exchange/topics"))
    store.commit(Changes(add=[*unsettled(things), *unlinked(topics)], content=False))
    engine.indexer.changed(entities=settle(store))
    engine.indexer.flush(final=True)


def _copy_blobs(engine: Any, folders: Sequence[Path]) -> None:
    """Copy the blobs of the stores that the shards were written from."""
    from graphrag_rdf.store.blobs import BlobStore
    from graphrag_rdf.store.folder import StoreFolder

    for folder in folders:
        place = StoreFolder((folder.parent if folder.is_file() else folder) / "store")
        if place.exists:
            source = BlobStore(place.blobs)
            for blob in source.objects():
                if (data := source.get(blob)) is not None:
                    engine.blobs.put(data)
