"""TrustGraph's protocol as its clients speak it, and the terms of their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.support.endpoint import Endpoint

RETRIEVAL, SOURCE = "urn:graph:retrieval", "urn:graph:source"
TG, PROV = "https://trustgraph.ai/ns/", "http://www.w3.org/ns/prov#"
TYPE, LABEL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.w3.org/2000/01/rdf-schema#label"


def iri(name: str) -> dict[str, str]:
    """The wire form of an IRI."""
    return {"t": "i", "i": name}


def plain(text: str) -> dict[str, str]:
    """The wire form of a literal, as its command line sends all of them."""
    return {"t": "l", "v": text}


def value(term: dict[str, Any]) -> Any:
    """What a term says."""
    if term["t"] == "t":
        return tuple(value(term["tr"][part]) for part in "spo")
    return term.get("i") or term.get("v")


class Socket:
    """A connection after its greeting."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self._number = 0

    def send(self, service: str, **request: Any) -> str:
        """Send a request; its id."""
        self._number += 1
        frame = {"id": f"req-{self._number}", "workspace": "default", "flow": "default", "service": service}
        self.socket.send(json.dumps({**frame, "request": request}))
        return str(frame["id"])

    def receive(self) -> dict[str, Any]:
        """The next frame."""
        found: dict[str, Any] = json.loads(self.socket.recv(timeout=30))
        return found

    def ask(self, service: str, **request: Any) -> list[dict[str, Any]]:
        """All responses to a request; an error is the last one."""
        sent, found = self.send(service, **request), []
        while True:
            frame = self.receive()
            assert frame["id"] == sent
            found.append(frame.get("response", frame))
            if frame["complete"]:
                return found

    def triples(self, **request: Any) -> list[tuple[Any, Any, Any]]:
        """The triples of a pattern, as what they say."""
        (found,) = self.ask("triples", **{"limit": 100, "collection": "default", **request})
        return [tuple(value(one[part]) for part in "spo") for one in found["response"]]  # type: ignore[misc]

    def about(self, subject: str, graph: str = RETRIEVAL) -> dict[str, list[Any]]:
        """Predicate → values of a thing, as its client reads them."""
        found: dict[str, list[Any]] = {}
        for _, predicate, thing in self.triples(s=iri(subject), g=graph):
            found.setdefault(predicate, []).append(thing)
        return found


@contextmanager
def greeted(endpoint: Endpoint, token: str = "") -> Iterator[Socket]:
    """A connection whose first frame was answered with `auth-ok`."""
    address = endpoint.url.replace("http", "ws", 1)
    with connect(f"{address}/api/v1/socket") as socket:
        socket.send(json.dumps({"type": "auth", "token": token}))
        assert json.loads(socket.recv(timeout=30)) == {"type": "auth-ok", "default_workspace": "default"}
        yield Socket(socket)
