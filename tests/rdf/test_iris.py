"""IRIs depend on what a thing is and on nothing else, in the patterns of docs/architecture/rdf-model.md."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.extract.names import slug
from graphrag_rdf.rdf import iris

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
DOC = iris.document("docs/a.md")
CHUNK = iris.chunk(DOC, iris.digest("text"), 0)
GRAPH = iris.subgraph(CHUNK, "rules/1")
S, P, O = iris.entity("ada"), iris.relation("knows"), Literal("x")  # noqa: E741

PATTERNS: dict[str, tuple[NamedNode, str]] = {
    "document by path": (DOC, "https://trustgraph.ai/doc/docs/a\\.md"),
    "document by IRI": (iris.document("http://e.org/a?b=c#d"), "http://e\\.org/a\\?b=c#d"),
    "version": (iris.document_version(DOC, "0" * 64), f"urn:version:{UUID}"),
    "page": (iris.page(DOC, 1), f"urn:page:{UUID}"),
    "chunk": (CHUNK, f"urn:chunk:{UUID}"),
    "sentence": (iris.sentence(CHUNK, 3), f"urn:chunk:{UUID}#s3"),
    "subgraph": (GRAPH, f"https://trustgraph.ai/subgraph/{UUID}"),
    "activity": (iris.activity(GRAPH), f"https://trustgraph.ai/activity/{UUID}"),
    "agent": (iris.agent("a b"), "https://trustgraph.ai/agent/a%20b"),
    "evidence": (iris.evidence(GRAPH, S, P, O, 4), f"urn:evidence:{UUID}"),
    "failure": (iris.failure(DOC, "read"), f"urn:failure:{UUID}"),
    "rejected": (iris.rejected(GRAPH, 0), f"urn:rejected:{UUID}"),
    "statement": (iris.statement(S, P, O), f"urn:statement:{UUID}"),
    "object": (iris.stored_object("0" * 64), "urn:sha256:0{64}"),
    "anonymous": (iris.anonymous(DOC, 0), f"urn:anonymous:{UUID}"),
    "entity": (S, "http://trustgraph\\.ai/e/ada"),
    "relation": (P, "http://trustgraph\\.ai/r/knows"),
    "type": (iris.type_("person"), "http://trustgraph\\.ai/type/person"),
    "session": (iris.session("1"), "urn:trustgraph:session:1"),
    "question": (iris.question("1"), "urn:trustgraph:question:1"),
    "step": (iris.trace_step("focus", "1"), "urn:trustgraph:prov:focus:1"),
    "item": (iris.trace_item("edge", "1", 2), "urn:trustgraph:prov:edge:1:2"),
    "answer": (iris.answer_document("1"), "urn:trustgraph:synthesis:1"),
    "run": (iris.ingest_run("1"), "urn:graphrag-rdf:ingest:1"),
}


@pytest.mark.parametrize(("iri", "pattern"), PATTERNS.values(), ids=PATTERNS)
def test_patterns(iri: NamedNode, pattern: str) -> None:
    assert re.fullmatch(pattern, iri.value)


def test_they_never_change() -> None:
    """These are in people's stores: a change of the rule would orphan them."""
    assert CHUNK.value == "urn:chunk:{}".format(iris.name_uuid(DOC.value, iris.digest("text"), 0))
    assert iris.name_uuid("a", 1) == "369a5b90-1fa9-534e-b1cc-6991c541afaf"


@pytest.mark.parametrize(
    "make",
    [
        lambda n: iris.page(DOC, n),
        lambda n: iris.chunk(DOC, iris.digest("t"), n),
        lambda n: iris.chunk(DOC, iris.digest(str(n)), 0),
        lambda n: iris.document_version(DOC, str(n)),
        lambda n: iris.subgraph(CHUNK, f"rules/{n}"),
        lambda n: iris.evidence(GRAPH, S, P, Literal(str(n)), 0),
        lambda n: iris.evidence(GRAPH, S, P, O, n),
        lambda n: iris.rejected(GRAPH, n),
        lambda n: iris.anonymous(DOC, n),
    ],
)
def test_equal_parts_give_equal_iris_and_others_do_not(make: Callable[[int], NamedNode]) -> None:
    assert make(1) == make(1)
    assert len({make(n) for n in range(50)}) == 50


def test_the_same_words_as_iri_and_as_text_are_two_objects() -> None:
    as_text, as_iri = (iris.evidence(GRAPH, S, P, o, 0) for o in (Literal(S.value), S))
    assert as_text != as_iri


def test_parts_do_not_run_into_one_another() -> None:
    assert iris.name_uuid("ab", "c") != iris.name_uuid("a", "bc")


def test_only_questions_are_random() -> None:
    assert iris.new_uuid() != iris.new_uuid()


@given(name=st.text(min_size=1, max_size=12))
def test_any_name_has_an_iri(name: str) -> None:
    try:
        found = slug(name)
    except ValueError:
        return
    entity, relation = iris.entity(found), iris.relation(found)
    assert entity == iris.entity(slug(name))
    assert entity != relation


@given(identity=st.text(min_size=1, max_size=12))
def test_any_path_has_an_iri(identity: str) -> None:
    assert iris.document(f"folder/{identity}").value.startswith("https://trustgraph.ai/doc/folder/")


def test_another_namespace_is_used_whole() -> None:
    assert iris.entity("ada", "http://e.org/").value == "http://e.org/e/ada"
