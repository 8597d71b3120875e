"""`check`: whether the store is what it promises to be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphrag_rdf.cli import output
from graphrag_rdf.cli.command import Command
from graphrag_rdf.cli.failures import DONE, FAILED
from graphrag_rdf.cli.output import format_option, one_line, say, styled
from graphrag_rdf.cli.session import in_folder, load, open_engine
from graphrag_rdf.errors import (
    SearchIndexError,
    StoreError,
    StoreLockedError,
    StoreMissingError,
    is_out_of_memory,
)

if TYPE_CHECKING:
    from graphrag_rdf.checks import Violation
    from graphrag_rdf.config import Settings
    from graphrag_rdf.engine import Engine

_COLOURS = {"error": "red", "warning": "yellow"}
_STORE = "urn:graphrag-rdf:store"
_MEND = "run graphrag-rdf index rebuild"
_BEHIND = (
    "a search index is missing, or lacks what was written last: the next question or ingest adds it, and so "
    "does graphrag-rdf index rebuild"
)
_MEMORY_MB = 768
_SKIPPED = (
    "not read: every quad through every index of the database, and every record of the search indexes; "
    "--full reads them"
)


@click.command(cls=Command, examples=["graphrag-rdf check", "graphrag-rdf check --full --format json"])
@click.option(
    "--full", is_flag=True, help="Also read every quad through every index, and the search indexes."
)
@click.option("--shapes", is_flag=True, help="Also validate by ontology/shapes.ttl (needs pySHACL).")
@click.option(
    "--memory-mb",
    type=click.IntRange(min=256),
    help=f"Memory that the check may use. Default: {_MEMORY_MB} and the size of the store.",
)
@format_option()
def check_command(full: bool, shapes: bool, memory_mb: int | None, form: str) -> int:
    """Check the integrity of the whole store; exit code 1 if something is wrong.

    Warnings, which alone leave the exit code at 0, are what a killed run leaves and the next one mends.
    """
    from graphrag_rdf.cli.memory_limit import ProcessEndedError, bounded

    settings = load().settings
    try:
        if in_folder(settings):
            limit = memory_mb or _MEMORY_MB + _size_mb(settings)
            found = bounded(lambda: _violations(full=full, shapes=shapes), limit)
        else:
            found = _violations(full=full, shapes=shapes)
    except ProcessEndedError as error:
        found = [_given_up(error)]
    if form == "json":
        output.write_json([violation.as_json() for violation in found])
    else:
        for violation in found:
            mark = styled(violation.severity, fg=_COLOURS[violation.severity])
            say(f"{mark}  {one_line(violation.check)}  {one_line(violation.focus)}")
            say(output.wrapped(violation.message, indent="    "))
        say(_summary(found))
    if not full:
        output.note(_SKIPPED)
    return FAILED if any(violation.severity == "error" for violation in found) else DONE


def _violations(*, full: bool, shapes: bool) -> list[Violation]:
    try:
        engine = open_engine()
    except (StoreMissingError, StoreLockedError):
        raise
    except StoreError as error:
        cause = error.__cause__
        if cause is None or is_out_of_memory(cause):  # None: the store was made by a newer program
            raise
        return [_damage(error.message)]
    found: list[Violation] = []
    try:
        with engine:
            found += _of_engine(engine, full=full, shapes=shapes)
    except StoreError as error:
        if is_out_of_memory(error):
            raise
        found.append(_damage(error.message))
    except BaseException as error:
        if not _is_of_library(error):
            raise
        found.append(_damage(str(error)))
    return found


def _given_up(error: Exception) -> Violation:
    """What it means that the process which read the store has ended.

    Raises:
        StoreError: when a limit of memory may be the cause.
    """
    from graphrag_rdf.store.embedded import process_limit

    if (limit := process_limit("RLIMIT_AS")) is not None:
        raise StoreError(
            f"the check was given up: {error}. This process may use only {limit >> 20:,} MB of memory "
            "(ulimit -v)",
            hint="raise the limit (ulimit -v unlimited), and check again",
        ) from error
    return _damage(f"reading the store was given up: {error}")


def _of_engine(engine: Engine, *, full: bool, shapes: bool) -> Iterator[Violation]:
    from graphrag_rdf.checks import Violation, run_checks, run_shapes
    from graphrag_rdf.store.plain import plain_quads

    if full:  # first: where a block is damaged, queries fail too, and tell less
        yield from _of_database(engine)
    index = None
    try:
        index = engine.text_index
    except SearchIndexError as error:
        yield Violation("index-damaged", "error", _STORE, f"{error.message} {error.hint or ''}".strip())
    except BaseException as error:
        if not _is_of_library(error):
            raise
        yield Violation(
            "index-damaged", "error", _STORE, f"the search index cannot be read: {error}: {_MEND}"
        )
    yield from run_checks(engine.store, engine.blobs, index)
    if full and index is not None:
        yield from _of_indexes(engine)
    if shapes:
        yield from run_shapes(plain_quads(engine.store))


def _of_database(engine: Engine) -> Iterator[Violation]:
    from graphrag_rdf.store.embedded import EmbeddedStore
    from graphrag_rdf.store.soundness import engine_faults

    if isinstance(engine.store, EmbeddedStore):
        with engine.store.reading() as database:
            for message in engine_faults(database):
                yield _damage(message)


def _of_indexes(engine: Engine) -> Iterator[Violation]:
    from graphrag_rdf.checks import LIMIT, Violation
    from graphrag_rdf.index.manifest import LACKS

    try:
        found = engine.indexer.differences()
        if engine.indexer.is_behind:
            yield Violation("index-behind", "warning", _STORE, _BEHIND)
            found = ((focus, message) for focus, message in found if not message.endswith(LACKS))
        for focus, message in islice(found, LIMIT):
            yield Violation("index-differs", "error", focus, f"{message}: {_MEND}")
    except BaseException as error:
        if not (isinstance(error, SearchIndexError) or _is_of_library(error)):
            raise
        yield Violation(
            "index-damaged", "error", _STORE, f"the search index cannot be read: {error}: {_MEND}"
        )


def _is_of_library(error: BaseException) -> bool:
    """Whether a library raised it on reading a file. One in Rust that panics raises no `Exception`."""
    if is_out_of_memory(error):
        return False
    return isinstance(error, OSError | RuntimeError | ValueError) or type(error).__name__ == "PanicException"


def _damage(message: str) -> Violation:
    """A finding about the database, with its file where the engine names one."""
    from graphrag_rdf.checks import Violation
    from graphrag_rdf.store.soundness import file_of

    way_out = "restore the store from a backup, or ingest into a new folder"
    return Violation("database-damaged", "error", file_of(message) or _STORE, f"{message}: {way_out}")


def _size_mb(settings: Settings) -> int:
    from graphrag_rdf.diagnosis import folder_size

    return folder_size(Path(settings.store)) >> 20


def _summary(found: list[Violation]) -> str:
    errors = sum(violation.severity == "error" for violation in found)
    if not found:
        return "everything is as it should be"
    return f"{errors:,} errors, {len(found) - errors:,} warnings"
