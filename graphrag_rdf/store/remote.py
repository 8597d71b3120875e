"""A store behind any SPARQL 1.1 endpoint, through SPARQLWrapper.

One `Changes` is one request, and so as atomic as the engine makes a request, unless it is too large for
one. Then it is sent in parts, in an order in which a part can be told from the whole: what takes the old
out comes first; what says that a chunk is done, and the commit number, come with the last part. Whoever
finds such a chunk without its extractor's key does it again.

Other programs may write to the same endpoint. There is no lock for that in SPARQL: a commit number that
is not the one this store left tells of them (see `commit` and `refresh`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import EndpointError, MalformedError, StoreError, StoreMissingError, UsageError
from graphrag_rdf.rdf.namespaces import RAG, STORE_NODE, Graphs
from graphrag_rdf.rdf.terms import Term, integer, text_of
from graphrag_rdf.sparql.base import with_base
from graphrag_rdf.sparql.dialect import encode, encode_removal
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.store.base import Answer, Changes, TemplateStore
from graphrag_rdf.store.endpoint import SEE_ITS_LOG, Endpoint
from graphrag_rdf.store.literal_support import LiteralSupport
from graphrag_rdf.store.probe import COMMIT_HEADER, Capabilities, Probe
from graphrag_rdf.store.reading import Reader
from graphrag_rdf.store.updates import canonical, canonical_term, data, line, placed, sequence
from graphrag_rdf.store.wrapper import asks_for_graph
from graphrag_rdf.store.writing import write_answer

_UNCHANGED = {"GraphRAG-Content": "unchanged"}
"""Tells our own server that an update changes nothing that search indexes hold (see server.routes.update)."""


class RemoteStore(TemplateStore):
    """A store behind a SPARQL endpoint.

    Args:
        templates: the query library.
        endpoint: where it is.
        create: make a store where there is none.
        read_only: write nothing at all.
        on_close: called when the store is closed.

    Attributes:
        capabilities: what the endpoint can do.

    Raises:
        StoreError: when the endpoint cannot be used, or there is no store and none is to be made.
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
        self._lock = threading.RLock()
        self._numbers: dict[NamedNode, set[int]] = {}
        self.refresh()
        if fresh:
            self.commit(Changes(add=self.capabilities.quads(), content=False))

    # --- reading -----------------------------------------------------------------------------------

    def query(self, sparql: str) -> Answer:
        """See `Store.query`.

        Raises:
            UsageError: when the endpoint finds it malformed.
            StoreError: when there is no answer, or none that can be read.
        """
        if asks_for_graph(sparql):
            return Answer(triples=self._reader.graph(sparql))
        return self._reader.results(sparql)

    def construct(self, template: str, /, **values: object) -> list[Triple]:
        """See `Store.construct`."""
        return self._reader.graph(self.render(template, **values))

    def write_results(self, sparql: str, output: IO[bytes], media_type: str) -> None:
        """See `Store.write_results`.

        It is read and written anew: so it is whole, has all digits, and comes in every format, whatever the
        endpoint writes.

        Raises:
            UsageError: when the endpoint finds it malformed, or there is no such format for the answer.
            StoreError: as of `query`.
        """
        write_answer(self.query(sparql), output, media_type)

    def quads(self, graph: NamedNode | None = None) -> Iterator[Quad]:
        """See `Store.quads`. Each graph is one answer, on the disk while it is read.

        Raises:
            EndpointError: when the endpoint gives fewer than it counts.
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
        """The triples of a graph as they come.

        Args:
            graph: None for the default graph.
            read: gives the triples of a CONSTRUCT.

        Raises:
            EndpointError: when they are fewer than the endpoint counts.
        """
        promised, given = self._size(graph), 0
        name = "remote/default" if graph is None else "remote/graph"
        for triple in read(self.render(name, **({} if graph is None else {"graph": graph}))):
            given += 1
            yield triple
        if given < promised:
            url = self.endpoint.addresses.query
            raise EndpointError(
                f"{url} gave {given} of the {promised} triples of {graph or 'the default graph'}",
                "refused",
                hint="have it give more rows (in virtuoso.ini: ResultSetMaxRows); or another program deletes",
                address=url,
            )

    def _sizes(self) -> dict[NamedNode, int]:
        """Named graph of ours → quads; that of the system by its name, as our server does not list it."""
        found = {}
        for row in self.select("remote/graphs"):
            if isinstance(row["graph"], NamedNode) and row["graph"] not in self.capabilities.others:
                found[row["graph"]] = _number(row["quads"])
        if Graphs.SYSTEM not in found:
            found[Graphs.SYSTEM] = self._size(Graphs.SYSTEM)
        return found

    def _size(self, graph: NamedNode | None) -> int:
        """How many quads a graph holds; None for the default graph."""
        if graph is None:
            return _number(self.select("remote/default-size")[0]["quads"])
        return _number(self.select("remote/size", graph=graph)[0]["quads"])

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
            StoreError: when the endpoint refuses or is gone, would change a literal, or when another program
                changed the content meanwhile: nothing is written then, and what this program knows of the
                store is out of date.
        """
        if not changes:
            return self.commit_number()
        with self._lock:
            self._look_out(content=changes.content)
            number = self.commit_number() + 1
            requests = list(self._requests(changes, number))
            for request in requests:
                self._write(request, content=changes.content)
            return self._advance(number, content=changes.content)

    def _requests(self, changes: Changes, number: int) -> Iterator[str]:
        """The updates that write the changes: one, or where that is too large, several."""
        renderer, settings = self.renderer, self.endpoint.settings
        parts = [self.render(name, **values) for name, values in changes.updates]
        gone = encode_removal(canonical(changes.remove), renderer.dialect)
        new = list(self._encoded(changes.add))
        self._keeping.require(new)
        remove, add = (list(placed(quads, renderer.facts_graph)) for quads in (gone, new))
        size = sum(len(part.encode()) for part in parts) + sum(map(self._bytes, (*remove, *add)))
        marks = [] if self.capabilities.numbered else self._marks(number, content=changes.content)
        stale = [] if self.capabilities.numbered else self._stale(content=changes.content)
        if size <= settings.batch_bytes and len(remove) + len(add) <= settings.batch_quads:
            parts += [self._data("DELETE", remove), self._data("INSERT", [*add, *marks])]
            yield sequence(filter(None, [*parts, self._data("DELETE", stale)]))
            return
        if parts:
            yield sequence(parts)
        for batch in self._batches(remove):
            yield self._data("DELETE", batch)
        add.sort(key=lambda quad: quad.predicate == RAG.extractor)  # says that a chunk is done: last
        batches = list(self._batches(add))
        for batch in batches[:-1]:
            yield self._data("INSERT", batch)
        rest = batches[-1] if batches else []
        yield sequence(filter(None, [self._data("INSERT", [*rest, *marks]), self._data("DELETE", stale)]))

    def update(self, sparql: str, base: str | None = None, *, content: bool = True) -> int:
        """See `Store.update`.

        The number is written before and after: an endpoint that dies between leaves indexes that look
        again for nothing, not indexes that miss something; and DROP ALL takes the number too. An update
        whose answer does not come is not sent again: what people write may do more when it is run twice.

        Args:
            base: against which relative IRIs are resolved.
            content: whether it may change what the search indexes hold.

        Raises:
            UsageError: when the endpoint finds it malformed; nothing of it is left.
        """
        with self._lock, self._numbered(content=content):
            self._write(with_base(sparql, base), content=content, own=False)
        return self.commit_number()

    def refused(self, literals: Iterable[Literal]) -> set[Literal]:
        """See `Store.refused`; the endpoint is asked about those of which it is not known.

        Raises:
            EndpointError: when there is no answer.
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
        """See `Store.sync`: the endpoint's own business."""

    def flush(self) -> None:
        """See `Store.flush`: the endpoint's own business."""

    def optimize(self) -> None:
        """See `Store.optimize`: the endpoint's own business."""

    def purge(self) -> str:
        """See `Store.purge`: not possible over SPARQL."""
        return (
            "the text is out of the store, but the endpoint's own files and backups may still hold it until "
            "whoever runs it compacts them"
        )

    def close(self) -> None:
        """See `Store.close`. Closing twice does nothing."""
        if self._on_close is not None:
            self._on_close()

    def refresh(self) -> None:
        """See `Store.refresh`."""
        with self._lock:
            self._numbers = self._read_numbers()

    def commit_number(self) -> int:
        """See `Store.commit_number`."""
        return max(self._numbers.get(RAG.commit, ()), default=0)

    def content_commit(self) -> int:
        """See `Store.content_commit`."""
        return max(self._numbers.get(RAG.contentCommit, ()), default=0)

    # --- commit numbers ----------------------------------------------------------------------------

    def _read_numbers(self) -> dict[NamedNode, set[int]]:
        found: dict[NamedNode, set[int]] = {}
        for row in self.select("remote/commits"):
            predicate = row["property"]
            assert isinstance(predicate, NamedNode)  # noqa: S101
            found.setdefault(predicate, set()).add(_number(row["number"]))
        return found

    def _look_out(self, *, content: bool) -> None:
        """See what others have written; content that changed under a change of content ends it."""
        known, self._numbers = self._numbers, self._read_numbers()
        if content and known.get(RAG.contentCommit) != self._numbers.get(RAG.contentCommit):
            raise EndpointError(
                f"another program changed the content of {self.endpoint.addresses.update} meanwhile",
                "conflict",
                hint="let one program at a time change it; run this again, it goes on where it stopped",
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
        marks = self._marks(number, content=content)
        self._write(self._data("INSERT", marks), content=content)
        try:
            yield
        except UsageError:  # nothing was done
            self._write(self._data("DELETE", marks), content=content)
            raise
        except BaseException:  # some of it may have been done, so the number stands beside the old one
            for mark in marks:
                self._numbers.setdefault(mark.predicate, set()).add(number)
            raise
        parts = [self._data("INSERT", marks), self._data("DELETE", self._stale(content=content))]
        self._write(sequence(filter(None, parts)), content=content)
        self._advance(number, content=content)

    @staticmethod
    def _marks(number: int, *, content: bool) -> list[Quad]:
        predicates = (RAG.commit, RAG.contentCommit) if content else (RAG.commit,)
        return [_mark(predicate, number) for predicate in predicates]

    def _stale(self, *, content: bool) -> list[Quad]:
        """The numbers that a new one takes the place of."""
        predicates = (RAG.commit, RAG.contentCommit) if content else (RAG.commit,)
        return [_mark(p, number) for p in predicates for number in sorted(self._numbers.get(p, ()))]

    def _advance(self, number: int, *, content: bool) -> int:
        if not self.capabilities.numbered:
            self._numbers[RAG.commit] = {number}
            if content:
                self._numbers[RAG.contentCommit] = {number}
        return self.commit_number()

    # --- requests ----------------------------------------------------------------------------------

    def _write(self, update: str, *, content: bool, own: bool = True) -> None:
        """Send an update; our own server's answer tells the number of the commit.

        Args:
            own: the program's, not people's.
        """
        headers = {} if content or not self.capabilities.numbered else _UNCHANGED
        try:
            reply = self.endpoint.update(update, headers, idempotent=own)
        except MalformedError as error:
            if own:
                message = f"a change was refused: {error.message}"
                raise EndpointError(message, "refused", hint=SEE_ITS_LOG, address=error.address) from error
            raise
        if self.capabilities.numbered:
            number = int(reply.headers[COMMIT_HEADER])
            self._numbers[RAG.commit] = {number}
            if content:
                self._numbers[RAG.contentCommit] = {number}

    def _encoded(self, quads: Iterable[Quad]) -> Iterator[Quad]:
        """Quads as the endpoint keeps them.

        Raises:
            StoreError: for triple terms that it cannot keep.
        """
        try:
            yield from encode(canonical(quads), self.renderer.dialect)
        except TypeError as error:
            url = self.endpoint.addresses.update
            raise EndpointError(
                f"{url} keeps statements as in RDF 1.1: {error}",
                "refused",
                hint="leave them out, or use an engine that knows triple terms",
                address=url,
            ) from error

    def _data(self, verb: str, quads: Iterable[Quad]) -> str:
        return data(verb, quads, self.renderer.dialect)

    def _bytes(self, quad: Quad) -> int:
        return len(line(quad, self.renderer.dialect).encode()) + len(str(quad.graph_name))

    def _batches(self, quads: Iterable[Quad]) -> Iterator[list[Quad]]:
        """Quads by as many as one request holds.

        Raises:
            StoreError: for a blank node, which would be another one in each request.
        """
        settings = self.endpoint.settings
        batch: list[Quad] = []
        size = 0
        for quad in quads:
            if isinstance(quad.subject, BlankNode) or isinstance(quad.object, BlankNode):
                raise StoreError(
                    "blank nodes cannot be sent to an endpoint in parts", hint="give them IRIs before"
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
    """What the endpoint can do, and whether there is no store yet."""
    probe = Probe(endpoint, templates)
    if probe.is_store:
        return probe.known(), False
    if not create:
        raise StoreMissingError(
            f"there is no store at {endpoint.addresses.query}",
            hint="run: graphrag-rdf ingest DOCUMENTS, with the same --store",
        )
    return probe.by_writing(), True


def _mark(predicate: NamedNode, number: int) -> Quad:
    return Quad(STORE_NODE, predicate, integer(number), Graphs.SYSTEM)


def _number(term: Term) -> int:
    return int(text_of(term))
