"""`/changes`: the states of the store, and what changed since one, as RDF Patch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing

from pyoxigraph import Literal, NamedNode, Triple
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.layout import StorePaths
from graphrag_rdf.rdf.namespaces import DCTERMS, PROV, RAG, RDF, Namespace
from graphrag_rdf.rdf.terms import datetime_, integer
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem, hint_of
from graphrag_rdf.server.representations import Forms, parameter, represent
from graphrag_rdf.server.routing import Route
from graphrag_rdf.server.service import COMMIT, Service, address_of, service_of
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.wings.history.difference import difference, rdf_patch
from graphrag_rdf.wings.history.states import State, find_state, read_states

_PATCH = "application/rdf-patch"
_LDES, _TREE = Namespace("https://w3id.org/ldes#"), Namespace("https://w3id.org/tree#")
_LINES = 1000
_one = asyncio.Semaphore(1)
"""Comparisons at a time: each reads the whole store."""


async def changes(request: Request) -> Response:
    """The states, as JSON or as a stream of Linked Data Event Streams. With `since`, a commit or time, all
    changed quads but traces from there to `until`, or to now, as RDF Patch.
    """
    require(request, "read")
    service = service_of(request)
    place = service.engine.place
    if place is None or service.remote is not None:
        raise Problem(404, tr("only a store in a folder has a history"))
    since, until = parameter(request, "since"), parameter(request, "until")
    if since is None and until is not None:
        raise Problem(400, tr("until needs since"))
    if since is None:
        address = address_of(request)

        def forms(_: Service) -> Forms:
            states = [state for state in read_states(place) if state.folder is not None]
            items = [
                {"commit": state.commit, "time": state.time.isoformat()}
                | {"by": state.by, "command": state.command}
                for state in states
            ]
            return Forms(json=lambda: {"items": items}, rdf=lambda: _stream(address, states))

        return await represent(request, forms)
    async with _one:
        commit = service.store.commit_number()
        lines = await asyncio.to_thread(_patch, service, since, until)
    return StreamingResponse(
        lines, media_type=_PATCH, headers={COMMIT: str(commit), "Cache-Control": "no-store"}
    )


def _stream(address: str, states: Sequence[State]) -> Iterator[Triple]:
    """Each change as a member, whose address gives it as RDF Patch
    (https://w3id.org/ldes/specification, https://w3id.org/tree/specification).
    """
    stream, view = NamedNode(f"{address}#stream"), NamedNode(address)
    yield Triple(stream, RDF.type, _LDES.EventStream)
    yield Triple(stream, _LDES.timestampPath, PROV.endedAtTime)
    yield Triple(stream, _TREE.view, view)
    yield Triple(view, RDF.type, _TREE.Node)
    for before, state in zip([0, *(state.commit for state in states)], states, strict=False):
        member = NamedNode(f"{address}?since={before}&until={state.commit}")
        yield Triple(stream, _TREE.member, member)
        yield Triple(member, RDF.type, PROV.Activity)
        yield Triple(member, PROV.endedAtTime, datetime_(state.time))
        yield Triple(member, RAG.commit, integer(state.commit))
        yield Triple(member, DCTERMS.creator, Literal(state.by))
        yield Triple(member, DCTERMS.description, Literal(state.command))


def _patch(service: Service, since: str, until: str | None) -> Iterator[str]:
    place = service.engine.place
    assert place is not None  # noqa: S101 - see `changes`
    try:
        with _opened(service, place, since) as before:
            if until is None:
                lines = list(rdf_patch(difference(before, service.store)))
            else:
                with _opened(service, place, until) as after:
                    lines = list(rdf_patch(difference(before, after)))
    except GraphRagError as error:
        raise Problem(404, error.message, **hint_of(error)) from error
    return ("".join(f"{line}\n" for line in lines[at : at + _LINES]) for at in range(0, len(lines), _LINES))


def _opened(service: Service, place: StorePaths, at: str) -> closing[EmbeddedStore]:
    """The store at a commit or time; at commit 0 it is empty."""
    if at == "0":
        return closing(EmbeddedStore(service.store.templates))
    state = find_state(place, at)
    assert state.folder is not None  # noqa: S101 - it is kept
    return closing(EmbeddedStore(service.store.templates, state.folder / "oxigraph", read_only=True))


ROUTES = (
    Route(
        "/changes",
        "GET",
        changes,
        "States of the store, and what changed since one.",
        "since until",
        gives=("application/json", "text/turtle", _PATCH),
    ),
)
