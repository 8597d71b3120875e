"""Indexing a book with claims, communities and reports, and one edit, beside Microsoft GraphRAG.

    python -m benchmarks.carol [--peer PYTHON] [--repeats 3] [--as-shipped] [--plain-client]

PYTHON is that of an environment with the package `graphrag` 3.x (or the variable BENCH_GRAPHRAG); without one
only this program runs. Both read the same 42 recorded text units, each a document, and one scripted model
gives both the same answers.
Both ask once more for what an answer left out, and embed what they embed by default. The peer's profiler
is switched off, because it multiplies the CPU time; `--as-shipped` also measures with it. `--plain-client`
also measures this program without litellm, with a client of almost no cost: what the rest takes.

Its `update` leaves out documents that it knows, so after the edit it indexes again, with its cache.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import ROOT, Figure, Used, data_folder, no_data, run_command, show, skip
from benchmarks.ingest_book import text_units
from benchmarks.scripted_model import EDIT, ScriptedModel, scripted_model

PEER_VARIABLE = "BENCH_GRAPHRAG"
_EDITED = "unit-20.txt"
_TOKENS = 2000  # of a chunk, at most: each document is one
_NO_PROFILER = "import tracemalloc; tracemalloc.start = lambda *_: None; "
_PEER = "from graphrag.cli.main import app; app()"
_EXTRACTIONS = ("extract", "extract again", "claims", "claims again")


@dataclass(frozen=True, slots=True)
class Run:
    """What a command took, and how often it asked the model, by kind."""

    used: Used
    calls: dict[str, int]

    @property
    def asked(self) -> str:
        """The calls as text."""
        return ", ".join(f"{count} {kind}" for kind, count in self.calls.items() if count)


@dataclass(frozen=True, slots=True)
class Product:
    """A program that indexes a folder of documents: as it is made ready, and the command."""

    name: str
    prepare: Callable[[Path, Path, str], None]
    command: Callable[[Path, Path], list[str]]
    environment: Callable[[str], dict[str, str]]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.carol", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", default=os.environ.get(PEER_VARIABLE))
    parser.add_argument("--repeats", type=int, default=3, help="the least CPU time of these counts")
    parser.add_argument("--as-shipped", action="store_true", help="the peer with its profiler, too")
    parser.add_argument("--plain-client", action="store_true", help="this program without litellm, too")
    asked = parser.parse_args()
    data = data_folder()
    if data is None:
        return no_data("carol")
    units = text_units(data)
    if units is None:
        return skip("carol", "the text units need pyarrow: pip install pyarrow")
    products = [graphrag_rdf()]
    if asked.peer:
        products.append(microsoft(asked.peer))
        if asked.as_shipped:
            products.append(microsoft(asked.peer, profiler=True))
    else:
        print(f"only this program: name the Python of an environment with graphrag, or set {PEER_VARIABLE}")
    if asked.plain_client:
        products.append(graphrag_rdf("benchmarks.plain_client"))
    found: dict[str, list[tuple[Run, Run]]] = {product.name: [] for product in products}
    with (
        tempfile.TemporaryDirectory(prefix="graphrag-bench-") as place,
        scripted_model(data) as model,
    ):
        for number in range(asked.repeats):
            for product in products:
                folder = Path(place) / f"{product.name}-{number}"
                found[product.name].append(_measure(product, folder, units, model))
                shutil.rmtree(folder)
    show(f"A book of {len(units)} chunks, with claims, communities and reports", _figures(found))
    return 0


def _measure(product: Product, folder: Path, units: list[str], model: ScriptedModel) -> tuple[Run, Run]:
    """Index, edit one document, and index again."""
    documents = folder / "input"
    write_units(documents, units)
    product.prepare(folder, documents, model.address)
    first = _run(product, folder, documents, model)
    with (documents / _EDITED).open("a", encoding="utf-8") as edited:
        edited.write(EDIT)
    return first, _run(product, folder, documents, model)


def write_units(documents: Path, units: list[str]) -> None:
    """Write each text unit as a document."""
    documents.mkdir(parents=True)
    for number, text in enumerate(units):
        (documents / f"unit-{number:02}.txt").write_text(text, encoding="utf-8", newline="")


def _run(product: Product, folder: Path, documents: Path, model: ScriptedModel) -> Run:
    model.counts()
    used = run_command(product.command(folder, documents), folder, product.environment(model.address))
    return Run(used, model.counts())


def _figures(found: dict[str, list[tuple[Run, Run]]]) -> list[Figure]:
    own, peer, *_ = [*found, ""]
    figures = []
    for step, (what, bar) in enumerate((("index", "≤ .35 ×"), ("edit one chunk", ""))):
        base = min(runs[step].used.cpu for runs in found[peer]) if peer else 0.0
        for name, all_runs in found.items():
            least = min((runs[step] for runs in all_runs), key=lambda run: run.used.cpu)
            beside = f"{least.used.cpu / base:.2f} × {peer}" if peer and name != peer else ""
            peak = max(runs[step].used.peak_mb for runs in all_runs)
            ours = name == own
            figures += [
                Figure(f"{what}: {name}, CPU", f"{least.used.cpu:.1f} s", bar if ours else "", beside),
                Figure(f"{what}: {name}, peak memory", f"{peak:.0f} MB", "≤ 350 MB" if ours else ""),
                Figure(f"{what}: {name}, calls", least.asked, _calls_bar(step) if ours else ""),
            ]
    return figures


def _calls_bar(step: int) -> str:
    return "≤ 2 of each extraction" if step else ""


# --- the products -----------------------------------------------------------------------------------


def graphrag_rdf(module: str = "graphrag_rdf") -> Product:
    """This program, with its settings in the environment.

    Args:
        module: that has its commands.
    """

    def environment(address: str) -> dict[str, str]:
        settings = {
            "LLM__MODEL": "openai/scripted",
            "LLM__API_BASE": address,
            "LLM__API_KEY": "scripted",
            "EMBEDDING__MODEL": "openai/scripted-embedding",
            "DOCUMENTS__CHUNK_SIZE": "100000",
            "EXTRACT__GLEANING_ROUNDS": "1",
            "CLAIMS__BUILD": "true",
            "CLAIMS__GLEANING_ROUNDS": "1",
            "COMMUNITIES__AUTO": "true",
        }
        return {f"GRAPHRAG_RDF_{name}": value for name, value in settings.items()} | {"PYTHONPATH": str(ROOT)}

    def command(folder: Path, documents: Path) -> list[str]:
        store = str(folder / "store")
        return [sys.executable, "-m", module, "--store", store, "ingest", str(documents)]

    name = "graphrag-rdf" if module == "graphrag_rdf" else "graphrag-rdf without litellm"
    return Product(name, lambda *_: None, command, environment)


def microsoft(python: str, *, profiler: bool = False) -> Product:
    """Microsoft GraphRAG, with the settings that its `init` writes, and claims."""
    name = "Microsoft GraphRAG" + (" as shipped" if profiler else "")

    def prepare(folder: Path, _: Path, address: str) -> None:
        init = ["init", "--root", str(folder), "--model", "gpt-4.1", "--embedding", "text-embedding-3-large"]
        run_command([python, "-c", _PEER, *init], folder, MICROSOFT_ENVIRONMENT)
        path = folder / "settings.yaml"
        text = path.read_text(encoding="utf-8")
        for old, new in (
            ("auth_method: api_key\n", f"auth_method: api_key\n    api_base: {address}\n"),
            ("auth_method: api_key #", f"api_base: {address}\n    auth_method: api_key #"),
            ("enabled: false", "enabled: true"),
            ("size: 1200\n  overlap: 100", f"size: {_TOKENS}\n  overlap: 0"),
        ):
            if old not in text:
                raise SystemExit(f"the settings of this version of graphrag lack {old!r}")
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    def command(folder: Path, _: Path) -> list[str]:
        code = ("" if profiler else _NO_PROFILER) + _PEER
        return [python, "-c", code, "index", "--root", str(folder)]

    return Product(name, prepare, command, lambda _: MICROSOFT_ENVIRONMENT)


MICROSOFT_ENVIRONMENT = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "GRAPHRAG_API_KEY": "scripted"}
"""Without a price list from the network."""


if __name__ == "__main__":
    sys.exit(main())
