"""SHACL shapes as a gate: validating a change, and validating all facts.

    python -m benchmarks.validation [--facts 40000]

Ships with a type, a captain, a port and a year; the shape asks for a captain, who is a person, and for one
year at most. CPU time; the ratio compares with validating all facts in the same run. An update with a WHERE
runs on a copy of the store first.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.config import Settings
from graphrag_rdf.config.sections import ValidationSection
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.gate import Gate
from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.schema.shapes import read_shapes
from graphrag_rdf.schema.validation import Change, validate_all, validate_change
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore

T = TypeVar("T")
_SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://example.org/> .
:ships a sh:NodeShape ; sh:targetClass :Ship ;
  sh:property [ sh:path :captain ; sh:class :Person ; sh:minCount 1 ] , [ sh:path :built ; sh:maxCount 1 ] .
"""
_CAPTAINS = 1000
_PORTS = 20


def _ex(name: str) -> NamedNode:
    return NamedNode(f"http://example.org/{name}")


def _facts(number: int) -> Iterator[Quad]:
    for ship in range(number // 4):
        node = _ex(f"ship{ship}")
        yield Quad(node, RDF.type, _ex("Ship"))
        yield Quad(node, _ex("captain"), _ex(f"captain{ship % _CAPTAINS}"))
        yield Quad(node, _ex("port"), _ex(f"port{ship % _PORTS}"))
        yield Quad(node, _ex("built"), Literal(1850 + ship % 150))
        yield Quad(node, RAG.canonicalEntity, node, Graphs.DERIVED)
    for captain in range(_CAPTAINS):
        yield Quad(_ex(f"captain{captain}"), RDF.type, _ex("Person"))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.validation", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--facts", type=int, default=40_000, metavar="N")
    facts = parser.parse_args().facts
    templates = TemplateLibrary(folder("queries"))
    with tempfile.TemporaryDirectory() as place:
        store = EmbeddedStore(templates, Path(place) / "store")
        store.bulk_add(_facts(facts))
        (Path(place) / "shapes.ttl").write_text(_SHAPES, "utf-8")
        shapes = read_shapes(store, [Path(place) / "shapes.ttl"])
        whole, _ = _timed(lambda: len(validate_all(store, shapes).results))
        print(
            f"{facts:,} facts\n\n| what | nodes validated | results | CPU s | ratio |\n|---|---|---|---|---|"
        )
        print(f"| all facts | all | 0 | {whole:.2f} | 1 |")
        good = [(_ex("new"), RDF.type, _ex("Ship")), (_ex("new"), _ex("captain"), _ex("captain1"))]
        changes = {
            "a new ship with its captain": Change(good),
            "a second year of a ship": Change([(_ex("ship5"), _ex("built"), Literal(1))]),
            "a captain is no person any more": Change((), [(_ex("captain1"), RDF.type, _ex("Person"))]),
        }
        for what, change in changes.items():
            validate_change(store, shapes, change)  # once more than it is timed
            taken, found = _timed(lambda change=change: validate_change(store, shapes, change))  # type: ignore[misc]
            print(f"| {what} | {found.nodes} | {len(found.results)} | {taken:.3f} | {taken / whole:.4f} |")

        store.close()
        mode = ValidationSection(shapes=(str(Path(place) / "shapes.ttl"),))
        with Engine.open(config=Settings(store=str(Path(place) / "served"), validation=mode)) as engine:
            engine.store.bulk_add(_facts(facts))
            gate = Gate(engine)
            for what, update in _UPDATES.items():
                taken, _ = _timed(lambda update=update: gate.update(update, "urn:x:"))  # type: ignore[misc]
                print(f"| {what} | | 1 | {taken:.3f} | {taken / whole:.4f} |")


_UPDATES = {
    "INSERT DATA": "INSERT DATA { <http://example.org/new> a <http://example.org/Ship> }",
    "DELETE WHERE": "DELETE WHERE { <http://example.org/ship7> <http://example.org/captain> ?o }",
}


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


if __name__ == "__main__":
    main()
