"""In how many chunks an entity is mentioned, and of how many it is the topic: kept by every run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.decisions import undo
from graphrag_rdf.ingest.entity_decisions import merge, settle
from graphrag_rdf.ingest.names import unsettled
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.rdf.terms import node_of, now
from graphrag_rdf.store.base import Changes
from tests.support.stores import open_engine

TEXTS = {
    "mill": "# Orrin Mill\n\nOrrin Mill was built by Ada Bell. Ada Bell sold Orrin Mill to Tom Hask.",
    "bell": "# Ada Bell\n\nAda Bell was an engineer. Ada Bell visited Mill Harbour with Tom Hask.",
    "hask": "# Tom Hask\n\nTom Hask painted Mill Harbour. Orrin Mill was painted, too.",
}


def counted(engine: Engine) -> set[tuple[str, str, str]]:
    """Entity, count, number of chunks."""
    return {
        (quad.subject.value, quad.predicate.value, quad.object.value)
        for quad in engine.store.quads(Graphs.DERIVED)
        if quad.predicate in (RAG.chunkCount, RAG.topicCount)
    }


def counted_again(engine: Engine) -> set[tuple[str, str, str]]:
    """What a migration counts in a store without counts."""
    noted = [q for q in engine.store.quads(Graphs.DERIVED) if q.predicate in (RAG.chunkCount, RAG.topicCount)]
    engine.store.commit(Changes(remove=noted, content=False))
    engine.store.commit(Changes(updates=[("migrations/003-entity-counts", {"number": 3, "now": now()})]))
    return counted(engine)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / f"{name}.md").write_text(text + "\n")
    return folder


def test_they_follow_what_is_added_changed_and_removed(docs: Path) -> None:
    later = (docs / "hask.md").read_text()
    (docs / "hask.md").unlink()
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([docs])
        first = counted(engine)
        assert first
        assert first == counted_again(engine)
        (docs / "hask.md").write_text(later)
        engine.ingest([docs])
        second = counted(engine)
        assert second != first
        assert second == counted_again(engine)
        (docs / "bell.md").write_text("# Ada Bell\n\nAda Bell was a singer.\n")
        (docs / "hask.md").unlink()
        engine.ingest([docs], sync=True)
        third = counted(engine)
        assert third != first
        assert third == counted_again(engine)


def test_a_merged_entity_counts_for_all(docs: Path) -> None:
    mill, harbour = "http://trustgraph.ai/e/orrin-mill", "http://trustgraph.ai/e/mill-harbour"
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([docs])
        before = counted(engine)
        (decision,) = merge(engine, [Merge(NamedNode(mill), (NamedNode(mill), NamedNode(harbour)))])
        merged = counted(engine)
        assert harbour not in {entity for entity, _, _ in merged}
        assert (mill, RAG.chunkCount.value, "3") in merged
        assert merged == counted_again(engine)
        undo(engine, [decision])
        assert counted(engine) == before


def test_they_are_settled_again_after_a_kill(docs: Path) -> None:
    with open_engine(":memory:", config=Settings()) as engine:
        engine.ingest([docs])
        before = counted(engine)
        topics = [quad for quad in engine.store.quads(Graphs.DERIVED) if quad.predicate == RAG.topicCount]
        marks = unsettled(node_of(quad.subject) for quad in topics)
        engine.store.commit(Changes(remove=topics, add=list(marks), content=False))
        settle(engine.store)
        engine.indexer.flush(final=True)
        assert counted(engine) == before
