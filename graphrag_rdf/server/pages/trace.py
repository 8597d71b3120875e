"""The page of a trace."""

from __future__ import annotations

from pyoxigraph import NamedNode

from graphrag_rdf.server.pages.links import run_call
from graphrag_rdf.server.pages.lists import links_of
from graphrag_rdf.server.pages.rendering import render
from graphrag_rdf.server.service import Service
from graphrag_rdf.trace.page import anchor_of, trace_view
from graphrag_rdf.trace.reader import read_trace


def trace_page(service: Service, session: NamedNode, *, token: bool) -> str:
    """How an answer came about.

    Args:
        token: whether going on with it takes one.
    """
    engine, links = service.engine, links_of(service)
    trace = read_trace(engine.store, session, engine.librarian)
    view = trace_view(engine.store, trace, links)
    return render(
        "answer",
        "/traces",
        trace=trace,
        view=view,
        anchor=anchor_of,
        href=links,
        run=run_call,
        run_name=session.value.rpartition(":")[2],
        token=token,
    )
