"""Triples that clients load: `/api/v1/flow/{flow}/import/triples`.

Those of a named graph are added to it. The others are facts: once the client has sent all of them, they are
imported as `graphrag-rdf import` does it, with provenance, and searched and cited like extracted ones.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Triple
from starlette.websockets import WebSocket

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.access import authenticate, require
from graphrag_rdf.server.http.problems import Problem, problem_of
from graphrag_rdf.server.http.questions import read_object
from graphrag_rdf.server.representations import iri_of
from graphrag_rdf.server.routes.sparql import settled
from graphrag_rdf.server.service import service_of
from graphrag_rdf.wings.trustgraph.terms import from_wire

log = logging.getLogger(__name__)

_REFUSED = 1008
_IRI = re.compile(r"[a-zA-Z][\w+.-]*:[^\s<>\"{}|\\^`]+\Z")
_TRIPLES = "triples"
_IGNORED = ("entity-contexts",)
"""Texts for embeddings, which the indexes take from labels here."""


async def import_socket(socket: WebSocket) -> None:
    """Take what a client sends until it closes the connection. It reads no answer: a refusal is a closed
    connection, and a line in the log.
    """
    try:
        _admit(socket)
        await socket.accept()
        name, quads = await _received(socket)
        if quads:
            await _write(socket, name, quads)
    except (Problem, GraphRagError) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        log.warning("an import was refused: %s", problem.detail)
        with suppress(RuntimeError):  # it has closed the connection
            await socket.close(_REFUSED, problem.detail[:120])


def _admit(socket: WebSocket) -> None:
    if socket.path_params["kind"] not in (_TRIPLES, *_IGNORED):
        raise Problem(404, tr("there is no import of {kind}").format(kind=socket.path_params["kind"]))
    if token := socket.query_params.get("token"):
        authenticate(socket, token)
    require(socket, "write")
    service_of(socket).require_writable()


async def _received(socket: WebSocket) -> tuple[str, list[Quad]]:
    """The name of what a client loads, and its triples."""
    service = service_of(socket)
    most, size, name = service.settings.max_body_mb << 20, 0, ""
    quads: list[Quad] = []
    async for text in _texts(socket):
        size += len(text)
        if size > most:
            raise Problem(
                413,
                tr("an import has at most {max_body_mb} MB").format(max_body_mb=service.settings.max_body_mb),
            )
        if socket.path_params["kind"] == _TRIPLES:
            batch = _batch(text)
            about = batch.get("metadata") or {}
            service.require_collection(about.get("collection"))
            name = str(about.get("id") or name)
            quads += map(_quad, batch.get("triples") or ())
    return name, quads


async def _texts(socket: WebSocket) -> AsyncIterator[str]:
    """The messages of a client until it closes the connection."""
    try:
        async for text in socket.iter_text():
            yield text
    except KeyError:
        raise Problem(400, tr("messages are sent as text")) from None


def _batch(text: str) -> dict[str, Any]:
    batch = read_object(text)
    about, triples = batch.get("metadata") or {}, batch.get("triples") or []
    if not isinstance(about, Mapping) or not isinstance(triples, list):
        raise Problem(400, tr("a message of an import is not a JSON object with metadata and triples"))
    return batch


def _quad(data: Any) -> Quad:
    if not isinstance(data, Mapping):
        raise Problem(400, tr("a triple is not a JSON object"))
    s, p, o = (from_wire(data.get(part)) for part in "spo")
    if not isinstance(p, NamedNode) or not isinstance(s, NamedNode | BlankNode):
        raise Problem(400, tr("not a triple: {data}").format(data=str(data)[:200]))
    return Quad(s, p, o, iri_of(str(data["g"])) if data.get("g") else DefaultGraph())


async def _write(socket: WebSocket, name: str, quads: list[Quad]) -> None:
    service = service_of(socket)
    facts = [quad for quad in quads if isinstance(quad.graph_name, DefaultGraph)]
    graphs: dict[NamedNode, list[Triple]] = {}
    for quad in quads:
        if isinstance(quad.graph_name, NamedNode):
            graphs.setdefault(quad.graph_name, []).append(quad.triple)

    def write() -> int:
        from graphrag_rdf.exchange.foreign import take_facts

        for graph, triples in graphs.items():
            passed = service.gate.graph(graph, triples, replace=False)
            service.graphs.write_graph(graph, triples, replace=False)
            passed.keep()
        if facts:
            source = NamedNode(name) if _IRI.match(name) else None
            named = ox.Dataset(facts)
            named.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)  # the same file gives the same names
            data = "".join(sorted(f"{quad.triple} .\n" for quad in named)).encode()
            with service.engine.keeping_indexes():
                take_facts(service.engine, data, sorted(named, key=str), name=name, source=source)
        return settled(service)

    service.wrote(socket, await service.writes.run(write))
