"""Cells of query results as Python values; None where a variable is unbound."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import text_of, to_python
from graphrag_rdf.store.base import Row, Solution


def text(row: Row, name: str) -> str | None:
    """An IRI or a literal's lexical form."""
    term = row.get(name)
    return None if term is None else text_of(term)


def must(row: Row, name: str) -> str:
    """The text of a variable that the template always binds."""
    return text_of(row[name])


def node(row: Row, name: str) -> NamedNode:
    """The IRI of a variable that the template always binds to one."""
    term = row[name]
    assert isinstance(term, NamedNode)  # noqa: S101
    return term


def whole(row: Row, name: str) -> int | None:
    """A whole number."""
    term = row.get(name)
    return None if term is None else int(to_python(term))  # type: ignore[arg-type]


def number(row: Row, name: str) -> float | None:
    """A number."""
    term = row.get(name)
    return None if term is None else float(to_python(term))  # type: ignore[arg-type]


def moment(row: Row, name: str) -> datetime | None:
    """A date and time; None also where a foreign trace has something else there."""
    value = None if row.get(name) is None else to_python(row[name])
    return value if isinstance(value, datetime) else None


def truth(row: Row, name: str) -> bool:
    """A boolean; unbound is False. Virtuoso says 1 and 0 of what it computes."""
    term = row.get(name)
    return term is not None and to_python(term) in (True, 1)


def result_hash(found: Sequence[Solution]) -> str:
    """Three hashes: of what rows name, in their order; of the same in whatever order; and with their scores.

    The first is a whole SHA-256, which traces of earlier versions have alone. Scores count with six digits,
    because engines add up in different orders.
    """
    named, scored = [], []
    for row in found:
        ordered = sorted(row.items())
        cells = [f"{name}={term}" for name, term in ordered if not _is_score(term)]
        scores = [f"{name}={float(text_of(term)):.6g}" for name, term in ordered if _is_score(term)]
        named.append("\t".join([*cells, "\n"]))
        scored.append("\t".join([*cells, *scores, "\n"]))
    return f"{_digest(named)} {_digest(sorted(named))[:16]} {_digest(sorted(scored))[:16]}"


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _is_score(term: object) -> bool:
    return isinstance(term, Literal) and term.datatype in (XSD.double, XSD.decimal)
