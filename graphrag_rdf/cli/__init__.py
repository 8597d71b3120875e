"""The command line: it parses, calls the engine and the rooms, and prints."""

from __future__ import annotations

import contextlib
import faulthandler
import signal


def main() -> None:
    """The program `graphrag-rdf`."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):  # stderr is closed, or is none
        faulthandler.enable()  # a crash in a library's own code says where, and never ends in silence
        signal.signal(signal.SIGABRT, signal.SIG_DFL)  # a library that aborts has said why, e.g. no memory
    try:
        from graphrag_rdf.cli.app import root
    except KeyboardInterrupt:  # Ctrl-C before there is anything that could say more of it
        raise SystemExit(130) from None

    root(prog_name="graphrag-rdf")
