"""Facts in the rows of queries that return `s`, `p` and `o`."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.store.base import Row
from graphrag_rdf.trace import rows
from graphrag_rdf.trace.items import Fact
from graphrag_rdf.trace.labels import label_of


def fact_of(row: Row, labels: dict[str, str]) -> Fact:
    """The fact of a row, with the labels that its terms have among `labels`."""
    s, p, o = rows.node(row, "s"), rows.node(row, "p"), row["o"]
    assert isinstance(o, NamedNode | Literal)  # noqa: S101 - facts have no other objects
    return Fact(s, p, o, *(label_of(term, labels) for term in (s, p, o)))
