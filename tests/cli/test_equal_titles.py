"""Documents that share their title are told apart by their paths, wherever people read what is cited."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import HARBOUR, Run
from tests.support.endpoint import Endpoint

COMPANY = "# Overview\n\nWalter Pennock founded the Tarnay Electric Light Company in 1897.\n"
MUSEUM = "# Overview\n\nBeatrice Orr founded the Museum of Looms in Arnhythe.\n"
QUESTION = "Who founded the Tarnay Electric Light Company?"
NAME = "Overview (documents/company/index.md)"


@pytest.fixture
def titled(run: Run, folder: Path) -> Path:
    """A store with two documents of one title, and one with its own."""
    for name, text in (("company", COMPANY), ("museum", MUSEUM), ("harbour", HARBOUR)):
        place = folder / "documents" / name
        place.mkdir(parents=True)
        (place / "index.md").write_text(text)
    assert run("ingest", "documents").code == 0
    return folder / "graphrag-store"


def test_an_answer_names_the_path_although_it_cites_only_one_of_them(run: Run, titled: Path) -> None:
    answer = run("ask", QUESTION, "--format", "json").json
    (source,) = answer["citations"][0]["sources"]
    assert (source["title"], source["name"]) == ("Overview", NAME)
    assert answer["sources"][0]["name"] == NAME
    assert f"[1] {NAME}\n" in run("ask", QUESTION).out
    other = run("ask", "Who designed Drumlaw Head Lighthouse?", "--format", "json").json["sources"][0]
    assert other["name"] == other["title"] == "Port Merrin"


def test_traces_rankings_and_sources_of_facts_name_it(run: Run, titled: Path) -> None:
    run("ask", QUESTION)
    shown = " ".join(run("trace", "show", "last").out.split())
    assert f"→ {NAME}" in shown
    assert f". {NAME} ·" in shown
    found = run("retrieve", QUESTION, "--format", "json").json["results"][0]
    assert (found["title"], found["name"]) == ("Overview", NAME)
    assert NAME in run("retrieve", QUESTION).out
    fact = ("Walter Pennock", "founded", "Tarnay Electric Light Company")
    assert NAME in " ".join(run("source", "fact", *fact).out.split())


def test_pages_name_it(run: Run, titled: Path) -> None:
    with Endpoint.start(titled) as endpoint, endpoint.client() as client:
        client.post("/ask", json={"question": QUESTION}).raise_for_status()
        page = client.get("/traces/last", headers={"Accept": "text/html"}).text
        assert f"{NAME}</a>" in page
        assert f"[1] {NAME}" in run("ask", "--server", endpoint.url, QUESTION).out
