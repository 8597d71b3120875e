"""The Python API: open a store, ingest, ask. The command line and the server are thin over it."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pyoxigraph import NamedNode

from graphrag_rdf.components import Components, is_read_only, open_store
from graphrag_rdf.config import Loaded, Settings, given_settings, load_settings
from graphrag_rdf.errors import ConfigError, GraphRagError, StoreError, UnknownParameterError, UsageError
from graphrag_rdf.from_thread import from_thread
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.live_settings import LiveSettings, pipeline_folders
from graphrag_rdf.pipeline import Pipeline, load_pipeline
from graphrag_rdf.prepare import asked_trace, check_question, depends, prepare, recorded_settings
from graphrag_rdf.steps.answer import edge_json
from graphrag_rdf.steps.passages import describe
from graphrag_rdf.steps.search import one_entity
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.store.base import Store
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.trace import citations
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import end_thread
from graphrag_rdf.trace.reuse import find_answer, reuse_of
from graphrag_rdf.wing import load, wings

if TYPE_CHECKING:
    from graphrag_rdf.editing import Facts
    from graphrag_rdf.ingest.extractors import ChunkExtractor
    from graphrag_rdf.ingest.files import Upload
    from graphrag_rdf.ingest.model_stage import StageReport
    from graphrag_rdf.ingest.report import IngestReport
    from graphrag_rdf.ingest.schedule import Progress, Stop
    from graphrag_rdf.trace.model import Trace
    from graphrag_rdf.trace.traces import Traces

log = logging.getLogger(__name__)


_TRUST_HINT = later("use it with: graphrag-rdf config trust")


def _untrusted(key: str, value: object) -> str:
    message = tr("the store sets {key} = {value}, which you have not set or trusted on this computer")
    return message.format(key=key, value=value)


RESUME = "resume"
"""The parameter of a step that takes over what an earlier trace has."""


class Engine(Components):
    """A store with what works on it.

    Use `Engine.open`; close it, or use it in a `with` statement.

    Args:
        store, blobs: already open.
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
        blobs: BlobStore,
        settings: Settings,
        place: StoreFolder | None,
        *,
        read_only: bool = False,
        loaded: Loaded | None = None,
    ) -> None:
        super().__init__(store, blobs, settings, place, read_only=read_only)
        self.loaded = loaded or given_settings(settings)
        self.warnings: list[dict[str, str]] = []
        self._closed = False
        self._rested = store.knowledge_commit()
        self.written: datetime | None = None
        """When a server's last write ended."""
        store.renderer.trace_graph = NamedNode(settings.trace.graph)
        self.live = LiveSettings(store, settings, self.known_as, writable=not read_only)
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
        copy: Path | None = None,
        past: Path | None = None,
    ) -> Self:
        """Open a store.

        Args:
            store: its folder, or the URL of a SPARQL endpoint; None takes the setting `store`; `:memory:`
                keeps everything in memory.
            config: settings; None reads them as the command line does.
            create: make the store when it is missing.
            read_only: write nothing at all into its folder; questions leave no trace then. So is a store
                opened that this user cannot write, unless `create` is set.
            copy: a frozen copy of the store's database, to read in its place (see `store.frozen`).
            past: the folder of an earlier state, to read in its place.

        Raises:
            StoreError: when it is missing and not to be made, damaged, out of reach, or from a newer program.
            StoreLockedError: when another process holds it.
            UsageError: when the URL is none, or a collection of an endpoint is named.
            ConfigError: when settings are wrong.
        """
        loaded = given_settings(config) if isinstance(config, Settings) else config or load_settings()
        settings = loaded.settings
        where = str(store if store is not None else settings.store)
        read_only = read_only or bool(copy or past) or (not create and is_read_only(where, settings))
        opened, blobs, place = open_store(
            where, settings, create=create, read_only=read_only, copy=copy, past=past
        )
        engine = cls(opened, blobs, settings, place, read_only=read_only, loaded=loaded)
        if not read_only and place is not None and place.is_unsettled:
            engine._settle()
        if not read_only:
            engine._show_wings(opening=True)
        return engine

    def _settle(self) -> None:
        """Finish what a killed process left. If that fails, the next process tries again."""
        from graphrag_rdf.ingest.recovery import settle_interrupted

        assert self.place is not None  # noqa: S101 - see `open`
        try:
            with self.keeping_indexes():
                settle_interrupted(self)
            self.place.note_settled()
        except GraphRagError as error:
            log.warning(tr("what a killed process left cannot be settled yet: %s"), error)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Let go of the store and its indexes, after rewriting files that hold forgotten text. Closing twice
        does nothing.
        """
        if not self._closed and not self.read_only and isinstance(self.store, EmbeddedStore):
            self._rewrite_forgotten()
        try:
            self.rest()
        finally:
            self._release()

    def rest(self) -> None:
        """Show the store to wings between writes, if more than traces has changed since the last time."""
        if self._closed or self.read_only or self._rested == self.store.knowledge_commit():
            return
        self._show_wings(opening=False)
        self._rested = self.store.knowledge_commit()

    def _show_wings(self, *, opening: bool) -> None:
        for wing in wings():
            if wing.rests:
                load(wing.rests)(self, opening=opening)

    def _rewrite_forgotten(self) -> None:
        """Rewrite the files, if an erasure is pending. If that fails, the next process tries again."""
        try:
            if self.store.select("checks/erasures-finished", limit=1):
                from graphrag_rdf.ingest.forget import rewrite_files

                log.warning(tr("rewriting the database, so that its files do not hold forgotten text"))
                rewrite_files(self)
        except GraphRagError as error:
            log.warning("%s", error)

    def _release(self) -> None:
        self._closed = True
        if "text_index" in self.__dict__:
            self.text_index.close()
        end_thread(self.store)
        try:
            if self.place is not None and not self.read_only:
                self.place.release()  # first: afterwards the notes may be another process's
        finally:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.close()
            else:
                self._release()
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
        in_force = self.live.read()
        self.renew(in_force.settings)
        return in_force.version

    @property
    def settings_version(self) -> NamedNode | None:
        """The version of the settings that the store keeps, as read last; None where it keeps none."""
        return self.live.now.version

    def over(self, store: Store, blobs: BlobStore, settings: Settings, place: StoreFolder | None) -> Self:
        """An engine as this one over another store, e.g. a copy; who asks for it closes it."""
        return type(self)(store, blobs, settings, place)

    def at(self, past: Path) -> Self:
        """An engine over an earlier state of this store, to read; who asks for it closes it.

        Args:
            past: the folder of the state.
        """
        assert self.place is not None  # noqa: S101 - memory has no states
        place = replace(self.place, past=past, copy=None)
        store, blobs = place.open(self.store.templates, create=False, read_only=True)
        return type(self)(store, blobs, self.settings, place, read_only=True, loaded=self.loaded)

    def pipeline(self, name: str) -> Pipeline:
        """A pipeline by name, with the parameters that the store keeps. Raises ConfigError when unknown."""
        return load_pipeline(name, pipeline_folders(self.settings)).with_stored(self.live.now.steps)

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
        exclude: Sequence[str] = (),
    ) -> IngestReport:
        """Read documents and extract facts into the store; one run at a time.

        Args:
            paths: files, folders and globs.
            refresh: extract everything anew.
            sync: forget documents of these folders that are gone from disk, and follow moved ones.
            progress: hears of each finished chunk.
            stop: asked between chunks whether the run should end; what is in hand is finished first.
            root: folder by which documents are named, above all paths; None takes the paths themselves.
            exclude: globs of files and folders to leave out, by name, or by path below a named folder.

        Raises:
            LlmError: when the model cannot be used at all.
            StoreError: when the store refuses a write.
            ConfigError: when the store keeps settings that cannot be.
        """
        from graphrag_rdf.ingest.files import ingest_files

        return self._ingest(
            lambda: ingest_files(
                self,
                paths,
                refresh=refresh,
                sync=sync,
                progress=progress,
                stop=stop,
                root=root,
                exclude=exclude,
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
        from graphrag_rdf.ingest.files import refresh_texts

        return self._ingest(
            lambda: refresh_texts(self, documents, mentions_only=mentions_only, progress=progress, stop=stop)
        )

    def _ingest(self, run: Callable[[], IngestReport]) -> IngestReport:
        """One run of the ingest at a time; it alone keeps the indexes meanwhile."""
        with self.keeping_indexes():
            self._take_settings()
            self._require_trust()
            return run()

    def _require_trust(self) -> None:
        """Refuse to write with other models than the store names.

        Raises:
            ConfigError: when the store names models that the user does not trust.
        """
        for key, value in self.live.now.untrusted.items():
            raise ConfigError(_untrusted(key, value), hint=tr(_TRUST_HINT))

    def refresh(
        self,
        stage: str,
        documents: Sequence[NamedNode] = (),
        *,
        again: bool = False,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> StageReport:
        """Run a stage that follows the documents: `relations`, `claims`, `summaries` or `communities`.

        Args:
            stage: its name; see `ingest.model_stage`.
            documents: only what belongs to these, if the stage can do that; empty: all.
            again: also do what is done, without the cache.
            progress: called with each finished task.
            stop: asked between tasks whether the run should end.

        Raises:
            UsageError: there is no such stage, or relations of a part would be built with other settings than
                the rest.
            ConfigError: when a model is needed and none is set, a package is missing, or the store keeps
                settings that cannot be.
            LlmError: when the model cannot be used at all.
        """
        from graphrag_rdf.ingest.model_stage import refresh
        from graphrag_rdf.ingest.stages import model_stage

        self._take_settings()
        self._require_trust()
        kind = model_stage(stage)
        return refresh(self, kind, documents, again=again, progress=progress, stop=stop)

    def extractor(self) -> ChunkExtractor:
        """The extractor that the settings ask for."""
        from graphrag_rdf.ingest.extractors import choose_extractor

        return choose_extractor(self.settings, lambda: self.gateway, self.store)

    def entity(self, name: str) -> NamedNode:
        """The one entity of a label or IRI; where it was merged, it itself, not what stands for it.

        Raises:
            UsageError: when there is none, or several.
        """
        if not self.read_only:
            self.indexer.recover()
        return one_entity(name, self.store, self.text_index)

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
        new_session: bool = False,
        optional: Mapping[str, str] | None = None,
    ) -> Generator[GraphRagResponse, None, None]:
        """Answer a question; the messages of the run, the last with the whole answer.

        An answer of a model is given again, with a trace that points to the first, while everything that it
        depends on is as it was: the store's content, pipeline, prompts, parameters, model, filters, question.

        Args:
            pipeline: a folder of pipelines/.
            settings: `step.parameter` → value, as text; also `synthesis.citation_style`.
            include, exclude: labels or IRIs of entities that must be, or must not be, followed.
            stored: write the trace (else it is only streamed, with a warning); a store that is open for
                reading keeps none.
            cache: give kept answers again, of this question and of the model; False asks anew.
            session: the trace of an earlier question that this one goes on with (see `find_trace`); its
                questions and answers tell what "she" and "it" are.
            new_session: if no trace has the UUID in `session`, this question gets it; otherwise an unknown
                one is an error.
            optional: as `settings`, but what the pipeline does not have is ignored, with a warning.

        Raises:
            UsageError: for an empty or oversized question, an unknown entity or session, or an empty store.
            ConfigError: for an unknown pipeline, step or parameter.
        """
        stored = stored and not self.read_only
        chosen, context, state = self._prepared(
            *(question, pipeline, settings, optional),
            include=include,
            exclude=exclude,
            stored=stored,
            session=session,
            new_session=new_session,
        )
        if not stored:
            state.warn(
                "trace_not_stored", tr("the store is read-only: this trace was streamed but not stored")
            )
        model = self.settings.llm.model
        if model is None:
            state.warn("no_llm", tr("No language model is configured: this answer quotes the documents."))
        kept = None
        if not cache and context.gateway is not None:
            context = replace(context, gateway=self.fresh_gateway())
        if cache and stored and model is not None and self.settings.answers.cache:
            reuse = reuse_of(self.store, depends(self, chosen, state, model, context.recorder.citation_style))
            kept = find_answer(self.store, self.blobs, reuse.key)
            context = replace(context, reuse=reuse)
        run = chosen.run(context, state, model=model, kept=kept)
        for wing in wings():
            run = load(wing.watches)(run) if wing.watches else run
        return run

    def _prepared(
        self,
        question: str,
        pipeline: str,
        settings: Mapping[str, str] | None,
        optional: Mapping[str, str] | None = None,
        **options: Any,
    ) -> tuple[Pipeline, Context, State]:
        question = check_question(question)
        self.loaded.require_trust("pipelines")  # its files may have changed while this process runs
        version = self._take_settings()
        chosen, ignored = self.pipeline(pipeline), []
        for key, text in (optional or {}).items():
            try:
                chosen = chosen.with_settings({key: text})
            except UnknownParameterError:
                ignored.append(key)
        settings = dict(settings or {})
        style = citations.read_style(settings.pop(citations.SETTING, self.settings.synthesis.citation_style))
        chosen = chosen.with_settings(settings)
        context, state = prepare(self, chosen, question, version=version, citation_style=style, **options)
        for key, value in self.live.now.untrusted.items():
            state.warn(
                "setting_not_trusted",
                tr(
                    "the store sets {key} = {value}, which you have not set or trusted on this computer, so "
                    "it was ignored: use it with: graphrag-rdf config trust"
                ).format(key=key, value=value),
            )
        chosen_settings = {**self.live.now.steps.get(pipeline, {}), **settings}
        with_model = self.settings.llm.model is not None
        for key, why in chosen.without_effect(chosen_settings, with_model=with_model).items():
            state.warn("setting_ignored", tr("{key} had no effect: {why}").format(key=key, why=why))
        if ignored:
            state.warn(
                "setting_ignored",
                tr("{pipeline} does not have {ignored}").format(
                    pipeline=pipeline, ignored=", ".join(ignored)
                ),
            )
        for words in (*self.live.now.notes(), *chosen.unused):
            state.warn("setting_ignored", words)
        return chosen, context, state

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
    def facts(self) -> Facts:
        """Removing and correcting facts by hand, and taking that back."""
        from graphrag_rdf.editing import Facts

        return Facts(self)

    @property
    def traces(self) -> Traces:
        """What was asked, and how the answers came about."""
        from graphrag_rdf.trace.traces import Traces

        return Traces(self.store, self.blobs)

    def ask_as(
        self, trace: Trace, settings: Mapping[str, str] | None = None, *, cache: bool = True
    ) -> Generator[GraphRagResponse, None, None]:
        """Ask the question of a trace with its pipeline, parameters, entities and session.

        Args:
            trace: see `prepare.asked_trace`.
            settings: as of `ask`; others are those of the trace.
            cache: as of `ask`.

        Raises:
            ConfigError: when its pipeline is not there any more, or does not know how a step worked.
        """
        assert trace.kind is not None  # noqa: S101 - see asked_trace
        with_model = self.settings.llm.model is not None
        recorded = recorded_settings(self.pipeline(trace.kind), trace, with_model=with_model)
        return self.ask(
            trace.question,
            trace.kind,
            settings={**recorded, **(settings or {})},
            include=trace.include,
            exclude=trace.exclude,
            cache=cache,
            session=trace.continues,
        )

    def resume(
        self, trace: str, *, settings: Mapping[str, str] | None = None, cache: bool = True
    ) -> Generator[GraphRagResponse, None, None]:
        """Go on with the search of a trace that was stopped: its question is asked as `ask_as` does, and a
        step takes over what the trace has.

        Args:
            trace: see `find_trace`.

        Raises:
            UsageError: as `prepare.asked_trace`; also when no step of its pipeline can take anything over.
            ConfigError: as `ask_as`.
        """
        earlier = asked_trace(self, trace)
        steps = self.pipeline(str(earlier.kind)).definition.steps
        taking = next((step.name for step in steps if RESUME in step.kind.parameters), None)
        if taking is None:
            raise UsageError(
                tr("a run of {kind} cannot be resumed").format(kind=earlier.kind),
                hint=tr("graphrag-rdf trace replay {iri} asks again").format(iri=earlier.iri),
            )
        return self.ask_as(earlier, {**(settings or {}), f"{taking}.{RESUME}": earlier.iri}, cache=cache)

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
            raise UsageError(tr("cannot rank {k} results").format(k=k), hint=tr("k must be 1 or more"))
        wanted, stored = stored, stored and not self.read_only
        chosen, context, state = self._prepared(
            question, pipeline, settings, include=include, exclude=exclude, stored=stored, streamed=stored
        )
        if wanted and not stored:
            state.warn("trace_not_stored", tr("the store is read-only: no trace was stored"))
        trace = [*chosen.explore(context, state, model=self.settings.llm.model)]
        passages = state.passages[:k]
        out: dict[str, Any] = {
            "question": state.question,
            "results": describe(context, state, passages, paths=preview),
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
