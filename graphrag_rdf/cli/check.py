"""`check`: check the integrity of the store, in a process with a memory limit."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.exchange import not_in_dumps
from graphrag_rdf.cli.output import format_option, one_line, say, styled
from graphrag_rdf.cli.process import DONE, FAILED
from graphrag_rdf.cli.session import copy_beside, in_folder, load, open_engine
from graphrag_rdf.errors import (
    RAISE_FILES,
    GraphRagError,
    SearchIndexError,
    StoreError,
    StoreLockedError,
    StoreMissingError,
    is_out_of_files,
    is_out_of_memory,
    short_cause,
)
from graphrag_rdf.i18n import counted, later, listed, tr

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from graphrag_rdf.checks import Violation
    from graphrag_rdf.checks.findings import Finding
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine

_COLOURS = {later("error"): "red", later("warning"): "yellow"}
_STORE = "urn:graphrag-rdf:store"
_BEHIND = later(
    "a search index is missing, or lacks the newest data. The next question or ingest updates it, or run "
    "graphrag-rdf index rebuild"
)
_MEMORY_MB = 768
_SHOWN = 3
"""Findings of one check in the text; JSON has all."""
OWN_SHAPES = "own"
"""`--shapes` without a value."""
_SKIPPED = later(
    "--full also reads every quad through every index of the database, and every record of the search indexes"
)


@click.command(
    cls=Command,
    examples=[
        "graphrag-rdf check",
        "graphrag-rdf check --full --format json",
        "graphrag-rdf check --shapes ships.ttl",
    ],
)
@click.option(
    "--full", is_flag=True, help="Also read every quad through every index, and the search indexes."
)
@click.option(
    "--shapes",
    metavar="[FILE|IRI]",
    is_flag=False,
    flag_value=OWN_SHAPES,
    multiple=True,
    help="Also validate the facts with these SHACL shapes, and without a value the whole store with the "
    "program's own (needs pySHACL); may be repeated.",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(min=256),
    help=f"Memory limit of the check (default: {_MEMORY_MB} plus the size of the store).",
)
@format_option()
def check_command(full: bool, shapes: tuple[str, ...], memory_mb: int | None, form: str) -> int:
    """Check the integrity of the whole store; exit code 1 if there are errors.

    Warnings are left by killed runs; the next run repairs them. The facts are also validated with the shapes
    that the setting validation.shapes names. Each finding shows the quotes, pages and documents of what it is
    about.
    """

    loaded = load()
    settings = loaded.settings
    try:
        if in_folder(settings):
            limit = memory_mb or _MEMORY_MB + _size_mb(settings)
            try:
                found = bounded(lambda: _findings(full=full, shapes=shapes), limit)
            except StoreLockedError as error:
                copy = copy_beside(loaded, error)
                found = bounded(lambda: _findings(full=full, shapes=shapes, copy=copy), limit)
        else:
            found = _findings(full=full, shapes=shapes)
    except ProcessEndedError as error:
        found = [_plain(_given_up(error))]
    if not output.write(form, found):
        for check, group in groupby(found, key=attrgetter("check")):
            _show(check, list(group))
        say(_summary(found))
    if not full:
        output.note(tr(_SKIPPED))
    return FAILED if any(finding.severity == "error" for finding in found) else DONE


def _show(check: str, found: Sequence[Finding]) -> None:
    """Print the findings of a check; of many only the first ones."""
    shown = found if len(found) <= _SHOWN + 1 else found[:_SHOWN]
    for finding in shown:
        mark = styled(tr(finding.severity), fg=_COLOURS[finding.severity])
        about = f"{finding.focus_label} " if finding.focus_label else ""
        say(f"{mark}  {one_line(finding.check)}  {one_line(about + finding.focus)}")
        say(output.wrapped(finding.message, indent="    "))
        for place in finding.sources:
            say(output.wrapped(output.quoted(place.quote, place.title, place.page_number), indent="      "))
    if more := len(found) - len(shown):
        said = tr("and {more:,} more of {check}; --format json lists all").format(more=more, check=check)
        say(output.wrapped(said, indent="  "))
    if check == "object-missing" and more:
        say(output.wrapped(not_in_dumps(), indent="  "))


def _findings(*, full: bool, shapes: Sequence[str], copy: Path | None = None) -> list[Finding]:
    try:
        engine = open_engine(copy=copy)
    except (StoreMissingError, StoreLockedError):
        raise
    except StoreError as error:
        if error.__cause__ is None or _is_limit(error):  # None: the store was made by a newer program
            raise
        return [_plain(_damage(error.message))]
    found: list[Finding] = []
    try:
        with _errors_of_libraries(), engine:
            _of_engine(engine, found, full=full, shapes=shapes)
    except (StoreError, UnreadableError) as error:
        if _is_limit(error):
            raise
        found.append(_plain(_damage(str(error))))
    return found


def _is_limit(error: BaseException) -> bool:
    """Whether a limit of this process is the cause, not damage."""
    chain = (error, error.__cause__ or error)
    return any(is_out_of_memory(one) or is_out_of_files(str(one)) for one in chain)


def _given_up(error: Exception) -> Violation:
    """The violation that follows from the end of the process that read the store.

    Raises:
        StoreError: when a memory limit may be the cause.
    """
    from graphrag_rdf.store.embedded import process_limit

    if (limit := process_limit("RLIMIT_AS")) is not None:
        raise StoreError(
            tr(
                "the check stopped: {error}. This process may use only {limit:,} MB of memory (ulimit -v)"
            ).format(error=error, limit=limit >> 20),
            hint=tr("raise the limit (ulimit -v unlimited), and check again"),
        ) from error
    return _damage(tr("reading the store stopped: {error}").format(error=error))


def _plain(violation: Violation) -> Finding:
    from graphrag_rdf.checks.findings import Finding

    return Finding(violation.check, violation.severity, violation.focus, violation.message)


def _of_engine(engine: Engine, found: list[Finding], *, full: bool, shapes: Sequence[str]) -> None:
    """Add the findings to a list. After an error, it has the earlier findings, without their sources."""
    from graphrag_rdf.checks.findings import validated, with_sources

    start = len(found)
    found.extend(_plain(each) for each in _of_store(engine, full=full, own_shapes=OWN_SHAPES in shapes))
    found[start:] = with_sources(engine.store, found[start:])
    validation = engine.settings.validation
    own = list(validation.shapes) if validation.is_on else []
    if given := [*dict.fromkeys((*own, *(each for each in shapes if each != OWN_SHAPES)))]:
        found += validated(engine.store, given)


def _of_store(engine: Engine, *, full: bool, own_shapes: bool) -> Iterator[Violation]:
    from graphrag_rdf.checks import Violation, run_checks, run_shapes
    from graphrag_rdf.store.base import plain_quads

    if full:  # first: queries fail on a damaged block too, with a worse message
        yield from _of_database(engine)
    index = None
    try:
        with _errors_of_libraries():
            index = engine.text_index
    except SearchIndexError as error:
        if _is_limit(error):
            raise
        yield Violation("index-damaged", "error", _STORE, f"{error.message} {error.hint or ''}".strip())
    except UnreadableError as error:
        yield _damage_of_index(error)
    yield from run_checks(engine.store, engine.blobs, index)
    if full and index is not None:
        yield from _of_indexes(engine)
    if own_shapes:
        yield from run_shapes(plain_quads(engine.store))


def _of_database(engine: Engine) -> Iterator[Violation]:
    from graphrag_rdf.store.embedded import EmbeddedStore
    from graphrag_rdf.store.generations import engine_faults

    if isinstance(engine.store, EmbeddedStore):
        with engine.store.reading() as database:
            for message in engine_faults(database):
                yield _damage(message)


def _of_indexes(engine: Engine) -> Iterator[Violation]:
    from graphrag_rdf.checks import LIMIT, Violation
    from graphrag_rdf.index.manifest import LACKS

    try:
        with _errors_of_libraries():
            found = engine.indexer.differences()
            if engine.indexer.is_behind:
                yield Violation("index-behind", "warning", _STORE, tr(_BEHIND))
                found = ((focus, message) for focus, message in found if not message.endswith(tr(LACKS)))
            for focus, message in islice(found, LIMIT):
                told = tr("{difference}: run graphrag-rdf index rebuild").format(difference=message)
                yield Violation("index-differs", "error", focus, told)
    except (SearchIndexError, UnreadableError) as error:
        yield _damage_of_index(error)


class UnreadableError(Exception):
    """A library failed while it read a file of the store."""


@contextmanager
def _errors_of_libraries() -> Iterator[None]:
    """Raise errors of libraries as `UnreadableError`, but for lack of memory."""
    try:
        yield
    except BaseException as error:  # a panic of a Rust library is no `Exception`
        if is_out_of_files(str(error)) and not isinstance(error, GraphRagError):
            said = tr("cannot read the store: {cause}").format(cause=short_cause(error))
            raise StoreError(said, hint=tr(RAISE_FILES)) from error
        panic = type(error).__name__ == "PanicException"
        if is_out_of_memory(error) or not (panic or isinstance(error, OSError | RuntimeError | ValueError)):
            raise
        raise UnreadableError(str(error)) from error


def _damage_of_index(error: Exception) -> Violation:
    from graphrag_rdf.checks import Violation

    return Violation(
        "index-damaged",
        "error",
        _STORE,
        tr("the search index cannot be read: {error}: run graphrag-rdf index rebuild").format(error=error),
    )


def _damage(message: str) -> Violation:
    """A violation about the database, with the file if the engine names one."""
    from graphrag_rdf.checks import Violation
    from graphrag_rdf.store.generations import file_of

    told = tr("{damage}: restore the store from a backup, or ingest into a new folder")
    return Violation("database-damaged", "error", file_of(message) or _STORE, told.format(damage=message))


def _size_mb(settings: Settings) -> int:
    from graphrag_rdf.checks.diagnosis import folder_size

    return folder_size(Path(settings.store)) >> 20


def _summary(found: list[Finding]) -> str:
    errors = sum(finding.severity == "error" for finding in found)
    if not found:
        return tr("no errors, no warnings")
    return listed(
        (
            counted("{count:,} error", "{count:,} errors", errors),
            counted("{count:,} warning", "{count:,} warnings", len(found) - errors),
        )
    )


# --- a process with a memory limit -----------------------------------------------------------------


T = TypeVar("T")


class ProcessEndedError(Exception):
    """The process ended without a result: it ran out of memory, or a library aborted it."""


def bounded(work: Callable[[], T], limit_mb: int) -> T:
    """The result of work in a forked process with a memory limit. Without fork (Windows), it runs in this
    process, without a limit. This process must not have opened an embedded store: the threads of RocksDB do
    not survive a fork, and the new process would wait for them.

    Args:
        work: its result or exception can be pickled.
        limit_mb: memory that the process may use on top of its initial memory, in 2^20 bytes.

    Raises:
        ProcessEndedError: when the process ended without a result.
        Exception: the exception of the work.
    """
    if not hasattr(os, "fork"):
        return work()
    import multiprocessing

    fork = multiprocessing.get_context("fork")
    results, theirs = fork.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    process = fork.Process(target=_work, args=(work, limit_mb, theirs))
    process.start()
    theirs.close()
    try:
        raised, found = results.recv()
    except EOFError:
        process.join()
        raise ProcessEndedError(_reason(process.exitcode or 0, limit_mb)) from None
    process.join()
    if raised:
        raise found
    done: T = found
    return done


def _work(work: Callable[[], object], limit_mb: int, results: Connection) -> None:
    from graphrag_rdf.reader_process.memory import Memory, limit_address_space, resident_mb, watch

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # messages of aborting libraries
    limit_address_space(limit_mb)
    most = limit_mb + int(resident_mb())
    threading.Thread(target=watch, args=(most, os.getppid(), Memory()), daemon=True).start()
    try:
        results.send((False, work()))
    except Exception as error:  # noqa: BLE001 - raised again by the parent
        results.send((True, _portable(error)))


def _portable(error: Exception) -> Exception:
    """An error for the parent, with the traceback of this process as a note, which -vv prints."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - exceptions with arguments of their own fail here
    except Exception:  # noqa: BLE001 - then at least its message
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(traceback.format_exc())
    return error


def _reason(code: int, limit_mb: int) -> str:
    from graphrag_rdf.reader_process.memory import MEMORY_EXIT

    if code == MEMORY_EXIT:
        return tr("it needed more than {limit:,} MB of memory").format(limit=limit_mb)
    return tr("a library ended it (code {code})").format(code=code)
