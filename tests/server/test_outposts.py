"""Outposts: processes of their own answer connections that only look things up, and nobody can tell."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from graphrag_rdf.server.execution.outposts import MOVES_AFTER
from graphrag_rdf.server.execution.ticket import close_all, received
from tests.support.endpoint import Endpoint, alive, eventually, wire_answers, wire_request

pytestmark = pytest.mark.skipif(os.name != "posix", reason="connections move over Unix sockets")

LOOKUP = "SELECT ?o { <urn:s> <urn:p> ?o } LIMIT 9"
HOP = "SELECT * { <urn:s> <urn:p> ?o . ?o ?q ?x }"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A server whose log has no line for each request."""
    store = tmp_path_factory.mktemp("outposts") / "store"
    with Endpoint.start(store, "--anonymous", "write", verbose=False) as endpoint:
        with endpoint.client() as client:
            text = "<urn:s> <urn:p> <urn:o1> , <urn:o2> , 7 . <urn:o1> <urn:q> 'x' . " + " ".join(
                f"<urn:big> <urn:p> '{'x' * 4300}{n}' ." for n in range(900)
            )
            client.put(
                "/store?default", content=text, headers={"Content-Type": "text/turtle"}
            ).raise_for_status()
        yield endpoint


class Caller:
    """A connection that is kept, and what it was answered."""

    def __init__(self, endpoint: Endpoint, *headers: str) -> None:
        self.endpoint = endpoint
        self.headers = headers
        self.connection = endpoint.connect()
        self.home = self.where()  # connections begin there

    def send(self, query: str, *headers: str) -> None:
        """Send a query, as it stands on the wire."""
        self.connection.sendall(wire_request(self.endpoint, query, *self.headers, *headers))

    def ask(self, query: str = LOOKUP, *headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send a query and read its answer."""
        self.send(query, *headers)
        (found,) = wire_answers(self.connection, 1)
        return found

    def where(self) -> str:
        """Which process answers a look-up: each has its own run of ids."""
        status, headers, _ = self.ask()
        assert status == 200
        return headers["x-request-id"].partition("-")[0]

    def move(self) -> str:
        """Look things up until another process than the server answers; which one."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            for _ in range(MOVES_AFTER):
                if (now := self.where()) != self.home:
                    return now
            time.sleep(0.05)
        raise AssertionError("the connection did not move")


@pytest.fixture
def caller(served: Endpoint) -> Iterator[Caller]:
    """A connection that has moved."""
    found = Caller(served)
    found.move()
    yield found
    found.connection.close()


def away(endpoint: Endpoint) -> int:
    """How many connections have moved."""
    with endpoint.client() as client:
        found = re.search(r"^graphrag_rdf_connections_away (\S+)", client.get("/metrics").text, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


def counted(endpoint: Endpoint) -> int:
    """Queries that were answered, by the metrics."""
    with endpoint.client() as client:
        text = client.get("/metrics").text
    found = re.findall(
        r'^graphrag_rdf_requests_total\{area="sparql",method="POST",status="2xx"\} (\S+)', text, re.M
    )
    return int(float(found[0])) if found else 0


def outposts(endpoint: Endpoint) -> list[int]:
    """Processes of outposts."""
    found = []
    for pid in endpoint.children():
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            if b"server.execution.outpost" in file.read():
                found.append(pid)
    return found


def test_nobody_can_tell(served: Endpoint, caller: Caller) -> None:
    """The same answers with the same headers, and all of them counted."""
    there = caller.ask(HOP)
    with served.connect() as connection:
        connection.sendall(wire_request(served, HOP))
        (here,) = wire_answers(connection, 1)
    assert there[2] == here[2]
    assert len(json.loads(there[2])["results"]["bindings"]) == 1
    for _, headers, _ in (here, there):
        for varying in ("x-request-id", "date"):
            assert headers.pop(varying)
    assert there[:2] == here[:2]
    assert away(served) >= 1
    time.sleep(1)  # what was answered before is told by then
    before = counted(served)
    for _ in range(50):
        caller.ask()
    eventually(lambda: counted(served) == before + 50)


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        (f"{LOOKUP} # the long way", (), 200),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", (), 200),
        (LOOKUP, ("Accept: text/csv",), 200),
        (LOOKUP, ("Accept: image/png",), 406),
        (LOOKUP, ("Origin: https://elsewhere.example",), 403),
        (LOOKUP, ("Authorization: Bearer nobody-knows-this-token",), 401),
        (LOOKUP, ("GraphRAG-Min-Commit: 999999",), 412),
        (LOOKUP, ("Host: elsewhere.example",), 400),
        ("SELECT * { nonsense", (), 400),
        ("SELECT * { nobody:declared <urn:p> ?o . ?o ?q ?x }", (), 400),
        ("SELECT * { <no-scheme> <urn:p> ?o . ?o ?q ?x }", (), 200),
        ("SELECT * { <urn:big> ?p ?o . ?o ?q ?x }", (), 200),
    ],
)
def test_what_is_no_look_up_like_the_last_is_answered_at_home(
    query: str, headers: tuple[str, ...], status: int, served: Endpoint, caller: Caller
) -> None:
    pids = outposts(served)
    found = caller.ask(query, *headers)
    assert found[0] == status
    assert found[1]["x-request-id"].partition("-")[0] == caller.home
    assert outposts(served) == pids
    assert caller.where() == caller.home  # it has to earn it again
    assert caller.move()


def test_requests_in_pieces_and_in_one_packet(served: Endpoint, caller: Caller) -> None:
    whole = wire_request(served, LOOKUP)
    for cut in (1, 40, len(whole) - 3):
        caller.move()
        caller.connection.sendall(whole[:cut])
        time.sleep(0.05)
        caller.connection.sendall(whole[cut:])
        ((status, _, body),) = wire_answers(caller.connection, 1)
        assert (status, len(json.loads(body)["results"]["bindings"])) == (200, 3)
    caller.move()
    caller.connection.sendall(whole * 20)
    bodies = {body for _, _, body in wire_answers(caller.connection, 20)}
    assert len(bodies) == 1


@pytest.mark.parametrize("moves", [True, False])
def test_more_requests_than_are_read_at_once(served: Endpoint, moves: bool) -> None:
    """Behind one that takes longer; where one packet ends, no head need end."""
    caller, many = Caller(served), 4000
    if moves:
        caller.move()
    long = wire_request(served, "SELECT (COUNT(*) AS ?n) { ?a <urn:p> ?b . ?c <urn:p> ?d }")
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(caller.connection.sendall, long + wire_request(served, LOOKUP) * many)
        assert {status for status, _, _ in wire_answers(caller.connection, many + 1)} == {200}
        sending.result()


def test_a_large_answer_to_a_client_that_is_slow_to_read(served: Endpoint, caller: Caller) -> None:
    big = "SELECT * { <urn:big> ?p ?o } LIMIT 400"
    caller.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
    caller.send(big)
    time.sleep(0.3)
    ((status, _, body),) = wire_answers(caller.connection, 1)
    assert status == 200
    assert len(json.loads(body)["results"]["bindings"]) == 400
    assert caller.ask()[0] == 200


def test_other_requests_on_the_same_connection(served: Endpoint) -> None:
    with served.client() as client:
        home = client.get("/health").headers["x-request-id"].partition("-")[0]
        look_up: Callable[[], httpx.Response] = lambda: client.get("/sparql", params={"query": LOOKUP})  # noqa: E731
        eventually(lambda: look_up().headers["x-request-id"].partition("-")[0] != home)
        assert client.get("/health").status_code == 200
        assert client.head("/sparql", params={"query": LOOKUP}).content == b""
        assert client.post("/update", data={"update": "INSERT DATA { <urn:a> <urn:b> 1 }"}).is_success


def test_a_write_is_seen_at_once_wherever_one_reads(served: Endpoint) -> None:
    """Who has written sees it in the next answer, on connections that have moved as on others."""
    callers = [Caller(served) for _ in range(6)]
    count = "SELECT ?n { <urn:counter> <urn:is> ?n }"
    seen: list[tuple[int, int, bool]] = []
    written = 0

    def read(caller: Caller) -> None:
        draw = random.Random(id(caller))
        while not done.is_set():
            least = written
            _, headers, body = caller.ask(count)
            rows = json.loads(body)["results"]["bindings"]
            is_away = headers["x-request-id"].partition("-")[0] != caller.home
            seen.append((least, int(rows[0]["n"]["value"]) if rows else 0, is_away))
            if draw.random() < 0.02:
                time.sleep(0.05)

    done = threading.Event()
    with served.client() as client, ThreadPoolExecutor(6) as pool:
        for caller in callers:
            caller.move()
        reading = [pool.submit(read, caller) for caller in callers]
        for value in range(1, 4):
            old, new = "<urn:counter> <urn:is> ?n", f"<urn:counter> <urn:is> {value}"
            update = f"DELETE WHERE {{ {old} }} ; INSERT DATA {{ {new} }}"
            client.post("/update", data={"update": update}).raise_for_status()
            written = value
            # they move again once the store rests
            eventually(lambda value=value: any(found == value and there for _, found, there in seen), 20)
        done.set()
        for each in reading:
            each.result()
    assert len(seen) > 200
    assert all(least <= found for least, found, _ in seen)
    assert {found for _, found, is_away in seen if is_away} >= {1, 2, 3}


def test_few_clients_share_the_outposts_there_may_be(tmp_path: os.PathLike[str]) -> None:
    """Also when all of them were there before the second outpost was."""
    two = {"GRAPHRAG_RDF_SERVER__OUTPOSTS": "2"}
    with Endpoint.start(str(tmp_path), verbose=False, **two) as endpoint:
        callers = [Caller(endpoint) for _ in range(8)]

        def shares() -> list[int]:
            for _ in range(MOVES_AFTER):
                places = [caller.where() for caller in callers]
            return sorted(Counter(places).values())

        eventually(lambda: shares() == [4, 4], 30)


def test_an_outpost_that_leaves(served: Endpoint, caller: Caller) -> None:
    """It is asked to, or has grown: its clients are answered at home, on the same connection."""
    resting = Caller(served)
    resting.move()
    pids = outposts(served)
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    eventually(lambda: caller.where() and not any(map(alive, pids)))
    assert resting.where() == resting.home
    assert caller.move()
    assert away(served) >= 1


def test_an_outpost_without_file_descriptors(served: Endpoint, caller: Caller) -> None:
    """It gives back what it has; connections that it could not take go on at the server."""
    import resource  # no such thing on Windows

    if not hasattr(resource, "prlimit"):
        pytest.skip("the limits of another process cannot be set")
    pids = outposts(served)
    for pid in pids:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3))  # what is open stays so
    callers = [caller, *(Caller(served) for _ in range(20))]
    for _ in range(3 * MOVES_AFTER):
        for each in callers:
            assert each.where()
    eventually(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("moves", [True, False])
def test_limits_on_answers_hold_for_look_ups(moves: bool, tmp_path: os.PathLike[str]) -> None:
    limits = {"GRAPHRAG_RDF_SERVER__MAX_ROWS": "10", "GRAPHRAG_RDF_SERVER__MAX_RESULT_MB": "1"}
    values = {"few": 9, "many": 20}
    data = " ".join(f"<urn:{name}> <urn:p> {n} ." for name, count in values.items() for n in range(count))
    data += " ".join(f"<urn:large> <urn:p> '{n}{'x' * 300_000}' ." for n in range(5))
    with Endpoint.start(str(tmp_path), "--anonymous", "write", verbose=False, **limits) as endpoint:
        with endpoint.client() as client:
            turtle = {"Content-Type": "text/turtle"}
            client.put("/store?default", content=data, headers=turtle).raise_for_status()
        for form in ("application/sparql-results+json", "text/csv"):
            caller = Caller(endpoint, f"Accept: {form}")
            for name, end, status in [
                ("few", "", 200),
                ("few", "LIMIT 20", 200),
                ("many", "LIMIT 10", 200),
                ("many", "LIMIT 20", 503),
                ("many", "", 503),
            ]:
                if moves:
                    caller.move()
                found = caller.ask(f"SELECT ?o {{ <urn:{name}> <urn:p> ?o }} {end}")[0]
                assert (found, name, end) == (status, name, end)
            for end, whole in [("LIMIT 3", True), ("LIMIT 5", False), ("", False)]:
                caller = Caller(endpoint, f"Accept: {form}")
                if moves:
                    caller.move()
                found, headers, _ = caller.ask(f"SELECT ?o {{ <urn:large> <urn:p> ?o }} {end}")
                assert (found == 200 and "content-length" in headers) == whole  # else refused, or cut off


def test_a_header_that_comes_twice_moves_nobody(served: Endpoint) -> None:
    caller = Caller(served, "X-Note: one", "X-Note: two")
    assert {caller.where() for _ in range(5 * MOVES_AFTER) if not time.sleep(0.01)} == {caller.home}


def test_connections_that_got_lost_are_not_taken_for_others() -> None:
    """A process without a file descriptor left gets the bytes that came with a connection, and not it."""
    import resource  # no such thing on Windows

    ours, theirs = socket.socketpair()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ours, theirs:
        socket.send_fds(ours, [b"x"], [ours.fileno()])
        os.close(least := os.dup(ours.fileno()))
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, hard))
        try:
            with pytest.raises(OSError, match="files"):
                received(theirs)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        socket.send_fds(ours, [b"x"], [ours.fileno()])
        data, fds = received(theirs)
        assert (data, len(fds)) == (b"x", 1)
        assert not os.get_inheritable(fds[0])
        close_all(fds)


def test_an_outpost_that_dies(served: Endpoint, caller: Caller) -> None:
    """Its clients connect again; nobody else notices."""
    other = Caller(served)
    for pid in outposts(served):
        os.kill(pid, signal.SIGKILL)
    assert caller.connection.recv(100) == b""
    assert other.ask()[0] == 200
    eventually(lambda: away(served) == 0)
    assert Caller(served).move()


def test_connections_on_their_way_to_an_outpost_that_dies(served: Endpoint, caller: Caller) -> None:
    """It never took them, so the server has them still."""
    eventually(lambda: away(served) == 1)  # with more there would be another one
    pids = outposts(served)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    callers = [Caller(served), Caller(served)]
    for each in callers:
        for _ in range(MOVES_AFTER - 1):  # it was answered once already
            assert each.where() == each.home
    eventually(lambda: away(served) == 3)
    for each in callers:
        each.send(LOOKUP)
        each.connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            each.connection.recv(1, socket.MSG_PEEK)
        each.connection.settimeout(20)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for each in callers:
        ((status, headers, _),) = wire_answers(each.connection, 1)
        assert (status, headers["x-request-id"].partition("-")[0]) == (200, each.home)


@pytest.mark.slow
def test_an_outpost_that_is_stuck_is_ended(served: Endpoint, caller: Caller) -> None:
    """So that its clients do not wait for ever; those on their way to it are answered at home."""
    eventually(lambda: away(served) == 1)
    pids = outposts(served)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    sent = Caller(served)
    for _ in range(MOVES_AFTER - 1):
        assert sent.where() == sent.home
    eventually(lambda: away(served) == 2)
    for each in (caller, sent):
        each.send(LOOKUP)
    with contextlib.suppress(ConnectionResetError):  # what it sent was not read
        assert caller.connection.recv(1) == b""
    ((status, _, _),) = wire_answers(sent.connection, 1)
    assert status == 200
    assert not any(map(alive, pids))
    eventually(lambda: away(served) == 0)


@pytest.mark.slow
def test_what_is_not_needed_goes_away(served: Endpoint, caller: Caller) -> None:
    assert outposts(served)
    start = time.monotonic()
    assert caller.connection.recv(100) == b""  # it was left resting
    assert 4 < time.monotonic() - start < 9
    pids = outposts(served)
    eventually(lambda: not outposts(served), 30)
    assert not any(map(alive, pids))
    with served.client() as client:
        client.post("/update", data={"update": "INSERT DATA { <urn:a> <urn:b> 2 }"}).raise_for_status()
    eventually(lambda: not list((served.store / "snapshots").glob("*")), 10)


@pytest.mark.parametrize(
    ("options", "env", "headers"),
    [
        ((), {"GRAPHRAG_RDF_SERVER__REQUESTS_PER_MINUTE": "100000"}, ()),
        ((), {"GRAPHRAG_RDF_SERVER__OUTPOSTS": "0"}, ()),
        (("-v",), {}, ()),
    ],
)
@pytest.mark.slow
def test_where_each_request_is_looked_at_none_moves(
    options: tuple[str, ...], env: dict[str, str], headers: tuple[str, ...], tmp_path: os.PathLike[str]
) -> None:
    with Endpoint.start(str(tmp_path), *options, verbose=False, **env) as endpoint:
        caller = Caller(endpoint, *headers)
        time.sleep(2.5)
        assert len({caller.where() for _ in range(10 * MOVES_AFTER)}) == 1
        time.sleep(1)
        assert len({caller.where() for _ in range(10 * MOVES_AFTER)}) == 1


@pytest.mark.slow
def test_a_stop_ends_outposts(tmp_path: os.PathLike[str]) -> None:
    with Endpoint.start(str(tmp_path), verbose=False) as endpoint:
        caller = Caller(endpoint)
        caller.move()
        pids = outposts(endpoint)
        assert pids
        assert endpoint.stop() == 0
        assert caller.connection.recv(100) == b""
        eventually(lambda: not any(map(alive, pids)))


@pytest.mark.slow
def test_outposts_that_are_stopped_hold_up_no_stop(tmp_path: os.PathLike[str]) -> None:
    with Endpoint.start(str(tmp_path), verbose=False) as endpoint:
        caller = Caller(endpoint)
        caller.move()
        pids = outposts(endpoint)
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        start = time.monotonic()
        assert endpoint.stop() == 0
        assert time.monotonic() - start < 10
        eventually(lambda: not any(map(alive, pids)))
