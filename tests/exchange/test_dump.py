"""What is written can be read, and says the same."""

from __future__ import annotations

import io
import json
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.exchange import FORMATS, Format, export_graph
from graphrag_rdf.exchange.dump import RDF_FORMATS
from graphrag_rdf.rdf.namespaces import RDF, RDFS, TG, Graphs
from graphrag_rdf.sparql.render import Dialect, decode
from graphrag_rdf.store.base import Changes, plain_quads
from tests.support.sample_stores import store_of

TEXTS = st.one_of(
    st.sampled_from(['"', "\\", "\n\r\t", "}", "<<( x )>>", "\x00\x01\x7f\x85\u2028", '"""', "@en", ""]),
    st.text(max_size=8),
)
NODES = st.sampled_from([NamedNode(f"http://example.org/{name}") for name in ("a", "b", "é", "c#d", "r/x")])
DATATYPES = st.sampled_from(
    [NamedNode("http://example.org/type"), NamedNode("http://www.w3.org/2001/XMLSchema#date")]
)
LITERALS = st.one_of(
    TEXTS.map(Literal),
    st.builds(
        lambda text, language: Literal(text, language=language), TEXTS, st.sampled_from(["en", "de-ch"])
    ),
    st.builds(lambda text, datatype: Literal(text, datatype=datatype), TEXTS, DATATYPES),
    st.booleans().map(Literal),
    st.integers().map(Literal),
    st.floats(allow_nan=False).map(Literal),
)
PLAIN = st.one_of(NODES, LITERALS)
TRIPLES = st.builds(Triple, NODES, NODES, PLAIN)
OBJECTS = st.one_of(PLAIN, TRIPLES, st.builds(Triple, NODES, NODES, TRIPLES))
GRAPHS = st.sampled_from([DefaultGraph(), NamedNode("http://example.org/g"), Graphs.SOURCE])
DATASETS = st.lists(st.builds(Quad, NODES, NODES, OBJECTS, GRAPHS), max_size=8)
FLAT = st.lists(
    st.one_of(
        st.builds(Quad, NODES, NODES, PLAIN, GRAPHS),
        st.builds(lambda s, t, g: Quad(s, TG.contains, t, g), NODES, TRIPLES, GRAPHS),
    ),
    max_size=8,
)


def written(
    quads: list[Quad], form: Format, dialect: Dialect = "rdf12", graph: NamedNode | None = None
) -> bytes:
    out = io.BytesIO()
    export_graph(store_of(quads), out, form, graph, dialect)
    return out.getvalue()


def stored(quads: list[Quad]) -> set[Quad]:
    """As a store has them: literals in its spelling; without its own numbers."""
    return {quad for quad in store_of(quads).quads() if quad.graph_name != Graphs.SYSTEM}


def without_numbers(quads: object) -> set[Quad]:
    return {quad for quad in quads if quad.graph_name != Graphs.SYSTEM}  # type: ignore[attr-defined]


@given(quads=DATASETS)
@pytest.mark.parametrize("form", ["trig", "nquads"])
def test_a_dataset_comes_back_as_it_was(quads: list[Quad], form: Format) -> None:
    read = parse(written(quads, form), format=RDF_FORMATS[form])
    assert without_numbers(read) == stored(quads)


@given(quads=FLAT)
def test_a_classic_dataset_comes_back_as_it_was(quads: list[Quad]) -> None:
    read = decode(parse(written(quads, "nquads", "classic"), format=RdfFormat.N_QUADS))
    assert without_numbers(read) == stored(quads)


@given(quads=FLAT)
def test_a_dataset_in_json_ld_comes_back_as_it_was(quads: list[Quad]) -> None:
    read = decode(parse(written(quads, "jsonld"), format=RdfFormat.JSON_LD))
    assert without_numbers(read) == stored(quads)


def test_json_ld_has_our_context_and_no_rdf_star() -> None:
    quads = [Quad(NamedNode("urn:s"), RDFS.label, Literal("Petrel", language="en"))]
    document = json.loads(written(quads, "jsonld"))
    assert document["@context"]["rdfs"] == str(RDFS)
    (node,) = (node for node in document["@graph"] if node["@id"] == "urn:s")
    assert node["rdfs:label"] == {"@value": "Petrel", "@language": "en"}
    with pytest.raises(UsageError, match="RDF-star"):
        written(quads, "jsonld", "rdf-star")


@given(quads=DATASETS)
def test_the_star_spelling_differs_in_the_brackets_only(quads: list[Quad]) -> None:
    """Text in quotes aside, which may hold anything."""
    plain, starred = (written(quads, "nquads", dialect).decode() for dialect in ("rdf12", "rdf-star"))
    plain = "".join(f"{line}\n" for line in sorted(_parts(plain.replace("\u2028", " "))))
    starred = "".join(f"{line}\n" for line in sorted(_parts(starred.replace("\u2028", " "))))
    assert starred == plain


def _parts(text: str) -> list[str]:
    lines = []
    for line in text.split("\n"):
        pieces = re.split(r'("(?:[^"\\]|\\.)*")', line)
        lines.append(
            "".join(re.sub(r"<<\( | \)>>|<< | >>", "|", p) if n % 2 == 0 else p for n, p in enumerate(pieces))
        )
    return lines


def test_the_star_spelling_of_trig_reads_as_its_lines() -> None:
    fact = Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o"))
    quads = [
        Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o")),
        Quad(NamedNode("urn:c"), TG.contains, fact, Graphs.SOURCE),
    ]
    text = written(quads, "trig", "rdf-star").decode()
    assert '{\n  <urn:s> <urn:p> "o" .\n}\n' in text
    assert f'{Graphs.SOURCE} {{\n  <urn:c> {TG.contains} << <urn:s> <urn:p> "o" >> .\n}}\n' in text
    typed = Quad(fact.subject, RDF.type, NamedNode(f"{TG}Chunk"))
    odd = Quad(fact.subject, RDF.type, NamedNode(f"{TG}-odd"))
    turtle = written([*quads, typed, odd], "turtle", "rdf-star").decode()
    assert f"@prefix tg: <{TG}> .\n" in turtle
    assert '\n<urn:s> <urn:p> "o" .\n' in turtle
    assert "\n<urn:s> rdf:type tg:Chunk .\n" in turtle
    assert {quad.triple for quad in parse(turtle, format=RdfFormat.TURTLE)} >= {typed.triple, odd.triple}


@pytest.mark.parametrize("form", ["turtle", "ntriples", "rdfxml"])
def test_formats_of_one_graph_hold_the_facts(sample: Engine, form: Format) -> None:
    out = io.BytesIO()
    report = export_graph(sample.store, out, form)
    read = {Quad(q.subject, q.predicate, q.object) for q in parse(out.getvalue(), format=RDF_FORMATS[form])}
    facts = {q for q in plain_quads(sample.store) if q.graph_name == DefaultGraph()}
    assert read == facts
    assert report.quads == len(facts)


@pytest.mark.parametrize("form", ["turtle", "trig"])
def test_one_graph_by_name(sample: Engine, form: Format) -> None:
    out = io.BytesIO()
    report = export_graph(sample.store, out, form, Graphs.DERIVED)
    assert report.quads == len(list(sample.store.quads(Graphs.DERIVED))) > 0
    graphs = {quad.graph_name for quad in parse(out.getvalue(), format=RDF_FORMATS[form])}
    assert graphs == ({Graphs.DERIVED} if form == "trig" else {DefaultGraph()})


def test_the_graph_of_facts_has_a_name_everywhere(sample: Engine) -> None:
    classic = store_of(plain_quads(sample.store), "classic")
    here, there = io.BytesIO(), io.BytesIO()
    export_graph(sample.store, here, "ntriples", Graphs.FACTS)
    export_graph(classic, there, "ntriples", Graphs.FACTS)
    assert sorted(here.getvalue().splitlines()) == sorted(there.getvalue().splitlines())


def test_a_classic_store_exports_triple_terms(sample: Engine) -> None:
    classic = store_of(plain_quads(sample.store), "classic")
    out = io.BytesIO()
    export_graph(classic, out, "nquads")
    assert without_numbers(parse(out.getvalue(), format=RdfFormat.N_QUADS)) == without_numbers(
        plain_quads(sample.store)
    )


def test_prefixes_make_turtle_readable(sample: Engine) -> None:
    out = io.BytesIO()
    export_graph(sample.store, out, "turtle")
    assert b"rdfs:label" in out.getvalue()
    assert b"\ne:petrel " in out.getvalue()
    assert re.search(rb"\br:sank-in e:\w", out.getvalue())


# --- what cannot be said -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "quad",
    [
        Quad(NamedNode("urn:s"), NamedNode("http://example.org/r/1903"), Literal("o")),
        Quad(NamedNode("urn:s"), NamedNode("http://example.org/p"), Literal("a\x01b")),
        Quad(
            NamedNode("urn:s"),
            RDF.reifies,
            Triple(NamedNode("urn:s"), NamedNode("http://e.org/1"), Literal("o")),
        ),
    ],
)
def test_rdf_xml_refuses_what_xml_cannot_say(quad: Quad) -> None:
    with pytest.raises(UsageError, match="RDF/XML cannot express") as caught:
        written([quad], "rdfxml")
    assert "turtle" in (caught.value.hint or "")


def test_classic_refuses_nested_triple_terms() -> None:
    inner = Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o"))
    outer = Triple(NamedNode("urn:s"), NamedNode("urn:p"), inner)
    with pytest.raises(UsageError, match="nested"):
        written([Quad(NamedNode("urn:c"), NamedNode("urn:p"), outer)], "trig", "classic")


def test_classic_refuses_a_reifier_of_two() -> None:
    quads = [
        Quad(NamedNode("urn:r"), RDF.reifies, Triple(NamedNode("urn:s"), NamedNode("urn:p"), Literal(text)))
        for text in "ab"
    ]
    with pytest.raises(UsageError, match="two"):
        written(quads, "trig", "classic")


def test_rdf_xml_has_no_star_spelling() -> None:
    with pytest.raises(UsageError, match="no syntax"):
        written([], "rdfxml", "rdf-star")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown format 'docx'") as caught:
        written([], "docx")  # type: ignore[arg-type]
    assert all(form in (caught.value.hint or "") for form in FORMATS)


# --- GraphML -------------------------------------------------------------------------------------

NAMESPACE = {"g": "http://graphml.graphdrawing.org/xmlns"}


def test_graphml_holds_entities_and_relations(sample: Engine) -> None:
    out = io.BytesIO()
    report = export_graph(sample.store, out, "graphml")
    root = ElementTree.fromstring(out.getvalue())
    nodes, edges = root.findall(".//g:node", NAMESPACE), root.findall(".//g:edge", NAMESPACE)
    assert (len(nodes), len(edges)) == (report.entities, report.relations)
    assert len(nodes) == len(sample.store.select("exchange/entities"))
    known = {node.get("id") for node in nodes}
    assert all({edge.get("source"), edge.get("target")} <= known for edge in edges)
    labels = {data.text for data in root.iterfind(".//g:node/g:data[@key='label']", NAMESPACE)}
    assert "Petrel" in labels
    assert report.relations > 0
    assert report.left_out == 0


def test_graphml_has_values_as_attributes_of_nodes(sample: Engine) -> None:
    out = io.BytesIO()
    report = export_graph(sample.store, out, "graphml")
    root = ElementTree.fromstring(out.getvalue())
    keys = {key.get("id"): key for key in root.iterfind("g:key", NAMESPACE)}
    names = [key.get("attr.name") for key in keys.values()]
    assert len({*names}) == len(names)
    petrel = next(
        node
        for node in root.iterfind(".//g:node", NAMESPACE)
        if node.find("g:data[@key='iri']", NAMESPACE).text == "http://trustgraph.ai/e/petrel"  # type: ignore[union-attr]
    )
    data = {
        keys[each.get("key")].get("attr.name"): each.text for each in petrel.iterfind("g:data", NAMESPACE)
    }
    assert data["sank on"] == "1911-11-14"
    written_values = [
        value
        for each in root.iterfind(".//g:node/g:data", NAMESPACE)
        if (each.get("key") or "").startswith("p")
        for value in (each.text or "").split("; ")
    ]
    assert len(written_values) >= report.values > 10
    numbers = [key for key in keys.values() if key.get("attr.type") in ("long", "double")]
    for key in numbers:
        for each in root.iterfind(f".//g:data[@key='{key.get('id')}']", NAMESPACE):
            float(each.text or "")


def test_graphml_joins_several_values_and_tells_equal_names_apart(empty: Engine) -> None:
    from graphrag_rdf.rdf import iris, prov
    from graphrag_rdf.rdf.namespaces import RAG, RDFS

    entity, named = iris.entity("x"), iris.relation("label")
    once, twice = iris.relation("once"), iris.relation("twice")
    quads = [
        prov.fact(entity, RDFS.label, Literal("X")),
        prov.fact(named, RDFS.label, Literal("label")),
        prov.fact(entity, named, Literal("not the label")),
        prov.fact(entity, once, Literal(5)),
        prov.fact(entity, twice, Literal(1)),
        prov.fact(entity, twice, Literal(2)),
        Quad(entity, RAG.canonicalEntity, entity, Graphs.DERIVED),
    ]
    empty.store.commit(Changes(add=quads))
    out = io.BytesIO()
    report = export_graph(empty.store, out, "graphml")
    root = ElementTree.fromstring(out.getvalue())
    keys = {key.get("id"): key for key in root.iterfind("g:key", NAMESPACE)}
    found = {
        (keys[each.get("key")].get("attr.name"), keys[each.get("key")].get("attr.type"), each.text)
        for each in root.iterfind(".//g:node/g:data", NAMESPACE)
    }
    assert found == {
        ("label", "string", "X"),
        ("iri", "string", entity.value),
        (named.value, "string", "not the label"),
        ("once", "long", "5"),
        ("twice", "string", "1; 2"),
    }
    assert report.values == 4


def test_graphml_is_well_formed_whatever_a_name_holds(empty: Engine) -> None:
    from graphrag_rdf.rdf import iris, prov
    from graphrag_rdf.rdf.namespaces import RAG, RDFS

    entity = iris.entity("x")
    name = "a <b> & \"c\" \x01 ]]> 'd'"
    quads = [
        prov.fact(entity, RDFS.label, Literal(name)),
        Quad(entity, RAG.canonicalEntity, entity, Graphs.DERIVED),
    ]
    empty.store.commit(Changes(add=quads))
    out = io.BytesIO()
    export_graph(empty.store, out, "graphml")
    found = ElementTree.fromstring(out.getvalue()).find(".//g:data[@key='label']", NAMESPACE)
    assert found is not None
    assert found.text == name.replace("\x01", "\ufffd")


def test_blank_nodes_keep_their_identity() -> None:
    blank = BlankNode()
    quads = [Quad(blank, NamedNode("urn:p"), Literal(text)) for text in "ab"]
    read = list(parse(written(quads, "nquads"), format=RdfFormat.N_QUADS))
    assert len({q.subject for q in read if q.graph_name == DefaultGraph()}) == 1
