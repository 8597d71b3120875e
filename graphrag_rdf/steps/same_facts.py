"""Facts that say the same are one edge, with the evidence of all: by merged relations and merged entities.

Documents say "Ada works at Kelm" and "Ada is employed by Kelm". If decisions make the two relations one, both
facts stay in the graph, and a question meets them as one: it is ranked by all its sentences, takes one place
in the selection, and is cited once. `retrieval/same-facts` decides which facts these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.search import Select
from graphrag_rdf.trace.model import Fact


def as_one(select: Select, edges: Sequence[Edge]) -> list[Edge]:
    """The edges in their order, of those that say the same only the first.

    It has the sentences of the others, and names them (`also`). Of inferred ones it takes nothing: the fact
    is asserted, or has a proof of its own.

    Args:
        select: runs a template.
        edges: the one that is to be kept comes first, see `by_preference`.
    """
    if len(edges) < 2:
        return list(edges)
    rows = select("retrieval/same-facts", facts=[(n, *edge.triple) for n, edge in enumerate(edges)])
    gone: set[int] = set()
    for row in rows:
        kept, *others = sorted(map(int, row["numbers"].split()))
        _join(edges[kept], [edges[number] for number in others if not edges[number].inferred])
        gone |= {*others}
    return [edge for number, edge in enumerate(edges) if number not in gone]


def by_preference(edges: Iterable[Edge]) -> list[Edge]:
    """Edges in the order in which `as_one` keeps them: asserted facts, then those whose quote was found, then
    those that most sentences say.
    """
    return sorted(edges, key=lambda edge: (edge.inferred, edge.unverified, -len(edge.sentences)))


def _join(kept: Edge, others: Iterable[Edge]) -> None:
    known = {kept.triple, *kept.also}
    for other in others:
        kept.sentences = tuple(dict.fromkeys((*kept.sentences, *other.sentences)))
        kept.description = kept.description or other.description
        called = Fact(*other.triple, other.s_label, other.p_label, other.o_label)
        for fact in (called, *other.also_facts):
            triple = (fact.s, fact.p, fact.o)
            if triple not in known:
                known.add(triple)
                kept.also, kept.also_facts = (*kept.also, triple), (*kept.also_facts, fact)
