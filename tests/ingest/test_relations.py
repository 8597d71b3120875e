"""Derived relations: what they say, that they are the same however often and in whatever parts they are
built, and that nothing of them outlives what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import (
    NamedNode,
    Quad,
    Triple,
)

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks
from graphrag_rdf.checks.diagnosis import config_drift
from graphrag_rdf.config import RelationSection, Settings
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.relations import RelationSettings, build_relations, relation_counts
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf.namespaces import RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import integer, text_of
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect, decode
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.stores import open_engine

TEXTS = {
    "a.txt": "Walter Pennock founded the Tarnay Electric Light Company. He lived in Port Merrin.\n",
    "b.txt": "Beatrice Pennock succeeded Walter Pennock. Andrew Orr visited Port Merrin.\n",
    "c.txt": "Andrew Orr designed Drumlaw Head Lighthouse. Masons built Drumlaw Head Lighthouse.\n",
}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    for name, text in TEXTS.items():
        (place / name).write_text(text)
    return place


def engine_of(documents: Path, **relations: object) -> Engine:
    wanted = {"build": True, "min_count": 1, **relations}
    engine = open_engine(":memory:", config=Settings(relations=RelationSection(**wanted)))  # type: ignore[arg-type]
    engine.ingest([documents])
    return engine


def derived(store: EmbeddedStore) -> set[str]:
    """Everything that was derived, without the record of the build."""
    left_out = (RAG.canonicalEntity, RAG.parameters)
    return {
        str(quad)
        for quad in decode(store.quads(Graphs.DERIVED))
        if quad.predicate not in left_out and quad.object != NamedNode("http://www.w3.org/ns/prov#Entity")
    }


def said(store: EmbeddedStore, relation: NamedNode, value: NamedNode) -> dict[tuple[str, str], str]:
    """(one, other) → what is said of the relation between them."""
    quads = list(decode(store.quads(Graphs.DERIVED)))
    values = {quad.subject: text_of(quad.object) for quad in quads if quad.predicate == value}
    return {
        (quad.object.subject.value, quad.object.object.value): values[quad.subject]  # type: ignore[union-attr]
        for quad in quads
        if quad.predicate == RDF.reifies
        and isinstance(quad.object, Triple)
        and quad.object.predicate == relation
    }


def test_ingest_builds_them_with_the_setting(documents: Path) -> None:
    engine = engine_of(documents)
    counts = relation_counts(engine.store)
    assert counts[RAG.sharesEntityWith.value] >= 2
    assert counts[RAG.coOccursWith.value] >= 2
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert config_drift(engine) == []
    commit = engine.store.commit_number()
    engine.ingest([documents])
    assert engine.store.commit_number() == commit, "a run that changes nothing writes nothing"


def test_off_by_default(documents: Path) -> None:
    engine = open_engine(":memory:", config=Settings())
    engine.ingest([documents])
    assert relation_counts(engine.store).keys() <= {RAG.coOccursWith.value}


def test_building_again_or_in_parts_changes_nothing(documents: Path) -> None:
    engine = engine_of(documents)
    whole = derived(engine.store)
    engine.refresh("relations")
    assert derived(engine.store) == whole
    for name in TEXTS:
        engine.refresh("relations", find_documents(engine.store, [str(documents / name)]))
        assert derived(engine.store) == whole


def test_a_part_with_other_settings_is_refused(documents: Path) -> None:
    engine = engine_of(documents)
    with pytest.raises(UsageError, match="hub_limit 25"):
        build_relations(
            engine.store,
            RelationSettings(hub_limit=3),
            find_documents(engine.store, [str(documents / "a.txt")]),
        )


def test_hubs_relate_nothing(documents: Path) -> None:
    """Walter Pennock, in two of the chunks, relates them; with three he would be a hub."""
    (documents / "d.txt").write_text("Walter Pennock visited Drumlaw Head Lighthouse.\n")
    with_hubs, without = engine_of(documents), engine_of(documents, hub_limit=2)
    shared = [said(one.store, RAG.sharesEntityWith, RAG.sharedEntityCount) for one in (with_hubs, without)]
    assert len(shared[0]) > len(shared[1]) > 0


def test_forgetting_a_document_is_as_if_it_had_never_been(documents: Path) -> None:
    engine = engine_of(documents)
    forget_documents(engine, find_documents(engine.store, [str(documents / "b.txt")]))
    (documents / "b.txt").unlink()
    assert derived(engine.store) == derived(engine_of(documents).store)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_without_building_nothing_outlives_what_it_rests_on(documents: Path) -> None:
    """An edit, and a merge, leave no relation of what is gone; doctor tells that they are behind."""
    engine = engine_of(documents, build=False)
    engine.refresh("relations")
    (documents / "c.txt").write_text("Nothing of it is left.\n")
    engine.ingest([documents])
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    both = (engine.entity("Beatrice Pennock"), engine.entity("Walter Pennock"))
    merge(engine, [Merge(both[0], both)])
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert [drift["what"] for drift in config_drift(engine)] == ["relations derived"]
    engine.refresh("relations")
    assert config_drift(engine) == []
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


# --- against a reading of the definition ---------------------------------------------------------


def sample(mentions: list[list[set[int]]], dialect: Dialect) -> EmbeddedStore:
    """A document whose chunks have sentences that mention entities by number."""
    store = EmbeddedStore(TemplateLibrary(folder("queries")), dialect=dialect)
    store.commit(Changes(add=list(_quads(mentions))))
    return store


def _quads(mentions: list[list[set[int]]]) -> Iterator[Quad]:
    text = "https://trustgraph.ai/ns/"
    for number, sentences in enumerate(mentions):
        chunk = NamedNode(f"urn:chunk:{number}")
        part_of = NamedNode("http://purl.org/dc/terms/isPartOf")
        yield Quad(chunk, RDF.type, NamedNode(f"{text}Chunk"), Graphs.SOURCE)
        yield Quad(chunk, part_of, NamedNode("urn:doc"), Graphs.SOURCE)
        yield Quad(chunk, NamedNode(f"{text}chunkIndex"), integer(number), Graphs.SOURCE)
        for place, named in enumerate(sentences):
            sentence = NamedNode(f"urn:chunk:{number}#s{place}")
            yield Quad(sentence, RAG.sentenceOf, chunk, Graphs.SOURCE)
            for entity in named:
                node = NamedNode(f"urn:e:{entity}")
                yield Quad(sentence, RAG.mentions, node, Graphs.SOURCE)
                yield Quad(node, RAG.canonicalEntity, node, Graphs.DERIVED)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=1, max_size=4), min_size=1, max_size=5
    ),
    st.integers(2, 4),
    st.sampled_from(["rdf12", "classic"]),
)
def test_counts_are_those_of_the_definition(
    mentions: list[list[set[int]]], hub_limit: int, dialect: Dialect
) -> None:
    store = sample(mentions, dialect)
    build_relations(store, RelationSettings(hub_limit))
    names = [set().union(*sentences) for sentences in mentions]
    frequency = Counter(entity for named in names for entity in named)
    fit = {entity for entity, chunks in frequency.items() if chunks <= hub_limit}
    shared = {
        (f"urn:chunk:{one}", f"urn:chunk:{other}"): str(len(names[one] & names[other] & fit))
        for one, other in combinations(range(len(mentions)), 2)
        if names[one] & names[other] & fit
    }
    assert said(store, RAG.sharesEntityWith, RAG.sharedEntityCount) == shared
    follows = {
        (quad.subject, quad.object) for quad in store.quads(Graphs.DERIVED) if quad.predicate == RAG.follows
    }
    assert len(follows) == len(mentions) - 1
