"""Queries over several endpoints: `SERVICE` blocks, each checked, sent to its endpoint, replaced by its rows.

    SELECT ?ship ?tonnage { ?ship rdfs:label ?name SERVICE <https://ships.example/sparql> { … } }

A block is sent alone, as a SELECT with a limit of rows, by the program and not by the engine: so it goes only
to listed addresses, is never redirected, and has limits of time and size. Its rows become a VALUES block, so
what runs on the store is a query that any engine runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox
from pyoxigraph import BlankNode, NamedNode

from graphrag_rdf.errors import EndpointError, GraphRagError, UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import RDF, RDFS, SKOS
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.sparql.render import spelled, with_prefixes
from graphrag_rdf.sparql.tokens import is_word, may_call, tokens
from graphrag_rdf.steps.state import Context
from graphrag_rdf.store.base import Answer
from graphrag_rdf.trace.model import Call
from graphrag_rdf.trace.recorder import Step
from graphrag_rdf.wings.text2sparql.endpoints import Described, ask_endpoint
from graphrag_rdf.wings.text2sparql.row_facts import BLANK, Called, prologue_of
from graphrag_rdf.wings.text2sparql.schema import alike
from graphrag_rdf.wings.text2sparql.settings import Endpoint

_EVERYWHERE = frozenset({RDF.type, RDFS.label, RDFS.comment, SKOS.altLabel, SKOS.prefLabel})
"""Properties that descriptions often leave out."""


@dataclass(frozen=True, slots=True)
class Block:
    """A SERVICE block of a query.

    Attributes:
        address: of its endpoint.
        query: that is sent there, without a limit.
        start, end: in the text of the query.
    """

    address: str
    query: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Services:
    """The endpoints that a query may call.

    Attributes:
        endpoints: by address.
        seconds: time limit of one call.
        rows: maximum number of rows of one call.
        failed: endpoints that failed, and why.
    """

    endpoints: Mapping[str, tuple[Endpoint, Described]]
    seconds: float
    rows: int
    failed: list[tuple[str, str]] = field(default_factory=list)

    def problem(self, query: str) -> str | None:
        """What is wrong with the blocks of a query, for the model; None if nothing is.

        Args:
            query: that calls only these endpoints.
        """
        try:
            blocks = blocks_of(query)
            for text in (without(query, blocks), *(block.query for block in blocks)) if blocks else ():
                ox.Store().query(with_prefixes(text))
            for block in blocks:
                if unknown := self._unknown(block):
                    return unknown
        except (SyntaxError, ValueError) as error:
            return f"malformed query: {error}"
        return None

    def _unknown(self, block: Block) -> str | None:
        endpoint, described = self.endpoints[block.address]
        terms = described.terms | _EVERYWHERE
        unknown = [term for term in _terms_of(with_prefixes(block.query)) if term not in terms]
        listed = alike(unknown, terms, self.elsewhere)
        return f"the endpoint {endpoint.name} does not know {listed}" if unknown else None

    def elsewhere(self, term: NamedNode) -> str:
        """Which endpoints know a term, for the model; "" if none does."""
        return "".join(
            f", but the endpoint {endpoint.name} does: use it in SERVICE <{address}> {{ … }}"
            for address, (endpoint, described) in self.endpoints.items()
            if term in described.terms
        )

    def run(self, context: Context, step: Step, query: str) -> tuple[str, list[Called]]:
        """The query with the rows of its blocks in place of them, and what returned them.

        Raises:
            GraphRagError: an endpoint failed, or returns too many rows. The message names it. Or the query
                with their rows calls other servers.
        """
        called: list[Called] = []
        parts: list[str] = []
        done = 0
        for number, block in enumerate(blocks_of(query)):
            answer, entry = self._call(context, step, block)
            called.append(entry)
            parts += [query[done : block.start], _as_values(answer, number)]
            done = block.end
        whole = "".join([*parts, query[done:]])
        if called:
            if may_call(with_prefixes(whole)):
                message = tr("the query with the rows of {names} calls other servers: it is not run")
                names = ", ".join(dict.fromkeys(entry.name for entry in called))
                raise EndpointError(message.format(names=names), "refused")
            context.recorder.ran(step, Call("query"), with_prefixes(whole))
        return whole, called

    def _call(self, context: Context, step: Step, block: Block) -> tuple[Answer, Called]:
        name = self.endpoints[block.address][0].name
        text = with_prefixes(f"{block.query} LIMIT {self.rows + 1}")
        call = Call("service", endpoint=NamedNode(block.address))
        began = time.perf_counter()
        try:
            answer = ask_endpoint(block.address, text, self.seconds)
            call.rows = len(answer.rows or ())
        except GraphRagError as error:
            self.failed.append((name, str(error)))
            message = tr("the endpoint {name}: {cause}").format(name=name, cause=error)
            raise EndpointError(message, "refused") from error
        finally:
            call.ms = round((time.perf_counter() - began) * 1000)
            context.recorder.ran(step, call, text)
        if call.rows > self.rows:
            raise UsageError(
                tr(
                    "the endpoint {name} returns more than {rows:,} rows: restrict them inside its SERVICE "
                    "block, or count them there in a sub-SELECT"
                ).format(name=name, rows=self.rows)
            )
        return answer, Called(name, block.address, answer.variables, call.rows)


def blocks_of(query: str) -> list[Block]:
    """The SERVICE blocks of a query.

    Args:
        query: whose calls were found to be of whole IRIs (`sparql.tokens.may_call`).

    Raises:
        ValueError: a block is not closed, or holds another one.
    """
    listed, blocks, index = list(tokens(query)), [], 0
    while index < len(listed):
        start = index
        index += 1
        if not is_word(listed[start], "SERVICE"):
            continue
        at = index + is_word(listed[index], "SILENT")  # what an endpoint does not answer is always told
        depth = 0
        for end in range(at + 1, len(listed)):
            depth += {"{": 1, "}": -1}.get(listed[end].text, 0)
            if depth < 1:
                break
        if at + 1 >= len(listed) or listed[at + 1].text != "{" or depth:
            raise ValueError("a SERVICE block needs a group in braces")
        if any(is_word(token, "SERVICE") for token in listed[at:end]):
            raise ValueError("SERVICE is not allowed in a SERVICE block")
        first, last = listed[at + 1].offset, listed[end].offset + 1
        text = f"{prologue_of(query)}SELECT * WHERE {query[first:last]}"
        blocks.append(Block(listed[at].text[1:-1], text, listed[start].offset, last))
        index = end + 1
    return blocks


def without(query: str, blocks: Sequence[Block]) -> str:
    """A query with an empty group in place of each block."""
    for block in reversed(blocks):
        query = f"{query[: block.start]}{{}}{query[block.end :]}"
    return query


def _as_values(answer: Answer, number: int) -> str:
    """The rows of an endpoint as VALUES. A blank node gets an IRI: it joins within these rows only."""

    def cell(term: Term | None) -> str:
        if isinstance(term, BlankNode):
            return f"<{BLANK}{number}:{term.value}>"
        return "UNDEF" if term is None else spelled(term, "rdf12")

    names = " ".join(f"?{name}" for name in answer.variables)
    rows = (" ".join(cell(row.get(name)) for name in answer.variables) for row in answer.rows or ())
    return f"VALUES ({names}) {{ {' '.join(f'({row})' for row in rows)} }}"


def _terms_of(query: str) -> list[NamedNode]:
    """The properties and classes that the patterns of a query name.

    Raises:
        ValueError: they cannot be told.
    """
    from rdflib.plugins.sparql import prepareQuery

    try:
        algebra = prepareQuery(query).algebra
    except Exception as error:  # its parser has errors of many kinds, also for RDF 1.2
        raise ValueError(f"write SERVICE blocks in SPARQL 1.1 ({str(error)[:200]})") from error
    named = (iri for triple in _triples_in(algebra) for iri in _named(*triple))
    return list(dict.fromkeys(NamedNode(str(iri)) for iri in named))


def _triples_in(node: Any) -> Iterator[tuple[Any, Any, Any]]:
    from rdflib.plugins.sparql.parserutils import CompValue

    if isinstance(node, CompValue):
        yield from dict.get(node, "triples") or ()  # its own get() reads variables
        node = [value for key, value in node.items() if key != "triples"]
    if isinstance(node, list | tuple):
        for part in node:
            yield from _triples_in(part)


def _named(subject: Any, predicate: Any, value: Any) -> Iterator[Any]:
    """The IRIs of a pattern's predicate or path, and the class if it says one."""
    from rdflib import URIRef

    del subject
    properties = list(_of_path(predicate))
    yield from properties
    if isinstance(value, URIRef) and str(RDF.type.value) in map(str, properties):
        yield value


def _of_path(path: Any) -> Iterator[Any]:
    from rdflib import URIRef
    from rdflib.paths import Path

    if isinstance(path, URIRef):
        yield path
    elif isinstance(path, Path):
        inner: Iterable[Any] = [getattr(path, name) for name in ("arg", "path") if hasattr(path, name)]
        for part in [*inner, *getattr(path, "args", ())]:
            yield from _of_path(part)
