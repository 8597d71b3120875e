"""What grows faster than it should: lists of values, a question in a large store, removing a document.

    python -m benchmarks.scaling                   exits with 1 if a ratio is too large
    python -m benchmarks.scaling --store FOLDER    keeps the store there, and uses it again

The store has 10,000 chunks and 500,000 quads of traces, loaded in bulk: the traces of some questions, copied
under other names. Ratios of CPU time do not depend on the speed of the machine:

- each query with 200 values for each list parameter beside 20 values,
- a question beside one in a store of the sample documents,
- removing a document beside a copy of the store.

Queries run in a process of their own, which ends after some seconds of CPU time: then the ratio is too large.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, QueryBoolean, QuerySolutions, Store

from benchmarks.common import ROOT, Figure, run_command, show, table
from benchmarks.growth import fill
from benchmarks.synthetic import FACTS_PER_PASSAGE, Collection
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.boilerplate import mark_boilerplate
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PREFIXES, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
from graphrag_rdf.sparql.render import Renderer
from graphrag_rdf.store.folder import StoreFolder

CHUNKS = 10_000
TRACE_QUADS = 500_000
FEW, MANY = 20, 200
FLOOR = 0.02
"""CPU seconds below which times are not compared."""
MOST = 2.0 * MANY / FEW
"""A time that grows as the number of values has half of this ratio."""
MOST_FOR_A_QUESTION = 3.0
MOST_FOR_REMOVAL = 2.0
SECONDS = 10
"""CPU seconds for one query, with few values and with many."""

LEFT = {
    # lists of a few graphs, or of a person's question, of which each pair is a look-up
    *("schema/classes", "schema/properties", "server/dataset-statistics", "server/graph-statistics"),
    *(f"cookbook/{name}" for name in ("compare", "each-value", "how-many", "total", "two-steps")),
    *("cookbook/when-was", "cookbook/where-was", "facts/list", "retrieval/metadata-facts"),
    "selection/passage-sentences",  # it compares sentences with each other
}
"""Templates that may miss the ratio."""

OF_ONE = {"gateway/triples"}
"""Templates whose lists have one value at most."""

_SOURCE = "SELECT DISTINCT ?x { GRAPH <urn:graph:source> { %s } }"
_TRACES = "SELECT DISTINCT ?x { GRAPH <urn:graph:retrieval> { %s } }"
_ENTITIES = "SELECT ?x { GRAPH <urn:graph:derived> { ?x rag:canonicalEntity ?c } }"
_RELATIONS = "SELECT ?x { ?x rdfs:label ?n FILTER(STRSTARTS(STR(?x), 'http://trustgraph.ai/r/')) }"
_OBJECTS = _TRACES % "?s ?p ?x FILTER(STRSTARTS(STR(?x), 'urn:sha256:'))"
_DRAWN: Mapping[str, str] = {
    **dict.fromkeys(("chunks", "passages", "sources"), _SOURCE % "?x a tg:Chunk"),
    **dict.fromkeys(("sentences", "words", "quoted"), _SOURCE % "?x rag:sentenceOf ?c"),
    **dict.fromkeys(("documents",), _SOURCE % "?x a tg:Document"),
    **dict.fromkeys(("subgraphs",), _SOURCE % "?x a tg:Subgraph"),
    **dict.fromkeys(("traces", "sessions"), _TRACES % "?x a rag:Session"),
    **dict.fromkeys(("steps",), _TRACES % "?x a tg:Focus"),
    **dict.fromkeys(("objects",), _OBJECTS),
    **dict.fromkeys(("relations", "predicates", "properties"), _RELATIONS),
    **dict.fromkeys(("names", "labels", "texts"), "SELECT ?x { ?e rdfs:label ?x }"),
}
"""Parameter → where its values come from; entities for all others that are IRIs."""
_FACTS = "SELECT ?s ?p ?o { ?s ?p ?o . ?o rdfs:label ?l FILTER(?p NOT IN (rdf:type)) }"

_OWN = ("urn:trustgraph:", "urn:sha256:")
_UNIQUE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=urn:sha256:)[0-9a-f]{64}")
"""What makes the names in a trace its own."""
_ASKED = 10
_WARM_UP = 3
_SAMPLES = ROOT / "examples" / "documents"
_PREFIXES = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in PREFIXES.items())


def main() -> int:
    """Build the store, measure, print; 1 if a ratio is too large."""
    parser = argparse.ArgumentParser(prog="benchmarks.scaling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path, help="keep the store in this folder; used again if there")
    parser.add_argument("--templates", nargs="*", help="only these templates, and no other ratio")
    asked = parser.parse_args()
    place = asked.store or Path(tempfile.mkdtemp(prefix="graphrag-scaling-"))
    try:
        collection = Collection(CHUNKS * FACTS_PER_PASSAGE)
        _say("building the store")
        with Engine.open(place, config=Settings(store=str(place))) as engine:
            fill_with_traces(engine, collection, TRACE_QUADS)
        missed = measure_templates(StoreFolder(place).database, asked.templates or ())
        if not asked.templates:
            missed += measure_question(place, collection)
            missed += measure_removal(place, collection)
    finally:
        if asked.store is None:
            shutil.rmtree(place, ignore_errors=True)
    if missed:
        print(f"\nratios that are too large: {', '.join(missed)}", file=sys.stderr)
    return bool(missed)


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


# --- the store -----------------------------------------------------------------------------------


def fill_with_traces(engine: Engine, collection: Collection, quads: int) -> None:
    """Load a collection, ask questions, and copy their traces until there are so many quads of them."""
    fill(engine, collection)
    mark_boilerplate(engine.store)  # as an ingest does; else the removal would make all fingerprints
    present = sum(1 for _ in itertools.islice(engine.store.quads(Graphs.RETRIEVAL), quads // 2))
    if present == quads // 2:
        return
    for question in collection.questions(_ASKED):
        list(engine.ask(question))
    traces = list(engine.store.quads(Graphs.RETRIEVAL))
    for number in range(quads // len(traces)):
        engine.store.bulk_add(_copy(traces, number))
    engine.store.optimize()


def _copy(traces: list[Quad], number: int) -> Iterator[Quad]:
    """The same traces, with names and objects of the blob store of their own."""
    known: dict[NamedNode, NamedNode] = {}

    def own(found: re.Match[str]) -> str:
        name = found[0]
        return iris.digest(f"{name} {number}") if "-" not in name else iris.name_uuid(name, number)

    def renamed(node: Any) -> Any:
        if not isinstance(node, NamedNode) or not node.value.startswith(_OWN):
            return node
        if node not in known:
            known[node] = NamedNode(_UNIQUE.sub(own, node.value))
        return known[node]

    for quad in traces:
        yield Quad(renamed(quad.subject), quad.predicate, renamed(quad.object), quad.graph_name)


# --- templates -----------------------------------------------------------------------------------


def measure_templates(database: Path, only: Sequence[str]) -> list[str]:
    """Print the templates that grow fastest; the names of those that grow too fast."""
    templates = TemplateLibrary(folder("queries"))
    found: dict[str, tuple[float, float]] = {}
    for name in only or sorted(set(templates) - OF_ONE):
        template = templates[name]
        if template.header.kind != "update" and any(p.type.endswith("[]") for p in template.params.values()):
            found[name] = _in_process(database, template)
            _say(f"{name} {found[name][1]:.3f} s")
    ratios = {
        name: many / max(few, FLOOR) if few < math.inf else math.inf for name, (few, many) in found.items()
    }
    slowest = sorted(found, key=ratios.__getitem__, reverse=True)
    print(f"\n## {len(found)} templates with {MANY} values beside {FEW}\n")
    table(
        ("template", f"{FEW}: ms", f"{MANY}: ms", "ratio", "may be slow"),
        [
            (
                name,
                *(f"{1000 * cpu:.0f}" for cpu in found[name]),
                f"{ratios[name]:.1f}",
                "yes" * (name in LEFT),
            )
            for name in slowest[:30]
        ],
    )
    return [name for name in slowest if ratios[name] > MOST and name not in LEFT]


def _in_process(database: Path, template: QueryTemplate) -> tuple[float, float]:
    """CPU seconds with few values and with many; endless if the process used up its seconds.

    Raises:
        SystemExit: when the query fails.
    """
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        with os.fdopen(writes, "w") as out:
            try:
                store = Store.read_only(str(database))
                for count in (FEW, MANY):
                    sparql = template.render(Renderer(lateral=True), **_values(store, template, count))
                    print(_cpu(store, sparql), file=out, flush=True)
            except Exception as error:  # noqa: BLE001 - told to the parent, which ends
                print("failed", error, file=out, flush=True)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as answer:
        lines = answer.read().splitlines()
    os.waitpid(child, 0)
    if lines and lines[-1].startswith("failed"):
        raise SystemExit(f"{template.name} {lines[-1]}")
    few, many = [*map(float, lines), math.inf, math.inf][:2]
    return few, many


def _cpu(store: Store, sparql: str) -> float:
    start = time.process_time()
    found = store.query(sparql)
    if not isinstance(found, QueryBoolean):
        for _ in found:
            pass
    return time.process_time() - start


def _values(store: Store, template: QueryTemplate, count: int) -> dict[str, Any]:
    """The samples, with so many values for each list: from the store, then made-up ones."""
    values = template.samples()
    for name, parameter in template.params.items():
        if not parameter.type.endswith("[]"):
            continue
        columns = [column.strip() for column in parameter.type[:-2].strip("()").split(",")]
        rows = [_row(columns, drawn, n) for n, drawn in enumerate(_draw(store, name, columns, count))]
        values[name] = rows if parameter.type.startswith("(") else [row[0] for row in rows]
    return values


def _draw(store: Store, name: str, columns: list[str], count: int) -> Iterator[tuple[Any, ...]]:
    sparql = _FACTS if columns[-3:] == ["iri", "iri", "term"] else _DRAWN.get(name, _ENTITIES)
    rows = store.query(f"{_PREFIXES}{sparql} LIMIT {count}")
    assert isinstance(rows, QuerySolutions)
    present = [tuple(row) for row in rows]
    yield from present
    for number in range(len(present), count):
        yield tuple(NamedNode(f"urn:made-up:{number}") for _ in range(3))


def _row(columns: list[str], drawn: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    made = {"int": number, "double": 1 / (number + 1), "bool": number % 2 == 0, "string": f"word {number}"}
    if columns[-3:] == ["iri", "iri", "term"]:
        return *(made[column] for column in columns[:-3]), *drawn
    term = drawn[0]
    return tuple(
        _text(term, made["string"])
        if column == "string"
        else made[column]
        if column in made
        else term
        if column == "term" or isinstance(term, NamedNode)
        else NamedNode(f"urn:made-up:{number}")
        for column in columns
    )


def _text(term: object, instead: object) -> object:
    return term.value if isinstance(term, Literal) else instead


# --- a question, and removing a document ------------------------------------------------------------


def measure_question(place: Path, collection: Collection) -> list[str]:
    """Print how much longer a question takes here than in a store of the sample documents."""
    _say("asking questions")
    with Engine.open(place, config=Settings(store=str(place))) as engine:
        large = _ask(engine, collection.questions(40)[20:])
    with Engine.open(":memory:", config=Settings()) as engine:
        engine.ingest([_SAMPLES])
        lines = (ROOT / "examples" / "questions.jsonl").read_text("utf-8").splitlines()
        samples = _ask(engine, [json.loads(line)["q"] for line in lines])
    ratio = large / samples
    value = f"{1000 * large:.0f} ms, on the samples {1000 * samples:.0f} ms"
    show("A question", [Figure("p50 of CPU", value, f"≤ {MOST_FOR_A_QUESTION:g} ×", f"{ratio:.1f} ×")])
    return ["a question"] if ratio > MOST_FOR_A_QUESTION else []


def _ask(engine: Engine, questions: list[str]) -> float:
    times = []
    for question in questions:
        start = time.process_time()
        list(engine.ask(question))
        times.append(time.process_time() - start)
    return statistics.median(times[_WARM_UP:])


def measure_removal(place: Path, collection: Collection) -> list[str]:
    """Print how much longer removing a document takes than a copy of the store; the document is gone then."""
    _say("removing a document")
    start = time.process_time()
    with Engine.open(place, config=Settings(store=str(place))) as engine:
        engine.store.purge()
    copy = time.process_time() - start
    number = next(number for number in range(collection.documents) if number % 2)
    command = [sys.executable, "-m", "graphrag_rdf", "--store", str(place), "forget"]
    removal = run_command([*command, collection.document(number).value], ROOT).cpu
    ratio = removal / copy
    value = f"{removal:.1f} s, a copy {copy:.1f} s"
    show("Removing a document", [Figure("CPU", value, f"≤ {MOST_FOR_REMOVAL:g} ×", f"{ratio:.1f} ×")])
    return ["removing a document"] if ratio > MOST_FOR_REMOVAL else []


if __name__ == "__main__":
    sys.exit(main())
