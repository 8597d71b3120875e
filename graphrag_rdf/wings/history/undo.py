"""Taking a change of the store back, as a new commit."""

from __future__ import annotations

from collections.abc import Container
from contextlib import closing
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.trace.facts import label_of, read_labels
from graphrag_rdf.wings.history.difference import Difference, difference
from graphrag_rdf.wings.history.states import State, read_states

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.layout import StorePaths


def inverse(engine: Engine, place: StorePaths, commit: int | None) -> tuple[State, Difference]:
    """What takes the change of a commit back.

    Args:
        commit: the number of a state; None for the newest.

    Raises:
        UsageError: when it or the state before it is not kept, or a later change rests on it.
    """
    states = read_states(place)
    numbers = [state.commit for state in states]
    if commit is None and len(states) > 1:
        commit = numbers[-1]
    if commit not in numbers[1:]:
        raise UsageError(
            tr("there is no change {commit} that can be taken back").format(commit=commit or ""),
            hint=tr("graphrag-rdf log lists them; the first one has no state before it"),
        )
    after = states[numbers.index(commit)]
    before = states[numbers.index(commit) - 1]
    with closing(_store(engine, before)) as earlier, closing(_store(engine, after)) as later:
        change = difference(earlier, later)
        assert isinstance(engine.store, EmbeddedStore)  # noqa: S101 - it has a folder
        since = difference(later, engine.store)
    touched = {quad.subject for quad in (*change.removed, *change.added)}
    rests = _touching([*since.removed, *since.added], touched)
    if rests is not None:
        named = label_of(rests, read_labels(engine.store, [rests]))
        raise UsageError(
            tr("a later change rests on commit {commit}: it changed what the store says of {thing}").format(
                commit=commit, thing=named
            ),
            hint=tr("take later changes back first, or use forget, facts remove --undo or entities split"),
        )
    return after, Difference(removed=change.added, added=change.removed)


def take_back(engine: Engine, changes: Difference) -> None:
    """Commit the inverse of a change, and bring the indexes up to date."""
    engine.store.commit(Changes(remove=changes.removed, add=changes.added))
    engine.indexer.catch_up()


def _store(engine: Engine, state: State) -> EmbeddedStore:
    if state.folder is None:
        raise UsageError(
            tr("{state} is no longer kept").format(state=state), hint=tr("graphrag-rdf log lists those kept")
        )
    return EmbeddedStore(engine.store.templates, state.folder / "oxigraph", read_only=True)


def _touching(quads: list[Quad], things: Container[object]) -> NamedNode | None:
    """A thing that one of the quads is about."""
    for quad in quads:
        for term in (quad.subject, quad.object):
            if term in things and isinstance(term, NamedNode):
                return term
    return None
