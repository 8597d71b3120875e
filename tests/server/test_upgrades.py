"""Offers to go over to HTTP/2, as Java's HTTP client makes them: the request is served as if without."""

from __future__ import annotations

import socket
import time

import pytest

from tests.support.endpoint import Endpoint

OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n"
UPDATE = b"INSERT DATA { <urn:offered> <urn:p> 1 }"
ASK = b"ASK { <urn:offered> ?p ?o }"


def post(kind: bytes, body: bytes, *, chunked: bool = False) -> tuple[bytes, bytes]:
    """(head, body) of a request with an offer."""
    framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
    head = b"POST /sparql HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/sparql-%b\r\n" % kind
    if chunked:
        body = b"%x\r\n%b\r\n5\r\n     \r\n0\r\n\r\n" % (len(body), body)
    return head + OFFER + framing + b"\r\n\r\n", body


def read(connection: socket.socket) -> tuple[int, bytes]:
    """One response, which tells its length or has none."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(lines.get(b"content-length", 0)):
        body += connection.recv(65536)
    return int(head.split()[1]), body


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("cut", ["whole", "behind the head", "in the offer", "in the body"])
def test_the_body_is_read(chunked: bool, cut: str, endpoint: Endpoint) -> None:
    """Also in pieces, and with another request behind it on the same connection."""
    head, body = post(b"update", UPDATE, chunked=chunked)
    request = head.replace(b"HOST", endpoint.url.removeprefix("http://").encode()) + body
    at = {
        "whole": len(request),
        "behind the head": request.index(b"\r\n\r\n") + 4,
        "in the offer": request.index(b"h2c") + 1,
        "in the body": len(request) - 9,
    }[cut]
    with endpoint.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in filter(None, (request[:at], request[at:])):
            connection.sendall(piece)
            time.sleep(0.05)
        assert read(connection)[0] == 204
        head, body = post(b"query", ASK)
        connection.sendall(head.replace(b"HOST", endpoint.url.removeprefix("http://").encode()) + body)
        status, answer = read(connection)
    assert status == 200
    assert b"true" in answer


def test_requests_behind_each_other_are_answered_in_turn(endpoint: Endpoint) -> None:
    host = endpoint.url.removeprefix("http://").encode()
    requests = [
        b"".join(post(b"update", UPDATE)),
        b"".join(post(b"query", ASK)),
        b"".join(post(b"query", b"ASK {")),
    ]
    with endpoint.connect() as connection:
        connection.sendall(b"".join(requests).replace(b"HOST", host))
        data = b""
        while data.count(b"HTTP/1.1 ") < 3 or not data.endswith(b"}"):
            data += connection.recv(65536)
    found = [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:]]
    assert found == [204, 200, 400]


def test_what_else_the_connection_header_says_is_kept(endpoint: Endpoint) -> None:
    head, body = post(b"query", ASK)
    head = head.replace(b"HTTP2-Settings\r\n", b"HTTP2-Settings, close\r\n", 1)
    status, headers, _ = endpoint.raw(head + body)  # reads until the server closes
    assert status == 200
    assert headers["connection"] == "close"


def test_connect_is_refused(endpoint: Endpoint) -> None:
    status, headers, _ = endpoint.raw(b"CONNECT example.org:443 HTTP/1.1\r\nHost: HOST\r\n\r\n")
    assert status in (404, 405)
    assert headers["content-type"] == "application/problem+json"
