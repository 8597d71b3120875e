"""Why a client's query has no rows: a changed query has some, in the editor and as a `Link` header."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from graphrag_rdf.i18n import language
from graphrag_rdf.reader_process.evaluate import Wanted
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.jobs import Dataset, graphs_of, job_of
from graphrag_rdf.server.service import COMMIT, Service, address_of, client_of, site_of
from graphrag_rdf.sparql.empty import Alternative, alternatives, found_nothing

_JSON = Wanted("application/sparql-results+json", "application/sparql-results+json")
PATIENCE = 5.0
"""Seconds to look for a reason why an answer is empty, for somebody who waits for it."""

_EMPTY = 4096
"""Bytes of a result that may be empty: its head names the variables."""

_LONGEST = 4096
"""Characters of an address in a header; proxies cut off longer headers."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A changed query that finds something.

    Attributes:
        summary: what differs, a sentence.
        query: the changed query.
        union: its default graph is the union of all graphs.
        dataset: the parameters that name its graphs (SPARQL 1.2 Protocol §2.1.4).
    """

    summary: str
    query: str
    union: bool
    dataset: Dataset = ()

    def address(self, path: str, union: str) -> str:
        """The address that runs it.

        Args:
            union: the parameter for the union of all graphs.
        """
        graphs = self.dataset or ((union, f"{self.union:d}"),)
        return f"{path}?{urlencode((('query', self.query), *graphs))}"

    def link(self, site: str) -> str | None:
        """A `Link` header (RFC 8288): the changed query as an address; None if that is too long."""
        target = self.address(f"{site}/sparql", "union-default-graph")
        if len(target) > _LONGEST:
            return None
        ascii_only = self.summary.isascii()
        title = f'title="{self.summary}"' if ascii_only else f"title*=UTF-8''{quote(self.summary)}"
        return f'<{target}>; rel="alternate"; {title}'


@dataclass(frozen=True, slots=True)
class Asker:
    """For whom changed queries run.

    Attributes:
        client: the client that limits apply to.
        min_commit: the oldest commit that it may get an answer from.
        base: the IRI that relative IRIs are resolved against.
    """

    client: str
    min_commit: int
    base: str | None = None

    @classmethod
    def of_request(cls, request: Request, service: Service) -> Asker:
        """The client of a request."""
        return cls(client_of(request), service.min_commit(request), address_of(request))


async def suggestion(
    asker: Asker, service: Service, text: str, *, union: bool, seconds: float, dataset: Dataset = ()
) -> Suggestion | None:
    """A form of an empty query that finds something; None if none does within so many seconds."""
    if service.remote is not None:
        return None
    with suppress(TimeoutError, Problem):
        async with asyncio.timeout(seconds):
            for changed in alternatives(text, union=union or bool(dataset)):
                if await _matches(asker, service, changed, dataset):
                    return (
                        Suggestion(changed.summary(), changed.text, changed.union, dataset)
                        if changed.changes
                        else None
                    )
    return None


async def explained(
    request: Request, service: Service, response: Response, text: str, *, union: bool, dataset: Dataset
) -> Response:
    """The response to a query; if it is empty, with a `Link` to a query that finds something, if one does."""
    media_type = response.headers["content-type"].partition(";")[0]
    if isinstance(response, StreamingResponse) or len(response.body) > _EMPTY or len(text) > _LONGEST:
        return response

    async def explain(seconds: float) -> str | None:
        asker = Asker.of_request(request, service)
        changed = await suggestion(asker, service, text, union=union, seconds=seconds, dataset=dataset)
        return None if changed is None else changed.link(site_of(request))

    if service.remote is None and found_nothing(bytes(response.body), media_type):
        query = (text, str(union), str(dataset), site_of(request), response.headers[COMMIT], language())
        if (link := await service.explanations.get(query, explain)) is not None:
            response.headers["Link"] = link
            response.headers.add_vary_header("Accept-Language")
    return response


async def _matches(asker: Asker, service: Service, changed: Alternative, dataset: Dataset) -> bool:
    """Whether the pattern of a changed query matches anything; no if the query is malformed."""
    try:
        job, _ = await job_of(
            service,
            changed.probe,
            _JSON,
            None,
            with_prefixes=True,
            base=asker.base,
            union=changed.union,
            **graphs_of(dataset),
        )
        with service.concurrency.slot(asker.client):
            _, data = await service.queries.whole(job, asker.min_commit)
    except Problem as problem:
        if problem.status == 400:
            return False
        raise
    return not found_nothing(data, _JSON.media_type)
