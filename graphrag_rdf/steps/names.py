"""Entities by their exact name: from the index, and without one from the labels in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Literal

from graphrag_rdf.extract.normalise import slug
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.store.base import QueryRun, Store

if TYPE_CHECKING:
    from graphrag_rdf.index.text import TextIndex

_BATCH = 500  # names in one query


def entities_called(
    names: Sequence[str],
    *,
    store: Store,
    index: TextIndex | None,
    language: str | None = None,
    queried: Callable[[QueryRun], None] | None = None,
) -> dict[str, list[str]]:
    """Entities that are called so.

    The index knows names regardless of case and width; where it is missing, names match as they are stored,
    without a language or in this one.

    Args:
        names: what to look for.
        index: None when it is missing.
        language: BCP 47; the tag that stored names may have.
        queried: hears of each query that the store was asked, to record it.

    Returns:
        each name that any entity has, with the IRIs of those, sorted.
    """
    if index is not None:
        return index.exact(names)
    found: dict[str, set[str]] = {}
    ordered = sorted({name for name in names if name})
    for start in range(0, len(ordered), _BATCH):
        labels = [Literal(name) for name in ordered[start : start + _BATCH]]
        if language:
            labels += [Literal(label.value, language=language) for label in labels]
        run = store.run("retrieval/entities-by-label", labels=labels)
        if queried is not None:
            queried(run)
        for row in run.rows:
            found.setdefault(text_of(row["label"]), set()).add(text_of(row["entity"]))
    return {name: sorted(iris) for name, iris in found.items()}


def own_names(name: str, entities: Sequence[str]) -> list[str]:
    """Of several entities that are called so the one that has its IRI from this name; else all of them.

    Others have it as an alias, which is less sure: documents abbreviate many things in the same way.
    """
    own = [iri for iri in entities if iri.endswith(f"/e/{slug(name)}")]
    return own or list(entities)
