"""How much damage of a store `check` and `check --full` find: python -m benchmarks.damage [--each 2]

Each file of a small store's database and search indexes is damaged in several ways, in a copy of the store. A
run counts as found when the exit code is 1 and no traceback is printed; memory is the most that the command
and its process held. Damage that changes nothing that is read (bytes of a log of the engine, unused space) is
told apart: the store then still answers as before.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.commands import documents_in, environment, program

Damage = Callable[[bytes, random.Random], bytes]


def flipped(data: bytes, chance: random.Random) -> bytes:
    """A bit of it."""
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def zeroed(data: bytes, chance: random.Random) -> bytes:
    """A part of it."""
    place = chance.randrange(len(data))
    return data[:place] + bytes(min(64, len(data) - place)) + data[place + 64 :]


def truncated(data: bytes, chance: random.Random) -> bytes:
    """A part of it is gone."""
    return data[: chance.randrange(len(data))]


def noise(data: bytes, chance: random.Random) -> bytes:
    """A part of it is something else."""
    place = chance.randrange(len(data))
    return data[:place] + chance.randbytes(min(256, len(data) - place)) + data[place + 256 :]


DAMAGES: tuple[Damage, ...] = (flipped, zeroed, truncated, noise)
_LEFT_OUT = ("LOG", "LOCK", ".lock", "IDENTITY", ".managed.json", "OPTIONS-")


def files_of(store: Path) -> list[Path]:
    """Files that hold data, a part for each kind."""
    found = [path for part in ("oxigraph", "index") for path in sorted((store / part).rglob("*"))]
    return [
        path
        for path in found
        if path.is_file() and path.stat().st_size and not any(left in path.name for left in _LEFT_OUT)
    ]


def checked(store: Path, *options: str) -> tuple[int, str, float]:
    """Exit code, output and seconds of `check`."""
    start = time.monotonic()
    done = subprocess.run(
        program("--store", store, "check", *options),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr, time.monotonic() - start


def whole(folder: Path) -> Path:
    """A small sound store, written as one that was used for a while."""
    from tests.support.commands import COMPANY

    documents = documents_in(folder)
    for number in range(40):
        (documents / f"{number}.txt").write_text(COMPANY.replace("Pennock", f"Pennock {number}") * 3)
    for _ in range(2):
        subprocess.run(
            program("--store", folder / "store", "ingest", documents),
            capture_output=True,
            env=environment(),
            check=False,
        )
        (documents / "late.txt").write_text("Mona Kell wrote the Almanac in 1905. Mona Kell lived in Leeds.")
    return folder / "store"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=2, help="damages of each file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="", help="only files with this in their path")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        store = whole(Path(place))
        assert checked(store, "--full")[0] == 0
        for file in files_of(store):
            if given.part not in str(file.relative_to(store)):
                continue
            for damage in chance.sample(DAMAGES, given.each):
                data = file.read_bytes()
                changed = damage(data, chance)
                if changed == data:
                    continue
                row: dict[str, object] = {"file": str(file.relative_to(store)), "damage": damage.__name__}
                for name, options in (("check", ()), ("full", ("--full",))):
                    copy = Path(place) / "copy"
                    shutil.copytree(store, copy)
                    (copy / file.relative_to(store)).write_bytes(changed)
                    code, said, seconds = checked(copy, *options)
                    shutil.rmtree(copy)
                    row |= {name: code, f"{name}_seconds": round(seconds, 1)}
                    row["traceback"] = "Traceback" in said or bool(row.get("traceback"))
                rows.append(row)
                print(json.dumps(row), flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    found = {name: sum(row[name] == 1 for row in rows) for name in ("check", "full")}
    print(
        f"{len(rows)} damages: check finds {found['check']}, check --full {found['full']}; "
        f"{sum(bool(row['traceback']) for row in rows)} tracebacks; at most {peak} MB, "
        f"{max((float(str(row['full_seconds'])) for row in rows), default=0)} s"
    )


if __name__ == "__main__":
    main()
