"""SPARQL 1.1 Protocol and Graph Store Protocol as raw requests: each operation of the specifications' own
test suites, in our words, with status classes and answers as they ask for them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from urllib.parse import quote, urlencode

import httpx
import pyoxigraph as ox
import pytest

from tests.support.endpoint import Endpoint

FORM, QUERY, UPDATE = (
    "application/x-www-form-urlencoded",
    "application/sparql-query",
    "application/sparql-update",
)
N = "http://example.org/data/"
ASK, CLEAR = "query=ASK%20%7B%7D", "update=CLEAR%20NAMED"
DATA = {f"{N}{n}": f"<{N}{n}> a <urn:Document> ." for n in (1, 2, 3)}
TRUE = "true"


def send(
    endpoint: Endpoint, method: str, target: str, kind: str = "", body: bytes | str = b"", *more: str
) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own, byte by byte as written here."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"{method} {target} HTTP/1.1", "Host: HOST", "Connection: close"]
    lines += [f"Content-Type: {kind}"] if kind else []
    lines += [f"Content-Length: {len(data)}"] if data or method in ("POST", "PUT") else []
    lines += more
    status, headers, raw = endpoint.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    if headers.get("transfer-encoding") == "chunked":
        out = b""
        while raw:
            size, _, raw = raw.partition(b"\r\n")
            out, raw = out + raw[: int(size, 16)], raw[int(size, 16) + 2 :]
        raw = out
    return status, headers, raw


def parameters(**given: Iterable[str] | str) -> str:
    """Parameters of a URL; `_` for `-`, several values for a list."""
    named = {key.replace("_", "-"): value for key, value in given.items()}
    return urlencode(named, doseq=True, quote_via=quote)


@pytest.fixture
def data(endpoint: Endpoint) -> Endpoint:
    """A server with three graphs."""
    quads = " ".join(f"GRAPH <{graph}> {{ {triple} }}" for graph, triple in DATA.items())
    assert send(endpoint, "POST", "/sparql/", UPDATE, f"INSERT DATA {{ {quads} }}")[0] == 204
    return endpoint


def boolean(answer: tuple[int, dict[str, str], bytes]) -> bool:
    """The truth value of an answer, in whichever format it came."""
    status, headers, body = answer
    assert 200 <= status < 400, body
    found = ox.parse_query_results(body, ox.QueryResultsFormat.from_media_type(headers["content-type"]))
    assert isinstance(found, ox.QueryBoolean)
    return bool(found)


# --- queries ------------------------------------------------------------------------------------------

ONE, TWO, THREE = (f"{N}{n}" for n in (1, 2, 3))
BOTH = f"ASK {{ <{ONE}> a ?t . <{TWO}> a ?t }}"
EACH = f"ASK {{ GRAPH ?a {{ <{ONE}> a ?t }} GRAPH ?b {{ <{TWO}> a ?t }} }}"
FULL = f"ASK {{ <{THREE}> a ?t . GRAPH ?a {{ <{ONE}> a ?t }} GRAPH ?b {{ <{TWO}> a ?t }} }}"
OVER = (
    f"ASK {{ GRAPH ?a {{ <{ONE}> a ?t }} GRAPH ?b {{ <{TWO}> a ?t }} "
    f"FILTER NOT EXISTS {{ GRAPH ?c {{ <{THREE}> a ?t }} }} }}"
)


@pytest.mark.parametrize("path", ["/sparql", "/sparql/", "/query"])
@pytest.mark.parametrize("form", ["get", "form", "form and url", "direct", "QUERY direct", "QUERY form"])
@pytest.mark.parametrize(
    ("query", "dataset"),
    [
        ("ASK {}", parameters(default_graph_uri=f"{N}nowhere")),
        (BOTH, parameters(default_graph_uri=(ONE, TWO))),
        (EACH, parameters(named_graph_uri=(ONE, TWO))),
        (FULL, parameters(default_graph_uri=THREE, named_graph_uri=(ONE, TWO))),
        (OVER.replace("ASK {", f"ASK FROM <{THREE}> {{"), parameters(named_graph_uri=(ONE, TWO))),
    ],
)
def test_a_query_on_the_requests_dataset(
    path: str, form: str, query: str, dataset: str, data: Endpoint
) -> None:
    """§2.1.1 to §2.1.4: by every form; what the request says of the dataset wins over the query."""
    encoded = parameters(query=query)
    answer = {
        "get": lambda: send(data, "GET", f"{path}?{encoded}&{dataset}"),
        "form": lambda: send(data, "POST", path, FORM, f"{encoded}&{dataset}"),
        "form and url": lambda: send(data, "POST", f"{path}?{dataset}", FORM, encoded),
        "direct": lambda: send(data, "POST", f"{path}?{dataset}", QUERY, query),
        "QUERY direct": lambda: send(data, "QUERY", f"{path}?{dataset}", QUERY, query),
        "QUERY form": lambda: send(data, "QUERY", path, FORM, f"{encoded}&{dataset}"),
    }[form]()
    assert boolean(answer) is True


RDF_TYPES = ("text/turtle", "application/rdf+xml", "application/n-triples", "application/ld+json")


@pytest.mark.parametrize(
    ("query", "types"),
    [
        (
            "SELECT (1 AS ?x) {}",
            ("application/sparql-results+json", "application/sparql-results+xml", "text/csv"),
        ),
        ("ASK {}", ("application/sparql-results+json", "application/sparql-results+xml")),
        ("DESCRIBE <http://example.org/>", RDF_TYPES),
        ("CONSTRUCT { <s> <p> 1 } {}", RDF_TYPES),
    ],
)
def test_the_answer_is_of_a_kind_with_the_query(
    query: str, types: tuple[str, ...], endpoint: Endpoint
) -> None:
    """§2.1.5, §2.1.6: every registered type on request, one of them by default."""
    target = f"/sparql/?{parameters(query=query)}"
    status, headers, _ = send(endpoint, "GET", target)
    assert status == 200
    assert headers["content-type"].partition(";")[0] in types
    for wanted in types:
        status, headers, body = send(endpoint, "GET", target, "", b"", f"Accept: {wanted}")
        assert status == 200
        assert headers["content-type"].partition(";")[0] == wanted
        assert body or "DESCRIBE" in query
    mixed = f"Accept: {','.join(types)}"
    assert send(endpoint, "GET", target, "", b"", mixed)[1]["content-type"].partition(";")[0] in types


def test_lines_of_an_accept_header_are_one_list(endpoint: Endpoint) -> None:
    """RFC 9110 §5.3."""
    for query in ("SELECT ?x { VALUES ?x { 1 } }", "SELECT ?o { <urn:s> <urn:p> ?o } LIMIT 1"):
        target = f"/sparql?{parameters(query=query)}"
        for lines in (("image/png", "text/csv"), ("text/csv", "application/sparql-results+json;q=0.5")):
            accept = [f"Accept: {line}" for line in lines]
            status, headers, _ = send(endpoint, "GET", target, "", b"", *accept, "Accept-Encoding: identity")
            assert status == 200
            assert headers["content-type"].startswith("text/csv")


# --- updates ------------------------------------------------------------------------------------------

TARGET = "http://example.org/written"
MARKED = f"INSERT {{ GRAPH <{TARGET}> {{ ?s a <urn:Marked> }} }} WHERE {{ %s }}"
IS_MARKED = f"ASK {{ GRAPH <{TARGET}> {{ <%s> a <urn:Marked> }} }}"


@pytest.mark.parametrize("form", ["direct", "form"])
@pytest.mark.parametrize(
    ("pattern", "dataset", "marked"),
    [
        ("?s a <urn:Document>", parameters(using_graph_uri=ONE), {ONE}),
        ("?s a <urn:Document>", parameters(using_graph_uri=(ONE, TWO)), {ONE, TWO}),
        ("GRAPH ?g { ?s a <urn:Document> }", parameters(using_named_graph_uri=(ONE, TWO)), {ONE, TWO}),
        (
            "{ ?s a <urn:Document> } UNION { GRAPH ?g { ?s a <urn:Document> } }",
            parameters(using_graph_uri=ONE, using_named_graph_uri=TWO),
            {ONE, TWO},
        ),
    ],
)
def test_an_update_on_the_requests_dataset(
    form: str, pattern: str, dataset: str, marked: set[str], endpoint: Endpoint
) -> None:
    """§2.2.3: several operations in one request, of which the dataset is that of each WHERE."""
    quads = " ".join(f"GRAPH <{graph}> {{ {triple} }}" for graph, triple in DATA.items())
    update = f"DROP ALL ; INSERT DATA {{ {quads} }} ; {MARKED % pattern}"
    if form == "direct":
        answer = send(endpoint, "POST", f"/sparql/?{dataset}", UPDATE, update)
    else:
        answer = send(endpoint, "POST", "/update", FORM, f"{parameters(update=update)}&{dataset}")
    assert 200 <= answer[0] < 400, answer[2]
    for graph in DATA:
        found = boolean(send(endpoint, "POST", "/sparql/", QUERY, IS_MARKED % graph))
        assert found is (graph in marked), graph


def test_updates_by_both_forms_and_their_base(endpoint: Endpoint) -> None:
    for kind, body in ((FORM, "update=CLEAR+ALL"), (UPDATE, "CLEAR ALL")):
        assert 200 <= send(endpoint, "POST", "/sparql/", kind, body)[0] < 400
    update = f"CLEAR GRAPH <{TARGET}> ; INSERT DATA {{ GRAPH <{TARGET}> {{ <urn:s> <urn:p> <test> }} }}"
    assert 200 <= send(endpoint, "POST", "/sparql/", UPDATE, update)[0] < 400
    query = f"SELECT ?o {{ GRAPH <{TARGET}> {{ <urn:s> <urn:p> ?o }} }}"
    (row,) = json.loads(send(endpoint, "POST", "/sparql/", QUERY, query)[2])["results"]["bindings"]
    assert row["o"]["type"] == "uri"
    assert row["o"]["value"].startswith("http://")
    assert row["o"]["value"].endswith("/test")


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.2-basic"])
def test_a_version_may_be_announced(version: str, endpoint: Endpoint) -> None:
    """SPARQL 1.2 Protocol §2.1: by a parameter, or by one of the media type."""
    announced = f"version={version}"
    for answer in (
        send(endpoint, "GET", f"/sparql?{ASK}&{announced}"),
        send(endpoint, "POST", "/sparql", FORM, f"{announced}&{ASK}"),
        send(endpoint, "POST", f"/sparql?{announced}", QUERY, "ASK {}"),
        send(endpoint, "POST", "/sparql", f"{QUERY}; {announced}", "ASK {}"),
    ):
        assert boolean(answer) is True
    for kind, body in ((FORM, f"{CLEAR}&{announced}"), (f"{UPDATE}; {announced}", "CLEAR NAMED")):
        assert send(endpoint, "POST", "/sparql", kind, body)[0] == 204


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "kind", "body", "status"),
    [
        ("PUT", f"/sparql/?{ASK}", FORM, "", 405),
        ("PATCH", f"/sparql/?{ASK}", FORM, "", 405),
        ("DELETE", f"/sparql/?{ASK}", "", "", 405),
        ("GET", f"/sparql/?{ASK}&query=SELECT%20%2A%20%7B%7D", "", "", 400),
        ("POST", "/sparql/", FORM, f"{ASK}&query=ASK%7B%7D", 400),
        ("POST", f"/sparql/?{ASK}", FORM, ASK, 400),
        ("POST", f"/sparql/?{ASK}", QUERY, "ASK {}", 400),
        ("POST", "/sparql/", "text/plain", "ASK {}", 415),
        ("POST", "/sparql/", "", ASK, 415),
        ("POST", "/sparql/", "", "ASK {}", 415),
        ("POST", "/sparql/", f"{QUERY}; charset=UTF-16", "ASK {}".encode("utf-16"), 415),
        ("POST", "/sparql/", QUERY, "ASK {}".encode("utf-16"), 400),
        ("POST", "/sparql/", FORM, b"query=ASK%20%7B%20%3Fs%20%3Fp%20%22%FF%22%7D", 400),
        ("GET", "/sparql/?query=ASK%20%7B", "", "", 400),
        ("GET", "/sparql/?query=", "", "", 400),
        ("GET", "/sparql/?update=CLEAR%20ALL", "", "", 400),
        ("GET", "/update?update=CLEAR%20ALL", "", "", 405),
        ("QUERY", "/sparql/", UPDATE, "CLEAR ALL", 415),
        ("QUERY", "/sparql/", FORM, CLEAR, 400),
        ("POST", "/sparql/", FORM, f"{CLEAR}&update=CLEAR%20DEFAULT", 400),
        ("POST", "/sparql/", FORM, f"{ASK}&{CLEAR}", 400),
        ("POST", "/sparql/", "text/plain", "CLEAR NAMED", 415),
        ("POST", "/sparql/", "", CLEAR, 415),
        ("POST", "/sparql/", f"{UPDATE}; charset=UTF-16", "CLEAR NAMED".encode("utf-16"), 415),
        ("POST", "/sparql/", FORM, "update=CLEAR%20XYZ", 400),
        ("POST", "/update", QUERY, "ASK {}", 400),
        ("POST", "/query", UPDATE, "CLEAR ALL", 400),
        ("POST", f"/sparql/?{CLEAR}", FORM, "", 400),
        ("GET", f"/sparql/?{ASK}", "", "ASK {}", 400),
        ("GET", f"/sparql?{ASK}&version=1.1&version=1.2", "", "", 400),
        ("POST", "/sparql?version=1.1", FORM, f"{ASK}&version=1.2", 400),
        ("POST", "/sparql", FORM, f"{CLEAR}&version=1.2&version=1.2", 400),
        ("POST", "/sparql?version=1.1&version=1.2", UPDATE, "CLEAR NAMED", 400),
        (
            "POST",
            f"/sparql/?{parameters(using_graph_uri=ONE)}",
            UPDATE,
            f"DELETE {{}} USING <{TWO}> WHERE {{}}",
            400,
        ),
        (
            "POST",
            f"/sparql/?{parameters(using_named_graph_uri=ONE)}",
            UPDATE,
            f"WITH <{TWO}> INSERT {{ <urn:a> <urn:b> 1 }} WHERE {{}}",
            400,
        ),
    ],
)
def test_a_bad_request_is_told_and_does_nothing(
    method: str, target: str, kind: str, body: str | bytes, status: int, data: Endpoint
) -> None:
    found, headers, detail = send(data, method, target, kind, body)
    assert found == status, detail
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(detail)["status"] == status
    if status == 405:
        assert "POST" in headers["allow"] or "GET" in headers["allow"]
    for graph in DATA:
        query = f"ASK {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}"
        assert boolean(send(data, "POST", "/sparql/", QUERY, query)) is True


# --- graphs -------------------------------------------------------------------------------------------

TURTLE = "text/turtle; charset=utf-8"
PERSON = "http://www.example/gsp/person/1.ttl"
CARD = "PREFIX v: <http://www.w3.org/2006/vcard/ns#> <urn:person> v:card [ a v:VCard ; v:fn %s ] ."


def graph(answer: tuple[int, dict[str, str], bytes]) -> ox.Dataset:
    """The graph of an answer, blank nodes named by what they are."""
    status, headers, body = answer
    assert status == 200, body
    assert headers["content-type"] == TURTLE
    return canonical(body)


def canonical(turtle: bytes | str) -> ox.Dataset:
    """A graph to compare."""
    found = ox.Dataset(ox.parse(turtle, ox.RdfFormat.TURTLE))
    found.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return found


def got(endpoint: Endpoint, target: str) -> tuple[int, dict[str, str], bytes]:
    """A GET of Turtle."""
    return send(endpoint, "GET", target, "", b"", "Accept: text/turtle")


@pytest.mark.parametrize("target", [f"/store?graph={quote(PERSON, safe='')}", "/store/person/1.ttl"])
def test_put_get_delete(target: str, endpoint: Endpoint) -> None:
    """§5.2 to §5.4 and §5.6, by both ways of naming a graph."""
    assert send(endpoint, "HEAD", target)[0] == 404
    status, headers, _ = send(endpoint, "PUT", target, TURTLE, CARD % '"John Doe"')
    assert status == 201
    assert "location" in headers
    assert graph(got(endpoint, target)) == canonical(CARD % '"John Doe"')
    assert send(endpoint, "PUT", target, TURTLE, CARD % '"Jane Doe"')[0] in (200, 204)
    assert graph(got(endpoint, target)) == canonical(CARD % '"Jane Doe"')
    status, headers, body = send(endpoint, "HEAD", target, "", b"", f"Accept: {TURTLE}")
    assert (status, body) == (200, b"")
    assert headers["content-type"] == TURTLE
    assert send(endpoint, "DELETE", target)[0] in (200, 204)
    assert got(endpoint, target)[0] == 404
    assert send(endpoint, "DELETE", target)[0] == 404


@pytest.mark.parametrize("target", [f"/store?graph={quote(PERSON, safe='')}", "/store/person/1.ttl"])
def test_post_merges_also_a_form_of_files(target: str, endpoint: Endpoint) -> None:
    """§5.5."""
    assert send(endpoint, "POST", target, TURTLE, CARD % '"Jane Doe"')[0] in (200, 201, 204)
    parts = "".join(
        f'--bound\r\nContent-Disposition: form-data; name="{name}.ttl"; filename="{name}.ttl"\r\n'
        f"Content-Type: {TURTLE}\r\n\r\n<urn:person> <urn:{name}> {value} .\r\n\r\n"
        for name, value in (("family", '"Doe"'), ("given", '"Jane"'))
    )
    form = "multipart/form-data; boundary=bound"
    assert send(endpoint, "POST", target, form, f"{parts}--bound--\r\n")[0] in (200, 204)
    wanted = CARD % '"Jane Doe"' + ' <urn:person> <urn:family> "Doe" ; <urn:given> "Jane" .'
    assert graph(got(endpoint, target)) == canonical(wanted)


def test_post_to_the_store_makes_a_graph(endpoint: Endpoint) -> None:
    """§5.5: it has an address, which is its name too."""
    status, headers, _ = send(endpoint, "POST", "/store", TURTLE, CARD % '"Alice"')
    assert status == 201
    location = headers["location"]
    wanted = canonical(CARD % '"Alice"')
    assert graph(got(endpoint, f"/store?graph={location}")) == wanted
    assert graph(got(endpoint, location.removeprefix(endpoint.url))) == wanted


def test_the_default_graph(endpoint: Endpoint) -> None:
    """It is always there, also when it is empty."""
    assert graph(got(endpoint, "/store?default")) is not None
    assert send(endpoint, "PUT", "/store?default", TURTLE, CARD % '"Alice"')[0] in (200, 201, 204)
    assert graph(got(endpoint, "/store?default")) == canonical(CARD % '"Alice"')
    assert send(endpoint, "DELETE", "/store?default")[0] in (200, 204)
    assert len(graph(got(endpoint, "/store?default"))) == 0


def test_an_empty_graph_is_a_graph(endpoint: Endpoint) -> None:
    target = f"/store?graph={quote(PERSON, safe='')}"
    assert send(endpoint, "PUT", target, TURTLE, b"")[0] == 201
    assert len(graph(got(endpoint, target))) == 0
    assert send(endpoint, "HEAD", target)[0] == 200


def test_percent_encoding_is_undone_once(endpoint: Endpoint) -> None:
    assert send(endpoint, "PUT", f"/store?graph={PERSON}", TURTLE, CARD % '"John"')[0] == 201
    wanted = canonical(CARD % '"John"')
    for spelt in (quote(PERSON, safe=""), PERSON, PERSON.replace("1.ttl", "%31.ttl")):
        assert graph(got(endpoint, f"/store?graph={spelt}")) == wanted
    assert got(endpoint, f"/store?graph={PERSON.replace('1.ttl', '%2531.ttl')}")[0] == 404


@pytest.mark.parametrize(
    ("method", "target", "kind", "body", "status"),
    [
        ("PATCH", "/store?default", UPDATE, "INSERT DATA { <urn:a> <urn:b> 1 }", 405),
        ("PUT", "/store", TURTLE, "", 400),
        ("DELETE", "/store", "", "", 400),
        ("GET", "/store?graph=relative", "", "", 400),
        ("GET", "/store?graph=urn:a&default", "", "", 400),
        ("GET", "/store?graph=urn:a&graph=urn:b", "", "", 400),
        ("GET", "/store/here?graph=urn:a", "", "", 400),
        ("PUT", "/store?graph=urn:a", TURTLE, "<urn:s> <urn:p>", 400),
        ("PUT", "/store?graph=urn:a", "image/png", "{}", 415),
        ("PUT", "/store?graph=urn:a", "text/turtle; charset=utf-16", "", 415),
        ("GET", "/store?graph=urn:nothing", "", "", 404),
        ("DELETE", "/store?graph=urn:nothing", "", "", 404),
    ],
)
def test_bad_graph_requests(
    method: str, target: str, kind: str, body: str, status: int, endpoint: Endpoint
) -> None:
    found, headers, detail = send(endpoint, method, target, kind, body)
    assert found == status, detail
    assert headers["content-type"] == "application/problem+json"
    assert "allow" in headers or status != 405
    assert got(endpoint, "/store?graph=urn:a")[0] == 404


def test_what_is_not_acceptable(endpoint: Endpoint) -> None:
    target = f"/store?graph={quote(PERSON, safe='')}"
    send(endpoint, "PUT", target, TURTLE, CARD % '"John"')
    assert send(endpoint, "GET", target, "", b"", "Accept: image/png")[0] == 406
    assert send(endpoint, "GET", target, "", b"", "Accept: image/png, */*;q=0.1")[0] == 200


# --- results ------------------------------------------------------------------------------------------

TERMS = """SELECT ?iri ?text ?lang ?dir ?number ?typed ?nothing ?triple {
  VALUES (?iri ?text ?lang ?dir ?number ?typed ?nothing ?triple) { (
    <http://example.org/a> "a \\"quote\\", a comma,\\n a line" "chat"@fr "שלום"@he--rtl 1.50 "x"^^<urn:t>
    UNDEF <<( <urn:s> <urn:p> "o, \\"o\\""@en )>> ) } }"""


def test_every_kind_of_term_in_every_format(endpoint: Endpoint) -> None:
    """Language directions and triple terms (RDF 1.2) too; CSV keeps values and drops kinds, as is meant."""
    target = f"/sparql?{parameters(query=TERMS)}"

    def body(accept: str) -> bytes:
        status, headers, found = send(endpoint, "GET", target, "", b"", f"Accept: {accept};version=1.2")
        assert status == 200, found
        assert headers["content-type"].startswith(accept)
        return found

    wanted: list[ox.Term | None] | None = None
    for accept, kind in (
        ("application/sparql-results+json", ox.QueryResultsFormat.JSON),
        ("application/sparql-results+xml", ox.QueryResultsFormat.XML),
        ("text/tab-separated-values", ox.QueryResultsFormat.TSV),
    ):
        found = ox.parse_query_results(body(accept), kind)
        assert isinstance(found, ox.QuerySolutions)
        (row,) = [list(solution) for solution in found]
        wanted = wanted or row
        assert row == wanted
    assert wanted is not None
    assert wanted[6] is None
    assert isinstance(wanted[7], ox.Triple)
    assert wanted[3] == ox.Literal("שלום", language="he", direction=ox.BaseDirection.RTL)
    (term,) = [
        r["triple"] for r in json.loads(body("application/sparql-results+json"))["results"]["bindings"]
    ]
    assert term["type"] == "triple"
    assert set(term["value"]) == {"subject", "predicate", "object"}
    names, values = csv.reader(io.StringIO(body("text/csv").decode(), newline=""))
    assert names == ["iri", "text", "lang", "dir", "number", "typed", "nothing", "triple"]
    assert values[:2] == ["http://example.org/a", 'a "quote", a comma,\n a line']
    assert values[2:] == ["chat", "שלום", "1.5", "x", "", '<<( urn:s urn:p "o, ""o""" )>>']


def test_paths_and_methods_that_are_not_there_are_told_of(client: httpx.Client) -> None:
    nowhere, never = client.get("/nowhere"), client.put("/ask")
    assert nowhere.status_code == 404
    assert nowhere.json()["hint"] == "/openapi.json names all paths"
    assert never.status_code == 405
    assert never.headers["allow"] == "GET, HEAD, POST"
    assert "hint" not in never.json()
