"""The command line: it parses, calls the engine and the rooms, and prints."""

from __future__ import annotations


def main() -> None:
    """The program `graphrag-rdf`."""
    from graphrag_rdf.cli.app import root

    root(prog_name="graphrag-rdf")
