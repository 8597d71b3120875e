"""Entities by their names: from the index, and without one from the labels in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.extract.names import apart, slug, together
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
    queried: Callable[[QueryRun], object] | None = None,
) -> dict[str, list[str]]:
    """Entities that are called so; else those whose name is the same, written together or apart.

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
    if index is None:
        return _by_label(names, store, language, queried)
    found = index.exact(names)
    other = {
        form: name for name in names if name not in found and (form := together(name) or apart(name)) != name
    }
    # of what the index knows regardless of case, the store tells what has its capitals in these places
    written = index.exact(list(other))
    called = _by_label(written, store, None, queried) if written else {}
    return found | {other[form]: entities for form, entities in called.items()}


def _by_label(
    names: Iterable[str], store: Store, language: str | None, queried: Callable[[QueryRun], object] | None
) -> dict[str, list[str]]:
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


def entities_meant(
    names: Iterable[str], store: Store, index: TextIndex | None, language: str | None
) -> list[NamedNode]:
    """What stands for the entities of these labels or IRIs; a label of several means all of them.

    Raises:
        UsageError: when there is none of a name.
    """
    found: list[NamedNode] = []
    for name in names:
        entities = _called(name, store, index, language)
        rows = store.select("retrieval/canonical", entities=entities) if entities else []
        if not rows:
            raise UsageError(
                f"no entity is called {name!r}", hint="graphrag-rdf entities list shows the names"
            )
        found += [NamedNode(text_of(row["canonical"])) for row in rows]
    return found


def one_entity(name: str, store: Store, index: TextIndex | None) -> NamedNode:
    """The one entity of a label or IRI; where it was merged, it itself, not what stands for it.

    Raises:
        UsageError: when there is none, or several.
    """
    entities = _called(name, store, index, None)
    rows = store.select("retrieval/canonical", entities=entities) if entities else []
    if not rows:
        raise UsageError(f"no entity is called {name!r}", hint="graphrag-rdf entities list shows the names")
    known = own_names(name, sorted({text_of(row["entity"]) for row in rows}))
    if len(known) > 1:
        raise UsageError(f"{name!r} names several entities: {', '.join(known)}", hint="use the IRI")
    return NamedNode(known[0])


def _called(name: str, store: Store, index: TextIndex | None, language: str | None) -> list[NamedNode]:
    if name.startswith(("http://", "https://", "urn:")):
        iris = [name]
    else:
        called = entities_called([name], store=store, index=index, language=language)
        iris = called.get(name, [])
    try:
        return [NamedNode(iri) for iri in iris]
    except ValueError:  # malformed, so nothing is called so
        return []
