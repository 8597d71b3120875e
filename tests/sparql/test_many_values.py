"""A template asked for many values takes less CPU time than a look-up of each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyoxigraph import NamedNode

from benchmarks.templates import trivial
from graphrag_rdf.config import Settings
from graphrag_rdf.rdf.namespaces import PROV, RAG, Graphs
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.cpu import least_seconds
from tests.support.sample_stores import DOCUMENTS
from tests.support.stores import open_engine

_FLOOR = 0.02
"""CPU seconds that are allowed on top, for a busy machine."""
_QUESTIONS = 4


@pytest.fixture(scope="module")
def asked() -> Iterator[EmbeddedStore]:
    """A store of the sample documents, in which questions were asked."""
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([DOCUMENTS])
        for number in range(_QUESTIONS):
            list(engine.ask(f"Who owned the Petrel in 190{number}?"))
        yield engine.store


def _check(store: EmbeddedStore, name: str, count: int, **values: Any) -> None:
    one_by_one = count * least_seconds(trivial(store))
    assert least_seconds(lambda: store.select(name, **values)) < one_by_one + _FLOOR


def test_the_names_of_many_relations(asked: EmbeddedStore) -> None:
    merged = (quad for quad in asked.quads(Graphs.DERIVED) if quad.predicate == RAG.canonicalRelation)
    relations = [quad.subject for quad in merged]
    assert len(relations) > 60
    _check(asked, "retrieval/relation-names", len(relations), relations=relations)


def test_the_traces_of_many_objects(asked: EmbeddedStore) -> None:
    traced = list(asked.quads(Graphs.RETRIEVAL))
    named = {quad.object for quad in traced if isinstance(quad.object, NamedNode)}
    objects = [node for node in named if node.value.startswith("urn:sha256:")][:200]
    assert len(objects) > 60
    traces = [quad.object for quad in traced if quad.predicate == PROV.wasGeneratedBy][:1]
    _check(asked, "forget/objects-of-others", len(objects), objects=objects, traces=traces)


def test_the_traces_of_many_chunks(asked: EmbeddedStore) -> None:
    chunks = [row["chunk"] for row in asked.select("index/all-chunks")]
    _check(asked, "forget/traces", len(chunks), sources=chunks)


def test_the_weights_of_many_facts(asked: EmbeddedStore) -> None:
    rows = asked.select("facts/list", texts=[], limit=200, offset=0)
    edges = [(row["s"], row["p"], row["o"]) for row in rows]
    _check(asked, "derived/weights", 2 * len(edges), edges=edges)
