"""What rows of queries say, whichever engine says it."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf.namespaces import XSD
from graphrag_rdf.trace import rows


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Literal(True), True),
        (Literal(False), False),
        (Literal(1), True),  # as Virtuoso computes
        (Literal(0), False),
        (Literal("1", datatype=XSD.boolean), True),
        (Literal("true"), False),
        (NamedNode("urn:true"), False),
    ],
)
def test_truth(term: Literal | NamedNode, expected: bool) -> None:
    assert rows.truth({"holds": term}, "holds") is expected
    assert rows.truth({}, "holds") is False
