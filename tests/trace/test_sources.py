"""What a document gave, and what supports a fact."""

from __future__ import annotations

import json

import pytest
from pyoxigraph import NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.retract import retract_chunks
from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.rdf.namespaces import RAG, RDF, RDFS, Graphs
from graphrag_rdf.store.base import Changes
from graphrag_rdf.trace.sources import source_fact, source_tree
from tests.trace.conftest import (
    ADA,
    BURNING,
    FIRST,
    FOUNDED,
    FOUNDING,
    LETTER,
    MILL,
    REPORT,
    SECOND,
    WHEN,
    Sample,
)


@pytest.mark.parametrize(
    "name", ["report.pdf", "file:///library/report.pdf", "Report on the mill", "{iri}", "<{iri}>"]
)
def test_a_document_has_many_names(sample: Sample, name: str) -> None:
    assert source_tree(sample.store, name.format(iri=sample.report.value)).iri == sample.report.value


@pytest.mark.parametrize("name", ["/library/report.pdf", "library/report.pdf"])
def test_a_document_is_found_by_its_path_on_disk(
    sample: Sample, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir("/")
    assert source_tree(sample.store, name).iri == sample.report.value


def test_an_unknown_document_is_an_error(sample: Sample) -> None:
    with pytest.raises(UsageError, match="no document is called"):
        source_tree(sample.store, "nothing.txt")
    with pytest.raises(UsageError, match="no document is called"):
        source_tree(sample.store, "a\0b")


def test_a_title_of_two_documents_is_an_error_but_their_paths_are_not(sample: Sample) -> None:
    title = next(
        q
        for q in sample.store.quads(Graphs.SOURCE)
        if (q.subject, q.predicate) == (sample.report, RDFS.label)
    )
    sample.edit(remove=[title], add=[prov.source(sample.report, RDFS.label, prov.Literal("A letter"))])
    with pytest.raises(UsageError, match="several documents"):
        source_tree(sample.store, "A letter")
    assert source_tree(sample.store, "ada.txt").iri == sample.letter.value


def test_pages_and_chunks(sample: Sample) -> None:
    tree = source_tree(sample.store, "report.pdf")
    assert [(page.number, page.char_offset, page.char_length) for page in tree.pages] == [
        (1, 0, 30),
        (2, 31, 39),
    ]
    (first,), (second,) = (page.chunks for page in tree.pages)
    assert (first.iri, first.pages) == (sample.first.value, (1, 2))
    assert (second.iri, second.char_offset, second.char_length) == (
        sample.second.value,
        len(FIRST),
        len(SECOND),
    )
    assert [(fact.s, fact.p, fact.o) for fact in second.facts] == [BURNING]
    assert tree.chunks == ()


def test_a_document_without_pages(sample: Sample) -> None:
    tree = source_tree(sample.store, "ada.txt")
    assert tree.pages == ()
    (chunk,) = tree.chunks
    assert chunk.text == LETTER
    assert {fact.p_label for fact in chunk.facts} == {"founded", "stands in"}
    assert tree.content_hash is not None
    json.dumps(to_json(tree))


def test_retired_chunks_stand_last(sample: Sample) -> None:
    sample.store.commit(Changes(updates=[("ingest/entomb-chunks", {"chunks": [sample.first], "now": WHEN})]))
    tree = source_tree(sample.store, "report.pdf")
    assert [len(page.chunks) for page in tree.pages] == [0, 1]
    assert [chunk.retired for chunk in tree.chunks] == [WHEN]


def test_every_place_of_a_fact(sample: Sample) -> None:
    found = source_fact(sample.store, "Ada", "founded", "mill")
    assert [item.source.quote for item in found] == [
        "Ada founded the mill in 1903.",
        "she built the mill",
        "Ada founded the mill.",
    ]
    for item in found:
        line = to_json(item)
        assert list(line)[:11] == [
            "chunk", "page", "document", "title", "page_number", "char_offset", "char_length", "quote",
            "verified", "subgraph", "activity",
        ]  # fmt: skip
        text = LETTER if line["title"] == "A letter" else REPORT
        if line["verified"]:
            assert text[line["char_offset"] : line["char_offset"] + line["char_length"]] == line["quote"]
        else:
            assert line["char_offset"] is None
        assert line["activity"] is not None


@pytest.mark.parametrize(
    ("s", "p", "o"),
    [
        (str(ADA), str(FOUNDED), str(MILL)),
        (ADA.value, "founded", MILL.value),
        ("Ada", str(FOUNDED), "mill"),
    ],
)
def test_terms_and_labels_mix(sample: Sample, s: str, p: str, o: str) -> None:
    assert {(i.fact.s, i.fact.p, i.fact.o) for i in source_fact(sample.store, s, p, o)} == {FOUNDING}


def test_a_literal_by_its_text_and_as_a_term(sample: Sample) -> None:
    by_text = source_fact(sample.store, "mill", BURNING[1].value, "1911")
    by_term = source_fact(sample.store, MILL.value, BURNING[1].value, str(BURNING[2]))
    assert by_text == by_term
    (item,) = by_text
    assert (item.source.chunk, item.source.quote, item.source.page_number) == (sample.second.value, "", 2)
    assert (item.source.char_offset, item.source.char_length) == (len(FIRST), len(SECOND))


def test_a_type_is_called_as_it_is_shown(sample: Sample) -> None:
    typed = (ADA, RDF.type, prov.Literal("person"))
    sample.store.commit(Changes(add=list(prov.contained(sample.subgraph(sample.first), *typed))))
    for name in ("type", "a"):
        assert {i.source.chunk for i in source_fact(sample.store, "Ada", name, "person")} == {
            sample.first.value
        }


@pytest.mark.parametrize(
    ("s", "p", "o"),
    [
        ("Eve", "founded", "mill"),
        ("Ada", "burnt", "mill"),
        ("Ada", "founded", "Corvane"),
        ("<not an iri>", "founded", "mill"),
        ("Ada", "founded", '"unterminated'),
        ("Ada", "founded", "<<( <urn:a> <urn:b> <urn:c> )>>"),
    ],
)
def test_an_unknown_fact_is_an_error(sample: Sample, s: str, p: str, o: str) -> None:
    with pytest.raises(UsageError):
        source_fact(sample.store, s, p, o)


def test_retired_places_are_marked(sample: Sample) -> None:
    changes = Changes()

    retrieval = Quad(NamedNode("urn:selection"), RAG.usedChunk, sample.letter_chunk, Graphs.RETRIEVAL)
    sample.edit(add=[retrieval])
    retract_chunks(sample.store, [sample.letter_chunk], changes)
    sample.store.commit(changes)
    found = source_fact(sample.store, "Ada", "founded", "mill")
    assert {item.source.title: item.source.state for item in found} == {
        "A letter": "retired",
        "Report on the mill": "current",
    }
