"""`log`, `diff`, `undo`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.output import format_option, say, styled
from graphrag_rdf.cli.session import in_folder, load, open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import ngettext, tr
from graphrag_rdf.trace.lines import human_size

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.embedded import EmbeddedStore
    from graphrag_rdf.store.folder import StoreFolder
    from graphrag_rdf.wings.history.difference import Difference
    from graphrag_rdf.wings.history.states import State

_FACTS = 10_000
_NOW = "now"
_COUNTS = ("documents", "entities", "facts")


@click.command(
    "log",
    cls=Command,
    examples=[
        "graphrag-rdf log",
        'graphrag-rdf log --entity "Ada Lovelace"',
        "graphrag-rdf log --document report.pdf --format json",
    ],
)
@click.option("--entity", metavar="NAME", help="Facts about this entity that each change added or removed.")
@click.option(
    "--document", metavar="NAME", help="Facts from this document that each change added or removed."
)
@format_option()
def log_command(entity: str | None, document: str | None, form: str) -> None:
    """List the earlier states of the store, and who changed what.

    A state is kept after each command that changes more than traces. Commands that read take `--at COMMIT` or
    `--at TIME`.
    """
    from graphrag_rdf.wings.history.states import read_states, size_of

    place = _place()
    states = read_states(place)
    filters = {name: text for name, text in (("entity", entity), ("document", document)) if text}
    if filters:
        _write_changes(states, filters, form)
        return
    rows: list[dict[str, Any]] = [
        {
            "commit": state.commit,
            "time": state.time.isoformat(),
            "by": state.by,
            "command": state.command,
            "kept": state.folder is not None,
            **_counts(state),
        }
        for state in states
    ]
    if output.write(form, rows):
        return
    columns = ("commit", "time", "by", "command", *_COUNTS)
    for row, state in zip(rows, states, strict=True):
        row["time"] = f"{state.time.astimezone():%Y-%m-%d %H:%M}"
    output.table(
        [tr(name) for name in columns],
        [["" if row[name] is None else row[name] for name in columns] for row in rows],
        numbers=[tr(name) for name in ("commit", *_COUNTS)],
    )
    kept = [state for state in states if state.folder is not None]
    say()
    say(
        ngettext(
            "{number} state can be read with --at; {size} beside the store",
            "{number} states can be read with --at; {size} beside the store",
            len(kept),
        ).format(number=len(kept), size=human_size(size_of(place, kept)))
    )


def _counts(state: State) -> dict[str, int | None]:
    """What a state holds; None where it is no longer kept."""
    if state.folder is None:
        return dict.fromkeys(_COUNTS)
    with _opened(state) as engine:
        row = engine.store.select("server/counts")[0]
    return {name: row[name] for name in _COUNTS}


def _write_changes(states: list[State], filters: dict[str, str], form: str) -> None:
    """What each change added to a list of facts, or removed from it."""
    from graphrag_rdf.lists.declaration import Asked, lists

    changes: list[dict[str, Any]] = []
    before: dict[tuple[str, str, str], str] = {}
    for state in states:
        if state.folder is None:
            continue
        with _opened(state) as engine:
            try:
                facts = lists()["facts"].items(engine, Asked(_FACTS, 0, filters))
            except UsageError:  # not yet known, or no more
                facts = []
        after = {(str(fact["s"]), str(fact["p"]), str(fact["o"])): _words(fact) for fact in facts}
        entry: dict[str, Any] = {
            "commit": state.commit,
            "time": state.time.isoformat(),
            "by": state.by,
            "command": state.command,
            "removed": [words for key, words in before.items() if key not in after],
            "added": [words for key, words in after.items() if key not in before],
        }
        if entry["removed"] or entry["added"]:
            changes.append(entry)
        before = after
    if output.write(form, changes):
        return
    for entry in changes:
        when = f"{entry['time'][:16].replace('T', ' ')} UTC"
        say(styled(f"{entry['commit']}  {when}  {entry['by']}  {entry['command']}", bold=True))
        _show(entry["removed"], entry["added"])
    if not changes:
        say(tr("no change is known"))


def _words(fact: Mapping[str, Any]) -> str:
    return f"{fact['s_label']} {fact['p_label']} {fact.get('o_written') or fact['o_label']}"


def _show(removed: list[str], added: list[str]) -> None:
    for words in removed:
        say(styled(f"  - {output.one_line(words)}", fg="red"))
    for words in added:
        say(styled(f"  + {output.one_line(words)}", fg="green"))


@click.command(
    "diff",
    cls=Command,
    examples=[
        "graphrag-rdf diff 1204",
        "graphrag-rdf diff 2026-03-31 2026-04-30",
        "graphrag-rdf diff 1204 1310 --format patch > changes.rdfp",
    ],
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", default=_NOW)
@format_option("text", "json", "patch")
def diff_command(before: str, after: str, form: str) -> None:
    """Show the facts that changed between two states, or since one.

    A and B are commits or times, as of `--at`. `--format patch` writes all changed quads but traces as an RDF
    Patch.
    """
    from graphrag_rdf.wings.history.difference import facts_in_words, rdf_patch
    from graphrag_rdf.wings.history.states import find_state

    place = _place()
    first = find_state(place, before)
    with _opened(first) as earlier, _opened(None if after == _NOW else find_state(place, after)) as later:
        changes = _difference(earlier, later)
        if form == "patch":
            output.write_text("".join(f"{line}\n" for line in rdf_patch(changes)))
            return
        removed = facts_in_words(earlier.store, changes.removed)
        added = facts_in_words(later.store, changes.added)
    quads = {"removed": len(changes.removed), "added": len(changes.added)}
    if output.write(form, {"from": first.commit, "removed": removed, "added": added, "quads": quads}):
        return
    _show(removed, added)
    say(tr("quads: {removed:,} removed, {added:,} added").format(**quads))


@click.command("undo", cls=Command, examples=["graphrag-rdf undo --dry-run", "graphrag-rdf undo 1204"])
@click.argument("commit", metavar="[COMMIT]", required=False, type=int)
@click.option("--dry-run", is_flag=True, help="Show the effect, and write nothing.")
@format_option()
def undo_command(commit: int | None, dry_run: bool, form: str) -> None:
    """Take back the last change of the store, or that of a commit, as a new commit.

    An earlier change is taken back only if nothing later rests on what it touched.
    """
    from graphrag_rdf.wings.history.difference import facts_in_words
    from graphrag_rdf.wings.history.undo import inverse, take_back

    with open_engine(beside=dry_run) as engine:
        state, changes = inverse(engine, _place(), commit)
        removed = facts_in_words(engine.store, changes.removed)
        if not dry_run:
            take_back(engine, changes)
        added = facts_in_words(engine.store, changes.added)
    quads = {"removed": len(changes.removed), "added": len(changes.added)}
    out = {"commit": state.commit, "removed": removed, "added": added, "quads": quads, "dry_run": dry_run}
    if output.write(form, out):
        return
    _show(removed, added)
    say(tr("quads: {removed:,} removed, {added:,} added").format(**quads))


def _difference(before: Engine, after: Engine) -> Difference:
    from graphrag_rdf.wings.history.difference import difference

    return difference(_embedded(before), _embedded(after))


def _embedded(engine: Engine) -> EmbeddedStore:
    from graphrag_rdf.store.embedded import EmbeddedStore

    assert isinstance(engine.store, EmbeddedStore)  # noqa: S101 - see `_place`
    return engine.store


@contextmanager
def _opened(state: State | None) -> Iterator[Engine]:
    """The store as it was, or as it is."""
    from graphrag_rdf.engine import Engine

    if state is None:
        with open_engine(beside=True, read_only=True) as engine:
            yield engine
        return
    with Engine.open(config=load(), create=False, past=state.folder) as engine:
        yield engine


def _place() -> StoreFolder:
    from graphrag_rdf.store.folder import StoreFolder

    settings = load().settings
    if not in_folder(settings):
        raise UsageError(tr("only a store in a folder has a history"))
    return StoreFolder.of_collection(Path(settings.store), settings.collection)
