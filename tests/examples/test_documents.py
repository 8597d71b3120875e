"""The sample documents are what their script makes, can be read, and hold what their questions promise."""

from __future__ import annotations

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphrag_rdf.documents.readers import read_bytes, read_document

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCUMENTS = EXAMPLES / "documents"
FILES = sorted(path.name for path in DOCUMENTS.iterdir())
QUESTIONS: list[dict[str, Any]] = [
    json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
HEADING = re.compile(r"^### (\d+)\. (.+)$", re.M)
QUOTE = re.compile(r"^- “(.+)” — `(.+)`$", re.M)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_documents", EXAMPLES / "make_documents.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def words(name: str) -> str:
    """Text of a document as the program reads it, with single spaces for all white space."""
    return " ".join(read_document(DOCUMENTS / name).text.split())


def sections() -> dict[int, tuple[str, str]]:
    """Question and text below it, by number, in questions.md."""
    parts = HEADING.split((EXAMPLES / "questions.md").read_text(encoding="utf-8"))[1:]
    return {
        int(number): (question, body)
        for number, question, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


def test_the_script_makes_the_same_bytes_again(script: ModuleType, tmp_path: Path) -> None:
    for made in script.make(tmp_path):
        assert made.read_bytes() == (DOCUMENTS / made.name).read_bytes(), made.name


@pytest.mark.parametrize("name", ["gate-four-inquiry.pdf", "skell-tidal-power-company.docx"])
def test_made_documents_read_back_word_for_word_in_order(script: ModuleType, name: str) -> None:
    blocks = script.read_source((EXAMPLES / "sources" / name).with_suffix(".txt"))
    assert words(name) == " ".join(text for _, text in blocks)


def test_the_pdf_begins_a_page_with_each_section() -> None:
    pages = read_document(DOCUMENTS / "gate-four-inquiry.pdf").pages
    assert [page.text.split()[0] for page in pages] == ["Report", "1.", "2.", "3.", "4."]


def test_special_characters_survive_in_the_pdf(script: ModuleType) -> None:
    text = r"£5 for (round) brackets, a back\slash, an en dash – and Söhne’s name"
    (page,) = read_bytes(script.make_pdf([(1, text)]), "a.pdf").pages
    assert page.text == text


def test_a_long_section_of_a_pdf_goes_on_on_the_next_page(script: ModuleType) -> None:
    paragraphs = [f"Paragraph {number}." for number in range(60)]
    pdf = script.make_pdf([(1, "Title"), *((0, text) for text in paragraphs)])
    pages = read_bytes(pdf, "a.pdf").pages
    assert len(pages) == 3
    assert " ".join(" ".join(page.text for page in pages).split()) == " ".join(["Title", *paragraphs])


def test_titles_and_dates_are_in_the_made_files() -> None:
    for name in ("gate-four-inquiry.pdf", "skell-tidal-power-company.docx"):
        document = read_document(DOCUMENTS / name)
        assert words(name).startswith(document.title)
        assert ("http://purl.org/dc/terms/creator", "Tarnay Heritage Trust") in document.metadata


@pytest.mark.parametrize(
    ("name", "language"),
    [("brandhoff-letter-1934.txt", "de"), ("chaodong-note-1986.txt", "zh"), ("museum-guide.md", "en")],
)
def test_the_language_of_each_document_is_recognised(name: str, language: str) -> None:
    found = read_document(DOCUMENTS / name).language
    assert found is not None
    assert found.split("-")[0] == language


def test_the_readme_lists_every_document() -> None:
    listed = re.findall(r"^\| `([^`]+)` \|", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == FILES


def test_ids_are_unique_and_all_documents_exist() -> None:
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert {name for question in QUESTIONS for name in question["documents"]} <= set(FILES)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_every_answer_stands_in_its_documents(question: dict[str, Any]) -> None:
    assert bool(question["answers"]) == bool(question["documents"]) == (question["group"] != "don't know")
    for answer in question["answers"]:
        assert any(answer in words(name) for name in question["documents"])


@pytest.mark.parametrize("number", range(1, len(QUESTIONS) + 1))
def test_the_page_of_questions_agrees_with_the_file_for_scripts(number: int) -> None:
    """Same questions, answers and documents; every sentence of a chain is quoted word for word."""
    question = QUESTIONS[number - 1]
    heading, body = sections()[number]
    quotes = QUOTE.findall(body)
    assert heading == question["q"]
    assert list(dict.fromkeys(name for _, name in quotes)) == question["documents"]
    for sentence, name in quotes:
        assert sentence in words(name), (sentence, name)
    for answer in question["answers"]:
        assert any(answer in sentence for sentence, _ in quotes)
        assert answer in body.split("**")[1]


def occurrences(phrase: str) -> list[str]:
    return [name for name in FILES if phrase in words(name)]


def test_what_the_readme_says_is_planted() -> None:
    """Sources of the contradiction, the threefold fact, the single-source fact, the alias and the homonym."""
    assert occurrences("sank in Skell Sound on 14 November 1911") == ["loss-of-the-petrel.txt"]
    assert occurrences("sank in Skell Sound on 17 November 1911") == ["museum-guide.md"]
    assert len(occurrences("The Skell Tidal Station was opened on 3 May 1936.")) == 3
    assert occurrences("219,604") == ["tarnay-chronicle-1936.html"]
    assert occurrences("Elspeth Marwick (also known as E. M. Halden)") == ["elspeth-marwick.md"]
    assert {"loss-of-the-petrel.txt", "surveys-of-skell-sound.md"} <= set(occurrences("Captain James Reay"))
    assert "chaodong-note-1986.txt" in occurrences("Dr James Reay")


def test_the_ledger_adds_up_to_the_sums_in_the_prose() -> None:
    """The contradiction is the only one: the instalments are the contract, the repair is its two bills."""
    import csv

    with (DOCUMENTS / "contracts-ledger.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    turbines = sum(int(row["amount_gbp"]) for row in rows if row["purpose"].startswith("Four turbines"))
    repair = sum(
        int(row["amount_gbp"])
        for row in rows
        if row["purpose"] in {"Repair of Gate 4", "Twenty-four hinge pins"}
    )
    history = words("skell-tidal-power-company.docx")
    assert f"a price of £{turbines:,}" in history
    assert f"The repair cost £{repair:,}." in history


def test_synonyms_are_one_entity_a_line() -> None:
    lines = (EXAMPLES / "synonyms.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        preferred, _, aliases = line.partition(" = ")
        assert occurrences(preferred), preferred
        for alias in aliases.split("; "):
            assert occurrences(alias), alias
