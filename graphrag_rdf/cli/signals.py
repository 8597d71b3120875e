"""Ctrl-C and SIGTERM during long work: the first asks it to stop, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from graphrag_rdf.cli.failures import INTERRUPTED, say_error
from graphrag_rdf.cli.output import is_quiet

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STOPPED = b"\x1b[?25h\ninterrupted; run the command again to continue\n"  # the progress bar hides the cursor
_STOPPING = b"stopping after the current chunk; press Ctrl-C again to stop at once\n"


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process during a query: the engine does not check for signals.

    For reading only, where nothing can be left half done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ended_at_once(work: Callable[[], T], hint: str) -> T:
    """The result of work during which the first Ctrl-C or SIGTERM ends the process.

    The work runs in another thread, because the engine checks for signals only after it has written
    everything. Ending it at once is as safe as a kill: the store keeps what was committed before.

    Args:
        hint: what the user should do after an interruption.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    with ThreadPoolExecutor(1, "work") as thread:
        working = thread.submit(work)
        try:
            return working.result()
        except KeyboardInterrupt:
            say_error("interrupted", hint)
            os._exit(INTERRUPTED)


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop; the second ends the process at once.

    Ending it at once is safe: the store keeps whole chunks, and the next run continues from there.

    Yields:
        whether stopping was requested.
    """
    requested = threading.Event()
    quiet = is_quiet()
    if threading.current_thread() is not threading.main_thread():
        yield requested.is_set
        return

    def request(number: int, frame: FrameType | None) -> None:
        del number, frame
        if requested.is_set():
            os.write(2, _STOPPED if os.isatty(2) else b"")
            os._exit(INTERRUPTED)
        requested.set()
        if not quiet:  # written directly: a handler may run in the middle of a print or an import
            os.write(2, _STOPPING)

    before = {number: signal.signal(number, request) for number in _SIGNALS}
    try:
        yield requested.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
