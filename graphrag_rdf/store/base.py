"""The protocol of stores, embedded or remote.

The rest of the program reads and writes through templates only. A write is a `Changes`: template
updates, then quads, in one transaction with one commit number. Readers see all of it or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Protocol, TypeAlias

from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.dialect import Dialect, decode
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Renderer

Row: TypeAlias = Mapping[str, Term]
"""A solution: variable name → term; unbound variables are absent."""


@dataclass(slots=True)
class Changes:
    """The changes of one transaction, applied in this order.

    Attributes:
        updates: (template name, parameter values).
        remove: quads to remove.
        add: quads to add.
        content: whether documents, facts or names change, so that the search indexes need an update;
            False for traces.
    """

    updates: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    remove: list[Quad] = field(default_factory=list)
    add: list[Quad] = field(default_factory=list)
    content: bool = True

    def __bool__(self) -> bool:
        return bool(self.updates or self.remove or self.add)


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A template query that was run, with the data for a trace.

    Attributes:
        template: the template's name.
        sparql: the rendered query.
        rows: its solutions, in order.
        seconds: wall time, rendering included.
    """

    template: str
    sparql: str
    rows: list[Row]
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query given as text, in memory.

    Attributes:
        variables: of a SELECT; empty otherwise.
        rows: of a SELECT.
        boolean: of an ASK.
        triples: of a CONSTRUCT or DESCRIBE.
    """

    variables: tuple[str, ...] = ()
    rows: list[Row] | None = None
    boolean: bool | None = None
    triples: list[Triple] | None = None


class Store(Protocol):
    """A triple store with our named graphs (see `rdf.namespaces.Graphs`).

    Commit numbers count this program's commits, and those of other programs up to the last `refresh`.
    """

    templates: TemplateLibrary
    renderer: Renderer

    def render(self, template: str, /, **values: Any) -> str:
        """A template's query for these values."""

    def run(self, template: str, /, **values: Any) -> QueryRun:
        """Run a select template, and return the data for a trace."""

    def select(self, template: str, /, **values: Any) -> list[Row]:
        """The solutions of a select template."""

    def ask(self, template: str, /, **values: Any) -> bool:
        """The result of an ask template."""

    def construct(self, template: str, /, **values: Any) -> list[Triple]:
        """The triples of a construct template."""

    def commit(self, changes: Changes) -> int:
        """Apply changes in one transaction; return the new commit number. Empty changes write nothing."""

    def commit_number(self) -> int:
        """The number of the newest commit (0 in an empty store)."""

    def content_commit(self) -> int:
        """The number of the newest commit that changed documents, facts or names."""

    def query(self, sparql: str) -> Answer:
        """The result of a query given as text (for SPARQL of users only)."""

    def write_results(self, sparql: str, output: IO[bytes], media_type: str) -> None:
        """Write the result of a query given as text, in the W3C format of a media type."""

    def update(self, sparql: str) -> int:
        """Run an update given as text; return the new commit number."""

    def refused(self, literals: Iterable[Literal]) -> set[Literal]:
        """The literals that this store cannot hold: a change with one of them is an error."""

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph (for dumps and checks; not for retrieval)."""

    def count(self) -> int:
        """The number of quads; this may read all of them."""

    def bulk_add(self, quads: Iterable[Quad]) -> int:
        """Add many quads fast, outside a transaction; return the new commit number."""

    def refresh(self) -> None:
        """Read the commit numbers of other programs, if others can write."""

    def sync(self) -> None:
        """Sync all commits to disk, so that they survive a power loss."""

    def flush(self) -> None:
        """As `sync`, and free the engine's write buffers; the engine may then compact its files."""

    def optimize(self) -> None:
        """Compact the files after bulk work."""

    def purge(self) -> str | None:
        """Erase removed data from the files, for `forget`; return what could not be erased, and why."""

    def close(self) -> None:
        """Close files and release locks."""


class TemplateStore:
    """The common part of all stores: templates rendered in the store's dialect.

    Args:
        templates: the query library.
        dialect: the syntax of triple terms.
        facts_graph: the graph of facts; None for the default graph.
        lateral: whether the engine supports LATERAL.
    """

    def __init__(
        self,
        templates: TemplateLibrary,
        dialect: Dialect = "rdf12",
        facts_graph: NamedNode | None = None,
        *,
        lateral: bool = False,
    ) -> None:
        self.templates = templates
        self.renderer = Renderer(dialect, facts_graph, lateral=lateral)

    def render(self, template: str, /, **values: Any) -> str:
        """A template's query for these values."""
        return self.templates[template].render(self.renderer, **values)

    def refused(self, literals: Iterable[Literal]) -> set[Literal]:
        """See `Store.refused`: none by default."""
        del literals
        return set()

    def query(self, sparql: str) -> Answer:
        """See `Store.query`."""
        raise NotImplementedError  # each store has its own method

    def run(self, template: str, /, **values: Any) -> QueryRun:
        """See `Store.run`."""
        start = time.perf_counter()
        sparql = self.render(template, **values)
        rows = self.query(sparql).rows or []
        return QueryRun(template, sparql, rows, time.perf_counter() - start)

    def select(self, template: str, /, **values: Any) -> list[Row]:
        """See `Store.select`."""
        return self.query(self.render(template, **values)).rows or []

    def ask(self, template: str, /, **values: Any) -> bool:
        """See `Store.ask`."""
        return bool(self.query(self.render(template, **values)).boolean)

    def construct(self, template: str, /, **values: Any) -> list[Triple]:
        """See `Store.construct`."""
        return self.query(self.render(template, **values)).triples or []


def plain_quads(store: Store, graph: NamedNode | None = None) -> Iterator[Quad]:
    """The quads of a store in dialect `rdf12`, with the facts in the default graph."""
    facts = store.renderer.facts_graph
    if store.renderer.dialect == "classic":
        quads: Iterable[Quad] = decode(store.quads())
    elif graph is None:
        quads = store.quads()
    else:
        place = DefaultGraph() if graph == Graphs.FACTS and facts is None else graph
        quads = store.quads(place)  # type: ignore[arg-type]
    for quad in quads:
        is_fact = quad.graph_name in (DefaultGraph(), facts)
        if graph is None or quad.graph_name == graph or (graph == Graphs.FACTS and is_fact):
            yield Quad(quad.subject, quad.predicate, quad.object) if is_fact else quad
