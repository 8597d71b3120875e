"""SHACL shapes of the user: what they read, and validation of changes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from graphrag_rdf.resources import folder
from graphrag_rdf.schema.shapes import Shapes, Statement, read_shapes
from graphrag_rdf.schema.validation import Change, validate_all, validate_change
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.embedded import EmbeddedStore

pytest.importorskip("pyshacl")

PREFIXES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <urn:x:> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
SHAPE = ":s a sh:NodeShape ; "
LOCAL = {
    "class of a value": "sh:targetSubjectsOf :p ; sh:property [ sh:path :p ; sh:class :C ] .",
    "counts": "sh:targetClass :C ; sh:property [ sh:path :p ; sh:minCount 1 ; sh:maxCount 2 ] .",
    "inverse": "sh:targetObjectsOf :q ; sh:property [ sh:path [ sh:inversePath :p ] ; sh:minCount 1 ] .",
    "sequence": "sh:targetClass :D ; sh:property [ sh:path ( :p :q ) ; sh:minCount 1 ] .",
    "alternatives": "sh:targetClass :D ; "
    "sh:property [ sh:path [ sh:alternativePath ( :p :q ) ] ; sh:maxCount 1 ] .",
    "a node shape": "sh:targetClass :C ; sh:property [ sh:path :p ; sh:node :t ] . "
    ":t sh:property [ sh:path :q ; sh:minCount 1 ] .",
    "either": "sh:targetSubjectsOf :q ; sh:or ( [ sh:path :p ; sh:minCount 1 ] [ sh:class :D ] ) .",
    "closed": "sh:targetClass :C ; sh:closed true ; sh:ignoredProperties ( rdf:type ) ; "
    "sh:property [ sh:path :p ] .",
    "pairs": "sh:targetSubjectsOf :p ; sh:property [ sh:path :p ; sh:disjoint :q ] .",
}
ANY = {
    "paths of any length": "sh:targetClass :C ; "
    "sh:property [ sh:path [ sh:zeroOrMorePath :p ] ; sh:class :C ] .",
    "SPARQL": 'sh:targetClass :C ; sh:sparql [ sh:select "SELECT $this { $this :p $this }" ] .',
    "recursion": "sh:targetClass :C ; sh:property [ sh:path :p ; sh:node :s ] .",
}


def term(name: str) -> NamedNode:
    return NamedNode(f"urn:x:{name}")


def shapes_of(text: str, folder_: Path, store: EmbeddedStore) -> Shapes:
    (folder_ / "shapes.ttl").write_text(
        PREFIXES + (text if text.startswith(":s ") or text.startswith("_:") else SHAPE + text), "utf-8"
    )
    return read_shapes(store, [folder_ / "shapes.ttl"])


def a_fact(chance: random.Random) -> Statement:
    nodes = [term(f"n{number}") for number in range(7)]
    if chance.random() < 0.3:
        return chance.choice(nodes), RDF.type, term(chance.choice("CD"))
    return chance.choice(nodes), term(chance.choice("pq")), chance.choice(nodes)


@pytest.fixture
def store() -> EmbeddedStore:
    return EmbeddedStore(TemplateLibrary(folder("queries")))


@pytest.mark.parametrize("text", LOCAL.values(), ids=LOCAL)
def test_a_change_breaks_what_it_breaks_for_all_nodes(text: str, tmp_path: Path) -> None:
    """Validating the nodes that a change bears on finds what validating everything before and after finds."""
    chance = random.Random(text)
    for _ in range(4):
        store = EmbeddedStore(TemplateLibrary(folder("queries")))
        shapes = shapes_of(text, tmp_path, store)
        assert shapes.paths is not None
        facts = {a_fact(chance) for _ in range(12)}
        store.bulk_add(Quad(*fact) for fact in facts)  # type: ignore[arg-type]
        merged = (term("n0"), term("n1")) if chance.random() < 0.5 else (term("n0"), term("n0"))
        store.bulk_add([Quad(merged[1], RAG.canonicalEntity, merged[0], Graphs.DERIVED)])
        added = {a_fact(chance) for _ in range(2)} - facts
        removed = set(chance.sample(sorted(facts, key=str), 2))
        before = set(validate_all(store, shapes).results)
        found = validate_change(store, shapes, Change(added, removed)).results
        for fact in removed:
            store.update(f"DELETE DATA {{ {fact[0]} {fact[1]} {fact[2]} }}")
        store.bulk_add(Quad(*fact) for fact in added)  # type: ignore[arg-type]
        after = set(validate_all(store, shapes).results)
        assert set(found) == after - before


@pytest.mark.parametrize("text", ANY.values(), ids=ANY)
def test_shapes_that_may_read_any_fact(text: str, tmp_path: Path, store: EmbeddedStore) -> None:
    assert shapes_of(text, tmp_path, store).paths is None


def test_only_nodes_that_a_change_bears_on_are_validated(tmp_path: Path, store: EmbeddedStore) -> None:
    shapes = shapes_of(LOCAL["class of a value"], tmp_path, store)
    store.bulk_add(Quad(term(f"m{n}"), term("p"), term("n1")) for n in range(50))
    store.bulk_add([Quad(term("n1"), RDF.type, term("C")), Quad(term("n2"), RDF.type, term("C"))])
    found = validate_change(store, shapes, Change([(term("n9"), term("p"), term("n2"))]))
    assert (found.results, found.nodes) == ([], 1)
    lost = validate_change(store, shapes, Change((), [(term("n1"), RDF.type, term("C"))]))
    assert (len(lost.results), lost.nodes) == (50, 51)


def test_the_digest_does_not_depend_on_names_and_order(tmp_path: Path, store: EmbeddedStore) -> None:
    one = shapes_of(":s sh:property _:a, [ sh:path :q ] . _:a sh:path :p .", tmp_path, store)
    other = shapes_of("_:b sh:path :p . :s sh:property [ sh:path :q ], _:b .", tmp_path, store)
    assert one.digest == other.digest
    assert one.digest != shapes_of(":s sh:property [ sh:path :q ] .", tmp_path, store).digest


def test_subclasses_of_loaded_ontologies_count(tmp_path: Path, store: EmbeddedStore) -> None:
    from graphrag_rdf.rdf.namespaces import RDFS

    shapes = shapes_of(LOCAL["class of a value"], tmp_path, store)
    store.bulk_add([Quad(term("Sub"), RDFS.subClassOf, term("C"), Graphs.ONTOLOGY)])
    added = [(term("n1"), term("p"), term("n2")), (term("n2"), RDF.type, term("Sub"))]
    assert validate_change(store, shapes, Change(added)).results == []
