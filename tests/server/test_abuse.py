"""Requests that are made to hurt: each was found by trying it on a running server."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import select
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.server import connection as server_connection
from graphrag_rdf.server.connection import HEAD_SECONDS
from graphrag_rdf.server.execution.nesting import DEEPEST, LONGEST_CHAIN, check_nesting, check_rdf_nesting
from graphrag_rdf.server.execution.sparql_text import inspect_query
from graphrag_rdf.server.http.access import Access
from graphrag_rdf.server.run import READ_SECONDS
from graphrag_rdf.sparql.tokens import tokens
from tests.support.endpoint import READ, Endpoint, eventually, wire_answers

# --- depth: what is too deep for the stack would end the process ---------------------------------------

DEPTH = 20_000


def nested(opening: str, closing: str, depth: int = DEPTH) -> str:
    """Brackets in brackets."""
    return opening * depth + closing * depth


def exists(depth: int) -> str:
    """A pattern of patterns that are looked for."""
    return nested("{ FILTER EXISTS ", "}", depth).replace("}", "{}}", 1)


DEEP_UPDATES = {
    "braces": f"INSERT {{}} WHERE {nested('{', '}')}",
    "brackets": f"INSERT {{}} WHERE {{ BIND({nested('(', ')')} AS ?x) }}",
    "triple terms": f"INSERT DATA {{ <urn:a> <urn:b> {nested('<<(<urn:a> <urn:b> ', ')>>')} }}",
    "blank nodes": f"INSERT DATA {{ <urn:a> <urn:b> {nested('[<urn:p> ', ']')} }}",
    "exists": f"INSERT {{}} WHERE {exists(DEPTH)}",
    "not": f"INSERT {{}} WHERE {{ FILTER({'!' * DEPTH}true) }}",
    "sums": f"INSERT {{}} WHERE {{ BIND({'1+' * DEPTH}1 AS ?x) }}",
    "signed": f"INSERT {{}} WHERE {{ BIND(1{' +1' * DEPTH} AS ?x) }}",
    "unions": f"INSERT {{}} WHERE {{ {{}}{' UNION {}' * DEPTH} }}",
    "hidden by a string": f"INSERT {{}} WHERE {{ BIND('{'}' * DEPTH}' AS ?x) {nested('{', '}')} }}",
}
TERM, END = "<<( <urn:a> <urn:b> ", " )>> # .\n"
DEEP_RDF = {
    "text/turtle": f"<urn:a> <urn:b> {TERM * DEPTH}1{END * DEPTH} .",
    "application/n-triples": f"<urn:a> <urn:b> {TERM * DEPTH}<urn:c>{' )>>' * DEPTH} .",
    "application/ld+json": nested('{"@id":"urn:a","urn:p":', "}").replace(":}", ":1}"),
    "application/rdf+xml": "<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='urn:e:'>"
    f"{nested('<e:a><e:b>', '</e:b></e:a>')}</r:RDF>",
}


@pytest.mark.parametrize("update", DEEP_UPDATES.values(), ids=DEEP_UPDATES)
def test_an_update_that_is_too_deep_is_refused(update: str, client: httpx.Client) -> None:
    refused = client.post("/update", content=update, headers={"Content-Type": "application/sparql-update"})
    assert refused.status_code == 400
    assert client.post("/update", data={"update": "INSERT DATA { <urn:a> <urn:b> 1 }"}).status_code == 204


@pytest.mark.parametrize("media_type", DEEP_RDF)
def test_rdf_that_is_too_deep_is_refused(media_type: str, client: httpx.Client) -> None:
    headers = {"Content-Type": media_type}
    assert client.put("/store?graph=urn:g", content=DEEP_RDF[media_type], headers=headers).status_code == 400
    assert client.get("/health").status_code == 200


def test_what_passes_the_limits_passes_the_stack(client: httpx.Client) -> None:
    """The most that is let on, of what takes most of the stack."""
    depth, chain = DEEPEST - 10, LONGEST_CHAIN - 10
    within = (
        f"INSERT {{}} WHERE {exists(depth)}",
        f"INSERT {{}} WHERE {{ BIND({'IF(true,' * depth}1{',1)' * depth} AS ?x) }}",
        f"INSERT {{}} WHERE {{ BIND({'1+' * chain}1 AS ?x) }}",
        f"INSERT {{}} WHERE {{ {{}}{' UNION {}' * chain} }}",
        f"INSERT DATA {{ <urn:a> <urn:b> {'<<(<urn:a> <urn:b> ' * depth}1{')>>' * depth} }}",
    )
    for update in within:
        headers = {"Content-Type": "application/sparql-update"}
        assert client.post("/update", content=update, headers=headers).status_code == 204


def test_much_is_not_deep() -> None:
    many = " ".join(f"<urn:s{i}> <urn:p> <<( <urn:a> <urn:b> {i} )>> ; <urn:q> (1 -2) ." for i in range(3000))
    check_nesting(f"INSERT DATA {{ {many} }}")
    check_rdf_nesting(many, "text/turtle")
    numbers = [str(-number) for number in range(20_000)]
    check_nesting(f"SELECT * {{ VALUES ?x {{ {' '.join(numbers)} }} FILTER(?x IN ({', '.join(numbers)})) }}")
    check_rdf_nesting(
        json.dumps([{"@id": f"urn:{i}", "urn:p": "[{" * 9} for i in range(3000)]), "application/ld+json"
    )
    check_rdf_nesting("<a>" + "<b></b>" * 3000 + "</a>", "application/rdf+xml")


def test_a_store_in_memory_is_as_hard_to_hurt() -> None:
    """Queries run in the process of the server there."""
    with Endpoint.start(":memory:") as endpoint, endpoint.client() as client:
        query = f"ASK {nested('{', '}')}"
        headers = {"Content-Type": "application/sparql-query"}
        assert client.post("/sparql", content=query, headers=headers).status_code == 400
        query = f"ASK {exists(DEEPEST - 10)}"
        assert client.post("/sparql", content=query, headers=headers).status_code == 200


# --- time: texts that a pattern of ours would look at over and over -------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "ASK{?a ?b ?c . ?d ?e ?f" + " " * 300_000 + "x",
        " " * 300_000 + "x",
        "SELECT ?a" + " " * 300_000 + "x",
        'SERVICE GRAPH "' + '\\"' * 150_000,
        "GRAPH ?g '''" + "\\'''" * 70_000,
    ],
    ids=["spaces", "leading", "variables", "string", "long string"],
)
def test_no_query_takes_long_to_look_at(text: str) -> None:
    """Not more than its length says: these took hours, the interpreter's lock in hand."""
    assert sum(1 for _ in tokens(text)) < 300_000


@given(st.text(st.sampled_from("\"'\\<>{}#a \n"), max_size=60))
def test_tokens_leave_nothing_out(text: str) -> None:
    """Whatever the quotes: tokens stand in order, apart, and only white space and comments between them."""
    end = 0
    for _, word, offset in tokens(text):
        between = text[end:offset]
        assert not between.strip() or between.lstrip().startswith("#")
        assert text[offset : offset + len(word)] == word
        end = offset + len(word)


def test_long_queries_are_not_remembered() -> None:
    query = 'ASK { <urn:s> ?p "%s" }' % ("x" * 100_000)
    assert inspect_query(query) is not inspect_query(query)
    assert inspect_query("ASK {}") is inspect_query("ASK {}")


def test_a_form_that_takes_long_to_decode_holds_up_nobody(endpoint: Endpoint, client: httpx.Client) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with ThreadPoolExecutor(1) as pool, endpoint.client() as other:
        start = time.monotonic()
        sent = pool.submit(client.post, "/sparql", content=b"query=" + b"%41" * 8_000_000, headers=form)
        longest = 0.0
        while not sent.done():
            asked = time.monotonic()
            assert other.get("/health").status_code == 200
            longest = max(longest, time.monotonic() - asked)
        assert sent.result().status_code == 413
        assert longest < (time.monotonic() - start) * 0.6


# --- memory ---------------------------------------------------------------------------------------------


def test_a_query_of_a_stranger_is_no_large_body(guarded: Endpoint) -> None:
    """Who may not write sends no more than a query takes, and is told before he has sent it."""
    head = "POST /sparql HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    for who in ("", f"Authorization: Bearer {READ}\r\n"):
        assert guarded.raw(f"{head}{who}Content-Length: 60000000\r\n\r\n".encode())[0] == 413


@pytest.fixture
def many(client: httpx.Client) -> httpx.Client:
    """A store with 250 literals, so that a join of all with all has rows for some megabytes."""
    rows = " ".join(f'<urn:s{i}> <urn:p> "{"x" * 100}{i}" .' for i in range(250))
    client.post("/update", data={"update": f"INSERT DATA {{ {rows} }}"}).raise_for_status()
    return client


JOIN = "/sparql?query=SELECT%20*%20%7B%3Fa%20%3Fb%20%3Fc.%3Fd%20%3Fe%20%3Ff%7DLIMIT%2010000"


def test_http_1_0_and_head_get_their_length(many: httpx.Client, endpoint: Endpoint) -> None:
    """A long answer waits on the disk; compressed it would have no length that could be told before."""
    for more in (b"", b"Accept-Encoding: gzip\r\n"):
        status, headers, body = endpoint.raw(
            b"GET %b HTTP/1.0\r\nHost: HOST\r\n%b\r\n" % (JOIN.encode(), more)
        )
        assert status == 200
        assert int(headers["content-length"]) == len(body) > 1 << 20
        assert len(json.loads(body)["results"]["bindings"]) == 10_000
    assert int(many.head(JOIN, headers={"Accept-Encoding": "identity"}).headers["content-length"]) == len(
        body
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes prlimit")
def test_a_disk_that_is_full_is_told_and_harms_nothing(tmp_path: Path) -> None:
    """No file may grow any more. The log names paths, clients see none. Readers keep what they have."""
    query = {"query": "ASK { <urn:a> <urn:b> 1 }"}
    some = {"update": "INSERT DATA { <urn:a> <urn:b> 1 }"}
    much = {"update": f'INSERT DATA {{ <urn:a> <urn:c> "{"x" * 500_000}" }}'}
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint, endpoint.client() as client:
        assert client.post("/update", data=some).status_code == 204
        assert client.get("/sparql", params=query).json()["boolean"] is True
        assert client.get("/health").status_code == 200
        resource.prlimit(endpoint.process.pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
        refused = client.post("/update", data=much)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        assert "/" not in refused.json()["detail"]
        eventually(lambda: str(tmp_path) in "".join(endpoint.log))
        assert client.get("/health").status_code == 503
        assert client.get("/sparql", params=query).json()["boolean"] is True
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint, endpoint.client() as client:
        assert client.get("/sparql", params=query).json()["boolean"] is True
        assert (
            client.get("/sparql", params={"query": "ASK { <urn:a> <urn:c> ?x }"}).json()["boolean"] is False
        )
        assert client.post("/update", data=much).status_code == 204


def test_an_answer_of_long_texts_is_not_held_by_the_server(client: httpx.Client, endpoint: Endpoint) -> None:
    """Few rows may be many bytes; the server passes them on as they come."""
    rows = " ".join(f'<urn:s{i}> <urn:long> "{str(i) * 200_000}" .' for i in range(10, 60))
    client.post("/update", data={"update": f"INSERT DATA {{ {rows} }}"}).raise_for_status()
    before = _memory(endpoint.process.pid)
    for limit in ("", "LIMIT 1000"):
        query = f"SELECT ?o {{ ?s <urn:long> ?o }} {limit}"
        answer = client.get("/sparql", params={"query": query}, headers={"Accept-Encoding": "identity"})
        assert len(answer.json()["results"]["bindings"]) == 50
    assert _memory(endpoint.process.pid) < before + 60


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes /proc")
def test_an_answer_of_few_long_rows_is_not_held_by_the_server(tmp_path: Path) -> None:
    """What the server holds is bounded by bytes, however few the rows are."""
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint, endpoint.client() as client:
        client.post("/update", data={"update": f'INSERT DATA {{ <urn:x> <urn:is> "{"x" * 3_000_000}" }}'})
        those = " ".join(f"<urn:s{n}>" for n in range(40))
        copies = f"INSERT {{ ?s <urn:long> ?o }} WHERE {{ VALUES ?s {{ {those} }} <urn:x> <urn:is> ?o }}"
        client.post("/update", data={"update": copies}).raise_for_status()
        process = Path(f"/proc/{endpoint.process.pid}")
        (process / "clear_refs").write_text("5")  # the peak is counted from here
        before = _memory(endpoint.process.pid)
        with client.stream(
            "GET", "/sparql", params={"query": "SELECT ?o { ?s <urn:long> ?o } LIMIT 50"}
        ) as found:
            assert sum(map(len, found.iter_raw())) > 40 * 3_000_000 / (1 << 10)  # it may be compressed
        (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB", (process / "status").read_text(), re.MULTILINE)
        assert int(peak) / 1024 < before + 80


# --- connections ----------------------------------------------------------------------------------------


LITTLE = """#!/bin/sh
ulimit -S -n %d && ulimit -H -n %d && exec "%s" "$@"
"""


@pytest.mark.parametrize(("soft", "hard"), [(512, 4096), (512, 512)])
def test_connections_do_not_use_up_the_files_of_the_store(
    soft: int, hard: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that finds none takes no write any more, also when there are some again."""
    little = tmp_path / "little"
    little.write_text(LITTLE % (soft, hard, sys.executable))
    little.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(little))
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint, endpoint.client() as client:

        def writes_and_reads(number: int) -> bool:
            update = f"INSERT DATA {{ <urn:a> <urn:b> {number} }}"
            written = client.post("/update", data={"update": update})
            found = client.get("/sparql", params={"query": f"ASK {{ ?s ?p ?o FILTER(?o = {number}) }}"})
            return (written.status_code, found.status_code, found.json().get("boolean")) == (204, 200, True)

        assert writes_and_reads(1)
        with contextlib.ExitStack() as held:
            connections: list[socket.socket] = []
            for _ in range(10):  # fewer at once than wait to be accepted, and the client's own is not to rest
                connections += [held.enter_context(endpoint.connect()) for _ in range(50)]
                assert writes_and_reads(2)
            if hard == 512:
                eventually(lambda: any(map(_is_readable, connections)))
            refused = [connection for connection in connections if _is_readable(connection)]
            assert bool(refused) == (hard == 512)
            for connection in refused[:1]:
                assert wire_answers(connection, 1)[0][0] == 503
        eventually(lambda: writes_and_reads(3))


def _is_readable(connection: socket.socket) -> bool:
    return bool(select.select([connection], [], [], 0)[0])


def test_trailers_are_no_headers(answering: Endpoint) -> None:
    """RFC 9110, section 6.5.1: a proxy that looks at the head of a request has not looked at these."""
    head = b"POST /sparql HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n"
    body = b"Content-Type: application/sparql-query\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nASK {}\r\n0\r\n"
    for trailers in (b"Authorization: Bearer nonsense\r\n", b"Host: evil.example\r\n", b"X: y\r\n" * 2_000):
        assert answering.raw(head + body + trailers + b"\r\n")[0] == 200


def test_many_requests_in_a_row_are_no_large_head(answering: Endpoint) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    count = 4000
    with answering.connect() as connection:
        connection.sendall(request * count + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        data = b""
        while piece := connection.recv(1 << 16):
            data += piece
    assert data.count(b"HTTP/1.1 200 OK") == count + 1


UPDATE = (
    b"POST /update HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-update\r\n"
    b"Content-Length: 39\r\n\r\nINSERT DATA { <urn:told> <urn:true> 1 }"
)
COUNT = b"GET /query?query=SELECT(COUNT(*)AS?n){?a?b?c.?d?e?f} HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("first", [UPDATE, COUNT], ids=["update", "query"])
@pytest.mark.parametrize(
    ("then", "status"),
    [
        (b"this is no HTTP\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nX: "
            + b"x" * 70_000
            + b"\r\n\r\nmore body",
            431,
        ),
    ],
    ids=["garbage", "head", "head and body"],
)
def test_what_comes_behind_a_request_is_refused_behind_its_answer(
    first: bytes, then: bytes, status: int, client: httpx.Client, endpoint: Endpoint
) -> None:
    """Else the answer of the one is taken for the other's: a write that was done was refused."""
    for request in (first + then, first * 3 + then):
        with endpoint.connect() as connection:
            connection.sendall(request)
            *before, (last, headers, _) = wire_answers(connection, request.count(first) + 1)
            assert {each[0] for each in before} <= {200, 204}
            assert (last, headers["connection"]) == (status, "close")
            assert connection.recv(1) == b""


def test_a_body_that_breaks_off_in_garbage_is_refused(endpoint: Endpoint) -> None:
    head = b"POST /update HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/sparql-update\r\n"
    for before in (b"", COUNT.replace(b"localhost", b"HOST")):
        found = endpoint.raw(before + head + b"Transfer-Encoding: chunked\r\n\r\n6\r\nINSERTnonsense")
        assert found[0] in ((200, 504) if before else (400,))  # behind the answer before it


@pytest.mark.slow
def test_a_head_that_does_not_come_is_refused_behind_the_answer_before_it(tmp_path: Path) -> None:
    options = ("--anonymous", "write", "--query-timeout", str(HEAD_SECONDS + 2))
    with Endpoint.start(tmp_path / "store", *options) as endpoint, endpoint.client() as client:
        rows = " ".join(f"<urn:s{i}> <urn:p> {i} ." for i in range(3000))
        client.post("/update", data={"update": f"INSERT DATA {{ {rows} }}"}).raise_for_status()
        endless = COUNT.replace(b"?f}", b"?f.?g?h?i}")
        with endpoint.connect() as connection:
            connection.settimeout(60)
            connection.sendall(endless + b"GET /health HTTP/1.1\r\nHo")
            (first, _, _), (second, _, _) = wire_answers(connection, 2)
            assert (first, second) == (504, 408)


def test_a_request_without_a_path(answering: Endpoint) -> None:
    assert answering.raw(b"OPTIONS * HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")[0] in (404, 405)
    assert not [line for line in answering.log if "failed" in line or "Traceback" in line]


@pytest.mark.slow
def test_nobody_keeps_a_connection_with_nothing(answering: Endpoint) -> None:
    """The end of a body that was not waited for, and empty lines."""
    with answering.connect() as late, answering.connect() as empty:
        late.sendall(b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        empty.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for connection, more in ((late, b"x"), (empty, b"\r\n")):
            wire_answers(connection, 1)
            connection.sendall(more)
            connection.settimeout(HEAD_SECONDS + 5)
        assert late.recv(100) == b""
        assert wire_answers(empty, 1)[0][0] == 400
        assert empty.recv(100) == b""


@pytest.mark.slow
def test_who_does_not_read_is_let_go_of(tmp_path: Path) -> None:
    """With what waits for him in memory; also at the end of an answer, and by HTTP/1.0."""
    with Endpoint.start(tmp_path / "store", "--anonymous", "write") as endpoint, endpoint.client() as client:
        rows = " ".join(f'<urn:s{i}> <urn:p> "{"x" * 100}{i}" .' for i in range(500))
        client.post("/update", data={"update": f"INSERT DATA {{ {rows} }}"}).raise_for_status()
        before = _memory(endpoint.process.pid)
        held: list[socket.socket] = []
        for version in (b"1.0", b"1.1") * 4:
            connection = endpoint.connect()
            query = JOIN.replace("10000", "250000").encode()
            connection.sendall(b"GET %b HTTP/%b\r\nHost: localhost\r\n\r\n" % (query, version))
            held.append(connection)
        time.sleep(20)
        assert _memory(endpoint.process.pid) < before + 60
        time.sleep(READ_SECONDS)
        for connection in held:
            assert _read(connection) < 70_000_000 / 4
            connection.close()
        started = time.monotonic()
        assert endpoint.stop() == 0
        assert time.monotonic() - started < 10


def _read(connection: socket.socket) -> int:
    """Bytes until the end, or until the connection is cut."""
    total = 0
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 20):
            total += len(data)
    return total


def _memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / (1 << 20)


# --- tokens, logs ---------------------------------------------------------------------------------------


def test_a_token_that_is_no_text(answering: Endpoint) -> None:
    with connect(f"{answering.url.replace('http', 'ws')}/ask/ws") as socket_:
        for _ in range(2):
            socket_.send('{"token": "\\ud800", "question": "x"}')
            assert json.loads(socket_.recv())["error"]["status"] == 401


def test_what_is_no_text_ends_a_websocket_with_a_reason(answering: Endpoint) -> None:
    with connect(f"{answering.url.replace('http', 'ws')}/ask/ws") as socket_:
        socket_.send(b"\x00")
        with pytest.raises(ConnectionClosedError):
            socket_.recv(timeout=30)
        assert (socket_.close_code, socket_.close_reason) == (1003, "questions are sent as text")


def test_a_websocket_has_no_head_that_could_be_late(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The limit is of the request that it began as, and ends with it, also if the client leaves early."""
    monkeypatch.setattr(server_connection, "HEAD_SECONDS", 0.2)

    async def echo(socket_: WebSocket) -> None:
        await socket_.accept()
        await socket_.send_text(await socket_.receive_text())

    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/", echo)]),
        http=server_connection.BoundedProtocol,
        ws="websockets-sansio",
        log_config=None,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            with connect(f"ws://127.0.0.1:{listening.getsockname()[1]}/", proxy=None) as client:
                with connect(f"ws://127.0.0.1:{listening.getsockname()[1]}/", proxy=None) as early:
                    early.send("bye")
                    early.recv(timeout=10)
                time.sleep(0.6)
                client.send("still here")
                assert client.recv(timeout=10) == "still here"
        finally:
            server.should_exit = True
            thread.join(10)
    assert "Exception in callback" not in caplog.text


@pytest.mark.parametrize("token", ["pässword-of-letters", "a token with spaces", "line\nends-0123456789"])
def test_a_token_that_no_header_carries_is_refused_at_the_start(token: str) -> None:
    from pydantic import SecretStr

    with pytest.raises(ConfigError, match="outside ASCII") as error:
        Access([("write", SecretStr(token))])
    assert token not in str(error.value)


def test_no_request_writes_lines_of_its_own_into_the_log(answering: Endpoint) -> None:
    forged = b"/x%0d%0ainfo:%20request=forged%1b%5b31m%e2%80%a8y?token=secret-in-the-url"
    answering.raw(
        b"GET " + forged + b" HTTP/1.1\r\nHost: HOST\r\nX-Request-Id: mine-7\r\nConnection: close\r\n\r\n"
    )
    answering.raw(b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n")
    eventually(lambda: any("request=mine-7" in line for line in answering.log))
    (line,) = (line for line in answering.log if "request=mine-7" in line)
    fields = dict(field.split("=", 1) for field in line.split()[1:])
    assert fields["path"] == forged.decode().partition("?")[0]
    assert fields["method"], fields["status"] == ("GET", "404")
    assert not [
        line for line in answering.log if line.startswith("info: request=forged") or "secret-in" in line
    ]
    assert max(map(len, answering.log)) < 600
