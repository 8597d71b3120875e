"""`/facts`: what people decided about facts - removals and corrections - and deciding or taking back more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graphrag_rdf.ingest.fact_edits import Edited
from graphrag_rdf.server.access import require
from graphrag_rdf.server.body import read_body
from graphrag_rdf.server.negotiation import content_type
from graphrag_rdf.server.problems import Problem
from graphrag_rdf.server.questions import read_request
from graphrag_rdf.server.representations import listed, parameter
from graphrag_rdf.server.service import COMMIT, Service, service_of

_BODY = 1 << 16
_Term = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class Instead(BaseModel):
    """What is otherwise in the fact that holds in the place of one; terms or labels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: _Term | None = None
    predicate: _Term | None = None
    object: _Term | None = None


class FactRequest(BaseModel):
    """The body of a decision about a fact, whose terms are labels or as in N-Triples.

    Attributes:
        instead: what holds in its place; None removes it.
        by, reason: who decides, and why.
        with_sentences: the text is wrong, not only its reading: questions leave out its sentences too.
        dry_run: decide nothing, tell what would be.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: _Term
    predicate: _Term
    object: _Term
    instead: Instead | None = None
    by: Annotated[str, StringConstraints(max_length=200)] | None = None
    reason: Annotated[str, StringConstraints(max_length=4000)] | None = None
    with_sentences: bool = Field(default=False, description="leave out its sentences too")
    dry_run: bool = False


async def decisions(request: Request) -> Response:
    """The decisions that stand, as `facts list --format json`; with `all=true` also those taken back."""
    require(request, "read")
    service, asked = service_of(request), parameter(request, "all") or "false"
    if asked not in ("true", "false"):
        raise Problem(400, "all: true or false")
    every = asked == "true"
    found = await asyncio.to_thread(lambda: service.engine.facts.decisions(every=every))
    items = [decision.as_json() for decision in found]
    return JSONResponse(listed(items), headers={"Cache-Control": "no-store"})


async def decide(request: Request) -> Response:
    """Remove or correct a fact, as `facts remove|correct --format json`."""
    require(request, "write")
    if content_type(request.headers.get("content-type"))[0] != "application/json":
        raise Problem(415, "the body is application/json", headers={"Accept-Post": "application/json"})
    asked = read_request(FactRequest, await read_body(request, _BODY))
    facts = service_of(request).engine.facts
    fact = asked.subject, asked.predicate, asked.object
    how: dict[str, Any] = asked.model_dump(include={"by", "reason", "with_sentences", "dry_run"})
    instead = asked.instead
    if instead is None:
        return await _done(request, lambda: facts.remove(*fact, **how))
    if instead == Instead():
        raise Problem(422, "instead: give subject, predicate or object")
    how |= instead.model_dump()
    return await _done(request, lambda: facts.correct(*fact, **how))


async def undo(request: Request) -> Response:
    """Take back the decision whose IRI is `decision`, as `facts undo --format json`."""
    require(request, "write")
    name = parameter(request, "decision")
    if not name:
        raise Problem(400, "decision: the IRI of the decision that is taken back")
    facts = service_of(request).engine.facts
    return await _done(request, lambda: facts.undo([name]))


async def _done(request: Request, work: Callable[[], Edited]) -> Response:
    service: Service = service_of(request)
    service.require_writable()
    done: dict[str, Any] = {}

    def write() -> int:
        done.update(work().as_json())
        return service.engine.store.commit_number()

    commit = await service.writes.run(write, long=True)  # after an ingest, not between its chunks
    service.wrote(request, commit)
    return JSONResponse(done, headers={COMMIT: str(commit), "Cache-Control": "no-store"})
