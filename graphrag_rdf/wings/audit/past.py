"""A trace checked against the store as it was when the question was asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyoxigraph import NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import StoreFolder
from graphrag_rdf.trace.reader import read_trace, trace_quads
from graphrag_rdf.wing import load, wings
from graphrag_rdf.wings.audit.verify import Check, verify_trace

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


@dataclass(frozen=True, slots=True)
class Past:
    """The checks of a trace against an earlier state.

    Attributes:
        state: in words.
        commit: its number.
        checks: see `verify_trace`.
    """

    state: str
    commit: int
    checks: Sequence[Check]

    @property
    def ok(self) -> bool:
        """Whether none fails."""
        return all(check.ok is not False and not check.changed for check in self.checks)


def verify_in_past(engine: Engine, session: NamedNode) -> Past | None:
    """Check a trace against the newest kept state from before its question.

    The trace itself is that of the store as it is now; a copy of the state gets it, and is deleted.

    Returns:
        None if no such state is kept.

    Raises:
        StoreError: when the log of states was changed.
    """
    commit = read_trace(engine.store, session, engine.blobs).commit
    state = _state(engine, commit)
    if state is None or engine.place is None:
        return None
    copy = StoreFolder(engine.place.new_copy().root)
    try:
        with closing(engine.at(state.folder)) as past:
            assert isinstance(past.store, EmbeddedStore)  # noqa: S101 - it has a folder
            past.store.snapshot(copy.database)
        with closing(EmbeddedStore(engine.store.templates, copy.database, blobs=engine.blobs)) as store:
            quads = trace_quads(engine.store, session, with_sources=False)
            store.commit(Changes(add=quads, content=False, trace=True))
            checks = verify_trace(store, engine.blobs, session)
    finally:
        copy.delete()
        with suppress(OSError):  # others may have something in it
            engine.place.snapshots.rmdir()
    return Past(str(state), state.commit, checks)


def _state(engine: Engine, commit: int | None) -> Any:
    """The newest state that is not newer than a commit; None if there is none, or the store keeps none."""
    finders = [wing.past for wing in wings() if wing.past]
    if commit is None or not finders or engine.place is None or engine.place.past is not None:
        return None
    try:
        return load(finders[0])(engine.place, str(commit))
    except UsageError:
        return None
