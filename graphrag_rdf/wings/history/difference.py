"""What differs between two states: quads, facts in words, RDF Patch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyoxigraph as ox
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Triple

from graphrag_rdf.i18n import bracketed
from graphrag_rdf.rdf.namespaces import RAG, Graphs
from graphrag_rdf.rdf.terms import Term
from graphrag_rdf.rdf.wording import between
from graphrag_rdf.store.base import select_in_batches
from graphrag_rdf.trace.facts import read_labels, with_labels
from graphrag_rdf.trace.values import all_as_written, qualifiers_of

if TYPE_CHECKING:
    from graphrag_rdf.store.base import Store
    from graphrag_rdf.store.embedded import EmbeddedStore


@dataclass(slots=True)
class Difference:
    """The quads that differ between two states. Traces and the numbers of commits do not count."""

    removed: list[Quad] = field(default_factory=list)
    added: list[Quad] = field(default_factory=list)


def difference(before: EmbeddedStore, after: EmbeddedStore) -> Difference:
    """Compare two stores.

    The engine gives quads in the order of its keys, which are the same in both stores. So both are read once,
    side by side, and only where they differ the engine is asked which of the two quads the other store lacks.
    """
    out = Difference()
    traces = before.renderer.trace_graph
    with before.reading() as former, after.reading() as latter:
        here, there = _quads(former), _quads(latter)
        earlier, later = next(here, None), next(there, None)
        while earlier is not None or later is not None:
            if earlier == later:
                earlier, later = next(here, None), next(there, None)
            elif earlier is not None and earlier not in latter:
                out.removed += [earlier] * _counts(earlier, traces)
                earlier = next(here, None)
            elif later is not None and later not in former:
                out.added += [later] * _counts(later, traces)
                later = next(there, None)
            else:  # each is in both
                earlier, later = next(here, None), next(there, None)
    return out


def _counts(quad: Quad, traces: NamedNode) -> bool:
    if quad.graph_name == Graphs.SYSTEM:
        return quad.predicate not in _NUMBERS
    return quad.graph_name != traces


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


def changed_facts(before: Store, after: Store, changes: Difference) -> tuple[list[str], list[str]]:
    """The facts that were removed and added, as sentences with what their evidence says beside them; names,
    types and metadata are left out. A fact with another date, say, is removed and added.
    """
    edges = dict.fromkeys(_edges((*changes.removed, *changes.added), before.renderer.facts_graph))
    former, latter = (_in_words(store, edges) for store in (before, after))
    return sorted(former - latter), sorted(latter - former)


def _edges(
    quads: Iterable[Quad], facts_graph: NamedNode | None
) -> Iterator[tuple[NamedNode, NamedNode, Term]]:
    """The facts that quads state, or are about."""
    for quad in quads:
        named = isinstance(quad.object, Triple)
        triple = quad.object if isinstance(quad.object, Triple) else quad.triple
        stated = quad.graph_name == (facts_graph or DefaultGraph())
        if not stated and not named:
            continue
        if isinstance(triple.subject, NamedNode) and isinstance(triple.object, NamedNode | Literal):
            yield triple.subject, triple.predicate, triple.object


def _in_words(store: Store, edges: Iterable[tuple[NamedNode, NamedNode, Term]]) -> set[str]:
    rows = select_in_batches(store, "history/facts", "edges", edges)
    facts = [(row["s"], row["p"], row["o"]) for row in rows]
    labels = read_labels(store, (term for fact in facts for term in fact))
    named = all_as_written(store, [with_labels(fact, labels) for fact in facts])
    return {
        f"{fact.s_label} {between(fact.p.value, fact.p_label)} {fact.o_words}"
        f"{bracketed('; '.join(beside)) if beside else ''}"
        for fact, beside in zip(named, qualifiers_of(store, named), strict=True)
    }


_NUMBERS = (RAG.commit, RAG.contentCommit)
