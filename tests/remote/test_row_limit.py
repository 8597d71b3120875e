"""Virtuoso with a limit of rows, as it is installed: what it cuts off is told, never taken for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import StoreError
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.migrations import migrate
from graphrag_rdf.store.remote import RemoteStore
from tests.support.endpoints import virtuoso
from tests.support.sample_stores import templates
from tests.support.stores import endpoint_of

pytestmark = [pytest.mark.embedded, pytest.mark.slow]  # it starts a server of its own

LIMIT = 100
PATTERN = "WHERE { GRAPH <urn:graph:source> { ?s ?p ?o } }"


@pytest.fixture(scope="module")
def store() -> Iterator[RemoteStore]:
    """More quads than it gives rows."""
    server = virtuoso(LIMIT)
    server.start()
    found = RemoteStore(templates(), endpoint_of(server))
    migrate(found)
    quads = [
        Quad(NamedNode(f"urn:{n}"), NamedNode("urn:b"), Literal(str(n)), Graphs.SOURCE) for n in range(150)
    ]
    found.commit(Changes(add=quads))
    yield found
    server.stop()


def test_rows_that_are_cut_off_are_told(store: RemoteStore) -> None:
    with pytest.raises(StoreError, match="no more than 100 rows") as caught:
        store.query(f"SELECT ?s {PATTERN}")
    assert "ResultSetMaxRows" in (caught.value.hint or "")
    assert len(store.query(f"SELECT ?s {PATTERN} LIMIT 90").rows or ()) == 90


def test_graphs_that_are_cut_off_are_told(store: RemoteStore) -> None:
    with pytest.raises(StoreError, match="no more than 100 rows"):
        store.query(f"CONSTRUCT {{ ?s ?p ?o }} {PATTERN}")
    with pytest.raises(StoreError, match=r"gave \d+ of the 150 triples"):
        list(store.quads(Graphs.SOURCE))
    assert len(store.query(f"CONSTRUCT {{ ?s ?p ?o }} {PATTERN} LIMIT 80").triples or ()) == 80


def test_updates_have_no_such_limit(store: RemoteStore) -> None:
    store.update(f"DELETE {{ GRAPH <urn:graph:source> {{ ?s ?p ?o }} }} {PATTERN}")
    assert list(store.quads(Graphs.SOURCE)) == []
