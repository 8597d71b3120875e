"""Questions to servers that answer, refuse, break off, or are none."""

from __future__ import annotations

import contextvars
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BaseDirection, BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.client import Client, Question, ServerError, events, read_token
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import set_language
from graphrag_rdf.rdf.json_values import to_json
from graphrag_rdf.trace.messages import GraphRagResponse

ASKED = Question("Who?")
MESSAGE = GraphRagResponse(message_type="chunk", kind="answer", message_id="0", response="text")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def serving(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that sends each connection its bytes and hangs up; (its address, what it was sent)."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for answer in answers:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(5)
                    received.append(_request(connection))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", received
    thread.join(5)


def _request(connection: socket.socket) -> bytes:
    data = b""
    while piece := connection.recv(65536):
        data += piece
        head, ended, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if ended and len(body) >= (int(length[1]) if length else 0):
            break
    return data


def chunk(text: str) -> bytes:
    data = text.encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(message: GraphRagResponse) -> str:
    return f"id: 0\nevent: x\ndata: {json.dumps(to_json(message))}\n\n"


def problem(status: int, detail: str, more: str = "", **other: str) -> bytes:
    body = json.dumps({"title": "x", "status": status, "detail": detail, **other}).encode()
    head = f"HTTP/1.1 {status} No\r\nContent-Type: application/problem+json\r\n{more}"
    return head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def refused(url: str, read: Callable[[Client], object] = lambda c: list(c.ask(ASKED))) -> str:
    with pytest.raises((ServerError, UsageError)) as caught:
        read(Client(url))
    return f"{caught.value.message} | {caught.value.hint}"


def test_messages_come_as_they_were_sent() -> None:
    last = GraphRagResponse(
        message_type="chunk", kind="final", message_id="1", end_of_session=True, answer={"answer": "text"}
    )
    data = HEAD + chunk(": still at it\n\n" + event(MESSAGE)) + chunk(event(last)) + b"0\r\n\r\n"
    with serving(data) as (url, received):
        assert list(
            Client(f"{url}/", "secret").ask(Question("Whö?", include=("a",), parameters={"edge_limit": 3}))
        ) == [
            MESSAGE,
            last,
        ]
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert b"POST /ask HTTP/1.1" in head
    assert b"Authorization: Bearer secret" in head
    assert json.loads(body) == {
        "question": "Whö?",
        "pipeline": "graph_rag",
        "edge_limit": 3,
        "include": ["a"],
    }


def test_the_server_learns_the_language_of_messages() -> None:
    def asked_in(tag: str) -> bytes:
        set_language(tag)
        with serving(problem(404, "no")) as (url, received):
            refused(url)
        return re.findall(rb"accept-language: (\S+)", received[0].lower())[0]

    assert contextvars.copy_context().run(asked_in, "zh-CN") == b"zh-cn"
    assert contextvars.copy_context().run(asked_in, "en") == b"en"


@pytest.mark.parametrize("end", [b"", b"0\r\n\r\n", b"40\r\ndata: {"])
def test_a_stream_that_breaks_off_is_no_answer(end: bytes) -> None:
    """Whether the connection is cut, or the body ends as it should before the last message."""
    seen: list[GraphRagResponse] = []
    with serving(HEAD + chunk(event(MESSAGE)) + end) as (url, _):
        assert "broke off after 1 messages" in refused(url, lambda c: seen.extend(c.ask(ASKED)))
    assert seen == [MESSAGE]


def test_a_run_that_fails_midway_says_why() -> None:
    fault = f"event: error\ndata: {json.dumps({'status': 503, 'detail': 'the model is gone'})}\n\n"
    with serving(HEAD + chunk(fault) + b"0\r\n\r\n") as (url, _):
        assert "the model is gone" in refused(url)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (problem(401, "this needs a token of role write"), "--token-file"),
        (problem(401, "this needs a token of role write", hint="start it with"), "start it with"),
        (problem(403, "pages of x may not ask"), "may not ask"),
        (problem(429, "too many", "Retry-After: 7\r\n"), "try again in 7 s"),
        (problem(503, "the server is stopping"), "try again later"),
        (problem(422, "session: unfit"), "session: unfit"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
            "not a graphrag-rdf server",
        ),
        (
            b"HTTP/1.1 404 No\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
            "not a graphrag-rdf server",
        ),
        (b"HTTP/1.1 302 No\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n", "answers 302"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not a graphrag-rdf server"),
        (b"", "not a graphrag-rdf server"),
        (HEAD + chunk('data: {"hello": 1}\n\n'), "a message is malformed"),
        (HEAD + chunk("data: [1]\n\n"), "a message is malformed"),
    ],
)
def test_what_refuses_or_is_no_server_of_ours(answer: bytes, told: str) -> None:
    """The message names the address and the way out; nothing is followed elsewhere."""
    with serving(answer) as (url, _):
        said = refused(url)
    assert told in said
    assert url in said


@pytest.mark.parametrize(
    "read",
    [
        lambda c: c.items("/decisions", {}, None),
        lambda c: c.decide(("a", "b", "c")),
        lambda c: c.undo(["urn:x"]),
        lambda c: c.undo_about(("a", "b", "c")),
        lambda c: c.ask_again("last", "replay", {}),
        lambda c: c.ask_again("last", "ask-without", {"documents": ["x"]}),
    ],
)
def test_json_of_another_server_is_no_answer(read: Callable[[Client], object]) -> None:
    """Such as that of a model, whose address is easily mistaken for ours."""
    body = b'{"object": "chat.completion", "choices": []}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    with serving(head + body) as (url, _):
        assert "not a graphrag-rdf server: its answer has no" in refused(url, read)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert "cannot be reached" in refused(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    "url", ["localhost:7878", "ftp://x", "http://", "http://a:b@x/", "http://x:99999", "x?q"]
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UsageError, match="not the address") as caught:
        Client(url)
    assert "a:b" not in caught.value.message


def test_tokens_from_files(tmp_path: Path) -> None:
    file = tmp_path / "token"
    for text in ("secret\n", "# mine\n\nread secret\nadmin other\n"):
        file.write_text(text)
        assert read_token(file) == "secret"
    for text in ("", "# none", "a b c", "ä"):
        file.write_text(text)
        with pytest.raises(UsageError):
            read_token(file)
    with pytest.raises(UsageError):
        read_token(tmp_path / "missing")


def test_a_token_that_goes_unencrypted_to_another_computer_is_told(caplog: pytest.LogCaptureFixture) -> None:
    Client("http://127.0.0.1:1", "secret")
    Client("https://example.org", "secret")
    assert not caplog.records
    Client("http://example.org", "secret")
    assert "without encryption" in caplog.text
    assert "secret" not in caplog.text


_IRIS = st.sampled_from(["urn:a", "http://example.org/ü"]).map(NamedNode)
_LITERALS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])).map(Literal),
    st.integers().map(Literal),
    st.booleans().map(Literal),
    st.just(Literal("x", language="de")),
    st.just(Literal("x", language="ar", direction=BaseDirection("rtl"))),
)
_TERMS = st.recursive(
    st.one_of(_IRIS, _LITERALS, st.just(BlankNode("b"))),
    lambda inner: st.builds(Triple, _IRIS, _IRIS, inner),
    max_leaves=3,
)


@given(st.lists(st.builds(Quad, _IRIS, _IRIS, _TERMS, st.one_of(_IRIS, st.just(DefaultGraph()))), max_size=4))
def test_messages_survive_the_way(quads: list[Quad]) -> None:
    message = GraphRagResponse(
        message_type="explain",
        kind="focus",
        message_id="3",
        explain_id="urn:x",
        explain_triples=tuple(quads),
        label="Focus",
        summary="selections: 2",
    )
    assert GraphRagResponse.from_json(json.loads(json.dumps(to_json(message)))) == message


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1)))
def test_events_in_any_division_of_lines(texts: list[str]) -> None:
    stream = "".join(f": c\nevent: x\ndata: {text}\n\n" for text in texts) + "data: cut off"
    assert list(events(iter(stream.encode().splitlines(keepends=True)))) == texts
