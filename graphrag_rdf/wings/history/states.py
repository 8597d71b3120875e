"""States of a store: hard links to the files of its database and indexes, and a log of who made them.

    history/42/oxigraph, history/42/index    the store after commit 42
    history/log.jsonl                        one line for each state: commit, time, user, command

The files of RocksDB, Tantivy and vector segments are written once, so a link keeps them as they were. A state
takes milliseconds, and disk space only for what the store itself has replaced since. Each line of the log has
the hash of the line before it, so a changed line is found. Lines hold no words of documents: `forget` deletes
all states and leaves the log.
"""

from __future__ import annotations

import calendar
import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf import layout
from graphrag_rdf.errors import StoreError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf import iris
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.generations import is_database
from graphrag_rdf.wings.history.settings import HistorySection

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine
    from graphrag_rdf.layout import StorePaths

log = logging.getLogger(__name__)

_LOG = "log.jsonl"
_TIME = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class State:
    """A state of the store.

    Attributes:
        commit: the number of its newest commit.
        time: when it was kept, UTC.
        by: the user of this computer.
        command: that changed the store, or the server.
        previous: SHA-256 of the line before it in the log; empty in the first line.
        folder: None once it is deleted.
    """

    commit: int
    time: datetime
    by: str
    command: str
    previous: str = ""
    folder: Path | None = None

    def __str__(self) -> str:
        return tr("the state of commit {commit}, {time}").format(
            commit=self.commit, time=f"{self.time.astimezone():%Y-%m-%d %H:%M}"
        )


def keep_state(engine: Engine) -> None:
    """Keep the state of a store, and delete states that are no longer kept. Failures are warnings, since what
    was written is in the store.
    """
    settings = engine.settings.of(HistorySection)
    store, place = engine.store, engine.place
    if place is None or not isinstance(store, EmbeddedStore):
        return
    if settings.keep != "none":
        context = click.get_current_context(silent=True)
        command = context.command_path.partition(" ")[2] if context else _program()
        state = State(store.commit_number(), datetime.now(UTC), _user(), command)
        try:
            _link(store, place, place.history / str(state.commit))
            _append(place, state)
        except OSError as error:
            log.warning(
                tr("cannot keep the state of the store in {path}: {cause}").format(
                    path=place.history, cause=error.strerror
                )
            )
    try:
        _delete_old(place, settings)
    except StoreError as error:
        log.warning("%s", error)


def _user() -> str:
    """The user of this process; in a container it may have a number only."""
    try:
        return getuser()
    except (KeyError, OSError):
        return str(os.getuid()) if hasattr(os, "getuid") else ""


def _program() -> str:
    """What changes a store outside of a command: a thread of the server, or a program in Python."""
    return "serve" if "serve" in sys.argv[1:] else "python"


def read_states(place: StorePaths) -> list[State]:
    """The states in the log, the oldest first.

    Raises:
        StoreError: when a line was changed or is missing.
    """
    states, previous = [], ""
    for line in _lines(place):
        try:
            entry = json.loads(line)
            time = datetime.fromisoformat(entry["time"])
            state = State(entry["commit"], time, entry["by"], entry["command"], entry["previous"])
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(place, line) from error
        if state.previous != previous:
            raise _damaged(place, line)
        folder = place.history / str(state.commit)
        states.append(replace(state, folder=folder if is_database(folder / "oxigraph") else None))
        previous = iris.digest(line)
    return states


def find_state(place: StorePaths, at: str) -> State:
    """The newest state that is not newer than a commit or a time.

    Args:
        at: number of a commit, or a time in ISO 8601: a year, month or day means its end. Without an offset
            it is local time.

    Raises:
        UsageError: when it is neither, or no such state is kept.
        StoreError: see `read_states`.
    """
    kept = [state for state in read_states(place) if state.folder is not None]
    if at.isdigit() and (len(at) != len("2026") or any(state.commit == int(at) for state in kept)):
        before = [state for state in kept if state.commit <= int(at)]
    else:
        limit = _end_of(at)
        before = [state for state in kept if state.time <= limit]
    if before:
        return before[-1]
    if not kept:
        raise UsageError(
            tr("this store keeps no earlier states"),
            hint=tr("the setting history.keep says for how many days they are kept; forget deletes all"),
        )
    raise UsageError(
        tr("no state is as old as {at}; the oldest is {state}").format(at=at, state=kept[0]),
        hint=tr("graphrag-rdf log lists them"),
    )


def _end_of(text: str) -> datetime:
    """The end of a year, month or day; other times as they are."""
    try:
        if match := _TIME.fullmatch(text):
            year, month, day = (int(part) if part else None for part in match.groups())
            month, day = (month or 12), (day or calendar.monthrange(year or 1, month or 12)[1])
            return datetime(year or 1, month, day).astimezone() + timedelta(days=1)
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise UsageError(
            tr("neither a commit nor a time: {text!r}").format(text=text),
            hint=tr("such as 1204, 2026-03, 2026-03-31 or 2026-03-31T14:00"),
        ) from error


def size_of(place: StorePaths, states: Sequence[State]) -> int:
    """Bytes of states that the store itself does not use."""
    return _own_bytes(place, [state.folder for state in states if state.folder is not None])


def _own_bytes(place: StorePaths, folders: Sequence[Path]) -> int:
    used = {file.stat().st_ino for part in (place.database, place.index) for file in _files(part)}
    sizes = {entry.st_ino: entry.st_size for folder in folders for entry in map(os.stat, _files(folder))}
    return sum(size for inode, size in sizes.items() if inode not in used)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _link(store: EmbeddedStore, place: StorePaths, folder: Path) -> None:
    """Make the folder of a state."""
    layout.remove(folder, layout.STATE)
    folder.mkdir(parents=True)
    store.snapshot(folder / "oxigraph")
    for entry in layout.entries(place.index, layout.INDEX):
        if entry.own and entry.name is not None and entry.name.shape is None:
            target = folder / "index" / entry.path.relative_to(place.index)
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a lock
                _link_or_copy(entry.path, target)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:  # a filesystem without links
        shutil.copyfile(source, target)


def _lines(place: StorePaths) -> list[str]:
    try:
        return layout.read(place.history / _LOG).decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _append(place: StorePaths, state: State) -> None:
    lines = _lines(place)
    entry = asdict(state) | {
        "time": state.time.isoformat(),
        "previous": iris.digest(lines[-1]) if lines else "",
    }
    del entry["folder"]
    layout.write(place.history / _LOG, "".join(f"{line}\n" for line in [*lines, json.dumps(entry)]))


def _damaged(place: StorePaths, line: str) -> StoreError:
    return StoreError(
        tr("{path} was changed: {line}").format(path=place.history / _LOG, line=line[:200]),
        hint=tr("restore it from a backup, or move the folder {path} elsewhere").format(path=place.history),
    )


def _delete_old(place: StorePaths, settings: HistorySection) -> None:
    """Delete states beyond the limits. The newest stays, and the newest that is older than the kept days."""
    kept = [state for state in read_states(place) if state.folder is not None]
    if settings.keep == "none":
        drop = kept
    elif settings.keep == "all":
        drop = []
    else:
        limit = datetime.now(UTC) - timedelta(days=settings.keep)
        drop = [state for state in kept if state.time < limit][:-1]
    remaining = [state for state in kept if state not in drop]
    while len(remaining) > 1 and size_of(place, remaining) > settings.max_mb * _MEGABYTE:
        drop.append(remaining.pop(0))
    for state in drop:
        if state.folder is not None:
            layout.remove(state.folder, layout.STATE)
