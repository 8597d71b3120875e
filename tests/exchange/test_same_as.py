"""`owl:sameAs` in an imported file joins entities by a decision that can be split or undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.exchange import import_file
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES, merge, read_groups, split
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from tests.support.stores import open_engine

EX = "http://example.org/"
PREFIXES = """
@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix wd: <http://www.wikidata.org/entity/> .
"""
ADA = """
:ada skos:prefLabel "Ada Lovelace"@en ; :wrote :notes ; owl:sameAs wd:Q7259 .
wd:Q7259 owl:sameAs <http://trustgraph.ai/e/countess-of-lovelace> .
:notes rdfs:label "Notes on the Engine" .
"""


def take(engine: Engine, folder: Path, turtle: str, name: str = "a.ttl") -> None:
    (folder / name).write_text(PREFIXES + turtle)
    import_file(engine, folder / name)


def canonical(engine: Engine, *entities: NamedNode) -> set[str]:
    rows = engine.store.select("ingest/canonical-links", entities=list(entities))
    return {row["canonical"].value for row in rows}  # type: ignore[union-attr]


LOVELACE = iris.entity("countess-of-lovelace")
ADA_NODE = NamedNode(EX + "ada")


def test_a_group_is_one_decision_with_the_file_as_source(empty: Engine, tmp_path: Path) -> None:
    take(empty, tmp_path, ADA)
    (decision,) = read_decisions(empty.store, ENTITIES)
    assert {member.value for member in decision.members} == {
        EX + "ada",
        "http://www.wikidata.org/entity/Q7259",
        LOVELACE.value,
    }
    assert decision.canonical == ADA_NODE  # the file names it
    assert (decision.by, decision.confidence) == (iris.agent("graphrag-rdf-import"), 1.0)
    assert decision.source is not None
    assert empty.store.ask("exchange/subgraph", subgraph=iris.subgraph(decision.source, "import/1"))
    assert canonical(empty, NamedNode("http://www.wikidata.org/entity/Q7259")) == {EX + "ada"}
    assert canonical(empty, LOVELACE) == set()  # nothing else is known of it
    assert run_checks(empty.store, empty.blobs, empty.text_index) == []
    assert run_shapes(empty.store.quads()) == []


def test_facts_of_texts_and_of_the_file_are_found_together(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("Countess of Lovelace met Charles Babbage in London.")
    with open_engine(":memory:", config=Settings()) as engine:
        take(engine, tmp_path, ADA)
        engine.ingest([docs])  # the decision waits for the entity
        assert canonical(engine, LOVELACE) == {EX + "ada"}
        *_, last = engine.ask("What did the Countess of Lovelace write?")
        assert last.answer is not None
        assert any("Notes on the Engine" in passage["text"] for passage in last.answer["passages"])
        forget_documents(engine, find_documents(engine.store, [str(docs / "a.txt")]))
        assert [len(d.members) for d in read_decisions(engine.store, ENTITIES)] == [3]
        assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_split_undone_and_imported_again(empty: Engine, tmp_path: Path) -> None:
    take(empty, tmp_path, ':a rdfs:label "A" ; owl:sameAs :b . :b rdfs:label "B" .')
    a, b = NamedNode(EX + "a"), NamedNode(EX + "b")
    assert canonical(empty, b) == {EX + "a"}
    (decision,) = split(empty, [b])
    assert canonical(empty, b) == {EX + "b"}
    take(empty, tmp_path, ':a rdfs:label "A" ; owl:sameAs :b . :c rdfs:label "C" .', "other.ttl")
    assert canonical(empty, b) == {EX + "b"}, "a person's split outweighs another file"
    undo(empty, [decision])
    assert canonical(empty, b) == {EX + "a"}
    undo(empty, [d for d in read_decisions(empty.store, ENTITIES) if d.kind.name == "merge"])
    assert canonical(empty, a, b) == {EX + "a", EX + "b"}
    assert import_file(empty, tmp_path / "a.ttl").kind == "unchanged"
    assert canonical(empty, b) == {EX + "b"}


@pytest.mark.parametrize(
    "turtle",
    [
        ":a owl:sameAs :a .",
        ":A a owl:Class ; rdfs:label 'A' . :B a owl:Class ; owl:sameAs :A ; rdfs:label 'B' .",
        ":p owl:sameAs :q . :x :p :y .",
        ":a owl:sameAs 'a' .",
    ],
)
def test_what_is_no_two_entities_is_not_merged(empty: Engine, tmp_path: Path, turtle: str) -> None:
    take(empty, tmp_path, turtle)
    assert read_decisions(empty.store, ENTITIES) == []


def test_merges_of_imported_things_survive_forgetting(tmp_path: Path) -> None:
    """Things that a file names by other properties than rdfs:label have a name, too."""
    (tmp_path / "b.txt").write_text("Walter Pennock lives in Leeds.")
    with open_engine(":memory:", config=Settings()) as engine:
        take(engine, tmp_path, ':a skos:prefLabel "A" ; :r :b . :b skos:prefLabel "B" .')
        engine.ingest([tmp_path / "b.txt"])
        pair = NamedNode(EX + "a"), NamedNode(EX + "b")
        merge(engine, [Merge(pair[0], pair)])
        forget_documents(engine, find_documents(engine.store, [str(tmp_path / "b.txt")]))
        assert canonical(engine, *pair) == {EX + "a"}
        assert len(read_groups(engine.store).of(pair[0])) == 2


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8))
def test_groups_are_those_that_the_triples_join(pairs: list[tuple[int, int]], tmp_path: Path) -> None:
    """Undoing all decisions gives the entities of a file without the triples."""
    named = "".join(f':e{n} rdfs:label "Thing {n}" .\n' for n in range(7))
    same = "".join(f":e{one} owl:sameAs :e{other} .\n" for one, other in pairs)
    group = {n: {n} for n in range(7)}
    for one, other in pairs:
        joined = group[one] | group[other]
        for member in joined:
            group[member] = joined
    with open_engine(":memory:", config=Settings()) as engine:
        take(engine, tmp_path, named + same)
        found = {
            quad.subject.value: quad.object.value  # type: ignore[union-attr]
            for quad in engine.store.quads(Graphs.DERIVED)
            if quad.predicate == RAG.canonicalEntity
        }
        for one in range(7):
            for other in range(7):
                same_one = found[f"{EX}e{one}"] == found[f"{EX}e{other}"]
                assert same_one == (other in group[one])
        undo(engine, read_decisions(engine.store, ENTITIES))
        assert all(
            quad.subject == quad.object
            for quad in engine.store.quads(Graphs.DERIVED)
            if quad.predicate == RAG.canonicalEntity
        )
