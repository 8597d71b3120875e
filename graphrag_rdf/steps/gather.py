"""What an answer may rest on, once chunks are ranked: their sentences, the facts that were quoted from these,
and facts that no text says of entities that were reached.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import METADATA, RAG
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.steps.exploration import EVIDENCE_LIMIT, Edge
from graphrag_rdf.steps.hits import Hits
from graphrag_rdf.steps.same_facts import as_one, by_preference
from graphrag_rdf.steps.search import QuestionSearch, fact_of
from graphrag_rdf.steps.state import SentenceHit, Triple
from graphrag_rdf.store.base import Row


def _in_order(fact: Triple) -> tuple[str, ...]:
    s, p, o = fact
    return (s.value, p.value, text_of(o), str(o))


_UNREAD_OF = 20  # entities whose imported facts, and whose metadata, are looked for
_UNREAD_AMONG = 100  # of each, among so many of its facts in each direction


class Gathering:
    """Fills `state.hits` and `state.edges` from `state.passages`.

    Args:
        hits: of the question.
        active: canonical entity → its activation.
    """

    def __init__(self, search: QuestionSearch, hits: Hits, active: Mapping[str, float]) -> None:
        self.search = search
        self.hits = hits
        self.state = search.state
        self.parameters = search.parameters
        self.active = active
        self.most = max(active.values(), default=0.0)
        self._seeds = {seed.entity for seed in self.state.seeds}

    def run(self) -> None:
        """Gather."""
        self.state.hits = self._sentences()
        sentences: dict[Triple, list[NamedNode]] = {}
        if self.state.hits:
            asked = [hit.sentence for hit in self.state.hits]
            for row in self.search.rows("retrieval/quoted-facts", sentences=asked):
                sentences.setdefault(fact_of(row), []).append(row["sentence"])
        surest = self._surest()
        for row in self._unread(surest) if surest else ():
            sentences.setdefault(fact_of(row), [])
        for fact in self.search.describe(surest, _UNREAD_AMONG):
            sentences.setdefault(fact, [])
        inferred = {fact for fact in map(fact_of, self._inferred(surest)) if fact not in sentences}
        sentences |= {fact: [] for fact in sorted(inferred, key=str)}
        unverified = {fact for fact in map(fact_of, self._unverified()) if fact not in sentences}
        sentences |= {fact: [] for fact in sorted(unverified, key=str)}
        self.state.edges = self._edges(sentences, unverified, inferred)

    # --- sentences ---------------------------------------------------------------------------------

    def _sentences(self) -> list[SentenceHit]:
        """The sentences of the best chunks, best first."""
        best = self.state.passages[: self.parameters["passages"]]
        if not best:
            return []
        most = best[0].score
        self.hits.write((hit.chunk, RAG.standing, hit.score / most if most else 1.0) for hit in best)
        rows = self.search.decide("retrieval/evidence", limit=EVIDENCE_LIMIT, **self.hits.given)
        return [
            SentenceHit(
                row["sentence"],
                lexical=row["words"],
                vector=row["meaning"] if self.search.vector else None,
                graph=row["standing"],
                score=row["score"],
            )
            for row in rows
        ]

    # --- facts -------------------------------------------------------------------------------------

    def _reached(self, entities: Iterable[NamedNode]) -> float:
        """How surely any of them was reached: activation as a share of the most that any entity has."""
        return max((self.active.get(one.value, 0.0) for one in entities), default=0.0) / (self.most or 1.0)

    def _surest(self) -> list[NamedNode]:
        """The most active entities."""
        ordered = sorted(self.active, key=lambda iri: (-self.active[iri], iri))
        return [NamedNode(iri) for iri in ordered[:_UNREAD_OF]]

    def _inferred(self, entities: list[NamedNode]) -> list[Row]:
        """What was inferred about entities, if the answer may rest on that."""
        if not entities or not self.parameters["inferred"]:
            return []
        return self.search.rows("retrieval/inferred-facts", entities=entities, limit=_UNREAD_AMONG)

    def _unread(self, entities: list[NamedNode]) -> list[Row]:
        """Facts of entities that no sentence says: metadata, imported, or given by hand."""
        held, found = self.search.held, []
        if "corrections" in held:
            found += self.search.rows("retrieval/facts-by-hand", entities=entities)
        if "metadata" in held:
            found += self.search.rows(
                "retrieval/metadata-facts", entities=entities, relations=list(METADATA), limit=_UNREAD_AMONG
            )
        if "imports" not in held:
            return found
        return found + [
            row
            for inverse in (False, True)
            for row in self.search.rows(
                "retrieval/unread-facts", entities=entities, inverse=inverse, limit=_UNREAD_AMONG
            )
        ]

    def _unverified(self) -> list[Row]:
        """Facts of the best passages that no sentence of them was found to say."""
        chunks = [hit.chunk for hit in self.state.passages[: self.parameters["passages"]]]
        asked = chunks if "unverified" in self.search.held else []
        return self.search.rows("retrieval/unverified-facts", chunks=asked) if asked else []

    def _edges(
        self,
        sentences: Mapping[Triple, Sequence[NamedNode]],
        unverified: Collection[Triple],
        inferred: Collection[Triple],
    ) -> list[Edge]:
        """The facts as scored edges, best first, save those with an entity that is excluded.

        Args:
            sentences: fact → the sentences that it was quoted from.
        """
        names = self.search.names(sentences)
        excluded = set(self.state.exclude)
        edges = [self._edge(fact, names) for fact in sentences]
        edges = [edge for edge in edges if excluded.isdisjoint(edge.ends)]
        for edge in edges:
            fact = edge.triple
            edge.sentences, edge.unverified = tuple(sentences[fact]), fact in unverified
            edge.inferred = fact in inferred
        edges.sort(key=lambda edge: _in_order(edge.triple))
        found = as_one(self.search.rows, by_preference(edges))
        return self._ranked(found)

    def _ranked(self, edges: Collection[Edge]) -> list[Edge]:
        """Edges by their own words, and by the best words, meaning and standing of what says them."""
        hits = {hit.sentence: hit for hit in self.state.hits}
        for edge in edges:
            quotes = [hits[sentence] for sentence in edge.sentences]
            own = self.search.words.coverage(edge.text, edge.asked)
            edge.lexical = (own + max((hit.lexical for hit in quotes), default=own)) / 2
            if self.search.vector:
                edge.vector = max((hit.vector or 0.0 for hit in quotes), default=0.0)
            edge.graph = max((hit.graph for hit in quotes), default=self._reached(edge.ends))
            edge.score = self.search.mean(edge.lexical, edge.vector, edge.graph)
        return sorted(edges, key=lambda edge: (-round(edge.score, 12), edge.hop, _in_order(edge.triple)))

    def _edge(self, fact: Triple, names: Mapping[str, Row]) -> Edge:
        edge = self.search.edge(fact, names)
        reached = [end for end in edge.ends if end.value in self.active]
        edge.hop = 1 if any(end in self._seeds for end in reached) else 2 if reached else 3
        if reached:
            edge.origin = min(reached, key=lambda end: (-self.active[end.value], end.value))
            edge.direction = "out" if edge.origin == edge.ends[0] else "in"
        return edge
