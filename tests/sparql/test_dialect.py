"""From quads to RDF 1.1 reification and back; three spellings of the same pattern."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, TG, Graphs
from graphrag_rdf.sparql.render import DIALECTS, decode, encode, encode_removal, triple_term_pattern

NODES = st.sampled_from([NamedNode(f"urn:{name}") for name in "abcde"])
OBJECTS = st.one_of(NODES, st.text(max_size=3).map(Literal), st.integers(0, 3).map(Literal))
TRIPLES = st.builds(Triple, NODES, NODES, OBJECTS)
GRAPHS = st.sampled_from([DefaultGraph(), Graphs.SOURCE, Graphs.RETRIEVAL])
PLAIN = st.builds(Quad, NODES, NODES, OBJECTS, GRAPHS)
CONTAINED = st.builds(lambda s, t, g: Quad(s, TG.contains, t, g), NODES, TRIPLES, GRAPHS)
EVIDENCE = st.builds(
    lambda t, g: Quad(
        iris.evidence(NamedNode("urn:g"), t.subject, t.predicate, t.object, 0), RDF.reifies, t, g
    ),
    TRIPLES,
    GRAPHS,
)
POINTING = st.builds(
    lambda s, t, g: Quad(s, RAG.supportedBy, iris.evidence(NamedNode("urn:g"), *t, 0), g),
    NODES,
    TRIPLES,
    GRAPHS,
)
QUADS = st.lists(st.one_of(PLAIN, CONTAINED, EVIDENCE, POINTING), max_size=12)


@given(quads=QUADS)
def test_what_is_encoded_is_decoded(quads: list[Quad]) -> None:
    """Also links to evidence, which carries its statement itself."""
    assert set(decode(encode(quads, "classic"))) == set(quads)


@given(quads=QUADS)
def test_classic_holds_no_triple_term(quads: list[Quad]) -> None:
    assert not any(isinstance(quad.object, Triple) for quad in encode(quads, "classic"))


@given(quads=QUADS)
@pytest.mark.parametrize("dialect", ["rdf12", "rdf-star"])
def test_the_others_change_nothing(quads: list[Quad], dialect: str) -> None:
    assert list(encode(quads, dialect)) == quads  # type: ignore[arg-type]


@given(quads=QUADS, kept=QUADS)
def test_a_removal_leaves_what_others_share(quads: list[Quad], kept: list[Quad]) -> None:
    gone = set(quads) - set(kept)
    left = set(encode([*quads, *kept], "classic")) - set(encode_removal(gone, "classic"))
    # the statements of removed containers may stay, as nodes that nothing points at
    used = {quad.object for quad in left}
    left = {q for q in left if not str(q.subject).startswith("<urn:statement:") or q.subject in used}
    assert set(decode(left)) == set(kept) | (set(quads) - gone)


def test_an_incomplete_statement_is_left_as_it_is() -> None:
    quads = [Quad(NamedNode("urn:statement:1"), RDF.subject, NamedNode("urn:s"))]
    assert list(decode(quads)) == quads


def test_what_has_no_classic_form_is_refused() -> None:
    s, p = NamedNode("urn:s"), NamedNode("urn:p")
    nested = Quad(s, p, Triple(s, p, Triple(s, p, s)))
    with pytest.raises(TypeError, match="nested"):
        list(encode([nested], "classic"))
    two = [Quad(s, RDF.reifies, Triple(s, p, Literal(text))) for text in "ab"]
    with pytest.raises(TypeError, match="two statements"):
        list(encode(two, "classic"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("link", ["tg:contains", "rdf:reifies"])
def test_each_spelling_parses(dialect: str, link: str) -> None:
    pattern = triple_term_pattern(dialect, "?c", link, ("?s", "?p", "?o"), "?fresh")  # type: ignore[arg-type]
    prefixes = f"PREFIX tg: <{TG}> PREFIX rdf: <{RDF}> "
    ox.Store().query(f"{prefixes} SELECT * WHERE {{ {pattern} }}")


@pytest.mark.parametrize("dialect", ["rdf12", "classic"])
def test_each_spelling_finds_what_its_encoding_stores(dialect: str) -> None:
    fact = Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o"))
    store = ox.Store()
    evidence = Quad(NamedNode("urn:e"), RDF.reifies, fact)
    contained = Quad(NamedNode("urn:c"), TG.contains, fact)
    store.extend(encode([evidence, contained, Quad(NamedNode("urn:c"), PROV.value, Literal(1))], dialect))  # type: ignore[arg-type]
    prefixes = f"PREFIX tg: <{TG}> PREFIX rdf: <{RDF}> "
    for subject, link in (("<urn:e>", "rdf:reifies"), ("<urn:c>", "tg:contains")):
        pattern = triple_term_pattern(dialect, subject, link, ("?s", "?p", "?o"), "?fresh")  # type: ignore[arg-type]
        rows = list(store.query(f"{prefixes} SELECT ?s ?p ?o WHERE {{ {pattern} }}"))  # type: ignore[arg-type]
        assert [(row["s"], row["p"], row["o"]) for row in rows] == [
            (fact.subject, fact.predicate, fact.object)
        ]
