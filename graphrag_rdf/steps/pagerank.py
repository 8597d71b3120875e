"""Personalised PageRank of passages: a second pass over the neighbourhood that activation reached.

A random walker goes to and fro between the active entities and the ranked passages that mention them. At each
step it goes on with the probability `_DAMPING`, and otherwise starts again at an entity, at each as often as
its activation says. Where it is how often is the score of a passage: unlike the sums of `passage_scores`, it
also counts by what else a passage hangs together with the rest, over any number of links.

PageRank is of Page, Brin, Motwani and Winograd (The PageRank Citation Ranking, 1999), personalised as in
Haveliwala (Topic-sensitive PageRank, 2002). To rank passages by it from what a question names is the idea of
HippoRAG 2 (arXiv 2502.14802), which walks over the whole graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from graphrag_rdf.errors import UsageError

Links: TypeAlias = Mapping[str, Mapping[str, float]]
"""Entity IRI → passage IRI → weight of the link, above 0."""

_DAMPING = 0.5  # as in HippoRAG: far from where it starts, the neighbourhood says little of the question


def load_igraph() -> Any:
    """The library that computes it.

    Raises:
        UsageError: when it is not installed.
    """
    try:
        import igraph
    except ImportError as error:
        raise UsageError(
            "exploration.passage_ppr needs igraph, which is not installed",
            hint="pip install 'graphrag-rdf[ppr]', or set exploration.passage_ppr to 0",
        ) from error
    return igraph


def rank_by_pagerank(links: Links, activation: Mapping[str, float]) -> dict[str, float]:
    """Personalised PageRank of the passages that entities are linked with.

    Args:
        links: between entities and passages.
        activation: entity IRI → how often the walk starts there, relatively; of each entity in `links`.

    Returns:
        passage IRI → its PageRank as a share of the best; nothing where no entity with activation has a link.

    Raises:
        UsageError: when igraph is not installed.
    """
    igraph = load_igraph()
    entities = sorted(entity for entity, passages in links.items() if passages and activation[entity] > 0)
    passages = sorted({passage for entity in entities for passage in links[entity]})
    if not passages:
        return {}
    place = {iri: number for number, iri in enumerate((*entities, *passages))}
    edges = [  # in an order that does not depend on the store's
        (place[entity], place[passage], weight)
        for entity in entities
        for passage, weight in sorted(links[entity].items())
    ]
    graph = igraph.Graph(n=len(place), edges=[(start, end) for start, end, _ in edges])
    ranks = graph.personalized_pagerank(
        directed=False,
        damping=_DAMPING,
        reset=[activation[entity] for entity in entities] + [0.0] * len(passages),
        weights=[weight for *_, weight in edges],
        implementation="prpack",
    )[len(entities) :]
    best = max(ranks)
    return {passage: rank / best for passage, rank in zip(passages, ranks, strict=True)}
