"""SPARQL 1.1 Graph Store HTTP Protocol, section by section."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pyoxigraph as ox
import pytest

from tests.support.endpoint import Endpoint

TURTLE = {"Content-Type": "text/turtle; charset=utf-8"}
G = "/store?graph=" + quote("http://example.org/person/1", safe="")
ONE = '<http://example.org/a> <http://example.org/name> "Grüße 𝄞" .'
TWO = '<http://example.org/b> <http://example.org/name> "two" .'


def triples(response: httpx.Response) -> set[ox.Triple]:
    """What a response holds."""
    assert response.status_code == 200, response.text
    rdf_format = ox.RdfFormat.from_media_type(response.headers["content-type"])
    return {quad.triple for quad in ox.parse(response.content, rdf_format)}


def turtle(text: str) -> set[ox.Triple]:
    """What a text holds."""
    return {quad.triple for quad in ox.parse(text, ox.RdfFormat.TURTLE)}


@pytest.mark.parametrize("address", [G, "/store/person/1.ttl", "/store?default"])
def test_life_of_a_graph(address: str, client: httpx.Client) -> None:
    """§5.2 to §5.6, indirectly, directly and for the default graph."""
    default = address.endswith("default")
    missing = client.get(address)
    assert missing.status_code == (200 if default else 404)
    made = client.put(address, content=ONE, headers=TURTLE)
    assert made.status_code == (204 if default else 201)
    assert triples(client.get(address)) == turtle(ONE)
    head = client.head(address)
    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/turtle")
    assert head.content == b""
    assert "content-length" not in head.headers, "it would be that of the answer to GET, which nobody counted"
    added = client.post(address, content=TWO, headers=TURTLE)
    assert added.status_code == 204
    assert triples(client.get(address)) == turtle(ONE + TWO)
    replaced = client.put(address, content=TWO, headers=TURTLE)
    assert replaced.status_code == 204
    assert triples(client.get(address)) == turtle(TWO)
    assert client.delete(address).status_code == 204
    gone = client.get(address)
    assert gone.status_code == (200 if default else 404)
    assert client.head(address).status_code == gone.status_code
    assert client.delete(address).status_code == (204 if default else 404)


def test_put_makes_an_empty_graph(client: httpx.Client) -> None:
    assert client.put(G, content=b"", headers=TURTLE).status_code == 201
    assert triples(client.get(G)) == set()
    assert client.put(G, content=b"", headers=TURTLE).status_code == 204


def test_post_of_nothing_to_a_graph_changes_nothing(client: httpx.Client) -> None:
    client.put(G, content=ONE, headers=TURTLE)
    assert client.post(G, content=b"", headers=TURTLE).status_code == 204
    assert triples(client.get(G)) == turtle(ONE)


def test_post_to_the_store_makes_a_graph_with_an_address(client: httpx.Client) -> None:
    """§5.5: 201 and Location, where the graph can be got."""
    made = client.post("/store", content="<> <http://example.org/name> 'it' .", headers=TURTLE)
    assert made.status_code == 201
    location = made.headers["location"]
    (triple,) = triples(client.get(location))
    assert triple.subject == ox.NamedNode(location)
    assert triples(client.get("/store", params={"graph": location})) == {triple}


def test_put_says_where_an_indirect_graph_is(client: httpx.Client) -> None:
    location = client.put(G, content=ONE, headers=TURTLE).headers["location"]
    assert triples(client.get(location)) == turtle(ONE)


@pytest.mark.parametrize("path", ["/store/a%20b/%C3%BC", "/store/my/store", "/store/a//store/"])
def test_a_direct_graph_is_called_by_its_address(path: str, endpoint: Endpoint, client: httpx.Client) -> None:
    assert client.put(path, content=ONE, headers=TURTLE).status_code == 201
    graph = f"{endpoint.url}{path}"
    assert triples(client.get("/store", params={"graph": graph})) == turtle(ONE)
    found = client.get("/query", params={"query": f"ASK {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"})
    assert found.json()["boolean"] is True
    assert client.delete(path).status_code == 204


def test_a_graph_whose_address_would_be_another_is_located_by_its_name(
    endpoint: Endpoint, client: httpx.Client
) -> None:
    graph = {"graph": f"{endpoint.url}/store/a?graph=urn:b"}
    made = client.put("/store", params=graph, content=ONE, headers=TURTLE)
    assert triples(client.get(made.headers["location"])) == turtle(ONE)


def test_multipart_files_are_merged(client: httpx.Client) -> None:
    """§5.5: each file in the format that it says."""
    files = {
        "one": ("one.ttl", ONE, "text/turtle"),
        "two": ("two.nt", TWO, "application/n-triples"),
        "three": (
            "three.rdf",
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://example.org/'>"
            "<rdf:Description rdf:about='http://example.org/c'><e:name>three</e:name></rdf:Description></rdf:RDF>",
            "application/rdf+xml",
        ),
    }
    assert client.post(G, files=files).status_code == 201
    three = '<http://example.org/c> <http://example.org/name> "three" .'
    assert triples(client.get(G)) == turtle(ONE + TWO + three)
    bad = client.post(G, files={"one": ("one.pdf", b"%PDF", "application/pdf")})
    assert bad.status_code == 415
    assert (
        client.post(G, content=b"nonsense", headers={"Content-Type": "multipart/form-data"}).status_code
        == 400
    )


@pytest.mark.parametrize("kind", ["application/octet-stream", None])
@pytest.mark.parametrize("name", ["one.nt", "ONE.TTL", "one.trig", "one.rdf"])
def test_the_name_of_a_file_tells_what_its_type_does_not(
    name: str, kind: str | None, client: httpx.Client
) -> None:
    """curl -F and browsers send RDF as a heap of bytes."""
    body = ONE if name != "one.rdf" else ox.serialize(turtle(ONE), format=ox.RdfFormat.RDF_XML).decode()
    parts = f'--b\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n'
    parts += f"Content-Type: {kind}\r\n" if kind else ""
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    assert client.post(G, content=f"{parts}\r\n{body}\r\n--b--\r\n", headers=form).status_code == 201
    assert triples(client.get(G)) == turtle(ONE)
    strange = {"f": ("one.pdf", b"%PDF", "application/octet-stream")}
    assert client.post(G, files=strange).status_code == 415


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/turtle", ONE),
        ("application/n-triples", ONE),
        ("application/n-quads", ONE),
        ("application/trig", ONE),
        ("application/ld+json", '{"@id": "http://example.org/a", "http://example.org/name": "Grüße 𝄞"}'),
    ],
)
def test_every_format_is_read_and_written(media_type: str, body: str, client: httpx.Client) -> None:
    assert client.put(G, content=body.encode(), headers={"Content-Type": media_type}).status_code == 201
    found = client.get(G, headers={"Accept": media_type})
    assert found.headers["content-type"].startswith(media_type)
    assert triples(found) == turtle(ONE)


def test_triple_terms_come_back(client: httpx.Client) -> None:
    body = "<urn:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <urn:s> <urn:p> <urn:o> )>> ."
    client.put(G, content=body, headers=TURTLE).raise_for_status()
    assert triples(client.get(G, params={"dialect": "rdf12"})) == turtle(body)
    old = triples(client.get(G))
    node = {str(triple.object) for triple in old if str(triple.subject) == "<urn:r>"}
    assert {str(triple.object) for triple in old} == {"<urn:s>", "<urn:p>", "<urn:o>", *node}
    assert client.get(G, params={"dialect": "rdf-star", "format": "jsonld"}).status_code == 406


@pytest.mark.parametrize(
    ("method", "url", "content_type", "body", "status"),
    [
        ("PUT", G, "text/turtle", "not turtle", 400),
        ("PUT", G, "text/html", "<p>", 415),
        ("PUT", G, "text/turtle; charset=utf-16", ONE, 415),
        ("PUT", "/store", "text/turtle", ONE, 400),
        ("PUT", "/store?graph=relative", "text/turtle", ONE, 400),
        ("PUT", "/store?graph=urn:a&default", "text/turtle", ONE, 400),
        ("PUT", "/store?graph=urn:a&graph=urn:b", "text/turtle", ONE, 400),
        ("PUT", "/store/direct?graph=urn:a", "text/turtle", ONE, 400),
        ("PUT", G, "application/trig", "GRAPH <urn:g> { <urn:s> <urn:p> 1 }", 400),
        ("DELETE", "/store", "text/turtle", "", 400),
        ("POST", "/store", "application/xhtml+xml", "", 415),
        ("PATCH", G, "application/sparql-update", "CLEAR ALL", 405),
    ],
)
def test_refusals(
    method: str, url: str, content_type: str, body: str, status: int, client: httpx.Client
) -> None:
    found = client.request(method, url, content=body.encode(), headers={"Content-Type": content_type})
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    if status == 405:
        assert set(found.headers["allow"].split(", ")) == {"GET", "HEAD", "PUT", "POST", "DELETE"}
    assert client.get(G).status_code == 404


def test_a_missing_prefix_comes_with_its_declaration(client: httpx.Client) -> None:
    found = client.put(G, content="<urn:s> a prov:Activity .", headers={"Content-Type": "text/turtle"})
    assert "@prefix prov: <http://www.w3.org/ns/prov#> ." in found.json()["hint"]


def test_what_is_not_accepted(client: httpx.Client) -> None:
    client.put(G, content=ONE, headers=TURTLE)
    assert client.get(G, headers={"Accept": "text/csv"}).status_code == 406
    whole = client.get("/store?format=turtle")
    assert whole.status_code == 406
    assert "trig" in whole.json()["hint"]


def test_blank_nodes_of_two_uploads_stay_apart(client: httpx.Client) -> None:
    for _ in range(2):
        client.post(G, content="_:a <urn:p> _:b . _:b <urn:p> 1 .", headers=TURTLE).raise_for_status()
    assert len(triples(client.get(G))) == 4


def test_the_dataset(client: httpx.Client) -> None:
    """Beyond the protocol: all graphs at once, but for the store's own bookkeeping."""
    body = "<urn:s> <urn:p> 1 . <urn:g> { <urn:s> <urn:p> 2 }"
    sent = client.post("/store", content=body, headers={"Content-Type": "application/trig"})
    assert sent.status_code == 204
    found = client.get("/store", headers={"Accept": "application/n-quads"})
    quads = set(ox.parse(found.content, ox.RdfFormat.N_QUADS))
    assert quads == set(ox.parse(body, ox.RdfFormat.TRIG))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (
            "application/n-quads",
            "_:g <urn:p> _:g _:g .\n<urn:s> <urn:p> <<( _:g <urn:q> 'x'@en--rtl )>> _:h .",
        ),
        ("application/trig", "_:g { _:g <urn:p> 1 } [] { <urn:s> <urn:p> 2 } <urn:s> <urn:in> _:g ."),
    ],
)
def test_blank_nodes_may_name_graphs(kind: str, body: str, client: httpx.Client) -> None:
    """RDF 1.2 Concepts §7: the name of a graph is an IRI or a blank node."""
    body = body.replace("'x'", '"x"')
    assert client.post("/store", content=body, headers={"Content-Type": kind}).status_code == 204
    found = client.get("/store", headers={"Accept": "application/n-quads;version=1.2"})
    sent = ox.Dataset(ox.parse(body, ox.RdfFormat.from_media_type(kind)))
    got = ox.Dataset(ox.parse(found.content, ox.RdfFormat.N_QUADS))
    for dataset in (sent, got):
        dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert got == sent
    graphs = client.get("/query", params={"query": "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }"}).json()
    assert [row["g"]["type"] for row in graphs["results"]["bindings"]] == ["bnode"] * 2


def test_conditional_get(client: httpx.Client) -> None:
    """RFC 9110 §13.1.2: nothing is sent again that the client has."""
    client.put(G, content=ONE, headers=TURTLE)
    tag = client.get(G).headers["etag"]
    again = client.get(G, headers={"If-None-Match": tag})
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == tag
    assert client.get(G, headers={"If-None-Match": tag, "Accept": "application/n-triples"}).status_code == 200
    client.put(G, content=TWO, headers=TURTLE)
    assert client.get(G, headers={"If-None-Match": tag}).status_code == 200
