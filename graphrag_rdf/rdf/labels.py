"""Choice between several labels of a thing.

Documents give a thing one label. An imported file may give it several, in several languages. All of them
stay, and one is chosen when labels are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from pyoxigraph import Literal

from graphrag_rdf.rdf.terms import Term

R = TypeVar("R", bound=Mapping[str, Term])


def one_label(
    rows: Iterable[R], language: str | None = None, *, thing: str = "thing", label: str = "label"
) -> list[R]:
    """For each thing, the row with the best label, in the order of the things.

    The best label is in the reader's language, then without a language, then English, then any other; equal
    ones are ordered by code point.

    Args:
        language: BCP 47, of the reader.
        thing, label: names of the columns.
    """
    best: dict[Term, R] = {}
    for row in rows:
        known = best.get(row[thing])
        if known is None or _rank(row.get(label), language) < _rank(known.get(label), language):
            best[row[thing]] = row
    return list(best.values())


def best_label(labels: Iterable[Literal]) -> Literal | None:
    """The best of the labels of a thing for readers of any language, see `one_label`."""
    return min(labels, key=lambda label: _rank(label, None), default=None)


def _rank(label: Term | None, language: str | None) -> tuple[int, str]:
    if not isinstance(label, Literal) or not label.value.strip():
        return 4, ""
    tag = _base(label.language)
    if tag is not None and tag == _base(language):
        return 0, label.value
    return {None: 1, "en": 2}.get(tag, 3), label.value


def _base(tag: str | None) -> str | None:
    return tag.partition("-")[0].lower() if tag else None


def edge_id(s: str, p: str, o: str) -> str:
    """The first 8 hexadecimal digits of SHA-256 over `s|p|o` (labels)."""
    return hashlib.sha256(f"{s}|{p}|{o}".encode()).hexdigest()[:8]
