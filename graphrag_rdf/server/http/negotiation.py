"""Our formats (of query results, of graphs, of datasets), and which of them a client gets.

RFC 9110 §12.5.1 (Accept: q-values, the most specific range counts) and RDF 1.2 (the media type parameter
`version`). Triple terms are for clients that ask for 1.2; most of today's parsers end with an error at one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import starmap

from pyoxigraph import QueryResultsFormat, RdfFormat

from graphrag_rdf.i18n import tr
from graphrag_rdf.reader_process.evaluate import Wanted
from graphrag_rdf.server.http.problems import Problem
from graphrag_rdf.sparql.render import DIALECTS, Dialect
from graphrag_rdf.store.vocabularies import vocabulary_context


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        media_type: that of responses; the first of `accepted`.
        accepted: its names in requests.
        engine: the engine's name of it; None for formats other than RDF and query results.
        charset: whether the media type takes a charset.
        iri: its name in service descriptions (https://www.w3.org/ns/formats/).
        rdf12: whether it has a syntax for triple terms.
    """

    accepted: tuple[str, ...]
    engine: QueryResultsFormat | RdfFormat | None
    iri: str
    charset: bool = False
    rdf12: bool = False

    @property
    def media_type(self) -> str:
        """The registered media type."""
        return self.accepted[0]

    @property
    def content_type(self) -> str:
        """The value of a Content-Type header."""
        return f"{self.media_type}; charset=utf-8" if self.charset else self.media_type


_NS = "http://www.w3.org/ns/formats/"

RESULTS: tuple[Format, ...] = (
    Format(
        ("application/sparql-results+json", "application/json"),
        QueryResultsFormat.JSON,
        f"{_NS}SPARQL_Results_JSON",
        rdf12=True,
    ),
    Format(
        ("application/sparql-results+xml", "application/xml", "text/xml"),
        QueryResultsFormat.XML,
        f"{_NS}SPARQL_Results_XML",
        rdf12=True,
    ),
    Format(("text/csv",), QueryResultsFormat.CSV, f"{_NS}SPARQL_Results_CSV", charset=True, rdf12=True),
    Format(
        ("text/tab-separated-values",),
        QueryResultsFormat.TSV,
        f"{_NS}SPARQL_Results_TSV",
        charset=True,
        rdf12=True,
    ),
)
"""Solutions and truth values; the first is the default."""

_TURTLE = Format(
    ("text/turtle", "application/turtle", "application/x-turtle"),
    RdfFormat.TURTLE,
    f"{_NS}Turtle",
    charset=True,
    rdf12=True,
)
_N_TRIPLES = Format(
    ("application/n-triples", "text/plain"), RdfFormat.N_TRIPLES, f"{_NS}N-Triples", rdf12=True
)
_RDF_XML = Format(
    ("application/rdf+xml", "application/xml", "text/xml"), RdfFormat.RDF_XML, f"{_NS}RDF_XML", rdf12=True
)
_N_QUADS = Format(("application/n-quads", "text/x-nquads"), RdfFormat.N_QUADS, f"{_NS}N-Quads", rdf12=True)
_TRIG = Format(
    ("application/trig", "application/x-trig"), RdfFormat.TRIG, f"{_NS}TriG", charset=True, rdf12=True
)
_JSON_LD = Format(("application/ld+json", "application/json"), RdfFormat.JSON_LD, f"{_NS}JSON-LD")

GRAPHS: tuple[Format, ...] = (_TURTLE, _N_TRIPLES, _RDF_XML, _N_QUADS, _TRIG, _JSON_LD)
"""One graph; the first is the default."""

DATASETS: tuple[Format, ...] = (_TRIG, _N_QUADS, _JSON_LD)
"""All graphs; the first is the default."""

RDF_BY_NAME: Mapping[str, Format] = {name: f for f in reversed(GRAPHS) for name in f.accepted}
"""Media type of RDF in requests → format."""


FORMATS: Mapping[str, str] = {
    "json": "application/sparql-results+json, application/ld+json, application/json",
    "xml": "application/sparql-results+xml, application/rdf+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "turtle": "text/turtle",
    "ttl": "text/turtle",
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "trig": "application/trig",
    "rdfxml": "application/rdf+xml",
    "jsonld": "application/ld+json",
    "html": "text/html",
    "n3": "text/turtle",
    "rdf": "application/rdf+xml",
    "rdf+xml": "application/rdf+xml",
    "json-ld": "application/ld+json",
}
"""Value of the request parameter `format` → Accept header of the same meaning."""

_VERSIONS = {"1.1": False, "1.2": True, "1.2-basic": False}
"""Version of RDF and SPARQL → whether it has triple terms (RDF 1.2 Concepts §2.1; Basic is without them)."""


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One range of an Accept header.

    Attributes:
        type: `type/subtype` in lower case, either of which may be `*`.
        parameters: name → value, without `q`.
        quality: 0 to 1.
    """

    type: str
    parameters: tuple[tuple[str, str], ...] = ()
    quality: float = 1.0

    def specificity(self, media_type: str) -> int | None:
        """How precisely the range names a media type: 0 for `*/*` up to 2; None when it does not."""
        if self.type == media_type:
            return 2
        kind, _, subtype = self.type.partition("/")
        if subtype == "*" and kind == media_type.partition("/")[0]:
            return 1
        return 0 if self.type == "*/*" else None


@dataclass(frozen=True, slots=True)
class Choice:
    """The result of negotiation.

    Attributes:
        format: of the answer.
        version: of RDF, for the Content-Type: 1.2, or the older one that Accept names.
        dialect: of triple terms.
    """

    format: Format
    version: str | None = None
    dialect: Dialect = "classic"

    @property
    def content_type(self) -> str:
        """The value of a Content-Type header."""
        base = self.format.content_type
        return f"{base}; version={self.version}" if self.version else base


@lru_cache(maxsize=512)
def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """The ranges of an Accept header; a malformed range is left out, a malformed q counts as 0."""
    return tuple(filter(None, starmap(_range, _weighted(header))))


def wanted(choice: Choice, context_url: str = "") -> Wanted:
    """A choice for `evaluate`.

    Args:
        context_url: the address of our JSON-LD context; without it, JSON-LD has the context in it.
    """
    format_wanted = Wanted(choice.format.media_type, choice.content_type, choice.dialect)
    if choice.format.engine != RdfFormat.JSON_LD:
        return format_wanted
    return replace(format_wanted, context=_context(), context_url=context_url)


@cache
def _context() -> str:
    return json.dumps(vocabulary_context())


def accepted(header: str | None, asked: Sequence[str]) -> str | None:
    """The Accept header, or what the request parameter `format` says in its place.

    Args:
        asked: media types, or keys of `FORMATS`. The first known one counts: SPARQLWrapper sends `tsv` and
            its media type. A space stands for the `+` of a media type that was not percent-encoded.

    Raises:
        Problem: 400 when none of them is a format.
    """
    named = [name.replace(" ", "+") for name in asked if name]
    for name in named:
        if (media_type := name if "/" in name else FORMATS.get(name)) is not None:
            return media_type
    if named:
        raise Problem(
            400,
            tr("unknown format {name!r}").format(name=named[0]),
            hint=tr("use a media type or one of: {formats}").format(formats=", ".join(FORMATS)),
        )
    return header


def negotiate(
    header: str | None, formats: Sequence[Format], *, dialect: str | None = None, version: str = "1.1"
) -> Choice | None:
    """The format that a client prefers, and its dialect of triple terms; None if it accepts none.

    Args:
        header: Accept; None and empty accept any.
        formats: the available ones; among equals the first wins.
        dialect: the request parameter, which wins.
        version: of RDF, if Accept names none: that of the query, or of the server's settings.

    Raises:
        Problem: 400 for an unknown dialect.
    """
    if dialect is not None and dialect not in DIALECTS:
        raise Problem(
            400,
            tr("unknown dialect {asked!r}").format(asked=dialect),
            hint=tr("use one of: {names}").format(names=", ".join(DIALECTS)),
        )
    ranges = parse_accept(header or "") or parse_accept("*/*")
    best: tuple[float, Format, str | None] | None = None
    for candidate in formats:
        quality, chosen = _quality(ranges, candidate)
        named = dict(chosen.parameters).get("version") if chosen else None
        if named is not None and named not in _VERSIONS:
            continue
        if quality > 0 and (best is None or quality > best[0]):
            best = quality, candidate, named
    return None if best is None else _choice(best[1], best[2], dialect, version)


def _choice(chosen: Format, named: str | None, dialect: str | None, version: str) -> Choice:
    rdf12 = _VERSIONS.get(named or version, False) if dialect is None else dialect == "rdf12"
    if dialect == "rdf-star":
        return Choice(chosen, None, "rdf-star")
    if rdf12 and chosen.rdf12:
        return Choice(chosen, "1.2", "rdf12")
    return Choice(chosen, None if named is None or _VERSIONS[named] else named)


@lru_cache(maxsize=64)
def takes_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header accepts gzip (RFC 9110 §12.5.3): named, and not with `q=0`."""
    return next((quality > 0 for name, _, quality in _weighted(header) if name in ("gzip", "x-gzip")), False)


def parse_accept_language(header: str) -> list[str]:
    """The tags of an Accept-Language header (RFC 9110 §12.5.4), the best first, without those of `q=0`."""
    weighted = [
        (tag, quality) for tag, _, quality in _weighted(header) if quality > 0 and tag not in ("", "*")
    ]
    return [tag for tag, _ in sorted(weighted, key=lambda pair: -pair[1])]


def content_type(header: str | None) -> tuple[str, dict[str, str]]:
    """(media type in lower case, parameters) of a Content-Type header; empty for a missing one."""
    name, *parameters = _split(header or "", ";")
    return name.strip().lower(), _parameters(parameters)


def _quality(ranges: Iterable[MediaRange], candidate: Format) -> tuple[float, MediaRange | None]:
    """The quality of a format, and the range that counts; of equal ones the one that asks for 1.2."""
    best: tuple[int, float, bool, MediaRange] | None = None
    for media_range in ranges:
        for name in candidate.accepted:
            specificity = media_range.specificity(name)
            if specificity is None:
                continue
            rank = specificity, media_range.quality, ("version", "1.2") in media_range.parameters
            if best is None or rank > best[:3]:
                best = *rank, media_range
    return (best[1], best[3]) if best else (0.0, None)


def _weighted(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """(name in lower case, parameters, quality) of each part of a header whose name begins with Accept."""
    for part in _split(header, ","):
        name, *parameter_texts = _split(part, ";")
        parameters = _parameters(parameter_texts)
        quality = _number(parameters.pop("q", "1"))
        yield name.strip().lower(), parameters, quality


def _range(media_type: str, parameters: Mapping[str, str], quality: float) -> MediaRange | None:
    if media_type == "*":
        media_type = "*/*"
    kind, slash, subtype = media_type.partition("/")
    if not slash or not kind or not subtype or (kind == "*" and subtype != "*"):
        return None
    return MediaRange(media_type, tuple(parameters.items()), quality)


def _parameters(parts: Iterable[str]) -> dict[str, str]:
    out: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if equals:
            out.setdefault(name.strip().lower(), value.strip().strip('"'))
    return out


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= 1 else 0.0


def _split(text: str, separator: str) -> list[str]:
    """Split outside quotes."""
    if '"' not in text:
        return [part for part in text.split(separator) if part.strip()] or [""]
    parts, start, quoted = [], 0, False
    for place, character in enumerate(text):
        if character == '"' and text[place - 1 : place] != "\\":
            quoted = not quoted
        elif character == separator and not quoted:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()] or [""]
