"""Communities of a store: what they are built from, that unchanged ones keep their IRI, and that nothing
outlives its document."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf import Engine
from graphrag_rdf.checks import run_checks
from graphrag_rdf.config import Settings
from graphrag_rdf.ingest.entity_decisions import merge
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Merge
from graphrag_rdf.rdf.namespaces import PROV, RAG, Graphs
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.sparql.render import decode
from graphrag_rdf.wings.communities.build import built, is_outdated
from graphrag_rdf.wings.communities.settings import CommunitySection
from tests.support.stores import open_engine

TEXTS = {
    "a.txt": "Walter Pennock founded the Tarnay Electric Light Company. He lived in Port Merrin.\n",
    "b.txt": "Beatrice Pennock succeeded Walter Pennock in 1911. Andrew Orr visited Port Merrin.\n",
    "c.txt": "Andrew Orr designed Drumlaw Head Lighthouse in 1878. Masons built Drumlaw Head Lighthouse.\n",
    "d.txt": "Lin Yuhua met Chen Liwen. Chen Liwen taught Lin Yuhua.\n",
}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    place = tmp_path / "documents"
    place.mkdir()
    for name, text in TEXTS.items():
        (place / name).write_text(text)
    return place


def engine_of(documents: Path, **communities: object) -> Engine:
    section = CommunitySection(**{"auto": True, **communities})  # type: ignore[arg-type]
    engine = open_engine(":memory:", config=Settings(communities=section))
    engine.ingest([documents])
    return engine


def said(engine: Engine) -> set[str]:
    """All that is said of communities and their reports, without the records of the runs."""
    quads = decode(engine.store.quads(Graphs.COMMUNITY))
    records = {NamedNode(f"urn:graphrag-rdf:{name}") for name in ("communities", "community-reports")}
    return {str(quad) for quad in quads if quad.subject not in records}


def groups(engine: Engine, level: int = 0) -> set[frozenset[str]]:
    rows = engine.store.select("communities/list", levels=[level], communities=[], limit=100)
    members = engine.store.select("communities/members", communities=[row["community"] for row in rows])
    found: dict[str, set[str]] = {}
    for row in members:
        found.setdefault(text_of(row["community"]), set()).add(text_of(row["name"]))
    return {frozenset(names) for names in found.values()}


def test_entities_that_belong_together_are_a_community(documents: Path) -> None:
    engine = engine_of(documents)
    assert frozenset({"Lin Yuhua", "Chen Liwen"}) in groups(engine)
    everyone = [name for group in groups(engine) for name in group]
    assert len(everyone) == len({*everyone})
    assert {*everyone} == {row["name"] for row in engine.store.select("entities/list", text="", limit=99)}
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []


def test_a_run_that_changes_nothing_writes_nothing(documents: Path) -> None:
    engine = engine_of(documents)
    commit = engine.store.commit_number()
    engine.ingest([documents])
    assert engine.refresh("communities").results["unchanged"]
    assert engine.store.commit_number() == commit


def test_off_by_default(documents: Path) -> None:
    engine = open_engine(":memory:", config=Settings())
    engine.ingest([documents])
    assert built(engine.store) is None
    report = engine.refresh("communities").results
    assert report["added"] == sum(report["communities"].values()) > 0
    assert not is_outdated(engine.store)


def test_unchanged_communities_keep_their_iri(documents: Path) -> None:
    engine = engine_of(documents)
    (documents / "e.txt").write_text(
        "Hugh Sandison met Neil Corrigall. Neil Corrigall taught Hugh Sandison.\n"
    )
    engine.ingest([documents])
    report = engine.refresh("communities", again=True).results
    assert (report["added"], report["removed"]) == (0, 0)
    assert frozenset({"Hugh Sandison", "Neil Corrigall"}) in groups(engine)
    assert frozenset({"Lin Yuhua", "Chen Liwen"}) in groups(engine)


def test_weights_choose_what_counts(documents: Path) -> None:
    together = engine_of(documents)
    apart = engine_of(documents, statement_weight=0, sentence_weight=0, topic_weight=0)
    assert max(map(len, groups(together))) > 1
    assert max(map(len, groups(apart))) == 1
    assert built(apart.store).origins.edges == built(together.store).origins.edges  # type: ignore[union-attr]


def test_large_communities_are_divided(documents: Path) -> None:
    names = [
        f"{first} {last}"
        for last in ("Orr", "Gow", "Reay", "Tait")
        for first in ("Ann", "Ben", "Cora", "Dan")
    ]
    met = [f"{one} met {other}.\n" for one, other in pairwise(names)]
    for number, sentence in enumerate(met):
        (documents / f"met{number}.txt").write_text(sentence)
    engine = engine_of(documents, max_size=2)
    parts = groups(engine, 1)
    assert parts
    assert all(any(part < whole for whole in groups(engine)) for part in parts)


def test_merged_entities_count_as_one(documents: Path) -> None:
    engine = engine_of(documents)
    walter, beatrice = (
        NamedNode(f"http://trustgraph.ai/e/{name}-pennock") for name in ("walter", "beatrice")
    )
    merge(engine, [Merge(walter, (walter, beatrice))])
    assert is_outdated(engine.store)
    assert run_checks(engine.store, engine.blobs, engine.text_index) == [], "the member is gone at once"
    engine.refresh("communities")
    assert not any("Beatrice Pennock" in group for group in groups(engine))


def test_text_units_and_years(documents: Path) -> None:
    engine = engine_of(documents)
    quads = [*decode(engine.store.quads(Graphs.COMMUNITY))]
    units = {quad.subject: 0 for quad in quads if quad.predicate == RAG.textUnit}
    members = [quad for quad in quads if quad.predicate == PROV.hadMember]
    assert {quad.subject for quad in members} == {*units}, "each community has a chunk"
    years = {text_of(quad.object) for quad in quads if quad.predicate in (RAG.firstYear, RAG.lastYear)}
    assert years <= {"1911", "1878"}


@pytest.mark.parametrize("name", ["b.txt", "d.txt"])
def test_forgetting_a_document_is_as_if_it_had_never_been(documents: Path, name: str) -> None:
    engine = engine_of(documents)
    forget_documents(engine, find_documents(engine.store, [str(documents / name)]))
    left = "\n".join(said(engine))
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    for gone in {"b.txt": ["beatrice"], "d.txt": ["lin-yuhua", "chen-liwen"]}[name]:
        assert gone not in left, "before the next build"
    (documents / name).unlink()
    engine.refresh("communities")
    assert said(engine) == said(engine_of(documents))


def test_an_edit_is_as_if_it_had_been_so_from_the_beginning(documents: Path) -> None:
    engine = engine_of(documents)
    (documents / "d.txt").write_text("Lin Yuhua met Andrew Orr. Andrew Orr taught Lin Yuhua.\n")
    engine.ingest([documents])
    assert said(engine) == said(engine_of(documents))
