"""What a process keeps in memory from one question to the next, because it depends on the store only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from graphrag_rdf.rdf.namespaces import METADATA
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.store.base import Store
from graphrag_rdf.trace.recorder import RecordedQuery, Step

T = TypeVar("T")
_kept: WeakKeyDictionary[Store, dict[str, tuple[object, Any, list[RecordedQuery]]]] = WeakKeyDictionary()
"""Store → by name: what the result depends on, the result, and the queries that found it."""


def keep(context: Context, step: Step, name: str, depends_on: object, find: Callable[[], T]) -> T:
    """What `find` returns, or returned when it was last called for the store with an equal `depends_on`. The
    step then records the queries of that time as cached.

    Args:
        step: records the queries that `find` runs.
        name: of what is found; a process keeps one result of each name.
        depends_on: a commit number of the store, and what else the result depends on.
        find: its result is shared by questions, so nobody may change it.
    """
    key = (depends_on, context.recorder.detail)  # the latter decides which queries are recorded
    of_store = _kept.setdefault(context.store, {})
    known, result, queries = of_store.get(name, (None, None, []))
    if known == key:
        context.recorder.cached(step, queries)
        return result  # type: ignore[no-any-return]
    before = len(step.queries)
    found = find()
    of_store[name] = key, found, step.queries[before:]
    return found


_held: WeakKeyDictionary[Store, tuple[int, frozenset[str]]] = WeakKeyDictionary()
"""Store → its `knowledge_commit`, and what it had then."""


def held(store: Store, state: State) -> frozenset[str]:
    """What the store has that few stores have (see `retrieval/held`), so that a run asks for nothing that is
    not there: asked once, until something changes. No trace records it.
    """
    if state.held is None:
        commit = store.knowledge_commit()
        if _held.get(store, (None,))[0] != commit:
            rows = store.select("retrieval/held", relations=list(METADATA))
            _held[store] = commit, frozenset(row["what"] for row in rows)
        state.held = _held[store][1]
    return state.held
