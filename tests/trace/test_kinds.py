"""Every kind of item: what is written of it is read back, and all that it names is there."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Store

from graphrag_rdf.rdf.namespaces import PROV, RDF
from graphrag_rdf.resources import folder
from graphrag_rdf.steps.kinds import kinds
from graphrag_rdf.trace.kinds import (
    WARNING,
    ItemKind,
    NodeKind,
    node_kinds,
    properties,
    read_item,
    register,
    triples,
)
from graphrag_rdf.trace.model import CALL

kinds()  # imports the steps, which declare their nodes
NODES = sorted(node_kinds().values(), key=lambda kind: kind.name)


def items(found: tuple[ItemKind, ...]) -> list[ItemKind]:
    return [one for kind in found for one in (kind, *items(tuple(kind.parts.values())))]


ITEMS = {
    kind.name: kind for node in NODES for kind in items((*node.items, WARNING, CALL)) if not kind.of_terms
}
IRIS = st.integers(0, 99).map(lambda number: NamedNode(f"urn:x:{number}"))
VALUES: dict[object, st.SearchStrategy[Any]] = {
    NamedNode: IRIS,
    str: st.text(max_size=20),
    int: st.integers(-(10**6), 10**6),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}


def values(make: Any, name: str) -> st.SearchStrategy[Any]:
    """Of a field, None only where it may be."""
    hint = get_type_hints(make)[name]
    if properties(make)[name].fact:
        fact = st.tuples(IRIS, IRIS, IRIS | st.text(max_size=9).map(Literal))
        several = st.lists(fact, unique=True, max_size=3).map(lambda found: tuple(sorted(found, key=str)))
        return several if Ellipsis in get_args(hint) else fact
    if NamedNode in get_args(hint) and Ellipsis in get_args(hint):
        return st.lists(IRIS, unique=True, max_size=3).map(lambda found: tuple(sorted(found, key=str)))
    if Ellipsis in get_args(hint):
        numbers = st.lists(st.integers(0, 99), unique=True, max_size=3)
        return numbers.map(lambda found: tuple(sorted(found, key=str)))
    known = [VALUES[one] for one in (hint, *get_args(hint)) if one in VALUES]
    known += [st.none()] if type(None) in get_args(hint) else []
    return st.one_of(known or [st.sampled_from(get_args(hint))])


@pytest.mark.parametrize("kind", ITEMS.values(), ids=ITEMS)
@settings(max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read_back(kind: ItemKind, data: st.DataObject) -> None:
    item = read_item(kind.make, {})
    for name in properties(kind.make):
        setattr(item, name, data.draw(values(kind.make, name), label=name))
    if kind.type is None:
        item.kind = "template"
    node = defaultdict(list)
    for predicate, value in triples(item, kind.type):
        node[predicate].append(value)
    again = read_item(kind.make, node)
    for name in properties(kind.make):
        assert getattr(again, name) == getattr(item, name), name


@pytest.mark.parametrize("kind", ITEMS.values(), ids=ITEMS)
def test_its_json_names_what_it_has(kind: ItemKind) -> None:
    for listed in getattr(kind.make, "JSON", ()):
        key, _, attribute = listed.partition("=")
        assert hasattr(kind.make, attribute or key), listed
    assert all(hasattr(kind.make, name) for name in kind.parts)


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_what_it_says_is_declared_in_the_ontology(node: NodeKind) -> None:
    declared = Store()
    for name in ("trustgraph.ttl", "graphrag-rdf.ttl", "prov-o.ttl"):
        declared.load(path=str(folder("ontology") / name))
    terms = {node.type, *node.types, *node.words, *(field.predicate for field in node.fields)}
    for kind in items(node.items):
        terms |= {kind.link, *([kind.type] if kind.type else [])}
        terms |= {known.predicate for known in ({} if kind.of_terms else properties(kind.make)).values()}
    ours = {term for term in terms if "trustgraph" in term.value or "graphrag-rdf" in term.value}
    assert {term for term in ours if not any(declared.quads_for_pattern(term, RDF.type, None))} == set()
    assert node.about.endswith(".")
    assert node.page is None or node.page.is_file()
    assert PROV.Entity not in (node.type, *node.types), "every node is one"


def test_a_class_has_one_kind_of_node() -> None:
    first = NODES[0]
    register(first)
    with pytest.raises(ValueError, match="have the class"):
        register(NodeKind("other", first.type, "Something else."))
