"""`/graph`: what each start gives, and its limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.endpoint import Endpoint
from tests.support.pages import get

PENNOCK = "http://trustgraph.ai/e/walter-pennock"
COMPANY = "http://trustgraph.ai/e/tarnay-electric-light-company"


@pytest.fixture(scope="module")
def client(answering: Endpoint) -> Iterator[httpx.Client]:
    with answering.client() as found:
        yield found


def view_of(client: httpx.Client, **start: Any) -> dict[str, Any]:
    response = client.get("/graph", params=start)
    assert response.status_code == 200, response.text
    view: dict[str, Any] = response.json()
    return view


def facts_of(view: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Edges by labels."""
    names = [node["label"] for node in view["nodes"]]
    return {(names[s], view["relations"][p]["label"], names[o]) for s, o, p, *_ in view["edges"]}


FOUNDED = ("Walter Pennock", "founded", "Tarnay Electric Light Company")


def test_the_start_without_parameters_joins_the_most_mentioned_entities(client: httpx.Client) -> None:
    view = view_of(client)
    assert FOUNDED in facts_of(view)
    assert all(node["id"].startswith("<") for node in view["nodes"]), "values are not among them"
    assert max(node["chunks"] for node in view["nodes"]) > 1
    assert {query["name"] for query in view["queries"]} == {"graph/best", "graph/among"}


def test_best_is_a_limit(client: httpx.Client) -> None:
    assert 1 < len(view_of(client, best=5)["nodes"]) <= 5
    assert client.get("/graph", params={"best": 20_001}).status_code == 400


@pytest.mark.parametrize("entity", ["Walter Pennock", PENNOCK])
def test_an_entity_has_its_facts_and_values(client: httpx.Client, entity: str) -> None:
    view = view_of(client, entity=entity)
    assert FOUNDED in facts_of(view)
    assert all("Walter Pennock" in (s, o) for s, _, o in facts_of(view))
    cut = view_of(client, entity=entity, around=1)
    assert cut["cut"]
    assert len(cut["edges"]) < len(view["edges"])


def test_entities_and_documents_that_nobody_knows_are_refused(client: httpx.Client) -> None:
    for start in ({"entity": "Nobody"}, {"document": "none.txt"}, {"from": PENNOCK}, {"community": "x y"}):
        assert client.get("/graph", params=start).status_code == 400, start
    assert client.get("/graph", params={"trace": "0" * 8}).status_code == 404
    assert view_of(client, community="urn:community:none")["nodes"] == []


def test_a_document_has_the_facts_that_it_states(client: httpx.Client) -> None:
    company = facts_of(view_of(client, document="documents/company.txt"))
    harbour = facts_of(view_of(client, document="documents/harbour.md"))
    assert FOUNDED in company - harbour
    both = view_of(client, document="documents/harbour.md", entity=COMPANY)
    assert FOUNDED not in facts_of(both)


def test_a_trace_has_the_facts_that_were_selected(client: httpx.Client) -> None:
    client.post("/ask", json={"question": "Who founded the Tarnay Electric Light Company?"}, timeout=60)
    assert FOUNDED in facts_of(view_of(client, trace="last"))


def test_a_path_joins_two_entities(client: httpx.Client) -> None:
    near = view_of(client, **{"from": PENNOCK, "to": COMPANY})
    assert FOUNDED in facts_of(near)
    assert {node["label"] for node in near["nodes"]} == {FOUNDED[0], FOUNDED[2]}
    whole = view_of(client)
    joined = {frozenset(edge[:2]) for edge in whole["edges"]}
    first, last = next(
        sorted(one ^ other)
        for one in joined
        for other in joined
        if len(one ^ other) == 2 and frozenset(one ^ other) not in joined
    )
    ends = {name: whole["nodes"][place]["id"][1:-1] for name, place in (("from", first), ("to", last))}
    far = view_of(client, **ends)
    assert len(far["nodes"]) > 2
    assert len(far["edges"]) >= 2


def test_sentences_that_name_two_entities_lead_to_their_place(client: httpx.Client) -> None:
    found = client.get("/graph/sentences", params={"one": PENNOCK, "other": COMPANY}).json()["items"]
    assert any("Walter Pennock founded" in item["text"] for item in found)
    assert all(item["href"].endswith("#cited") for item in found)


def test_the_page_lists_what_is_drawn(client: httpx.Client) -> None:
    page = get(client, "/graph?entity=Walter+Pennock")
    assert "founded" in page.text
    links = [attributes for tag, attributes in page.tags if tag == "a" and "data-node" in attributes]
    assert COMPANY in {link["data-node"] for link in links}
    assert all(link["href"].startswith("/graph?entity=http") for link in links)
