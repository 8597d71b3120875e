"""Entities are linked to reference vocabularies by names and context; homonyms stay apart."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.checks import run_checks, run_shapes
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import import_file
from graphrag_rdf.exchange.ontologies import load_ontologies, remove_ontology
from graphrag_rdf.ingest.decisions import read_decisions, undo
from graphrag_rdf.ingest.entity_decisions import ENTITIES, refresh_links, split
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.known_links import read_links
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf.namespaces import OWL, RAG, SKOS, Graphs
from graphrag_rdf.rdf.terms import local_name
from graphrag_rdf.wings.merging.links import (
    Proposal,
    apply,
    choose_vocabularies,
    link_by_hand,
    propose,
    standing,
)
from tests.ingest.conftest import MakeEngine, assert_same, everything, index_matches_store
from tests.wings.merging.ingest.test_resolution import entity, unrecorded
from tests.wings.merging.ingest.test_synonyms import canonical

EX = "http://example.org/v#"
HEAD = """
@prefix : <http://example.org/v#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
ONTOLOGY = "<http://example.org/v> a owl:Ontology .\n"
MERCURY = """
:scheme a skos:ConceptScheme ; skos:prefLabel "Things"@en .
:planet a skos:Concept ; skos:prefLabel "Mercury"@en , "Merkur"@de , "水星"@zh ; skos:inScheme :scheme ;
  skos:definition "The smallest planet, in the orbit nearest to the Sun."@en .
:metal a skos:Concept ; skos:prefLabel "Mercury"@en , "Quecksilber"@de ; skos:altLabel "quicksilver"@en ;
  skos:definition "A chemical element, a liquid metal used in thermometers."@en ; skos:inScheme :scheme .
"""
PLANET = (
    "Mercury is the planet closest to the Sun. Astronomers observed the orbit of Mercury with telescopes."
)
METAL = "Old thermometers contain Mercury. The factory in Almadén sold Mercury, a liquid metal."
SMITHS = """
:Person a owl:Class ; rdfs:label "person"@en .
:sailor a :Person , owl:NamedIndividual ; rdfs:label "John Smith" ;
  rdfs:comment "Captain of the ship Petrel, lost in a storm off Norland."@en .
:baker a :Person , owl:NamedIndividual ; rdfs:label "John Smith" ;
  rdfs:comment "Baker in Leeds, who invented the oatmeal loaf."@en .
"""


def loaded(engine: Engine, folder: Path, turtle: str, name: str = "v.ttl") -> None:
    (folder / name).write_text(HEAD + ONTOLOGY + turtle, "utf-8")
    load_ontologies(engine.store, [folder / name], "http://trustgraph.ai/", datetime.now(UTC))


@pytest.fixture
def made(docs: Path, engine_of: MakeEngine, tmp_path: Path) -> MakeEngine:
    """Makes an engine on texts, with a loaded vocabulary."""

    def make(texts: Mapping[str, str], turtle: str = MERCURY) -> Engine:
        for name, text in texts.items():
            (docs / name).write_text(text, "utf-8")
        engine = engine_of()
        engine.ingest([docs])
        loaded(engine, tmp_path, turtle)
        return engine

    return make


def proposed(engine: Engine, **options: object) -> dict[str, Proposal]:
    found = propose(engine, choose_vocabularies(engine.store, None), **options)  # type: ignore[arg-type]
    return {one.name: one for one in found}


def outcomes(engine: Engine, **options: object) -> dict[str, tuple[str, str]]:
    return {
        name: (one.outcome, local_name(one.best.thing.value))
        for name, one in proposed(engine, **options).items()
    }


def link(engine: Engine) -> None:
    apply(engine, proposed(engine).values())


def linked(engine: Engine) -> set[tuple[str, str, str]]:
    wanted = {OWL.sameAs, SKOS.exactMatch, SKOS.closeMatch}
    return {
        (local_name(q.subject.value), local_name(q.predicate.value), local_name(q.object.value))  # type: ignore[union-attr]
        for q in engine.store.quads(Graphs.DERIVED)
        if q.predicate in wanted
    }


def sound(engine: Engine) -> bool:
    assert run_checks(engine.store, engine.blobs, engine.text_index) == []
    assert run_shapes(engine.store.quads()) == []
    return index_matches_store(engine)


# --- which things are linked --------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "thing"), [(PLANET, "planet"), (METAL, "metal")])
def test_context_tells_homonyms_apart(text: str, thing: str, made: MakeEngine) -> None:
    engine = made({"a.txt": text})
    (one,) = [one for one in proposed(engine).values() if one.name == "Mercury"]
    assert (one.outcome, one.best.thing.value, one.relation) == ("link", EX + thing, SKOS.exactMatch)
    assert [local_name(other.thing.value) for other in one.others] == [
        {"planet": "metal"}.get(thing, "planet")
    ]
    apply(engine, [one])
    assert linked(engine) == {("mercury", "exactMatch", thing)}
    (decision,) = standing(engine.store)
    assert decision.matched == Literal("Mercury", language="en")
    assert decision.evidence
    (known,) = read_links(engine.store, [entity("mercury")])
    assert "Mercury" in known.evidence[0]["text"]
    assert sound(engine)


def test_a_name_without_context_is_ambiguous(made: MakeEngine) -> None:
    engine = made({"a.txt": "Ada Lovelace admired Mercury."})
    assert outcomes(engine, min_confidence=0.6)["Mercury"][0] == "ambiguous"
    assert outcomes(engine)["Mercury"][0] == "unsure"
    link(engine)
    assert linked(engine) == set()


def test_an_entity_of_two_meanings_is_left(made: MakeEngine) -> None:
    engine = made({"a.txt": PLANET, "b.txt": METAL})
    assert outcomes(engine)["Mercury"][0] == "mixed"


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("Captain John Smith sailed the Petrel from Norland. A storm hit the ship of John Smith.", "sailor"),
        ("The baker John Smith lives in Leeds. John Smith sold the first oatmeal loaf.", "baker"),
    ],
)
def test_two_people_of_one_name(text: str, thing: str, made: MakeEngine) -> None:
    engine = made({"a.txt": text}, SMITHS)
    assert outcomes(engine)["John Smith"] == ("link", thing)
    link(engine)
    assert ("john-smith", "sameAs", thing) in linked(engine)


GEORGIA = """
:country a skos:Concept ; skos:prefLabel "Georgia"@en , "Georgien"@de , "格鲁吉亚"@zh ;
  skos:definition "A country in the Caucasus, with the capital Tbilisi."@en ,
    "Land im Kaukasus mit der Hauptstadt Tiflis."@de , "高加索的国家，首都是第比利斯。"@zh .
:state a skos:Concept ; skos:prefLabel "Georgia"@en , "Georgia"@de , "佐治亚州"@zh ;
  skos:definition "A state in the southeast of the United States, with the capital Atlanta."@en ,
    "Bundesstaat im Südosten der Vereinigten Staaten mit der Hauptstadt Atlanta."@de .
"""


@pytest.mark.parametrize(
    ("text", "name", "thing"),
    [
        ("The Caucasus borders Georgia. Tbilisi is the capital of Georgia.", "Georgia", "country"),
        ("Atlanta is the capital of Georgia. The state of Georgia grows peaches.", "Georgia", "state"),
        ("Die Hauptstadt von Georgia ist Atlanta. In Georgia wachsen Pfirsiche.", "Georgia", "state"),
        ("Die Hauptstadt von Georgien ist Tiflis. Georgien liegt im Kaukasus.", "Georgien", "country"),
        ("格鲁吉亚的首都是第比利斯。格鲁吉亚位于高加索。", "格鲁吉亚", "country"),
    ],
)
def test_two_places_in_three_languages(text: str, name: str, thing: str, made: MakeEngine) -> None:
    engine = made({"a.txt": text}, GEORGIA)
    assert outcomes(engine)[name] == ("link", thing)


def test_an_undescribed_namesake_is_not_surer(docs: Path, made: MakeEngine) -> None:
    engine = made({"a.txt": METAL}, MERCURY + ':roman a owl:NamedIndividual ; rdfs:label "Mercury" .')
    assert outcomes(engine)["Mercury"] == ("link", "metal")
    gods = ':a a skos:Concept ; skos:prefLabel "Mercury"@en ; skos:definition "Messenger of the gods."@en .'
    loaded(engine, docs.parent, gods + ':b a skos:Concept ; skos:prefLabel "Mercury"@en .')
    assert outcomes(engine, min_confidence=0.5)["Mercury"][0] == "ambiguous"


def test_alternative_and_similar_names(made: MakeEngine) -> None:
    vocabulary = """
    :a a owl:NamedIndividual ;
      rdfs:label "Skell Tidal Power Company" ; skos:altLabel "Tarnay Electric Light" ;
      rdfs:comment "It built turbines for electricity in Skell Sound, and sold lamps in Tarnay."@en .
    :b a owl:NamedIndividual ; rdfs:label "Charles Babbage" ;
      rdfs:comment "Designed the Analytical Engine, a machine for calculation, with gears."@en .
    """
    text = (
        "Tarnay Electric Light sold lamps in Tarnay and built turbines. "
        "Charles Babage designed a machine with gears, the Analytical Engine, for calculation."
    )
    found = proposed(made({"a.txt": text}, vocabulary))
    assert (found["Tarnay Electric Light"].outcome, found["Tarnay Electric Light"].best.method) == (
        "link",
        "altLabel",
    )
    similar = found["Charles Babage"]
    assert (similar.outcome, similar.best.method) == ("unsure", "spelling")
    assert similar.best.confidence < 0.89


def test_disjoint_types_never(engine_of: MakeEngine, tmp_path: Path) -> None:
    classes = """
    :Ship a owl:Class ; rdfs:label "ship" . :Sloop a owl:Class ; rdfs:subClassOf :Ship ; rdfs:label "sloop" .
    :Bird a owl:Class ; rdfs:label "bird" ; owl:disjointWith :Ship .
    :bird a :Bird ; rdfs:label "Storm Petrel" ; rdfs:comment "It flies over the sea near Norland."@en .
    """
    facts = """<http://trustgraph.ai/e/storm-petrel> a :Sloop ; rdfs:label "Storm Petrel" ;
      rdfs:comment "It sank in the sea near Norland."@en .
    <http://trustgraph.ai/e/norland> rdfs:label "Norland" ."""
    engine = engine_of()
    (tmp_path / "facts.ttl").write_text(HEAD + facts)
    import_file(engine, tmp_path / "facts.ttl")
    loaded(engine, tmp_path, classes)
    chosen = choose_vocabularies(engine.store, "http://example.org/v")
    assert propose(engine, chosen) == []
    loaded(engine, tmp_path, classes.replace("; owl:disjointWith :Ship", ""))
    (one,) = propose(engine, choose_vocabularies(engine.store, "http://example.org/v"))
    assert one.best.thing.value == EX + "bird"


def test_a_type_that_agrees_helps(engine_of: MakeEngine, tmp_path: Path) -> None:
    things = """
    :Ship a owl:Class ; rdfs:label "ship" . :Sloop a owl:Class ; rdfs:subClassOf :Ship ; rdfs:label "sloop" .
    :Bird a owl:Class ; rdfs:label "bird" .
    :one a :Bird ; rdfs:label "Petrel" . :two a :Ship ; rdfs:label "Petrel" .
    """
    engine = engine_of()
    (tmp_path / "facts.ttl").write_text(
        HEAD + '<http://trustgraph.ai/e/petrel> a :Sloop ; rdfs:label "Petrel" .'
    )
    import_file(engine, tmp_path / "facts.ttl")
    loaded(engine, tmp_path, things)
    (one,) = propose(engine, choose_vocabularies(engine.store, "http://example.org/v"))
    assert (one.outcome, one.best.thing.value) == ("link", EX + "two")


def test_meaning_of_names(
    docs: Path, engine_of: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an embedding model, names of the same meaning are candidates, never sure by that alone."""
    np = pytest.importorskip("numpy")

    class Embedder:
        name, dimension = "fixed", 2

        def embed(self, texts: list[str]) -> object:
            near = ("Beacon Office", "Lighthouse Authority")
            return np.array(
                [[1.0, 0.0] if any(n in t for n in near) else [0.0, 1.0] for t in texts], np.float32
            )

    (docs / "a.txt").write_text("The Beacon Office hired Elin Vestergaard.")
    engine = engine_of()
    engine.ingest([docs])
    loaded(engine, tmp_path, ':l a skos:Concept ; skos:prefLabel "Lighthouse Authority"@en .')
    monkeypatch.setattr(type(engine), "embedder", property(lambda _: Embedder()))
    one = proposed(engine)["Beacon Office"]
    assert (one.outcome, one.best.method) == ("unsure", "meaning")


# --- what a link does ---------------------------------------------------------------------------------


def test_undone_links_leave_nothing(made: MakeEngine) -> None:
    engine = made({"a.txt": PLANET, "b.txt": "John Smith was captain of the ship Petrel."}, MERCURY + SMITHS)
    before = unrecorded(engine)
    link(engine)
    assert len(linked(engine)) == 2
    assert sound(engine)
    undo(engine, standing(engine.store)[::-1])
    assert_same(unrecorded(engine), before)
    assert sound(engine)
    assert "Mercury" not in proposed(engine), "what was undone is not proposed, nor a namesake"
    assert outcomes(engine, again=True)["Mercury"] == ("link", "planet")


SENTENCES = (
    PLANET,
    METAL,
    "Mercury shines.",
    "John Smith sailed the ship Petrel.",
    "John Smith baked bread.",
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4), least=st.floats(0.5, 0.9))
def test_linking_and_undoing_gives_the_same_store(
    texts: list[str], least: float, engine_of: MakeEngine, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    engine = engine_of()
    engine.ingest([folder])
    loaded(engine, tmp_path_factory.mktemp("v"), MERCURY + SMITHS)
    before = unrecorded(engine)
    found = proposed(engine, min_confidence=least)
    made = apply(engine, found.values())
    assert len(linked(engine)) == len(made) == sum(one.outcome == "link" for one in found.values())
    assert index_matches_store(engine)
    undo(engine, made)
    assert_same(unrecorded(engine), before)
    assert index_matches_store(engine)
    engine.close()


def test_questions_find_the_entity_by_names_of_the_vocabulary(made: MakeEngine) -> None:
    engine = made({"a.txt": PLANET})

    def answered() -> bool:
        *_, last = engine.ask("Was ist Merkur?")
        assert last.answer is not None
        return bool(last.answer["answered"])

    assert not answered()
    link(engine)
    assert answered()
    remove_ontology(engine.store, "http://example.org/v", "http://trustgraph.ai/")
    refresh_links(engine)
    assert linked(engine) == {("mercury", "exactMatch", "planet")}, "the link stays, without names"
    assert not answered()
    assert sound(engine)


def test_facts_about_an_imported_individual_are_found(
    docs: Path, engine_of: MakeEngine, tmp_path: Path
) -> None:
    (docs / "a.txt").write_text(
        "Elin Vestergaard was a lighthouse engineer. Elin Vestergaard lived in Sandvig."
    )
    (tmp_path / "isles.ttl").write_text(
        HEAD
        + ':p1 rdfs:label "Elin Vestergaard" ; :jobTitle "lighthouse engineer" ; :wrote :b .'
        + ':b rdfs:label "Reefs" .'
    )
    engine = engine_of()
    engine.ingest([docs])
    import_file(engine, tmp_path / "isles.ttl")
    chosen = choose_vocabularies(engine.store, (tmp_path / "isles.ttl").as_uri())
    apply(engine, propose(engine, chosen))
    assert linked(engine) == {("elin-vestergaard", "sameAs", "p1")}
    rows = engine.store.select("ingest/canonical-links", entities=[entity("elin-vestergaard")])
    assert [str(row["canonical"]) for row in rows] == [f"<{EX}p1>"]
    *_, last = engine.ask("What did Elin Vestergaard write?")
    assert last.answer is not None
    assert "Reefs" in last.answer["answer"]
    assert sound(engine)
    split(engine, [entity("elin-vestergaard")])
    assert linked(engine) == set()
    assert propose(engine, chosen) == []
    assert sound(engine)


def test_links_go_with_their_entity_and_come_back(docs: Path, made: MakeEngine) -> None:
    engine = made({"a.txt": PLANET, "b.txt": "Ada Lovelace lived in Leeds."})
    link(engine)
    (docs / "a.txt").write_text("Nothing is here any more, says Ada Lovelace.")
    engine.ingest([docs])
    assert linked(engine) == set()
    assert sound(engine)
    (docs / "c.txt").write_text(f"{PLANET} Venus is the second planet.")
    engine.ingest([docs])
    assert linked(engine) == {("mercury", "exactMatch", "planet")}
    assert sound(engine)
    forget_documents(engine, find_documents(engine.store, [str(docs / "c.txt")]))
    assert linked(engine) == set()
    assert read_decisions(engine.store, ENTITIES) == []
    assert not any(
        "mercury" in str(quad).lower() for quad in everything(engine) if quad.graph_name == Graphs.SYSTEM
    )
    assert index_matches_store(engine)


def test_a_new_version_of_the_vocabulary_brings_its_names(made: MakeEngine, tmp_path: Path) -> None:
    engine = made({"a.txt": PLANET})
    link(engine)
    loaded(engine, tmp_path, MERCURY + ':planet skos:altLabel "Kupferstern"@de .')
    refresh_links(engine)
    names = {q.object for q in engine.store.quads(Graphs.DERIVED) if q.predicate == RAG.linkedName}
    assert Literal("Kupferstern", language="de") in names
    assert proposed(engine) == {}, "it is linked already"
    assert sound(engine)


def test_by_hand(made: MakeEngine) -> None:
    engine = made({"a.txt": "Ada Lovelace admired Mercury."})
    metal, mercury = NamedNode(EX + "metal"), entity("mercury")
    decision = link_by_hand(engine, mercury, metal, reason="she had a thermometer")
    assert linked(engine) == {("mercury", "exactMatch", "metal")}
    assert (decision.confidence, decision.reason) == (1.0, "she had a thermometer")
    assert "Mercury" not in proposed(engine)
    assert standing(engine.store) == [], "entities link --undo leaves decisions of people"
    with pytest.raises(UsageError, match="already"):
        link_by_hand(engine, mercury, metal)
    with pytest.raises(UsageError, match="no vocabulary has"):
        link_by_hand(engine, mercury, NamedNode(EX + "nothing"))
    assert sound(engine)


def test_unknown_vocabularies(made: MakeEngine, engine_of: MakeEngine) -> None:
    engine = made({"a.txt": PLANET})
    assert choose_vocabularies(engine.store, EX + "scheme")
    with pytest.raises(UsageError, match="no vocabulary is named"):
        choose_vocabularies(engine.store, "http://example.org/w")
    with pytest.raises(UsageError, match="the store has no vocabulary"):
        choose_vocabularies(engine_of("other").store, None)


def test_groups_of_texts_are_canonical(made: MakeEngine) -> None:
    """Two names of one individual become one entity."""
    vocabulary = """
    :a a owl:NamedIndividual ;
      rdfs:label "Skell Tidal Power Company" ; skos:altLabel "Tarnay Electric Light" .
    """
    text = "Skell Tidal Power Company built turbines. Tarnay Electric Light sold lamps in Tarnay."
    engine = made({"a.txt": text}, vocabulary)
    link(engine)
    links = canonical(engine)
    assert links["skell-tidal-power-company"] == links["tarnay-electric-light"]
    assert sound(engine)


def test_ingest_links_if_that_is_set(docs: Path, engine_of: MakeEngine, tmp_path: Path) -> None:
    engine = engine_of(extract__link_entities=True)
    (docs / "a.txt").write_text("Ada Lovelace lived in Leeds.")
    assert [warning["type"] for warning in engine.ingest([docs]).warnings] == ["no_vocabulary"]
    loaded(engine, tmp_path, MERCURY)
    (docs / "b.txt").write_text(PLANET)
    report = engine.ingest([docs])
    assert (report.links, report.warnings) == (1, [])
    assert linked(engine) == {("mercury", "exactMatch", "planet")}
    before = everything(engine)
    assert engine.ingest([docs]).links == 0
    assert {q for q in everything(engine) ^ before if q.predicate == RAG.linkTarget} == set()
    undo(engine, standing(engine.store))
    engine.ingest([docs], refresh=True)
    assert linked(engine) == set(), "an undone link is not made again"
    assert sound(engine)


def test_two_imported_files_are_linked_once(engine_of: MakeEngine, tmp_path: Path) -> None:
    engine = engine_of()
    for name in ("a", "b"):
        turtle = f':{name} rdfs:label "Skell Tidal Power Company" ; rdfs:comment "Turbines in {name}." .'
        (tmp_path / f"{name}.ttl").write_text(HEAD + turtle)
        import_file(engine, tmp_path / f"{name}.ttl")
    link(engine)
    assert len(standing(engine.store)) == len(linked(engine)) == 1
    assert len({str(row["canonical"]) for row in engine.store.select("entities/all-names")}) == 1
    assert sound(engine)
