"""The templates, and stores of the sample documents in two dialects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.sample_stores import sample_engine, store_of


@pytest.fixture(scope="session")
def templates() -> TemplateLibrary:
    return TemplateLibrary(folder("queries"))


@pytest.fixture(scope="session")
def rdf12() -> Iterator[EmbeddedStore]:
    with sample_engine() as engine:
        yield engine.store


@pytest.fixture(scope="session")
def classic(rdf12: EmbeddedStore) -> EmbeddedStore:
    """The same quads as RDF 1.1 reification."""
    return store_of(rdf12.quads(), "classic")
