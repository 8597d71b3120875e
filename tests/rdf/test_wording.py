"""The words of terms without a label, and of well-known relations."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf.wording import between, phrase_of, words_asking_for, words_of, words_of_value

S = "https://schema.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("iri", "words"),
    [
        ("https://d.example.org/sailsBetween", "sails between"),
        ("https://d.example.org/o#heightInMetres", "height in metres"),
        ("https://d.example.org/has_captain", "has captain"),
        ("https://d.example.org/Mona-Kell", "Mona Kell"),
        ("https://d.example.org/LandmarksAndBuildings", "Landmarks And Buildings"),
        ("https://d.example.org/%C3%9Cbersee", "Übersee"),
        ("https://d.example.org/port12", "port 12"),
        ("https://d.example.org/---", "https://d.example.org/---"),
    ],
)
def test_the_end_of_an_iri_as_words(iri: str, words: str) -> None:
    assert words_of(iri) == words


def test_well_known_relations_are_phrases() -> None:
    assert phrase_of(f"{S}birthPlace") == "was born in"
    assert phrase_of("http://dbpedia.org/ontology/birthPlace") == "was born in"
    assert phrase_of(f"{S}unheardOf") == "unheard of"
    asked = words_asking_for(f"{S}spouse").split()
    assert {"spouse", "wife", "husband"} <= set(asked)
    assert words_asking_for(f"{S}unheardOf") == ""


def test_labels_that_are_nouns_are_phrases_too_but_not_minted_ones() -> None:
    birth = "http://www.wikidata.org/prop/direct/P19"
    assert between(birth, "place of birth") == "was born in"
    assert "place of birth" in words_asking_for(birth, "place of birth")
    assert between(birth, "has the cradle in") == "has the cradle in"
    assert between("http://trustgraph.ai/r/author", "author") == "author"
    assert words_asking_for("http://trustgraph.ai/r/author", "author") == ""


@pytest.mark.parametrize(
    ("text", "datatype", "shown"),
    [
        ("1901-05-06T00:00:00Z", "dateTime", "1901-05-06"),
        ("1901-05-06T10:00:00Z", "dateTime", "1901-05-06T10:00:00Z"),
        ("1901-05-06T00:00:00Z", "string", "1901-05-06T00:00:00Z"),
    ],
)
def test_midnight_is_a_day(text: str, datatype: str, shown: str) -> None:
    assert words_of_value(Literal(text, datatype=NamedNode(XSD + datatype))) == shown
