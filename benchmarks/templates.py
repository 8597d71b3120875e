"""Every query template at scale: median time on a synthetic store, and its ratio to a look-up of one triple.

    python -m benchmarks.templates                 200,000 facts
    python -m benchmarks.templates --facts 1000000

Parameters are drawn from the store. Templates under checks/ read everything on purpose; they run once.
Updates run on parameters that the store does not know: what is measured is the search for what to change.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, Triple

from benchmarks.common import table
from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, RDFS, TG, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import QueryTemplate, TemplateLibrary
from graphrag_rdf.store.base import Row
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.store.folder import StoreFolder

FACTS = 200_000
FACTS_PER_CHUNK = 10
CHUNKS_PER_DOCUMENT = 20
RELATIONS = 50
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
EXTRACTOR = "synthetic/1"

DEFAULT_BOUND = 250.0
BOUNDS: Mapping[str, float] = {
    # once per command: all chunks, all entities, all documents
    "entities/all-names": 2_000,
    "entities/list": 2_000,
    "index/all-chunks": 2_000,
    "index/all-entities": 4_000,
    "documents/texts": 2_000,
    "ingest/documents": 2_000,
    "tuning/first-passages": 5_000,
    "tuning/random-passages": 5_000,
    # a thousand facts, of ten entities that have as many
    "retrieval/unread-facts": 500,
    # what the store describes itself by: in the background, seldom
    "server/graph-statistics": 10_000,
    "schema/properties": 10_000,
    "schema/ends": 10_000,
    "schema/partitions": 10_000,
    # all that was imported or corrected by hand, by name: asked once for a command of a person
    "audit/drawn-from": 2_000,
    # the last resort of a look-up: there is no index into triple terms; as long as a client's query may take
    "server/inside": 30_000,
    # all facts of entities with thousands of them
    "cookbook/neighbours": 2_000,
}
FOLDER_BOUNDS: Mapping[str, float] = {
    # recipes, exports, counts and checks that read the whole store
    "checks": 60_000,
    "cookbook": 60_000,
    "derived": 20_000,
    "exchange": 20_000,
    "migrations": 20_000,
    "ontology": 20_000,
    "remote": 20_000,
    "system": 10_000,
}
"""Milliseconds at 200,000 facts where the default does not fit: by template, else by folder."""

_DRAWN: Mapping[str, tuple[str, int]] = {
    "chunks": ("SELECT ?x { GRAPH <urn:graph:source> { ?x a tg:Chunk } }", 25),
    "sources": ("SELECT ?x { GRAPH <urn:graph:source> { ?x a tg:Chunk } }", 25),
    "chunk": ("SELECT ?x { GRAPH <urn:graph:source> { ?x a tg:Chunk } }", 1),
    "documents": ("SELECT ?x { GRAPH <urn:graph:source> { ?x a tg:Document } }", 2),
    "document": ("SELECT ?x { GRAPH <urn:graph:source> { ?x a tg:Document } }", 1),
    "entities": ("SELECT ?x { GRAPH <urn:graph:derived> { ?x rag:canonicalEntity ?c } }", 10),
    "things": ("SELECT ?x { GRAPH <urn:graph:derived> { ?x rag:canonicalEntity ?c } }", 50),
    "sentences": ("SELECT ?x { GRAPH <urn:graph:source> { ?x rag:sentenceOf ?c } }", 100),
    "subgraphs": ("SELECT ?x { GRAPH <urn:graph:source> { ?x a tg:Subgraph } }", 10),
    "extractor": ("SELECT ?x { GRAPH <urn:graph:source> { ?s rag:extractor ?x } }", 1),
    "traces": ("SELECT ?x { GRAPH <urn:graph:retrieval> { ?x a rag:Session } }", 5),
    "edges": ("SELECT ?s ?p ?o { ?s ?p ?o . ?o rdfs:label ?l FILTER(?p NOT IN (rdf:type)) }", 25),
    "candidates": ("SELECT ?s ?p ?o { ?s ?p ?o . ?o rdfs:label ?l FILTER(?p NOT IN (rdf:type)) }", 25),
}
"""Parameter → where its values come from, and how many. What is not here takes the header's sample."""

_SHAPES: Mapping[str, Callable[[list[Row]], object]] = {
    "iri": lambda rows: rows[0]["x"],
    "string": lambda rows: rows[0]["x"],
    "iri[]": lambda rows: [row["x"] for row in rows],
    "(iri, double)[]": lambda rows: [(row["x"], 0.5) for row in rows],
    "(iri, iri, term)[]": lambda rows: [(row["s"], row["p"], row["o"]) for row in rows],
}
"""Declared type → a value of it, from what was drawn."""
_PREFIXES = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in PREFIXES.items())


# --- a store -------------------------------------------------------------------------------------


def synthetic(facts: int, keep: Callable[[str], NamedNode] | None = None, seed: int = 7) -> Iterator[Quad]:
    """A healthy store of so many facts, with documents, chunks, sentences, mentions, names and evidence.

    Args:
        keep: what keeps the text of a document and names it; None names it only.
    """
    draw = random.Random(seed)
    entities = max(10, facts // 5)
    labelled: set[NamedNode] = set()
    yield from prov.agent("synthetic", "1")
    chunks = -(-facts // FACTS_PER_CHUNK)
    left = facts
    for first in range(0, chunks, CHUNKS_PER_DOCUMENT):
        texts: list[list[tuple[str, str, str]]] = []
        for _ in range(min(CHUNKS_PER_DOCUMENT, chunks - first)):
            size, left = min(FACTS_PER_CHUNK, left), left - min(FACTS_PER_CHUNK, left)
            texts.append([_draw_fact(draw, entities) for _ in range(size)])
        yield from _document(first // CHUNKS_PER_DOCUMENT, texts, labelled, keep)


def _draw_fact(draw: random.Random, entities: int) -> tuple[str, str, str]:
    # a few entities have many edges, as in real texts
    s, o = (f"Entity {int(entities * draw.random() ** 2)}" for _ in range(2))
    return s, f"relates {draw.randrange(RELATIONS)}", o


def _document(
    number: int,
    texts: list[list[tuple[str, str, str]]],
    labelled: set[NamedNode],
    keep: Callable[[str], NamedNode] | None,
) -> Iterator[Quad]:
    iri = iris.document(f"synthetic/{number}.txt")
    bodies = [" ".join(f"{s} {p} {o}." for s, p, o in facts) for facts in texts]
    whole = "\n".join(bodies)
    stored = keep(whole) if keep else iris.stored_object(iris.digest(whole))
    described = prov.DocumentFacts(
        iri=iri,
        identity=f"synthetic/{number}.txt",
        location=f"file:///synthetic/{number}.txt",
        title=f"Document {number}",
        media_type="text/plain",
        content_hash=iris.digest(whole),
        byte_size=len(whole),
        chunk_count=len(bodies),
        chunker="synthetic/1",
        language="en",
        encoding="utf-8",
        page_count=0,
        metadata=(),
        original=stored,
        text=stored,
    )
    yield from prov.document(described, WHEN)
    offset = 0
    for index, (facts, body) in enumerate(zip(texts, bodies, strict=True)):
        chunk = iris.chunk(iri, iris.digest(body), 0)
        yield from prov.chunk(chunk, iri, body)
        yield from prov.chunk_place(chunk, index, offset, [iri])
        yield from _chunk(chunk, facts, labelled)
        offset += len(body) + 1


def _chunk(chunk: NamedNode, facts: list[tuple[str, str, str]], labelled: set[NamedNode]) -> Iterator[Quad]:
    subgraph = iris.subgraph(chunk, EXTRACTOR)
    yield from prov.extraction(prov.ExtractionFacts(chunk, "synthetic", EXTRACTOR, WHEN))
    offset = 0
    named: set[NamedNode] = set()
    for index, (s_name, p_name, o_name) in enumerate(facts):
        text = f"{s_name} {p_name} {o_name}."
        s, o = (iris.entity(name.lower().replace(" ", "-")) for name in (s_name, o_name))
        p = iris.relation(p_name.replace(" ", "-"))
        for node, name, is_entity in ((s, s_name, True), (p, p_name, False), (o, o_name, True)):
            yield from _name(subgraph, node, name, labelled, named, is_entity=is_entity)
        yield from prov.contained(subgraph, s, p, o)
        yield from prov.evidence(subgraph, (s, p, o), text, offset, 0.9, iris.sentence(chunk, index))
        yield from prov.sentence(chunk, index, offset, len(text), {s, o})
        offset += len(text) + 1


def _name(
    subgraph: NamedNode,
    node: NamedNode,
    name: str,
    labelled: set[NamedNode],
    named: set[NamedNode],
    *,
    is_entity: bool,
) -> Iterator[Quad]:
    if node not in labelled:
        labelled.add(node)
        yield prov.fact(node, RDFS.label, Literal(name))
        if is_entity:
            yield Quad(node, RAG.canonicalEntity, node, Graphs.DERIVED)
    if node not in named:
        named.add(node)
        yield Quad(subgraph, TG.contains, Triple(node, RDFS.label, Literal(name)), Graphs.SOURCE)


# --- parameters ----------------------------------------------------------------------------------


def drawn(store: EmbeddedStore, template: QueryTemplate) -> dict[str, Any]:
    """Values for a template's parameters, taken from the store where it has any."""
    values = template.samples()
    for name, parameter in template.params.items():
        if name not in _DRAWN:
            continue
        sparql, count = _DRAWN[name]
        rows = store.query(f"{_PREFIXES}{sparql} LIMIT {count}").rows or []
        shape = _SHAPES.get(parameter.type)
        if rows and shape is not None:
            values[name] = shape(rows)
    return values


# --- timing --------------------------------------------------------------------------------------


def build(store: EmbeddedStore, facts: int) -> None:
    """Fill a store with the synthetic one, compacted as after an ingest."""
    store.bulk_add(synthetic(facts))
    store.optimize()


def milliseconds(run: Callable[[], object], repeats: int = 5) -> float:
    """Median wall time; one run only, when it takes more than two seconds."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
        if times[-1] > 2_000:
            break
    return statistics.median(times)


def bound(name: str) -> float:
    """How many milliseconds a template may take at 200,000 facts."""
    return BOUNDS.get(name, FOLDER_BOUNDS.get(name.partition("/")[0], DEFAULT_BOUND))


def runner(store: EmbeddedStore, template: QueryTemplate) -> Callable[[], object]:
    """What runs a template once; an update on what the store does not know, so that it changes nothing."""
    if template.header.kind == "update":
        sparql = store.render(template.name, **template.samples())
        return lambda: store.update(sparql)
    sparql = store.render(template.name, **drawn(store, template))
    return lambda: store.query(sparql)


def trivial(store: EmbeddedStore) -> Callable[[], object]:
    """A look-up of one triple by subject and predicate: the unit of the ratios."""
    entity = drawn(store, store.templates["retrieval/canonical"])["entities"][0]
    return lambda: store.query(f"SELECT ?o WHERE {{ {entity} <{RDFS}label> ?o }}")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.templates", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=FACTS)
    asked = parser.parse_args()
    templates = TemplateLibrary(folder("queries"))
    with tempfile.TemporaryDirectory() as place:
        store = EmbeddedStore(templates, StoreFolder(Path(place)).database)
        build(store, asked.facts)
        unit = milliseconds(trivial(store), 50)
        print(f"{asked.facts:,} facts, {len(store):,} quads; one triple looked up: {unit:.3f} ms")
        rows = []
        for name in sorted(templates):
            if name.startswith("migrations/"):
                continue
            took = milliseconds(runner(store, templates[name]))
            rows.append((name, f"{took:.2f}", f"{took / unit:.0f}"))
        table(("template", "p50 ms", "look-ups"), rows)
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
