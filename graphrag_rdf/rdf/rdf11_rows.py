"""Solutions in RDF 1.1, of those that the engine writes: see `rdf11`.

To make each row in Python would take eight times as long, and few rows have a triple term. So the bytes are
searched for what RDF 1.1 lacks: in JSON and XML, the quotes and brackets of texts are escaped, and in TSV the
tabs and line ends, so that a text cannot look like it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyoxigraph import QueryResultsFormat, QuerySolutions, Triple, parse_query_results

from graphrag_rdf.rdf.formats import Output
from graphrag_rdf.rdf.iris import statement
from graphrag_rdf.rdf.rdf11 import I18N

_BLOCK = 1 << 16
"""Bytes that are collected before they are searched."""


@dataclass(frozen=True, slots=True)
class _Syntax:
    """What a format has that RDF 1.1 lacks.

    Attributes:
        boundary: begins a term or ends a row; nothing to replace stands across it.
        signs: without one of them there is nothing to replace. To search for them is fast.
        found: the beginning of a triple term, or the language and direction of a text (two groups).
        brackets: within a triple term, what opens it, what closes it, and what is to be passed over.
        document: what makes a triple term a document.
        node, datatype: how an IRI takes the place of a triple term, and a datatype that of a language.
    """

    boundary: bytes
    signs: tuple[bytes, bytes]
    found: re.Pattern[bytes]
    brackets: re.Pattern[bytes]
    document: tuple[bytes, bytes]
    node: bytes
    datatype: bytes

    def end(self, data: bytes, start: int) -> int | None:
        """Where a triple term ends; None if that is not in the data yet."""
        depth = 0
        for bracket in self.brackets.finditer(data, start):
            depth += {"open": 1, "close": -1}.get(bracket.lastgroup or "", 0)
            if depth == 0:
                return bracket.end()
        return None


_SYNTAX: Mapping[QueryResultsFormat, _Syntax] = {
    QueryResultsFormat.JSON: _Syntax(
        b'{"type":',
        (b'"triple"', b'"its:dir"'),
        re.compile(rb'\{"type":"triple",|"xml:lang":"([A-Za-z0-9-]+)","its:dir":"(ltr|rtl)"'),
        re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|(?P<open>\{)|(?P<close>\})', re.DOTALL),
        (b'{"head":{"vars":["t"]},"results":{"bindings":[{"t":', b"}]}}"),
        b'{"type":"uri","value":"%s"}',
        b'"datatype":"%s"',
    ),
    QueryResultsFormat.XML: _Syntax(
        b"<binding",
        (b"<triple>", b" its:dir="),
        re.compile(rb'<triple>| xml:lang="([A-Za-z0-9-]+)" its:dir="(ltr|rtl)"[^>]*'),
        re.compile(rb"(?P<open><triple>)|(?P<close></triple>)"),
        (
            b'<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="t"/></head>'
            b'<results><result><binding name="t">',
            b"</binding></result></results></sparql>",
        ),
        b"<uri>%s</uri>",
        b' datatype="%s"',
    ),
    QueryResultsFormat.TSV: _Syntax(
        b"\n",
        (b"<<(", b"--"),
        re.compile(rb"(?<=[\t\n])<<\(|(?<=\")@([A-Za-z0-9-]+)--(ltr|rtl)(?=[\t\n])"),
        re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)|<[^<>]*>|(?P<open><<\()|(?P<close>\)>>)', re.DOTALL),
        (b"?t\n", b"\n"),
        b"<%s>",
        b"^^<%s>",
    ),
}


class _Rdf11Output:
    def __init__(self, output: Output, form: QueryResultsFormat) -> None:
        self._output = output
        self._form = form
        self._syntax = _SYNTAX[form]
        self._held = bytearray()
        self._enough = _BLOCK

    def write(self, data: bytes, /) -> int:
        self._held += data
        if len(self._held) >= self._enough:
            self._pass_on(self._held.rfind(self._syntax.boundary))
            self._enough = max(_BLOCK, 2 * len(self._held))
        return len(data)

    def flush(self) -> None:
        """The engine asks for it, at the end."""

    def close(self) -> None:
        self._pass_on(len(self._held))

    def _pass_on(self, limit: int) -> None:
        """Write what is held, up to a boundary or the end."""
        data, parts, done = bytes(self._held), [], 0
        some = any(sign in data for sign in self._syntax.signs)
        for match in self._syntax.found.finditer(data) if some else ():
            if done <= match.start() < limit:
                end = match.end() if match[1] else self._syntax.end(data, match.start())
                if end is None:
                    limit = match.start()
                    break
                parts += [data[done : match.start()], self._instead(match, data[match.start() : end])]
                done = end
        limit = max(limit, done)
        parts.append(data[done:limit])
        self._output.write(b"".join(parts))
        del self._held[:limit]

    def _instead(self, match: re.Match[bytes], data: bytes) -> bytes:
        syntax = self._syntax
        if match[1]:
            return syntax.datatype % b"%s%s_%s" % (I18N.encode(), match[1], match[2])
        before, after = syntax.document
        rows = parse_query_results(before + data + after, self._form)
        term = next(iter(rows))[0]  # type: ignore[arg-type]
        assert isinstance(term, Triple)  # noqa: S101 - as it begins
        return syntax.node % statement(term.subject, term.predicate, term.object).value.encode()


def write_rdf11(results: QuerySolutions, output: Output, form: QueryResultsFormat) -> None:
    """Write solutions in JSON, XML or TSV, in the thread that ran the query."""
    plain = _Rdf11Output(output, form)
    results.serialize(plain, format=form)  # type: ignore[arg-type]
    plain.close()
