"""Merges, splits and normalisation: decisions that can be taken back, and that later ingests respect."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES, MERGE, merge, split
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.ingest.resolutions import Groups, Merge, Resolution
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.wings.merging import entity_normalisation as normalisation
from tests.ingest.conftest import MakeEngine, assert_same, content, everything, index_matches_store
from tests.support.stores import open_engine
from tests.wings.merging.ingest.test_synonyms import canonical

TEXT = (
    "Elspeth Marwick met Ada Lovelace in Leeds. Miss Marwick knew Charles Babbage. "
    "Later E. Marwick left Leeds. Dr. Halden met Grace Hopper in Tarnay."
)


def entity(slug: str) -> NamedNode:
    return iris.entity(slug)


@pytest.fixture
def engine(docs: Path, engine_of: MakeEngine) -> Engine:
    (docs / "a.txt").write_text(TEXT)
    made = engine_of("store")
    made.ingest([docs])
    return made


def unrecorded(engine: Engine) -> set[Quad]:
    """All but decisions, who made them, and commit numbers."""
    decided = {d.iri for d in read_decisions(engine.store, ENTITIES)}
    return {
        quad
        for quad in everything(engine)
        if not (
            quad.graph_name == Graphs.SYSTEM
            and (quad.subject in decided or "person" in str(quad.subject) or quad.subject == STORE_NODE)
        )
    }


def sound(engine: Engine) -> bool:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    return index_matches_store(engine)


def one(engine: Engine, *slugs: str) -> Resolution:
    members = tuple(map(entity, slugs))
    (made,) = merge(engine, [Merge(members[0], members, "the same person", 0.8)])
    return made


def test_merged_and_taken_back(engine: Engine) -> None:
    before = unrecorded(engine)
    decision = one(engine, "elspeth-marwick", "miss-marwick")
    links = canonical(engine)
    assert links["miss-marwick"] == links["elspeth-marwick"] == "elspeth-marwick"
    assert sound(engine)
    (stored,) = read_decisions(engine.store, ENTITIES)
    assert (stored.reason, stored.confidence, stored.undone) == ("the same person", 0.8, None)
    undo(engine, [decision])
    assert_same(unrecorded(engine), before)
    (stored,) = read_decisions(engine.store, ENTITIES)
    assert stored.undone is not None
    assert sound(engine)


def test_merging_twice_decides_once(engine: Engine) -> None:
    one(engine, "elspeth-marwick", "miss-marwick")
    before = everything(engine)
    members = entity("elspeth-marwick"), entity("miss-marwick")
    assert merge(engine, [Merge(members[0], members)]) == []
    assert_same(everything(engine), before)


def test_merged_again_after_it_was_taken_back(engine: Engine) -> None:
    undo(engine, [one(engine, "elspeth-marwick", "miss-marwick")])
    one(engine, "elspeth-marwick", "miss-marwick")
    assert [d.undone is None for d in read_decisions(engine.store, ENTITIES)] == [False, True]
    assert canonical(engine)["miss-marwick"] == "elspeth-marwick"


def test_not_with_itself(engine: Engine) -> None:
    with pytest.raises(UsageError, match="itself"):
        one(engine, "leeds", "leeds")


def test_chains_and_the_last_word(engine: Engine) -> None:
    """What is merged in steps is one; the last merge says what stands for all."""
    first = one(engine, "elspeth-marwick", "miss-marwick")
    one(engine, "e.-marwick", "miss-marwick")
    links = canonical(engine)
    assert {links[e] for e in ("elspeth-marwick", "miss-marwick", "e.-marwick")} == {"e.-marwick"}
    undo(engine, [first])
    links = canonical(engine)
    assert (links["elspeth-marwick"], links["miss-marwick"]) == ("elspeth-marwick", "e.-marwick")
    assert sound(engine)


def test_a_split_is_replayed(engine: Engine, docs: Path, tmp_path: Path, engine_of: MakeEngine) -> None:
    """What was split stays apart at every later ingest, whatever the synonyms file says, until taken back."""
    one(engine, "elspeth-marwick", "miss-marwick", "e.-marwick")
    (decision,) = split(engine, [entity("miss-marwick")])
    links = canonical(engine)
    assert (links["miss-marwick"], links["e.-marwick"]) == ("miss-marwick", "elspeth-marwick")
    engine.close()
    file = tmp_path / "synonyms.txt"
    file.write_text("Elspeth Marwick = Miss Marwick\n")
    (docs / "b.txt").write_text("Miss Marwick left Tarnay. Elspeth Marwick stayed.")
    again = engine_of("store", extract__synonyms=file)
    again.ingest([docs], refresh=True)
    assert canonical(again)["miss-marwick"] == "miss-marwick"
    assert sound(again)
    undo(again, [d for d in read_decisions(again.store, ENTITIES) if d.iri == decision.iri])
    assert canonical(again)["miss-marwick"] == "elspeth-marwick"
    assert sound(again)


def test_a_split_of_an_unmerged_entity_is_refused(engine: Engine) -> None:
    with pytest.raises(UsageError, match="not merged"):
        split(engine, [entity("leeds")])


def test_a_merge_is_replayed(engine: Engine, docs: Path) -> None:
    """An entity that goes with its document, and comes back with another, is merged again."""
    one(engine, "elspeth-marwick", "miss-marwick")
    (docs / "a.txt").write_text("Ada Lovelace met Miss Marwick.")
    engine.ingest([docs])
    links = canonical(engine)
    assert "elspeth-marwick" not in links
    assert links["miss-marwick"] == "miss-marwick"
    assert sound(engine)
    (docs / "c.txt").write_text("Elspeth Marwick met Ada Lovelace.")
    engine.ingest([docs])
    assert canonical(engine)["miss-marwick"] == "elspeth-marwick"
    assert sound(engine)


def test_forgetting_takes_names_out_of_decisions(engine: Engine, docs: Path) -> None:
    (docs / "b.txt").write_text("Miss Marwick and E. Marwick met Walter Pennock.")
    engine.ingest([docs])
    one(engine, "elspeth-marwick", "miss-marwick", "e.-marwick")
    one(engine, "ada-lovelace", "charles-babbage")
    forget_documents(engine, find_documents(engine.store, ["docs/a.txt"]))
    (left,) = read_decisions(engine.store, ENTITIES)
    assert left.members == (entity("e.-marwick"), entity("miss-marwick"))
    assert not any(
        "elspeth" in str(q).casefold() or "lovelace" in str(q).casefold() for q in everything(engine)
    )
    links = canonical(engine)
    assert links["miss-marwick"] == links["e.-marwick"] == "e.-marwick"
    assert sound(engine)


def test_shapes(engine: Engine) -> None:
    pytest.importorskip("pyshacl")
    one(engine, "elspeth-marwick", "miss-marwick")
    split(engine, [entity("miss-marwick")])
    assert run_shapes(engine.store.quads()) == []


def test_retrieval_follows_a_merge(engine: Engine, docs: Path) -> None:
    """A question about one name finds what is said under the other."""
    (docs / "b.txt").write_text("Miss Marwick founded the Lantern Society in 1901.")
    engine.ingest([docs])

    def led_there() -> set[object]:
        found = engine.retrieve("What did Elspeth Marwick found?", preview=True)["results"]
        return {path["entity"] for one in found if "Lantern" in one["text"] for path in one["paths"]}

    elspeth = "http://trustgraph.ai/e/elspeth-marwick"
    assert elspeth not in led_there()
    one(engine, "elspeth-marwick", "miss-marwick")
    assert elspeth in led_there()


# --- properties ----------------------------------------------------------------------------------

_E = [entity(letter) for letter in "abcdef"]
_SETS = st.lists(st.lists(st.sampled_from(_E), min_size=2, max_size=4, unique=True), max_size=6)


@given(_SETS)
def test_groups_are_what_merges_connect(sets: list[list[NamedNode]]) -> None:
    """Members of a group point at one of them, and groups do not overlap."""
    decisions = [
        Resolution(
            iri=NamedNode(f"urn:d:{n}"),
            kind=MERGE,
            members=tuple(sorted(each, key=str)),
            canonical=each[0],
        )
        for n, each in enumerate(sets)
    ]
    groups = Groups(decisions)
    for each in sets:
        assert set(each) <= {*groups.of(each[0])}
        assert groups.standing_for(each[0], _E) == groups.standing_for(each[-1], _E)
    for node in _E:
        assert groups.standing_for(node, _E) in groups.of(node)
        assert groups.standing_for(node, []) == node
    if sets:
        assert groups.standing_for(sets[-1][0], _E) == sets[-1][0]


_PEOPLE = ["elspeth-marwick", "miss-marwick", "e.-marwick", "ada-lovelace", "charles-babbage", "leeds"]
_ACTS = st.lists(
    st.one_of(
        st.lists(st.sampled_from(_PEOPLE), min_size=2, max_size=3, unique=True),
        st.sampled_from(_PEOPLE),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_ACTS)
def test_undoing_restores_exactly(shared: Engine, acts: list[list[str] | str]) -> None:
    """Whatever is merged and split, once it is taken back the store is as it was but for the record."""
    before = unrecorded(shared)
    made: list[Resolution] = []
    for act in acts:
        if isinstance(act, str):
            groups = Groups(read_decisions(shared.store, ENTITIES))
            if entity(act) in groups:
                made += split(shared, [entity(act)])
        else:
            nodes = tuple(map(entity, act))
            made += merge(shared, [Merge(nodes[0], nodes)])
    linked = [q for q in everything(shared) if q.graph_name == Graphs.DERIVED]
    links = {q.subject: q.object for q in linked if q.predicate == RAG.canonicalEntity}
    assert all(links[target] == target for target in links.values())
    undo(shared, made)
    assert_same(unrecorded(shared), before)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    from tests.ingest.conftest import settings as engine_settings

    folder = tmp_path_factory.mktemp("docs")
    (folder / "a.txt").write_text(TEXT)
    made = open_engine(":memory:", config=engine_settings())
    made.ingest([folder])
    return made


# --- normalisation -------------------------------------------------------------------------------

NAMES = (
    "The Skell Tidal Power Company built Gate 4. Skell Tidal Power Company Ltd. sold Gate 5. "
    "John R. Smith met Zoë Quill in Leeds. J. R. Smith knew Zoe Quill. Charles Babbage wrote. "
    "Ada met Charles Babage."
)


@pytest.fixture
def named(docs: Path, engine_of: MakeEngine) -> Engine:
    (docs / "a.txt").write_text(NAMES)
    made = engine_of("store")
    made.ingest([docs])
    return made


def pairs(found: list[normalisation.Proposal]) -> set[tuple[str, frozenset[str]]]:
    return {(p.rule, frozenset(p.names)) for p in found}


def test_proposes_what_differs_in_writing_only(named: Engine) -> None:
    found = normalisation.propose(named)
    assert ("initials", frozenset({"John R. Smith", "J. R. Smith"})) in pairs(found)
    assert ("accents", frozenset({"Zoë Quill", "Zoe Quill"})) in pairs(found)
    assert not any("Babage" in name for p in found for name in p.names)
    assert not any(name.startswith("Gate") for p in found for name in p.names)
    assert [p.score for p in found] == sorted((p.score for p in found), reverse=True)
    assert normalisation.propose(named, limit=1) == found[:1]


def test_proposes_spelling_when_asked_for_less(named: Engine) -> None:
    found = normalisation.propose(named, min_score=0.7)
    (alike,) = [p for p in found if p.rule == "spelling"]
    assert set(alike.names) == {"Charles Babbage", "Charles Babage"}
    assert alike.score < 0.89


def test_applied_and_taken_back(named: Engine) -> None:
    before = unrecorded(named)
    found = normalisation.propose(named)
    made = normalisation.apply(named, found)
    assert len(made) == len(found) > 1
    links = canonical(named)
    assert links["zoë-quill"] == links["zoe-quill"]
    assert {d.by for d in read_decisions(named.store, ENTITIES)} == {normalisation.RULE}
    assert all(d.reason and d.confidence for d in made)
    assert normalisation.propose(named) == []
    assert sound(named)
    undo(named, normalisation.standing(named.store))
    assert_same(unrecorded(named), before)
    assert normalisation.propose(named) == found


def test_never_what_a_split_keeps_apart(named: Engine) -> None:
    normalisation.apply(named, normalisation.propose(named))
    split(named, [entity("zoe-quill")])
    assert not any("Zoe Quill" in p.names for p in normalisation.propose(named))


def test_never_across_types_that_contradict(named: Engine) -> None:
    person, place = iris.type_("person"), iris.type_("place")
    for slug, kind in (("zoë-quill", person), ("zoe-quill", place)):
        _retype(named, entity(slug), kind)
    assert not any("Zoe Quill" in p.names for p in normalisation.propose(named))
    _retype(named, entity("zoe-quill"), person)
    assert any("Zoe Quill" in p.names for p in normalisation.propose(named))


def test_a_firm_is_not_the_town_that_it_is_named_after(docs: Path, engine_of: MakeEngine) -> None:
    """Unless both are known to be of one type; what differs in its legal form alone is one firm."""
    (docs / "a.txt").write_text(
        "Lintie Company built the pier at Lintie. Anna Brek led Lintie Co. in 1903. "
        "Anna Brek came from Lintie."
    )
    engine = engine_of()
    engine.ingest([docs])
    assert pairs(normalisation.propose(engine)) == {
        ("legal_form", frozenset({"Lintie Company", "Lintie Co"}))
    }
    unsure = [p for p in normalisation.propose(engine, min_score=0.8) if p.rule == "firm_name"]
    assert [(set(p.names), p.score) for p in unsure] == [({"Lintie", "Lintie Co"}, 0.85)]
    for slug in ("lintie", "lintie-co", "lintie-company"):
        _retype(engine, entity(slug), iris.type_("organisation"))
    assert {p.rule for p in normalisation.propose(engine)} == {"legal_form", "firm_name"}


def _retype(engine: Engine, node: NamedNode, kind: NamedNode) -> None:
    engine.store.update(
        f"DELETE {{ {node} a ?t }} INSERT {{ {node} a {kind} }} WHERE {{ OPTIONAL {{ {node} a ?t }} }}"
    )


def test_initials_need_a_document_that_names_both(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "a.txt").write_text("In 1990 John R. Smith met Ada Lovelace.")
    (docs / "b.txt").write_text("In 1991 J. R. Smith met Grace Hopper.")
    engine = engine_of()
    engine.ingest([docs])
    assert {"J. R. Smith", "John R. Smith"} <= {
        row["name"].value  # type: ignore[union-attr]
        for row in engine.store.select("entities/all-names")
    }
    assert not any(p.rule == "initials" for p in normalisation.propose(engine, min_score=0))


def test_meaning_counts_where_there_is_an_embedding_model(named: Engine) -> None:
    class Same:
        """Every text means the same."""

        name = "same"

        def embed(self, texts: list[str]) -> object:
            import numpy as np

            return np.ones((len(texts), 4), np.float32)

    named.__dict__["embedder"] = Same()
    found = normalisation.propose(named, min_score=0.7)
    assert {p.rule for p in found if "Charles Babage" in p.names} == {"meaning"}
    assert all(p.score <= 0.89 for p in found if p.rule == "meaning")


def test_every_merge_is_content(engine: Engine) -> None:
    """Answers that rest on the store as it was are not taken for answers of what it is now."""
    before = engine.store.content_commit()
    one(engine, "elspeth-marwick", "miss-marwick")
    assert engine.store.content_commit() > before
    assert all(q.predicate != RAG.unsettled for q in everything(engine))
    assert content(engine)
