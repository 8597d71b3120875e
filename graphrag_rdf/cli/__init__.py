"""The command line: it parses, calls the engine and the rooms, and prints."""

from __future__ import annotations

import contextlib
import faulthandler
import signal


def main() -> None:
    """The program `graphrag-rdf`."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # there is no open stderr
        faulthandler.enable()  # a crash in native code prints where it happened
        signal.signal(
            signal.SIGABRT, signal.SIG_DFL
        )  # a library that aborts prints the reason, e.g. no memory
    try:
        from graphrag_rdf.cli.app import root
    except KeyboardInterrupt:  # Ctrl-C before the error handling is loaded
        raise SystemExit(130) from None

    root(prog_name="graphrag-rdf")
