"""Metadata of documents are facts: they are asked for, follow edits, and go with the document."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode

from graphrag_rdf.checks import run_checks
from graphrag_rdf.documents.readers import read_bytes
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.document_writer import is_plain_name, statements_of
from graphrag_rdf.ingest.forget import forget_documents
from graphrag_rdf.ingest.plan import find_documents
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import DC, DCTERMS, TG, XSD, Graphs
from graphrag_rdf.wings.audit.verify import verify
from tests.ingest.conftest import MakeEngine, assert_same, everything, index_matches_store

BODY = "# The Heron Survey\n\nThe survey counted 214 nests along the Skell. Most nests stood in alders.\n"
AUTHOR = "Marta Quillfeather"
TITLE = "The Heron Survey"


def survey(author: str = AUTHOR, more: str = "") -> str:
    return f"---\ntitle: The Heron Survey\nauthor: {author}\ndate: 2019-05-04\n{more}---\n{BODY}"


@pytest.fixture
def heron(docs: Path) -> Path:
    for path in docs.iterdir():
        path.unlink()
    (docs / "heron.md").write_text(survey(more="publisher: Skell Press\n"))
    (docs / "river.md").write_text("# Skell\n\nThe Skell is a river. Bo Yew painted the mill.\n")
    return docs


def entity(name: str) -> NamedNode:
    return iris.entity(name.casefold().replace(" ", "-"))


def said(engine: Engine, relation: NamedNode) -> set[tuple[object, object]]:
    """Of which titles the graph of facts says what by a relation."""
    facts = {quad for quad in everything(engine) if quad.graph_name in (DefaultGraph(), Graphs.FACTS)}
    documents = {quad.subject for quad in facts if quad.object == TG.Document}
    return {(q.subject, q.object) for q in facts if q.predicate == relation and q.subject not in documents}


def written_by(*names: str) -> set[tuple[object, object]]:
    return {(entity(TITLE), entity(name)) for name in names}


def whole(engine: Engine) -> bool:
    return not run_checks(engine.store, engine.blobs, engine.text_index) and index_matches_store(engine)


def answer(engine: Engine, question: str, **options: object) -> dict[str, object]:
    *_, last = engine.ask(question, **options)  # type: ignore[arg-type]
    assert last.answer is not None
    return last.answer


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote The Heron Survey?", "The Heron Survey has the author Marta Quillfeather. [1]"),
        ("Who is the author of the Heron Survey?", "has the author Marta Quillfeather. [1]"),
        ("What did Marta Quillfeather write?", "Heron Survey has the author Marta Quillfeather. [1]"),
        ("When was The Heron Survey written?", "The Heron Survey was created on 2019-05-04. [1]"),
        ("Who published the Heron Survey?", "Heron Survey was published by Skell Press. [1]"),
    ],
)
@pytest.mark.parametrize("pipeline", ["graph_rag", "hops_rag"])
def test_questions_find_them_and_cite_the_document(
    heron: Path, engine_of: MakeEngine, question: str, expected: str, pipeline: str
) -> None:
    engine = engine_of()
    engine.ingest([heron])
    found = answer(engine, question, pipeline=pipeline)
    assert expected in str(found["answer"])
    citation = found["citations"][0]  # type: ignore[index]
    assert [source["title"] for source in citation["sources"]] == ["The Heron Survey"]
    source = citation["sources"][0]
    assert (source["chunk"], source["quote"]) == (None, None)
    assert source["uri"] == (heron / "heron.md").as_uri()
    assert all(check.ok for check in verify(engine, "last"))


def test_what_the_question_does_not_name_is_not_asked_for(heron: Path, engine_of: MakeEngine) -> None:
    """That something else was written is no answer."""
    engine = engine_of()
    engine.ingest([heron])
    found = str(answer(engine, "When was the mill written?")["answer"])
    assert "2019" not in found
    assert AUTHOR not in found


def test_in_german(docs: Path, engine_of: MakeEngine) -> None:
    (docs / "a.md").write_text(
        "---\ntitle: Der Reiherbericht\nauthor: Marta Federkiel\nlang: de\n---\n"
        "Der Bericht zählt die Nester am Fluss. Die meisten Nester standen in Erlen.\n"
    )
    engine = engine_of()
    engine.ingest([docs])
    assert "Marta Federkiel" in str(answer(engine, "Wer hat Der Reiherbericht geschrieben?")["answer"])


def test_they_are_contained_typed_and_stay_when_nothing_changes(heron: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([heron])
    assert said(engine, DCTERMS.creator) == written_by(AUTHOR)
    day = Literal("2019-05-04", datatype=XSD.date)
    assert said(engine, DCTERMS.created) == {(entity(TITLE), day)}
    assert whole(engine)
    before = everything(engine)
    assert engine.ingest([heron]).quads == 0
    assert_same(everything(engine), before)
    engine.ingest([heron], refresh=True)
    assert said(engine, DCTERMS.creator) == written_by(AUTHOR)
    assert whole(engine)


def test_they_follow_an_edit(heron: Path, engine_of: MakeEngine) -> None:
    """In the same text: nothing of it is read again."""
    path = heron / "minutes.docx"
    heron.joinpath("heron.md").unlink()

    def save(author: str) -> None:
        document = docx.Document()
        document.core_properties.title, document.core_properties.author = "The Heron Survey", author
        document.add_paragraph("The survey counted 214 nests along the Skell.")
        document.save(str(path))

    save(AUTHOR)
    engine = engine_of()
    engine.ingest([heron])
    assert said(engine, DCTERMS.creator) == written_by(AUTHOR)
    save("Bo Yew; Ann Lee")
    report = engine.ingest([heron])
    assert (report.documents.updated, report.chunks.added, report.chunks.removed) == (1, 0, 0)
    assert said(engine, DCTERMS.creator) == written_by("Bo Yew", "Ann Lee")
    assert not engine.store.query(f"ASK {{ GRAPH ?g {{ {entity(AUTHOR)} ?p ?o }} }}").boolean
    assert whole(engine)
    save("admin")
    engine.ingest([heron])
    assert said(engine, DCTERMS.creator) == set()
    assert whole(engine)


def test_a_moved_document_takes_them_along(heron: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([heron])
    answer(engine, "Who wrote The Heron Survey?")
    (heron / "heron.md").rename(heron / "birds.md")
    engine.ingest([heron], sync=True)
    assert said(engine, DCTERMS.creator) == written_by(AUTHOR)
    found = answer(engine, "Who wrote The Heron Survey?")["citations"][0]["sources"]  # type: ignore[index]
    assert [source["uri"] for source in found] == [(heron / "birds.md").as_uri()]
    assert whole(engine)


def test_they_are_forgotten_with_the_last_document(heron: Path, engine_of: MakeEngine) -> None:
    (heron / "copy.md").write_text(survey(more="rights: none\n") + "\nAlders grow by the water.\n")
    engine = engine_of()
    engine.ingest([heron])
    answer(engine, "Who published The Heron Survey?")
    gone = find_documents(engine.store, ["docs/heron.md"])
    dry = forget_documents(engine, gone, dry_run=True)
    done = forget_documents(engine, gone)
    assert dry.facts == done.facts >= 1
    assert dry.kept_facts == done.kept_facts >= 2
    assert said(engine, DCTERMS.publisher) == set()
    assert said(engine, DCTERMS.creator) == written_by(AUTHOR)
    assert "Skell Press" not in str(everything(engine))
    assert whole(engine)
    forget_documents(engine, find_documents(engine.store, ["docs/copy.md"]))
    assert said(engine, DCTERMS.creator) == set()
    left = str(everything(engine))
    assert not any(word in left for word in ("Marta", "marta-quillfeather", "has the author", "2019-05-04"))
    assert whole(engine)


def test_one_that_a_person_removed_stays_removed(heron: Path, engine_of: MakeEngine) -> None:
    engine = engine_of()
    engine.ingest([heron])
    engine.facts.remove(TITLE, "has the author", AUTHOR)
    engine.ingest([heron], refresh=True)
    (heron / "heron.md").write_text(survey(more="publisher: Tarn Press\n"))
    engine.ingest([heron])
    assert said(engine, DCTERMS.creator) == set()
    assert said(engine, DCTERMS.publisher) == {(entity(TITLE), entity("Tarn Press"))}
    assert whole(engine)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.md", "---\nauthor: Bo Yew\n---\nA note on weirs.", {("A", "has the author", "Bo Yew", True)}),
        ("scan.md", "---\ndate: 2020-01-02\n---\nA note on weirs.", set()),
        ("a.txt", "A note on weirs by Bo Yew.", set()),
        ("chat.txt", "Bo Yew: Did you see it?\nAnn Lee: Yes.\nBo Yew: Good.\nAnn Lee: Bye.\n", set()),
        (
            "a.html",
            "<html><head><title>On Weirs</title><meta name='author' content='Bo Yew, Ann Lee and Cy Orr'>"
            "<meta name='date' content='2020'></head><body><p>A weir is low.</p></body></html>",
            {
                ("On Weirs", "has the author", "Bo Yew", True),
                ("On Weirs", "has the author", "Ann Lee", True),
                ("On Weirs", "has the author", "Cy Orr", True),
                ("On Weirs", "was created on", "2020", False),
            },
        ),
        (
            "a.md",
            "---\ntitle: On Weirs\nauthor: Orr, Cy\nupdated: 2020-01-02T10:00:00Z\n---\nIt is low.",
            {
                ("On Weirs", "has the author", "Orr, Cy", False),
                ("On Weirs", "was last changed on", "2020-01-02", False),
            },
        ),
        (
            "a.eml",
            "From: Bo Yew <bo@weir.example>\nTo: Ann Lee <ann@weir.example>\nSubject: Weirs\n"
            "Date: Thu, 02 Jan 2020 10:00:00 +0000\n\nThe weir is low.\n",
            {("Weirs", "has the author", "Bo Yew", True), ("Weirs", "was created on", "2020-01-02", False)},
        ),
    ],
)
def test_what_metadata_say(name: str, data: str, expected: set[tuple[str, str, str, bool]]) -> None:
    found = statements_of(read_bytes(data.encode(), name))
    assert {(one.subject, one.predicate, one.object, one.object_is_entity) for one in found} == expected


@pytest.mark.parametrize(
    "name",
    [
        "Bo Yew",
        "J. R. Orr",
        "Vincent van Gogh",
        "van Gogh",
        "Ministry of Fish",
        "Ann-Marie O'Neil",
        "王小明",
        "Анна Орлова",
    ],
)
def test_plain_names(name: str) -> None:
    assert is_plain_name(name)


@pytest.mark.parametrize(
    "text",
    ["", "Bo", "bo yew", "bo@weir.example", "Orr, Cy", "see below", "Written by Bo Yew in a year of floods",
     "Bo Yew 2019", "3 authors", "Bo & Ann", "https://weir.example", "de la"],
)  # fmt: skip
def test_not_a_plain_name(text: str) -> None:
    assert not is_plain_name(text)


def test_the_declared_title_is_kept_with_a_better_one(heron: Path, engine_of: MakeEngine) -> None:
    (heron / "heron.md").write_text(f"---\ntitle: heron_survey_final\n---\n{BODY}")
    engine = engine_of()
    engine.ingest([heron])
    quads = everything(engine)
    kept = {q.subject: q.object for q in quads if q.predicate == DCTERMS.alternative}
    assert list(kept.values()) == [Literal("heron_survey_final")]
    assert {q.object for q in quads if q.predicate == DC.title and q.subject in kept} == {Literal(TITLE)}
