"""Hashes of the rows of a query, by which a trace recognises them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from pyoxigraph import Literal

from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import Solution


def result_hash(solutions: Sequence[Solution]) -> str:
    """Three hashes: of what rows name, in their order; of the same in whatever order; and with their scores.

    The first is a whole SHA-256, which traces of earlier versions have alone. Scores count with six digits,
    because engines add up in different orders.
    """
    named, scored = [], []
    for row in solutions:
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
