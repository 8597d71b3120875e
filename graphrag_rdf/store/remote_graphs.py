"""What clients of our server may do with a remote store beside asking: own updates, and graphs whole.

A change is one request, as everywhere with a remote store; what one request cannot hold is refused, since in
parts it would not be one change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from graphrag_rdf.errors import EndpointError, TooLargeError, UsageError
from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.store.answers import read_results
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.endpoint import Endpoint
from graphrag_rdf.store.remote import RemoteStore
from graphrag_rdf.store.updates import data, drop_update, graph_update

_SHORT = 5.0


class RemoteGraphs:
    """See the module.

    Args:
        store: open.

    Attributes:
        dialect: the spelling of triple terms that the store is written in.
    """

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        self.dialect = store.renderer.dialect
        self._health = _impatient(store.endpoint)

    def update(self, sparql: str, base: str | None = None, *, content: bool = True) -> int:
        """See `RemoteStore.update`."""
        return self._store.update(sparql, base, content=content)

    def settle(self) -> None:
        """Write the note of what the endpoint can do again, if an update took it (DROP ALL)."""
        store = self._store
        if not store.capabilities.numbered and not store.select("remote/endpoint"):
            store.commit(Changes(add=store.capabilities.quads(), content=False))

    def trouble(self) -> EndpointError | None:
        """What is wrong with the endpoint, as far as one short question tells; None when it answers."""
        try:
            reply = self._health.query(self._store.render("remote/is-store"))
            if read_results(reply).boolean:
                return None
        except EndpointError as error:
            return error
        except UsageError as error:
            return EndpointError(error.message, "refused")
        return EndpointError("the endpoint no longer holds the store", "refused")

    @property
    def unions(self) -> bool:
        """Whether the endpoint's default graph shows what is in named graphs."""
        return self._store.ask("remote/is-union")

    def has_graph(self, graph: NamedNode) -> bool:
        """Whether there is a named graph that holds something; endpoints differ about empty ones."""
        return self._store.ask("server/is-graph", graph=graph)

    def names(self) -> list[NamedNode]:
        """The named graphs, less the bookkeeping and those that were at the endpoint before the store."""
        found = {row["graph"] for row in self._store.select("remote/other-graphs")}
        found -= {Graphs.SYSTEM, *self._store.capabilities.others}
        return sorted((graph for graph in found if isinstance(graph, NamedNode)), key=str)

    def write_graph(self, graph: NamedNode | None, triples: Iterable[Triple], *, replace: bool) -> int:
        """Put triples into a graph; the new commit number.

        Args:
            graph: None for the default graph, as the endpoint has it.
            replace: what it held goes.

        Raises:
            TooLargeError: for what one request cannot hold.
            UsageError: for triple terms where the endpoint keeps none.
        """
        kept = list(triples)
        self._check(kept)
        return self._send(graph_update(graph, kept, replace=replace, dialect=self.dialect))

    def write_quads(self, quads: Iterable[Quad]) -> int:
        """Put quads into their graphs; the new commit number.

        Raises:
            TooLargeError, UsageError: as of `write_graph`; also for a graph that a blank node names.
        """
        kept = list(quads)
        self._check(kept)
        if any(isinstance(quad.graph_name, BlankNode) for quad in kept):
            raise UsageError("an endpoint has no graphs without IRIs", hint="give them IRIs")
        return self._send(data("INSERT", kept, self.dialect))

    def drop_graph(self, graph: NamedNode | None) -> int:
        """Take a graph out, or empty the default graph; the new commit number."""
        return self.update(drop_update(graph))

    def _check(self, statements: Sequence[Triple | Quad]) -> None:
        if self.dialect == "classic" and any(isinstance(s.object, Triple) for s in statements):
            raise UsageError("the endpoint keeps no triple terms", hint="graphrag-rdf import spells them out")

    def _send(self, update: str) -> int:
        if len(update.encode()) > self._store.endpoint.settings.batch_bytes:
            raise TooLargeError(
                "this is more than one request to the endpoint may hold (remote.batch_mb), and in parts it "
                "would not be one change",
                hint="send parts of your own, or use: graphrag-rdf import",
            )
        return self.update(update) if update else self._store.commit_number()


def _impatient(endpoint: Endpoint) -> Endpoint:
    """The same for a question whose answer is waited for no longer than a few seconds."""
    settings = replace(endpoint.settings, retries=0, timeout=min(_SHORT, endpoint.settings.timeout))
    return Endpoint(endpoint.addresses, settings)
