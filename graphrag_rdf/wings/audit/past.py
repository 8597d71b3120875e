"""The store as it was when the question of a trace was asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.trace.reader import read_trace, trace_quads
from graphrag_rdf.wing import finder_of_states
from graphrag_rdf.wings.audit.verify import Check, verify_trace

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


@dataclass(frozen=True, slots=True)
class Past:
    """The newest kept state from before a question.

    Attributes:
        name: in words.
        commit: its number.
        store: a copy of it, to which the trace was added.
        checks: of the trace in it, see `verify_trace`.
    """

    name: str
    commit: int
    store: EmbeddedStore
    checks: Sequence[Check]

    @property
    def ok(self) -> bool:
        """Whether all is as it was."""
        return all_holds(self.checks)


def all_holds(checks: Sequence[Check]) -> bool:
    """Whether no check fails, and nothing has changed."""
    return all(check.ok is not False and not check.changed for check in checks)


@contextmanager
def past_of(engine: Engine, session: NamedNode) -> Iterator[Past | None]:
    """The state of the store when the question of a trace was asked; None if none from before is kept.

    The trace itself is that of the store as it is now. The copy is deleted at the end.

    Raises:
        StoreError: when the log of states was changed.
    """
    state = _state(engine, read_trace(engine.store, session, engine.blobs).commit)
    if state is None or engine.place is None:
        yield None
        return
    try:
        copy = StoreFolder(engine.place.new_copy().root)
    except OSError:  # a folder that is only read
        yield None
        return
    try:
        with closing(engine.at(state.folder)) as past:
            assert isinstance(past.store, EmbeddedStore)  # noqa: S101 - it has a folder
            past.store.snapshot(copy.database)
        with closing(EmbeddedStore(engine.store.templates, copy.database, blobs=engine.blobs)) as store:
            quads = trace_quads(engine.store, session, with_sources=False)
            store.commit(Changes(add=quads, content=False, trace=True))
            yield Past(str(state), state.commit, store, verify_trace(store, engine.blobs, session))
    finally:
        copy.delete()
        with suppress(OSError):  # others may have something in it
            engine.place.snapshots.rmdir()


def _state(engine: Engine, commit: int | None) -> Any:
    """The newest state that is not newer than a commit; None if there is none, or the store keeps none."""
    find_state = finder_of_states()
    if commit is None or find_state is None or engine.place is None or engine.place.past is not None:
        return None
    try:
        return find_state(engine.place, str(commit))
    except UsageError:
        return None
