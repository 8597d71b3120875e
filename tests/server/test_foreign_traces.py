"""Traces of TrustGraph that clients put into the store: by update and by the Graph Store Protocol."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyoxigraph as ox

FILES = Path(__file__).parents[1] / "trace" / "trustgraph"
RETRIEVAL = "urn:graph:retrieval"
AGENT = "33333333-aaaa-4bbb-8ccc-000000000003"
SESSION = "66666666-aaaa-4bbb-8ccc-000000000006"


def test_they_are_listed_and_shown(client: httpx.Client) -> None:
    quads = ox.parse(path=FILES / "agent-react.trig")
    triples = "\n".join(f"{ox.Triple(quad.subject, quad.predicate, quad.object)} ." for quad in quads)
    update = f"INSERT DATA {{ GRAPH <{RETRIEVAL}> {{ {triples} }} }}"
    assert client.post("/update", data={"update": update}).status_code == 204
    turtle = {"Content-Type": "text/turtle"}
    older = (FILES / "older-session.ttl").read_bytes()
    put = client.post("/store", params={"graph": RETRIEVAL}, content=older, headers=turtle)
    assert put.is_success

    found = client.get("/traces", headers={"Accept": "application/json"}).json()
    assert found["outcomes"] == {"foreign": 3}
    assert [(one["kind"], one["iri"][-36:]) for one in found["items"] if one["parent"] is None] == [
        ("agent", AGENT),
        ("graphrag", SESSION),
    ]
    page = client.get("/traces", headers={"Accept": "text/html"}).text
    assert f'href="/traces/{AGENT}"' in page
    assert "in TrustGraph&#39;s form" in page

    shown = client.get(f"/traces/{AGENT}", headers={"Accept": "application/json"}).json()
    assert shown["form"] == "trustgraph"
    assert [step["type"] for step in shown["steps"]][-1] == "conclusion"
    older_page = client.get(f"/traces/{SESSION}", headers={"Accept": "text/html"})
    assert older_page.status_code == 200
    assert "This edge names the builder." in older_page.text
    assert "calendar: no such person" in client.get(f"/traces/{AGENT}", headers={"Accept": "text/html"}).text
    rdf = client.get(f"/traces/{AGENT}", headers={"Accept": "application/trig"})
    assert "ToolUse" in rdf.text
