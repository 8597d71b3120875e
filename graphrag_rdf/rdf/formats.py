"""Formats at the borders: results of queries, and entity declarations of RDF/XML.

The engine writes results, after `solutions` also rows that are not its own. Only CSV is ours: the SPARQL
Query Results CSV Format (https://www.w3.org/TR/sparql12-results-csv-tsv/), triple terms included. The
engine's own writer puts triple terms and IRIs into a field without quoting the field, so that a comma or a
quote in them shifts the columns. Here a triple term is `<<( s p o )>>` with its object, if that is a literal,
in quotes, as the draft has it (§3.2, whose brackets are those of an older syntax); all fields are quoted
alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from mmap import mmap
from typing import Protocol

from pyoxigraph import (
    Literal,
    NamedNode,
    QueryResultsFormat,
    QuerySolutions,
    Triple,
    parse_query_results,
)

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
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


def write_csv(variables: Iterable[str], rows: Iterable[Iterable[object]], output: Output) -> None:
    """Write solutions, in the thread that ran the query."""
    lines = [",".join(variables)]
    for row in rows:
        lines.append(",".join([_field(term) for term in row]))
        if len(lines) == _ROWS:
            output.write(("\r\n".join(lines) + "\r\n").encode())
            lines.clear()
    output.write("".join(f"{line}\r\n" for line in lines).encode())


def solutions(variables: Sequence[str], rows: Iterable[Iterable[Term | None]]) -> QuerySolutions:
    """Rows as a stream of the engine, which writes them in each of its formats.

    It reads them as SPARQL results in JSON (https://www.w3.org/TR/sparql12-results-json/).

    Args:
        rows: terms in the order of the variables; None where one is unbound.
    """
    results = parse_query_results(_Made(_json(variables, rows)), QueryResultsFormat.JSON)  # type: ignore[arg-type]
    assert isinstance(results, QuerySolutions)  # noqa: S101 - its head has variables
    return results


def _json(variables: Sequence[str], rows: Iterable[Iterable[Term | None]]) -> Iterator[bytes]:
    yield f'{{"head":{json.dumps({"vars": variables})},"results":{{"bindings":['.encode()
    remaining, separator = iter(rows), ""
    while some := list(islice(remaining, _ROWS)):
        pairs = (zip(variables, row, strict=True) for row in some)
        bindings = ({name: to_sparql_json(term) for name, term in row if term is not None} for row in pairs)
        yield (separator + ",".join(map(json.dumps, bindings))).encode()
        separator = ","
    yield b"]}}"


class _Made:
    """A file whose bytes are made while it is read."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        self._rest = self._rest or next(self._parts, b"")
        chunk, self._rest = self._rest[:size], self._rest[size:]
        return chunk


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

_NOT_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class XmlOutput:
    """An output of XML in which U+FFFD stands for control characters, such as the form feeds between pages.

    The engine writes them, and parsers refuse them.
    """

    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, data: bytes, /) -> int:
        """Pass a part on."""
        self._output.write(_NOT_XML.sub(b"\xef\xbf\xbd", data))
        return len(data)

    def flush(self) -> None:
        """The engine asks for it."""


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
            raise UsageError(tr("the XML declares nested entities"))
        values.setdefault(name, value)
    grown = sum(len(values.get(reference[1], b"")) for reference in _REFERENCE.finditer(xml))
    if grown > limit:
        raise UsageError(
            tr("the entities of the XML expand to more than {limit:,} bytes").format(limit=limit)
        )
