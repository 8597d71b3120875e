"""Who may do what, from where, and how much; what must never come out."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.sync.client import connect

from graphrag_rdf.config import ServerSection
from graphrag_rdf.errors import ConfigError
from graphrag_rdf.server.http.access import Access, read_tokens
from graphrag_rdf.server.http.guard import Concurrency, Rate, host_name, known_hosts
from graphrag_rdf.server.http.problems import Problem
from tests.support.endpoint import ADMIN, READ, WRITE, Endpoint, bearer, eventually

PATHS = ("/sparql", "/query", "/store?default", "/health", "/metrics", "/diagnostics", "/nowhere", "/ask")
UPDATE = {"update": "INSERT DATA { <urn:s> <urn:p> 1 }"}


# --- hosts and origins: DNS rebinding, pages of other sites -------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_other_names_are_refused_on_every_route(path: str, guarded: Endpoint) -> None:
    with guarded.client(ADMIN) as client:
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7878", "10.0.0.1"):
            assert client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("path", PATHS)
def test_pages_of_other_sites_are_refused_on_every_route(path: str, guarded: Endpoint) -> None:
    with guarded.client(ADMIN) as client:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "https://app.example.org.evil"):
            assert client.get(path, headers={"Origin": origin}).status_code == 403


def test_our_own_pages_and_those_of_cors_may_ask(guarded: Endpoint) -> None:
    with guarded.client() as client:
        assert client.get("/health", headers={"Origin": guarded.url}).status_code == 200
        allowed = client.get("/health", headers={"Origin": "https://app.example.org"})
        assert allowed.headers["access-control-allow-origin"] == "https://app.example.org"
        preflight = {
            "Origin": "https://app.example.org",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        assert client.options("/sparql", headers=preflight).status_code == 200


def test_cors_is_off_by_default(answering: Endpoint) -> None:
    with answering.client() as client:
        headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
        assert client.options("/sparql", headers=headers).status_code == 403
        for site in ("cross-site", "same-site"):
            embedded = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
            assert client.get("/sparql?query=ASK%7B%7D", headers=embedded).status_code == 403
        followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert client.get("/sparql?query=ASK%7B%7D", headers=followed).status_code == 200


@pytest.mark.parametrize("path", ["/documents", "/update", "/ask", "/mcp", "/store?default", "/sparql"])
def test_what_a_page_of_another_site_sends_is_no_link(path: str, guarded: Endpoint) -> None:
    """Also from a server that lets some pages ask: those name their Origin."""
    with guarded.client(ADMIN) as client:
        for mode in ("navigate", "no-cors"):
            sent = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode}
            assert client.post(path, data=UPDATE, headers=sent).status_code == 403


@pytest.mark.parametrize("hosts", [b"", b"Host: \r\n", b"Host: HOST\r\nHost: HOST\r\n", b"Host: a@HOST\r\n"])
def test_a_request_names_one_host(hosts: bytes, answering: Endpoint) -> None:
    request = b"GET /health HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n"
    assert answering.raw(request)[0] == 400


def test_names_of_hosts() -> None:
    assert host_name("LocalHost:7878") == "localhost"
    assert host_name("[::1]:7878") == "::1"
    assert host_name("example.org.") == "example.org"
    for bad in ("", "a b", "a/b", "user@host", "host:port", "[::1"):
        assert host_name(bad) is None or not set(" /@").isdisjoint(bad)
    assert known_hosts("0.0.0.0", ["Graph.Example."]) == {"localhost", "127.0.0.1", "::1", "graph.example"}
    assert "192.0.2.1" in known_hosts("192.0.2.1", [])


# --- tokens and roles ---------------------------------------------------------------------------------

NEEDS = [
    ("POST", "/update", "write"),
    ("POST", "/sparql", "write"),
    ("PUT", "/store?graph=urn:g", "write"),
    ("POST", "/store?graph=urn:g", "write"),
    ("DELETE", "/store?graph=urn:g", "write"),
    ("GET", "/diagnostics", "admin"),
]


@pytest.mark.parametrize(("method", "path", "role"), NEEDS)
def test_roles(method: str, path: str, role: str, guarded: Endpoint) -> None:
    def status(token: str | None) -> int:
        with guarded.client(token) as client:
            if path.startswith("/store"):
                return client.request(method, path, headers={"Content-Type": "text/turtle"}).status_code
            return client.request(method, path, data=UPDATE if method == "POST" else None).status_code

    assert status(None) == 401
    assert status("a-token-that-is-a-guess") == 401
    assert status(READ) == 403
    done = (200, 201, 204, 404)
    assert status(WRITE) in ((403,) if role == "admin" else done)
    assert status(ADMIN) in done


def test_who_needs_a_token_is_told_how_to_give_it(guarded: Endpoint, answering: Endpoint) -> None:
    with guarded.client() as client:
        assert client.post("/update", data=UPDATE).headers["www-authenticate"].startswith("Bearer")
        basic = client.get("/health", headers={"Authorization": "Basic dXNlcjpwYXNz"})
        assert basic.status_code == 401
        assert client.get("/health", headers={"Authorization": "Basic ?"}).status_code == 401
        assert client.get("/health", headers={"Authorization": "Digest dXNlcjpwYXNz"}).status_code == 401
        assert client.post("/update", data=UPDATE, auth=("anybody", READ)).status_code == 403
        assert client.post("/update", data=UPDATE, auth=("anybody", WRITE)).status_code == 204
    with answering.client() as client:
        assert "--token-file" in client.post("/update", data=UPDATE).json()["hint"]


def test_token_files(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# people\nwrite  0123456789abcdef  # Ada\n\nadmin fedcba9876543210\n")
    file.chmod(0o600)
    access = Access.of_settings(ServerSection(token_file=file, anonymous="nothing"))
    assert access.role_of("0123456789abcdef")[0] == "write"
    assert access.role_of("fedcba9876543210")[0] == "admin"
    with pytest.raises(Problem):
        access.role_of("0123456789abcdeF")
    assert "0123456789abcdef" not in repr(vars(access))
    for bad in ("owner 0123456789abcdef", "write", "write a b", "write short"):
        file.write_text(bad)
        with pytest.raises(ConfigError) as raised:
            Access(read_tokens(file))
        assert "0123456789abcdef" not in str(raised.value)
    with pytest.raises(ConfigError):
        read_tokens(tmp_path / "nowhere")


def test_nothing_is_open_where_anonymous_clients_may_do_nothing(tmp_path: Path) -> None:
    env = {"GRAPHRAG_RDF_SERVER__READ_TOKEN": READ}
    with (
        Endpoint.start(tmp_path / "store", "--anonymous", "nothing", **env) as endpoint,
        endpoint.client() as client,
    ):
        for path in ("/sparql?query=ASK%7B%7D", "/sparql", "/store?default", "/metrics"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers=bearer(READ)).status_code == 200
        assert client.get("/health").status_code == 200


# --- calls of other servers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def called() -> Iterator[tuple[int, list[str]]]:
    """A server that must never be called: its port, and what was asked of it."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1], asked
        server.shutdown()


QUERIES = [
    "SELECT * { SERVICE <URL> { ?s ?p ?o } }",
    "SELECT * { service silent <URL> { ?s ?p ?o } }",
    "SELECT * { BIND(<URL> AS ?u) SERVICE ?u { ?s ?p ?o } }",
    "PREFIX e: <URL> SELECT * { SeRvIcE e: { ?s ?p ?o } }",
    "ASK { #'\nSERVICE <URL> { ?s ?p ?o } #'\n}",
    "ASK { FILTER(?x<?y&&'>'!=\"\") SERVICE <URL> { ?a ?b ?c } FILTER(''='') }",
    "ASK { <x:\\u0041'> ?p ?o . SERVICE <URL> { ?a ?b ?c } FILTER(''='') }",
    "SELECT * { { SELECT * { SERVICE <URL> { ?s ?p ?o } } } }",
    "ASK { FILTER EXISTS { SERVICE <URL> { ?s ?p ?o } } }",
    'ASK { BIND("""\\""" AS ?x) } #""" \n SERVICE <URL> {} }',
]
UPDATES = [
    "LOAD <URL>",
    "LOAD SILENT <URL> INTO GRAPH <urn:g>",
    "INSERT DATA { <urn:s> <urn:p> 1 } ; load <URL>",
    "INSERT { ?s ?p ?o } WHERE { SERVICE <URL> { ?s ?p ?o } }",
    "INSERT { ?s ?p ?o } WHERE { FILTER(?x<?y&&'>'!=\"\") SERVICE <URL> { ?s ?p ?o } FILTER(''='') }",
]


@pytest.mark.parametrize("query", QUERIES)
def test_service_calls_nobody(query: str, client: httpx.Client, called: tuple[int, list[str]]) -> None:
    port, asked = called
    found = client.get("/sparql", params={"query": query.replace("URL", f"http://127.0.0.1:{port}/")})
    assert found.status_code in (400, 403), found.text
    assert asked == []


@pytest.mark.parametrize("update", UPDATES)
def test_load_calls_nobody(update: str, client: httpx.Client, called: tuple[int, list[str]]) -> None:
    port, asked = called
    found = client.post("/update", data={"update": update.replace("URL", f"http://127.0.0.1:{port}/")})
    assert found.status_code in ((204,) if "SILENT" in update else (400, 403)), found.text
    assert asked == []


def test_the_words_themselves_are_no_crime(client: httpx.Client) -> None:
    query = "PREFIX service: <urn:service:> SELECT ?Service ?service { BIND('load SERVICE <x>' AS ?service) }"
    found = client.get("/sparql", params={"query": query})
    assert found.json()["results"]["bindings"][0]["service"]["value"] == "load SERVICE <x>"
    update = "INSERT DATA { <urn:load> <urn:service> 'LOAD <http://example.org/> it' } # SERVICE"
    assert client.post("/update", data={"update": update}).status_code == 204


def test_what_is_uploaded_calls_nobody(client: httpx.Client, called: tuple[int, list[str]]) -> None:
    """External entities, imports and remote contexts."""
    port, asked = called
    url = f"http://127.0.0.1:{port}/"
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    uploads = {
        "application/rdf+xml": f'<!DOCTYPE r [<!ENTITY x SYSTEM "{url}">]><rdf:RDF xmlns:rdf="{rdf}" '
        f'xmlns:e="urn:"><rdf:Description rdf:about="urn:s"><e:p>&x;</e:p></rdf:Description></rdf:RDF>',
        "application/ld+json": f'{{"@context": "{url}", "@id": "urn:s", "urn:p": "x"}}',
        "text/turtle": f"<urn:o> <http://www.w3.org/2002/07/owl#imports> <{url}> .",
    }
    for media_type, body in uploads.items():
        found = client.put("/store?graph=urn:g", content=body, headers={"Content-Type": media_type})
        assert found.status_code in (201, 204, 400)
    assert asked == []


RDF_XML = (
    '<!DOCTYPE rdf:RDF [ENTITIES]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns:e="urn:"><rdf:Description rdf:about="urn:s"><e:p>TEXT</e:p></rdf:Description></rdf:RDF>'
)
LAUGHS = '<!ENTITY e0 "boom">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))


@pytest.mark.parametrize(
    ("entities", "text", "status"),
    [
        ('<!ENTITY owl "http://www.w3.org/2002/07/owl#">', "&owl;Class &amp; &#65;", 201),
        (LAUGHS, "&e11;", 400),
        (f"<!ENTITY long '{'x' * 100_000}'>", "&long;" * 1000, 400),
        ("<!ENTITY % p '<!ENTITY e \"x\">'> %p;", "&e;", 400),
        ("", "&nothing;", 400),
    ],
)
def test_entity_bombs(entities: str, text: str, status: int, client: httpx.Client) -> None:
    body = RDF_XML.replace("ENTITIES", entities).replace("TEXT", text)
    found = client.put("/store?graph=urn:g", content=body, headers={"Content-Type": "application/rdf+xml"})
    assert found.status_code == status


# --- how much -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bodies_have_limits(tmp_path: Path) -> None:
    env = {"GRAPHRAG_RDF_SERVER__MAX_BODY_MB": "1", "GRAPHRAG_RDF_SERVER__MAX_QUERY_KB": "64"}
    with (
        Endpoint.start(tmp_path / "store", "--anonymous", "write", **env) as endpoint,
        endpoint.client() as client,
    ):
        turtle = {"Content-Type": "text/turtle"}
        big = b"#" * (2 << 20)
        assert client.put("/store?default", content=big, headers=turtle).status_code == 413
        chunked = iter([big[: 1 << 19]] * 4)
        assert client.put("/store?default", content=chunked, headers=turtle).status_code == 413
        import gzip

        bomb = gzip.compress(b"#" * (20 << 20))
        packed = {**turtle, "Content-Encoding": "gzip"}
        assert client.put("/store?default", content=bomb, headers=packed).status_code == 413
        good = gzip.compress(b"<urn:s> <urn:p> 1 .")
        assert client.put("/store?default", content=good, headers=packed).status_code == 204
        assert client.put("/store?default", content=good[:-4], headers=packed).status_code == 400
        unknown = {**turtle, "Content-Encoding": "br"}
        assert client.put("/store?default", content=b"", headers={**unknown}).status_code == 415
        assert client.post("/sparql", data={"query": f"ASK {{}} #{'x' * 70_000}"}).status_code == 413


def test_heads_have_limits(answering: Endpoint) -> None:
    long = b"GET /sparql?query=" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"
    assert answering.raw(long)[0] == 431
    many = b"".join(b"X-%d: y\r\n" % n for n in range(9000))
    assert answering.raw(b"GET /health HTTP/1.1\r\nHost: HOST\r\n" + many + b"\r\n")[0] == 431


def test_a_request_about_no_path_is_answered(answering: Endpoint) -> None:
    asked = b"OPTIONS * HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n"
    before = len(answering.log)
    status, headers, _ = answering.raw(asked)
    assert status == 404
    assert headers["connection"] == "close"
    after = {"X-Request-Id": "after-it"}
    with answering.client() as client:
        client.get("/health", headers=after).raise_for_status()
    eventually(lambda: any("after-it" in line for line in answering.log))
    assert [line for line in answering.log[before:] if "Traceback" in line] == []


def test_bodies_say_how_long_they_are(answering: Endpoint) -> None:
    request = b"POST /sparql HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/sparql-query\r\n"
    assert answering.raw(request + b"Connection: close\r\n\r\n")[0] == 411
    both = request + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
    assert answering.raw(both)[0] == 400
    twice = request + b"Content-Length: 6\r\nContent-Length: 7\r\nConnection: close\r\n\r\nASK {}"
    assert answering.raw(twice)[0] == 400


@pytest.mark.parametrize(
    "request_",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\x00"],
)
def test_what_is_no_http_is_refused(request_: bytes, answering: Endpoint) -> None:
    assert answering.raw(request_)[0] in (0, 400)


@pytest.mark.slow
def test_slow_clients_are_let_go(answering: Endpoint) -> None:
    """Ten seconds for the head of a request, however it trickles."""
    slow = [answering.connect() for _ in range(50)]
    start = time.monotonic()
    try:
        while time.monotonic() - start < 12:
            for connection in slow:
                with contextlib.suppress(OSError):
                    connection.sendall(b"G" if time.monotonic() - start < 0.5 else b"")
            time.sleep(0.5)
        with answering.client() as client:
            assert client.get("/health").status_code == 200
        for connection in slow:
            connection.settimeout(2)
            assert b"408" in connection.recv(200)
    finally:
        for connection in slow:
            connection.close()


def test_rates(tmp_path: Path) -> None:
    rate = Rate(60)
    for _ in range(60):
        rate.take("a")
    with pytest.raises(Problem) as raised:
        rate.take("a")
    assert raised.value.status == 429
    assert int(raised.value.headers["Retry-After"]) >= 1
    rate.take("b")
    Rate(None).take("a")
    env = {"GRAPHRAG_RDF_SERVER__REQUESTS_PER_MINUTE": "20"}
    with Endpoint.start(tmp_path / "store", **env) as endpoint, endpoint.client() as client:
        answers = [client.get("/health") for _ in range(25)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert refused[0].headers["retry-after"]


def test_guesses_of_tokens_are_counted_over_a_websocket_too(tmp_path: Path) -> None:
    env = {"GRAPHRAG_RDF_SERVER__REQUESTS_PER_MINUTE": "20"}
    with (
        Endpoint.start(tmp_path / "store", **env) as endpoint,
        connect(f"ws{endpoint.url[4:]}/ask/ws") as socket,
    ):
        said = []
        for guess in range(25):
            socket.send(json.dumps({"question": "x", "token": f"guess number {guess:09}"}))
            said.append(json.loads(socket.recv(timeout=20))["error"]["status"])
        assert said[0] == 401
        assert said[-1] == 429


def test_places_are_given_back() -> None:
    places = Concurrency(2)
    with places.slot("a"), places.slot("a"):
        with pytest.raises(Problem), places.slot("a"):
            pass
        with places.slot("b"):
            pass
    with places.slot("a"):
        pass


# --- what must never come out -------------------------------------------------------------------------


def test_every_answer_has_the_headers_of_caution(guarded: Endpoint) -> None:
    with guarded.client() as client:
        for path in PATHS:
            found = client.get(path)
            assert "default-src 'self'" in found.headers["content-security-policy"]
            assert found.headers["x-content-type-options"] == "nosniff"
            assert found.headers["x-request-id"]
            assert "server" not in found.headers
        sent = client.get("/health", headers={"X-Request-Id": "mine-1"})
        assert sent.headers["x-request-id"] == "mine-1"
        odd = client.get("/health", headers={"X-Request-Id": "a b<script>"})
        assert "script" not in odd.headers["x-request-id"]


def test_a_planted_key_comes_out_nowhere(tmp_path: Path) -> None:
    """Not in answers, metrics, logs, errors, the store, or the processes that run strangers' queries."""
    key = "sk-planted-key-of-this-test"
    env = {
        "GRAPHRAG_RDF_LLM__API_KEY": key,
        "OPENAI_API_KEY": key,
        "GRAPHRAG_RDF_SERVER__ADMIN_TOKEN": f"admin-{key}",
    }
    with Endpoint.start(tmp_path / "store", "-v", **env) as endpoint:
        said = b""
        with endpoint.client(f"admin-{key}") as client:
            for path in (*PATHS, "/openapi.json", "/traces", "/documents", "/entities"):
                for response in (client.get(path), client.post(path, content=b"{"), client.put(path)):
                    said += response.content + str(response.headers).encode()
            said += client.post("/update", data={"update": "CLEAR NOTHING"}).content
            said += client.get("/diagnostics").content
            wrong = client.get("/health", headers=bearer(f"wrong-{key}"))
            said += wrong.content
        for pid in endpoint.children():
            environ = Path(f"/proc/{pid}/environ")
            said += environ.read_bytes() if environ.exists() else b""
        endpoint.stop()
    said += "".join(endpoint.log).encode()
    for file in (tmp_path / "store").rglob("*"):
        said += file.read_bytes() if file.is_file() else b""
    assert key.encode() not in said


NAMES = st.from_regex(r"\A[A-Za-z][A-Za-z0-9-]{0,20}\Z")
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)
SPECIAL = st.sampled_from(
    ["Accept", "Accept-Encoding", "If-None-Match", "If-Modified-Since", "GraphRAG-Min-Commit", "X-Request-Id"]
)


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    headers=st.dictionaries(st.one_of(SPECIAL, NAMES), VALUES, max_size=6),
    path=st.sampled_from(["/sparql", "/store?default", "/health", "/ask", "/nowhere"]),
    method=st.sampled_from(["GET", "POST", "PUT", "QUERY", "HEAD"]),
    body=st.binary(max_size=200),
    media_type=st.sampled_from(
        [
            "application/sparql-query",
            "application/x-www-form-urlencoded",
            "application/json",
            "text/turtle",
            "multipart/form-data; boundary=x",
        ]
    ),
)
def test_no_request_is_a_fault_of_ours(
    headers: dict[str, str], path: str, method: str, body: bytes, media_type: str, answering: Endpoint
) -> None:
    """Whatever comes: an answer or a refusal, never a 5xx and never silence."""
    framing = {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "expect",
        "upgrade",
        "content-type",
    }
    lines = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in framing]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: HOST", *lines, f"Content-Type: {media_type}"])
    length = f"\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    status, _, _ = answering.raw(head.encode("latin-1") + length.encode() + body)
    assert 200 <= status < 500


def test_the_address_is_noted_for_others(answering: Endpoint) -> None:
    note = (answering.store / "holder.json").read_text()
    assert answering.url in note
    assert str(os.getpid()) not in note
    assert socket.gethostbyname("localhost")
