"""The Python API: open a store, ingest, ask. The command line and the server are thin over it."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyoxigraph import NamedNode

from graphrag_rdf import __version__
from graphrag_rdf.config import Loaded, Settings, given_settings, load_settings
from graphrag_rdf.errors import ConfigError, SearchIndexError, StoreError, UsageError
from graphrag_rdf.from_thread import from_thread
from graphrag_rdf.live_settings import LiveSettings, pipeline_folders
from graphrag_rdf.pipeline import Pipeline, hash_of_folder, load_pipeline
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.steps.answer import edge_json
from graphrag_rdf.steps.names import entities_called, own_names
from graphrag_rdf.steps.passages import describe, rank_passages
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.folder import DEFAULT_COLLECTION, StoreFolder, is_address
from graphrag_rdf.store.librarian import Librarian
from graphrag_rdf.store.migrations import migrate
from graphrag_rdf.trace.catalogue import find_trace
from graphrag_rdf.trace.conversation import read_turns
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.reuse import find_answer, reuse_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphrag_rdf.index.embedders import Embedder
    from graphrag_rdf.index.rerankers import Reranker
    from graphrag_rdf.index.text import TextIndex
    from graphrag_rdf.index.vectors import VectorIndex
    from graphrag_rdf.ingest.extractors import ChunkExtractor
    from graphrag_rdf.ingest.files import Upload
    from graphrag_rdf.ingest.indexing import StoreIndexer
    from graphrag_rdf.ingest.relate import RelationReport
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.run import Progress, Stop
    from graphrag_rdf.llm.budget import Budget
    from graphrag_rdf.llm.cache import ResponseCache
    from graphrag_rdf.llm.gateway import LlmGateway
    from graphrag_rdf.llm.model import LlmSettings
    from graphrag_rdf.trace.traces import Traces

log = logging.getLogger(__name__)

_MADE_WITH: Mapping[str, tuple[str, ...]] = {
    "llm": ("gateway", "budget"),
    "embedding": ("gateway", "embedder", "vectors", "indexer"),
    "rerank": ("gateway", "cross_encoder"),
    "cache": ("gateway", "response_cache"),
    "extract": ("gateway",),
}
"""Section of the settings → parts of the engine that are made with it."""

_IMPATIENT = 20.0  # seconds
MAX_QUESTION = 20_000
"""Characters of a question."""


class Engine:
    """A store with what works on it.

    Use `Engine.open`; close it, or use it in a `with` statement.

    Args:
        store, librarian: already open.
        settings: see `config`; those that were given win over those in the store, which are read anew for
            each question and each ingest (see `live_settings`).
        place: the store's folder; None in memory.
        read_only: nothing is written into the folder.

    Attributes:
        loaded: settings with where each came from, without the store's.
        settings: those in force.
        live: those in the store.
    """

    def __init__(
        self,
        store: Store,
        librarian: Librarian,
        settings: Settings,
        place: StoreFolder | None,
        *,
        read_only: bool = False,
        loaded: Loaded | None = None,
    ) -> None:
        self.loaded = loaded or given_settings(settings)
        self.store = store
        self.librarian = librarian
        self.settings = settings
        self.place = place
        self.read_only = read_only
        self.warnings: list[dict[str, str]] = []
        self._spoken: tuple[int, str | None] | None = None
        self._index_lock = threading.RLock()  # held by whoever writes the indexes
        self._ingesting = False
        store.renderer.trace_graph = NamedNode(settings.trace.graph)
        self.live = LiveSettings(store, settings, writable=not read_only)
        try:
            self._take_settings()
        except ConfigError:
            log.debug("the store keeps settings that cannot be", exc_info=True)  # said when they are needed

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        *,
        config: Settings | Loaded | None = None,
        create: bool = True,
        read_only: bool = False,
    ) -> Self:
        """Open a store.

        Args:
            store: its folder, or the URL of a SPARQL endpoint; None takes the setting `store`; `:memory:`
                keeps everything in memory.
            config: settings; None reads them as the command line does.
            create: make the store when it is missing.
            read_only: write nothing at all into its folder: for estimates, not for questions.

        Raises:
            StoreError: when it is missing and not to be made, damaged, out of reach, or from a newer program.
            StoreLockedError: when another process holds it.
            UsageError: when the URL is none, or a collection of an endpoint is named.
            ConfigError: when settings are wrong.
        """
        loaded = given_settings(config) if isinstance(config, Settings) else config or load_settings()
        settings = loaded.settings
        where = str(store if store is not None else settings.store)
        user_queries = [settings.queries] if settings.queries else []
        templates = TemplateLibrary(folder("queries"), *user_queries)
        if where == ":memory:":
            memory = EmbeddedStore(templates)
            migrate(memory)
            return cls(memory, Librarian(), settings, None, loaded=loaded)
        opened: Store
        if is_address(where):
            from graphrag_rdf.store.beside import folder_beside, open_remote

            endpoint = endpoint_of(where, settings)
            place = folder_beside(settings.remote.folder, endpoint)
            opened, librarian = open_remote(place, endpoint, templates, create=create, read_only=read_only)
        else:
            place = StoreFolder.of_collection(Path(where), settings.collection)
            opened, librarian = place.open(templates, create=create and not read_only, read_only=read_only)
        return cls(opened, librarian, settings, place, read_only=read_only, loaded=loaded)

    def close(self) -> None:
        """Let go of the store and its indexes."""
        if "text_index" in self.__dict__:
            self.text_index.close()
        try:
            self.store.close()
        finally:
            if self.place is not None and not self.read_only:
                self.place.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:
                raise
            log.debug("the store could not be closed either", exc_info=True)  # the first error counts

    # --- settings ----------------------------------------------------------------------------------

    def _take_settings(self) -> NamedNode | None:
        """Take what the store says of settings; the version of it.

        Raises:
            ConfigError: when it says what cannot be.
        """
        self.store.refresh()
        now = self.live.read()
        before, self.settings = self.settings, now.settings
        for section, parts in _MADE_WITH.items():
            if getattr(before, section) != getattr(now.settings, section):
                for part in parts:
                    self.__dict__.pop(part, None)  # whoever works with it keeps it to the end
        return now.version

    # --- parts -------------------------------------------------------------------------------------

    @cached_property
    def text_index(self) -> TextIndex:
        """The index of words. Raises SearchIndexError when it is damaged."""
        from graphrag_rdf.index.text import TextIndex

        return TextIndex.open(self.place.index / "text" if self.place else None)

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

    def _rerank_by_gateway(self, question: str, texts: Sequence[str], model: str) -> list[float]:
        return self.gateway.rerank(question, texts, model)

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

        path = self.place.index / "vectors" if self.place else None
        return VectorIndex.open(path, model=self.embedder.name)

    @cached_property
    def budget(self) -> Budget:
        """Totals of model calls, and their limit."""
        from graphrag_rdf.llm.budget import Budget

        return Budget(max_tokens=self.settings.llm.budget_tokens, max_cost_usd=self.settings.llm.budget_usd)

    @cached_property
    def response_cache(self) -> ResponseCache | None:
        """Answers of models, kept on disk; None in memory, when switched off, or when only reading."""
        if not self.settings.cache.enabled or self.place is None or self.read_only:
            return None
        from graphrag_rdf.llm.cache import ResponseCache

        return ResponseCache(self.place.cache / "llm.sqlite", self.settings.cache.max_bytes)

    @cached_property
    def gateway(self) -> LlmGateway:
        """The one way to models."""
        from graphrag_rdf.llm.gateway import LlmGateway

        return LlmGateway(self._llm_settings(), cache=self.response_cache, budget=self.budget)

    def _fresh_gateway(self) -> LlmGateway:
        """A way to models that takes no answer from the cache."""
        from graphrag_rdf.llm.gateway import LlmGateway

        return LlmGateway(self._llm_settings(), budget=self.budget)

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
            max_tokens=llm.max_tokens,
            timeout=llm.timeout,
            max_retries=llm.max_retries,
            jobs=self.settings.extract.jobs,
            requests_per_minute=llm.requests_per_minute,
            tokens_per_minute=llm.tokens_per_minute,
            seed=llm.seed,
        )

    @cached_property
    def indexer(self) -> StoreIndexer:
        """Keeps the indexes in step with the store."""
        from graphrag_rdf.ingest.indexing import StoreIndexer

        return StoreIndexer(self.store, self.text_index, self.vectors, self.embedder)

    def rebuild_indexes(self) -> None:
        """Throw the indexes away, whatever their state, and build them anew from the store alone.

        Raises:
            SearchIndexError: when vectors cannot be made; the index of words is complete then.
        """
        from graphrag_rdf.index.manifest import discard

        if "text_index" in self.__dict__:
            self.text_index.close()
        for part in ("text_index", "vectors", "indexer"):
            self.__dict__.pop(part, None)
        if self.place is not None:
            discard(self.place.index / "text")
            if self.settings.embedding.model:
                discard(self.place.index / "vectors")
        self.indexer.catch_up()
        if self.indexer.error:
            raise SearchIndexError(f"the vectors could not be made: {self.indexer.error}")

    def pipeline(self, name: str) -> Pipeline:
        """A pipeline by name, with the parameters that the store keeps. Raises ConfigError when unknown."""
        found = load_pipeline(name, pipeline_folders(self.settings))
        return found.with_settings(self.live.now.steps.get(name, {}))

    # --- ingest ------------------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        refresh: bool = False,
        sync: bool = False,
        progress: Progress | None = None,
        stop: Stop | None = None,
        root: Path | None = None,
    ) -> IngestReport:
        """Read documents and extract facts into the store; one run at a time.

        Args:
            paths: files, folders and globs.
            refresh: extract everything anew.
            sync: forget documents of these folders that are gone from disk, and follow moved ones.
            progress: hears of each finished chunk.
            stop: asked between chunks whether the run should end; what is in hand is finished first.
            root: folder by which documents are named, above all paths; None takes the paths themselves.

        Raises:
            LlmError: when the model cannot be used at all.
            StoreError: when the store refuses a write.
            ConfigError: when the store keeps settings that cannot be.
        """
        from graphrag_rdf.ingest.files import ingest_files

        return self._ingest(
            lambda: ingest_files(
                self, paths, refresh=refresh, sync=sync, progress=progress, stop=stop, root=root
            )
        )

    def ingest_uploads(
        self,
        uploads: Sequence[Upload],
        *,
        refresh: bool = False,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Take in documents that were sent, as `ingest` does files; the other arguments and errors are its.

        A document of the same identity is replaced, wherever it came from.
        """
        from graphrag_rdf.ingest.files import ingest_uploads

        return self._ingest(
            lambda: ingest_uploads(self, uploads, refresh=refresh, progress=progress, stop=stop)
        )

    def refresh_texts(
        self,
        documents: Sequence[NamedNode] = (),
        *,
        mentions_only: bool = False,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> IngestReport:
        """Extract anew from what is kept of documents, without their files; the rest is as of `ingest`.

        Args:
            documents: empty for all.
            mentions_only: only the names in sentences.
        """
        from graphrag_rdf.ingest.stages import refresh_texts

        return self._ingest(
            lambda: refresh_texts(self, documents, mentions_only=mentions_only, progress=progress, stop=stop)
        )

    def _ingest(self, run: Callable[[], IngestReport]) -> IngestReport:
        """One run of the ingest at a time; it alone keeps the indexes meanwhile."""
        with self._index_lock:
            self._ingesting = True
            try:
                self._take_settings()
                return run()
            finally:
                self._ingesting = False

    def refresh_relations(
        self,
        documents: Sequence[NamedNode] = (),
        *,
        again: bool = False,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> RelationReport:
        """Relate passages and entities anew, by the settings `relations`: by a model, pair by pair, where one
        is set (see `ingest.pair_relations`), and by what they share and how they stand (`ingest.relations`).

        Args:
            documents: only those that touch these; empty: all.
            again: have the model read also the pairs that it has read before.
            progress: hears of each finished pair.
            stop: asked between pairs whether the run should end.

        Raises:
            UsageError: when a part would be built with other settings than the rest.
            ConfigError: when the store keeps settings that cannot be.
            LlmError: when the model cannot be used at all.
        """
        from graphrag_rdf.ingest.relate import refresh_relations

        self._take_settings()
        return refresh_relations(self, documents, again=again, progress=progress, stop=stop)

    def extractor(self) -> ChunkExtractor:
        """The extractor that the settings ask for."""
        from graphrag_rdf.ingest.choice import choose_extractor

        return choose_extractor(self.settings, lambda: self.gateway)

    # --- questions ---------------------------------------------------------------------------------

    def ask(
        self,
        question: str,
        pipeline: str = "graph_rag",
        *,
        settings: Mapping[str, str] | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        stored: bool = True,
        cache: bool = True,
        session: str | None = None,
    ) -> Generator[GraphRagResponse, None, None]:
        """Answer a question; the messages of the run, the last with the whole answer.

        An answer of a model is given again, with a trace that points to the first, while everything that it
        depends on is as it was: the store's content, pipeline, prompts, parameters, model, filters, question.

        Args:
            pipeline: a folder of pipelines/.
            settings: `step.parameter` → value, as text.
            include, exclude: labels or IRIs of entities that must be, or must not be, followed.
            stored: write the trace (else it is only streamed, with a warning).
            cache: give kept answers again, of this question and of the model; False asks anew.
            session: the trace of an earlier question that this one goes on with (see `find_trace`); its
                questions and answers tell what "she" and "it" are.

        Raises:
            UsageError: for an empty or oversized question, an unknown entity or session, or an empty store.
            ConfigError: for an unknown pipeline, step or parameter.
        """
        chosen, context, state = self._prepare(
            question, pipeline, settings, include, exclude, stored=stored, session=session
        )
        model = self.settings.llm.model
        if model is None:
            state.warn("no_llm", "no model is set: the question was read by rules and the answer is quoted")
        if not stored:
            state.warn("trace_not_stored", "the store is read-only: this trace was streamed and not kept")
        kept = None
        if not cache and context.gateway is not None:
            context = replace(context, gateway=self._fresh_gateway())
        if cache and stored and model is not None and self.settings.answers.cache:
            reuse = reuse_of(self.store, self._depends(chosen, state, model))
            kept = find_answer(self.store, self.librarian, reuse.key)
            context = replace(context, reuse=reuse)
        return chosen.run(context, state, model=model, details={}, kept=kept)

    def aask(
        self, question: str, pipeline: str = "graph_rag", **options: Any
    ) -> AsyncGenerator[GraphRagResponse, None]:
        """As `ask`, for asynchronous programs: the run is in a thread of its own.

        Who stops reading (`aclose`, or a cancelled task) cancels it, and its trace says so.

        Args:
            options: as of `ask`.
        """
        return from_thread(lambda: self.ask(question, pipeline, **options))

    @property
    def traces(self) -> Traces:
        """What was asked, and how the answers came about."""
        from graphrag_rdf.trace.traces import Traces

        return Traces(self.store, self.librarian)

    def _depends(self, pipeline: Pipeline, state: State, model: str) -> dict[str, Any]:
        """What an answer depends on, beside the content of the store."""
        llm, own = self.settings.llm, self.settings.queries
        parameters = pipeline.parameters(with_model=True)
        alike = any(step.get("synonym_weight") for step in parameters.values())
        return {
            "program": __version__,
            "question": state.question,
            "history": state.conversation,
            "language": state.language,
            "pipeline": pipeline.definition.name,
            "pipeline_hash": pipeline.hash,
            "queries_hash": None if own is None else hash_of_folder(own),
            "parameters": parameters,
            "model": [model, llm.api_base, llm.temperature, llm.max_tokens, llm.seed],
            "embedding_model": self.settings.embedding.model,
            "rerank_model": [self.settings.rerank.model, self.settings.rerank.api_base],
            "include": sorted(entity.value for entity in state.include),
            "exclude": sorted(entity.value for entity in state.exclude),
            "warnings": state.warnings,
            "relations": [text_of(row["parameters"]) for row in self.store.select("derived/built")],
            "synonyms": [
                (text_of(row["candidate"]), text_of(row["score"]))
                for row in (self.store.select("entities/synonyms") if alike else ())
            ],
        }

    def retrieve(
        self,
        question: str,
        *,
        k: int = 10,
        pipeline: str = "graph_rag",
        settings: Mapping[str, str] | None = None,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        preview: bool = False,
        stored: bool = False,
    ) -> dict[str, Any]:
        """Rank chunks and edges for a question without answering it.

        Args:
            k: how many chunks, and how many edges.
            preview: tell the paths behind each score.
            stored: write a trace of what was explored.

        Returns:
            the keys of `retrieve --format json` for one question, without `id`.

        Raises:
            UsageError: as `ask`, and for a k below 1.
            ConfigError: as `ask`.
            LlmError: when a step asks a model and that fails.
        """
        if k < 1:
            raise UsageError(f"{k} results cannot be ranked", hint="ask for 1 or more")
        chosen, context, state = self._prepare(question, pipeline, settings, include, exclude, stored=stored)
        trace = [*chosen.explore(context, state, model=self.settings.llm.model)]
        passages = rank_passages(context, state, k)
        out: dict[str, Any] = {
            "question": state.question,
            "results": describe(context, passages, paths=preview),
            "edges": [{**edge_json(edge), "score": edge.score, "hop": edge.hop} for edge in state.edges[:k]],
            "warnings": state.warnings,
        }
        if stored:
            out["trace"] = trace[0].explain_id
        if preview:
            out["seeds"] = [
                {"entity": s.entity.value, "label": s.label, "score": s.score, "matched_by": s.matched_by}
                for s in state.seeds
            ]
        return out

    def _prepare(
        self,
        question: str,
        pipeline: str,
        settings: Mapping[str, str] | None,
        include: Iterable[str],
        exclude: Iterable[str],
        *,
        stored: bool,
        session: str | None = None,
    ) -> tuple[Pipeline, Context, State]:
        question = check_question(question)
        version = self._take_settings()
        chosen = self.pipeline(pipeline).with_settings(settings or {})
        self._require_documents()
        earlier = find_trace(self.store, session) if session else None
        recorder = TraceRecorder(
            self.store,
            self.librarian,
            graph=NamedNode(self.settings.trace.graph),
            detail=self.settings.trace.detail,
            stored=stored,
            settings=version,
            continues=earlier,
        )
        state = State(question, self._language(question))
        if earlier is not None:
            state.history = read_turns(self.store, self.librarian, earlier, self.settings.answers.history)
        text_index = self._ready_index(state)
        state.include = self._entities(include, text_index, state.language)
        state.exclude = self._entities(exclude, text_index, state.language)
        context = Context(
            store=self.store,
            librarian=self.librarian,
            recorder=recorder,
            prompts=chosen.folder,
            text_index=text_index,
            vectors=self._ready_vectors(state),
            embedder=self.embedder,
            gateway=self.gateway if self.settings.llm.model else None,
            reranker=self._reranker(state, text_index),
        )
        return chosen, context, state

    def _reranker(self, state: State, index: TextIndex | None) -> Reranker | None:
        """What looks at the best again; None without one. That by words is of one question."""
        spec = self.settings.rerank.model
        if spec is None or spec == "none":
            return None
        from graphrag_rdf.index.rerankers import reranker_for

        if spec.startswith("local:"):
            return self.cross_encoder
        return reranker_for(
            spec,
            lexical=QuestionWords.of(state.question, state.language, index).coverage,
            embedder=self.embedder,
            gateway_rerank=self._rerank_by_gateway,
        )

    def _language(self, question: str) -> str | None:
        """The language that most documents are in, unless the question's script says otherwise."""
        from graphrag_rdf.documents.language import detect_script

        by_script = detect_script(question)
        if by_script is not None:
            return by_script
        commit = self.store.content_commit()
        if self._spoken is None or self._spoken[0] != commit:  # counts every document: once for each commit
            rows = self.store.select("system/languages")
            self._spoken = commit, text_of(rows[0]["language"]) if rows else None
        return self._spoken[1]

    def _require_documents(self) -> None:
        if not self.store.ask("system/has-content"):
            where = self.place.root if self.place else "in memory"
            raise UsageError(f"the store {where} is empty", hint="run: graphrag-rdf ingest DOCUMENTS")

    def _ready_index(self, state: State) -> TextIndex | None:
        """The text index, brought up to the store if a killed run left it behind."""
        from graphrag_rdf.ingest.indexing import StoreIndexer

        try:
            index = self.text_index
            if index.commit_number == self.store.content_commit():
                return index
            if self._ingesting or self.read_only:
                state.warn("index_behind", "what was written last is not in the search index yet")
                return index
            with self._index_lock:
                if index.commit_number != self.store.content_commit():
                    log.info("the search index is behind the store: catching up")
                    StoreIndexer(self.store, index, self._ready_vectors(state), self.embedder).catch_up()
        except SearchIndexError as error:
            state.warn("index_missing", f"{error}; run: graphrag-rdf index rebuild")
            return None
        return index

    def _ready_vectors(self, state: State) -> VectorIndex | None:
        """The vector index; where it is damaged or of another model, words alone are searched."""
        try:
            return self.vectors
        except SearchIndexError as error:
            state.warn("index_missing", f"{error}; only words were searched; run: graphrag-rdf index rebuild")
            return None

    def _entities(
        self, names: Iterable[str], index: TextIndex | None, language: str | None
    ) -> list[NamedNode]:
        found: list[NamedNode] = []
        for name in names:
            entities = self._called(name, index, language)
            rows = self.store.select("retrieval/canonical", entities=entities) if entities else []
            if not rows:
                raise UsageError(
                    f"no entity is called {name!r}", hint="graphrag-rdf entities list shows the names"
                )
            found += [NamedNode(text_of(row["canonical"])) for row in rows]
        return found

    def _called(self, name: str, index: TextIndex | None, language: str | None) -> list[NamedNode]:
        if name.startswith(("http://", "https://", "urn:")):
            iris = [name]
        else:
            called = entities_called([name], store=self.store, index=index, language=language)
            iris = called.get(name, [])
        try:
            return [NamedNode(iri) for iri in iris]
        except ValueError:  # malformed, so nothing is called so
            return []

    def entity(self, name: str) -> NamedNode:
        """The one entity of a label or IRI; where it was merged, it itself, not what stands for it.

        Raises:
            UsageError: when there is none, or several.
        """
        self.indexer.recover()
        entities = self._called(name, self.text_index, None)
        rows = self.store.select("retrieval/canonical", entities=entities) if entities else []
        if not rows:
            raise UsageError(
                f"no entity is called {name!r}", hint="graphrag-rdf entities list shows the names"
            )
        known = own_names(name, sorted({text_of(row["entity"]) for row in rows}))
        if len(known) > 1:
            raise UsageError(f"{name!r} names several entities: {', '.join(known)}", hint="use the IRI")
        return NamedNode(known[0])


def endpoint_of(url: str, settings: Settings) -> Endpoint:
    """The endpoint that a URL and the settings `remote` name.

    Raises:
        UsageError: when the URL is none, or a collection is named: an endpoint has none.
    """
    if settings.collection != DEFAULT_COLLECTION:
        raise UsageError(
            f"an endpoint has no collection {settings.collection!r}",
            hint="name the endpoint of another dataset with --store",
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
    )
    return Endpoint(Addresses.of(url, remote.query_url, remote.update_url), spoken)


def check_question(question: str) -> str:
    """The question as it will be asked.

    Raises:
        UsageError: when it is empty, too long, or not text.
    """
    question = question.strip()
    if not question:
        raise UsageError("the question is empty", hint='graphrag-rdf ask "Who founded the company?"')
    if any("\ud800" <= character <= "\udfff" for character in question):
        raise UsageError("the question is not valid Unicode", hint="send it as UTF-8")
    if len(question) > MAX_QUESTION:
        raise UsageError(
            f"the question has {len(question):,} characters, more than {MAX_QUESTION:,}",
            hint="ask about a document after ingesting it",
        )
    return question
