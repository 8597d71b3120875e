"""Hierarchical Leiden clustering (Traag, Waltman and van Eck 2019, Scientific Reports 9:5233)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphrag_rdf.errors import ConfigError
from graphrag_rdf.i18n import tr


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of nodes.

    Attributes:
        level: 0 for the groups of the whole graph, 1 for groups within one of these, and so on.
        members: its nodes, in order.
        parent: the index, in the list of all clusters, of the one it is part of; None at level 0.
    """

    level: int
    members: tuple[str, ...]
    parent: int | None = None


def cluster(
    edges: Sequence[tuple[str, str, float]],
    nodes: Iterable[str] = (),
    *,
    resolution: float = 1.0,
    max_size: int = 10,
    seed: int = 0,
) -> list[Cluster]:
    """Cluster the nodes of an undirected graph. The same input gives the same clusters.

    Args:
        edges: (node, node, weight > 0), each pair once.
        nodes: further nodes; those without an edge are clusters of their own.
        resolution: > 1 gives more and smaller clusters, < 1 fewer and larger ones.
        max_size: larger clusters are divided into clusters of the next level, if the graph allows it.
        seed: of the random numbers.

    Returns:
        clusters, parents before their parts; each node is in one cluster of level 0.

    Raises:
        ConfigError: when the package graspologic-native cannot be imported.
    """
    try:
        from graspologic_native import hierarchical_leiden
    except ImportError as error:
        raise ConfigError(
            tr("communities need the package graspologic-native, and it cannot be imported: {error}").format(
                error=error
            ),
            hint=tr("pip install graspologic-native"),
        ) from error
    connected = {node for start, end, _ in edges for node in (start, end)}
    lone = [Cluster(0, (node,)) for node in sorted({*nodes} - connected)]
    if not edges:
        return lone
    memberships = hierarchical_leiden(
        edges=sorted(edges),
        starting_communities=None,
        resolution=resolution,
        randomness=0.001,
        iterations=1,
        use_modularity=True,
        max_cluster_size=max_size,
        seed=seed,
    )
    members: dict[int, list[str]] = defaultdict(list)
    about: dict[int, tuple[int, int | None]] = {}
    for each in memberships:
        members[each.cluster].append(each.node)
        about[each.cluster] = (each.level, each.parent_cluster)
    ordered = sorted(members, key=lambda key: (about[key][0], sorted(members[key])))
    places: dict[int, int] = {}
    clusters: list[Cluster] = []
    for key in ordered:
        level, above = about[key]
        parent = None if above is None else places[above]
        names = tuple(sorted(members[key]))
        if parent is not None and clusters[parent].members == names:  # it could not be divided
            places[key] = parent
            continue
        places[key] = len(clusters)
        level = 0 if parent is None else clusters[parent].level + 1
        clusters.append(Cluster(level, names, parent))
    return [*clusters, *lone]
