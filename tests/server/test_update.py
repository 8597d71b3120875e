"""SPARQL 1.1 Protocol §2.2, update operation."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.server.execution.sparql_text import outside_bookkeeping, with_dataset
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.writer import WriteQueue

G = "http://example.org/"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
DIRECT = {"Content-Type": "application/sparql-update"}


def values(client: httpx.Client, graph: str) -> set[str]:
    """The objects in a graph."""
    found = client.get("/query", params={"query": f"SELECT ?o {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"})
    return {row["o"]["value"] for row in found.json()["results"]["bindings"]}


@pytest.mark.parametrize("path", ["/sparql", "/update"])
def test_both_forms_write_and_say_which_commit(path: str, client: httpx.Client) -> None:
    first = client.post(path, data={"update": "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 'ü+&' } }"})
    assert first.status_code == 204
    second = client.post(path, content="INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 2 } }", headers=DIRECT)
    assert second.status_code == 204
    assert int(second.headers["graphrag-commit"]) > int(first.headers["graphrag-commit"])
    assert values(client, "urn:g") == {"ü+&", "2"}


def test_updates_are_not_got(client: httpx.Client) -> None:
    assert client.get("/sparql", params={"update": "CLEAR ALL"}).status_code == 400
    found = client.get("/update", params={"update": "CLEAR ALL"})
    assert found.status_code == 405
    assert found.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("update=CLEAR%20ALL&update=CLEAR%20ALL", FORM, 400),
        ("update=CLEAR%20ALL", {"Content-Type": "text/plain"}, 415),
        ("CLEAR ALL", {}, 415),
        ("CLEAR NOTHING", DIRECT, 400),
        ("INSERT DATA { <urn:s> <urn:p> ?x }", DIRECT, 400),
        ("update=%FF%FF", FORM, 400),
        ("CLEAR ALL", {"Content-Type": "application/sparql-update; charset=utf-16"}, 415),
    ],
)
def test_malformed_requests(body: str, headers: dict[str, str], status: int, client: httpx.Client) -> None:
    client.post("/update", data={"update": "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } }"})
    assert client.post("/sparql", content=body, headers=headers).status_code == status
    assert values(client, "urn:g") == {"1"}


def test_an_update_of_several_operations_is_done_wholly_or_not_at_all(client: httpx.Client) -> None:
    update = "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } } ; CREATE GRAPH <urn:g>"
    assert client.post("/update", data={"update": update}).status_code == 409
    assert values(client, "urn:g") == set()


def test_relative_iris_are_resolved_against_the_request(client: httpx.Client) -> None:
    update = "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <test> } }"
    client.post("/update", data={"update": update}).raise_for_status()
    (value,) = values(client, "urn:g")
    assert value.startswith("http://")
    assert value.endswith("/test")


# --- §2.2.3: the dataset ------------------------------------------------------------------------------

COPY = f"INSERT {{ GRAPH <{G}result> {{ ?s ?p ?o }} }} WHERE {{ ?s ?p ?o }}"
COPY_NAMED = f"INSERT {{ GRAPH <{G}result> {{ ?s ?p ?o }} }} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}"
TRIPLES = " ".join(f"GRAPH <{G}{n}> {{ <urn:s> <urn:in> {n} }}" for n in (1, 2, 3))


def using(default: tuple[int, ...] = (), named: tuple[int, ...] = ()) -> list[tuple[str, str]]:
    """The parameters of a dataset."""
    return [("using-graph-uri", f"{G}{n}") for n in default] + [
        ("using-named-graph-uri", f"{G}{n}") for n in named
    ]


@pytest.mark.parametrize(
    ("update", "parameters", "expected"),
    [
        (COPY, using(default=(1,)), {"1"}),
        (COPY, using(default=(1, 2)), {"1", "2"}),
        (COPY_NAMED, using(default=(3,)), set()),
        (COPY_NAMED, using(named=(1, 2)), {"1", "2"}),
        (COPY, using(named=(1, 2)), set()),
        (COPY_NAMED, using(default=(3,), named=(2,)), {"2"}),
        (COPY, using(default=(3,), named=(2,)), {"3"}),
        (f"{COPY} ; {COPY_NAMED}", using(default=(3,), named=(2,)), {"2", "3"}),
    ],
)
def test_dataset(
    update: str, parameters: list[tuple[str, str]], expected: set[str], client: httpx.Client
) -> None:
    for send in ("form", "direct"):
        client.post("/update", data={"update": f"DROP ALL ; INSERT DATA {{ {TRIPLES} }}"}).raise_for_status()
        if send == "form":
            body, url, headers = urlencode([("update", update), *parameters]), "/sparql", FORM
        else:
            body, url, headers = update, f"/sparql?{urlencode(parameters)}", DIRECT
        assert client.post(url, content=body, headers=headers).status_code == 204
        assert values(client, f"{G}result") == expected


@pytest.mark.parametrize(
    "update",
    [
        f"INSERT {{ ?s ?p ?o }} USING <{G}1> WHERE {{ ?s ?p ?o }}",
        f"INSERT {{ ?s ?p ?o }} USING NAMED <{G}1> WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}",
        f"WITH <{G}1> DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}",
    ],
)
def test_two_datasets_are_refused(update: str, client: httpx.Client) -> None:
    found = client.post("/update", data={"update": update, "using-graph-uri": f"{G}2"})
    assert found.status_code == 400


def test_delete_where_takes_the_dataset_too(client: httpx.Client) -> None:
    """Its pattern is deleted from the default graph, and matched in the dataset."""
    client.post("/update", data={"update": f"INSERT DATA {{ <urn:s> <urn:in> 1 {TRIPLES} }}"})
    found = client.post(
        "/update", data={"update": "DELETE WHERE { ?s <urn:in> ?o }", "using-graph-uri": f"{G}1"}
    )
    assert found.status_code == 204
    assert client.get("/query", params={"query": "ASK { ?s ?p ?o }"}).json()["boolean"] is False
    assert values(client, f"{G}1") == {"1"}


def test_clauses_go_where_code_is() -> None:
    """Strings, IRIs and comments that say WHERE are left alone."""
    update = "INSERT { <urn:WHERE> ?p 'WHERE { }' } # WHERE\n WHERE { ?s ?p ?o }"
    expected = "INSERT { <urn:WHERE> ?p 'WHERE { }' } # WHERE\n USING <urn:g> WHERE { ?s ?p ?o }"
    assert with_dataset(update, ["urn:g"], []) == expected
    assert with_dataset(update, [], []) == update
    with pytest.raises(Problem):
        with_dataset("with <urn:g> delete { ?s ?p ?o } where { ?s ?p ?o }", [], ["urn:g"])


# --- the store's own bookkeeping ----------------------------------------------------------------------

_SYSTEM = "<urn:graph:system>"
_RESULT = f"GRAPH <{G}result> {{ <urn:s> <urn:p> ?g }}"


@pytest.mark.parametrize(
    "pattern",
    [
        "GRAPH ?g { ?s ?p ?o }",
        "?a ?b ?c OPTIONAL { GRAPH ?g { ?s ?p ?o } }",
        "{ GRAPH ?g { ?s ?p ?o } } UNION { ?s ?p ?g }",
        "{ SELECT ?g { GRAPH ?g { ?s ?p ?o } } }",
        "GRAPH ?g { ?s ?p '}' } GRAPH ?g { ?s ?p ?o } . ?a ?b ?c",
        "VALUES ?g { <urn:graph:system> <http://example.org/1> } FILTER EXISTS { GRAPH ?g { ?s ?p ?o } }",
        "GRAPH ?g { ?s ?p ?o } # } GRAPH ?g {",
    ],
)
@pytest.mark.parametrize("begin", ["INSERT", "CREATE GRAPH <urn:new> ; WITH <urn:x> insert"])
def test_a_variable_graph_is_not_the_bookkeeping(pattern: str, begin: str, client: httpx.Client) -> None:
    """As in queries, wherever GRAPH stands; other graphs are matched as ever."""
    data = f"GRAPH <{G}1> {{ <urn:s> <urn:p> '}}' }} GRAPH <urn:x> {{ <urn:a> <urn:b> 1 }} <urn:a> <urn:b> 1"
    client.post("/update", data={"update": f"INSERT DATA {{ {data} }}"}).raise_for_status()
    update = f"{begin} {{ {_RESULT} }} WHERE {{ {pattern}\n}}"
    found = client.post("/update", data={"update": update})
    assert found.status_code == 204, found.text
    result = values(client, f"{G}result")
    assert "urn:graph:system" not in result
    assert f"{G}1" in result


def test_deleting_everywhere_spares_the_bookkeeping(client: httpx.Client) -> None:
    def kept() -> set[str]:
        found = client.get("/query", params={"query": f"SELECT ?p {{ GRAPH {_SYSTEM} {{ ?s ?p ?o }} }}"})
        return {row["p"]["value"] for row in found.json()["results"]["bindings"]}

    before = kept()
    for update in (
        "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
        "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }",
    ):
        client.post("/update", data={"update": f"INSERT DATA {{ {TRIPLES} }}"}).raise_for_status()
        client.post("/update", data={"update": update}).raise_for_status()
        left = client.get("/query", params={"query": "ASK { GRAPH ?g { ?s ?p ?o } }"})
        assert left.json()["boolean"] is False
    assert kept() == before
    assert before


def test_who_names_the_bookkeeping_sees_it(client: httpx.Client) -> None:
    update = f"INSERT {{ {_RESULT} }} WHERE {{ GRAPH {_SYSTEM} {{ ?s ?g ?o }} }}"
    client.post("/update", data={"update": update}).raise_for_status()
    assert values(client, f"{G}result")
    everywhere = "WHERE { GRAPH ?g { ?s ?p ?o } }"
    named = f"DROP GRAPH <{G}result> ; INSERT {{ {_RESULT} }} USING NAMED {_SYSTEM} {everywhere}"
    client.post("/update", data={"update": named}).raise_for_status()
    assert values(client, f"{G}result") == {"urn:graph:system"}


def test_the_filter_goes_where_code_is() -> None:
    untouched = (
        "INSERT { GRAPH ?g { ?s ?p 1 } } WHERE { ?s ?p ?g }",
        "INSERT DATA { <urn:s> <urn:p> 'WHERE { GRAPH ?g { } }' } # WHERE { GRAPH ?g { } }",
        "CLEAR ALL",
        "INSERT { ?s ?p ?o } WHERE { GRAPH <urn:g> { ?s ?p ?o } }",
        "INSERT { ?s ?p ?o } USING NAMED <urn:g> WHERE { GRAPH ?g { ?s ?p ?o } }",
    )
    for update in untouched:
        assert outside_bookkeeping(update) == update
    assert outside_bookkeeping("DELETE WHERE { GRAPH ?g { ?s ?p ?o } }") == (
        "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } FILTER(?g != <urn:graph:system>) }"
    )


@given(st.text(alphabet="{}?g;<>'\"GRAPHWEDLT \n", max_size=60))
def test_any_text_survives(text: str) -> None:
    """What is put in can be taken out again, and nothing breaks on what is no SPARQL."""
    out = outside_bookkeeping(f"DELETE {{ }} WHERE {{ {text}")
    assert len(out) >= len(text)


def test_a_store_survives_drop_all(client: httpx.Client) -> None:
    """Its own bookkeeping is put back."""
    before = int(client.post("/update", data={"update": "DROP ALL"}).headers["graphrag-commit"])
    after = int(client.post("/update", data={"update": "DROP ALL"}).headers["graphrag-commit"])
    assert after > before
    query = "ASK { GRAPH <urn:graph:system> { ?s ?p ?o } }"
    assert client.get("/query", params={"query": query}).json()["boolean"] is True


def test_who_says_that_the_content_is_unchanged_is_believed(client: httpx.Client) -> None:
    """Our own client says it of traces, so that no index looks for what is not new."""
    numbers = """PREFIX rag: <https://w3id.org/graphrag-rdf/ns#>
      SELECT ?p ?n { GRAPH <urn:graph:system> { <urn:graphrag-rdf:store> ?p ?n
        FILTER(?p IN (rag:commit, rag:contentCommit)) } }"""

    def read() -> dict[str, int]:
        rows = client.get("/query", params={"query": numbers}).json()["results"]["bindings"]
        assert len(rows) == len({row["p"]["value"] for row in rows})
        return {row["p"]["value"].partition("#")[2]: int(row["n"]["value"]) for row in rows}

    write = "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } }"
    first = int(client.post("/update", content=write, headers=DIRECT).headers["graphrag-commit"])
    assert read() == {"commit": first, "contentCommit": first}
    client.post("/update", content=write, headers={**DIRECT, "GraphRAG-Content": "unchanged"})
    assert read() == {"commit": first + 1, "contentCommit": first}


def test_the_queue_of_writes_outlives_what_goes_wrong_before_one() -> None:
    """Whatever that is: it once ended the thread of writes, and each after it waited for ever."""

    def before() -> None:
        raise ValueError("a number that is none")

    async def scenario() -> list[int]:
        queue = WriteQueue(before)
        found = [await asyncio.wait_for(queue.run(lambda: 1), 10) for _ in range(2)]
        await queue.stop()
        return found

    assert asyncio.run(scenario()) == [1, 1]
