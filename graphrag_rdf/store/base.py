"""What every store can do, embedded or remote.

The rest of the program reads and writes through templates only. A write is a `Changes`: template
updates, then quads, in one transaction with one commit number; readers see all of it or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Protocol, TypeAlias

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.dialect import Dialect
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Renderer

Row: TypeAlias = Mapping[str, Term]
"""One solution: variable name → term; unbound variables are absent."""


@dataclass(slots=True)
class Changes:
    """What one transaction changes, applied in this order.

    Attributes:
        updates: (template name, parameter values).
        remove: quads to take out.
        add: quads to put in.
        content: whether documents, facts or names change, so that the search indexes must follow;
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
    """A template query that was run: what a trace keeps of it.

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
    """The answer to a query given as text, wholly in memory.

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

    Commit numbers are those of this program's commits, and of what others had committed at the last
    `refresh`.
    """

    templates: TemplateLibrary
    renderer: Renderer

    def render(self, template: str, /, **values: Any) -> str:
        """A template's query for these values."""

    def run(self, template: str, /, **values: Any) -> QueryRun:
        """Run a select template and keep what a trace needs."""

    def select(self, template: str, /, **values: Any) -> list[Row]:
        """The solutions of a select template."""

    def ask(self, template: str, /, **values: Any) -> bool:
        """The answer of an ask template."""

    def construct(self, template: str, /, **values: Any) -> list[Triple]:
        """The triples of a construct template."""

    def commit(self, changes: Changes) -> int:
        """Apply changes in one transaction; the new commit number. Empty changes write nothing."""

    def commit_number(self) -> int:
        """The number of the newest commit (0 in an empty store)."""

    def content_commit(self) -> int:
        """The number of the newest commit that changed what the search indexes hold."""

    def query(self, sparql: str) -> Answer:
        """The answer to a query given as text (people's own SPARQL, never ours)."""

    def write_results(self, sparql: str, output: IO[bytes], media_type: str) -> None:
        """Serialise the answer to a query given as text in a W3C format, by media type."""

    def update(self, sparql: str) -> int:
        """Run an update given as text; the new commit number."""

    def refused(self, literals: Iterable[Literal]) -> set[Literal]:
        """Those that this store cannot hold: a change with one of them is an error."""

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """All quads, or those of one graph (for dumps and checks; not for retrieval)."""

    def count(self) -> int:
        """How many quads there are; every one may have to be looked at."""

    def bulk_add(self, quads: Iterable[Quad]) -> int:
        """Add many quads outside a transaction, fast; the new commit number."""

    def refresh(self) -> None:
        """Take note of what other programs have committed, if they can."""

    def sync(self) -> None:
        """Put on disk what was committed, so that it outlasts a loss of power."""

    def flush(self) -> None:
        """As `sync`, and let go of the memory that held it; the engine may then rearrange its files."""

    def optimize(self) -> None:
        """Compact the files after bulk work."""

    def purge(self) -> str | None:
        """Erase from the files what was removed, as forgetting demands; what of it is not done, and why."""

    def close(self) -> None:
        """Let go of files and locks."""


class TemplateStore:
    """The part of a store that is the same everywhere: templates rendered in its dialect.

    Args:
        templates: the query library.
        dialect: the spelling of triple terms.
        facts_graph: the graph of facts; None for the default graph.
        lateral: whether the engine knows LATERAL.
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
        """See `Store.refused`: none, as a rule."""
        del literals
        return set()

    def query(self, sparql: str) -> Answer:
        """See `Store.query`."""
        raise NotImplementedError  # each store has its own

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
