"""Answers without a model: passages with their best sentence marked, under a label."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import NamedNode

from graphrag_rdf.config import Settings
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.engine import Engine
from graphrag_rdf.wings.audit.verify import verify
from graphrag_rdf.wings.evaluation.metrics import contained
from tests.support.stores import open_engine

EXAMPLES = Path(__file__).parents[2] / "examples"


def ask(engine: Engine, question: str, **options: Any) -> dict[str, Any]:
    *_, last = engine.ask(question, **options)
    assert last.answer is not None
    return last.answer


def marked(passage: dict[str, Any]) -> str:
    text: str = passage["text"]
    return " ".join(text[passage["marked"]["start"] : passage["marked"]["end"]].split())


@pytest.fixture
def engine() -> Any:
    with open_engine(":memory:", config=Settings()) as opened:
        yield opened


def test_the_answer_is_the_marked_sentence_of_the_first_passage(samples: Engine) -> None:
    answer = ask(samples, "Who led the Petrel Inquiry?")
    first, *others = answer["passages"]
    assert answer["answered"]
    assert answer["answer"] == f"{marked(first)} [1]"
    assert "Duncan Aldersey" in marked(first)
    assert [one["rank"] for one in answer["passages"]] == [1, 2, 3]
    assert [one["label"] for one in answer["passages"]] == ["Best passage", *["Further passage"] * 2]
    assert {one["chunk"] for one in others}.isdisjoint({first["chunk"]})
    source = answer["citations"][0]["sources"][0]
    assert source["char_offset"] == first["char_offset"] + first["marked"]["start"]
    assert source["char_length"] == first["marked"]["end"] - first["marked"]["start"]


def test_a_passage_has_its_headings_and_page(samples: Engine) -> None:
    (first, *_) = ask(samples, "Who examined the broken pin?")["passages"]
    assert first["document"].endswith(".pdf")
    assert first["page_number"] == 4
    (first, *_) = ask(samples, "When did Walter Pennock die?")["passages"]
    assert first["title"].startswith("The Skell Tidal Power Company")


def test_of_a_long_chunk_whole_sentences_around_the_marked_one_are_shown(samples: Engine) -> None:
    whole = ask(samples, "Who owned the Petrel?")["passages"][0]
    part = ask(samples, "Who owned the Petrel?", settings={"synthesis.passage_tokens": "40"})["passages"][0]
    assert marked(part) == marked(whole) == "Walter Pennock owned the Petrel."
    assert part["text"] in whole["text"]
    assert count_tokens(part["text"]) <= 40 < count_tokens(whole["text"])
    assert part["text"].endswith(".")


def test_closest_passages_are_labelled_where_nothing_says_it(samples: Engine) -> None:
    answer = ask(samples, "Who was the architect of the railway station of Port Merrin?")
    assert not answer["answered"]
    assert answer["answer"] == "No sentence in the documents is a sure answer."
    assert answer["citations"] == []
    assert {one["label"] for one in answer["passages"]} == {"Closest passage"}
    assert [one["quote"] for one in answer["closest"]] == [
        one["text"][one["marked"]["start"] : one["marked"]["end"]] for one in answer["passages"]
    ]
    (told,) = [each["detail"] for each in answer["warnings"] if each["type"] == "no_relevant_facts"]
    assert answer["missing_words"] == ["architect", "railway"]
    assert "does not contain “architect”, “railway”" in told
    told_margin = re.search(r"the question: (-?\d\.\d{3}), and 0\.41 is needed", told)
    assert told_margin, told
    assert float(told_margin[1]) < 0.41, "the figure that decides"


def test_a_quote_that_lacks_much_of_the_question_names_the_words(samples: Engine) -> None:
    uncertain = ask(samples, "Who sold the lighthouse to the Tarnay Harbour Trust in spring?")
    assert uncertain["answered"]
    (told,) = [each["detail"] for each in uncertain["warnings"] if each["type"] == "uncertain_answer"]
    assert told == "This quote may not answer the question: it does not contain “sold”, “spring”."
    assert uncertain["missing_words"] == ["sold", "spring"]
    sure = ask(samples, "Who owned the Petrel?")
    assert sure["missing_words"] == []
    assert "uncertain_answer" not in {each["type"] for each in sure["warnings"]}


def test_without_a_sentence_to_quote_nothing_is_claimed_about_the_documents(samples: Engine) -> None:
    """Only where no chunk has a word of the question."""
    assert ask(samples, "What is it?")["answer"] == "No sentence in the documents is a sure answer."
    assert "nothing relevant was found" in ask(samples, "Which planet has moons?")["answer"]


@pytest.mark.parametrize("question", ["Who owned the Petrel?", "Who invented the reversing gear?"])
def test_a_removed_fact_takes_its_sentence_out(sample_folder: Path, tmp_path: Path, question: str) -> None:
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        before = ask(engine, question)
        sentence = marked(before["passages"][0])
        (edge, *_) = [one["edge"] for one in before["citations"] if "edge" in one]
        engine.facts.remove(edge["s"], edge["p"], edge["o"], reason="a test")
        after = ask(engine, question)
    wanted = "Walter Pennock" if "Petrel" in question else "Rhoda Tennant"
    assert not after["answered"] or wanted in after["answer"]
    assert all(sentence not in " ".join(one["text"].split()) for one in after["passages"])


@pytest.mark.slow
def test_no_question_is_answered_by_another_sentence_once_its_fact_is_removed(engine: Engine) -> None:
    """Unless that sentence says it, too. The questions that need several documents are left out."""
    engine.ingest([EXAMPLES / "documents"])
    questions = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text("utf-8").splitlines()]
    cited, wrong = 0, []
    for question in (one for one in questions if one["group"] in ("one fact", "plain")):
        before = ask(engine, question["q"], stored=False)
        edges = [one["edge"] for one in before["citations"] if "edge" in one]
        for edge in edges[:1]:
            engine.facts.remove(edge["s"], edge["p"], edge["o"])
            after = ask(engine, question["q"], stored=False)
            if after["answered"] and not contained([after["answer"]], question["answers"]):
                wrong.append((question["q"], after["answer"]))
            engine.facts.undo([one.iri.value for one in engine.facts.decisions()])
            cited += 1
    assert cited > 20
    assert wrong == []


@pytest.mark.slow
def test_the_words_of_the_answer_are_in_the_first_three_passages(samples: Engine) -> None:
    questions = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text("utf-8").splitlines()]
    found = []
    for question in (one for one in questions if one["group"] == "plain"):
        passages = ask(samples, question["q"], stored=False)["passages"]
        found.append(contained([one["text"] for one in passages[:3]], question["answers"]))
    assert len(found) == 40
    assert sum(found) / len(found) >= 0.9


def test_what_names_an_excluded_entity_is_not_shown(samples: Engine) -> None:
    answer = ask(samples, "Who invented the reversing gear?", exclude=["Rhoda Tennant"])
    assert answer["passages"]
    assert all("Rhoda Tennant" not in one["text"] for one in answer["passages"])


def test_who_somebody_was_is_what_the_sentence_that_begins_so_says(engine: Engine, tmp_path: Path) -> None:
    text = "People spoke of Mona Kell, and Mona Kell heard it. Mona Kell (1850–1911) was a diver from Skell."
    (tmp_path / "kell.txt").write_text(f"{text} The diving of Mona Kell was famous.", "utf-8")
    engine.ingest([tmp_path])
    assert "was a diver" in ask(engine, "Who was Mona Kell?")["answer"]


def test_a_definition_may_stand_in_parentheses_and_in_a_further_chunk(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "people.txt").write_text('Mona Kell ("Mo"), a diver from Skell. Others swam there.', "utf-8")
    for number in range(5):
        told = f"Mo came in, and Mo said that Mo was tired of day {number}. Then Mo went home."
        (tmp_path / f"day{number}.txt").write_text(told, "utf-8")
    engine.ingest([tmp_path])
    assert "a diver" in ask(engine, "Who was Mo?")["answer"]


@pytest.mark.parametrize(
    "question",
    [
        "Who was the captain of the Gudrun?",
        "When did Rhoda Tennant die?",
        "Where was Friedrich Ahlers born?",
    ],
)
def test_a_sentence_that_only_names_what_is_asked_about_is_no_answer(samples: Engine, question: str) -> None:
    answer = ask(samples, question)
    assert not answer["answered"]
    assert answer["passages"]


def test_a_fact_is_cited_only_if_nothing_else_says_it_in_other_words(samples: Engine) -> None:
    """One document dates the sinking three days later: its sentence is no source of the answer."""
    answer = ask(samples, "On which date did the Petrel sink?")
    sources = [source for one in answer["citations"] for source in one["sources"]]
    assert {one["quote"] for one in sources} == {marked(answer["passages"][0])}
    invented = ask(samples, "Who invented the reversing gear?")
    assert any("edge" in one for one in invented["citations"])


def test_the_query_of_the_trace_has_the_marked_sentence_first(sample_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_folder, tmp_path / "store")
    with open_engine(tmp_path / "store", config=Settings()) as engine:
        messages = list(engine.ask("Who led the Petrel Inquiry?"))
        session, last = messages[0].explain_id, messages[-1]
        (step,) = [one.explain_id for one in messages if one.kind == "synthesis"]
        rows = engine.store.select("retrieval/evidence", exploration=NamedNode(step), limit=1)
        assert last.answer is not None
        first = last.answer["passages"][0]
        places = engine.store.select("retrieval/passage-sentences", chunks=[NamedNode(first["chunk"])])
        (place,) = [place for place in places if place["sentence"] == rows[0]["sentence"]]
        assert place["length"] == first["marked"]["end"] - first["marked"]["start"]
        checks = verify(engine, session)
    assert {one.check: one.ok for one in checks}["ranking"]


def test_a_row_of_a_table_answers_with_its_columns(engine: Engine, tmp_path: Path) -> None:
    rows = "ship,built,tonnage\nPetrel,1903,140\nGudrun,1921,900\nHalden,1962,310\n"
    (tmp_path / "ships.csv").write_text(rows, "utf-8")
    engine.ingest([tmp_path])
    answer = ask(engine, "What is the tonnage of the Gudrun?")
    assert answer["answer"] == "Gudrun: tonnage 900. [1]"
    assert marked(answer["passages"][0]) == "Gudrun,1921,900"


def test_a_sentence_in_chinese_is_marked(samples: Engine) -> None:
    answer = ask(samples, "谁负责模型的测量工作？")
    assert marked(answer["passages"][0]) == "陈立文负责模型的测量工作。"
    assert answer["answered"]
