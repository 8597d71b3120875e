"""Running the program: in this process, or in one of its own."""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HARBOUR = """# Port Merrin

Port Merrin is a harbour town. Andrew Orr designed Drumlaw Head Lighthouse in 1881.
Masons from Port Merrin built Drumlaw Head Lighthouse. Andrew Orr was born in Arnhythe.
"""
COMPANY = """Walter Pennock founded the Tarnay Electric Light Company in 1897.
Walter Pennock lived in Port Merrin. Beatrice Pennock succeeded Walter Pennock.
"""
CONTROLS = (
    "The Lantern\x1b[31m Society\x07 was founded by Mona\x9b2J Kell in 1901.\n"
    "Mona Kell \x1b]0;owned\x07 wrote the \u202eAlmanac in 1905.\n"
)


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Its output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]


def documents_in(folder: Path) -> Path:
    """Two small documents."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    (documents / "company.txt").write_text(COMPANY, encoding="utf-8")
    return documents


def environment(**more: str) -> dict[str, str]:
    """The environment of a process: no settings from outside, no keys, no colours."""
    dropped = ("GRAPHRAG_RDF_", "OPENAI_", "LITELLM_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    repository = str(Path(__file__).resolve().parents[2])
    return {**kept, "PYTHONPATH": repository, "NO_COLOR": "1", **more}


def program(*arguments: object) -> list[str]:
    """The command line of a process."""
    return [sys.executable, "-m", "graphrag_rdf", *(str(argument) for argument in arguments)]


def processor_seconds(command: list[str], folder: Path) -> float:
    """The least processor time of five runs of a command, user and system together."""
    import resource
    import subprocess

    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, cwd=folder, env=environment(), check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(times)


def places(store: Path, words: str) -> list[str]:
    """Files in which the words stand, as they are or compressed."""
    found = []
    for path in sorted(store.rglob("*")):
        try:
            data = path.read_bytes()
        except OSError:  # a folder, or gone by now
            continue
        with suppress(zlib.error):
            data += zlib.decompress(data)
        if words.encode() in data:
            found.append(str(path.relative_to(store)))
    return found
