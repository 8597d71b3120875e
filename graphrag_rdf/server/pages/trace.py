"""The page of a trace."""

from __future__ import annotations

from pyoxigraph import NamedNode
from starlette.requests import HTTPConnection

from graphrag_rdf.server.pages.ask import lacks, needs_token
from graphrag_rdf.server.pages.links import run_call
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.page import anchor_of, trace_view
from graphrag_rdf.trace.reader import read_trace


def trace_page(service: Service, session: NamedNode, connection: HTTPConnection) -> str:
    """How an answer was made, with forms to continue and to mark it."""
    engine, links = service.engine, links_of(service)
    trace = read_trace(engine.store, session, engine.blobs)
    view = trace_view(engine.store, trace, links)
    return render(
        "answer",
        "/traces",
        trace=trace,
        view=view,
        anchor=anchor_of,
        href=links,
        run=run_call,
        place=links.source,
        chunk_at=links.chunk,
        why=links.fact,
        run_name=session.value.rpartition(":")[2],
        token=needs_token(connection),
        marking=not service.read_only and trace.answer is not None,
        marking_token=lacks(connection, "write"),
    )
