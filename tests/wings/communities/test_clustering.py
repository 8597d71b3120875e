"""Clusters: every node is in one, parts lie within their whole, and the order of input does not matter."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag_rdf.wings.communities.clustering import cluster

Edges = list[tuple[str, str, float]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Edges, list[str]]:
    nodes = [f"n{number}" for number in range(draw(st.integers(0, 30)))]
    pairs = [(one, other) for one in nodes for other in nodes if one < other]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=80)) if pairs else []
    weights = draw(st.lists(st.floats(0.1, 10), min_size=len(chosen), max_size=len(chosen)))
    return [(*pair, weight) for pair, weight in zip(chosen, weights, strict=True)], nodes


@settings(deadline=None, max_examples=60)
@given(graphs(), st.integers(2, 8), st.integers(0, 3))
def test_clusters_divide_the_graph(graph: tuple[Edges, list[str]], max_size: int, seed: int) -> None:
    edges, nodes = graph
    found = cluster(edges, nodes, max_size=max_size, seed=seed)
    assert Counter(node for each in found if each.level == 0 for node in each.members) == Counter(nodes)
    for index, each in enumerate(found):
        assert list(each.members) == sorted(each.members)
        parts = [part for part in found if part.parent == index]
        assert all(part.level == each.level + 1 for part in parts)
        if parts:
            assert Counter(node for part in parts for node in part.members) == Counter(each.members)
            assert len(parts) > 1, "a community that cannot be divided has no parts"
    assert (each.parent is None for each in found if each.level == 0)


@settings(deadline=None, max_examples=30)
@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_matter(graph: tuple[Edges, list[str]], chance: random.Random) -> None:
    edges, nodes = graph
    expected = cluster(edges, nodes, max_size=4)
    chance.shuffle(edges)
    chance.shuffle(nodes)
    assert cluster(edges, nodes, max_size=4) == expected


def test_two_cliques_are_two_clusters() -> None:
    edges = [(f"{side}{a}", f"{side}{b}", 1.0) for side in "xy" for a in range(4) for b in range(a + 1, 4)]
    found = cluster([*edges, ("x0", "y0", 0.1)], ["alone"])
    assert [each.members for each in found] == [
        ("x0", "x1", "x2", "x3"),
        ("y0", "y1", "y2", "y3"),
        ("alone",),
    ]


def test_a_higher_resolution_gives_more_clusters() -> None:
    edges = [(f"n{number}", f"n{number + 1}", 1.0) for number in range(40)]
    fewer, more = (cluster(edges, max_size=100, resolution=value) for value in (0.5, 5))
    assert len(fewer) < len(more)
