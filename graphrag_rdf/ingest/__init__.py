"""From documents to facts in the store: plan, extract, write, retract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from graphrag_rdf.config import Settings
    from graphrag_rdf.index.embedders import Embedder
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.ingest.indexing import StoreIndexer
    from graphrag_rdf.llm.budget import Budget
    from graphrag_rdf.llm.cache import ResponseCache
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.store.blobs import BlobStore
    from graphrag_rdf.store.folder import StoreFolder


class NeededComponents(Protocol):
    """The parts of an `Engine` that this room uses. `components.Components` describes each."""

    store: Store
    blobs: BlobStore
    settings: Settings
    place: StoreFolder | None

    @property
    def settings_version(self) -> NamedNode | None:
        """The version of the settings that the store keeps."""

    @property
    def indexer(self) -> StoreIndexer:
        """Keeps the indexes in step with the store."""

    @property
    def text_index(self) -> TextIndex:
        """The index of words."""

    @property
    def embedder(self) -> Embedder | None:
        """What makes vectors."""

    @property
    def budget(self) -> Budget:
        """Totals of model calls."""

    @property
    def gateway(self) -> LlmGateway:
        """The gateway to models."""

    @property
    def response_cache(self) -> ResponseCache | None:
        """Answers of models, kept on disk."""

    def rebuild_indexes(self) -> None:
        """Rebuild the indexes from the store alone."""
