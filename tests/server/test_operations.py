"""Operations that have nothing to do succeed: CLEAR of a missing graph, a refused LOAD SILENT."""

from __future__ import annotations

import httpx
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.execution.sparql_text import inspect_update, nothing_missed
from graphrag_rdf.server.http.problems import Problem

NOTHING = "INSERT DATA {}"


@pytest.mark.parametrize(
    ("update", "becomes"),
    [
        ("CLEAR GRAPH <urn:g>", "CLEAR SILENT GRAPH <urn:g>"),
        ("clear graph e:g ; CLEAR ALL", "clear SILENT graph e:g ; CLEAR ALL"),
        (
            "PREFIX e: <urn:e:>\nCLEAR # which?\nGRAPH e:g",
            "PREFIX e: <urn:e:>\nCLEAR SILENT # which?\nGRAPH e:g",
        ),
        ("LOAD SILENT <urn:x>", NOTHING),
        ("LOAD SILENT <urn:x> INTO GRAPH <urn:g> ;\nCLEAR ALL", f"{NOTHING} ;\nCLEAR ALL"),
        ("PREFIX e: <urn:e:> LOAD SILENT e:x INTO GRAPH e:g", f"PREFIX e: <urn:e:> {NOTHING}"),
        ("BASE <urn:b> CLEAR ALL ; load silent <urn:x>", f"BASE <urn:b> CLEAR ALL ; {NOTHING}"),
    ],
)
def test_what_has_nothing_to_do_becomes_silent(update: str, becomes: str) -> None:
    assert nothing_missed(update) == becomes


@pytest.mark.parametrize(
    "update",
    [
        "CLEAR SILENT GRAPH <urn:g>",
        "CLEAR ALL",
        "DROP GRAPH <urn:g>",
        "LOAD <urn:x>",
        "LOAD SILENT <urn:x> <urn:y>",
        "LOAD SILENT <urn:x> INTO GRAPH",
        "LOAD SILENT <urn:allowed>",
        "PREFIX e: <urn:> LOAD SILENT e:allowed",
        "INSERT DATA { <urn:s> <urn:p> 'CLEAR GRAPH <urn:g> ; LOAD SILENT <urn:x>' } # CLEAR GRAPH <urn:g>",
        "PREFIX clear: <urn:c> INSERT DATA { clear:graph clear:load clear:silent }",
    ],
)
def test_everything_else_is_left_alone(update: str) -> None:
    assert nothing_missed(update, ["urn:allowed"]) == update


def test_clear_of_a_graph_that_is_not_there(client: httpx.Client) -> None:
    """As the protocol's test suite has it; DROP says what it misses (SPARQL 1.1 Update §3.2.2)."""
    for update, status in (
        ("CLEAR GRAPH <urn:nowhere>", 204),
        ("DROP GRAPH <urn:nowhere>", 404),
        ("CREATE GRAPH <urn:g> ; CREATE GRAPH <urn:g>", 409),
    ):
        assert client.post("/update", data={"update": update}).status_code == status, update


@pytest.mark.parametrize("into", ["", " INTO GRAPH <urn:g>"])
def test_a_silent_load_loads_nothing_and_succeeds(into: str, client: httpx.Client) -> None:
    after = "INSERT DATA { <urn:s> <urn:p> 1 }"
    found = client.post("/update", data={"update": f"LOAD SILENT <http://127.0.0.1:9/>{into} ; {after}"})
    assert found.status_code == 204, found.text
    count = client.get("/query", params={"query": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"}).json()
    assert count["results"]["bindings"][0]["n"]["value"] == "1"


@given(
    st.lists(
        st.sampled_from(["'", '"', "'''", "<", ">", "#", "\n", ";", " ", "{", "}", "<urn:x>", "CLEAR GRAPH"]),
        max_size=9,
    ),
    st.sampled_from(["LOAD", "LOAD SILENT", "load silent"]),
)
def test_no_load_gets_through(noise: list[str], load: str) -> None:
    """Whatever stands before it: what is left is refused, is malformed, or calls nobody."""
    update = f"{' '.join(noise)} {load} <http://127.0.0.1:9/>"
    left = nothing_missed(update)
    try:
        masked = inspect_update(left)
        ox.Store().update(left if masked is None else masked)
    except (Problem, SyntaxError, RuntimeError, ValueError):
        return
    if masked is None:
        assert "load" not in left.lower()


@pytest.mark.parametrize(
    ("update", "rest"),
    [
        ("CLEAR GRAPH <urn:g> ; INSERT DATA { <urn:s> <urn:p> ] }", "] }"),
        ("DELETE { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } ] }", "}"),
        ("CLEAR GRAPH <urn:g> ; INSERT DATA { <urn:s> <urn:p> 'LOAD' ] }", "}"),
    ],
)
def test_complaints_are_of_what_was_sent(update: str, rest: str, client: httpx.Client) -> None:
    found = client.post("/update", data={"update": update})
    assert found.status_code == 400
    _, line, mark = found.json()["detail"].split("\n")[:3]
    assert line.strip() == update
    assert line[mark.index("^") :] == rest
