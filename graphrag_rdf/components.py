"""Opens the store that `--store` names, and makes its indexes, models and caches, each on demand."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graphrag_rdf import layout
from graphrag_rdf.config import Settings
from graphrag_rdf.config.trust import place_of
from graphrag_rdf.errors import OtherVersionError, SearchIndexError, StoreError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.layout import StorePaths
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.folder import DEFAULT_COLLECTION, StoreFolder, is_address
from graphrag_rdf.store.migrations import migrate
from graphrag_rdf.wing import data_folders, load, wings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphrag_rdf.index.embedders import Embedder
    from graphrag_rdf.index.rerankers import Reranker
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.index.vectors import VectorIndex
    from graphrag_rdf.ingest.indexing import StoreIndexer
    from graphrag_rdf.llm.budget import Budget
    from graphrag_rdf.llm.cache import ResponseCache
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import LlmSettings
    from graphrag_rdf.llm.servers import Servers

log = logging.getLogger(__name__)

Warn = Callable[[str, str], None]
"""Hears of what could not be done as well as it might: (type, detail)."""

_MADE_WITH: Mapping[str, tuple[str, ...]] = {
    "llm": ("gateway", "budget"),
    "embedding": ("gateway", "embedder", "vectors", "indexer"),
    "rerank": ("gateway", "cross_encoder"),
    "cache": ("gateway", "response_cache"),
}
"""Section of the settings → parts that are made with it."""

_IMPATIENT = 20.0  # seconds


def is_read_only(where: str, settings: Settings) -> bool:
    """Whether a store exists that this user cannot write: no permission, or a read-only disk."""
    if where == ":memory:" or is_address(where):
        return False
    place = StoreFolder.of_collection(Path(where), settings.collection)
    return place.exists and not place.is_writable


def template_library(settings: Settings) -> TemplateLibrary:
    """The program's query templates, and the user's own."""
    own = [settings.queries] if settings.queries else []
    brought = data_folders("queries")
    return TemplateLibrary(folder("queries"), *brought, *own, calls=settings.server.allow_service)


def open_store(
    where: str,
    settings: Settings,
    *,
    create: bool,
    read_only: bool,
    copy: Path | None = None,
    past: Path | None = None,
) -> tuple[Store, BlobStore, StoreFolder | None]:
    """Open a store and its blob store; return also its folder, or None in memory.

    Args:
        where: folder, URL of a SPARQL endpoint, or `:memory:`.
        copy: a frozen copy of the folder's database, to read in its place.
        past: the folder of an earlier state, to read in its place.

    Raises:
        StoreError, UsageError: see `Engine.open`.
    """
    templates = template_library(settings)
    if where == ":memory:":
        blobs = BlobStore()
        memory = EmbeddedStore(templates, blobs=blobs)
        migrate(memory)
        return memory, blobs, None
    if is_address(where):
        from graphrag_rdf.store.local_files import local_folder, open_remote

        endpoint = endpoint_of(where, settings)
        place = local_folder(settings.remote.folder, endpoint)
        return *open_remote(place, endpoint, templates, create=create, read_only=read_only), place
    place = replace(StoreFolder.of_collection(Path(where), settings.collection), copy=copy, past=past)
    return *place.open(templates, create=create and not read_only, read_only=read_only), place


def endpoint_of(url: str, settings: Settings) -> Endpoint:
    """The endpoint that a URL and the settings `remote` name.

    Raises:
        UsageError: when the URL is invalid, or a collection is named, which endpoints do not have.
    """
    if settings.collection != DEFAULT_COLLECTION:
        raise UsageError(
            tr("endpoints have no collections, so {collection!r} does not exist").format(
                collection=settings.collection
            ),
            hint=tr("leave out --collection, or name the endpoint of another dataset with --store"),
        )
    remote = settings.remote
    spoken = RemoteSettings(
        user=remote.user,
        password=remote.password.get_secret_value() if remote.password else None,
        token=remote.token.get_secret_value() if remote.token else None,
        timeout=remote.timeout,
        retries=remote.retries,
        batch_quads=remote.batch,
        batch_bytes=remote.batch_mb << 20,
        lag=remote.lag,
        replicas=remote.replicas,
    )
    return Endpoint(Addresses.of(url, remote.query_url, remote.update_url), spoken)


class Components:
    """A store, and what works on it.

    Args:
        settings: those in force.
        place: the store's folder; None in memory.
        read_only: nothing is written into the folder.
    """

    def __init__(
        self,
        store: Store,
        blobs: BlobStore,
        settings: Settings,
        place: StoreFolder | None,
        *,
        read_only: bool = False,
    ) -> None:
        self.store = store
        self.blobs = blobs
        self.settings = settings
        self.place = place
        self.read_only = read_only
        self._spoken: tuple[int, tuple[str, ...]] | None = None
        self._index_lock = threading.RLock()  # held by whoever writes the indexes
        self._ingesting = False
        self.named: dict[str, object] = {}
        """UUIDs that clients gave to new traces."""

    def renew(self, settings: Settings) -> None:
        """Work with these settings from now on; who has a part in hand that others made keeps it."""
        before, self.settings = self.settings, settings
        for section, names in _MADE_WITH.items():
            if getattr(before, section) != getattr(settings, section):
                for name in names:
                    self.__dict__.pop(name, None)

    # --- search ------------------------------------------------------------------------------------

    @cached_property
    def text_index(self) -> TextIndex:
        """The index of words, built anew if another version of the program wrote it.

        Raises:
            SearchIndexError: when it is damaged, or of another version and the store is only read.
        """
        from graphrag_rdf.index.text import TextIndex

        if self._indexed is None:
            return TextIndex(None)
        path = self._indexed.text_index
        try:
            return TextIndex(path, read_only=self.read_only)
        except OtherVersionError as error:
            if self.read_only:
                raise
            return self._new_words(path, error)

    def _new_words(self, path: Path, reason: OtherVersionError) -> TextIndex:
        from graphrag_rdf.index.text import TextIndex
        from graphrag_rdf.ingest.indexing import StoreIndexer

        documents = self.store.select("server/counts")[0]["documents"]
        message = tr("{reason} It is built anew from {documents:,} documents")
        log.warning(message.format(reason=reason.message, documents=documents))
        with self._index_lock:
            layout.remove(path, layout.TEXT_INDEX)
            index = TextIndex(path)
            StoreIndexer(self.store, index, None, None, *self._derived).update_words()
        return index

    @property
    def _indexed(self) -> StorePaths | None:
        """The folder with the indexes. None for memory: also where a store behind an endpoint is only read,
        whose indexes nobody may have built here, and nothing is to be written."""
        if self.read_only and self.is_remote:
            return self._shared.place if self._shared is not None else None
        return self.place

    @cached_property
    def _shared(self) -> Any:
        """The indexes that another process made of a store that is only read; None if there are none."""
        if not (self.read_only and self.is_remote):
            return None
        makers = (load(wing.indexes) for wing in wings() if wing.indexes)
        return next(filter(None, (make(self) for make in makers)), None)

    @property
    def is_remote(self) -> bool:
        """Whether the store is behind an endpoint."""
        from graphrag_rdf.store.remote import RemoteStore

        return isinstance(self.store, RemoteStore)

    @property
    def known_as(self) -> str:
        """What the store is called where trust is recorded: its address, or its folder."""
        if not isinstance(self.store, EmbeddedStore):  # the module of endpoints is slow to import
            from graphrag_rdf.store.remote import RemoteStore

            if isinstance(self.store, RemoteStore):
                return self.store.endpoint.addresses.query
        return place_of(self.place.root) if self.place is not None else ":memory:"

    @cached_property
    def embedder(self) -> Embedder | None:
        """What makes vectors; None without an embedding model."""
        from graphrag_rdf.index.embedders import embedder_for

        spec = self.settings.embedding.model
        if not spec:
            return None
        return embedder_for(spec, gateway_embed=self._embed_by_gateway)

    def _embed_by_gateway(self, texts: Sequence[str], model: str) -> NDArray[Any]:
        return self.gateway.embed(texts, model)

    @cached_property
    def cross_encoder(self) -> Reranker:
        """The reranker that is a model in a folder. Raises SearchIndexError when files are missing."""
        from graphrag_rdf.index.rerankers import OnnxReranker

        spec = self.settings.rerank.model or ""
        return OnnxReranker(Path(spec.removeprefix("local:")).expanduser(), name=spec)

    @cached_property
    def vectors(self) -> VectorIndex | None:
        """The index of vectors; None without an embedding model."""
        if self.embedder is None:
            return None
        from graphrag_rdf.index.vectors import VectorIndex

        path = self._indexed.vector_index if self._indexed else None
        return VectorIndex(path, model=self.embedder.name)

    @cached_property
    def budget(self) -> Budget:
        """Totals of model calls, and their limit."""
        from graphrag_rdf.llm.budget import Budget

        return Budget(max_tokens=self.settings.llm.budget_tokens, max_cost_usd=self.settings.llm.budget_usd)

    @cached_property
    def response_cache(self) -> ResponseCache | None:
        """Answers of models, kept on disk; None in memory, when switched off, or when only reading."""
        return None if self.place is None or self.read_only else self._cache_in(self.place)

    def served_cache(self) -> ResponseCache | None:
        """The cache that a server keeps in this store, opened to be looked at; None if no server has it open.

        Not for answers: a copy of the store may still have a text that the server has erased.
        """
        return None if self.place is None or self.place.copy is None else self._cache_in(self.place)

    def _cache_in(self, place: StoreFolder) -> ResponseCache | None:
        if not self.settings.cache.enabled:
            return None
        from graphrag_rdf.llm.cache import ResponseCache

        return ResponseCache(place.cache, self.settings.cache.max_bytes)

    @cached_property
    def _servers(self) -> Servers:
        """What is known of the models' servers."""
        from graphrag_rdf.llm.servers import Servers

        return Servers(self.response_cache)

    @cached_property
    def gateway(self) -> LlmGateway:
        """The one way to models."""
        from graphrag_rdf.llm.gateway import LlmGateway

        return LlmGateway(
            self._llm_settings(), cache=self.response_cache, budget=self.budget, servers=self._servers
        )

    def fresh_gateway(self) -> LlmGateway:
        """A way to models that takes no answer from the cache."""
        from graphrag_rdf.llm.gateway import LlmGateway

        return LlmGateway(self._llm_settings(), budget=self.budget, servers=self._servers)

    def impatient_gateway(self) -> LlmGateway:
        """A way to models that asks once, without the cache, and gives up soon: to see if they are there."""
        from graphrag_rdf.llm.gateway import LlmGateway

        settings = self._llm_settings()
        return LlmGateway(replace(settings, max_retries=0, timeout=min(settings.timeout, _IMPATIENT)))

    def _llm_settings(self) -> LlmSettings:
        from graphrag_rdf.llm.model import LlmSettings

        llm = self.settings.llm
        return LlmSettings(
            model=llm.model,
            embedding_model=self.settings.embedding.model,
            rerank_model=self.settings.rerank.model,
            api_base=llm.api_base,
            rerank_api_base=self.settings.rerank.api_base,
            api_key=llm.api_key,
            temperature=llm.temperature,
            temperatures=dict(_temperature_of(temperature) for temperature in llm.temperatures),
            max_tokens=llm.max_tokens,
            timeout=llm.timeout,
            max_retries=llm.max_retries,
            jobs=llm.jobs,
            requests_per_minute=llm.requests_per_minute,
            tokens_per_minute=llm.tokens_per_minute,
            seed=llm.seed,
        )

    @cached_property
    def indexer(self) -> StoreIndexer:
        """Keeps the indexes in step with the store."""
        from graphrag_rdf.ingest.indexing import StoreIndexer

        return StoreIndexer(self.store, self.text_index, self.vectors, self.embedder, *self._derived)

    @property
    def _derived(self) -> tuple[str, Literal["rdfs", "rl"] | None, int]:
        """What the indexer needs to know of what it derives: `StoreIndexer` has the meanings."""
        settings = self.settings
        return settings.extract.namespace, settings.reasoning.keep, settings.relations.min_count

    def rebuild_indexes(self) -> None:
        """Delete the indexes, whatever their state, and build them again from the store.

        Raises:
            SearchIndexError: when vectors cannot be made; then the index of words is complete.
            StoreError: when the store is open for reading only.
        """
        if self.read_only:
            raise StoreError(
                tr("cannot rebuild the search indexes: the store is open for reading only"),
                hint=tr(
                    "leave out --at and --read-only; if you lack the permission, change it, or copy the store"
                ),
            )
        if "text_index" in self.__dict__:
            self.text_index.close()
        for part in ("text_index", "vectors", "indexer"):
            self.__dict__.pop(part, None)
        if self.place is not None:
            layout.remove(self.place.text_index, layout.TEXT_INDEX)
            if self.settings.embedding.model:
                layout.remove(self.place.vector_index, layout.VECTOR_INDEX)
        self.indexer.catch_up()
        if self.indexer.error:
            raise SearchIndexError(tr("cannot make the vectors: {error}").format(error=self.indexer.error))

    # --- indexes that may be behind, or damaged ---------------------------------------------------

    def ready_index(self, warn: Warn) -> TextIndex | None:
        """The index of words, updated if it is behind the store; None if it is damaged."""
        from graphrag_rdf.ingest.indexing import StoreIndexer

        try:
            index = self.text_index
            vectors = self.ready_vectors(warn)
            indexer = StoreIndexer(self.store, index, vectors, self.embedder, *self._derived)
            if not indexer.lacks_words:
                return index
            if self._shared is not None and self._shared.renew():
                for part in ("text_index", "vectors", "indexer"):
                    self.__dict__.pop(part, None)
                return self.ready_index(warn)
            if self._ingesting or (self.read_only and self._indexed is not None):
                warn("index_behind", tr("the newest data are not in the search index yet"))
                return index
            with self._index_lock:
                if indexer.lacks_words:
                    log.info("the search index is behind the store: catching up")
                    indexer.update_words()
        except SearchIndexError as error:
            warn("index_missing", tr("{error}. Run: graphrag-rdf index rebuild").format(error=error))
            return None
        return index

    def ready_vectors(self, warn: Warn) -> VectorIndex | None:
        """The vector index; None if it is damaged or of another model, and the search uses words only."""
        try:
            return self.vectors
        except SearchIndexError as error:
            warn(
                "index_missing",
                tr("{error}. The search used words only. Run: graphrag-rdf index rebuild").format(
                    error=error
                ),
            )
            return None

    def languages(self) -> tuple[str, ...]:
        """The languages of the documents, the most frequent first; `und` for unknown ones."""
        commit = self.store.content_commit()
        if self._spoken is None or self._spoken[0] != commit:  # counting reads all documents
            rows = self.store.select("system/languages")
            self._spoken = commit, tuple(row["language"] for row in rows)
        return self._spoken[1]

    @contextmanager
    def keeping_indexes(self) -> Iterator[None]:
        """Let only the caller update the indexes; questions use them as they are."""
        with self._index_lock:
            before, self._ingesting = self._ingesting, True
            try:
                yield
            finally:
                self._ingesting = before


def _temperature_of(setting: str) -> tuple[str, float]:
    purpose, _, value = setting.rpartition("=")
    return purpose.strip(), float(value)
