"""`log`, a list, `diff`, `undo`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.lists import command_of_list
from graphrag_rdf.cli.output import format_option, say, styled
from graphrag_rdf.cli.session import in_folder, load, open_engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.store.embedded import EmbeddedStore
    from graphrag_rdf.store.folder import StoreFolder
    from graphrag_rdf.wings.history.difference import Difference
    from graphrag_rdf.wings.history.states import State

_NOW = "now"


log_command = command_of_list("log")


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
    from graphrag_rdf.wings.history.difference import changed_facts, rdf_patch
    from graphrag_rdf.wings.history.states import find_state

    place = _place()
    first = find_state(place, before)
    second = None if after == _NOW else find_state(place, after)
    with _opened(first) as earlier, _opened(second) as later:
        changes = _difference(earlier, later)
        if form == "patch":
            output.write_text("".join(f"{line}\n" for line in rdf_patch(changes)))
            return
        removed, added = changed_facts(earlier.store, later.store, changes)
        reached = second.commit if second else later.store.commit_number()
    quads = {"removed": len(changes.removed), "added": len(changes.added)}
    out = {"from": first.commit, "to": reached, "removed": removed, "added": added, "quads": quads}
    if output.write(form, out):
        return
    say(tr("from {before} to {after}").format(before=first, after=second or tr("now")))
    _show(removed, added)
    say(tr("quads: {removed:,} removed, {added:,} added").format(**quads))


@click.command("undo", cls=Command, examples=["graphrag-rdf undo --dry-run", "graphrag-rdf undo 1204"])
@click.argument("commit", metavar="[COMMIT]", required=False, type=int)
@click.option("--dry-run", is_flag=True, help="Show the effect, and write nothing.")
@format_option()
def undo_command(commit: int | None, dry_run: bool, form: str) -> None:
    """Take back the last change of the store, or that of a commit, as a new commit.

    Again, it takes back the change before. The commit of an undo can be undone, too. An earlier change is
    taken back only if nothing later rests on what it touched.
    """
    from graphrag_rdf.wings.history.difference import changed_facts
    from graphrag_rdf.wings.history.states import COMMAND
    from graphrag_rdf.wings.history.undo import inverse, take_back

    with open_engine(beside=dry_run) as engine:
        state, before, changes = inverse(engine, _place(), commit)
        click.get_current_context().meta[COMMAND] = f"undo {state.commit}"
        with _opened(before) as former:
            removed, added = changed_facts(engine.store, former.store, changes)
        if not dry_run:
            take_back(engine, changes)
    quads = {"removed": len(changes.removed), "added": len(changes.added)}
    out = {"commit": state.commit, "removed": removed, "added": added, "quads": quads, "dry_run": dry_run}
    if output.write(form, out):
        return
    say(
        (tr("would take back {command}: {state}") if dry_run else tr("took back {command}: {state}")).format(
            command=state.command, state=state
        )
    )
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
