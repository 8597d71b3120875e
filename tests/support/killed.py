"""Commands that are killed after a share of their processor time, each in a fork of one prepared process.

The kernel ends the process by a signal that nothing catches (`ITIMER_PROF`), as kill -9 would: no handler
runs, no file is closed, no lock is released by the program.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from pyoxigraph import BlankNode, Literal, Quad, Triple

import graphrag_rdf.cli.app
import graphrag_rdf.ingest.recovery  # noqa: F401 - forks share what is imported here
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.rdf.namespaces import RAG, XSD
from graphrag_rdf.store.base import plain_quads

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.support.killed"])
_KILLED = -signal.SIGPROF


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        code: its exit code; None if it was killed.
        seconds: of processor time; None if it was killed.
        told: what it printed.
    """

    code: int | None
    seconds: float | None
    told: str


def run(folder: Path, *arguments: str, kill_after: float | None = None) -> Ended:
    """Run a command line in a folder.

    Args:
        kill_after: seconds of processor time.
    """
    reading, writing = _FORKS.Pipe(duplex=False)
    output = folder / "output.txt"
    process = _FORKS.Process(target=_command, args=(str(folder), arguments, kill_after, writing))
    process.start()
    writing.close()
    process.join(120)
    assert process.exitcode is not None, f"{arguments} does not end"
    told = output.read_text("utf-8", "replace") if output.exists() else ""
    if process.exitcode == _KILLED:
        return Ended(None, None, told)
    code, seconds = reading.recv()
    return Ended(code, seconds, told)


def _command(folder: str, arguments: tuple[str, ...], kill_after: float | None, done: Connection) -> None:
    from graphrag_rdf.cli import main

    os.chdir(folder)
    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output, stream.fileno())
    for name in [name for name in os.environ if name.startswith("GRAPHRAG_RDF_")]:
        del os.environ[name]
    sys.argv = ["graphrag-rdf", *arguments]
    if kill_after is not None:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, kill_after)
    begun = time.process_time()
    try:
        code = main()
    except SystemExit as exit_:
        code = exit_.code
    seconds = time.process_time() - begun
    signal.setitimer(signal.ITIMER_PROF, 0)
    done.send((code, seconds))


# --- what a store holds ------------------------------------------------------------------------------------

_COMMITS = re.compile(r'(commit\\*": )\d+')
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_COUNTED = (RAG.commit, RAG.contentCommit)


def contents(folder: Path) -> tuple[set[str], set[str], list[str]]:
    """What a store holds, but for times, random names and numbers of commits: its quads, its blobs, and where
    its indexes differ from it.
    """
    with Engine.open(config=Settings(store=str(folder))) as engine:
        quads = {line for quad in plain_quads(engine.store) if (line := _line(quad))}
        blobs = {node.value for node in engine.blobs.objects()}
        return quads, blobs, [*map(str, engine.indexer.differences())]


def _line(quad: Quad) -> str | None:
    if quad.predicate in _COUNTED:
        return None
    terms = map(_term, (quad.subject, quad.predicate, quad.object, quad.graph_name))
    return _COMMITS.sub(r"\g<1>N", " ".join(terms))


def _term(term: object) -> str:
    if isinstance(term, Triple):
        return "<<" + " ".join(map(_term, (term.subject, term.predicate, term.object))) + ">>"
    if isinstance(term, Literal) and term.datatype == XSD.dateTime:
        return "TIME"
    if isinstance(term, BlankNode):
        return "[]"
    return _UUID.sub("RANDOM", str(term))
