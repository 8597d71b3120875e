"""What the PROV builders write conforms to the shapes, as a store gives it back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pyoxigraph import NamedNode, Quad, Store, Triple
from rdflib import Graph

from graphrag_rdf.rdf import iris, prompts, prov

pyshacl = pytest.importorskip("pyshacl")

TEXT = "Ann met Bob."
WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _ingested() -> Iterator[Quad]:
    """One document with one page, chunk and sentence, and one fact with a located and a lost quote."""
    document = iris.document("report.txt")
    chunk = iris.chunk(document, iris.digest(TEXT), 0)
    subgraph = iris.subgraph(chunk, "rules/1")
    fact = (iris.entity("ann"), iris.relation("met"), iris.entity("bob"))
    described = prov.DocumentFacts(
        iri=document,
        identity="report.txt",
        location="/library/report.txt",
        title="Report",
        media_type="text/plain",
        content_hash=iris.digest(TEXT),
        byte_size=len(TEXT),
        chunk_count=1,
        chunker="1",
        language="en",
        encoding="utf-8",
        page_count=1,
        metadata=(),
        original=NamedNode("urn:sha256:0"),
        text=NamedNode("urn:sha256:0"),
    )
    yield from prov.document(described, WHEN)
    yield from prov.page(document, 1, 0, len(TEXT), None)
    yield from prov.chunk(chunk, document, TEXT)
    yield from prov.chunk_place(chunk, 0, 0, [iris.page(document, 1)])
    yield from prov.sentence(chunk, 0, 0, len(TEXT), [fact[0], fact[2]])
    yield from prov.agent("rules", "1")
    yield from prov.extraction(
        prov.ExtractionFacts(chunk=chunk, component="rules", extractor="rules/1", started=WHEN)
    )
    yield from prov.contained(subgraph, *fact)
    yield from prov.evidence(subgraph, fact, "met", 4, 0.9)
    yield from prov.evidence(subgraph, fact, "saw", None, None)


def _tuned() -> Iterator[Quad]:
    """A tuned prompt, and an extraction that asked with it."""
    chunk = iris.chunk(iris.document("report.txt"), iris.digest(TEXT), 0)
    after, before = iris.digest("after"), iris.digest("before")
    yield from prov.agent("tuning", "1")
    yield from prompts.tuning(
        prompts.TuningFacts(
            prompt=after,
            former=before,
            text=NamedNode(f"urn:sha256:{iris.digest('text')}"),
            component="tuning",
            model="openai/test-model",
            started=WHEN,
            ended=WHEN,
            sampled=[chunk],
            examples=[chunk.value],
            parameters={"seed": 0},
            calls=3,
            in_tokens=10,
            out_tokens=5,
        )
    )
    yield from prov.extraction(
        prov.ExtractionFacts(chunk=chunk, component="tuning", extractor="llm/1", started=WHEN, asks=after)
    )


def test_what_the_builders_write_conforms(shapes: Graph) -> None:
    store = Store()
    store.extend([*_ingested(), *_tuned()])
    lines = [f"{q.subject} {q.predicate} {q.object} ." for q in store if not isinstance(q.object, Triple)]
    data = Graph().parse(data="\n".join(lines), format="nt")
    conforms, _, text = pyshacl.validate(data, shacl_graph=shapes)
    assert conforms, text
