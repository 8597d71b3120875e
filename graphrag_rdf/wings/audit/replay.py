"""Questions of traces asked again: as they were, or as if something were not there.

Both are asked of a copy of the store, so that nothing of it changes and no trace is left: of a store in a
folder a snapshot by hard links with a copy of the indexes, of any other a copy in memory. What shall not be
there is really taken out of the copy, by what takes it out of a store; so the answer is the one that the
store would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf import layout
from graphrag_rdf.editing import Facts
from graphrag_rdf.errors import LlmError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.retract import retire_chunks, retire_documents, retract_subgraphs
from graphrag_rdf.prepare import asked_trace
from graphrag_rdf.store.base import Changes, plain_quads
from graphrag_rdf.store.blobs import BlobStore
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.trace.model import Trace
from graphrag_rdf.trace.reader import read_trace
from graphrag_rdf.wings.audit.difference import ASKED, Difference, differences

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine

Write: TypeAlias = Callable[[Callable[[], object]], None]
"""Runs something while nobody writes to the store, and returns when it is done."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A question asked again.

    Attributes:
        before: the trace, as it is stored.
        after: the new run.
        kept: whether the new run left its trace in the store.
    """

    before: Trace
    after: Trace
    differences: Sequence[Difference]
    kept: bool

    @property
    def same(self) -> bool:
        """Whether the same was found and answered."""
        return all(difference.what in ASKED for difference in self.differences)

    def json_object(self) -> dict[str, Any]:
        """The keys of `trace replay --format json`."""
        return {
            "trace": self.before.iri,
            "question": self.before.question,
            "same": self.same,
            "differences": self.differences,
            "answer": self.after.answer,
            "replayed": self.after.iri if self.kept else None,
        }


@dataclass(frozen=True, slots=True)
class Without:
    """A question asked as if something were not there, and as things are.

    Attributes:
        trace: the trace whose question it is.
        taken: what was taken out of the copy, in words.
        before: the run with it, as things are now.
        after: the run without it.
        differences: between these two.
        since: between the trace and the run with it: what changed since the trace was made.
    """

    trace: Trace
    taken: Sequence[str]
    before: Trace
    after: Trace
    differences: Sequence[Difference]
    since: Sequence[Difference]

    @property
    def changed(self) -> bool:
        """Whether another answer was given."""
        own = (difference for difference in self.differences if difference.run is None)
        return any(difference.what in ("answer", "outcome") for difference in own)

    def json_object(self) -> dict[str, Any]:
        """The keys of `trace ask-without --format json`."""
        return {
            "trace": self.trace.iri,
            "question": self.trace.question,
            "without": self.taken,
            "changed": self.changed,
            "answer": self.before.answer,
            "answer_without": self.after.answer,
            "selections": self.after.selections,
            "differences": self.differences,
            "since_the_trace": self.since,
        }


def at_once(work: Callable[[], object]) -> None:
    """Of a store that nobody else writes to."""
    work()


def replay(
    engine: Engine, name: str, *, model: str | None = None, stored: bool = False, alone: Write = at_once
) -> Replay:
    """Ask the question of a trace again, with its pipeline, parameters, entities and model, if that is the
    one in the settings.

    An answer that was given again is asked for as it was the first time. Kept answers are not taken.

    Args:
        name: see `find_trace`.
        model: another one; `none` for none.
        stored: leave the trace of the new run in the store.
        alone: how the copy is made while others write.

    Raises:
        UsageError: when there is no such trace, another program wrote it, or its question was erased.
        ConfigError: when its pipeline is not there any more, or does not know how a step worked.
        LlmError: when its model cannot be asked.
    """
    before = asked_trace(engine, name)
    if stored:
        settings = _model_of(engine, before, model)
        again = engine.over(engine.store, engine.blobs, settings, engine.place)
        try:
            after = _ask(again, before)
        finally:  # the store is the other engine's, the index it opened its own
            if "text_index" in again.__dict__:
                again.text_index.close()
    else:
        with _copy(engine, before, model, alone) as copied:
            after = _ask(copied, before)
    return Replay(before, after, differences(before, after), stored)


def ask_without(
    engine: Engine,
    name: str,
    *,
    facts: Sequence[tuple[str, str, str]] = (),
    documents: Sequence[str] = (),
    sources: Sequence[str] = (),
    with_sentences: bool = False,
    model: str | None = None,
    alone: Write = at_once,
) -> Without:
    """Ask the question of a trace as if something were not there, and, to compare, as things are.

    Args:
        name, model, alone: as of `replay`.
        facts: each three terms or labels.
        documents: by IRI, identity, path or title.
        sources: IRIs of chunks; imported files, or corrections by hand, by IRI or name.
        with_sentences: leave out the sentences of the facts too.

    Raises:
        UsageError: as `replay`; also when nothing is named, or a named thing does not exist.
        ConfigError, LlmError: as `replay`.
    """
    if not (facts or documents or sources):
        raise UsageError(
            tr("nothing to leave out: name a fact, document or chunk"),
            hint=tr("give --fact, --document or --source"),
        )
    trace = asked_trace(engine, name)
    with _copy(engine, trace, model, alone) as copied:
        before = _ask(copied, trace)
        taken = [
            *_without_facts(copied, facts, with_sentences=with_sentences),
            *_without_documents(copied, documents),
            *(_without_source(copied, source) for source in sources),
        ]
        after = _ask(copied, trace)
    return Without(trace, taken, before, after, differences(before, after), differences(trace, before))


def asked_again(engine: Engine, trace: Trace, model: str | None = None) -> Trace:
    """A new run of the question of a trace that the store need not have, on a copy; see `replay`."""
    with _copy(engine, trace, model, at_once) as copied:
        return _ask(copied, trace)


# --- the question --------------------------------------------------------------------------------


def _ask(engine: Engine, trace: Trace) -> Trace:
    session = last = None
    for message in engine.ask_as(trace, cache=False):
        last = message
        if message.kind == "session" and message.run is None:
            session = message.explain_id
    assert session is not None and last is not None  # noqa: S101, PT018 - a run has at least its session
    if last.error is not None and trace.outcome != "failed":
        raise LlmError(last.error["message"], kind="server", hint=last.error.get("hint"))
    return read_trace(engine.store, session, engine.blobs, with_runs=True)


# --- the copy ------------------------------------------------------------------------------------


class _Above(BlobStore):
    """Keeps texts in memory, and reads those of another blob store."""

    def __init__(self, below: BlobStore) -> None:
        super().__init__()
        self._below = below

    def get(self, iri: NamedNode | str) -> bytes | None:
        """See `BlobStore.get`."""
        data = super().get(iri)
        return self._below.get(iri) if data is None else data


@contextmanager
def _copy(engine: Engine, trace: Trace, model: str | None, alone: Write) -> Iterator[Engine]:
    """A copy that asks the model of a trace, or another one."""
    with copy_of(engine, _model_of(engine, trace, model), alone) as copied:
        yield copied


@contextmanager
def copy_of(engine: Engine, settings: Settings, alone: Write = at_once) -> Iterator[Engine]:
    """A copy of a store, to be changed at will; its blob store reads from that of the store."""
    blobs = _Above(engine.blobs)
    if engine.place is None or not isinstance(engine.store, EmbeddedStore):
        memory = EmbeddedStore(engine.store.templates)
        alone(lambda: memory.bulk_add(plain_quads(engine.store)))
        with closing(engine.over(memory, blobs, settings, None)) as copied:
            yield copied
        return
    place = StoreFolder(engine.place.new_copy().root)
    try:
        alone(lambda: _copy_files(engine, place))
        store = EmbeddedStore(engine.store.templates, place.database)
        with closing(engine.over(store, blobs, settings, place)) as copied:
            yield copied
    finally:
        place.delete()
        with suppress(OSError):  # others may have something in it
            engine.place.snapshots.rmdir()


def _copy_files(engine: Engine, place: StoreFolder) -> None:
    assert engine.place is not None and isinstance(engine.store, EmbeddedStore)  # noqa: S101, PT018 - see _copy
    engine.indexer.recover()
    engine.indexer.flush(final=True)
    engine.store.snapshot(place.database)
    layout.copy(engine.place.index, place.index, layout.INDEX)


def _model_of(engine: Engine, trace: Trace, model: str | None) -> Settings:
    """The settings of an engine that asks the model of a trace, or another one.

    Raises:
        UsageError: when only the trace names the model: whoever wrote the trace must not decide where the
            question is sent.
    """
    asked = trace.model if model is None else model
    if model is None and asked not in (None, engine.settings.llm.model):
        raise UsageError(
            tr("the trace used the model {asked}, which is not in your settings").format(asked=asked),
            hint=tr("name it with --model {asked}, or use --model none for rules only").format(asked=asked),
        )
    llm = engine.settings.llm.model_copy(update={"model": None if asked == "none" else asked})
    return engine.settings.model_copy(update={"llm": llm})


# --- leaving out ---------------------------------------------------------------------------------


def _without_facts(
    engine: Engine, facts: Sequence[tuple[str, str, str]], *, with_sentences: bool
) -> Iterator[str]:
    for fact in facts:
        done = Facts(engine).remove(*fact, with_sentences=with_sentences)
        if not done.facts:
            raise UsageError(
                tr("({fact}) is removed already").format(fact=", ".join(fact)),
                hint=tr("see: graphrag-rdf facts decisions"),
            )
        message = (
            tr("fact ({fact}), with its sentences ({sentences})") if with_sentences else tr("fact ({fact})")
        )
        yield message.format(fact=", ".join(fact), sentences=len(done.sentences))


def _without_documents(engine: Engine, names: Sequence[str]) -> Iterator[str]:
    if names:
        documents = find_documents(engine.store, names)
        retire_documents(engine.store, documents, engine.indexer)
        yield from (f"document {document.value}" for document in documents)


def _without_source(engine: Engine, name: str) -> str:
    """Remove a chunk, or the facts of an imported file or a correction."""
    store = engine.store
    try:
        chunk = [NamedNode(name)] if ":" in name else []
    except ValueError:
        chunk = []
    if chunk and store.select("index/chunks", chunks=chunk):
        retire_chunks(store, chunk, engine.indexer)
        return f"chunk {name}"
    drawn = store.select("audit/drawn-from", name=name)
    if not drawn:
        raise UsageError(
            tr("unknown source {name!r}").format(name=name),
            hint=tr("give the IRI of a chunk or an imported file; name documents with --document"),
        )
    subgraphs = [row["subgraph"] for row in drawn]
    changes = Changes()
    held = store.select("ingest/contained-in-subgraphs", subgraphs=subgraphs)
    retract_subgraphs(store, subgraphs, changes)
    store.commit(changes)
    things = [row["s"] for row in held if isinstance(row["s"], NamedNode)]
    engine.indexer.changed(entities=[*things, *settle(store)])
    engine.indexer.flush(final=True)
    return f"source {', '.join(dict.fromkeys(row['source'] for row in drawn))}"


__all__ = ["Replay", "Without", "ask_without", "replay"]
