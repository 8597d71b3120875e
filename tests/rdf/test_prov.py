"""What the builders of provenance write."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf import iris, prov
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, RDFS, TG, Graphs
from graphrag_rdf.rdf.terms import double, integer

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DOC = iris.document("docs/a.md")
CHUNK = iris.chunk(DOC, iris.digest("text"), 0)
GRAPH = iris.subgraph(CHUNK, "rules/1")
FACT = (iris.entity("ada"), iris.relation("knows"), iris.entity("bob"))


def values(quads: list[Quad], subject: NamedNode, predicate: NamedNode) -> list[object]:
    return [q.object for q in quads if q.subject == subject and q.predicate == predicate]


def described() -> prov.DocumentFacts:
    return prov.DocumentFacts(
        iri=DOC,
        identity="docs/a.md",
        location="file:///docs/a.md",
        title="A",
        media_type="text/markdown",
        content_hash="0" * 64,
        byte_size=4,
        chunk_count=1,
        chunker="c/1",
        language="en",
        encoding="utf-8",
        page_count=2,
        metadata=((DCTERMS.creator.value, Literal("Ada")),),
        original=iris.stored_object("0" * 64),
        text=iris.stored_object("1" * 64),
    )


def test_a_document_has_one_current_version() -> None:
    quads = list(prov.document(described(), WHEN))
    version = iris.document_version(DOC, "0" * 64)
    assert values(quads, DOC, RAG.currentVersion) == [version]
    assert values(quads, version, PROV.specializationOf) == [DOC]
    assert values(quads, version, RAG.contentHash) == [Literal("0" * 64)]
    assert values(quads, version, RAG.chunkCount) == [integer(1)]


def test_a_documents_title_and_metadata_are_facts_too() -> None:
    facts = [q for q in prov.document(described(), WHEN) if q.graph_name == DefaultGraph()]
    assert Quad(DOC, RDFS.label, Literal("A")) in facts
    assert Quad(DOC, DCTERMS.creator, Literal("Ada")) in facts
    assert {q.subject for q in facts} == {DOC}


def test_a_chunk_derives_from_each_page_it_touches() -> None:
    pages = [iris.page(DOC, 1), iris.page(DOC, 2)]
    quads = list(prov.chunk_place(CHUNK, 0, 7, pages))
    assert values(quads, CHUNK, PROV.wasDerivedFrom) == pages
    assert values(quads, CHUNK, TG.chunkIndex) == [integer(1)]
    assert values(quads, CHUNK, TG.charOffset) == [integer(7)]


@given(text=st.text(max_size=20))
def test_a_chunks_length_counts_code_points(text: str) -> None:
    quads = list(prov.chunk(CHUNK, DOC, text))
    assert values(quads, CHUNK, TG.charLength) == [integer(len(text))]
    assert values(quads, CHUNK, TG.content) == [Literal(text)]


def test_a_page_has_its_number_as_name_unless_it_has_its_own() -> None:
    first, second = (list(prov.page(DOC, 1, 0, 5, label)) for label in (None, "Sheet"))
    assert values(first, iris.page(DOC, 1), RDFS.label) == [Literal("Page 1")]
    assert values(second, iris.page(DOC, 1), RDFS.label) == [Literal("Sheet")]


def test_a_sentence_takes_one_quad_for_each_mention() -> None:
    bare = list(prov.sentence(CHUNK, 0, 0, 4, []))
    with_two = list(prov.sentence(CHUNK, 0, 0, 4, [FACT[0], FACT[2]]))
    assert len(with_two) - len(bare) == 2


def test_a_fact_is_asserted_and_contained() -> None:
    asserted, contained = prov.contained(GRAPH, *FACT)
    assert asserted == Quad(*FACT, DefaultGraph())
    assert contained == Quad(GRAPH, TG.contains, Triple(*FACT), Graphs.SOURCE)


def test_located_evidence_has_offsets() -> None:
    quads = list(prov.evidence(GRAPH, FACT, "met", 4, 0.9, iris.sentence(CHUNK, 0)))
    node = iris.evidence(GRAPH, *FACT, 4)
    assert values(quads, node, RDF.reifies) == [Triple(*FACT)]
    assert values(quads, node, TG.sourceCharOffset) == [integer(4)]
    assert values(quads, node, TG.sourceCharLength) == [integer(3)]
    assert values(quads, node, RAG.confidence) == [double(0.9)]
    assert values(quads, node, PROV.wasQuotedFrom) == [iris.sentence(CHUNK, 0)]
    assert values(quads, node, RAG.verified) == []


def test_a_quote_that_was_not_found_is_marked_and_has_no_offsets() -> None:
    quads = list(prov.evidence(GRAPH, FACT, "met", None, None))
    assert [q.object for q in quads if q.predicate == RAG.verified] == [Literal(False)]
    assert not {TG.sourceCharOffset, TG.sourceCharLength, RAG.confidence} & {q.predicate for q in quads}
    other = list(prov.evidence(GRAPH, FACT, "saw", None, None))
    assert quads[0].subject != other[0].subject


def test_unknown_token_counts_are_absent_not_zero() -> None:
    unknown = prov.ExtractionFacts(CHUNK, "llm", "llm/1", WHEN, model="m")
    known = prov.ExtractionFacts(CHUNK, "llm", "llm/1", WHEN, model="m", in_tokens=0, out_tokens=5)
    assert not {TG.inToken, TG.outToken} & {q.predicate for q in prov.extraction(unknown)}
    assert {TG.inToken, TG.outToken} <= {q.predicate for q in prov.extraction(known)}


def test_an_extraction_is_the_subgraph_and_the_activity_that_made_it() -> None:
    quads = list(prov.extraction(prov.ExtractionFacts(CHUNK, "rules", "rules/1", WHEN)))
    activity = iris.activity(GRAPH)
    assert values(quads, GRAPH, PROV.wasDerivedFrom) == [CHUNK]
    assert values(quads, GRAPH, PROV.wasGeneratedBy) == [activity]
    assert values(quads, GRAPH, RAG.extractor) == [Literal("rules/1")]
    assert values(quads, activity, PROV.wasAssociatedWith) == [iris.agent("rules")]


def test_what_was_not_taken_and_what_failed_is_kept() -> None:
    rejected = list(prov.rejected(GRAPH, 0, "noise", "it | is | so"))
    assert {q.object for q in rejected} >= {GRAPH, Literal("noise"), Literal("it | is | so")}
    failed = list(prov.failure(CHUNK, "extract", "time out", WHEN, "a.md"))
    assert {q.predicate for q in failed} >= {RAG.failureOf, RAG.stage, RAG.reason, RAG.path}


def test_all_but_facts_is_in_the_source_graph() -> None:
    quads = [
        *prov.chunk(CHUNK, DOC, "text"),
        *prov.agent("rules", "1"),
        *prov.mention_subgraph(GRAPH, CHUNK, "mentions", "mentions/1"),
        *prov.evidence(GRAPH, FACT, "met", 4, 0.9),
    ]
    assert {q.graph_name for q in quads} == {Graphs.SOURCE}
