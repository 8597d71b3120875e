"""Parameters of templates: Python values are converted to serialised RDF terms.

Values enter a query only through here. Each value is converted to the type that the template declares. The
template receives a `Slot`, an opaque object that only prints an RDF term. A slot does not reveal the raw
text.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache, cached_property, lru_cache
from typing import Any
from typing import Literal as Choice

import yaml
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, ValidationError
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple
from pyoxigraph import parse as parse_rdf

from graphrag_rdf.errors import TemplateError, UsageError, short_cause
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import datetime_
from graphrag_rdf.sparql.columns import Column, columns_of


class Slot:
    """A serialised RDF term; it always prints as its serialisation."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __html__(self) -> str:
        return self._text

    __str__ = __html__


class SlotRow:
    """A row of a VALUES block: `text` is how it prints, an index gives one of its terms.

    Blocks have hundreds of rows, so terms become slots only where a template asks for one.

    Args:
        cells: its terms.
        notes: terms for people who read the query, printed as a comment.
    """

    __slots__ = ("_cells", "text")

    def __init__(self, cells: list[str], notes: list[str]) -> None:
        self._cells = cells
        self.text = f"({' '.join(cells)})" + (f" # {' '.join(notes)}\n" if notes else "")

    def __getitem__(self, column: int) -> Slot:
        return Slot(self._cells[column])


def _iri(value: object) -> str:
    if isinstance(value, NamedNode):
        return str(value)
    _refuse_markup(value)
    if isinstance(value, str):
        return str(NamedNode(value))
    raise TypeError(tr("expected an IRI"))


def _string(value: object) -> str:
    _refuse_markup(value)
    if isinstance(value, Literal):
        return str(value)
    if isinstance(value, str):
        return str(Literal(value))
    raise TypeError(tr("expected a text"))


def _term(value: object) -> str:
    if _has_blank_node(value):
        raise TypeError(tr("a query cannot name a blank node"))
    if isinstance(value, Triple):
        return f"<<( {value} )>>"  # str() of a triple has no brackets
    if isinstance(value, NamedNode | Literal):
        return str(value)
    raise TypeError(tr("expected an RDF term"))


def _has_blank_node(value: object) -> bool:
    """Whether a term is or contains a blank node, which a query reads as a variable."""
    if isinstance(value, Triple):
        return _has_blank_node(value.subject) or _has_blank_node(value.object)
    return isinstance(value, BlankNode)


def _refuse_markup(value: object) -> None:
    if isinstance(value, Markup):
        raise TypeError(tr("Markup is not accepted"))


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(tr("expected a whole number"))
    return int(value)


def _double(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(tr("expected a number"))
    text = repr(float(value))
    if "n" in text:  # inf and nan
        return str(Literal(float(value)))
    return text if "e" in text else f"{text}e0"  # a third of the length of a typed literal


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(tr("expected true or false"))
    return value


def _datetime(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(tr("expected a date and time"))
    return str(datetime_(value))


_DATE = re.compile(
    r"(?P<year>-?\d{4,})(?P<month>-(?:0[1-9]|1[0-2])(?P<day>-\d\d(?P<time>T\d\d:\d\d:\d\d(?:\.\d+)?)?)?)?"
    r"(?:Z|[+-]\d\d:\d\d)?",
    re.ASCII,
)


def _in_calendar(match: re.Match[str]) -> bool:
    day = int(match["day"][1:3]) if match["day"] else 1
    month = int(match["month"][1:3]) if match["month"] else 1
    return 1 <= day <= monthrange(int(match["year"]) % 400 + 2000, month)[1]  # it repeats after 400 years


def _date(value: object) -> str:
    """A day, month, year or time, in the lexical form that its text has (XSD 1.1 part 2, 3.3.7 to 3.3.11)."""
    _refuse_markup(value)
    text = value.value if isinstance(value, Literal) else value
    if isinstance(text, date):
        text = text.isoformat()
    if not isinstance(text, str):
        raise TypeError(tr("expected a date"))
    match = _DATE.fullmatch(text)
    if match is None or not _in_calendar(match):
        raise ValueError(tr("{text!r} is no date, such as 1911-11-17, 1911-11 or 1911").format(text=text))
    kinds = (("time", XSD.dateTime), ("day", XSD.date), ("month", XSD.gYearMonth), ("year", XSD.gYear))
    return str(Literal(text, datatype=next(kind for part, kind in kinds if match[part])))


_TERMS: Mapping[str, Callable[[object], str]] = {
    "iri": _iri,
    "string": _string,
    "term": _term,
    "double": _double,
    "datetime": _datetime,
    "date": _date,
}
"""Types whose values only print, with what prints them."""
_WORD = re.compile(r"[a-z][a-z0-9-]*")
_PLAIN: Mapping[str, Callable[[object], int]] = {"int": _int, "bool": _bool}
"""Types whose values templates may compare and count, with what checks them."""


def _word(value: object) -> str:
    """A word that templates compare; `finalize` prints none."""
    if isinstance(value, Markup) or not isinstance(value, str) or not _WORD.fullmatch(value):
        raise TypeError(tr("expected a word of small letters, digits and hyphens"))
    return value


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # eight times faster, where libyaml is there
_NOTE = "note"
"""In a row: a term that prints as a comment. The engine looks up each IRI of a VALUES block in the store,
which takes longer than computing with the numbers of the row."""
_ROW = re.compile(r"\((.+)\)\Z")


def _printer(type_name: str) -> Callable[[object], str]:
    if plain := _PLAIN.get(type_name):
        return lambda value: str(plain(value)).lower()
    return _TERMS[type_name]


def _one(type_name: str) -> Callable[[object], object]:
    if row := _ROW.match(type_name):
        names = [name.strip() for name in row[1].split(",")]
        cells = [(place, _printer(name)) for place, name in enumerate(names) if name != _NOTE]
        notes = [place for place, name in enumerate(names) if name == _NOTE]

        def convert_row(value: object) -> SlotRow:
            if not isinstance(value, tuple | list):
                raise TypeError(tr("expected a row of {count} values").format(count=len(names)))
            if len(value) != len(names):
                raise TypeError(
                    tr("expected {count} values, not {given}").format(count=len(names), given=len(value))
                )
            return SlotRow(
                [printed(value[place]) for place, printed in cells], [_term(value[place]) for place in notes]
            )

        return convert_row
    if type_name == "word":
        return _word
    if plain := _PLAIN.get(type_name):
        return plain
    term = _TERMS[type_name]
    return lambda value: Slot(term(value))


@cache
def converter(type_name: str) -> Callable[[object], object]:
    """The conversion to a declared type: `iri`, `iri[]`, `(iri, iri, term)[]` …

    Raises:
        KeyError: for an unknown type name.
    """
    if not type_name.endswith("[]"):
        return _one(type_name)
    item = _one(type_name[:-2])

    def convert_list(value: object) -> list[object]:
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            raise TypeError(tr("expected a list"))
        return [item(member) for member in value]

    return convert_list


def convert(name: str, declared: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, object]:
    """The context of a template, from values of its declared parameters.

    Raises:
        TemplateError: when a parameter is missing, unknown, or of another type.
    """
    if unknown := sorted(values.keys() - declared.keys()):
        raise TemplateError(
            tr("query {name}: unknown parameter {unknown}").format(name=name, unknown=", ".join(unknown))
        )
    defaults = {key: parse(p.type, p.sample) for key, p in declared.items() if p.optional}
    values = {**defaults, **values}
    if missing := sorted(declared.keys() - values.keys()):
        raise TemplateError(
            tr("query {name}: missing parameter {missing}").format(name=name, missing=", ".join(missing))
        )
    context: dict[str, object] = {}
    for key, parameter in declared.items():
        value = values[key]
        try:
            context[key] = converter(parameter.type)(value)
        except (TypeError, ValueError) as error:
            raise TemplateError(
                tr("query {name}: parameter {key} ({type}): {error}").format(
                    name=name, key=key, type=parameter.type, error=error
                )
            ) from error
    return context


_N3_IRI = re.compile(r"<([^<>\"{}|^`\\\x00-\x20]*)>\Z")


def parse(type_name: str, value: Any) -> Any:
    """A parameter from text or YAML (command line, header samples): terms in N-Triples, or IRIs alone.

    Raises:
        ValueError: when a text is not of the type.
    """
    if type_name.endswith("[]"):
        items = value if isinstance(value, list) else [value]
        return [parse(type_name[:-2], item) for item in items]
    if row := _ROW.match(type_name):
        columns = [name.strip() for name in row[1].split(",")]
        return tuple(parse(column, cell) for column, cell in zip(columns, value, strict=True))
    if not isinstance(value, str):
        return value
    parsers: dict[str, Callable[[Any], Any]] = {
        "int": int,
        "double": float,
        "bool": lambda text: {"true": True, "false": False}[str(text).lower()],
        "datetime": datetime.fromisoformat,
        "iri": lambda text: NamedNode(match[1]) if (match := _N3_IRI.match(text)) else NamedNode(text),
        "term": parse_term,
        _NOTE: parse_term,
    }
    try:
        return parsers.get(type_name, lambda text: text)(value)
    except KeyError as error:
        raise ValueError(f"{value!r} is not a {type_name}") from error


def read_texts(key: str, parameter: Parameter, texts: Sequence[str]) -> Any:
    """The value of a parameter from texts of people: of a command line, a URL, an argument of a tool.

    Args:
        texts: one, or several for a list; a row has spaces between its cells.

    Raises:
        UsageError: a text is not of the type.
    """
    cells = [text.split() for text in texts] if parameter.type.startswith("(") else list(texts)
    try:
        return parse(parameter.type, cells if parameter.type.endswith("[]") else cells[-1])
    except ValueError as error:
        message = tr("parameter {key} ({declared}): {error}")
        raise UsageError(message.format(key=key, declared=parameter.type, error=error)) from error


def parse_term(text: str) -> NamedNode | Literal | Triple:
    """A term from N-Triples; other text is a plain literal.

    Raises:
        ValueError: for a malformed literal or triple term.
    """
    if match := _N3_IRI.match(text):
        return NamedNode(match[1])
    if text.startswith(('"', "<<(")):
        try:
            (quad,) = parse_rdf(f"<urn:s> <urn:p> {text} .", format=RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError) as error:
            raise ValueError(tr("not an RDF term: {text}").format(text=text)) from error
        term = quad.object
        if isinstance(term, NamedNode | Literal | Triple):
            return term
        raise ValueError(tr("a blank node cannot be a parameter: {text}").format(text=text))
    return Literal(text)


Kind = Choice["select", "ask", "construct", "update"]


class Parameter(BaseModel):
    """A typed parameter: `type` is `word`, or a name in `_TERMS` or `_PLAIN` or a row of these, with `[]` for
    a list.

    The sample of an optional parameter is its default.

    Attributes:
        true_for: words of an ask for which a truth value is true.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    sample: Any
    about: str = ""
    optional: bool = False
    true_for: tuple[str, ...] = ()


class Header(BaseModel):
    """The metadata of a template.

    Attributes:
        asks: how people ask for it, with parameters in braces: "Who {relations} {object}?". See
            `steps.matching`.
        returns: the columns, with or without types; see `columns`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: Kind
    summary: str
    asks: tuple[str, ...] = ()
    params: dict[str, Parameter] = {}
    returns: tuple[str, ...] | dict[str, str] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns with types; none if the header only names them."""
        return columns_of(self.returns) if isinstance(self.returns, dict) else ()


@lru_cache(maxsize=2048)
def split(text: str, origin: str) -> tuple[Header, str]:
    """Header and body of a template file, read once in a process.

    Args:
        text: the file's content.
        origin: its path, for messages.

    Raises:
        TemplateError: when the header is missing or malformed.
    """
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    source = "\n".join(line[1:].removeprefix(" ") for line in lines[:end])
    try:
        header = Header.model_validate(yaml.load(source, _LOADER) or {})  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValidationError) as error:
        raise TemplateError(
            tr("{origin}: invalid header: {error}").format(origin=origin, error=short_cause(error))
        ) from error
    return header, "\n".join(lines[end:]).strip() + "\n"
