"""`SERVICE rag:search` at the endpoint and on the command line."""

from __future__ import annotations

import httpx
import pytest

from tests.server.conftest import Endpoint
from tests.support.endpoint import READ

PREFIXES = """PREFIX rag: <https://w3id.org/graphrag-rdf/ns#> PREFIX tg: <https://trustgraph.ai/ns/>
PREFIX dcterms: <http://purl.org/dc/terms/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>"""


def asked(server: Endpoint, search: str, then: str = "", shown: str = "*") -> httpx.Response:
    query = f"{PREFIXES} SELECT {shown} WHERE {{ SERVICE rag:search {{ {search} }} {then} }}"
    with server.client(READ) as client:
        return client.get("/sparql", params={"query": query}, headers={"Accept": "text/csv"})


def rows(answer: httpx.Response) -> list[list[str]]:
    assert answer.status_code == 200, answer.text
    return [line.split(",") for line in answer.text.split()[1:]]


def test_hits_join_with_the_graph(server: Endpoint) -> None:
    then = "GRAPH <urn:graph:source> { ?chunk dcterms:isPartOf ?document } ?document rdfs:label ?title"
    search = '?chunk rag:query "electric light" ; rag:kind tg:Chunk ; rag:score ?score'
    assert rows(asked(server, search, then, "?title")) == [["Company"]]


def test_the_kind_the_limit_and_the_order(server: Endpoint) -> None:
    sentences = rows(
        asked(server, '?s rag:query "Walter Pennock" ; rag:kind rag:Sentence ; rag:score ?score')
    )
    assert len(sentences) == 3
    scores = [float(row[1]) for row in sentences]
    assert scores == sorted(scores, reverse=True)
    assert rows(asked(server, '?s rag:query "Walter Pennock" ; rag:kind rag:Sentence ; rag:limit 1')) == [
        sentences[0][:1]
    ]
    entity = rows(asked(server, '?e rag:query "lighthouse" ; rag:kind rag:Entity'))
    assert entity[0][0].endswith("/e/drumlaw-head-lighthouse")


def test_texts_are_texts(server: Endpoint) -> None:
    assert rows(asked(server, '?s rag:query "lighthouse } UNION { ?s ?p ?o"', shown="?s"))
    assert rows(asked(server, "?s rag:query 'no such wörd \\\"'")) == []


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        ("?x rag:kind tg:Chunk", "rag:query is missing"),
        ("?x rag:query ?y", "not a text"),
        ('?x rag:query "a" ; rag:kind rag:Claim', "rag:kind is one of"),
        ('?x rag:query "a" ; rag:other 1', "unknown property: rag:other"),
        ('?x rag:query "a" ; rag:by "meaning"', "needs an embedding model"),
        ('<urn:x> rag:query "a"', "begins with a variable"),
    ],
)
def test_malformed_searches(server: Endpoint, search: str, reason: str) -> None:
    answer = asked(server, search)
    assert answer.status_code == 400
    assert reason in answer.text


def test_other_services_stay_forbidden(server: Endpoint) -> None:
    query = 'SELECT * WHERE { SERVICE <http://127.0.0.1:9/search> { ?x ?y "search" } }'
    with server.client(READ) as client:
        assert client.get("/sparql", params={"query": query}).status_code == 403
