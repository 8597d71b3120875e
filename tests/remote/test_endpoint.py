"""How an endpoint is spoken to, and what its refusals are told as."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from urllib.parse import parse_qs

import pytest

from graphrag_rdf.errors import EndpointError, GraphRagError, MalformedError, StoreError, UsageError
from graphrag_rdf.store.answers import read_results
from graphrag_rdf.store.endpoint import Addresses, Endpoint, RemoteSettings
from graphrag_rdf.store.wrapper import _opener
from tests.support.gateway import Gateway, Passed, Said, in_turn

JSON = {"Content-Type": "application/sparql-results+json"}
YES = Said(200, b'{"head": {}, "boolean": true}', JSON)


def talk(judge: Callable[[Passed], Said | None], **settings: object) -> tuple[Gateway, Endpoint]:
    gateway = Gateway(judge=judge)
    given = {"retries": 0, "timeout": 5.0, **settings}
    return gateway, Endpoint(Addresses.of(gateway.url), RemoteSettings(**given))  # type: ignore[arg-type]


def refusal(answer: Said, *, update: bool = False) -> GraphRagError:
    gateway, endpoint = talk(in_turn(answer))
    with gateway, pytest.raises(GraphRagError) as caught:
        endpoint.update("INSERT DATA {}") if update else endpoint.query("ASK {}")
    assert gateway.url in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("url", "query", "update"),
    [
        ("http://h:7878", "http://h:7878/query", "http://h:7878/update"),
        ("http://h:7878/", "http://h:7878/query", "http://h:7878/update"),
        ("http://h/ds/query", "http://h/ds/query", "http://h/ds/update"),
        ("http://h/repositories/mine", "http://h/repositories/mine", "http://h/repositories/mine/statements"),
        ("https://h/sparql", "https://h/sparql", "https://h/sparql"),
        ("https://h/sparql?infer=no", "https://h/sparql?infer=no", "https://h/sparql?infer=no"),
    ],
)
def test_addresses_follow_what_servers_do(url: str, query: str, update: str) -> None:
    assert Addresses.of(url) == Addresses(query, update)
    given = Addresses.of(url, update="http://h/elsewhere")
    assert given == Addresses(query, "http://h/elsewhere")


@pytest.mark.parametrize("url", ["ftp://h/x", "http://", "http://h:port/", "file:///etc/passwd"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        Addresses.of(url)


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="user or password") as caught:
        Addresses.of("http://me:hunter2@h/sparql")
    assert "hunter2" not in str(caught.value) + (caught.value.hint or "")


@pytest.mark.parametrize(
    ("url", "warned"),
    [("http://h/sparql", 1), ("https://h/sparql", 0), ("http://localhost:1", 0), ("http://[::1]:1", 0)],
)
def test_credentials_without_encryption_are_warned_of(
    url: str, warned: int, caplog: pytest.LogCaptureFixture
) -> None:
    Endpoint(Addresses.of(url))
    assert not caplog.records
    Endpoint(Addresses.of(url), RemoteSettings(token="planted"))
    assert len(caplog.records) == warned
    assert "planted" not in caplog.text


def test_queries_are_sent_in_a_form_and_updates_directly() -> None:
    gateway, endpoint = talk(in_turn(YES))
    with gateway:
        assert read_results(endpoint.query("ASK { ?s ?p 'ü' }")).boolean
        endpoint.update("INSERT DATA { <a:a> <a:b> 'ü' }", {"X-Mine": "yes"})
    asked, written = gateway.passed
    assert asked.path == "/query"
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert asked.headers["accept"] == "application/sparql-results+json"
    assert asked.headers["user-agent"].startswith("graphrag-rdf/")
    assert asked.body == "ASK { ?s ?p 'ü' }"
    assert written.path.rstrip("?") == "/update"
    assert written.headers["content-type"] == "application/sparql-update"
    assert written.headers["x-mine"] == "yes"


def test_parameters_of_an_address_are_kept() -> None:
    with Gateway(judge=in_turn(YES)) as gateway:
        endpoint = Endpoint(Addresses.of(f"{gateway.url}/sparql?infer=false&x=1"))
        endpoint.query("ASK {}")
        endpoint.update("CLEAR ALL")
    asked, written = gateway.passed
    assert parse_qs(asked.sent) == {"query": ["ASK {}"], "infer": ["false"], "x": ["1"]}
    assert written.path == "/sparql?infer=false&x=1"


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"user": "me", "password": "hunter2"}, "Basic bWU6aHVudGVyMg=="),
        ({"token": "secret-token"}, "Bearer secret-token"),
        ({}, None),
    ],
)
def test_credentials_are_sent_and_shown_nowhere(settings: dict[str, str], sent: str | None) -> None:
    gateway, endpoint = talk(in_turn(YES), **settings)
    with gateway:
        endpoint.query("ASK {}")
    assert gateway.passed[0].headers.get("authorization") == sent
    shown = repr(endpoint.settings) + repr(endpoint.addresses)
    assert not any(secret in shown for secret in settings.values() if len(secret) > 2)


def test_what_may_pass_is_tried_again() -> None:
    soon = {"Retry-After": "0"}
    answers = (Said(503, b"busy", soon), Said(429, b"slower", soon), Said(502, b"", soon), YES)
    gateway, endpoint = talk(in_turn(*answers), retries=3)
    with gateway:
        assert read_results(endpoint.query("ASK {}")).boolean
    assert len(gateway.passed) == 4


def test_a_connection_that_breaks_is_tried_again() -> None:
    gateway, endpoint = talk(in_turn(Said(0), YES), retries=1)
    with gateway:
        assert read_results(endpoint.query("ASK {}")).boolean
    assert len(gateway.passed) == 2


def test_what_does_not_pass_is_told() -> None:
    gateway, endpoint = talk(in_turn(Said(503, b"down for repair", {"Retry-After": "0"})), retries=2)
    with gateway, pytest.raises(StoreError, match=r"503.*down for repair"):
        endpoint.query("ASK {}")
    assert len(gateway.passed) == 3


def test_nobody_there_is_told() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{found.getsockname()[1]}"
        with pytest.raises(StoreError, match=f"cannot reach {url}/query") as caught:
            Endpoint(Addresses.of(url), RemoteSettings(retries=0)).query("ASK {}")
    assert "that the endpoint runs" in (caught.value.hint or "")


def test_an_answer_that_does_not_come_is_told_and_not_waited_for_again() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(StoreError, match=r"did not answer within 0.2 seconds") as caught:
            Endpoint(Addresses.of(url), RemoteSettings(timeout=0.2)).query("ASK {}")
    assert "remote.timeout" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("status", "update", "kind", "said"),
    [
        (400, False, MalformedError, "reports a malformed query: why it does"),
        (401, False, EndpointError, "requires credentials"),
        (403, False, EndpointError, "refuses this client"),
        (403, True, EndpointError, "accepts no updates from this client"),
        (405, True, EndpointError, "accepts no updates from this client"),
        (404, False, EndpointError, "is not a SPARQL endpoint"),
        (413, True, EndpointError, "accepts no update of this size"),
        (500, False, EndpointError, "failed to run the query"),
    ],
)
def test_refusals_say_what_to_do(status: int, update: bool, kind: type[GraphRagError], said: str) -> None:
    error = refusal(Said(status, b"why it does", {"Content-Type": "text/plain"}), update=update)
    assert type(error) is kind
    assert said in error.message
    assert error.hint or status == 400


@pytest.mark.parametrize("settings", [{"user": "me", "password": "hunter2"}, {"token": "hunter2"}])
def test_credentials_that_are_not_taken_are_told_from_none(settings: dict[str, str]) -> None:
    gateway, endpoint = talk(in_turn(Said(401, b"who?")), **settings)
    with gateway, pytest.raises(EndpointError, match="rejected the credentials") as caught:
        endpoint.query("ASK {}")
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_an_update_that_may_have_been_run_is_not_sent_twice() -> None:
    """Unless it is said to be the same when it is run twice."""
    soon = {"Retry-After": "0"}
    for answer in (Said(0), Said(502, b"", soon), Said(504, b"", soon)):
        gateway, endpoint = talk(in_turn(answer, YES), retries=3)
        with gateway:
            with pytest.raises(EndpointError):
                endpoint.update("INSERT {} WHERE {}", idempotent=False)
            assert len(gateway.passed) == 1
            gateway.judge = in_turn(answer, YES)
            endpoint.update("INSERT DATA {}")
            assert len(gateway.passed) == 3
    gateway, endpoint = talk(in_turn(Said(503, b"busy", soon), Said(429, b"slower", soon), YES), retries=3)
    with gateway:
        endpoint.update("INSERT {} WHERE {}", idempotent=False)  # it was not begun
    assert len(gateway.passed) == 3


def test_a_page_in_html_is_not_shown() -> None:
    assert "<p>" not in refusal(Said(500, b"<p>Error</p>", {"Content-Type": "text/html"})).message


def test_a_redirection_is_not_followed_and_takes_no_token_along() -> None:
    with Gateway(judge=in_turn(YES)) as other:
        gateway, endpoint = talk(in_turn(Said(302, b"", {"Location": f"{other.url}/query"})), token="secret")
        with gateway, pytest.raises(StoreError, match=f"redirects to {other.url}/query"):
            endpoint.query("ASK {}")
    assert other.passed == []


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Welcome</html>",
        b'{"head": {"vars": ["s"]}, "results": {"bin',
        b"[]",
        b'{"head": {}, "boolean": "false"}',
    ],
)
def test_what_is_no_answer_or_half_of_one_is_told(body: bytes) -> None:
    gateway, endpoint = talk(in_turn(Said(200, body, JSON)))
    with gateway, pytest.raises(EndpointError, match="instead of SPARQL results") as caught:
        read_results(endpoint.query("SELECT * {}"))
    assert f"{gateway.url}/query" in caught.value.message
    assert caught.value.address == f"{gateway.url}/query"


def test_results_are_read_as_engines_write_them() -> None:
    triple = {name: {"type": "uri", "value": f"urn:{name}"} for name in "sp"}
    old = {"type": "triple", "value": {**triple, "o": {"type": "literal", "value": "x"}}}
    row = {
        "a": {"type": "typed-literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
        "b": {"type": "literal", "value": "hi", "xml:lang": "en"},
        "c": {"type": "bnode", "value": "nodeID://b10"},
        "t": old,
        "u": {"type": "literal", "value": "hi", "xml:lang": "ar", "its:dir": "rtl"},
    }
    answer = {
        "head": {"vars": list("abctu")},
        "metadata": {},
        "results": {"bindings": [row], "ordered": True},
    }
    gateway, endpoint = talk(in_turn(Said(200, json.dumps(answer).encode(), JSON)))
    with gateway:
        found = read_results(endpoint.query("SELECT * {}"))
    assert found.variables == tuple("abctu")
    assert {name: str(term) for name, term in (found.rows or [{}])[0].items()} == {
        "a": '"1"^^<http://www.w3.org/2001/XMLSchema#integer>',
        "b": '"hi"@en',
        "c": "_:b10",
        "t": '<urn:s> <urn:p> "x"',
        "u": '"hi"@ar--rtl',
    }


@pytest.mark.parametrize(("value", "said"), [("1", True), ("0", False)])
def test_a_yes_that_comes_as_a_row_is_a_yes(value: str, said: bool) -> None:
    integer = "http://www.w3.org/2001/XMLSchema#integer"
    row = {"__ASK_RETVAL": {"type": "typed-literal", "datatype": integer, "value": value}}
    answer = {"head": {"vars": ["__ASK_RETVAL"]}, "results": {"bindings": [row]}}
    gateway, endpoint = talk(in_turn(Said(200, json.dumps(answer).encode(), JSON)))
    with gateway:
        assert read_results(endpoint.query("ASK {}")).boolean is said


def test_who_was_gone_is_asked_once_until_it_answers() -> None:
    """Whoever waits for a server in front of an endpoint is not kept waiting for what is known."""
    gateway, endpoint = talk(in_turn(Said(0)), retries=1)
    with gateway:
        for tries in (2, 3, 4):
            with pytest.raises(EndpointError, match="cannot reach"):
                endpoint.query("ASK {}")
            assert len(gateway.passed) == tries
        gateway.judge = in_turn(YES, Said(0), YES)
        assert read_results(endpoint.query("ASK {}")).boolean
        assert read_results(endpoint.query("ASK {}")).boolean  # tried again, as before
    assert len(gateway.passed) == 7


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Said(200, YES.body, {**JSON, "X-SPARQL-MaxRows": "10000"}), "limits results to 10000 rows"),
        (Said(200, YES.body, {**JSON, "X-SQL-State": "S1TAT"}), "an incomplete result"),
        (Said(206, YES.body, JSON), "an incomplete result"),
    ],
)
def test_a_part_of_an_answer_is_told(answer: Said, said: str) -> None:
    gateway, endpoint = talk(in_turn(answer))
    with gateway, pytest.raises(EndpointError, match=said) as caught:
        endpoint.query("SELECT * {}")
    assert "virtuoso.ini" in (caught.value.hint or "")


def test_an_answer_that_ends_early_is_asked_for_again() -> None:
    """The connection is closed before as much came as was promised."""
    cut = Said(200, YES.body, {**JSON, "Content-Length": str(len(YES.body) + 5)})
    gateway, endpoint = talk(in_turn(cut, YES), retries=1)
    with gateway:
        assert read_results(endpoint.query("ASK {}")).boolean
    assert len(gateway.passed) == 2
    gateway, endpoint = talk(in_turn(cut))
    with gateway, pytest.raises(EndpointError, match=r"cannot reach .*: IncompleteRead"):
        endpoint.query("ASK {}")


def test_compressed_answers_are_unpacked() -> None:
    packed = {**JSON, "Content-Encoding": "gzip"}
    gateway, endpoint = talk(in_turn(Said(200, gzip.compress(YES.body), packed)))
    with gateway:
        assert read_results(endpoint.query("ASK {}")).boolean
    assert gateway.passed[0].headers["accept-encoding"] == "identity"  # on one computer it only takes time
    gateway, endpoint = talk(in_turn(Said(200, gzip.compress(YES.body)[:-9], packed)))
    with gateway, pytest.raises(EndpointError, match="damaged compressed response"):
        endpoint.query("ASK {}")


def test_no_proxy_is_between_programs_of_one_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it get to know who asks."""
    with Gateway(judge=in_turn(YES)) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        _opener.cache_clear()
        gateway, endpoint = talk(in_turn(YES), token="secret")
        with gateway:
            assert read_results(endpoint.query("ASK {}")).boolean
        assert proxy.passed == []
    _opener.cache_clear()


def test_other_computers_are_reached_through_the_proxy_and_asked_to_compress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Gateway(judge=in_turn(YES)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        _opener.cache_clear()
        endpoint = Endpoint(Addresses.of("http://store.invalid/sparql"), RemoteSettings(retries=0))
        assert read_results(endpoint.query("ASK {}")).boolean
        assert proxy.passed[0].path == "http://store.invalid/sparql"
        assert proxy.passed[0].headers["accept-encoding"] == "gzip"
    _opener.cache_clear()
