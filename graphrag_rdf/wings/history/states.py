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
from collections.abc import Iterator, Mapping, Sequence
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

COMMAND = "graphrag_rdf.history.command"
"""Key of what the log calls the command at hand, in its context."""
_LOG = "log.jsonl"
_TIME = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?)?")
_MEGABYTE = 1 << 20
_DIGITS, _YEARS = 18, range(1900, 2101)
"""Digits of a commit's number; numbers that are years, if there is no such commit yet."""
UNKNOWN = "?"
"""The command of changes that no state was kept for at the time."""


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


def keep_state(engine: Engine, *, opening: bool = False) -> None:
    """Keep the state of a store, and delete states that are no longer kept. Failures are warnings, since what
    was written is in the store.

    Args:
        opening: the store was just opened. What has changed since the newest state, by a process that was
            killed or before the history was switched on, is a state then, so that no change hides another.
    """
    settings = engine.settings.of(HistorySection)
    store, place = engine.store, engine.place
    if place is None or not isinstance(store, EmbeddedStore):
        return
    try:
        if settings.keep != "none" and not (opening and _is_kept(store, place)):
            command = UNKNOWN if opening else _command()
            moment = engine.written or datetime.now(UTC)
            state = State(store.commit_number(), moment, "" if opening else _user(), command)
            _link(store, place, place.history / str(state.commit))
            _append(place, state)
        if not opening:
            _delete_old(place, settings)
    except OSError as error:
        log.warning(
            tr("cannot keep the state of the store in {path}: {cause}").format(
                path=place.history, cause=error.strerror
            )
        )
    except StoreError as error:
        log.warning("%s", error.message)


def _is_kept(store: EmbeddedStore, place: StorePaths) -> bool:
    """Whether documents, facts and names are those of the newest state, or there is nothing to keep."""
    states = read_states(place)
    if not states:
        return not store.ask("facts/any-evidence")
    return store.content_commit() <= states[-1].commit


def _command() -> str:
    context = click.get_current_context(silent=True)
    if context is None:
        return "serve" if "serve" in sys.argv[1:] else "python"
    command: str = context.meta.get(COMMAND, context.command_path.partition(" ")[2])
    return command


def _user() -> str:
    """The user of this process; in a container it may have a number only."""
    try:
        return getuser()
    except (KeyError, OSError):
        return str(os.getuid()) if hasattr(os, "getuid") else ""


def read_states(place: StorePaths) -> list[State]:
    """The states in the log, the oldest first.

    Raises:
        StoreError: when a line was changed or is missing.
    """
    states, previous, changed = [], "", ""
    for line in _lines(place):
        try:
            entry = json.loads(line)
            time = datetime.fromisoformat(entry["time"])
            state = State(entry["commit"], time, entry["by"], entry["command"], entry["previous"])
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(place, line) from error
        if state.previous != previous:
            raise _damaged(place, changed or line)
        folder = place.history / str(state.commit)
        states.append(replace(state, folder=folder if is_database(folder / "oxigraph") else None))
        previous, changed = iris.digest(line), line
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
    states = read_states(place)
    kept = [state for state in states if state.folder is not None]
    newest = states[-1].commit if states else 0
    number = int(at) if at.isascii() and at.isdigit() and len(at) <= _DIGITS else None
    if number is not None and (number <= newest or number not in _YEARS):
        if number > newest:
            raise UsageError(
                tr("there is no commit {number}; the newest state is of commit {newest}").format(
                    number=number, newest=newest
                ),
                hint=tr("graphrag-rdf log lists them"),
            )
        before = [state for state in kept if state.commit <= number]
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
    """The end of a year, month, day, minute or second; other times as they are."""
    try:
        if match := _TIME.fullmatch(text):
            year, month, day = (int(part) if part else None for part in match.groups())
            month, day = (month or 12), (day or calendar.monthrange(year or 1, month or 12)[1])
            return datetime(year or 1, month, day).astimezone() + timedelta(days=1)
        seconds = 60 if re.search(r"T\d\d:\d\d(?!:?\d)", text) else 0 if "." in text else 1
        return datetime.fromisoformat(text).astimezone() + timedelta(seconds=seconds)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            tr("neither a commit nor a time: {text!r}").format(text=text),
            hint=tr("such as 1204, 2026-03, 2026-03-31 or 2026-03-31T14:00"),
        ) from error


def own_sizes(place: StorePaths, states: Sequence[State]) -> list[dict[int, int]]:
    """Of each state the number of a file → its bytes, of files that the store itself does not use."""
    used = {file.stat().st_ino for part in (place.database, place.index) for file in _files(part)}
    entries = ([file.stat() for file in _files(state.folder)] if state.folder else [] for state in states)
    return [{file.st_ino: file.st_size for file in each if file.st_ino not in used} for each in entries]


def _total(sizes: Sequence[Mapping[int, int]]) -> int:
    return sum({number: size for each in sizes for number, size in each.items()}.values())


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
    """Delete states beyond the limits, and what a killed process began.

    Of states older than an hour one in each hour stays, of those older than a day one in each day; always the
    newest, and the newest that is older than the kept days.
    """
    kept = [state for state in read_states(place) if state.folder is not None]
    stay = [] if settings.keep == "none" else _thinned(kept)
    if isinstance(settings.keep, int):
        limit = datetime.now(UTC) - timedelta(days=settings.keep)
        stay = [*[state for state in stay if state.time < limit][-1:], *(s for s in stay if s.time >= limit)]
    sizes = own_sizes(place, stay)
    while len(stay) > 1 and _total(sizes) > settings.max_mb * _MEGABYTE:
        del stay[0], sizes[0]
    names = {str(state.commit) for state in stay}
    for folder in layout.own(place.history, layout.STATES):
        if folder.name not in names:
            layout.remove(folder, layout.STATE)


def _thinned(states: Sequence[State]) -> list[State]:
    today = datetime.now(UTC)
    of_period: dict[object, State] = {}
    for state in states:
        age = today - state.time
        hour = state.time.replace(minute=0, second=0, microsecond=0)
        period = (
            state.commit if age < timedelta(hours=1) else hour if age < timedelta(days=1) else hour.date()
        )
        of_period[period] = state
    return sorted({*of_period.values(), *states[-1:]}, key=lambda state: state.commit)
