"""Work in a process of its own, with a memory limit: for files that may be damaged in any way."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class ProcessEndedError(Exception):
    """The process ended without a result: its memory was used up, or a library aborted it."""


def bounded(work: Callable[[], T], limit_mb: int) -> T:
    """The result of some work in a copy of this process. Where processes cannot be copied (Windows), it runs
    here, without a limit.

    Args:
        work: what it returns, or raises, can be pickled.
        limit_mb: memory that the process may take beside what it began with, in 2^20 bytes.

    Raises:
        ProcessEndedError: when the process ended without a result.
        Exception: what the work raised.
    """
    if not hasattr(os, "fork"):
        return work()
    ours, theirs = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _work(work, limit_mb, theirs)
    os.close(theirs)
    with os.fdopen(ours, "rb") as results:
        written = results.read()
    status = os.waitpid(child, 0)[1]
    try:
        raised, found = pickle.loads(written)  # noqa: S301 - written by ourselves
    except (EOFError, pickle.UnpicklingError):
        raise ProcessEndedError(_reason(os.waitstatus_to_exitcode(status), limit_mb)) from None
    if raised:
        raise found
    done: T = found
    return done


def _work(work: Callable[[], object], limit_mb: int, output: int) -> None:
    from graphrag_rdf.server.execution.memory import Memory, limit_address_space, resident_mb, watch

    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say while they abort
        limit_address_space(limit_mb)
        most = limit_mb + int(resident_mb())
        threading.Thread(target=watch, args=(most, os.getppid(), Memory()), daemon=True).start()
        try:
            written = pickle.dumps((False, work()))
        except Exception as error:  # noqa: BLE001 - raised again by who asked
            written = pickle.dumps((True, error))
        with os.fdopen(output, "wb") as results:
            results.write(written)
        code = 0
    finally:
        os._exit(code)


def _reason(code: int, limit_mb: int) -> str:
    from graphrag_rdf.server.execution.memory import MEMORY_EXIT

    if code == MEMORY_EXIT:
        return f"it needed more than {limit_mb:,} MB of memory"
    return f"a library ended it (code {code})"
