"""The protocol of stores, embedded or remote.

The rest of the program reads and writes through templates only. A write is a `Changes`: template
updates, then quads, in one transaction with one commit number. Readers see all of it or nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any, Protocol, TypeAlias, TypeVar

import pyoxigraph as ox
from pyoxigraph import (
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Triple,
)

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.formats import line_end, solutions, write_csv
from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import Term, integer, primary_subtag
from graphrag_rdf.sparql.columns import Record
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect, Renderer, decode
from graphrag_rdf.sparql.tokens import without_star

Row: TypeAlias = Record
"""A row of a template."""

Solution: TypeAlias = Mapping[str, Term]
"""A solution of a query: variable name → term; unbound variables are absent."""


@dataclass(slots=True)
class Changes:
    """The changes of one transaction, applied in this order.

    Attributes:
        updates: (template name, parameter values).
        remove: quads to remove.
        add: quads to add.
        content: whether documents, facts or names change, so that the search indexes need an update;
            False for traces.
        trace: whether only traces change.
    """

    updates: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    remove: list[Quad] = field(default_factory=list)
    add: list[Quad] = field(default_factory=list)
    content: bool = True
    trace: bool = False

    def __bool__(self) -> bool:
        return bool(self.updates or self.remove or self.add)


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A template query that was run, with the data for a trace.

    Attributes:
        template: the template's name.
        sparql: the rendered query.
        solutions: in order.
        rows: the same with values of the declared types; see `sparql.columns`.
        seconds: wall time, rendering included.
    """

    template: str
    sparql: str
    solutions: list[Solution]
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
    rows: list[Solution] | None = None
    boolean: bool | None = None
    triples: list[Triple] | None = None


class Store(Protocol):
    """A triple store with our named graphs (see `rdf.namespaces.Graphs`).

    Commit numbers count this program's commits, and those of other programs up to the last `refresh`.

    Attributes:
        notes_changes: while inferences are kept (see `schema.reasoning`), the store notes changed facts in
            `urn:graph:inferred:changed`. An endpoint does not, because other programs change it too.
        read_only: each change is an error.
    """

    notes_changes: bool
    read_only: bool

    templates: TemplateLibrary
    renderer: Renderer

    def render(self, template: str, /, **values: Any) -> str:
        """A template's query for these values."""

    def run(self, template: str, /, **values: Any) -> QueryRun:
        """Run a select template, and return the data for a trace."""

    def select(self, template: str, /, **values: Any) -> list[Row]:
        """The rows of a select template, with values of the types that its header declares."""

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

    def knowledge_commit(self) -> int:
        """A number that grows with each commit that may have changed anything but traces. While it stays the
        same, what is kept in memory of other graphs holds.
        """

    def query(self, sparql: str, *, union: bool = False) -> Answer:
        """The result of a query given as text (for SPARQL of users only).

        Args:
            union: the default graph is the union of all graphs.
        """

    def write_results(self, sparql: str, output: IO[bytes], media_type: str, *, union: bool = False) -> None:
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


def commit_mark(predicate: NamedNode, number: int) -> Quad:
    """The triple with a commit number: `rag:commit`, or `rag:contentCommit`."""
    return Quad(STORE_NODE, predicate, integer(number), Graphs.SYSTEM)


def commit_marks(number: int, *, content: bool) -> list[Quad]:
    """The triples with the number of a commit.

    Args:
        content: whether it changed documents, facts or names.
    """
    predicates = (RAG.commit, RAG.contentCommit) if content else (RAG.commit,)
    return [commit_mark(predicate, number) for predicate in predicates]


class TemplateStore:
    """The common part of all stores: templates rendered in the store's dialect.

    Args:
        templates: the query library.
        dialect: the syntax of triple terms.
        facts_graph: the graph of facts; None for the default graph.
        lateral: whether the engine supports LATERAL.
    """

    notes_changes = False

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

    def commit_number(self) -> int:
        """See `Store.commit_number`."""
        raise NotImplementedError

    def knowledge_commit(self) -> int:
        """See `Store.knowledge_commit`: by default traces count, too."""
        return self.commit_number()

    def query(self, sparql: str, *, union: bool = False) -> Answer:
        """See `Store.query`."""
        raise NotImplementedError  # each store has its own method

    def run(self, template: str, /, **values: Any) -> QueryRun:
        """See `Store.run`."""
        start = time.perf_counter()
        sparql = self.render(template, **values)
        solutions = self.query(sparql).rows or []
        rows = self.templates[template].records(solutions)
        return QueryRun(template, sparql, solutions, rows, time.perf_counter() - start)

    def select(self, template: str, /, **values: Any) -> list[Row]:
        """See `Store.select`."""
        solutions = self.query(self.render(template, **values)).rows or []
        return self.templates[template].records(solutions)

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


# --- results in the W3C formats ------------------------------------------------------------------------


def run_query(engine: ox.Store, query: str, **options: Any) -> QuerySolutions | QueryBoolean | QueryTriples:
    """Run a query. The columns of `SELECT *` are in the order in which the query names them; the engine sorts
    them.

    Args:
        options: of the engine.
    """
    results = engine.query(query, **options)
    if isinstance(results, QuerySolutions):
        named = without_star(query, [variable.value for variable in results.variables])
        return results if named is None else engine.query(named, **options)
    return results


def write_found(
    results: QuerySolutions | QueryBoolean | QueryTriples, output: IO[bytes], media_type: str
) -> None:
    """Write the result of a query, in the thread that ran it.

    Raises:
        UsageError: when the result cannot be written in this format.
    """
    if isinstance(results, QueryTriples):
        _write_triples(results, output, media_type)
        return
    form = QueryResultsFormat.from_media_type(media_type)
    if form is None:
        raise UsageError(tr("query results cannot be written as {media_type}").format(media_type=media_type))
    if isinstance(results, QuerySolutions) and form == QueryResultsFormat.CSV:
        write_csv([variable.value for variable in results.variables], results, output)
        return
    results.serialize(output, format=form)
    if isinstance(results, QueryBoolean):
        output.write(line_end(form.media_type))


def write_answer(answer: Answer, output: IO[bytes], media_type: str) -> None:
    """Write a result that is in memory.

    Raises:
        UsageError: see `write_found`.
    """
    if answer.triples is not None:
        _write_triples(answer.triples, output, media_type)
    elif answer.boolean is not None:
        reply = json.dumps({"head": {}, "boolean": answer.boolean}).encode()
        write_found(ox.parse_query_results(reply, QueryResultsFormat.JSON), output, media_type)
    else:
        rows = (map(row.get, answer.variables) for row in answer.rows or ())
        write_found(solutions(answer.variables, rows), output, media_type)


def _write_triples(triples: Iterable[Triple], output: IO[bytes], media_type: str) -> None:
    form = RdfFormat.from_media_type(media_type)
    if form is None:
        raise UsageError(tr("a graph cannot be written as {media_type}").format(media_type=media_type))
    prefixes = PREFIXES if form in (RdfFormat.TURTLE, RdfFormat.TRIG) else None
    ox.serialize(triples, output, format=form, prefixes=prefixes)


# --- queries with many values: so many at once, and no more --------------------------------------------

T = TypeVar("T")

BATCH = 500
"""Values of a query at once, as a rule."""


def in_batches(things: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of at most `size` things, in order; no list if there is nothing."""
    remaining = iter(things)
    while batch := list(islice(remaining, size)):
        yield batch


def select_in_batches(
    store: Store, template: str, name: str, things: Iterable[T], size: int = BATCH, **values: Any
) -> Iterator[Row]:
    """The rows of a template, run for a batch of things at a time.

    Args:
        name: the parameter that takes the things.
        values: the other parameters.
    """
    for batch in in_batches(things, size):
        yield from store.select(template, **{name: batch}, **values)


def languages_of(select: Callable[..., Iterable[Row]]) -> list[str]:
    """The languages of documents, which their names have; `select` runs a template."""
    tags = [row["language"] for row in select("documents/languages") if row["language"] is not None]
    return list(dict.fromkeys(filter(None, map(primary_subtag, tags))))


def updates_in_batches(
    template: str, name: str, things: Iterable[T], **values: Any
) -> list[tuple[str, dict[str, Any]]]:
    """An update for each batch of things, for `Changes.updates`."""
    return [(template, {name: batch, **values}) for batch in in_batches(things)]
