"""SPARQL 1.1 Protocol §2.1, query operation: every form, parameter, format and refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote, urlencode
from xml.etree import ElementTree

import httpx
import pyoxigraph as ox
import pytest
import rdflib

from tests.support.endpoint import Endpoint

SRJ = "application/sparql-results+json"
G = "http://example.org/"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
DIRECT = {"Content-Type": "application/sparql-query"}

Ask = Callable[[httpx.Client, str], httpx.Response]


@pytest.fixture
def graphs(client: httpx.Client) -> httpx.Client:
    """Three named graphs and a default one, each with one triple that tells them apart."""
    client.post(
        "/update",
        data={
            "update": "INSERT DATA { <urn:s> <urn:in> 0 "
            + " ".join(f"GRAPH <{G}{n}> {{ <urn:s> <urn:in> {n} }}" for n in (1, 2, 3))
            + "}"
        },
    ).raise_for_status()
    return client


def numbers(response: httpx.Response) -> set[int]:
    """The values of ?o."""
    assert response.status_code == 200, response.text
    return {int(row["o"]["value"]) for row in response.json()["results"]["bindings"]}


# --- §2.1: the forms ----------------------------------------------------------------------------------

FORMS: dict[str, Ask] = {
    "get": lambda client, query: client.get("/sparql", params={"query": query}),
    "form": lambda client, query: client.post("/sparql", data={"query": query}),
    "direct": lambda client, query: client.post("/sparql", content=query, headers=DIRECT),
    "query-direct": lambda client, query: client.request("QUERY", "/sparql", content=query, headers=DIRECT),
    "query-form": lambda client, query: client.request(
        "QUERY", "/sparql", content=urlencode({"query": query}), headers=FORM
    ),
    "slash": lambda client, query: client.get("/sparql/", params={"query": query}),
    "query-path": lambda client, query: client.get("/query", params={"query": query}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_answers(form: str, client: httpx.Client) -> None:
    found = FORMS[form](client, "ASK {}")
    assert found.status_code == 200
    assert found.json()["boolean"] is True


def test_a_text_of_all_planes_survives_every_form(client: httpx.Client) -> None:
    text = "Grüße + 100% & 你好 𝄞 = ; \u2028"
    for ask in FORMS.values():
        found = ask(client, f"SELECT ('{text}' AS ?o) {{}}")
        assert found.json()["results"]["bindings"][0]["o"]["value"] == text


def test_head_has_the_headers_of_get(client: httpx.Client) -> None:
    got, head = (client.request(m, "/sparql", params={"query": "ASK {}"}) for m in ("GET", "HEAD"))
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-type", "content-length", "etag"):
        assert head.headers[name] == got.headers[name]


# --- §2.1.4: the dataset ------------------------------------------------------------------------------


def dataset(default: tuple[int, ...] = (), named: tuple[int, ...] = ()) -> list[tuple[str, str]]:
    """The parameters of a dataset."""
    return [("default-graph-uri", f"{G}{n}") for n in default] + [
        ("named-graph-uri", f"{G}{n}") for n in named
    ]


IN_DEFAULT = "SELECT ?o { ?s ?p ?o }"
IN_NAMED = "SELECT ?o { GRAPH ?g { ?s ?p ?o } }"
CASES = [
    (IN_DEFAULT, dataset(), {0}),
    (IN_NAMED, dataset(), {1, 2, 3}),
    (IN_DEFAULT, dataset(default=(1,)), {1}),
    (IN_DEFAULT, dataset(default=(1, 2)), {1, 2}),
    (IN_NAMED, dataset(default=(1, 2)), set()),
    (IN_DEFAULT, dataset(named=(1, 2)), set()),
    (IN_NAMED, dataset(named=(1, 2)), {1, 2}),
    (IN_DEFAULT, dataset(default=(3,), named=(1, 2)), {3}),
    (IN_NAMED, dataset(default=(3,), named=(1, 2)), {1, 2}),
    (f"SELECT ?o FROM <{G}2> {{ ?s ?p ?o }}", dataset(), {2}),
    (f"SELECT ?o FROM <{G}2> {{ ?s ?p ?o }}", dataset(default=(1,)), {1}),
    (f"SELECT ?o FROM <{G}2> {{ GRAPH ?g {{ ?s ?p ?o }} }}", dataset(), set()),
    (f"SELECT ?o FROM NAMED <{G}2> {{ GRAPH ?g {{ ?s ?p ?o }} }}", dataset(), {2}),
    (f"SELECT ?o FROM NAMED <{G}2> {{ ?s ?p ?o }}", dataset(), set()),
    (f"SELECT ?o FROM <{G}3> FROM NAMED <{G}1> {{ ?s ?q ?x GRAPH ?g {{ ?s ?p ?o }} }}", dataset(), {1}),
    (f"SELECT ?o FROM NAMED <{G}2> {{ GRAPH ?g {{ ?s ?p ?o }} }}", dataset(named=(1,)), {1}),
    ("SELECT ?o { GRAPH ?g { ?s ?p ?o FILTER(?o != 'FROM <urn:x>') } } # FROM <urn:x>", dataset(), {1, 2, 3}),
    (IN_DEFAULT, [("default-graph-uri", f"{G}nowhere")], set()),
    (IN_DEFAULT, [("union-default-graph", "")], {0, 1, 2, 3}),
    (IN_DEFAULT, [("union-default-graph", "0")], {0}),
    (IN_DEFAULT, [("union-default-graph", "False")], {0}),
]


@pytest.mark.parametrize(("query", "parameters", "expected"), CASES)
def test_dataset(
    query: str, parameters: list[tuple[str, str]], expected: set[int], graphs: httpx.Client
) -> None:
    """The request's dataset wins over the query's; either takes the place of the store's own."""
    pairs = [("query", query), *parameters]
    form = urlencode(pairs)
    direct = "/sparql?" + urlencode(parameters)
    assert numbers(graphs.get(f"/sparql?{form}")) == expected
    assert numbers(graphs.post("/sparql", content=form, headers=FORM)) == expected
    assert numbers(graphs.post(direct, content=query, headers=DIRECT)) == expected


@pytest.mark.parametrize("between", [" ", "", "\t", " # which?\n"])
def test_the_store_s_own_bookkeeping_is_out_of_sight_until_it_is_named(
    between: str, graphs: httpx.Client
) -> None:
    query = f"SELECT DISTINCT ?o {{ GRAPH{between}?o {{ ?s ?p ?x }} }}"
    roaming = graphs.get("/sparql", params={"query": query})
    assert numbers(graphs.get("/sparql", params={"query": IN_NAMED.replace("GRAPH ", f"GRAPH{between}")}))
    assert "urn:graph:system" not in roaming.text
    named = graphs.get("/sparql", params={"query": "ASK { GRAPH <urn:graph:system> { ?s ?p ?o } }"})
    assert named.json()["boolean"] is True


def test_a_dataset_of_no_iri_is_refused(client: httpx.Client) -> None:
    found = client.get("/sparql", params={"query": "ASK {}", "default-graph-uri": "not an iri"})
    assert found.status_code == 400


def test_relative_iris_are_resolved_against_the_request(endpoint: Endpoint, client: httpx.Client) -> None:
    found = client.get("/query", params={"query": "SELECT (STR(<x>) AS ?o) {}"})
    assert found.json()["results"]["bindings"][0]["o"]["value"] == f"{endpoint.url}/x"


# --- §2.1.5, §2.1.6: what is accepted and answered ----------------------------------------------------

SELECT, CONSTRUCT = "SELECT ?o { ?s ?p ?o }", "CONSTRUCT { <urn:s> <urn:p> 1 } {}"
ACCEPT = [
    (SELECT, None, SRJ),
    (SELECT, "*/*", SRJ),
    (SELECT, "application/*", SRJ),
    (SELECT, "application/json", SRJ),
    (SELECT, "application/sparql-results+xml", "application/sparql-results+xml"),
    (SELECT, "application/xml", "application/sparql-results+xml"),
    (SELECT, "text/csv", "text/csv"),
    (SELECT, "text/*", "application/sparql-results+xml"),
    (SELECT, "text/tab-separated-values", "text/tab-separated-values"),
    (SELECT, "text/csv;q=0.5, text/tab-separated-values;q=0.6", "text/tab-separated-values"),
    (SELECT, "*/*;q=0.1, text/csv", "text/csv"),
    (SELECT, "text/turtle, application/sparql-results+xml;q=0.1", "application/sparql-results+xml"),
    (SELECT, "application/sparql-results+json;q=0, */*", "application/sparql-results+xml"),
    (SELECT, "TEXT/CSV; Header=present", "text/csv"),
    (CONSTRUCT, None, "text/turtle"),
    (CONSTRUCT, "application/n-triples", "application/n-triples"),
    (CONSTRUCT, "application/rdf+xml", "application/rdf+xml"),
    (CONSTRUCT, "application/n-quads", "application/n-quads"),
    (CONSTRUCT, "application/trig", "application/trig"),
    (CONSTRUCT, "application/ld+json", "application/ld+json"),
    (CONSTRUCT, "text/csv, application/n-triples;q=0.2", "application/n-triples"),
    ("DESCRIBE <urn:s>", "text/turtle;q=0.3, application/rdf+xml;q=0.7", "application/rdf+xml"),
    ("ASK {}", "application/sparql-results+xml", "application/sparql-results+xml"),
]


@pytest.mark.parametrize(("query", "accept", "expected"), ACCEPT)
def test_content_negotiation(query: str, accept: str | None, expected: str, client: httpx.Client) -> None:
    headers = {"Accept": accept} if accept else {}
    request = client.build_request("GET", "/sparql", params={"query": query}, headers=headers)
    if accept is None:
        del request.headers["accept"]
    found = client.send(request)
    assert found.status_code == 200
    assert found.headers["content-type"].partition(";")[0] == expected
    assert "Accept" in found.headers["vary"]


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        (SELECT, "text/turtle"),
        (CONSTRUCT, "text/csv"),
        (SELECT, "image/png"),
        (SELECT, "*/*;q=0"),
        (SELECT, "text/csv;version=7"),
    ],
)
def test_what_cannot_be_written_as_asked_is_not_acceptable(
    query: str, accept: str, client: httpx.Client
) -> None:
    found = client.get("/sparql", params={"query": query}, headers={"Accept": accept})
    assert found.status_code == 406
    assert found.headers["content-type"].startswith("application/problem+json")


def test_a_query_whose_result_is_asked_for_as_html_leads_to_the_editor(client: httpx.Client) -> None:
    client.post("/update", data={"update": "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 'in a graph' } }"})
    query = {"query": "SELECT * { ?s <urn:p> ?o }"}
    for parameters in ({"union-default-graph": "true"}, {"union-default-graph": "true", "format": "html"}):
        headers = {"Accept": SRJ if "format" in parameters else "text/html"}
        found = client.get("/sparql", params=query | parameters, headers=headers)
        assert found.status_code == 303
        assert "in a graph" in client.get(found.headers["location"], headers=headers).text
    other_dataset = query | {"default-graph-uri": "urn:g", "format": "html"}  # the editor cannot name it
    assert client.get("/sparql", params=other_dataset).status_code == 406
    page = client.post("/sparql", data=query, headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (406, "text/html; charset=utf-8")


@pytest.mark.parametrize("version", ["1.1", "1.2-basic"])
@pytest.mark.parametrize("media_type", ["text/turtle", "application/n-triples", "application/trig"])
def test_triple_terms_and_versions(media_type: str, version: str, client: httpx.Client) -> None:
    """RDF 1.2: a version without triple terms gets statements of RDF 1.1, which rdflib reads."""
    query = "CONSTRUCT { <urn:r> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> } {}"
    new = client.get("/sparql", params={"query": query}, headers={"Accept": f"{media_type};version=1.2"})
    assert new.status_code == 200
    assert "version=1.2" in new.headers["content-type"]
    rdf_format = ox.RdfFormat.from_media_type(media_type)
    triples = [quad.triple for quad in ox.parse(new.content, rdf_format)]
    assert isinstance(triples[0].object, ox.Triple)
    accept = {"Accept": f"{media_type}; version={version}"}
    old = client.get("/sparql", params={"query": query}, headers=accept)
    assert old.status_code == 200
    assert f"version={version}" in old.headers["content-type"]
    assert {*classic_statement(old.content, media_type)} == {"urn:s", "urn:p", "urn:o"}
    plain = client.get("/sparql", params={"query": CONSTRUCT}, headers=accept)
    assert plain.status_code == 200


@pytest.mark.parametrize("version", ["1.1", "1.2-basic"])
def test_triple_terms_in_results(version: str, client: httpx.Client) -> None:
    query = "SELECT (<<( <urn:s> <urn:p> 'x' )>> AS ?t) {}"
    found = client.get("/sparql", params={"query": query, "dialect": "rdf12"})
    term = found.json()["results"]["bindings"][0]["t"]
    assert term["type"] == "triple"
    assert term["value"]["object"] == {"type": "literal", "value": "x"}
    old = client.get("/sparql", params={"query": query}, headers={"Accept": f"{SRJ};version={version}"})
    assert f"version={version}" in old.headers["content-type"]
    node = old.json()["results"]["bindings"][0]["t"]
    assert node["type"] == "uri"
    construct = query.replace("SELECT", "CONSTRUCT { <urn:r> <urn:p> ?t } { SELECT") + " }"
    graph = client.get("/sparql", params={"query": construct, "dialect": "classic"})
    assert f"<{node['value']}>" in graph.text  # the same node, with its description


def classic_statement(data: bytes, media_type: str) -> list[str]:
    """Subject, predicate and object of the only statement that a graph describes, read by rdflib."""
    found = rdflib.Graph()
    found.parse(data=data, format="turtle" if media_type == "application/trig" else media_type)
    (node,) = found.objects(rdflib.URIRef("urn:r"), None)
    parts = (rdflib.RDF.subject, rdflib.RDF.predicate, rdflib.RDF.object)
    return [str(found.value(node, part)) for part in parts]


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # by rdflib itself
def test_json_ld_has_the_classic_form(client: httpx.Client) -> None:
    query = "CONSTRUCT { <urn:r> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> } {}"
    found = client.get("/sparql", params={"query": query}, headers={"Accept": "application/ld+json"})
    assert classic_statement(found.content, "application/ld+json") == ["urn:s", "urn:p", "urn:o"]


@pytest.mark.parametrize("form", ["turtle", "nt", "trig", "nq"])
def test_dialect_rdf_star(form: str, client: httpx.Client) -> None:
    query = "CONSTRUCT { <urn:r> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> } {}"
    found = client.get("/sparql", params={"query": query, "dialect": "rdf-star", "format": form})
    assert "<urn:r> <urn:p> << <urn:s> <urn:p> <urn:o> >> ." in found.text


def test_dialects_that_cannot_be(client: httpx.Client) -> None:
    query = "CONSTRUCT { <urn:r> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> } {}"
    found = client.get("/sparql", params={"query": query, "dialect": "rdf-star", "format": "rdfxml"})
    assert found.status_code == 406
    assert "no syntax for RDF-star" in found.json()["detail"]
    assert client.get("/sparql", params={"query": query, "dialect": "n3"}).status_code == 400


@pytest.mark.parametrize("form", ["json", "xml", "csv", "tsv"])
def test_classic_rows_are_those_of_the_engine_but_for_triple_terms(form: str, client: httpx.Client) -> None:
    rows = r"""(<urn:x> "a<b&\"c\n\t") ("é"@en 1.5) (UNDEF true) ("" <urn:y>) ("x"@ar--rtl UNDEF)"""
    query = f"SELECT * {{ VALUES (?a ?b) {{ {rows} }} }}"
    plain = client.get("/sparql", params={"query": query, "format": form})
    classic = client.get("/sparql", params={"query": query, "format": form, "dialect": "classic"})
    assert plain.status_code == 200, plain.text
    assert classic.headers["content-type"] == plain.headers["content-type"]
    if form == "csv":
        assert classic.content == plain.content
        return
    media_type = ox.QueryResultsFormat.from_media_type(plain.headers["content-type"].partition(";")[0])
    found = [list(map(list, ox.parse_query_results(one.content, media_type))) for one in (plain, classic)]
    assert found[0] == found[1]


# --- empty results --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "accept", [SRJ, "application/sparql-results+xml", "text/csv", "text/tab-separated-values"]
)
@pytest.mark.parametrize(
    "form", ["SELECT *", "ASK", "CONSTRUCT", "SELECT (COUNT(?r) AS ?n) (SAMPLE(?o) AS ?x)"]
)
def test_an_empty_result_links_to_a_query_that_finds_something(
    form: str, accept: str, client: httpx.Client
) -> None:
    client.put(
        "/store",
        params={"graph": "urn:g"},
        content="<urn:r> <urn:p> <<( <urn:s> <urn:p> 'x' )>> .",
        headers={"Content-Type": "text/turtle"},
    )
    query = f"{form} WHERE {{ ?r <urn:p> << ?s ?p ?o >> }}"
    query = query.replace("CONSTRUCT", "CONSTRUCT { ?r <urn:found> ?o }")
    found = client.get("/sparql", params={"query": query}, headers={"Accept": f"{accept}, text/turtle"})
    link = found.links["alternate"]
    assert link["title"].startswith("With all graphs as the default graph and <<( s p o )>>, a triple term")
    again = client.get(link["url"], headers={"Accept": "text/csv, text/turtle"})
    assert again.is_success
    assert "x" in again.text or again.text.startswith("true")
    assert "link" not in again.headers


def test_the_link_of_an_empty_result_keeps_the_graphs_of_the_request(client: httpx.Client) -> None:
    client.post(
        "/update",
        data={"update": "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> <<( <urn:a> <urn:b> 'x' )>> } }"},
    )
    for graph, linked in (("urn:g", True), ("urn:none", False)):
        asked = {"query": "SELECT * { ?s ?p << ?a ?b 'x' >> }", "default-graph-uri": graph}
        found = client.get("/sparql", params=asked)
        assert ("link" in found.headers) == linked
        if linked:
            assert found.links["alternate"]["title"].startswith("With <<( s p o )>>")
            assert "urn:s" in client.get(found.links["alternate"]["url"]).text


def test_the_link_of_an_empty_result_is_in_the_language_of_the_client(client: httpx.Client) -> None:
    client.post("/update", data={"update": "INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p> 1 } }"})

    def title(language: str) -> str:
        headers = {"Accept-Language": language}
        found = client.get("/sparql", params={"query": "SELECT * { <urn:s> ?p ?o }"}, headers=headers)
        assert "Accept-Language" in found.headers["vary"]
        link = found.links["alternate"]
        return link["title"] if "title" in link else unquote(link["title*"].removeprefix("UTF-8''"))

    assert "默认图" in title("zh")
    assert title("en") == "With all graphs as the default graph, the pattern matches."
    assert "默认图" in title("zh")


def test_an_empty_result_without_a_reason_has_no_link(client: httpx.Client) -> None:
    for query in ("SELECT * { <urn:none> ?p ?o }", "ASK { <urn:none> ?p ?o }"):
        assert "link" not in client.get("/sparql", params={"query": query}).headers


# --- §2.1.7: refusals ---------------------------------------------------------------------------------


def test_other_methods_are_refused_with_allow(client: httpx.Client) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        found = client.request(method, "/sparql", params={"query": "ASK {}"})
        assert found.status_code == 405
        assert set(found.headers["allow"].split(", ")) == {"GET", "HEAD", "POST", "QUERY"}


@pytest.mark.parametrize(
    ("url", "body", "headers", "status"),
    [
        ("/sparql", "query=ASK%20%7B%7D&query=ASK%20%7B%7D", FORM, 400),
        ("/sparql", "query=ASK%20%7B%7D&update=CLEAR%20ALL", FORM, 400),
        ("/sparql", "other=1", FORM, 400),
        ("/sparql", "", FORM, 400),
        ("/sparql", "query=%FF%FE", FORM, 400),
        ("/sparql", "query=ASK%20%7B%7D", {"Content-Type": "text/plain"}, 415),
        ("/sparql", "ASK {}", {"Content-Type": "text/plain"}, 415),
        ("/sparql", "ASK {}", {}, 415),
        ("/sparql?query=ASK%20%7B%7D", "ASK {}", DIRECT, 400),
        ("/sparql?query=ASK%20%7B%7D", "query=ASK%20%7B%7D", FORM, 400),
        ("/sparql", "ASK {}", {"Content-Type": "application/sparql-query; charset=utf-16"}, 415),
        ("/sparql", "SELECT nothing", DIRECT, 400),
        ("/sparql", "", DIRECT, 400),
        ("/update", "ASK {}", DIRECT, 400),
        ("/query", "CLEAR ALL", {"Content-Type": "application/sparql-update"}, 400),
    ],
)
def test_malformed_requests(
    url: str, body: str, headers: dict[str, str], status: int, client: httpx.Client
) -> None:
    found = client.post(url, content=body.encode(), headers=headers)
    assert found.status_code == status, found.text
    document = found.json()
    assert document["status"] == status
    assert document["detail"]


def test_utf_16_is_refused(client: httpx.Client) -> None:
    """Whatever its header says (the suite's bad-query-non-utf8)."""
    body = "ASK {}".encode("utf-16")
    for charset in ("", "; charset=UTF-16", "; charset=utf-8"):
        found = client.post(
            "/sparql", content=body, headers={"Content-Type": f"application/sparql-query{charset}"}
        )
        assert found.status_code in (400, 415)


def test_two_queries_in_a_url(client: httpx.Client) -> None:
    found = client.get("/sparql?query=ASK%20%7B%7D&query=SELECT%20%2A%20%7B%7D")
    assert found.status_code == 400


def test_percent_encoding(client: httpx.Client) -> None:
    plus = client.get("/sparql?query=ASK+%7B+FILTER%28%22a%2Bb%22+%3D+%22a%2Bb%22%29+%7D")
    assert plus.json()["boolean"] is True
    assert client.get("/sparql?query=%FF").status_code == 400
    assert (
        client.get("/sparql?query=" + quote('SELECT ("%41" AS ?o) {}')).json()["results"]["bindings"][0]["o"][
            "value"
        ]
        == "%41"
    )


def test_syntax_errors_tell_where(client: httpx.Client) -> None:
    found = client.get("/sparql", params={"query": "SELECT * { ?s ?p }"})
    assert found.status_code == 400
    assert "line 1, column 18" in found.json()["detail"]


def test_results_of_all_formats_are_those_of_the_engine(graphs: httpx.Client) -> None:
    query = "SELECT ?g ?o { GRAPH ?g { ?s ?p ?o } } ORDER BY ?o"
    seen = []
    for media_type in (SRJ, "application/sparql-results+xml", "text/tab-separated-values"):
        found = graphs.get("/sparql", params={"query": query}, headers={"Accept": media_type})
        parsed = ox.parse_query_results(found.content, ox.QueryResultsFormat.from_media_type(media_type))
        seen.append([(str(row["g"]), str(row["o"])) for row in parsed])
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 3
    assert json.loads(json.dumps(seen[0]))[0][0] == f"<{G}1>"


@pytest.mark.parametrize(
    ("query", "accept", "expected"),
    [
        ("ASK {}", "text/csv", b"true\r\n"),
        ("ASK { <urn:no> <urn:such> <urn:thing> }", "text/tab-separated-values", b"false\n"),
        ("ASK {}", SRJ, b'{"head":{},"boolean":true}'),
    ],
)
def test_a_truth_value_is_a_line_where_rows_are_lines(
    query: str, accept: str, expected: bytes, client: httpx.Client
) -> None:
    assert client.get("/sparql", params={"query": query}, headers={"Accept": accept}).content == expected


def test_the_setting_makes_the_default_graph_a_union(tmp_path: Path) -> None:
    of_one = f"SELECT ?o FROM <{G}1> {{ ?s <urn:in> ?o }}"
    settings = {"GRAPHRAG_RDF_SERVER__UNION_DEFAULT_GRAPH": "true", "GRAPHRAG_RDF_SERVER__ANONYMOUS": "write"}
    with Endpoint.start(tmp_path / "store", **settings) as server:
        client = server.client()
        client.post(
            "/update",
            data={"update": f"INSERT DATA {{ <urn:s> <urn:in> 0 GRAPH <{G}1> {{ <urn:s> <urn:in> 1 }} }}"},
        ).raise_for_status()
        for query, expected, without in (
            ("SELECT ?o { ?s <urn:in> ?o }", {0, 1}, {0}),
            (of_one, {1}, {1}),
        ):
            asked = {"query": query, "union-default-graph": "0"}
            assert numbers(client.get("/sparql", params={"query": query})) == expected
            assert numbers(client.get("/sparql", params=asked)) == without
        editor = client.get("/sparql", params={**asked, "format": "html"}).headers["location"]
        assert editor.endswith("&union=0")
        description = client.get("/sparql", headers={"Accept": "text/turtle"}).text
        assert "UnionDefaultGraph" in description


def test_xml_has_no_control_characters(graphs: httpx.Client) -> None:
    """XML cannot hold the form feeds between pages."""
    text = "SELECT ('page 1\\u000Cpage\\u00012\\t' AS ?o) {}"
    row = ElementTree.fromstring(graphs.get("/sparql", params={"query": text, "format": "xml"}).content)
    assert [one.text for one in row.iter("{http://www.w3.org/2005/sparql-results#}literal")] == [
        "page 1\ufffdpage\ufffd2\t"
    ]
    graph = "CONSTRUCT { <urn:s> <urn:p> ?o } WHERE { BIND('page 1\\u000C' AS ?o) }"
    data = graphs.get("/sparql", params={"query": graph, "format": "rdfxml"}).content
    (triple,) = ox.parse(data, format=ox.RdfFormat.RDF_XML)
    assert triple.object.value == "page 1\ufffd"
    assert "\\f" in graphs.get("/sparql", params={"query": graph, "format": "nt"}).text


# --- beyond the protocol ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "content_type"),
    [
        ("json", "application/sparql-results+json"),
        ("xml", "application/sparql-results+xml"),
        ("csv", "text/csv; charset=utf-8"),
        ("text/tab-separated-values", "text/tab-separated-values; charset=utf-8"),
    ],
)
def test_the_parameter_format_wins_over_accept(asked: str, content_type: str, graphs: httpx.Client) -> None:
    parameters = {"query": "SELECT * { ?s ?p ?o }", "format": asked}
    got = graphs.get("/sparql", params=parameters, headers={"Accept": "application/sparql-results+xml"})
    assert got.headers["content-type"] == content_type
    assert graphs.post("/sparql", data=parameters).headers["content-type"] == content_type


@pytest.mark.parametrize(
    "query_string",
    [
        "format=tsv&format=text%2Ftab-separated-values",  # SPARQLWrapper
        "format=text/tab-separated-values&format=",
        "format=excel&format=tsv",
    ],
)
def test_the_first_known_format_counts(query_string: str, graphs: httpx.Client) -> None:
    got = graphs.get(f"/sparql?query=ASK%7B%7D&{query_string}")
    assert got.headers["content-type"] == "text/tab-separated-values; charset=utf-8"


def test_names_of_formats_that_clients_use(graphs: httpx.Client) -> None:
    for name, media_type in (
        ("n3", "text/turtle"),
        ("rdf+xml", "application/rdf+xml"),
        ("application/rdf+xml", "application/rdf+xml"),
        ("json-ld", "application/ld+json"),
    ):
        got = graphs.get(f"/sparql?query=CONSTRUCT%20WHERE%20%7B?s%20?p%20?o%7D&format={name}")
        assert got.headers["content-type"].startswith(media_type)


@pytest.mark.parametrize(
    "query_string",
    [
        "dialect=classic?query={}",
        "dialect=classic?format=json&query={}",
        "union-default-graph?dialect=classic?query={}",
        "union-default-graph=true&dialect=classic?query={}",
    ],
)
def test_a_query_that_is_appended_to_an_address_with_parameters(
    query_string: str, client: httpx.Client
) -> None:
    client.post("/update", data={"update": "INSERT DATA { <urn:s> <urn:p> <<( <urn:a> <urn:b> 'what?' )>> }"})
    headers = {"Accept": "application/sparql-results+json"}
    query = "SELECT%20?o%20%7B%20?s%20<urn:p>%20?o%20FILTER(?o%20!=%20'dialect=?')%7D"
    got = client.get(f"/sparql?{query_string.format(query)}", headers=headers)
    assert [row["o"]["type"] for row in got.json()["results"]["bindings"]] == ["uri"]


def test_formats_of_graphs_and_unknown_ones(graphs: httpx.Client) -> None:
    query = "CONSTRUCT WHERE { ?s ?p ?o }"
    got = graphs.get("/sparql", params={"query": query, "format": "nt"})
    assert got.text == '<urn:s> <urn:in> "0"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    assert graphs.get("/sparql", params={"query": query, "format": "csv"}).status_code == 406
    wrong = graphs.get("/sparql", params={"query": query, "format": "excel"})
    assert wrong.status_code == 400
    assert "csv" in wrong.json()["hint"]


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * { ?s ?p ?o }", "s,p,o"),
        ("PREFIX z: <urn:z>\nselect distinct * { ?zebra ?p ?apple FILTER(?gone = 1) }", "zebra,p,apple"),
        ("SELECT * { { SELECT ?p (COUNT(*) AS ?a) { ?s ?p ?o } GROUP BY ?p } }", "p,a"),
        ("SELECT ?o ?s { ?s ?p ?o }", "o,s"),
    ],
)
def test_columns_are_in_the_order_of_the_query(query: str, columns: str, graphs: httpx.Client) -> None:
    got = graphs.get("/sparql", params={"query": query, "format": "csv"})
    assert got.text.splitlines()[0] == columns


def test_what_the_engine_cannot_do_is_not_called_malformed(graphs: httpx.Client) -> None:
    call = graphs.get("/sparql", params={"query": "SELECT (<urn:f>(1) AS ?x) {}"})
    assert (call.status_code, "<urn:f>" in call.json()["detail"]) == (501, True)
    gone = graphs.post("/update", data={"update": "DROP GRAPH <urn:nowhere>"})
    assert (gone.status_code, "urn:nowhere" in gone.json()["detail"]) == (404, True)
    assert graphs.post("/update", data={"update": "DROP SILENT GRAPH <urn:nowhere>"}).status_code == 204
