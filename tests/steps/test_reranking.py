"""Labels for models, IRIs for provenance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import edge_id
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.reranking import label_graph


def edge(s: str, labels: tuple[str, str, str]) -> Edge:
    p, o = NamedNode("http://example.org/r/p"), NamedNode("http://example.org/e/o")
    node = NamedNode(f"http://example.org/e/{s}")
    return Edge((node, p, o), *labels, hop=1, direction="out", origin=node)


def test_edge_id_is_trustgraphs() -> None:
    """The check value was computed by TrustGraph's own function."""
    assert edge_id("hope", "leads to", "joy") == "7fbf68e0"


def test_edges_with_equal_labels_stay_apart() -> None:
    """Homonyms: equal labels, different terms. TrustGraph stores one of them twice and loses the other."""
    labels = ("hope", "leads to", "joy")
    one, other = edge("hope", labels), edge("other-hope", labels)
    found = label_graph([one, other])
    assert list(found) == ["7fbf68e0", "7fbf68e0-2"]
    assert [e.triple for e in found.values()] == [one.triple, other.triple]


def test_the_same_edge_is_listed_once() -> None:
    labels = ("hope", "leads to", "joy")
    assert len(label_graph([edge("hope", labels), edge("hope", labels)])) == 1


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["a", "b"]), st.sampled_from(["x", "x|y", "y"])))
)
def test_every_edge_can_be_named(rows: list[tuple[int, str, str]]) -> None:
    """However labels collide, each distinct edge has an id of its own and keeps its terms."""
    edges = [edge(f"{number}{a}{b.replace('|', '-')}", (a, b, a)) for number, a, b in rows]
    found = label_graph(edges)
    assert {e.triple for e in found.values()} == {e.triple for e in edges}
