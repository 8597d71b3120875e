"""What people decided about facts, on the pages of what rested on them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from graphrag_rdf import Engine
from graphrag_rdf.config import Settings
from graphrag_rdf.trace.page import render_page
from tests.support.endpoint import READ, TOKENS, WRITE, Endpoint
from tests.support.pages import Page, browser, get

QUESTION = "Who founded the Tarnay Electric Light Company?"
FOUNDED = {"subject": "Walter Pennock", "predicate": "founded", "object": "Tarnay Electric Light Company"}


@pytest.fixture
def place(documents_store: Path, tmp_path: Path) -> Path:
    """A store of its own."""
    shutil.copytree(documents_store, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def client(place: Path) -> Iterator[httpx.Client]:
    """A browser of a server that takes decisions from anybody."""
    with Endpoint.start(place, "--anonymous", "write") as endpoint, browser(endpoint) as found:
        yield found


def struck(page: Page) -> int:
    """How many facts are struck out."""
    return sum(tag == "del" for tag, _ in page.tags)


def decide(client: httpx.Client, **how: object) -> str:
    """Decide about the fact that the answer rests on; the decision."""
    done = client.post("/facts", json={**FOUNDED, "by": "R. <Tennant>", **how})
    assert done.status_code == 200, done.text
    iri: str = done.json()["decisions"][0]["iri"]
    return iri


def test_the_return_key_where_something_was_put_right_removes_nothing(client: httpx.Client) -> None:
    """It presses the first button of a form, whatever field it was hit in."""
    both = {**FOUNDED, "act": "remove", "to_subject": "Ada Moor"}
    refused = client.post("/facts", data=both)
    assert refused.status_code == 422
    assert "press “Correct it”" in refused.text
    assert client.get("/facts/decisions", headers={"Accept": "application/json"}).json()["items"] == []


def test_a_removed_fact_is_marked_where_an_answer_rested_on_it(client: httpx.Client) -> None:
    asked = client.post("/ask", data={"question": QUESTION}, timeout=60).headers["location"]
    document = "/documents/documents/company.txt"
    assert struck(get(client, asked)) == struck(get(client, document)) == 0
    decision = decide(client, reason="the deed & the log")
    page = get(client, asked)
    assert struck(page) >= 1
    assert "Holds no more: removal by R. <Tennant>" in page.text
    for told in ("the deed & the log", "✗ founded", "changed since"):
        assert told in page.text
    assert any("removal" in address for address in page.addresses("a"))
    told = client.get(asked, headers={"Accept": "application/json"}).json()
    gone = [s for step in told["steps"] for s in step.get("selections", ()) if s["removed"]]
    assert gone
    assert {s["removed"]["iri"] for s in gone} == {decision}
    assert "Holds no more: removal by R. <Tennant>" in " ".join(
        client.get(asked, headers={"Accept": "text/plain"}).text.split()
    )
    (listed,) = [a for a in get(client, "/facts/decisions").addresses("a") if a.startswith("/facts?subject")]
    page = get(client, listed)
    assert any(address.startswith(asked) for address in page.addresses("a"))
    assert "Answers that used it" in page.text
    assert QUESTION in page.text
    page = get(client, document)
    assert struck(page) == 1
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    assert f"Holds no more: removal by R. <Tennant>, {when}" in page.text
    assert "UTC: the deed & the log" in page.text
    client.delete("/facts", params={"decision": decision}).raise_for_status()
    assert struck(get(client, asked)) == struck(get(client, document)) == 0


def test_a_corrected_fact_is_shown_with_what_holds_instead(client: httpx.Client) -> None:
    asked = client.post("/ask", data={"question": QUESTION}, timeout=60).headers["location"]
    decide(client, instead={"subject": "Rhoda Tennant"})
    for path in (asked, "/documents/documents/company.txt"):
        page = get(client, path)
        assert "In its place: " in page.text
        assert "Rhoda Tennant" in page.text
        assert "/entities/rhoda-tennant" in page.addresses("a")


def form_of(page: Page) -> dict[str, str]:
    """The hidden fields of the form by which one decides."""
    return {a["name"]: a["value"] for tag, a in page.tags if tag == "input" and a.get("type") == "hidden"}


def test_deciding_by_the_form_of_a_facts_page(client: httpx.Client) -> None:
    path = f"/facts?{urlencode(FOUNDED)}"
    fields = form_of(get(client, path))
    assert set(fields) == set(FOUNDED)
    done = client.post("/facts", data={**fields, "act": "remove", "reason": "misread", "by": ""})
    assert done.status_code == 303
    page = get(client, done.headers["location"])
    assert "Holds no more" in page.text
    assert "misread" in page.text
    back = client.post("/facts", data={**form_of(page), "act": "undo"})
    assert struck(get(client, back.headers["location"])) == 0
    put_right = {**fields, "act": "correct", "to_subject": "Rhoda Tennant", "to_object": " "}
    page = get(client, client.post("/facts", data=put_right).headers["location"])
    assert "In its place: Rhoda Tennant founded" in page.text


@pytest.mark.parametrize(
    "fields", [{}, {"act": "drop"}, {"act": "correct"}, {"act": "remove", "to_object": "x"}], ids=str
)
def test_forms_that_say_nothing_decide_nothing(fields: dict[str, str], client: httpx.Client) -> None:
    assert client.post("/facts", data={**FOUNDED, **fields}).status_code == 422
    assert "no decisions" in get(client, "/facts/decisions").text


def test_foreign_pages_decide_nothing(client: httpx.Client) -> None:
    data = {**FOUNDED, "act": "remove"}
    assert client.post("/facts", data=data, headers={"Origin": "https://evil.example"}).status_code == 403
    assert "no decisions" in get(client, "/facts/decisions").text


def test_without_a_token_the_form_asks_for_one(place: Path) -> None:
    with Endpoint.start(place, **TOKENS) as endpoint, browser(endpoint) as stranger:
        page = get(stranger, f"/facts?{urlencode(FOUNDED)}")
        assert "token" in page.ids
        data = {**form_of(page), "act": "remove"}
        assert stranger.post("/facts", data=data).status_code == 401
        assert stranger.post("/facts", data={**data, "token": "wrong"}).status_code == 401
        assert stranger.post("/facts", data={**data, "token": READ}).status_code == 403
        assert stranger.post("/facts", data={**data, "token": WRITE}).status_code == 303


def test_the_exported_page_is_marked_too(place: Path) -> None:
    with Engine.open(config=Settings(store=str(place))) as engine:
        list(engine.ask(QUESTION))
        engine.facts.remove(*FOUNDED.values(), by="R. Tennant")
        page = Page(render_page(engine.store, engine.traces["last"]))
    assert struck(page) >= 1
    assert "Holds no more: removal by R. Tennant" in page.text


def test_what_was_edited_away_since_is_told(tmp_path: Path) -> None:
    """The page says so at its beginning, where a citation rests on nothing else."""
    (tmp_path / "docs").mkdir()
    file = tmp_path / "docs" / "mill.txt"
    file.write_text("Ada Moor founded the Corvane Mill in 1903.\n")
    with Engine.open(config=Settings(store=str(tmp_path / "store"))) as engine:
        engine.ingest([tmp_path / "docs"])
        list(engine.ask("Who founded the Corvane Mill?"))
        trace = engine.traces["last"]
        assert "changed since" not in render_page(engine.store, trace)
        file.write_text("Bo Lind founded the Corvane Mill in 1904.\n")
        engine.ingest([tmp_path / "docs"])
        page = Page(render_page(engine.store, engine.traces[trace.iri]))
    assert "changed since 1 citation rests on what no document says any more" in page.text


def test_the_page_of_an_entity_has_its_links_to_vocabularies(place: Path, tmp_path: Path) -> None:
    """With the name that matched and the sentences that are the evidence."""
    from graphrag_rdf.exchange.ontologies import load_ontologies
    from graphrag_rdf.wings.merging.links import apply, choose_vocabularies, propose

    (tmp_path / "v.ttl").write_text(
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> ."
        ' <http://example.org/v#t> a skos:Concept ; skos:prefLabel "Tarnay Electric Light Company"@en ;'
        ' skos:definition "A company that Walter Pennock founded, with a <b>power</b> station."@en .'
    )
    with Engine.open(place, config=Settings()) as engine:
        load_ontologies(engine.store, [tmp_path / "v.ttl"], "http://trustgraph.ai/", datetime.now(UTC))
        found = propose(engine, choose_vocabularies(engine.store, None))
        assert [one.outcome for one in found] == ["link"]
        apply(engine, found)
    with Endpoint.start(place, "--anonymous", "read") as endpoint, browser(endpoint) as client:
        page = get(client, "/entities/tarnay-electric-light-company")
    assert "exactMatch" in page.text
    assert "http://example.org/v#t" in page.text
    assert "Walter Pennock" in page.text
    assert any("chunk=" in address for address in page.addresses("a"))
