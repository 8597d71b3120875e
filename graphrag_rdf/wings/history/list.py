"""The list of earlier states, and of what each change did to an entity or document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, ngettext, tr
from graphrag_rdf.lists.declaration import Asked, Column, Filter, Item, List, register

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.wings.history.states import State

_FACTS = 10_000
_COUNTS = ("documents", "entities", "facts")


def _states(engine: Engine, asked: Asked) -> Iterable[dict[str, Any]]:
    """The states, the newest first; with a filter, those whose change concerns the entity or document."""
    from graphrag_rdf.store.remote import RemoteStore
    from graphrag_rdf.wings.history.states import own_sizes, read_states

    if engine.place is None or isinstance(engine.store, RemoteStore):
        raise UsageError(tr("only a store in a folder has a history"))
    if engine.place.past is not None:
        raise UsageError(tr("--at has no effect here"), hint=tr("the list has all states"))
    states = read_states(engine.place)
    if asked.values:
        items = [*_changes(engine, states, asked.values)]
    else:
        items = [
            {**_item(state), **_counts(engine, state), "bytes": sum(own.values()), "changes": []}
            for state, own in zip(states, own_sizes(engine.place, states), strict=True)
        ]
    end = None if asked.limit is None else asked.offset + asked.limit
    return items[::-1][asked.offset : end]


def _item(state: State) -> dict[str, Any]:
    return {
        "commit": state.commit,
        "time": state.time.isoformat(),
        "by": state.by,
        "command": state.command,
        "kept": state.folder is not None,
    }


def _counts(engine: Engine, state: State) -> dict[str, int | None]:
    """What a state holds; None where it is no longer kept."""
    if state.folder is None:
        return dict.fromkeys(_COUNTS)
    with engine.at(state.folder) as past:
        row = past.store.select("server/counts")[0]
    return {name: row[name] for name in _COUNTS}


def _changes(engine: Engine, states: Sequence[State], filters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The changes that added facts to a list of them, or removed some.

    Raises:
        UsageError: when no state has what a filter names.
    """
    from graphrag_rdf.lists.declaration import lists
    from graphrag_rdf.lists.facts import object_in_words

    before: set[str] | None = None if states and states[0].folder is None else set()
    kept = [state for state in states if state.folder is not None]
    unknown = 0
    for state in kept:
        assert state.folder is not None  # noqa: S101 - it is kept
        with engine.at(state.folder) as past:
            try:
                facts = lists()["facts"].items(past, Asked(_FACTS, 0, filters))
            except UsageError:  # not yet in the store, or no more
                facts = []
                unknown += 1
                if unknown == len(kept):
                    raise
        after = {f"{fact['s_label']} {fact['p_label']} {object_in_words(fact)}" for fact in facts}
        earlier = after if before is None else before  # what came before the first state is not kept
        changes = [
            *(f"- {words}" for words in sorted(earlier - after)),
            *(f"+ {words}" for words in sorted(after - earlier)),
        ]
        if changes:
            yield {**_item(state), **dict.fromkeys((*_COUNTS, "bytes")), "changes": changes}
        before = after


def _notes(items: Iterable[Item], asked: Asked) -> Iterator[str]:
    number = sum(item["kept"] for item in items)
    if not asked.values:
        yield ngettext(
            "{number} state can be read with --at", "{number} states can be read with --at", number
        ).format(number=number)


register(
    List(
        "history",
        later("Earlier states"),
        "List the earlier states of the store, the newest first, and who changed what.\n\nA state is kept "
        "after each command that changes more than traces. Commands that read take `--at COMMIT` or "
        "`--at TIME`.",
        columns=(
            Column("commit", later("commit"), "count"),
            Column("time", later("time"), "moment"),
            Column("by", later("by")),
            Column("command", later("command")),
            Column("documents", later("documents"), "count"),
            Column("entities", later("entities"), "count"),
            Column("facts", later("facts"), "count"),
            Column("bytes", later("size"), "size"),
            Column("changes", later("changes"), below="both"),
            Column("kept", kind="truth"),
        ),
        filters=(
            Filter(
                "entity",
                "Facts about this entity that each change added or removed.",
                label=later("Entity"),
            ),
            Filter(
                "document",
                "Facts from this document that each change added or removed.",
                label=later("Document"),
            ),
            Filter(
                "relation",
                "Facts with this relation that each change added or removed.",
                label=later("Relation"),
            ),
        ),
        command="log",
        path="/history",
        examples=(
            "graphrag-rdf log",
            'graphrag-rdf log --entity "Ada Lovelace" --relation "born on"',
            "graphrag-rdf log --document report.pdf --format json",
        ),
        read=_states,
        none=later("no state is kept yet"),
        no_match=later("no change is known"),
        intro=later("A state is kept after each change. `diff` compares two of them, `--at` reads one."),
        notes=_notes,
    )
)
