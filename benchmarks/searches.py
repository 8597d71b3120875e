"""What a search over communities costs beside the model: cold and warm, and with twenty times as much.

    python -m benchmarks.searches [--copies 20] [--peer PYTHON]

The store is the recorded output of Microsoft GraphRAG over a book, as `import ms-graphrag` reads it. The
larger one has copies of its tables with other names. Cold is a whole command without a model, so litellm is
not imported. Warm is a question in a process that has answered others: without a model, and with a scripted
one that answers at once. PYTHON is that of an environment with `graphrag` 3.x (or the variable
BENCH_GRAPHRAG): its own command asks the index that it made of the same book.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.carol import MICROSOFT_ENVIRONMENT, PEER_VARIABLE, microsoft, write_units
from benchmarks.common import ROOT, Figure, Used, cpu_seconds, data_folder, no_data, run_command, show, skip
from benchmarks.ingest_book import text_units
from benchmarks.scripted_model import ScriptedModel, scripted_model
from graphrag_rdf.config import EmbeddingSection, LlmSection, Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.resources import folder

_PIPELINES = ("local", "global", "drift")
_QUESTIONS = (
    "How does Scrooge change?",
    "Who is Tiny Tim?",
    "What does the Ghost of Christmas Past show?",
    "How do the Cratchits celebrate Christmas?",
    "What was Marley to Scrooge?",
)
_WARM_UP = "Who is Fezziwig?"
_NUMBERS = ("community", "parent", "human_readable_id")
_NAMES = ("source", "target", "subject_id", "object_id")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.searches", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--peer", metavar="PYTHON", default=os.environ.get(PEER_VARIABLE))
    asked = parser.parse_args()
    data = data_folder()
    if data is None:
        return no_data("searches")
    units = text_units(data)
    if units is None:
        return skip("searches", "the tables need pyarrow: pip install pyarrow")
    there = [name for name in _PIPELINES if (folder("pipelines") / name).is_dir()]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as temporary, scripted_model(data) as model:
        place = Path(temporary)
        store = _store(place, "book", data / "carol")
        figures += _cold(store, there)
        peer = _peer(place, asked.peer, units, model) if asked.peer else []
        figures += _warm(store, there, "warm", "≤ 50 ms", None)
        figures += _warm(store, there, "warm, scripted model", "", model)
        if asked.copies:
            _copy(data / "carol", place / "tables", asked.copies)
            large = _store(place, "large", place / "tables")
            figures += _warm(large, there, f"warm, {asked.copies} × the book", "≤ 200 ms", None)
    show("Searches over communities", figures + peer)
    return 0


def _store(place: Path, name: str, tables: Path) -> Path:
    store = place / name
    run_command(_command(store, "import", "ms-graphrag", str(tables)), ROOT)
    return store


def _command(store: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "graphrag_rdf", "--store", str(store), *arguments]


def _least(command: list[str], env: dict[str, str] | None = None) -> Used:
    return min((run_command(command, ROOT, env) for _ in range(3)), key=lambda used: used.cpu)


def _cold(store: Path, pipelines: list[str]) -> list[Figure]:
    figures = []
    for name in pipelines:
        used = _least(_command(store, "ask", "--pipeline", name, _QUESTIONS[0]))
        figures.append(Figure(f"{name}: cold", f"{used.wall:.2f} s, {used.cpu:.2f} CPU s", "≤ 0.7 s"))
    return figures


def _warm(
    store: Path, pipelines: list[str], what: str, bar: str, model: ScriptedModel | None
) -> list[Figure]:
    llm = LlmSection()
    if model is not None:
        llm = LlmSection(model="openai/scripted", api_base=model.address, api_key="scripted")  # type: ignore[arg-type]
    settings = Settings(store=str(store), llm=llm, embedding=EmbeddingSection())
    figures = []
    with Engine.open(store, config=settings) as engine:
        for name in pipelines:
            list(engine.ask(_WARM_UP, name))
            wall, cpu, spent = [], [], engine.budget.usage.in_tokens or 0
            for question in _QUESTIONS:
                start, before = time.perf_counter(), cpu_seconds()
                list(engine.ask(question, name))
                wall.append((time.perf_counter() - start) * 1000)
                cpu.append((cpu_seconds() - before) * 1000)
            tokens = ((engine.budget.usage.in_tokens or 0) - spent) // len(_QUESTIONS)
            asked = f", {tokens:,} tokens of prompts" if model is not None else ""
            calls = f"{asked}, {sum(model.counts().values())} calls in all" if model is not None else ""
            value = f"{statistics.median(wall):.0f} ms, {statistics.median(cpu):.0f} CPU ms{calls}"
            figures.append(Figure(f"{name}: {what}, median", value, bar))
    return figures


def _peer(place: Path, python: str, units: list[str], model: ScriptedModel) -> list[Figure]:
    """The peer's own command, on an index that it makes of the book."""
    product, root = microsoft(python), place / "peer"
    write_units(root / "input", units)
    product.prepare(root, root / "input", model.address)
    run_command(product.command(root, root / "input"), root, MICROSOFT_ENVIRONMENT)
    figures = []
    for name in _PIPELINES:
        code = "from graphrag.cli.main import app; app()"
        query = [python, "-c", code, "query", "--root", str(root), "--method", name, _QUESTIONS[0]]
        used = _least(query, MICROSOFT_ENVIRONMENT)
        figures.append(Figure(f"{name}: {product.name}, cold", f"{used.wall:.2f} s, {used.cpu:.2f} CPU s"))
    return figures


# --- a larger collection ------------------------------------------------------------------------------


def _copy(tables: Path, into: Path, copies: int) -> None:
    """Tables with so many copies of each row, of other things."""
    import pyarrow as pa
    from pyarrow import parquet

    into.mkdir()
    for path in sorted(tables.glob("*.parquet")):
        table = parquet.read_table(path)
        rows = [_copied(path.stem, row, number) for number in range(copies) for row in table.to_pylist()]
        parquet.write_table(pa.Table.from_pylist(rows, schema=table.schema), into / path.name)


def _copied(table: str, row: dict[str, Any], number: int) -> dict[str, Any]:
    found = dict(row)
    for name, value in row.items():
        if value is None or value in (-1, "NONE"):
            continue
        if name == "id" or (name.endswith("_id") and name not in (*_NUMBERS, *_NAMES)):
            found[name] = f"{value}-{number}"
        elif name.endswith("_ids"):
            found[name] = [f"{one}-{number}" for one in value]
        elif name in _NUMBERS:
            found[name] = value + number * 10_000
        elif name == "children":
            found[name] = [one + number * 10_000 for one in value]
        elif name == "text" and number:  # equal texts would be one text unit
            found[name] = value.replace("Scrooge", f"Scrooge {number}").replace("the ", f"the {number} ")
        elif number and (name in _NAMES or (name == "title" and table in ("entities", "documents"))):
            found[name] = f"{value} {number}"
    return found


if __name__ == "__main__":
    sys.exit(main())
