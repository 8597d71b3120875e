"""SPARQL 1.1 Service Description: RDF, with an endpoint, and true."""

from __future__ import annotations

import httpx
import pyoxigraph as ox
import pytest

from tests.support.endpoint import Endpoint

SD = "http://www.w3.org/ns/sparql-service-description#"


def described(response: httpx.Response) -> ox.Store:
    """The description as a store."""
    assert response.status_code == 200
    rdf_format = ox.RdfFormat.from_media_type(response.headers["content-type"])
    store = ox.Store()
    store.load(response.content, rdf_format)
    return store


def ask(store: ox.Store, pattern: str) -> bool:
    """Whether the description says so."""
    return bool(store.query(f"PREFIX sd: <{SD}> ASK {{ {pattern} }}"))


@pytest.mark.parametrize("path", ["/sparql", "/query"])
@pytest.mark.parametrize("accept", ["*/*", "text/turtle", "application/rdf+xml", "application/ld+json"])
def test_it_is_rdf_with_this_endpoint(
    path: str, accept: str, endpoint: Endpoint, client: httpx.Client
) -> None:
    found = described(client.get(path, params={"context": "inline"}, headers={"Accept": accept}))
    assert ask(found, f"?service a sd:Service ; sd:endpoint <{endpoint.url}{path}>")


def test_it_conforms_to_the_schema_s_ranges(client: httpx.Client) -> None:
    client.put("/store?graph=urn:g", content="", headers={"Content-Type": "text/turtle"})
    found = described(client.get("/sparql"))
    for property_ in ("supportedLanguage", "resultFormat", "inputFormat", "feature"):
        assert ask(found, f"?s a sd:Service ; sd:{property_} ?o FILTER(isIRI(?o))")
        assert not ask(found, f"?s sd:{property_} ?o FILTER(!isIRI(?o))")
    assert ask(found, "?s sd:defaultDataset ?d . ?d a sd:Dataset ; sd:defaultGraph ?g . ?g a sd:Graph")
    assert ask(found, "?d sd:namedGraph ?n . ?n a sd:NamedGraph ; sd:name <urn:g> ; sd:graph ?g")
    assert not ask(found, "?n sd:name <urn:graph:system>")


def test_it_tells_what_is_so(client: httpx.Client) -> None:
    found = described(client.get("/sparql"))
    assert ask(found, "?s sd:supportedLanguage sd:SPARQL11Query , sd:SPARQL12Query , sd:SPARQL11Update")
    assert not ask(found, "?s sd:feature sd:UnionDefaultGraph")
    assert not ask(found, "?s sd:feature sd:BasicFederatedQuery")


def test_every_format_that_it_names_is_written(client: httpx.Client) -> None:
    names = {"Turtle", "N-Triples", "RDF_XML", "N-Quads", "TriG", "JSON-LD"}
    names |= {f"SPARQL_Results_{kind}" for kind in ("JSON", "XML", "CSV", "TSV")}
    found = described(client.get("/sparql"))
    rows = found.query(f"SELECT ?f {{ ?s <{SD}resultFormat> ?f }}")
    assert {row["f"].value for row in rows} == {f"http://www.w3.org/ns/formats/{name}" for name in names}


def test_it_is_not_acceptable_as_csv(client: httpx.Client) -> None:
    assert client.get("/sparql", headers={"Accept": "text/csv"}).status_code == 406


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/sparql", "/sparql/", "/query"])
@pytest.mark.parametrize("accept", ["text/html", BROWSER])
def test_a_browser_is_led_to_the_page_for_queries(path: str, accept: str, client: httpx.Client) -> None:
    found = client.get(path, headers={"Accept": accept})
    assert found.status_code == 303
    assert found.headers["vary"] == "Accept"
    page = client.get(found.headers["location"], headers={"Accept": accept})
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "accept", ["text/turtle, text/html;q=0.9", "application/rdf+xml, text/html;q=0.5", "*/*"]
)
def test_who_prefers_rdf_to_pages_gets_rdf(accept: str, client: httpx.Client) -> None:
    described(client.get("/sparql", headers={"Accept": accept}))
