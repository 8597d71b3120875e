"""Columns of templates: the cells of a solution as Python values of the types that the header declares.

`returns: {chunk: iri, score: double, title: text?}` makes records with these keys. `?` marks a column that
may be unbound; the record has None there. A plain list of names declares no types: rows keep their terms, and
lack unbound variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from graphrag_rdf.errors import TemplateError
from graphrag_rdf.i18n import tr
from graphrag_rdf.rdf.terms import Term, number_of, text_of, to_python

Record: TypeAlias = Mapping[str, Any]
"""A row of a template: column → value of the declared type; see `COLUMN_TYPES`."""


def _whole(term: Term) -> int:
    """Engines compute whole numbers as decimals, too."""
    text = text_of(term)
    return int(float(text)) if "." in text else int(text)


def _truth(term: Term) -> bool:
    """Virtuoso says 1 and 0 of what it computes."""
    return to_python(term) in (True, 1)


def _moment(term: Term) -> datetime | None:
    """None where a foreign trace has something else there."""
    value = to_python(term)
    return value if isinstance(value, datetime) else None


COLUMN_TYPES: Mapping[str, Callable[[Term], Any] | None] = {
    "iri": None,
    "node": None,
    "literal": None,
    "term": None,
    "text": text_of,
    "int": _whole,
    "double": number_of,
    "bool": _truth,
    "datetime": _moment,
}
"""Type → how a cell is read; None keeps the term: a NamedNode, an IRI or blank node, a Literal, or any.
`text` is the lexical form of a literal, or an IRI as a string."""


class Column(NamedTuple):
    """A column: its type is a key of `COLUMN_TYPES`."""

    name: str
    type: str
    optional: bool


def columns_of(returns: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns that a header declares."""
    return tuple(Column(name, kind.removesuffix("?"), kind.endswith("?")) for name, kind in returns.items())


def records(template: str, columns: tuple[Column, ...], rows: Iterable[Mapping[str, Term]]) -> list[Record]:
    """Rows of terms as records of values.

    Args:
        template: its name, for messages.

    Raises:
        TemplateError: a column that must be bound is not.
    """
    readers = [(column.name, COLUMN_TYPES[column.type], column.optional) for column in columns]
    table: list[Record] = []
    for row in rows:
        record: dict[str, Any] = {}
        for name, read, optional in readers:
            term = row.get(name)
            if term is None:
                if not optional:
                    raise TemplateError(
                        tr("{template}: ?{name} is unbound").format(template=template, name=name)
                    )
                record[name] = None
            else:
                record[name] = term if read is None else read(term)
        table.append(record)
    return table
