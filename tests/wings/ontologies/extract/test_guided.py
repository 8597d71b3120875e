"""Names of properties and classes in answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal

from graphrag_rdf.extract.model import EntityCandidate, Extraction, RelationCandidate
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.wings.ontologies.extract.guided import Guide, Names
from graphrag_rdf.wings.ontologies.schema.model import Kind, Ontology, OntologyTerm

NS = "http://example.org/"
words = st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=1, max_size=3)


def term(local: str, kind: Kind = "object", label: str = "", **more: list[str]) -> OntologyTerm:
    return OntologyTerm(NS + local, kind, [Literal(label)] if label else [], **more)  # type: ignore[arg-type]


def names(*terms: OntologyTerm) -> Names:
    return Names(Ontology({each.iri: each for each in terms}, ""))


def found(known: Names, name: str, *, of_thing: bool = True) -> tuple[str, bool] | None:
    hit = known.property_of(name, None, None, of_thing=of_thing)
    return (hit[0].iri.removeprefix(NS), hit[1]) if hit else None


@given(words)
def test_every_spelling_of_a_label_is_the_property(parts: list[str]) -> None:
    known = names(term("p1", label=" ".join(parts)))
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    for spelling in (" ".join(parts), "_".join(parts), camel, "_".join(parts).upper(), f"{NS}p1"):
        assert found(known, spelling) == ("p1", False)


@given(words, st.sampled_from(["object", "datatype", "property"]))
def test_the_end_of_an_iri_is_a_name(parts: list[str], kind: Kind) -> None:
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    assert found(names(term(camel, kind)), " ".join(parts)) == (camel, False)


@pytest.mark.parametrize(
    ("property_", "said", "turned"),
    [
        ("director", "is the director of", None),  # an article is part of a name
        ("director", "is director of", True),
        ("director", "directed by", False),
        ("director", "directed", True),
        ("designed by", "designer", False),
        ("designed by", "designed", True),
        ("writer", "wrote", True),
        ("writer", "was written by", False),
        ("part of", "part", True),
        ("director", "producer", None),
        ("discoverer or inventor", "was invented by", False),
        ("discoverer or inventor", "discovered", True),
        ("spoken or signed", "signed", None),
    ],
)
def test_forms_and_directions(property_: str, said: str, turned: bool | None) -> None:
    expected = None if turned is None else ("p1", turned)
    assert found(names(term("p1", label=property_)), said) == expected


def test_a_property_of_values_has_no_other_direction() -> None:
    assert found(names(term("p1", "datatype", "weight")), "weight of") is None


def test_a_name_of_one_property_is_no_form_of_another() -> None:
    known = names(term("owner", label="owner"), term("owned", label="owned"))
    assert found(known, "owned") == ("owned", False)


def test_a_name_in_another_tense_is_the_property() -> None:
    known = names(term("job", label="works at"))
    assert found(known, "worked at") == ("job", False)
    assert found(known, "has worked at") == ("job", False)
    assert found(known, "worked for") is None


def test_of_equal_names_types_decide() -> None:
    film, ship = term("Film", "class"), term("Ship", "class")
    known = names(
        film,
        ship,
        term("a", label="length", domains=[ship.iri]),
        term("b", label="length", domains=[film.iri]),
    )
    hit = known.property_of("length", film.iri, None, of_thing=True)
    assert hit is not None
    assert hit[0].iri == f"{NS}b"


def test_of_equal_names_the_kind_decides() -> None:
    known = names(term("a", label="crew"), term("b", "datatype", label="crew"))
    assert found(known, "crew", of_thing=False) == ("b", False)
    assert found(known, "crew") == ("a", False)


def test_of_equal_names_the_most_general_is_taken() -> None:
    known = names(term("a", label="crew", parents=[f"{NS}z"]), term("z", label="crew"))
    assert found(known, "crew") == ("z", False)


def test_the_class_of_the_objects_names_their_only_property() -> None:
    genre, award = term("Genre", "class", "film genre"), term("Award", "class", "award")
    known = names(
        *(genre, award, term("a", label="genre", ranges=[genre.iri])),
        *(term("b", label="won", ranges=[award.iri]), term("c", label="nominated for", ranges=[award.iri])),
    )
    assert found(known, "film_genre") == ("a", False)
    assert found(known, "award") is None


@pytest.mark.parametrize(
    ("property_", "said", "is_near"),
    [
        ("filming location", "location of filming", True),
        ("filming location", "filming_locations", True),
        ("filming location", "filmng_location", True),
        ("designated as terrorist by", "designed as terrorist by", True),
        ("IUCN conservation status", "conservation status", True),
        ("military rank", "rank", True),
        ("site of astronomical discovery", "discovery", False),
        ("member of sports team", "team", False),
        ("commanded by", "commands", False),  # says the other direction
        ("minimum temperature", "maximum temperature", False),
        ("employer", "employee", False),
        ("married to", "unmarried to", False),
        ("location of landing", "is located in", False),
    ],
)
def test_slips(property_: str, said: str, is_near: bool) -> None:
    assert found(names(term("p1", label=property_)), said) == (("p1", False) if is_near else None)


def test_a_slip_that_may_stand_for_several_properties_is_none() -> None:
    known = names(term("a", label="filming location"), term("b", label="narrative location"))
    assert found(known, "location") is None
    assert found(known, "filmng location") == ("a", False)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("The Lithuanian team", "Lithuanian team"),
        ("The Night Ferry", "The Night Ferry"),
        ("The Bridge 2", "The Bridge 2"),
        ("The", "The"),
        ("theatre", "theatre"),
    ],
)
def test_a_description_loses_its_article(name: str, kept: str) -> None:
    guide = Guide(Ontology({NS + "p1": term("p1", label="director")}, ""), "strict", 10)
    stated = RelationCandidate(name, "director", name, True, None, None, None, None)
    found = guide.apply(Extraction((EntityCandidate(name, None, None, (), None),), (stated,), (), (), None))
    assert [each.name for each in found.entities] == [kept]
    assert [(each.subject, each.object) for each in found.relations] == [(kept, kept)]


def test_a_year_is_a_year_where_the_property_is_of_time() -> None:
    terms = (term("p1", label="publication date"), term("p2", label="population"))
    guide = Guide(Ontology({each.iri: each for each in terms}, ""), "strict", 10)
    stated = tuple(
        RelationCandidate("Oslo", each.name(), "1951", False, None, None, None, None) for each in terms
    )
    found = guide.apply(Extraction((), stated, (), (), None))
    assert [each.datatype for each in found.relations] == [XSD.gYear.value, None]


def test_classes() -> None:
    known = names(term("ResearchVessel", "class"), term("p2", "class", "Fischkutter"))
    for name, iri in (("research vessel", "ResearchVessel"), ("FISCHKUTTER", "p2")):
        hit = known.class_of(name)
        assert hit is not None
        assert hit.iri == NS + iri
    assert known.class_of("vessel") is None
