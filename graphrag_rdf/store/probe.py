"""Detects the features of an endpoint by test queries, because service descriptions are unreliable.

| feature | test |
|---|---|
| syntax of triple terms | one is written in each syntax, the newest first, until one is found again |
| separate default graph | it must not show triples of named graphs, and must keep its own |
| LATERAL | a query that uses it |
| all digits of a double | a query that returns one |
| own commit numbers | responses have the header of our server |

`LiteralSupport` tests whether the endpoint stores literals unchanged, before they are written. Virtuoso
rejects durations and integers of more than 64 bits, and does not find times again. These are errors. It drops
digits of early years and long decimals, which is a warning.

The features that decide how data are written are stored in `urn:graph:system`. A store without them, which
was created elsewhere, is tested without writing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Quad, Triple

from graphrag_rdf.errors import EndpointError, MalformedError, StoreError, UsageError, without_credentials
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import ENDPOINT_NODE, RAG, RDF, XSD, Graphs
from graphrag_rdf.rdf.terms import Term, string, text_of
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import DIALECTS, Dialect, Renderer
from graphrag_rdf.store.answers import read_results
from graphrag_rdf.store.base import Row, in_batches
from graphrag_rdf.store.endpoint import COMMIT_HEADER, Endpoint

_PROBE = NamedNode("urn:graphrag-rdf:probe")
_WORD = "probe"
_PAUSE = 0.1  # seconds between looks whether a write is visible
_DIGITS = 0.12345678901234567
_OURS = frozenset(graph for graph in vars(Graphs).values() if isinstance(graph, NamedNode))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The features of an endpoint.

    Attributes:
        dialect: the syntax of triple terms.
        facts_graph: the named graph of facts; None for the default graph.
        lateral: whether it supports LATERAL.
        numbered: whether it numbers commits itself, as our own server does.
        digits: whether it prints all digits of a double.
        others: named graphs that are older than the store and not part of it.
    """

    dialect: Dialect
    facts_graph: NamedNode | None
    lateral: bool
    numbered: bool
    digits: bool = True
    others: frozenset[NamedNode] = frozenset()

    def quads(self) -> list[Quad]:
        """The triples that record them in the store."""
        facts: list[tuple[NamedNode, Term]] = [
            (RDF.type, RAG.Endpoint),
            (RAG.dialect, string(self.dialect)),
            (RAG.lateral, Literal(self.lateral)),
        ]
        if self.facts_graph is not None:
            facts.append((RAG.factsGraph, self.facts_graph))
        facts += [(RAG.otherGraph, graph) for graph in sorted(self.others, key=str)]
        return [Quad(ENDPOINT_NODE, p, o, Graphs.SYSTEM) for p, o in facts]


class Probe:
    """Detects the features of an endpoint.

    Attributes:
        is_store: whether it holds a store of this program.

    Raises:
        StoreError: when the endpoint cannot be reached, or is not a SPARQL endpoint.
    """

    def __init__(self, endpoint: Endpoint, templates: TemplateLibrary) -> None:
        self._endpoint = endpoint
        self._templates = templates
        self._plain = Renderer("classic")
        reply = endpoint.query(self._render("remote/is-store"))
        self.is_store = bool(read_results(reply).boolean)
        self._numbered = COMMIT_HEADER in reply.headers
        self._lag = 0.0  # seconds until reads showed a write

    def known(self) -> Capabilities:
        """The features of the endpoint of an existing store; writes nothing.

        Raises:
            StoreError: when the endpoint does not support the dialect of the store (any more).
        """
        rows = read_results(self._endpoint.query(self._render("remote/endpoint"))).rows or []
        if rows:
            dialect = _dialect(text_of(rows[0]["dialect"]))
            facts = rows[0].get("facts")
        else:
            dialect = next(name for name in DIALECTS if self._parses(name))
            named = self._ask("remote/facts-graph")
            facts = Graphs.FACTS if named else None
        if not self._parses(dialect):
            raise StoreError(
                tr("{query} does not support {dialect}, the dialect of its store").format(
                    query=self._endpoint.addresses.query, dialect=dialect
                ),
                hint=tr("export the store where it was created, and import it into an empty one here"),
            )
        assert facts is None or isinstance(facts, NamedNode)  # noqa: S101
        return self._with(dialect, facts, self._graphs("remote/noted-graphs"))

    def by_writing(self) -> Capabilities:
        """The features of an endpoint without a store. Test data are removed again.

        Raises:
            StoreError: when it accepts no updates, or does not store them.
        """
        other_graphs = self._graphs("remote/other-graphs")
        try:
            dialect = next((name for name in DIALECTS if self._keeps(name)), None)
            if dialect is None:
                raise StoreError(
                    tr("{query} does not return what was written to {update}").format(
                        query=self._endpoint.addresses.query, update=self._endpoint.addresses.update
                    ),
                    hint=tr("check that remote.query_url and remote.update_url belong to the same dataset"),
                )
            own = not self._ask("remote/probe-union", node=_PROBE) and self._has_default_graph()
        finally:
            self._endpoint.update(self._render("remote/clear-named"))
        return self._with(dialect, None if own else Graphs.FACTS, other_graphs)

    def _with(
        self, dialect: Dialect, facts: NamedNode | None, other_graphs: frozenset[NamedNode]
    ) -> Capabilities:
        lateral, digits = self._knows_lateral(), self._prints_digits()
        return Capabilities(dialect, facts, lateral, self._numbered, digits, other_graphs)

    def _graphs(self, template: str) -> frozenset[NamedNode]:
        rows = read_results(self._endpoint.query(self._render(template))).rows or []
        ours = {_PROBE, *_OURS}  # left by an interrupted run
        graphs = (row["graph"] for row in rows)
        return frozenset(graph for graph in graphs if isinstance(graph, NamedNode) and graph not in ours)

    def _render(self, template: str, renderer: Renderer | None = None, **values: object) -> str:
        return self._templates[template].render(renderer or self._plain, **values)

    def _ask(self, template: str, renderer: Renderer | None = None, **values: object) -> bool:
        reply = self._endpoint.query(self._render(template, renderer, **values))
        return bool(read_results(reply).boolean)

    def _parses(self, dialect: Dialect) -> bool:
        try:
            self._ask("remote/probe-term", Renderer(dialect), node=_PROBE, value=_WORD)
        except (UsageError, StoreError):
            return dialect == "classic"
        return True

    def _keeps(self, dialect: Dialect) -> bool:
        renderer = Renderer(dialect)
        try:
            self._endpoint.update(self._render("remote/write-term", renderer, node=_PROBE, value=_WORD))
            begun, end = time.monotonic(), time.monotonic() + self._endpoint.settings.lag
            while not (visible := self._ask("remote/probe-term", renderer, node=_PROBE, value=_WORD)):
                if time.monotonic() > end:
                    break
                time.sleep(_PAUSE)
            self._lag = time.monotonic() - begun
        except UsageError:
            if dialect == DIALECTS[-1]:
                raise
            return False
        return visible

    def _has_default_graph(self) -> bool:
        try:
            self._endpoint.update(self._render("remote/write-default", node=_PROBE))
        except (UsageError, StoreError):
            return False
        end = time.monotonic() + 2 * self._lag
        while not (visible := self._ask("remote/probe-default", node=_PROBE)) and time.monotonic() < end:
            time.sleep(_PAUSE)
        self._endpoint.update(self._render("remote/clear-default", node=_PROBE))
        return visible

    def _knows_lateral(self) -> bool:
        try:
            renderer = Renderer("classic", lateral=True)
            return self._ask("remote/probe-lateral", renderer, nodes=[_PROBE])
        except (UsageError, StoreError):
            return False

    def _prints_digits(self) -> bool:
        rows = read_results(self._endpoint.query(self._render("remote/probe-digits"))).rows or []
        return any(float(text_of(row["value"])) == _DIGITS for row in rows)


def _dialect(name: str) -> Dialect:
    for dialect in DIALECTS:
        if dialect == name:
            return dialect
    raise StoreError(
        tr("unknown dialect of the store: {name!r}").format(name=name), hint=tr("upgrade graphrag-rdf")
    )


log = logging.getLogger(__name__)

_KEPT = frozenset({XSD.string, RDF.langString, RDF.dirLangString, XSD.boolean, XSD.double})
_NUMBERS = frozenset({XSD.integer, XSD.decimal})
_TIMES = frozenset({XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth})
_SHORT_NUMBER = 15
_BATCH = 100
_PLAIN = Literal("plain")


class LiteralSupport:
    """Remembers which literals an endpoint returned unchanged.

    Args:
        give_back: queries the endpoint for rows with these literals as `value`.
        where: the endpoint's address, for messages.
    """

    def __init__(self, give_back: Callable[[list[Literal]], list[Row]], where: str) -> None:
        self._give_back = give_back
        self._where = where
        self._seen: set[Literal] = set()
        self._refused: set[Literal] = set()

    def require(self, quads: Iterable[Quad]) -> None:
        """Check that the endpoint can store the literals of quads; warn about changed ones.

        Raises:
            EndpointError: with the literals that it cannot store.
        """
        if refused := self.refused(quad.object for quad in quads):
            raise EndpointError(
                tr("{where} cannot store {names}").format(
                    where=self._where, names=", ".join(sorted(map(str, refused)))
                ),
                "refused",
                hint=tr("leave them out, make them plain texts, or use another engine. Nothing was written"),
                address=self._where,
            )

    def refused(self, terms: Iterable[Term]) -> set[Literal]:
        """The literals among terms that the endpoint cannot store; warn about changed ones.

        Raises:
            EndpointError: when the endpoint does not respond, or rejects plain literals too.
        """
        odd = {literal for term in terms if (literal := _odd(term)) is not None}
        asked = sorted(odd - self._seen - self._refused, key=str)
        for batch in in_batches(asked, _BATCH):
            self._ask(batch)
        return odd & self._refused

    def _ask(self, batch: list[Literal]) -> None:
        kept = self._kept(batch)
        if kept is None and len(batch) > 1:  # one of them causes the error
            for literal in batch:
                self._ask([literal])
            return
        if kept is None:
            self._give_back([_PLAIN])  # an endpoint that rejects this too has another problem
            self._refused.update(batch)
            return
        for literal in batch:
            if literal not in kept:
                log.warning("%s does not store %s exactly", without_credentials(self._where), literal)
        self._seen.update(batch)

    def _kept(self, literals: list[Literal]) -> set[Term] | None:
        try:
            return {row["value"] for row in self._give_back(literals) if "value" in row}
        except MalformedError:
            return None
        except EndpointError as error:
            if error.kind != "refused":
                raise
            return None


def _odd(term: Term) -> Literal | None:
    """A literal that some engines do not store; None for others."""
    while isinstance(term, Triple):
        term = term.object
    if not isinstance(term, Literal) or term.datatype in _KEPT:
        return None
    if term.datatype in _NUMBERS:
        return term if len(term.value) > _SHORT_NUMBER else None
    if term.datatype in _TIMES:
        return None if term.value[:4].isdigit() and not term.value[4:5].isdigit() else term
    return term
