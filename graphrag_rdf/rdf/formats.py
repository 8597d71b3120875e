"""Formats at the borders: results of queries, and entity declarations of RDF/XML.

The engine writes most results. Ours are CSV, and all formats for rows that are not the engine's own, such as
those whose triple terms are replaced.

CSV is the SPARQL Query Results CSV Format (https://www.w3.org/TR/sparql12-results-csv-tsv/), triple terms
included. The engine's own writer puts triple terms and IRIs into a field without quoting the field, so that
a comma or a quote in them shifts the columns. Here a triple term is `<<( s p o )>>` with its object, if
that is a literal, in quotes, as the draft has it (§3.2, whose brackets are those of an older syntax); all
fields are quoted alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from mmap import mmap
from typing import Protocol, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Triple

from graphrag_rdf.errors import UsageError
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import Term, to_sparql_json

_LINE_ENDS = {"text/csv": b"\r\n", "text/tab-separated-values": b"\n"}
_SPECIAL = frozenset('",\r\n')
_ROWS = 256
"""Number of rows in one write."""


class Output(Protocol):
    """A stream of bytes."""

    def write(self, data: bytes, /) -> object:
        """Write some bytes."""


def line_end(media_type: str) -> bytes:
    """The line end after a truth value, in formats with a row on each line; empty in other formats.

    The specification has no form of a truth value; engines differ, and ours writes the word alone.
    """
    return _LINE_ENDS.get(media_type.partition(";")[0], b"")


Row: TypeAlias = Sequence[Term | None]
"""Terms in the order of the variables; None where one is unbound."""

Writer: TypeAlias = Callable[[Sequence[str], Iterable[Row], Output], None]
"""Writes variables and rows."""


def write_csv(found: QuerySolutions, output: Output) -> None:
    """Write solutions, in the thread that ran the query."""
    _csv([variable.value for variable in found.variables], map(list, found), output)


def _csv(variables: Sequence[str], rows: Iterable[Row], output: Output) -> None:
    lines = chain([",".join(variables)], (",".join(map(_field, row)) for row in rows))
    _in_pieces((f"{line}\r\n" for line in lines), output)


def _tsv(variables: Sequence[str], rows: Iterable[Row], output: Output) -> None:
    lines = chain(
        ["\t".join(f"?{name}" for name in variables)],
        ("\t".join("" if term is None else str(term) for term in row) for row in rows),
    )
    _in_pieces((f"{line}\n" for line in lines), output)


def _json(variables: Sequence[str], rows: Iterable[Row], output: Output) -> None:
    head = json.dumps({"vars": variables}, ensure_ascii=False, separators=_COMPACT)
    output.write(f'{{"head":{head},"results":{{"bindings":['.encode())
    bindings = (json.dumps(_binding(variables, row), ensure_ascii=False, separators=_COMPACT) for row in rows)
    _in_pieces((f",{binding}" if number else binding for number, binding in enumerate(bindings)), output)
    output.write(b"]}}")


def _binding(variables: Sequence[str], row: Row) -> dict[str, object]:
    pairs = zip(variables, row, strict=True)
    return {name: to_sparql_json(term) for name, term in pairs if term is not None}


def _xml(variables: Sequence[str], rows: Iterable[Row], output: Output) -> None:
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in variables)
    output.write(
        f'<?xml version="1.0"?><sparql xmlns="http://www.w3.org/2005/sparql-results#"><head>{head}</head>'
        "<results>".encode()
    )
    _in_pieces((f"<result>{_xml_bindings(variables, row)}</result>" for row in rows), output)
    output.write(b"</results></sparql>")


def _xml_bindings(variables: Sequence[str], row: Row) -> str:
    return "".join(
        f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>"
        for name, term in zip(variables, row, strict=True)
        if term is not None
    )


def _xml_term(term: Term) -> str:
    if isinstance(term, NamedNode):
        return f"<uri>{escape(term.value)}</uri>"
    if isinstance(term, BlankNode):
        return f"<bnode>{escape(term.value)}</bnode>"
    if isinstance(term, Triple):
        parts = ((name, getattr(term, name)) for name in ("subject", "predicate", "object"))
        return f"<triple>{''.join(f'<{name}>{_xml_term(part)}</{name}>' for name, part in parts)}</triple>"
    kind = ""
    if term.language:
        kind = f" xml:lang={quoteattr(term.language)}"
    elif term.datatype != XSD.string:
        kind = f" datatype={quoteattr(term.datatype.value)}"
    return f"<literal{kind}>{escape(term.value, _WHITE_SPACE)}</literal>"


def _in_pieces(texts: Iterable[str], output: Output) -> None:
    """Write many at a time."""
    texts = iter(texts)
    while piece := list(islice(texts, _ROWS)):
        output.write("".join(piece).encode())


_WHITE_SPACE = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}  # which readers may trim or normalise
_COMPACT = (",", ":")

WRITERS: Mapping[str, Writer] = {
    "text/csv": _csv,
    "text/tab-separated-values": _tsv,
    "application/sparql-results+json": _json,
    "application/sparql-results+xml": _xml,
}
"""Media type of query results → our writer of it (https://www.w3.org/TR/sparql11-results-json/,
https://www.w3.org/TR/rdf-sparql-XMLres/, https://www.w3.org/TR/sparql11-results-csv-tsv/)."""


def _field(term: object) -> str:
    kind = type(term)
    write: Callable[[object], str] | None = _PLAIN.get(kind)
    text = write(term) if write is not None else "" if term is None else str(term)
    return text if _SPECIAL.isdisjoint(text) else _quoted(text)


def _triple(term: Triple) -> str:
    parts = [_value(part) for part in (term.subject, term.predicate, term.object)]
    return f"<<( {' '.join(parts)} )>>"


def _value(part: object) -> str:
    if isinstance(part, Literal):
        return _quoted(part.value)
    if isinstance(part, Triple):
        return _triple(part)
    return part.value if isinstance(part, NamedNode) else str(part)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


_PLAIN = {NamedNode: lambda term: term.value, Literal: lambda term: term.value, Triple: _triple}


NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML 1.0 cannot express."""

_DECLARED = re.compile(rb"<!ENTITY\s+(?:(%)\s+)?([^\s'\"<>&;]+)\s+(?:\"([^\"]*)\"|'([^']*)')?")
_REFERENCE = re.compile(rb"&([^#\s;&<>]{1,256});")


def check_entities(xml: bytes | mmap, limit: int) -> None:
    """Accept RDF/XML only if its entities are plain texts of limited total size.

    The engine's parser takes no external entities, but expands internal ones without bound ("billion
    laughs"). It reads UTF-8 only, so bytes can be searched.

    Args:
        xml: UTF-8.
        limit: bytes of all expanded references.

    Raises:
        UsageError: for nested entities, parameter entities, or when the limit is exceeded.
    """
    if xml.find(b"<!ENTITY") < 0:
        return
    values: dict[bytes, bytes] = {}
    for declared in _DECLARED.finditer(xml):
        parameter, name, double, single = declared.groups()
        value = double or single or b""
        if parameter or _REFERENCE.search(value) or b"%" in value:
            raise UsageError("the XML declares nested entities")
        values.setdefault(name, value)
    grown = sum(len(values.get(found[1], b"")) for found in _REFERENCE.finditer(xml))
    if grown > limit:
        raise UsageError(f"the entities of the XML expand to more than {limit:,} bytes")
