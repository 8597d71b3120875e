"""Updates and whole graphs that clients of our server write to a remote store.

A change is one request. A change that is too large for one request is refused, because in parts it would not
be atomic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from graphrag_rdf.errors import EndpointError, TooLargeError, UsageError
from graphrag_rdf.i18n import tr
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
        dialect: the syntax of triple terms in the store.
    """

    def __init__(self, store: RemoteStore) -> None:
        self._store = store
        self.dialect = store.renderer.dialect
        self._health = _impatient(store.endpoint)

    def update(self, sparql: str, base: str | None = None, *, content: bool = True) -> int:
        """See `RemoteStore.update`."""
        return self._store.update(sparql, base, content=content)

    def settle(self) -> None:
        """Write the features of the endpoint again, if an update (DROP ALL) removed them."""
        store = self._store
        if not store.capabilities.numbered and not store.select("remote/endpoint"):
            store.commit(Changes(add=store.capabilities.quads(), content=False))

    def trouble(self) -> EndpointError | None:
        """The error of a short test query; None if the endpoint works."""
        try:
            reply = self._health.query(self._store.render("remote/is-store"))
            if read_results(reply).boolean:
                return None
        except EndpointError as error:
            return error
        except UsageError as error:
            return EndpointError(error.message, "refused")
        return EndpointError(tr("the endpoint no longer holds the store"), "refused")

    @property
    def unions(self) -> bool:
        """Whether the endpoint's default graph is the union of all graphs."""
        return self._store.ask("remote/is-union")

    def has_graph(self, graph: NamedNode) -> bool:
        """Whether there is a named graph that is not empty; endpoints differ about empty ones."""
        return self._store.ask("server/is-graph", graph=graph)

    def names(self) -> list[NamedNode]:
        """The named graphs, without the system graph and those older than the store."""
        graphs = {row["graph"] for row in self._store.select("remote/other-graphs")}
        graphs -= {Graphs.SYSTEM, *self._store.capabilities.others}
        return sorted((graph for graph in graphs if isinstance(graph, NamedNode)), key=str)

    def write_graph(self, graph: NamedNode | None, triples: Iterable[Triple], *, replace: bool) -> int:
        """Put triples into a graph; return the new commit number.

        Args:
            graph: None for the default graph of the endpoint.
            replace: remove its former triples.

        Raises:
            TooLargeError: when they do not fit into one request.
            UsageError: for triple terms, if the endpoint does not support them.
        """
        kept = list(triples)
        self._check(kept)
        return self._send(graph_update(graph, kept, replace=replace, dialect=self.dialect))

    def write_quads(self, quads: Iterable[Quad]) -> int:
        """Put quads into their graphs; return the new commit number.

        Raises:
            TooLargeError, UsageError: as for `write_graph`; also for a graph named by a blank node.
        """
        kept = list(quads)
        self._check(kept)
        if any(isinstance(quad.graph_name, BlankNode) for quad in kept):
            raise UsageError(
                tr("endpoints do not support graphs named by blank nodes"), hint=tr("name the graphs by IRIs")
            )
        return self._send(data("INSERT", kept, self.dialect))

    def drop_graph(self, graph: NamedNode | None) -> int:
        """Drop a graph, or empty the default graph; return the new commit number."""
        return self.update(drop_update(graph))

    def _check(self, statements: Sequence[Triple | Quad]) -> None:
        if self.dialect == "classic" and any(isinstance(s.object, Triple) for s in statements):
            raise UsageError(
                tr("the endpoint does not support triple terms"),
                hint=tr("use graphrag-rdf import, which converts them"),
            )

    def _send(self, update: str) -> int:
        if len(update.encode()) > self._store.endpoint.settings.batch_bytes:
            raise TooLargeError(
                tr("the change does not fit into one request to the endpoint (setting remote.batch_mb)"),
                hint=tr("send smaller changes, or use: graphrag-rdf import"),
            )
        return self.update(update) if update else self._store.commit_number()


def _impatient(endpoint: Endpoint) -> Endpoint:
    """The same endpoint, without retries and with a time limit of a few seconds."""
    settings = replace(endpoint.settings, retries=0, timeout=min(_SHORT, endpoint.settings.timeout))
    return Endpoint(endpoint.addresses, settings)
