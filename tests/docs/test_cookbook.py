"""The recipes of the cookbook, on the sample documents: what the page shows is what comes out."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from graphrag_rdf import Engine
from graphrag_rdf.rdf import prov
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import Changes
from tests.docs.markdown import ANY, REPOSITORY, line_matches, table

PAGE = (REPOSITORY / "docs" / "cookbook.md").read_text("utf-8")
QUESTION = "When did the Petrel sink?"
BELL = "What hangs beside the door?"
_RECIPE = re.compile(
    r"<!-- query: (\S+) -->\n.*?<!-- end -->\n(.*?)(?=^#|^<!-- query|\Z)", re.DOTALL | re.MULTILINE
)
RECIPES: dict[str, str] = dict(_RECIPE.findall(PAGE))
GUIDE = "museum-guide.md"


def ask(engine: Engine, question: str) -> None:
    for _ in engine.ask(question):
        pass


def rows(engine: Engine, name: str, **values: Any) -> list[dict[str, str]]:
    """The rows of a recipe with its sample values, as texts."""
    template = engine.store.templates[f"cookbook/{name}"]
    found = engine.store.select(template.name, **{**template.samples(), **values})
    return [{variable: text_of(term) for variable, term in row.items()} for row in found]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """All sample documents, one question answered and one not."""
    documents = tmp_path_factory.mktemp("cookbook") / "documents"
    shutil.copytree(REPOSITORY / "examples" / "documents", documents)
    with Engine.open(":memory:") as engine:
        engine.ingest([documents])
        ask(engine, QUESTION)
        ask(engine, "Which planet has the most moons?")
        yield engine


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The two documents that disagree, asked about, and then the guide corrected."""
    documents = tmp_path_factory.mktemp("edited") / "documents"
    documents.mkdir()
    for name in (GUIDE, "loss-of-the-petrel.txt"):
        shutil.copy(REPOSITORY / "examples" / "documents" / name, documents)
    with Engine.open(":memory:") as engine:
        engine.ingest([documents])
        ask(engine, QUESTION)
        ask(engine, BELL)
        text = (documents / GUIDE).read_text("utf-8")
        (documents / GUIDE).write_text(text.replace("17 November 1911", "14 November 1911"), "utf-8")
        engine.ingest([documents])
        yield engine


def test_every_template_of_the_cookbook_is_on_the_page() -> None:
    with Engine.open(":memory:") as engine:
        names = {name for name in engine.store.templates if name.startswith("cookbook/")}
    assert set(RECIPES) == names


@pytest.mark.parametrize("name", [name for name, after in RECIPES.items() if table(after)])
def test_a_recipe_gives_what_the_page_shows(engine: Engine, name: str) -> None:
    """Columns that the page leaves out do not count; a row of `…` stands for any others."""
    shown = table(RECIPES[name])
    assert shown is not None
    columns = [column.removeprefix("?") for column in shown[0]]
    found = rows(engine, name.removeprefix("cookbook/"))
    cells = [[row.get(column, "") for column in columns] for row in found]
    open_ended = [ANY] * len(columns) in shown[1]
    expected = [row for row in shown[1] if row != [ANY] * len(columns)]
    for row in expected:
        assert any(
            all(line_matches(want, have) for want, have in zip(row, each, strict=True)) for each in cells
        ), row
    assert open_ended or len(cells) == len(expected)


def test_the_date_of_the_loss_is_the_only_contradiction(engine: Engine) -> None:
    (row,) = rows(engine, "contradictions")
    assert (row["subject"], row["value"], row["other_value"]) == ("Petrel", "1911-11-14", "1911-11-17")


def test_the_opening_is_found_in_three_documents(engine: Engine) -> None:
    assert ("Skell Tidal Station", "was opened on", "1936-05-03", "3") in {
        (row["subject"], row["relation"], row["object"], row["documents"])
        for row in rows(engine, "well-supported")
    }


def test_the_invention_has_one_source(engine: Engine) -> None:
    titles = {row["title"] for row in rows(engine, "single-source") if row["relation"] == "invented"}
    assert titles == {"The Tarnay Chronicle, 5 May 1936: The sea at work"}


def test_what_several_documents_support_has_not_one_source(engine: Engine) -> None:
    station = "http://trustgraph.ai/e/skell-tidal-station"
    assert "1936-05-03" not in {row["object"] for row in rows(engine, "single-source", entity=station)}


def test_characters_of_an_answer_are_those_of_the_file(engine: Engine) -> None:
    found = rows(engine, "answer-characters")
    assert len(found) == 2  # the marked sentence, and the fact that was read from it
    for row in found:
        text = (REPOSITORY / "examples" / "documents" / "loss-of-the-petrel.txt").read_text("utf-8")
        start = int(row["offset"])
        assert text[start : start + int(row["length"])] == row["characters"]


def test_characters_of_an_answer_know_their_page(engine: Engine) -> None:
    """The report is a PDF: the sentence stands on one page, though its chunk may touch several."""
    ask(engine, "What caused the failure of Gate 4?")
    found = rows(engine, "answer-characters", question="What caused the failure of Gate 4?")
    report = [row for row in found if "fatigue crack caused" in row["characters"]]
    assert report
    assert all(row["page"].isdigit() for row in report)


def test_questions_take_time_and_without_a_model_no_tokens(engine: Engine) -> None:
    found = {row["question"]: row for row in rows(engine, "slowest-questions")}
    assert int(found[QUESTION]["milliseconds"]) > 0
    assert not {"model", "in_tokens", "out_tokens"} & found[QUESTION].keys()


def test_names_that_mean_one_entity(engine: Engine) -> None:
    assert rows(engine, "names")[0]["name"] == "Elspeth Marwick"


def test_rules_leave_nothing_unverified(engine: Engine) -> None:
    assert rows(engine, "unverified") == []


def test_a_quote_that_is_nowhere_is_unverified(edited: Engine) -> None:
    """As a model may give it: the builder of the ingest writes such evidence without a place."""
    (row,) = edited.store.query(
        "PREFIX tg: <https://trustgraph.ai/ns/> SELECT ?subgraph ?s ?p ?o WHERE { ?s ?p ?o . "
        "GRAPH <urn:graph:source> { ?subgraph tg:contains <<( ?s ?p ?o )>> } "
        'FILTER(?o = "1911-11-14"^^<http://www.w3.org/2001/XMLSchema#date>) } LIMIT 1'
    ).rows or [{}]
    fact: Any = (row["s"], row["p"], row["o"])
    subgraph: Any = row["subgraph"]
    edited.store.commit(Changes(add=list(prov.evidence(subgraph, fact, "It went down.", None, 0.5))))
    (found,) = rows(edited, "unverified")
    assert (found["subject"], found["relation"], found["quote"]) == ("Petrel", "sank on", "It went down.")


def test_versions_of_an_edited_document(edited: Engine) -> None:
    first, second = rows(edited, "versions")
    assert first["superseded"]
    assert second["revision_of"] == first["version"]
    assert "superseded" not in second


def test_what_an_edit_added(edited: Engine) -> None:
    added = {(row["subject"], row["relation"], row["object"]) for row in rows(edited, "facts-added")}
    assert ("Petrel", "sank on", "1911-11-14") in added
    assert ("Petrel", "sank on", "1911-11-17") not in added


def test_what_an_edit_took_away_from_an_answer(edited: Engine) -> None:
    gone = [row["fact"] for row in rows(edited, "facts-gone")]
    assert any("sank-on" in fact and "1911-11-17" in fact for fact in gone)
    assert rows(edited, "contradictions") == []


def test_an_answer_of_before_can_still_be_walked(edited: Engine) -> None:
    characters = {row["characters"] for row in rows(edited, "answer-characters", question=BELL)}
    assert "The bell of the Petrel hangs beside the door." in characters


def test_the_timeline_lists_since_when_until_when_and_when_facts_hold(engine: Engine) -> None:
    found = rows(engine, "timeline", first=1897, last=1924)
    listed = {(row["date"], row.get("qualifier"), row["subject"], row["relation"]) for row in found}
    assert ("1911-11-17", None, "Petrel", "sank on") in listed
    assert ("1911-11-17", "at", "Petrel", "sank in") not in listed
    assert ("1897", "from", "Walter Pennock", "is") in listed
    assert ("1924", "to", "Walter Pennock", "is") in listed
    assert ("1897-03-03", "at", "Walter Pennock", "founded") in listed


def test_sentences_and_evidence_have_classes(engine: Engine) -> None:
    quads = list(engine.store.quads())
    for link, kind in ((RAG.sentenceOf, RAG.Sentence), (TG.sourceText, RAG.Evidence)):
        nodes = {q.subject for q in quads if q.predicate == link}
        assert nodes
        assert nodes == {q.subject for q in quads if (q.predicate, q.object) == (RDF.type, kind)}


def test_what_was_retired_does_not_count_as_support(edited: Engine) -> None:
    quotes = {row["quote"] for row in rows(edited, "timeline")}
    assert "The Petrel sank in Skell Sound on 17 November 1911." not in quotes
