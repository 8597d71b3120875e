"""Formats at the borders: results of queries as CSV, and entity declarations of RDF/XML.

CSV is the SPARQL Query Results CSV Format (https://www.w3.org/TR/sparql12-results-csv-tsv/), triple terms
included. The engine's own writer puts triple terms and IRIs into a field without quoting the field, so that
a comma or a quote in them shifts the columns. Here a triple term is `<<( s p o )>>` with its object, if
that is a literal, in quotes, as the draft has it (§3.2, whose brackets are those of an older syntax); all
fields are quoted alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from mmap import mmap
from typing import Protocol

from pyoxigraph import Literal, NamedNode, QuerySolutions, Triple

from graphrag_rdf.errors import UsageError

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


def write_csv(found: QuerySolutions, output: Output) -> None:
    """Write solutions, in the thread that ran the query."""
    lines = [",".join(variable.value for variable in found.variables)]
    for solution in found:
        lines.append(",".join([_field(term) for term in solution]))
        if len(lines) == _ROWS:
            output.write(("\r\n".join(lines) + "\r\n").encode())
            lines.clear()
    output.write("".join(f"{line}\r\n" for line in lines).encode())


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
