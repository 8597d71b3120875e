"""A store behind any SPARQL 1.1 endpoint, through SPARQLWrapper.

One `Changes` is one request, and so as atomic as a request of the engine, unless it is too large. Then it is
sent in parts, in an order that shows an incomplete change: removals come first, and the triple that marks a
chunk as done, and the commit number, come with the last part. The next ingest processes chunks without that
triple again.

Other programs may write to the same endpoint, and SPARQL has no locks. The store detects them by a commit
number that it did not write (see `commit` and `refresh`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import EndpointError, MalformedError, StoreError, StoreMissingError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import encode, encode_removal
from graphrag_rdf.sparql.tokens import with_base
from graphrag_rdf.store.answers import Reader
from graphrag_rdf.store.base import Answer, Changes, TemplateStore, commit_mark, commit_marks, write_answer
from graphrag_rdf.store.endpoint import COMMIT_HEADER, SEE_ITS_LOG, Endpoint
from graphrag_rdf.store.probe import Capabilities, LiteralSupport, Probe
from graphrag_rdf.store.updates import canonical, canonical_term, data, line, placed, sequence
from graphrag_rdf.store.wrapper import asks_for_graph

_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between looks whether reads show a write."""
_UNCHANGED = {"GraphRAG-Content": "unchanged"}
"""Header for our own server: the update changes nothing in the search indexes (see server.routes.update)."""


class RemoteStore(TemplateStore):
    """A store behind a SPARQL endpoint.

    Args:
        templates: the query library.
        endpoint: where it is.
        create: create a missing store.
        read_only: each change is an error.
        on_close: called when the store is closed.

    Attributes:
        capabilities: features of the endpoint.

    Raises:
        StoreError: when the endpoint cannot be used, or the store is missing and not to be created.
    """

    def __init__(
        self,
        templates: TemplateLibrary,
        endpoint: Endpoint,
        *,
        create: bool = True,
        read_only: bool = False,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.read_only = read_only
        self._on_close = on_close
        self.capabilities, fresh = _capabilities(templates, endpoint, create=create and not read_only)
        super().__init__(
            templates,
            self.capabilities.dialect,
            self.capabilities.facts_graph,
            lateral=self.capabilities.lateral,
        )
        self._reader = Reader(
            endpoint,
            self.capabilities.dialect,
            digits=self.capabilities.digits,
            rows=lambda limit: self.render("remote/rows", limit=limit),
        )
        self._keeping = LiteralSupport(
            lambda literals: self.select("remote/literals", literals=literals), endpoint.addresses.query
        )
        self._lock = threading.RLock()  # for writes
        self._showing = threading.RLock()  # while reads wait until they show the last write
        self._numbers: dict[NamedNode, set[int]] = {}
        self._unseen: int | None = None  # the last own commit, until reads are known to show it
        self.refresh()
        if fresh:
            self.commit(Changes(add=self.capabilities.quads(), content=False))

    # --- reading -----------------------------------------------------------------------------------

    def query(self, sparql: str, *, union: bool = False) -> Answer:
        """See `Store.query`.

        Raises:
            UsageError: when the endpoint reports a malformed query, or for a union.
            StoreError: when there is no readable response.
        """
        self._see()
        if union:
            raise UsageError(
                tr("a remote store has the default graph of its endpoint"),
                hint=tr("use GRAPH ?g { … } for other graphs"),
            )
        if asks_for_graph(sparql):
            return Answer(triples=self._reader.graph(sparql))
        return self._reader.results(sparql)

    def construct(self, template: str, /, **values: object) -> list[Triple]:
        """See `Store.construct`."""
        self._see()
        return self._reader.graph(self.render(template, **values))

    def write_results(self, sparql: str, output: IO[bytes], media_type: str, *, union: bool = False) -> None:
        """See `Store.write_results`.

        The result is parsed and written again. So it is complete, has all digits, and is available in every
        format, whatever the endpoint sends.

        Raises:
            UsageError: when the endpoint reports a malformed query, or the result has no such format.
            StoreError: as for `query`.
        """
        write_answer(self.query(sparql, union=union), output, media_type)

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """See `Store.quads`. Each graph is one response, buffered on disk.

        Raises:
            EndpointError: when the endpoint sends fewer quads than it counts.
        """
        if graph is None or not isinstance(graph, NamedNode):
            if self.renderer.facts_graph is None:
                yield from self._all_of(None)
            if graph is not None:
                return
        for name in self._sizes() if graph is None else [graph]:
            yield from self._all_of(name)

    def _all_of(self, graph: NamedNode | None) -> Iterator[Quad]:
        """The quads of a graph; None for the default graph."""
        for triple in self.triples_of(graph, self._reader.triples):
            yield Quad(triple.subject, triple.predicate, triple.object, graph)

    def triples_of(
        self, graph: NamedNode | None, read: Callable[[str], Iterator[Triple]]
    ) -> Iterator[Triple]:
        """The triples of a graph, as a stream.

        Args:
            graph: None for the default graph.
            read: returns the triples of a CONSTRUCT.

        Raises:
            EndpointError: when there are fewer than the endpoint counts.
        """
        promised, received = self._size(graph), 0
        name = "remote/default" if graph is None else "remote/graph"
        for triple in read(self.render(name, **({} if graph is None else {"graph": graph}))):
            received += 1
            yield triple
        if received < promised:
            url = self.endpoint.addresses.query
            raise EndpointError(
                tr("{url} sent {given} of the {promised} triples of {graph}").format(
                    url=url, given=received, promised=promised, graph=graph or tr("the default graph")
                ),
                "refused",
                hint=tr("raise its limit (in virtuoso.ini: ResultSetMaxRows), or stop programs that delete"),
                address=url,
            )

    def _sizes(self) -> dict[NamedNode, int]:
        """Named graph of the store → number of quads. Our own server does not list the system graph."""
        sizes = {}
        for row in self.select("remote/graphs"):
            if isinstance(row["graph"], NamedNode) and row["graph"] not in self.capabilities.others:
                sizes[row["graph"]] = row["quads"]
        if Graphs.SYSTEM not in sizes:
            sizes[Graphs.SYSTEM] = self._size(Graphs.SYSTEM)
        return sizes

    def _size(self, graph: NamedNode | None) -> int:
        """The number of quads of a graph; None for the default graph."""
        if graph is None:
            (row,) = self.select("remote/default-size")
        else:
            (row,) = self.select("remote/size", graph=graph)
        return int(row["quads"])

    def count(self) -> int:
        """See `Store.count`."""
        named = sum(self._sizes().values())
        if self.renderer.facts_graph is not None:
            return named
        return named + self._size(None)

    # --- writing -----------------------------------------------------------------------------------

    def commit(self, changes: Changes) -> int:
        """See `Store.commit`.

        Raises:
            StoreError: when the endpoint refuses or is unreachable, would change a literal, or when another
            program
                changed the content meanwhile. Then nothing is written.
        """
        if not changes:
            return self.commit_number()
        with self._lock:
            if not changes.trace:  # nobody else writes to our traces
                self._look_out(content=changes.content)
            number = self.commit_number() + 1
            requests = list(self._requests(changes, number))
            for request in requests:
                self._write(request, content=changes.content)
            return self._advance(number, content=changes.content)

    def _requests(self, changes: Changes, number: int) -> Iterator[str]:
        """The updates that write the changes: one, or several if that is too large."""
        renderer, settings = self.renderer, self.endpoint.settings
        parts = [self.render(name, **values) for name, values in changes.updates]
        gone = encode_removal(canonical(changes.remove), renderer.dialect)
        new = list(self._encoded(changes.add))
        self._keeping.require(new)
        remove, add = (list(placed(quads, renderer.facts_graph)) for quads in (gone, new))
        size = sum(len(part.encode()) for part in parts) + sum(map(self._bytes, (*remove, *add)))
        marks = [] if self.capabilities.numbered else commit_marks(number, content=changes.content)
        stale = [] if self.capabilities.numbered else self._stale(content=changes.content)
        if size <= settings.batch_bytes and len(remove) + len(add) <= settings.batch_quads:
            parts += [self._data("DELETE", remove), self._data("INSERT", [*add, *marks])]
            yield sequence(filter(None, [*parts, self._data("DELETE", stale)]))
            return
        if parts:
            yield sequence(parts)
        for batch in self._batches(remove):
            yield self._data("DELETE", batch)
        add.sort(key=lambda quad: quad.predicate == RAG.extractor)  # marks a chunk as done: last
        batches = list(self._batches(add))
        for batch in batches[:-1]:
            yield self._data("INSERT", batch)
        additions = batches[-1] if batches else []
        yield sequence(
            filter(None, [self._data("INSERT", [*additions, *marks]), self._data("DELETE", stale)])
        )

    def update(self, sparql: str, base: str | None = None, *, content: bool = True) -> int:
        """See `Store.update`.

        The number is written before and after. If the endpoint dies in between, the indexes check for changes
        in vain; the other order could make them miss some. DROP ALL removes the number too. Client updates
        are never retried, because running one twice may have another effect.

        Args:
            base: base IRI of relative IRIs.
            content: whether it may change documents, facts or names.

        Raises:
            UsageError: when the endpoint reports a malformed update; then nothing is changed.
        """
        with self._lock, self._numbered(content=content):
            self._write(with_base(sparql, base), content=content, own=False)
        return self.commit_number()

    def refused(self, literals: Iterable[Literal]) -> set[Literal]:
        """See `Store.refused`; the endpoint is asked about unknown ones.

        Raises:
            EndpointError: when there is no response.
        """
        kept_as = {literal: canonical_term(literal) for literal in literals}
        refused = self._keeping.refused(kept_as.values())
        return {literal for literal, kept in kept_as.items() if kept in refused}

    def bulk_add(self, quads: Iterable[Quad]) -> int:
        """See `Store.bulk_add`."""
        encoded = placed(self._encoded(quads), self.renderer.facts_graph)
        with self._lock, self._numbered():
            for batch in self._batches(encoded):
                self._keeping.require(batch)
                self._write(self._data("INSERT", batch), content=True)
        return self.commit_number()

    def sync(self) -> None:
        """See `Store.sync`: the endpoint does it."""

    def flush(self) -> None:
        """See `Store.flush`: the endpoint does it."""

    def optimize(self) -> None:
        """See `Store.optimize`: the endpoint does it."""

    def purge(self) -> str:
        """See `Store.purge`: not possible over SPARQL."""
        return tr(
            "the text was removed from the store, but files and backups of the endpoint may still hold it "
            "until its operator compacts them"
        )

    def close(self) -> None:
        """See `Store.close`. Closing twice does nothing."""
        if self._on_close is not None:
            self._on_close()

    def refresh(self) -> None:
        """See `Store.refresh`."""
        with self._lock:
            self._see()
            self._numbers = self._read_numbers()

    def commit_number(self) -> int:
        """See `Store.commit_number`."""
        return max(self._numbers.get(RAG.commit, ()), default=0)

    def content_commit(self) -> int:
        """See `Store.content_commit`."""
        return max(self._numbers.get(RAG.contentCommit, ()), default=0)

    # --- commit numbers ----------------------------------------------------------------------------

    def _see(self) -> None:
        """Wait until reads show the last own commit: replicas may lag behind the server that takes writes.

        Raises:
            EndpointError: when they do not within the setting `remote.lag`.
        """
        with self._showing:
            number, self._unseen = self._unseen, None
            if number is None:
                return
            settings, pause, shown = self.endpoint.settings, _PAUSE, 0
            end = time.monotonic() + settings.lag
            while shown < settings.replicas:
                try:
                    newest = max(self._read_numbers().get(RAG.commit, ()), default=0)
                except BaseException:
                    self._unseen = number
                    raise
                if newest >= number:
                    shown += 1
                    continue
                shown = 0
                if time.monotonic() > end:
                    self._unseen = number
                    url = self.endpoint.addresses.query
                    raise EndpointError(
                        tr("{url} does not show commit {number} after {seconds:g} seconds").format(
                            url=url, number=number, seconds=settings.lag
                        ),
                        "refused",
                        hint=tr(
                            "check that the addresses of queries and updates belong to the same dataset. If "
                            "replicas are slower, raise remote.lag. Run the same command again to continue"
                        ),
                        address=url,
                    )
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _read_numbers(self) -> dict[NamedNode, set[int]]:
        numbers: dict[NamedNode, set[int]] = {}
        for row in self.select("remote/commits"):
            numbers.setdefault(row["property"], set()).add(row["number"])
        return numbers

    def _look_out(self, *, content: bool) -> None:
        """Read the commit numbers. Raise EndpointError if another program changed the content."""
        self._see()
        previous, self._numbers = self._numbers, self._read_numbers()
        if content and previous.get(RAG.contentCommit) != self._numbers.get(RAG.contentCommit):
            raise EndpointError(
                tr("another program changed the content of {update} meanwhile").format(
                    update=self.endpoint.addresses.update
                ),
                "conflict",
                hint=tr("let only one program at a time change it. Run the same command again to continue"),
                address=self.endpoint.addresses.update,
            )

    @contextmanager
    def _numbered(self, *, content: bool = True) -> Iterator[None]:
        """Number a write that is not a `Changes`; see `update`."""
        self._look_out(content=content)
        number = self.commit_number() + 1
        if self.capabilities.numbered:
            yield
            return
        marks = commit_marks(number, content=content)
        self._write(self._data("INSERT", marks), content=content)
        try:
            yield
        except UsageError:  # nothing was written
            self._write(self._data("DELETE", marks), content=content)
            raise
        except BaseException:  # it may have been written in part, so both numbers stay
            for mark in marks:
                self._numbers.setdefault(mark.predicate, set()).add(number)
            raise
        parts = [self._data("INSERT", marks), self._data("DELETE", self._stale(content=content))]
        self._write(sequence(filter(None, parts)), content=content)
        self._advance(number, content=content)

    def _stale(self, *, content: bool) -> list[Quad]:
        """The numbers that a new one replaces."""
        predicates = (RAG.commit, RAG.contentCommit) if content else (RAG.commit,)
        return [commit_mark(p, number) for p in predicates for number in sorted(self._numbers.get(p, ()))]

    def _advance(self, number: int, *, content: bool) -> int:
        if not self.capabilities.numbered:
            self._numbers[RAG.commit] = {number}
            if content:
                self._numbers[RAG.contentCommit] = {number}
            with self._showing:
                self._unseen = number
        return self.commit_number()

    # --- requests ----------------------------------------------------------------------------------

    def _write(self, update: str, *, content: bool, own: bool = True) -> None:
        """Send an update; our own server returns the commit number.

        Args:
            own: an update of the program, not of a user.

        Raises:
            StoreError: the store is only read.
        """
        if self.read_only:
            raise StoreError(
                tr("the store {place} is open for reading only").format(place=self.endpoint.addresses.query),
                hint=tr(
                    "leave out --at and --read-only; if you lack the permission, change it, or copy the store"
                ),
            )
        headers = {} if content or not self.capabilities.numbered else _UNCHANGED
        try:
            reply = self.endpoint.update(update, headers, idempotent=own)
        except MalformedError as error:
            if own:
                message = tr("the endpoint refused a change: {cause}").format(cause=error.message)
                raise EndpointError(
                    message, "refused", hint=tr(SEE_ITS_LOG), address=error.address
                ) from error
            raise
        if self.capabilities.numbered:
            number = int(reply.headers[COMMIT_HEADER])
            self._numbers[RAG.commit] = {number}
            if content:
                self._numbers[RAG.contentCommit] = {number}

    def _encoded(self, quads: Iterable[Quad]) -> Iterator[Quad]:
        """Quads in the form that the endpoint stores.

        Raises:
            StoreError: for triple terms that it cannot store.
        """
        try:
            yield from encode(canonical(quads), self.renderer.dialect)
        except TypeError as error:
            url = self.endpoint.addresses.update
            raise EndpointError(
                tr("{url} stores triple terms as RDF 1.1 statements: {error}").format(url=url, error=error),
                "refused",
                hint=tr("leave them out, or use an engine with triple terms"),
                address=url,
            ) from error

    def _data(self, verb: str, quads: Iterable[Quad]) -> str:
        return data(verb, quads, self.renderer.dialect)

    def _bytes(self, quad: Quad) -> int:
        return len(line(quad, self.renderer.dialect).encode()) + len(str(quad.graph_name))

    def _batches(self, quads: Iterable[Quad]) -> Iterator[list[Quad]]:
        """Batches of quads, each within the limits of a request.

        Raises:
            StoreError: for a blank node, which would differ between requests.
        """
        settings = self.endpoint.settings
        batch: list[Quad] = []
        size = 0
        for quad in quads:
            if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode):
                raise StoreError(
                    tr("blank nodes cannot be split over several requests"), hint=tr("replace them by IRIs")
                )
            size += self._bytes(quad)
            if batch and (len(batch) >= settings.batch_quads or size > settings.batch_bytes):
                yield batch
                batch, size = [], self._bytes(quad)
            batch.append(quad)
        if batch:
            yield batch


def _capabilities(
    templates: TemplateLibrary, endpoint: Endpoint, *, create: bool
) -> tuple[Capabilities, bool]:
    """The features of the endpoint, and whether the store must be created."""
    probe = Probe(endpoint, templates)
    if probe.is_store:
        return probe.known(), False
    if not create:
        raise StoreMissingError(
            tr("there is no store at {place}").format(place=endpoint.addresses.query),
            hint=tr("run: graphrag-rdf ingest DOCUMENTS, with the same --store"),
        )
    return probe.by_writing(), True
