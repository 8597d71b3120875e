"""JSON-LD with the context of the program's vocabularies (https://www.w3.org/TR/json-ld11/)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.rdf.namespaces import PREFIXES, RAG, RDF, TG, XSD, prefixed
from graphrag_rdf.rdf.terms import Term


def jsonld_context(terms: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A context with our prefixes, and the terms of `tg:` and `rag:` by their local names.

    Of two terms with the same local name, that of TrustGraph has it; the other is written with its prefix.

    Args:
        terms: rows of `queries/ontology/context`.
    """
    context: dict[str, Any] = {**PREFIXES, "id": "@id", "type": "@type"}
    rows = [row for row in terms if row["term"] in TG or row["term"] in RAG]
    for row in sorted(rows, key=lambda row: row["term"] in RAG):
        name = prefixed(row["term"])
        if name is None:
            continue
        means: Any = name
        if row["of_things"]:
            means = {"@id": name, "@type": "@id"}
        elif row["datatype"] is not None:
            means = {"@id": name, "@type": row["datatype"]}
        context.setdefault(name.partition(":")[2], means)
    return {"@context": context}


class Output(Protocol):
    """A stream of bytes."""

    def write(self, data: bytes, /) -> object:
        """Write some bytes."""


def write_jsonld(
    statements: Iterable[Triple | Quad], output: Output, document: Mapping[str, Any], url: str = ""
) -> None:
    """Write statements as a document with a context, one line for each run of a subject.

    Args:
        document: see `jsonld_context`; an empty one for names in full.
        url: the address of `document`, which is written in its place.

    Raises:
        TypeError: for a triple term, or an IRI whose scheme is a prefix of the context.
    """
    context = document.get("@context", {})
    names = _Names(context)
    graphs = groupby(
        statements,
        key=lambda statement: statement.graph_name if isinstance(statement, Quad) else DefaultGraph(),
    )
    output.write(f'{{"@context": {json.dumps(url or context, ensure_ascii=False)},\n"@graph": ['.encode())
    first = True
    for graph, group in graphs:
        named = not isinstance(graph, DefaultGraph)
        if named:
            output.write(
                f'{"" if first else ","}\n{{"@id": {json.dumps(names.node(graph))}, "@graph": ['.encode()
            )
            first = True
        for node in _nodes(group, names):
            output.write(f"{'' if first else ','}\n{json.dumps(node, ensure_ascii=False)}".encode())
            first = False
        if named:
            output.write(b"]}")
            first = False
    output.write(b"\n]}\n")


def _nodes(statements: Iterable[Triple | Quad], names: _Names) -> Iterator[dict[str, Any]]:
    for subject, group in groupby(statements, key=lambda statement: statement.subject):
        values: defaultdict[str, list[Any]] = defaultdict(list)
        for statement in group:
            key, value = names.value(statement.predicate, statement.object)
            values[key].append(value)
        yield {
            "@id": names.node(subject),
            **{key: several if len(several) > 1 else several[0] for key, several in values.items()},
        }


class _Names:
    """The context the other way round.

    Args:
        context: prefixes, and terms of prefixed names, with or without a type of their values.
    """

    def __init__(self, context: Mapping[str, Any]) -> None:
        self._prefixes = {name: base for name, base in context.items() if name in PREFIXES}
        self._terms: dict[str, _Coerced] = {}
        for name, means in context.items():
            if name in self._prefixes or str(means).startswith("@"):
                continue
            short, kind = (means["@id"], means.get("@type")) if isinstance(means, Mapping) else (means, None)
            prefix, _, local = short.partition(":")
            if kind and kind != "@id" and kind.startswith("xsd:"):
                kind = f"{PREFIXES['xsd']}{kind[4:]}"
            self._terms.setdefault(f"{context[prefix]}{local}", _Coerced(name, kind))

    def node(self, term: object) -> str:
        """The value of `@id`."""
        if isinstance(term, BlankNode):
            return f"_:{term.value}"
        if not isinstance(term, NamedNode):
            raise TypeError("JSON-LD has no syntax for triple terms")
        scheme, _, local = term.value.partition(":")
        if scheme in self._prefixes and not local.startswith("//"):
            raise TypeError(f"JSON-LD cannot express <{term.value}>: its scheme is a prefix of the context")
        return term.value

    def value(self, predicate: NamedNode, term: Term) -> tuple[str, Any]:
        """Key and value of a statement."""
        if predicate == RDF.type and isinstance(term, NamedNode):
            declared = self._terms.get(term.value)
            return "@type", declared.name if declared else self._short(term)
        declared = self._terms.get(predicate.value)
        if declared is None or declared.kind is None:
            return declared.name if declared else self._short(predicate), self._plain(term)
        if declared.kind == "@id" and not isinstance(term, Literal):
            return declared.name, self.node(term)
        if isinstance(term, Literal) and term.datatype.value == declared.kind:
            return declared.name, term.value
        return self._short(predicate), self._plain(term)

    def _plain(self, term: Term) -> Any:
        if not isinstance(term, Literal):
            return {"@id": self.node(term)}
        if term.language:
            direction = {"@direction": term.direction.value} if term.direction else {}
            return {"@value": term.value, "@language": term.language, **direction}
        if term.datatype == XSD.string:
            return term.value
        return {"@value": term.value, "@type": self._short(term.datatype)}

    def _short(self, iri: NamedNode) -> str:
        if self._prefixes and (name := prefixed(iri)) is not None:
            return name
        return self.node(iri)


@dataclass(frozen=True, slots=True)
class _Coerced:
    """A term of a context, and the type that its values have without one of their own."""

    name: str
    kind: str | None
