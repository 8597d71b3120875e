"""What differs between two states: quads, facts in words, RDF Patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad

from graphrag_rdf.rdf.namespaces import Graphs
from graphrag_rdf.store.base import select_in_batches
from graphrag_rdf.trace.facts import read_labels, with_labels

if TYPE_CHECKING:
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.store.embedded import EmbeddedStore


@dataclass(slots=True)
class Difference:
    """The quads that differ between two states. Traces and the graph of the system do not count."""

    removed: list[Quad] = field(default_factory=list)
    added: list[Quad] = field(default_factory=list)


def difference(before: EmbeddedStore, after: EmbeddedStore) -> Difference:
    """Compare two stores.

    The engine gives quads in the order of its keys, which are the same in both stores. So both are read once,
    side by side, and only where they differ the engine is asked which of the two quads the other store lacks.
    """
    out = Difference()
    ignored = {Graphs.SYSTEM, before.renderer.trace_graph}
    with before.reading() as former, after.reading() as latter:
        here, there = _quads(former), _quads(latter)
        earlier, later = next(here, None), next(there, None)
        while earlier is not None or later is not None:
            if earlier == later:
                earlier, later = next(here, None), next(there, None)
            elif earlier is not None and earlier not in latter:
                out.removed += [earlier] * (earlier.graph_name not in ignored)
                earlier = next(here, None)
            elif later is not None and later not in former:
                out.added += [later] * (later.graph_name not in ignored)
                later = next(there, None)
            else:  # each is in both
                earlier, later = next(here, None), next(there, None)
    return out


def _quads(engine: ox.Store) -> Iterator[Quad]:
    yield from engine.quads_for_pattern(None, None, None, None)


def rdf_patch(changes: Difference) -> Iterator[str]:
    """The lines of an RDF Patch (https://afs.github.io/rdf-patch/): deletions, then additions."""
    yield "TX ."
    for sign, quads in (("D", changes.removed), ("A", changes.added)):
        for quad in quads:
            line = ox.serialize([quad], format=ox.RdfFormat.N_QUADS) or b""
            yield f"{sign} {line.decode().rstrip()}"
    yield "TC ."


def facts_in_words(store: Store, quads: Iterable[Quad]) -> list[str]:
    """The facts among quads, as sentences; names, types and metadata are left out."""
    graph = store.renderer.facts_graph or DefaultGraph()
    edges = [
        (quad.subject, quad.predicate, quad.object)
        for quad in quads
        if quad.graph_name == graph
        and isinstance(quad.subject, NamedNode)
        and isinstance(quad.object, NamedNode | Literal)
    ]
    rows = select_in_batches(store, "history/facts", "edges", edges)
    facts = [(row["s"], row["p"], row["o"]) for row in rows]
    labels = read_labels(store, (term for fact in facts for term in fact))
    return sorted(with_labels(fact, labels).text for fact in facts)
