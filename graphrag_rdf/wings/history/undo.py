"""Taking a change of the store back, as a new commit."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import STORE_NODE
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.trace.facts import read_labels
from graphrag_rdf.wings.history.difference import Difference, difference
from graphrag_rdf.wings.history.states import State, read_states

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.layout import StorePaths


def inverse(engine: Engine, place: StorePaths, commit: int | None) -> tuple[State, State, Difference]:
    """What takes the change of a commit back.

    Args:
        commit: the number of a state; None for the newest change that is not taken back.

    Returns:
        the state after the change, the one before, and the changes.

    Raises:
        UsageError: when it or the state before it is not kept, or a later change rests on it.
    """
    states = read_states(place)
    numbers = [state.commit for state in states]
    if commit is None and (commit := _newest(states[1:])) is None:
        raise UsageError(
            tr("there is no change left to take back"),
            hint=tr("graphrag-rdf log lists the states; the first one has none before it"),
        )
    if commit not in numbers[1:]:
        raise UsageError(
            tr("there is no change {commit} that can be taken back").format(commit=commit),
            hint=tr("graphrag-rdf log lists them; the first one has no state before it"),
        )
    after = states[numbers.index(commit)]
    before = states[numbers.index(commit) - 1]
    with closing(_store(engine, before)) as earlier, closing(_store(engine, after)) as later:
        change = difference(earlier, later)
        assert isinstance(engine.store, EmbeddedStore)  # noqa: S101 - it has a folder
        since = difference(later, engine.store)
    touched = set(map(_about, (*change.removed, *change.added)))
    rests = next((quad for quad in (*since.removed, *since.added) if _touches(quad, touched)), None)
    if rests is not None:
        thing = rests.subject if _about(rests) in touched else rests.object
        named = read_labels(engine.store, [thing]).get(text_of(thing), text_of(thing))
        raise UsageError(
            tr("a later change rests on commit {commit}: it changed what the store says of {thing}").format(
                commit=commit, thing=named
            ),
            hint=tr("take later changes back first, or use forget, facts remove --undo or entities split"),
        )
    return after, before, Difference(removed=change.added, added=change.removed)


def _newest(states: Sequence[State]) -> int | None:
    """The commit of the newest change that is not taken back."""
    undone: set[str] = set()
    for state in reversed(states):
        word, _, number = state.command.partition(" ")
        if str(state.commit) in undone:
            continue
        if word != "undo":
            return state.commit
        undone.add(number)
    return None


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


def _about(quad: Quad) -> object:
    """What a quad is about; of the store itself, one property."""
    return (quad.subject, quad.predicate) if quad.subject == STORE_NODE else quad.subject


def _touches(quad: Quad, touched: Container[object]) -> bool:
    return _about(quad) in touched or (isinstance(quad.object, NamedNode) and quad.object in touched)
