"""Each template says the same, and changes the same, wherever the triples are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyoxigraph import Literal, Quad

from benchmarks.templates import drawn
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.rdf.namespaces import RDF, XSD, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.render import with_prefixes
from graphrag_rdf.store.base import Changes, Store, plain_quads
from graphrag_rdf.store.migrations import migrate
from tests.support.sample_stores import QUESTION, SAMPLES, store_of, templates
from tests.support.stores import open_engine

pytestmark = pytest.mark.every_kind

_PHYSICAL = {
    *("system/graph-sizes", "exchange/self-description"),
    *("server/graph-statistics", "server/graphs", "schema/classes", "schema/properties", "schema/ends"),
    *(name for name in templates() if name.startswith("remote/")),
}
"""These tell of a store as it is kept, not of what it holds."""
_EMBEDDED = {"server/inside"}
"""What only our server asks, which has a store of its own: it looks inside triple terms."""

_REFLEXIVE = "trace/source-nodes"
"""Some engines reach what is not there from itself."""


def named(*kinds: str) -> list[str]:
    return sorted(
        name for name in set(templates()) - _PHYSICAL - _EMBEDDED if templates()[name].header.kind in kinds
    )


def content(store: Store) -> set[Quad]:
    """What a store holds beside its own bookkeeping."""
    return {quad for quad in plain_quads(store) if not str(quad.subject).startswith("<urn:graphrag-rdf:")}


@pytest.fixture(scope="session")
def written() -> set[Quad]:
    """The sample documents and a trace."""
    with Engine.open(":memory:", config=Settings()) as engine:
        engine.ingest(SAMPLES)
        for _ in engine.ask(QUESTION):
            pass
        return content(engine.store)


@pytest.fixture
def here(written: set[Quad]) -> Store:
    store = store_of(written)
    migrate(store)
    return store


@pytest.fixture
def there(written: set[Quad]) -> Iterator[Store]:
    """The same in a store of the kind in turn."""
    with open_engine(":memory:", config=Settings()) as engine:
        engine.store.bulk_add(written)
        yield engine.store


_RELATIONS = "SELECT ?x { ?s ?x ?o FILTER(?x NOT IN (rdf:type)) } GROUP BY ?x"
_DRAWN_HERE = {
    ("cookbook/neighbours", "entity"): (
        "SELECT ?x { ?x ?p ?y . ?y ?q ?z FILTER(isIRI(?y)) } ORDER BY ?x LIMIT 1"
    ),
    ("checks/places", "nodes"): (
        "SELECT DISTINCT ?x { GRAPH ?g { { ?x rdf:reifies ?y } UNION { ?x a tg:Chunk } "
        "UNION { ?x rag:sentenceOf ?y } UNION { ?x a tg:Subgraph } } }"
    ),
    ("cookbook/most", "relations"): _RELATIONS,
}
"""(template, parameter) → what its values are, where a sample finds nothing that could differ."""
_WIDE = {"first": 1000, "last": 2100}
"""Years between which there are dates."""


def values_of(store: Store, name: str) -> dict[str, Any]:
    values = drawn(store, templates()[name])  # type: ignore[arg-type]
    if _WIDE.keys() <= values.keys():
        values |= _WIDE
    for (template, parameter), query in _DRAWN_HERE.items():
        if template == name:
            found = [row["x"] for row in store.query(with_prefixes(query)).rows or []]
            values[parameter] = found[0] if templates()[name].params[parameter].type == "iri" else found
    if name == _REFLEXIVE:
        rows = (
            store.query(f"SELECT ?e {{ GRAPH {Graphs.SOURCE} {{ ?e {RDF.reifies} ?f }} }} LIMIT 3").rows or []
        )
        values["starts"] = [row["e"] for row in rows]
    return values


def plainly(term: Term) -> Term:
    """Some engines have no truth values beside numbers."""
    if isinstance(term, Literal) and term.datatype == XSD.boolean:
        return Literal(int(term.value in ("true", "1")))
    return term


def answered(store: Store, name: str, values: dict[str, Any]) -> object:
    match templates()[name].header.kind:
        case "ask":
            return store.ask(name, **values)
        case "construct":
            return {str(triple) for triple in store.construct(name, **values)}
    rows = store.run(name, **values).solutions
    return sorted(sorted((key, str(plainly(term))) for key, term in row.items()) for row in rows)


COUNTED = {"server/dataset-statistics"}
"""They count nodes, of which the dialect `classic` has one more for each statement."""


def test_each_query_gives_the_same(there: Store, here: Store) -> None:
    different: dict[str, object] = {}
    for name in named("select", "ask", "construct"):
        if name in COUNTED and there.renderer.dialect == "classic":
            continue
        samples = {} if name == _REFLEXIVE else templates()[name].samples()
        for values in (values_of(here, name), *filter(None, [samples])):
            wanted = answered(here, name, values)
            try:
                found = answered(there, name, values)
            except GraphRagError as error:
                found = error.message
            if found != wanted:
                different[name] = values, found, wanted
    assert different == {}


@pytest.mark.slow
def test_each_update_changes_the_same(there: Store, here: Store) -> None:
    different: dict[str, object] = {}
    for name in named("update"):
        changes = Changes(updates=[(name, values_of(here, name))])
        here.commit(changes)
        try:
            there.commit(changes)
        except GraphRagError as error:
            different[name] = error.message
            continue
        gone, new = content(here) - content(there), content(there) - content(here)
        if gone or new:
            different[name] = gone, new
            there.commit(Changes(remove=[*new], add=[*gone]))
    assert different == {}
