"""The facts behind the rows of a query: what its triple patterns become with the values of a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode

from graphrag_rdf.errors import GraphRagError
from graphrag_rdf.rdf.namespaces import RDF, RDFS, SKOS, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.reader_process.limited import LimitedQueries
from graphrag_rdf.sparql.render import spelled, with_prefixes
from graphrag_rdf.sparql.tokens import tokens
from graphrag_rdf.steps.state import Triple
from graphrag_rdf.store.base import Row

NAMES = frozenset({RDFS.label, SKOS.altLabel, RDF.type})
"""Relations that are no facts of their own in a row, if it has others."""
_TRIED = 2000  # rows in which the values of all variables are looked for
_FACTS = 12  # of a row: what a count rests on is cited in part
BLANK = "urn:blank:"
"""Begins the IRIs that blank nodes of other servers get in a query."""
Pattern: TypeAlias = tuple[Any, Any, Any]
"""Subject, predicate and object: terms, or the names of variables as text."""


@dataclass(frozen=True, slots=True)
class Called:
    """What an endpoint returned.

    Attributes:
        name, address: of the endpoint.
        variables: of its rows.
        rows: their number.
    """

    name: str
    address: str
    variables: tuple[str, ...]
    rows: int


@dataclass
class Result:
    """What a query returned.

    Attributes:
        query: without the prefixes that are added to every query.
        template: that it was made from; None of one that a model wrote.
        values: of the template's parameters, in words.
        facts: of each row.
        solutions: of each row those of WHERE that it is made of, the first few.
        called: the endpoints that its SERVICE blocks called.
    """

    query: str = ""
    template: str | None = None
    values: dict[str, list[str]] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)
    facts: list[list[Triple]] = field(default_factory=list)
    solutions: list[list[Row]] = field(default_factory=list)
    called: Sequence[Called] = ()

    def add_facts(self, queries: LimitedQueries, whole: str, own: str) -> None:
        """Add the solutions and facts of each row: what its values make of the query's triple patterns. None
        for a query that says nothing of facts, or that is too intricate to tell (RDF 1.2, property paths).

        Args:
            whole: the query with the rows of other servers.
            own: the query without them; its patterns count.
        """
        patterns = _patterns(with_prefixes(own))
        solutions = _solutions(queries, whole, self.variables, self.rows) if patterns or self.called else ()
        self.solutions = [*solutions] or [[] for _ in self.rows]
        for matching in self.solutions:
            facts = dict.fromkeys(fact for values in matching for fact in _filled(patterns, values))
            telling = [fact for fact in facts if fact[1] not in NAMES] or list(facts)
            self.facts.append(telling[:_FACTS])

    @property
    def denied(self) -> bool:
        """Whether it only says that something is not so, which no fact shows."""
        return [*self.rows] == [{"answer": Literal(False)}]


def _solutions(
    queries: LimitedQueries, query: str, variables: Sequence[str], rows: Sequence[Row]
) -> list[list[Row]]:
    """Of each row the solutions of WHERE with its values; [] if they cannot be asked for."""
    where = where_of(query)
    if where is None:
        return []
    try:
        begin, wanted = prologue_of(query), _rows_as_values(where, variables, rows)
        whole = with_prefixes(f"{begin}SELECT * WHERE {{ {wanted} {where} }} LIMIT {_TRIED}")
        wide = queries.run(whole, _TRIED)
    except GraphRagError:
        return []
    shared = [name for name in variables if name in wide.variables]
    by_values: defaultdict[tuple[Term | None, ...], list[Row]] = defaultdict(list)
    for values in wide.rows or ():
        by_values[tuple(values.get(name) for name in shared)].append(values)
    return [by_values[tuple(row.get(name) for name in shared)] for row in rows]


def _rows_as_values(where: str, variables: Iterable[str], rows: Iterable[Row]) -> str:
    """A VALUES block with the rows' values of the variables in a group, so that solutions of other rows
    do not take up the limit. A blank node cannot be named, and leaves its place open.
    """
    inside = {token.text[1:] for token in tokens(where) if token.kind == "variable"}
    columns = [name for name in variables if name in inside]
    if not columns:
        return ""

    def cell(term: Term | None) -> str:
        return "UNDEF" if term is None or isinstance(term, BlankNode) else spelled(term, "rdf12")

    cells = dict.fromkeys(" ".join(cell(row.get(name)) for name in columns) for row in rows)
    names = " ".join(f"?{name}" for name in columns)
    return f"VALUES ({names}) {{ {' '.join(f'({row})' for row in cells)} }}"


def _patterns(query: str) -> list[Pattern]:
    """The triple patterns of a query outside of negations and of graphs other than that of the facts."""
    from rdflib.plugins.sparql import prepareQuery
    from rdflib.plugins.sparql.parserutils import CompValue

    try:
        algebra = prepareQuery(query).algebra
    except Exception:  # noqa: BLE001 - its parser has errors of many kinds, also for RDF 1.2
        return []
    patterns: list[Pattern] = []

    def walk(node: Any) -> None:
        if isinstance(node, CompValue):
            if node.name == "Graph" and str(node.term) != Graphs.FACTS.value:
                return
            for triple in dict.get(node, "triples") or ():  # its own get() reads variables
                patterns.extend(_pattern(*triple))
            for key, value in node.items():
                if not (node.name == "Minus" and key == "p2") and key != "expr":
                    walk(value)
        elif isinstance(node, list | tuple):
            for part in node:
                walk(part)

    walk(algebra)
    return list(dict.fromkeys(patterns))


def _pattern(s: Any, p: Any, o: Any) -> Iterator[Pattern]:
    """A triple pattern; of a path of alternatives one for each, of other paths none."""
    from rdflib.paths import AlternativePath, InvPath, Path

    if isinstance(p, AlternativePath):
        for predicate in p.args:
            yield from _pattern(s, predicate, o)
    elif isinstance(p, InvPath):
        yield from _pattern(o, p.arg, s)
    elif not isinstance(p, Path):
        yield _term(s), _term(p), _term(o)


def _term(part: Any) -> Any:
    """A term of rdflib as one of ours; a variable as its name."""
    from rdflib import Literal as RdflibLiteral
    from rdflib import URIRef

    if isinstance(part, URIRef):
        return NamedNode(str(part))
    if not isinstance(part, RdflibLiteral):
        return str(part)
    if part.language:
        return Literal(str(part), language=part.language)
    return Literal(str(part), datatype=NamedNode(str(part.datatype)) if part.datatype else None)


def where_of(query: str) -> str | None:
    """The group after WHERE, with its brackets."""
    depth, start = 0, None
    for token in tokens(query):
        if token.text == "{":
            start = token.offset if depth == 0 and start is None else start
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0:
                return query[start : token.offset + 1]
    return None


def prologue_of(query: str) -> str:
    """What a query declares before SELECT."""
    forms = (
        token for token in tokens(query) if token.kind == "word" and token.text.upper() in ("SELECT", "ASK")
    )
    form = next(forms, None)
    return query[: form.offset] if form is not None else ""


def _filled(patterns: Iterable[Pattern], values: Mapping[str, Term]) -> Iterator[Triple]:
    for pattern in patterns:
        s, p, o = (values.get(part) if isinstance(part, str) else part for part in pattern)
        if isinstance(s, NamedNode) and isinstance(p, NamedNode) and isinstance(o, NamedNode | Literal):
            yield s, p, o
