"""Our formats (of query results, of graphs, of datasets), and which of them a client gets.

RFC 9110 §12.5.1 (Accept: q-values, the most specific range counts) and RDF 1.2 (the media type parameter
`version`: a client that asks for 1.1 or 1.2-basic gets no triple terms).
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
from graphrag_rdf.sparql.render import Dialect
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
        rdf12: whether it can carry triple terms.
    """

    accepted: tuple[str, ...]
    engine: QueryResultsFormat | RdfFormat | None
    iri: str
    charset: bool = False
    rdf12: bool = True

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
    ),
    Format(
        ("application/sparql-results+xml", "application/xml", "text/xml"),
        QueryResultsFormat.XML,
        f"{_NS}SPARQL_Results_XML",
    ),
    Format(("text/csv",), QueryResultsFormat.CSV, f"{_NS}SPARQL_Results_CSV", charset=True),
    Format(("text/tab-separated-values",), QueryResultsFormat.TSV, f"{_NS}SPARQL_Results_TSV", charset=True),
)
"""Solutions and truth values; the first is the default."""

_TURTLE = Format(
    ("text/turtle", "application/turtle", "application/x-turtle"),
    RdfFormat.TURTLE,
    f"{_NS}Turtle",
    charset=True,
)
_N_TRIPLES = Format(("application/n-triples", "text/plain"), RdfFormat.N_TRIPLES, f"{_NS}N-Triples")
_RDF_XML = Format(("application/rdf+xml", "application/xml", "text/xml"), RdfFormat.RDF_XML, f"{_NS}RDF_XML")
_N_QUADS = Format(("application/n-quads", "text/x-nquads"), RdfFormat.N_QUADS, f"{_NS}N-Quads")
_TRIG = Format(("application/trig", "application/x-trig"), RdfFormat.TRIG, f"{_NS}TriG", charset=True)
_JSON_LD = Format(
    ("application/ld+json", "application/json"), RdfFormat.JSON_LD, f"{_NS}JSON-LD", rdf12=False
)

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

DIALECTS: Mapping[str, Dialect] = {"rdf12": "rdf12", "rdf-star": "rdf-star", "classic": "classic"}
"""Values of the request parameter `dialect`."""

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
        kind, _, rest = self.type.partition("/")
        if rest == "*" and kind == media_type.partition("/")[0]:
            return 1
        return 0 if self.type == "*/*" else None


@dataclass(frozen=True, slots=True)
class Choice:
    """The result of negotiation.

    Attributes:
        format: of the answer.
        version: of RDF as the client wrote it; None without one.
        dialect: of triple terms; `classic` in formats and versions of RDF that have none.
    """

    format: Format
    version: str | None = None
    dialect: Dialect = "rdf12"

    @property
    def content_type(self) -> str:
        """The value of a Content-Type header; it names a version when the client did."""
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
    found = Wanted(choice.format.media_type, choice.content_type, choice.dialect)
    if choice.format.engine != RdfFormat.JSON_LD:
        return found
    return replace(found, context=_context(), context_url=context_url)


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
        if (found := name if "/" in name else FORMATS.get(name)) is not None:
            return found
    if named:
        raise Problem(
            400,
            tr("unknown format {name!r}").format(name=named[0]),
            hint=tr("use a media type or one of: {formats}").format(formats=", ".join(FORMATS)),
        )
    return header


def in_dialect(choice: Choice, asked: str | None) -> Choice:
    """A choice in the dialect that the request parameter `dialect` names.

    Formats without syntax for triple terms stay `classic` for `rdf12`.

    Raises:
        Problem: 400 for an unknown dialect.
    """
    if asked is None or asked == "rdf12":
        return choice
    if asked not in DIALECTS:
        raise Problem(
            400,
            tr("unknown dialect {asked!r}").format(asked=asked),
            hint=tr("use one of: {names}").format(names=", ".join(DIALECTS)),
        )
    return replace(choice, dialect=DIALECTS[asked])


def negotiate(header: str | None, formats: Sequence[Format]) -> Choice | None:
    """The format that a client prefers; None if it accepts none.

    Args:
        header: Accept; None and empty accept any.
        formats: the available ones; among equals the first wins.
    """
    ranges = parse_accept(header or "")
    if not ranges:
        return Choice(formats[0])
    best: tuple[float, Choice] | None = None
    for candidate in formats:
        quality, chosen = _quality(ranges, candidate)
        version = dict(chosen.parameters).get("version") if chosen else None
        if version is not None and version not in _VERSIONS:
            continue
        if quality > 0 and (best is None or quality > best[0]):
            capable = _VERSIONS[version or "1.2"] and candidate.rdf12
            choice = Choice(candidate, version, "rdf12" if capable else "classic")
            best = quality, choice
    return best[1] if best else None


@lru_cache(maxsize=64)
def takes_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header accepts gzip (RFC 9110 §12.5.3): named, and not with `q=0`."""
    return next((quality > 0 for name, _, quality in _weighted(header) if name in ("gzip", "x-gzip")), False)


def parse_accept_language(header: str) -> list[str]:
    """The tags of an Accept-Language header (RFC 9110 §12.5.4), the best first, without those of `q=0`."""
    found = [(tag, quality) for tag, _, quality in _weighted(header) if quality > 0 and tag not in ("", "*")]
    return [tag for tag, _ in sorted(found, key=lambda one: -one[1])]


def content_type(header: str | None) -> tuple[str, dict[str, str]]:
    """(media type in lower case, parameters) of a Content-Type header; empty for a missing one."""
    name, *parameters = _split(header or "", ";")
    return name.strip().lower(), _parameters(parameters)


def _quality(ranges: Iterable[MediaRange], candidate: Format) -> tuple[float, MediaRange | None]:
    best: tuple[int, float, MediaRange] | None = None
    for media_range in ranges:
        for name in candidate.accepted:
            found = media_range.specificity(name)
            if found is not None and (best is None or (found, media_range.quality) > best[:2]):
                best = found, media_range.quality, media_range
    return (best[1], best[2]) if best else (0.0, None)


def _weighted(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """(name in lower case, parameters, quality) of each part of a header whose name begins with Accept."""
    for part in _split(header, ","):
        name, *rest = _split(part, ";")
        parameters = _parameters(rest)
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
