"""How many modules a question passes, and a Markdown file on its way into the store.

    python -m benchmarks.modules [--list]

A module counts if one of its functions is called. Both runs are the second of their kind, so that work done
once (imports, tables) does not count. Without a model.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.common import ROOT
from graphrag_rdf import Engine

_PACKAGE = str(ROOT / "graphrag_rdf")
_SAMPLES = ROOT / "examples" / "documents"


def main() -> int:
    """Run both and print the counts."""
    parser = argparse.ArgumentParser(prog="benchmarks.modules", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the modules")
    names = parser.parse_args().list
    with tempfile.TemporaryDirectory() as folder, Engine.open(Path(folder) / "store") as engine:
        engine.ingest([_SAMPLES / "elspeth-marwick.md"])
        ingested = modules(lambda: engine.ingest([_SAMPLES / "museum-guide.md"]))
        list(engine.ask("Who invented the reversing gear?"))
        asked = modules(lambda: list(engine.ask("When did the Petrel sink?")))
    for run, found in (("a question", asked), ("ingest of a Markdown file", ingested)):
        print(f"{run}: {len(found)} modules")
        if names:
            print("".join(f"  {name}\n" for name in sorted(found)), end="")
    return 0


def modules(run: Callable[[], Any]) -> set[str]:
    """The modules of the package whose functions a run calls, in any thread that it starts."""
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    with _profile(note):
        run()
    return {str(Path(file).relative_to(ROOT)) for file in files if file.startswith(_PACKAGE)}


@contextmanager
def _profile(note: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


if __name__ == "__main__":
    sys.exit(main())
