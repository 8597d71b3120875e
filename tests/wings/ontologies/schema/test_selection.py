"""Which terms of an ontology are selected for a text."""

from __future__ import annotations

from pyoxigraph import Literal

from graphrag_rdf.wings.ontologies.schema.model import Ontology, OntologyTerm
from graphrag_rdf.wings.ontologies.schema.selection import Selector

NS = "http://example.org/"


def klass(name: str, *parents: str, comment: str = "") -> OntologyTerm:
    comments = [Literal(comment, language="en")] if comment else []
    return OntologyTerm(
        NS + name, "class", [Literal(name)], parents=[NS + p for p in parents], comments=comments
    )


def relation(name: str, domain: str, range_: str) -> OntologyTerm:
    return OntologyTerm(NS + name, "object", [Literal(name)], domains=[NS + domain], ranges=[NS + range_])


def ontology(*terms: OntologyTerm, padding: int = 50) -> Ontology:
    more = [klass(f"unrelated{n}") for n in range(padding)]
    return Ontology({each.iri: each for each in sorted((*terms, *more), key=lambda each: each.iri)}, "digest")


SHIPS = (
    klass("vessel"),
    klass("ship", "vessel"),
    klass("ferry", "ship", comment="It carries passengers across water."),
    klass("yard"),
    klass("company", "agent"),
    klass("agent"),
    relation("built in", "vessel", "yard"),
    relation("owned by", "vessel", "agent"),
)


def selected(text: str, limit: int, *terms: OntologyTerm, language: str = "en") -> set[str]:
    found = Selector(ontology(*terms or SHIPS), limit).select(text, language)
    return {each.iri.removeprefix(NS) for each in found}


def test_small_ontologies_are_taken_whole() -> None:
    assert len(selected("Anything.", 100)) == len(SHIPS) + 50


def test_words_select_terms_with_all_classes_above_them() -> None:
    found = selected("Two ferries left.", 10)
    assert {"ferry", "ship", "vessel"} <= found
    assert not any(name.startswith("unrelated") for name in found)


def test_descriptions_select_terms() -> None:
    assert "ferry" in selected("The passengers went on board.", 10)


def test_properties_bring_the_classes_at_their_ends() -> None:
    assert {"built in", "vessel", "yard"} <= selected("The hull was built by hand.", 10)


def test_properties_of_selected_classes_follow() -> None:
    assert {"built in", "owned by"} <= selected("A ferry.", 10)


def test_never_more_than_the_limit() -> None:
    for limit in (5, 6, 7, 8):
        assert 0 < len(selected("A ferry of a company, built in a yard.", limit)) <= limit


def test_a_text_without_a_word_of_the_ontology_gets_the_most_general_properties() -> None:
    assert {"built in", "owned by"} <= selected("Quite different things.", 10)


def test_aliases_in_the_language_of_the_text() -> None:
    terms = (*SHIPS[:2], OntologyTerm(NS + "ferry", "class", aliases=[Literal("Fährschiffe", language="de")]))
    assert "ferry" in selected("Zwei Fährschiffe legten ab.", 5, *terms, language="de")


def test_circles_end() -> None:
    terms = (klass("one", "other"), klass("other", "one"))
    assert {"one", "other"} <= selected("The one.", 5, *terms)
