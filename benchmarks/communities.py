"""Clustering graphs of any size, and building the communities of a store.

    python -m benchmarks.communities                          100,000 and a million edges, 6,250 chunks
    python -m benchmarks.communities --edges 100000 --passages 1000

The graph is made up: nodes in groups of about 30, and a tenth of the edges between any two nodes. The
baseline of the clustering is the package graspologic-native alone, on the same edges. The store is that of
`benchmarks.growth`. Its communities are built without reports; the query of pairs is measured alone, too.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TypeVar

from benchmarks.common import Figure, cpu_seconds, show
from benchmarks.growth import fill
from benchmarks.synthetic import FACTS_PER_PASSAGE, Collection
from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.wings.communities.build import CommunitySettings, build_communities
from graphrag_rdf.wings.communities.clustering import cluster

_BARS = {100_000: "≤ 2 s", 1_000_000: "≤ 30 s"}
_GROUP, _EDGES_PER_NODE, _ANYWHERE = 30, 8, 0.1
T = TypeVar("T")
Edges = list[tuple[str, str, float]]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.communities", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--edges", type=int, nargs="*", default=[*_BARS])
    parser.add_argument("--passages", type=int, default=6250)
    asked = parser.parse_args()
    figures = [figure for count in asked.edges for figure in _cluster(count)]
    if asked.passages:
        figures += _build(asked.passages)
    show("Communities", figures)
    return 0


def _cluster(count: int) -> list[Figure]:
    from graspologic_native import hierarchical_leiden

    edges = made_up(count)
    found, wall, cpu = _timed(lambda: cluster(edges))
    alone, _, native = _timed(
        lambda: hierarchical_leiden(
            edges=edges,
            starting_communities=None,
            resolution=1.0,
            randomness=0.001,
            iterations=1,
            use_modularity=True,
            max_cluster_size=10,
            seed=0,
        )
    )
    beside = f"{cpu / native:.1f} × graspologic-native alone ({native:.1f} CPU s, {len(alone):,} rows)"
    value = f"{wall:.1f} s, {cpu:.1f} CPU s, {len(found):,} communities"
    return [Figure(f"{count:,} edges clustered", value, _BARS.get(count, ""), beside)]


def made_up(count: int) -> Edges:
    """So many weighted edges, each pair once."""
    draw = random.Random(count)
    nodes = [f"http://trustgraph.ai/e/{number}" for number in range(count // _EDGES_PER_NODE)]
    pairs: set[tuple[str, str]] = set()
    while len(pairs) < count:
        one = draw.randrange(len(nodes))
        start = one - one % _GROUP
        group = range(start, min(start + _GROUP, len(nodes)))
        other = draw.randrange(len(nodes)) if draw.random() < _ANYWHERE else draw.choice(group)
        if one != other:
            pairs.add((nodes[min(one, other)], nodes[max(one, other)]))
    return [(one, other, draw.choice((0.25, 0.5, 1.0, 2.0))) for one, other in sorted(pairs)]


def _build(passages: int) -> list[Figure]:
    settings = CommunitySettings()
    weights = {
        name: getattr(settings, name) for name in ("statement_weight", "sentence_weight", "topic_weight")
    }
    with tempfile.TemporaryDirectory(prefix="graphrag-bench-") as place:
        with Engine.open(place, config=Settings(store=place)) as engine:
            fill(engine, Collection(passages * FACTS_PER_PASSAGE))
        with Engine.open(place, config=Settings(store=place)) as engine:
            rows, wall, cpu = _timed(lambda: engine.store.select("communities/edges", **weights))
            built, all_wall, all_cpu = _timed(lambda: build_communities(engine.store, settings))
    count = sum(built.communities.values())
    beside = f"{all_cpu / cpu:.1f} × the query of pairs"
    return [
        Figure(f"{passages:,} chunks: pairs", f"{wall:.1f} s, {cpu:.1f} CPU s, {len(rows):,} pairs"),
        Figure(
            f"{passages:,} chunks: communities built",
            f"{all_wall:.1f} s, {all_cpu:.1f} CPU s, {count:,} communities",
            "",
            beside,
        ),
    ]


def _timed(run: Callable[[], T]) -> tuple[T, float, float]:
    """What a function returns, with seconds of wall clock and of CPU."""
    start, cpu = time.perf_counter(), cpu_seconds()
    found = run()
    return found, time.perf_counter() - start, cpu_seconds() - cpu


if __name__ == "__main__":
    sys.exit(main())
