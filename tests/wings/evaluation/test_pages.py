"""`eval pages`: evidence pages among the pages of the first chunks, of real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.errors import UsageError
from graphrag_rdf.wings.evaluation.pages import evaluate_pages, load_page_questions
from tests.support.pdf import lines, make_pdf

PETREL = (
    "The Petrel was launched at Arnhythe and carried coal.",
    "Captain Holm commanded the Petrel on her last voyage.",
    "The Petrel sank off Drumlaw Head in a winter gale.",
)
HERON = (
    "The Heron was launched at Port Merrin and carried slate.",
    "Captain Lund commanded the Heron for eleven years.",
    "The Heron was broken up after the slate trade ended.",
)
QUESTIONS = (
    {"id": "a", "q": "Who commanded the Petrel?", "document": "petrel.pdf", "pages": [2]},
    {"id": "b", "q": "Where was the Heron launched?", "document": "sub/heron.pdf", "pages": [1, 3]},
    {"id": "c", "q": "Who commanded the Heron?", "document": "heron.pdf", "pages": [3]},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two PDFs of three pages, one of them below a folder, and questions beside them."""
    (tmp_path / "sub").mkdir()
    for name, pages in (("petrel.pdf", PETREL), ("sub/heron.pdf", HERON)):
        (tmp_path / name).write_bytes(make_pdf([lines(50, 700, [page]) for page in pages]))
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)) + "\n")
    return tmp_path


def small_chunks() -> Settings:
    """One page a chunk."""
    return Settings.model_validate({"store": ":memory:", "documents": {"chunk_size": 60}})


def test_the_first_chunks_are_looked_up_by_page(folder: Path) -> None:
    with Engine.open(config=small_chunks()) as engine:
        found = evaluate_pages(engine, folder, load_page_questions(folder / "questions.jsonl"), ks=(1, 5))
    assert (found["n"], found["documents"], found["pages"]) == (3, 2, 6)
    ranks = {question["id"]: question["rank"] for question in found["questions"]}
    assert ranks["a"] == ranks["b"] == 1
    assert ranks["c"] is None or ranks["c"] > 1  # the page that is asked for says nothing of it
    assert found["found"]["1"] == pytest.approx(2 / 3, abs=1e-4)
    for baseline in ("bm25_pages", "bm25_chunks"):
        assert found["baselines"][baseline]["found"]["1"] == pytest.approx(2 / 3, abs=1e-4)


def test_with_the_document_known_other_documents_do_not_count(folder: Path) -> None:
    (folder / "questions.jsonl").write_text(
        json.dumps({"id": "a", "q": "Where was the Heron launched?", "document": "petrel.pdf", "pages": [1]})
    )
    with Engine.open(config=small_chunks()) as engine:
        found = evaluate_pages(engine, folder, load_page_questions(folder / "questions.jsonl"), ks=(1,))
    pages = found["baselines"]["bm25_pages"]
    assert (pages["found"], pages["document_known"]) == ({"1": 0.0}, {"1": 1.0})


def test_a_damaged_file_is_reported_and_its_questions_are_missed(folder: Path) -> None:
    (folder / "petrel.pdf").write_bytes(b"%PDF-1.4 nothing more")
    with Engine.open(config=small_chunks()) as engine:
        found = evaluate_pages(engine, folder, load_page_questions(folder / "questions.jsonl"), ks=(1,))
    assert [Path(failure["path"]).name for failure in found["failures"]] == ["petrel.pdf"]
    assert found["documents"] == 1
    assert found["questions"][0] == {"id": "a", "rank": None}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "questions.jsonl, line 2"),
        ('{"id": "x", "q": "Who?", "pages": [1]}', "line 2: document: it is missing"),
        ('{"id": "x", "q": "Who?", "document": "a.pdf", "pages": []}', "question x has no pages"),
        ('{"id": "x", "q": "Who?", "document": "a.pdf", "pages": [0]}', "question x has no pages"),
    ],
)
def test_a_malformed_question_is_an_error_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(QUESTIONS[0]) + "\n" + line)
    with pytest.raises(UsageError, match=told):
        load_page_questions(path)


def test_a_question_about_a_missing_file_is_an_error_before_anything_is_read(folder: Path) -> None:
    (folder / "petrel.pdf").unlink()
    with Engine.open(":memory:") as engine, pytest.raises(UsageError, match=r"question a .* petrel\.pdf"):
        evaluate_pages(engine, folder, load_page_questions(folder / "questions.jsonl"))
