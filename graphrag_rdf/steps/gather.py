"""What an answer may rest on once passages are ranked: their sentences, the facts quoted from them, and facts
of the entities that were reached which no text says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.labels import one_label
from graphrag_rdf.rdf.metadata import METADATA
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.steps.mentions import chunk_of, mentions_of
from graphrag_rdf.steps.nodes.exploration import Activated, Edge
from graphrag_rdf.steps.search import QuestionSearch, label_of, number_of
from graphrag_rdf.steps.state import SentenceHit, Triple
from graphrag_rdf.store.base import Row

_UNREAD_OF = 20  # entities whose imported facts, and whose metadata, are looked for
_UNREAD_AMONG = 100  # of each, among so many of its facts in each direction


class Gathering:
    """Fills `state.hits` and `state.edges` from `state.passages`.

    Args:
        active: entity IRI → what it received.
        lexical: sentence → likeness to the question by words, 0 to 1.
    """

    def __init__(
        self, search: QuestionSearch, active: Mapping[str, Activated], lexical: Mapping[str, float]
    ) -> None:
        self.search = search
        self.state = search.state
        self.parameters = search.parameters
        self.active = active
        self.lexical = lexical
        self.most = max((each.value for each in active.values()), default=0.0)

    def run(self, likeness: Mapping[str, tuple[float, float]], weights: Mapping[str, float]) -> None:
        """Gather.

        Args:
            likeness: sentence → how like the question it is, by words and by meaning; by these it is decided
                which sentences of the best passages are looked at.
            weights: of the two.
        """
        self._hits(self._nearest(likeness, weights))
        hits = {hit.sentence.value: hit for hit in self.state.hits}
        sentences: dict[Triple, list[NamedNode]] = {}
        if hits:
            asked = [hit.sentence for hit in self.state.hits]
            for row in self.search.rows("retrieval/quoted-facts", sentences=asked):
                sentences.setdefault(_fact(row), []).append(node_of(row["sentence"]))
        for row in self._unread():
            sentences.setdefault(_fact(row), [])
        unverified = {fact for fact in map(_fact, self._unverified()) if fact not in sentences}
        sentences |= {fact: [] for fact in sorted(unverified, key=str)}
        self.state.edges = self._edges(sentences, unverified)

    # --- sentences ---------------------------------------------------------------------------------

    def _nearest(
        self, likeness: Mapping[str, tuple[float, float]], weights: Mapping[str, float]
    ) -> list[NamedNode]:
        """The sentences of the best passages that are most like the question."""
        state = self.state
        chunks = [hit.chunk for hit in state.passages[: self.parameters["passages"]]]
        among = {chunk.value for chunk in chunks}
        if not chunks:
            return []
        rows = self.search.decide(
            "selection/passage-sentences",
            passages=chunks,
            found=[
                (NamedNode(iri), NamedNode(chunk_of(iri)), *like)
                for iri, like in likeness.items()
                if chunk_of(iri) in among
            ],
            left_out=self.search.left_out,
            excluded=list(state.exclude),
            named=[seed.entity for seed in state.seeds],
            limit=self.parameters["sentence_limit"],
            **weights,
        )
        return [node_of(row["sentence"]) for row in rows]

    def _hits(self, sentences: Sequence[NamedNode]) -> None:
        """Score sentences by their words, their meaning, and how surely what they mention was reached."""
        search, state = self.search, self.state
        if not sentences:
            return
        best = state.passages[0].score
        standing = {hit.chunk.value: hit.score / best if best else 0.0 for hit in state.passages}
        mentioned = mentions_of(search.context, state, search.step, [node.value for node in sentences])
        rows = search.decide(
            "selection/sentence-ranking",
            sentences=[
                (
                    node,
                    self.lexical.get(node.value, 0.0),
                    search.vector.get(node.value, 0.0),
                    standing[chunk_of(node.value)],
                )
                for node in sentences
            ],
            mentions=[
                (node, entity)
                for node in sentences
                for entity in mentioned[node.value]
                if entity.value in self.active
            ],
            entities=[
                (active.entity, active.value / self.most) for active in self.active.values() if self.most
            ],
            **search.weights(with_meaning=bool(search.vector)),
        )
        for row in rows:
            sentence = node_of(row["sentence"])
            hit = SentenceHit(
                sentence,
                mentioned[sentence.value],
                lexical=self.lexical.get(sentence.value, 0.0),
                vector=search.vector.get(sentence.value, 0.0) if search.vector else None,
                graph=number_of(row["graph"]),
                score=number_of(row["score"]),
            )
            state.hits.append(hit)

    def _reached(self, entities: Iterable[NamedNode]) -> float:
        """How surely any of them was reached: activation as a share of the most that any entity has."""
        values = [self.active[e.value].value for e in entities if e.value in self.active]
        return max(values, default=0.0) / self.most if self.most else 0.0

    # --- facts -------------------------------------------------------------------------------------

    def _unread(self) -> list[Row]:
        """Facts of the most active entities that no sentence says: metadata, imported, or given by hand."""
        if not self.active:
            return []
        active = [(active.entity, active.value) for active in self.active.values()]
        surest = self.search.decide("selection/surest-entities", active=active, limit=_UNREAD_OF)
        entities = [node_of(row["entity"]) for row in surest]
        found = self.search.rows("retrieval/facts-by-hand", entities=entities)
        found += self.search.rows(
            "retrieval/metadata-facts", entities=entities, relations=list(METADATA), limit=_UNREAD_AMONG
        )
        if not self.search.rows("retrieval/imports"):
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
        return self.search.rows("retrieval/unverified-facts", chunks=chunks) if chunks else []

    def _edges(
        self, sentences: Mapping[Triple, Sequence[NamedNode]], unverified: Collection[Triple]
    ) -> list[Edge]:
        """The facts as scored edges, best first, save those with an entity that is excluded.

        Args:
            sentences: fact → the sentences that it was quoted from.
        """
        things = {term for fact in sentences for term in fact if isinstance(term, NamedNode)}
        names: dict[str, Row] = {}  # each thing looked up once, however many facts it is in
        if things:
            found = self.search.rows("retrieval/names", things=sorted(things, key=str))
            for row in one_label(found, self.state.language):
                names.setdefault(node_of(row["thing"]).value, row)
        excluded = set(self.state.exclude)
        edges = {fact: self._edge(fact, names) for fact in sentences}
        edges = {fact: edge for fact, edge in edges.items() if excluded.isdisjoint(edge.ends)}
        if not edges:
            return []
        for fact, edge in edges.items():
            edge.sentences, edge.unverified = tuple(sentences[fact]), fact in unverified
        return self._ranked(edges)

    def _ranked(self, edges: Mapping[Triple, Edge]) -> list[Edge]:
        """Edges by their score, from themselves and the sentences that say them."""
        search = self.search
        hits = {hit.sentence: hit for hit in self.state.hits}
        rows = search.decide(
            "selection/fact-ranking",
            ranked=[
                (
                    number,
                    *fact,
                    search.words.coverage(edge.text, edge.asked),
                    self._reached(edge.ends),
                    edge.hop,
                )
                for number, (fact, edge) in enumerate(edges.items())
            ],
            quotes=[
                (number, hit.lexical, hit.vector or 0.0, hit.graph)
                for number, edge in enumerate(edges.values())
                for hit in (hits[sentence] for sentence in edge.sentences)
            ],
            **search.weights(with_meaning=bool(search.vector)),
        )
        for row in rows:
            edge = edges[_fact(row)]
            edge.lexical, edge.graph = number_of(row["lexical"]), number_of(row["graph"])
            edge.vector = number_of(row["cosine"]) if search.vector else None
            edge.score = number_of(row["score"])
        return [edges[_fact(row)] for row in rows]

    def _edge(self, fact: Triple, names: Mapping[str, Row]) -> Edge:
        s, p, o = (names.get(term.value, {}) if isinstance(term, NamedNode) else {} for term in fact)
        ends = tuple(node_of(end["canonical"]) for end in (s, o) if "canonical" in end)
        reached = [self.active[end.value] for end in ends if end.value in self.active]
        nearest = min(reached, key=lambda a: (a.round, -a.value, a.entity.value), default=None)
        s_label, o_label = label_of(s.get("label"), fact[0]), label_of(o.get("label"), fact[2])
        return Edge(
            triple=fact,
            s_label=s_label,
            p_label=label_of(p.get("label"), fact[1]),
            o_label=o_label,
            hop=(nearest.round if nearest else self.parameters["rounds"]) + 1,
            direction="in" if nearest and ends and nearest.entity != ends[0] else "out",
            origin=nearest.entity if nearest else fact[0],
            ends=ends,
            asked=self.search.asked(fact[1], s_label, o_label),
        )


def _fact(row: Row) -> Triple:
    return node_of(row["s"]), node_of(row["p"]), row["o"]  # type: ignore[return-value]
