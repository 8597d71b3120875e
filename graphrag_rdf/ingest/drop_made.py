"""Removes what stages made, such as merged descriptions and reports, with what it was made from."""

from __future__ import annotations

from collections.abc import Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.ingest.stages import model_stages
from graphrag_rdf.store.base import Changes, Store
from graphrag_rdf.store.derivations import Made


def drop_made(
    store: Store,
    changes: Changes,
    *,
    entities: Sequence[NamedNode] = (),
    sources: Sequence[NamedNode] = (),
) -> list[tuple[Made, list[NamedNode]]]:
    """Add to a transaction the removal of all that stages made, and of all that derives from it.

    Args:
        entities: what was made of these.
        sources: what was made from these chunks, documents and claims.

    Returns:
        what is removed, by its kind.
    """
    dropped: list[tuple[Made, list[NamedNode]]] = []
    sources = [*sources]
    for made in (kind.made for kind in model_stages()):
        if made is not None:
            nodes = made.drop_made(store, changes, entities=entities, sources=sources)
            dropped.append((made, nodes))
            sources += nodes  # of which later stages make something too
    return dropped
