"""`/changes`: the states of the store, and what changed since one, as RDF Patch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.i18n import tr
from graphrag_rdf.server.http.access import require
from graphrag_rdf.server.http.problems import Problem, hint_of
from graphrag_rdf.server.representations import parameter
from graphrag_rdf.server.routing import Route
from graphrag_rdf.server.service import COMMIT, Service, service_of
from graphrag_rdf.store.embedded import EmbeddedStore
from graphrag_rdf.wings.history.difference import difference, rdf_patch
from graphrag_rdf.wings.history.states import find_state, read_states

_PATCH = "application/rdf-patch"
_LINES = 1000
_one = asyncio.Semaphore(1)
"""Comparisons at a time: each reads the whole store."""


async def changes(request: Request) -> Response:
    """The states that `since` takes; with `since`, a commit or time, all changed quads but traces from there
    to now, as RDF Patch.
    """
    require(request, "read")
    service = service_of(request)
    place = service.engine.place
    if place is None or service.remote is not None:
        raise Problem(404, tr("only a store in a folder has a history"))
    since = parameter(request, "since")
    if since is None:
        states = await asyncio.to_thread(read_states, place)
        items = [
            {"commit": state.commit, "time": state.time.isoformat(), "by": state.by, "command": state.command}
            for state in states
            if state.folder is not None
        ]
        return JSONResponse({"items": items}, headers={"Cache-Control": "no-store"})
    async with _one:
        commit = service.store.commit_number()
        lines = await asyncio.to_thread(_patch, service, since)
    return StreamingResponse(
        lines, media_type=_PATCH, headers={COMMIT: str(commit), "Cache-Control": "no-store"}
    )


def _patch(service: Service, since: str) -> Iterator[str]:
    place, templates = service.engine.place, service.store.templates
    assert place is not None  # noqa: S101 - see `changes`
    try:
        state = find_state(place, since)
        assert state.folder is not None  # noqa: S101 - it is kept
        with closing(EmbeddedStore(templates, state.folder / "oxigraph", read_only=True)) as before:
            lines = list(rdf_patch(difference(before, service.store)))
    except GraphRagError as error:
        raise Problem(404, error.message, **hint_of(error)) from error
    return ("".join(f"{line}\n" for line in lines[at : at + _LINES]) for at in range(0, len(lines), _LINES))


ROUTES = (Route("/changes", "GET", changes, "States of the store, and what changed since one.", "since"),)
