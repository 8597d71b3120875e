"""Values of facts are shown as the documents write them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from tests.support.commands import Run
from tests.support.endpoint import Endpoint

TEXT = "The Petrel sank on 14 November 1911. Walter Pennock was born on 3 May 1861.\n"
LEDGER = """payee,amount_gbp,share_percent,weight,code
Corvane Yard,1900,12.50,36200.0,A-1
Brae Quarry,36200.0,87.5,0.25,B-2
"""
TOLLS = """Tolls by bank in Q2 1871 (pounds)
bank,tolls,carts in May 1870
East,12,3
West,14,4
"""


@pytest.fixture
def kept(run: Run, folder: Path) -> Path:
    """A store with a sentence and a table."""
    (folder / "documents").mkdir()
    (folder / "documents" / "petrel.txt").write_text(TEXT)
    (folder / "documents" / "ledger.csv").write_text(LEDGER)
    (folder / "documents" / "tolls.csv").write_text(TOLLS)
    assert run("ingest", "documents").code == 0
    return folder / "graphrag-store"


def objects(text: str) -> dict[str, str]:
    """Relation → object of a list of facts."""
    rows = [re.split(r" {2,}", line) for line in text.splitlines()[1:]]
    return {relation: value for _, relation, value in rows}


def test_dates_as_the_sentence_has_them(run: Run, kept: Path) -> None:
    assert objects(run("facts", "list", "--entity", "Petrel").out)["sank on"] == "14 November 1911"
    for value in ("14 November 1911", "1911-11-14"):
        shown = run("facts", "show", "Petrel", "sank on", value)
        assert shown.code == 0, shown.err
        assert shown.out.startswith("(Petrel, sank on, 14 November 1911)")


def test_amounts_and_shares_have_their_unit(run: Run, kept: Path) -> None:
    listed = objects(run("facts", "list", "--entity", "Corvane Yard").out)
    assert listed["amount gbp"] == "1900 GBP"
    assert listed["share percent"] == "12.5%"
    assert listed["weight"] == "36200"
    assert objects(run("facts", "list", "--entity", "Brae Quarry").out)["amount gbp"] == "36200 GBP"
    for relation, value in (("amount gbp", "1900 GBP"), ("share percent", "12.5%")):
        assert run("facts", "show", "Corvane Yard", relation, value).code == 0


def test_the_period_in_the_title_of_a_table_stands_beside_its_values(run: Run, kept: Path) -> None:
    """Not beside those of a column that names another one."""
    listed = objects(run("facts", "list", "--entity", "East").out)
    assert listed["tolls"] == "12 (Q2 1871)"
    assert listed["carts in may 1870"] == "3"
    assert "12 (Q2 1871)" in run("entities", "show", "East").out
    tolls = run("facts", "list", "--entity", "East", "--relation", "tolls", "--format", "json").json
    assert [(fact["o_written"], fact["qualifiers"]) for fact in tolls] == [("12", ["Q2 1871"])]


def test_what_is_stored_and_its_json_stay(run: Run, kept: Path) -> None:
    (fact,) = run("facts", "list", "--entity", "Petrel", "--format", "json").json
    assert (fact["o"], fact["o_label"], fact["o_written"]) == ("1911-11-14", "1911-11-14", "14 November 1911")
    assert "1911-11-14" in fact["statement"]


def test_an_answer_from_a_row_has_the_unit(run: Run, kept: Path) -> None:
    answer = run("ask", "--format", "json", "What is the amount for Corvane Yard?").json["answer"]
    assert "amount 1900 GBP" in answer, answer
    assert "A-1 GBP" not in answer


def test_the_page_of_an_entity_has_them_too(kept: Path) -> None:
    with Endpoint.start(kept) as endpoint, endpoint.client() as client:
        for name, value in (
            ("petrel", "14 November 1911"),
            ("corvane-yard", "1900 GBP"),
            ("east", "Q2 1871"),
        ):
            page = html.unescape(client.get(f"/entities/{name}", headers={"Accept": "text/html"}).text)
            assert value in page.split('id="facts"')[1].split("</section>")[0]


def test_facts_by_a_word_and_by_the_end_of_a_path(run: Run, kept: Path) -> None:
    assert run("facts", "list", "pennock").out == run("facts", "list", "--text", "pennock").out
    assert objects(run("facts", "list", "--document", "LEDGER.csv").out).keys() >= {"amount gbp", "weight"}
    several = run("facts", "list", "--document", ".csv")
    assert (several.code, "names several documents" in several.err) == (2, True)


def test_traces_and_pages_of_answers_have_them_too(run: Run, kept: Path) -> None:
    answer = run("ask", "--format", "json", "When did the Petrel sink?").json
    assert "(Petrel, sank on, 14 November 1911)" in run("trace", "show", "last").out
    assert "14 November 1911)" in run("source", "tree", "documents/petrel.txt").out
    assert '"o_label": "1911-11-14"' in run("trace", "show", "last", "--format", "json").out
    with Endpoint.start(kept) as endpoint, endpoint.client() as client:
        name = answer["question_iri"].rpartition(":")[2]
        page = client.get(f"/traces/{name}", headers={"Accept": "text/html"}).text
    words = re.sub(r"<svg.*?</svg>|<[^>]*>", "", page, flags=re.DOTALL)
    assert "14 November 1911" in words
    assert "1911-11-14" not in words
