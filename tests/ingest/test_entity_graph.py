"""Which entities are shown - a fact holds them, a title or two sentences name them - and which co-occur."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.entity_decisions import merge, split
from graphrag_rdf.ingest.entity_graph import sentences_of_pairs, update_graph
from graphrag_rdf.ingest.fact_decisions import remove_facts
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.namespaces import RAG, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.ingest.conftest import MakeEngine, assert_same
from tests.support.stores import open_engine

GUIDE = """The quay of Tarnay

At noon the keeper of Port Merrin rows to Drumlaw Head, and the mail for Tarnay is on board. Whatever
the weather is, he carries letters from Port Merrin. Baleful clouds hang over Skell. Baleful winds blow, too.

Timetables of Kelmar
"""


def marks(engine: Engine) -> dict[str, bool]:
    """Local name of each marked entity → whether it is shown."""
    return {
        node_of(quad.subject).value.rpartition("/")[2]: text_of(quad.object) == "true"
        for quad in engine.store.quads(Graphs.DERIVED)
        if quad.predicate == RAG.shown
    }


def drawn(engine: Engine) -> set[Quad]:
    """All that the graph of entities consists of."""
    relations = {
        quad.subject for quad in engine.store.quads(Graphs.DERIVED) if quad.object == RAG.CoOccurrence
    }
    return {
        quad
        for quad in engine.store.quads(Graphs.DERIVED)
        if quad.predicate in (RAG.shown, RAG.coOccursWith) or quad.subject in relations
    }


def require_as_rebuilt(engine: Engine) -> None:
    """The graph is what a rebuild of the indexes makes of the same store."""
    before = drawn(engine)
    quads = [*before, *(q for q in engine.store.quads(Graphs.DERIVED) if q.predicate == RAG.parameters)]
    engine.store.commit(Changes(remove=quads, content=False))
    assert drawn(engine) == set()
    engine.rebuild_indexes()
    assert_same(drawn(engine), before)


def test_names_in_two_sentences_are_shown_others_are_not(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "guide.txt").write_text(GUIDE)
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([docs])
    found = marks(engine)
    assert found["port-merrin"]
    assert [name for name in ("drumlaw-head", "kelmar", "baleful") if found.get(name)] == []
    listed = [row["name"] for row in engine.store.select("entities/list", text="", every=False, limit=99)]
    every = [row["name"] for row in engine.store.select("entities/list", text="", every=True, limit=99)]
    assert ("Port Merrin" in listed, "Drumlaw Head" in listed, "Drumlaw Head" in every) == (True, False, True)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []
    require_as_rebuilt(engine)


def test_a_fact_shows_both_its_ends_until_it_is_removed(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "works.txt").write_text("Walter Pennock founded the Tarnay Electric Light Company.\n")
    (docs / "other.txt").write_text("A boat to Skell left in the morning, with Nora Quill.\n")
    engine = engine_of()
    engine.ingest([docs])
    ends = ["walter-pennock", "tarnay-electric-light-company"]
    assert all(marks(engine)[name] for name in ends)
    company = NamedNode(f"http://trustgraph.ai/e/{ends[1]}")
    facts = [quad.triple for quad in engine.store.quads(DefaultGraph()) if quad.object == company]
    remove_facts(engine, [(node_of(s), p, o) for s, p, o in facts])
    assert not marks(engine)["walter-pennock"]  # the company still has a type
    require_as_rebuilt(engine)


@pytest.mark.parametrize("first", ["Chemotherapy Chemotherapy", "Bora Bora"])
def test_a_doubled_name_is_not_shown(docs: Path, engine_of: MakeEngine, first: str) -> None:
    text = f"He went to {first} in May. She saw {first} in June. They like {first} as well.\n"
    (docs / "text.txt").write_text(text)
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([docs])
    found = marks(engine)
    assert [name for name, shown in found.items() if name == first.lower().replace(" ", "-") and shown] == []


_SENTENCES = (
    "Walter Pennock founded the Tarnay Company.",
    "In May the boat carried Ada Moor to Port Merrin.",
    "At noon a letter from Ada Moor came to Walter Pennock.",
    "Of Port Merrin nothing is left but Drumlaw Head.",
    "Skell is cold.",
    "Port Merrin",
)
_EDITS = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"), st.integers(0, 2), st.lists(st.sampled_from(_SENTENCES), min_size=1, max_size=4)
        ),
        st.tuples(st.just("forget"), st.integers(0, 2), st.just([])),
        st.tuples(st.sampled_from(["merge", "split"]), st.just(0), st.just([])),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_EDITS)
def test_edits_leave_what_a_rebuild_makes(edits: list[tuple[str, int, list[str]]]) -> None:
    pair = [NamedNode(f"http://trustgraph.ai/e/{name}") for name in ("ada-moor", "walter-pennock")]
    with tempfile.TemporaryDirectory() as folder, open_engine(":memory:", config=Settings()) as engine:
        docs = Path(folder)
        for what, number, sentences in edits:
            path = docs / f"{number}.txt"
            stored = {row["entity"] for row in engine.store.select("index/all-entities")}
            canonical = engine.store.select("retrieval/canonical", entities=pair)
            if what == "write":
                path.write_text(" ".join(sentences) + "\n")
                engine.ingest([path], root=docs)
            elif what == "forget" and path.exists():
                forget_documents(engine, find_documents(engine.store, [str(path)]), rewrite=False)
                path.unlink()
            elif what == "merge" and stored.issuperset(pair):
                merge(engine, [Merge(pair[0], tuple(pair))])
            elif what == "split" and len({row["canonical"] for row in canonical}) < len(canonical):
                split(engine, [pair[1]])
        require_as_rebuilt(engine)


# --- co-occurrence ---------------------------------------------------------------------------------


def pairs(engine: Engine) -> dict[tuple[str, str], int]:
    """Local names of entities that co-occur → the number of sentences."""
    entities = [row["entity"] for row in engine.store.select("derived/canonical")]
    rows = engine.store.select("derived/known-pairs", entities=entities, every=True, pairs=[])
    return {
        (row["one"].value.rpartition("/")[2], row["other"].value.rpartition("/")[2]): int(row["count"].value)
        for row in rows
    }


TOGETHER = """At noon the boat of Ada Moor left Port Merrin. In the evening Ada Moor was back in Port Merrin.
Nobody knows why Ada Moor hates Skell Head. The sons of Moor met on Skell Head.

Ada Moor, Drumlaw

From Drumlaw came a letter to Ada Moor. There is a road from Drumlaw to Port Merrin.
"""


def test_two_sentences_relate_what_they_name_a_heading_does_not(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "text.txt").write_text(TOGETHER)
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([docs])
    assert pairs(engine)["ada-moor", "port-merrin"] == 2
    assert ("ada-moor", "drumlaw") not in pairs(engine)
    assert not any("moor" in one and "moor" in other for one, other in pairs(engine))
    ada, merrin = (NamedNode(f"http://trustgraph.ai/e/{name}") for name in ("ada-moor", "port-merrin"))
    (told,) = sentences_of_pairs(engine.store, [(ada, merrin)]).values()
    assert told == "At noon the boat of Ada Moor left Port Merrin."
    near = engine.store.select("entities/named-with", entity=merrin, limit=9)
    assert [(row["name"], row["count"]) for row in near] == [("Ada Moor", 2)]
    require_as_rebuilt(engine)


def test_one_sentence_is_enough_if_the_settings_say_so(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "text.txt").write_text(TOGETHER)
    engine = engine_of(documents__chunk_size=2000, relations__min_count=1)
    engine.ingest([docs])
    assert pairs(engine)["ada-moor", "drumlaw"] == 1


def test_a_list_of_many_names_relates_nothing(docs: Path, engine_of: MakeEngine) -> None:
    names = [f"{first} {last}" for first in ("Ada", "Ben", "Cato") for last in ("Moor", "Quill", "Falk")]
    (docs / "text.txt").write_text(f"At noon came {', '.join(names)}. Later {', '.join(names)} left.\n")
    engine = engine_of(documents__chunk_size=2000)
    engine.ingest([docs])
    assert pairs(engine) == {}


_NAMES = tuple(f"Ent {letter}" for letter in "ABCDE")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 4), max_size=4), st.sampled_from([".", "!", ""])),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 2),
    st.sampled_from(["rdf12", "classic"]),
)
def test_counts_are_those_of_the_definition(
    sentences: list[tuple[set[int], str]], min_count: int, dialect: Dialect
) -> None:
    store = EmbeddedStore(TemplateLibrary(folder("queries")), dialect=dialect)
    store.commit(Changes(add=list(_told(sentences))))
    update_graph(store, None, min_count)
    whole = [named for named, end in sentences if end]
    shown = {entity for entity in range(5) if sum(entity in named for named in whole) > 1}
    expected = Counter(pair for named in whole for pair in combinations(sorted(named & shown), 2))
    nodes = [NamedNode(f"http://trustgraph.ai/e/ent-{letter}") for letter in "abcde"]
    rows = store.select("derived/known-pairs", entities=nodes, every=True, pairs=[])
    found = {(nodes.index(r["one"]), nodes.index(r["other"])): int(r["count"].value) for r in rows}  # type: ignore[arg-type]
    assert found == {pair: count for pair, count in expected.items() if count >= min_count}


def _told(sentences: list[tuple[set[int], str]]) -> Iterator[Quad]:
    chunk, content = NamedNode("urn:chunk"), ""
    for entity, name in enumerate(_NAMES):
        node = NamedNode(f"http://trustgraph.ai/e/ent-{'abcde'[entity]}")
        yield prov.fact(node, RDFS.label, Literal(name))
        yield Quad(node, RAG.canonicalEntity, node, Graphs.DERIVED)
    for number, (named, end) in enumerate(sentences):
        said = f"Of {', '.join(_NAMES[entity] for entity in sorted(named))} we hear{end}"
        nodes = [NamedNode(f"http://trustgraph.ai/e/ent-{'abcde'[entity]}") for entity in named]
        yield from prov.sentence(chunk, number, len(content), len(said), nodes)
        content += f"{said}\n\n"
    yield prov.source(chunk, TG.content, Literal(content))
