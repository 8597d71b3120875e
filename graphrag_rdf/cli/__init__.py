"""The command line: it parses, calls the engine and the rooms, and prints."""

from __future__ import annotations


def main() -> None:
    """The program `graphrag-rdf`."""
    try:
        from graphrag_rdf.cli.app import root
    except KeyboardInterrupt:  # Ctrl-C before there is anything that could say more of it
        raise SystemExit(130) from None

    root(prog_name="graphrag-rdf")
