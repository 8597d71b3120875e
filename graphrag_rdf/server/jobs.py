"""Clients' queries as jobs for `execution`."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

from graphrag_rdf.errors import SearchIndexError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.evaluate import Job, Wanted
from graphrag_rdf.search_service import with_hits
from graphrag_rdf.server.execution.sparql_text import inspect_query
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.server.service import Service
from graphrag_rdf.sparql import render
from graphrag_rdf.sparql.tokens import names_dataset

Dataset: TypeAlias = tuple[tuple[str, str], ...]
"""Parameters `default-graph-uri` and `named-graph-uri`, and their values."""

_LONG = 1 << 14
"""Characters of a query above which a thread looks at it."""


def is_union(service: Service, text: str, asked: str | None = None) -> bool:
    """Whether the default graph of a query is the union of all graphs.

    Args:
        asked: what the request says, which wins over the setting: no for 0 and false.
    """
    if asked is not None:
        return asked.lower() not in ("0", "false")
    return service.settings.union_default_graph and service.remote is None and not names_dataset(text)


def graphs_of(dataset: Dataset) -> dict[str, Any]:
    """The dataset as attributes of a job."""
    default, named = (
        tuple(graph for name, graph in dataset if name == f"{kind}-graph-uri")
        for kind in ("default", "named")
    )
    return {"default_graphs": default if dataset else None, "named_graphs": named if dataset else None}


async def job_of(
    service: Service,
    text: str,
    results: Wanted | None,
    graph: Wanted | None,
    *,
    with_prefixes: bool = False,
    **more: Any,
) -> tuple[Job, bool]:
    """A query as a job, and whether two runs of it on the same data may differ.

    Args:
        with_prefixes: it may use those of the program; its own win.
        more: further attributes of the job.

    Raises:
        Problem: 413 when it is too long; see `inspect_query`.
    """
    settings = service.settings
    if len(text) > settings.max_query_kb << 10:
        raise Problem(
            413, tr("the query is longer than {max_query_kb} kB").format(max_query_kb=settings.max_query_kb)
        )
    if "search" in text:
        try:
            text = await asyncio.to_thread(with_hits, text, service.engine)
        except (UsageError, SearchIndexError) as error:
            raise Problem(400, str(error)) from error
    if with_prefixes:  # on the first line, so that line numbers in messages are the client's
        text = render.with_prefixes(text)
    inspecting = text, settings.allow_service
    looked_at = (
        inspect_query(*inspecting)
        if len(text) < _LONG
        else await asyncio.to_thread(inspect_query, *inspecting)
    )
    limits = {"max_rows": settings.max_rows, "max_bytes": settings.max_result_mb << 20}
    seen = {"masked": looked_at.masked, "roams": looked_at.roams}
    return Job(text=text, results=results, graph=graph, **{**limits, **seen, **more}), looked_at.volatile
