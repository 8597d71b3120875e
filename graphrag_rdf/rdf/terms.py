"""RDF terms and Python values.

The store rewrites literals to canonical form (`2.50` → `2.5`, `nonNegativeInteger` → `integer`), so
numbers are made in that form from the start; a quoted number stays a string.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

from pyoxigraph import BaseDirection, BlankNode, Literal, NamedNode, Triple

from graphrag_rdf.rdf.namespaces import prefixed

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
Statement: TypeAlias = tuple[NamedNode, NamedNode, NamedNode | Literal]
"""A fact."""
Value: TypeAlias = str | bool | int | float | Decimal | date | datetime

_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGER = NamedNode(_XSD + "integer")
_DATETIME = NamedNode(_XSD + "dateTime")
_STRING = NamedNode(_XSD + "string")
_READERS: Mapping[str, Callable[[str], Value]] = {
    _XSD + "integer": int,
    _XSD + "decimal": float,
    _XSD + "double": float,
    _XSD + "float": float,
    _XSD + "boolean": lambda text: text in ("true", "1"),
    _XSD + "dateTime": datetime.fromisoformat,
}


def string(text: str) -> Literal:
    """A plain literal (xsd:string)."""
    return Literal(text)


@lru_cache(maxsize=8192)  # the same offsets, lengths and numbers are created very often
def integer(number: int) -> Literal:
    """An xsd:integer."""
    return Literal(str(number), datatype=_INTEGER)


def double(number: float) -> Literal:
    """An xsd:double in the store's canonical form, so that it is read back unchanged."""
    return Literal(float(number))


def datetime_(moment: datetime) -> Literal:
    """An xsd:dateTime in UTC with milliseconds at most."""
    moment = moment.astimezone(UTC)
    text = moment.replace(tzinfo=None, microsecond=0).isoformat()
    if millis := moment.microsecond // 1000:
        text += f".{millis:03d}".rstrip("0")
    return Literal(text + "Z", datatype=_DATETIME)


def now() -> datetime:
    """The present moment in UTC, to the millisecond."""
    moment = datetime.now(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def typed(text: str, datatype: str | None) -> Literal:
    """A literal of a datatype given as an absolute IRI; None is xsd:string."""
    return Literal(text) if datatype is None else Literal(text, datatype=NamedNode(datatype))


def to_python(term: Term) -> Value:
    """The Python value of a term: its text for IRIs, for unknown datatypes, and for literals that Python has
    no value of their datatype for (an ill-typed one, a year before 1).

    Raises:
        TypeError: for a triple term, which has no single value.
    """
    if isinstance(term, Triple):
        raise TypeError("a triple term has no single value")
    if not isinstance(term, Literal):
        return term.value
    reader = _READERS.get(term.datatype.value)
    if reader is None:
        return term.value
    try:
        return reader(term.value)
    except ValueError:
        return term.value


def to_sparql_json(term: Term) -> dict[str, object]:
    """A term as in SPARQL 1.2 Query Results JSON (`type`, `value`, `datatype`, `xml:lang`, `its:dir`)."""
    match term:
        case NamedNode():
            return {"type": "uri", "value": term.value}
        case BlankNode():
            return {"type": "bnode", "value": term.value}
        case Triple():
            parts = {"subject": term.subject, "predicate": term.predicate, "object": term.object}
            return {"type": "triple", "value": {name: to_sparql_json(part) for name, part in parts.items()}}
        case Literal():
            out: dict[str, object] = {"type": "literal", "value": term.value}
            if term.language:
                out["xml:lang"] = term.language
                if term.direction:
                    out["its:dir"] = term.direction.value
            elif term.datatype != _STRING:
                out["datatype"] = term.datatype.value
            return out
    raise TypeError(f"not an RDF term: {term!r}")


def from_sparql_json(data: Mapping[str, Any]) -> Term:
    """The reverse of `to_sparql_json`; it also takes what engines wrote before SPARQL 1.2: `typed-literal`,
    and the parts of a triple as `s`, `p`, `o`.

    Raises:
        ValueError: when it is not a term.
    """
    kind, value = data.get("type"), data.get("value")
    if kind == "triple" and isinstance(value, Mapping):
        names = ("subject", "predicate", "object")
        parts = [from_sparql_json(value.get(name) or value.get(name[0]) or {}) for name in names]
        return Triple(*parts)  # type: ignore[arg-type]
    if not isinstance(value, str):
        raise ValueError(f"not an RDF term: {data!r:.200}")  # noqa: TRY004 - of what is read, not of the caller
    if kind == "uri":
        return NamedNode(value)
    if kind == "bnode":
        return BlankNode(value.removeprefix("_:").removeprefix("nodeID://"))
    if kind not in ("literal", "typed-literal"):
        raise ValueError(f"not an RDF term: {data!r:.200}")
    if language := data.get("xml:lang"):
        direction = data.get("its:dir")
        return Literal(value, language=language, direction=BaseDirection(direction) if direction else None)
    return typed(value, data.get("datatype"))


def text_of(term: Term) -> str:
    """A term as text: an IRI, the lexical form of a literal, or a triple term in N-Triples."""
    return f"<<( {term} )>>" if isinstance(term, Triple) else term.value


def readable(term: Term, *, quoted: bool = False) -> str:
    """A term for people: IRIs with prefixes, literals without quotes, triple terms part by part.

    Args:
        quoted: literals as in SPARQL, as they are in triple terms: with quotes and datatype.
    """
    if isinstance(term, Triple):
        parts = (readable(part, quoted=True) for part in (term.subject, term.predicate, term.object))
        return f"<<( {' '.join(parts)} )>>"
    if isinstance(term, NamedNode):
        return prefixed(term) or f"<{term.value}>"
    if not isinstance(term, Literal):
        return str(term)
    if not quoted:
        return f"{term.value}@{term.language}" if term.language else term.value
    if term.language or term.datatype == _STRING:
        return str(term)
    return f"{Literal(term.value)}^^{readable(term.datatype)}"


def number_of(term: Term) -> float:
    """A number of a row."""
    return float(text_of(term))


def node_of(term: object) -> NamedNode:
    """A term that is known to be an IRI."""
    assert isinstance(term, NamedNode)  # noqa: S101
    return term


def local_name(iri: str) -> str:
    """The last segment of an IRI, for things without a label."""
    tail = iri.rstrip("/#").rsplit("#", 1)[-1].rsplit("/", 1)[-1]
    return unquote(tail) or iri


R = TypeVar("R", bound=Mapping[str, Term])


def one_label(rows: Iterable[R], language: str | None = None, *, thing: str = "thing") -> list[R]:
    """For each thing, the row with the best label, in the order of the things.

    The best label is in the reader's language, then without a language, then English, then any other; equal
    ones are ordered by code point.

    Args:
        language: BCP 47, of the reader.
        thing: the name of its column.
    """
    best: dict[Term, R] = {}
    for row in rows:
        current = best.get(row[thing])
        if current is None or _rank(row.get("label"), language) < _rank(current.get("label"), language):
            best[row[thing]] = row
    return list(best.values())


def best_label(labels: Iterable[Literal], language: str | None = None) -> Literal | None:
    """The best of the labels of a thing for readers of a language, None for any; see `one_label`."""
    return min(labels, key=lambda label: _rank(label, language), default=None)


def _rank(label: Term | None, language: str | None) -> tuple[int, str]:
    if not isinstance(label, Literal) or not label.value.strip():
        return 4, ""
    tag = primary_subtag(label.language)
    if tag is not None and tag == primary_subtag(language):
        return 0, label.value
    return {None: 1, "en": 2}.get(tag, 3), label.value


def primary_subtag(tag: str | None) -> str | None:
    """The language of a tag of BCP 47, in lower case: `en` of `en-GB`. Names have no more than that."""
    return tag.partition("-")[0].lower() if tag else None


_SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "zh": ("CJK",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL", "CJK"),
    "sr": ("CYRILLIC", "LATIN"),
    **dict.fromkeys(("be", "bg", "kk", "ky", "mk", "mn", "ru", "tg", "uk"), ("CYRILLIC",)),
    **dict.fromkeys(("ar", "fa", "ps", "ur"), ("ARABIC",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("DEVANAGARI",)),
    **dict.fromkeys(("he", "yi"), ("HEBREW",)),
    **{"am": ("ETHIOPIC",), "bn": ("BENGALI",), "el": ("GREEK",), "hy": ("ARMENIAN",), "ka": ("GEORGIAN",)},
    **{"ta": ("TAMIL",), "te": ("TELUGU",), "th": ("THAI",)},
}
"""Language → how the Unicode names of its letters begin; others are written in Latin letters."""


@lru_cache(maxsize=16_384)
def name_in(name: str, language: str | None) -> Literal:
    """A name that stands in a text, in the language of the text if it is written in its script.

    A Chinese text tells nothing of the language of "Dr James Reay".

    Args:
        language: of the text, BCP 47; None if it is unknown.
    """
    tag = primary_subtag(language)
    scripts = _SCRIPTS.get(tag or "", ("LATIN",))
    is_of_it = any(unicodedata.name(letter, "").startswith(scripts) for letter in name if letter.isalpha())
    return Literal(name, language=tag if is_of_it else None)


def spellings(names: Iterable[str], languages: Iterable[str]) -> list[Literal]:
    """How a store may have these names: plain, and in each of the languages (BCP 47).

    A pattern with a literal looks it up, so a query that takes all of them need not read every name.
    """
    tags = dict.fromkeys((None, *filter(None, languages)))
    return [Literal(name, language=tag) for name in names for tag in tags]


def spelled(statement: Statement, called: Callable[[Term], str]) -> dict[str, str]:
    """A fact as terms in N-Triples with their labels: `s`, `p`, `o`, `s_label`, …"""
    terms = list(zip("spo", statement, strict=True))
    return {name: str(term) for name, term in terms} | {f"{n}_label": called(term) for n, term in terms}


def text_of_statement(statement: Statement, called: Callable[[Term], str] = text_of) -> str:
    """A fact as text.

    Args:
        called: the label of a term.
    """
    return f"({', '.join(map(called, statement))})"


def edge_id(s: str, p: str, o: str) -> str:
    """The first 8 hexadecimal digits of SHA-256 over `s|p|o` (labels)."""
    return hashlib.sha256(f"{s}|{p}|{o}".encode()).hexdigest()[:8]
