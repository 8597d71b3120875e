"""RDF 1.1 for clients that do not ask for 1.2, wherever the server gives RDF; and what they write back."""

from __future__ import annotations

from pathlib import Path

import httpx
import pyoxigraph as ox
import pytest
import rdflib

from tests.support.endpoint import Endpoint

SRJ = "application/sparql-results+json"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
GRAPH = {"graph": "urn:g"}
DATA = f"""<urn:r> <{RDF}reifies> <<( <urn:s> <urn:p> 'x' )>>, <<( <urn:s> <urn:p> 'y' )>> ; <urn:says> 1 .
<urn:deep> <urn:p> <<( <urn:s> <urn:p> <<( _:b <urn:p> 2 )>> )>> . _:b <urn:p> 'text'@ar--rtl .
<urn:old> <{RDF}subject> <urn:s> ; <{RDF}predicate> <urn:p> ; <{RDF}object> 'x' ."""
"""Reifiers of two statements, nested terms, a direction, and a reification of RDF 1.1."""
SELECT = "SELECT ?o { GRAPH <urn:g> { <urn:r> ?p ?o } FILTER(isTRIPLE(?o)) }"
CONSTRUCT = f"CONSTRUCT {{ <urn:r> ?p ?o }} WHERE {SELECT.partition('?o ')[2]}"


@pytest.fixture
def data(client: httpx.Client) -> httpx.Client:
    """A graph that RDF 1.1 cannot hold as it is."""
    headers = {"Content-Type": "text/turtle;version=1.2"}
    client.put("/store", params=GRAPH, content=DATA, headers=headers).raise_for_status()
    return client


def is_rdf12(response: httpx.Response) -> bool:
    """Whether an answer has triple terms; its media type must say so."""
    assert response.is_success, response.text
    signs = ("<<(", '"triple"', "<triple>", 'parseType="Triple"')
    has = any(sign in response.text for sign in signs)
    assert has == response.headers["content-type"].endswith("version=1.2")
    assert has != ("urn:statement:" in response.text)
    assert "Accept" in response.headers["vary"]
    return has


ROWS = (SRJ, "application/sparql-results+xml", "text/csv", "text/tab-separated-values")
ONE_GRAPH = ("text/turtle", "application/n-triples", "application/rdf+xml")
GRAPHS = (*ONE_GRAPH, "application/n-quads", "application/trig")
CASES = [*((SELECT, form) for form in ROWS), *((CONSTRUCT, form) for form in GRAPHS)]


@pytest.mark.parametrize(("query", "form"), CASES)
def test_every_way_of_asking(query: str, form: str, data: httpx.Client) -> None:
    def asked(accept: str = form, prologue: str = "", **more: str) -> bool:
        parameters = {"query": prologue + query, **more}
        return is_rdf12(data.get("/sparql", params=parameters, headers={"Accept": accept}))

    assert not asked()
    assert not asked(f"{form};version=1.1")
    assert not asked(f"{form};version=1.2-basic")
    assert not asked(prologue="VERSION '1.1' ")
    assert not asked(f"{form};version=1.2", dialect="classic")
    assert asked(f"{form};version=1.2")
    assert asked(f'{form}; version="1.2";q=0.5, image/png')
    assert asked(f"{form}, {form};version=1.2")
    assert asked(prologue='PREFIX : <urn:version> # of\nVERSION "1.2" BASE <urn:x> ')
    assert asked(version="1.2")
    assert asked(dialect="rdf12")
    assert asked(f"{form};version=1.1", dialect="rdf12")


def test_the_setting(tmp_path: Path) -> None:
    options = ("--anonymous", "write")
    with (
        Endpoint.start(tmp_path / "store", *options, GRAPHRAG_RDF_SERVER__RDF_VERSION="1.2") as server,
        server.client() as other,
    ):
        other.put("/store", params=GRAPH, content=DATA, headers={"Content-Type": "text/turtle"})
        assert is_rdf12(other.get("/sparql", params={"query": SELECT}))
        assert is_rdf12(other.get("/store", params=GRAPH))
        assert not is_rdf12(other.get("/store", params=GRAPH | {"dialect": "classic"}))
        assert not is_rdf12(other.get("/store", params=GRAPH, headers={"Accept": "text/turtle;version=1.1"}))
        assert not is_rdf12(other.get("/sparql", params={"query": "VERSION '1.1' " + CONSTRUCT}))


@pytest.mark.parametrize("path", ["/store?graph=urn:g", "/resource?iri=urn:r", "/store"])
def test_graphs_and_things(path: str, data: httpx.Client) -> None:
    accept = "application/trig" if path == "/store" else "text/turtle"
    assert not is_rdf12(data.get(path, headers={"Accept": accept}))
    assert is_rdf12(data.get(path, headers={"Accept": f"{accept};version=1.2"}))
    between = "&" if "?" in path else "?"
    assert is_rdf12(data.get(f"{path}{between}dialect=rdf12", headers={"Accept": accept}))
    tags = {
        data.get(path, headers={"Accept": f"{accept};version={v}"}).headers.get("etag")
        for v in ("1.1", "1.2")
    }
    assert len(tags) == 2 or path.startswith("/resource")


def test_json_ld_is_rdf11_and_does_not_say_that_it_is_1_2(data: httpx.Client) -> None:
    found = data.get("/store", params=GRAPH, headers={"Accept": "application/ld+json;version=1.2"})
    assert found.headers["content-type"] == "application/ld+json"
    assert "urn:statement:" in found.text


def graph(client: httpx.Client) -> ox.Dataset:
    """The graph as it is stored."""
    found = client.get("/store", params=GRAPH, headers={"Accept": "application/n-triples;version=1.2"})
    return canonical(found.content)


def canonical(data: bytes | str) -> ox.Dataset:
    """A graph to compare."""
    found = ox.Dataset(ox.parse(data, ox.RdfFormat.TURTLE))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


@pytest.mark.parametrize("form", [*GRAPHS, "application/ld+json"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_graph_that_is_read_and_written_back_is_the_same(
    form: str, whole: bool, data: httpx.Client
) -> None:
    before = graph(data)
    assert before == canonical(DATA)
    read = data.get("/store", params=GRAPH, headers={"Accept": form})
    if form in ONE_GRAPH:
        assert len(rdflib.Graph().parse(data=read.content, format=form)) > len(before)
    body = {"content": read.content, "headers": {"Content-Type": read.headers["content-type"]}}
    if whole:
        data.delete("/store", params=GRAPH).raise_for_status()
    written = (data.post if whole else data.put)("/store", params=GRAPH, **body)
    assert written.is_success, written.text
    assert graph(data) == before


@pytest.mark.parametrize("form", ["application/trig", "application/n-quads"])
def test_all_graphs_written_back_are_the_same(form: str, data: httpx.Client) -> None:
    before = graph(data)
    read = data.get("/store", headers={"Accept": form})
    data.delete("/store", params=GRAPH).raise_for_status()
    data.post("/store", content=read.content, headers={"Content-Type": form}).raise_for_status()
    assert graph(data) == before


def test_what_cannot_be_the_same_is_refused(data: httpx.Client) -> None:
    before = graph(data)
    lines = data.get("/store", params=GRAPH, headers={"Accept": "application/n-triples"}).text.splitlines()
    for number, line in enumerate(lines):
        if "urn:statement:" in line:
            part = "\n".join(lines[:number] + lines[number + 1 :])
            found = data.put("/store", params=GRAPH, content=part, headers={"Content-Type": "text/turtle"})
            assert found.status_code == 400, line
            assert "stands for a triple term" in found.json()["detail"]
    update = f"INSERT DATA {{ GRAPH <urn:g> {{ {' '.join(lines)} }} }}"
    for text in (update, "PREFIX s: <urn:statement:> INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> s:1 } }"):
        refused = data.post("/update", data={"update": text})
        assert refused.status_code == 400
        assert "/store" in refused.json()["hint"]
    in_a_text = "INSERT DATA { <urn:s> <urn:p> 'of <urn:statement:1> and others' }"
    assert data.post("/update", data={"update": in_a_text}).status_code == 204
    assert graph(data) == before
