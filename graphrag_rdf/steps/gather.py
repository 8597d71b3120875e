"""What an answer may rest on once passages are ranked: their sentences, the facts quoted from them, and facts
of the entities that were reached which no text says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.labels import one_label
from graphrag_rdf.rdf.metadata import METADATA
from graphrag_rdf.rdf.terms import node_of
from graphrag_rdf.steps.mentions import chunk_of, left_out, mentions_of
from graphrag_rdf.steps.search import QuestionSearch, label_of
from graphrag_rdf.steps.state import Activated, Edge, SentenceHit, Triple
from graphrag_rdf.store.base import Row

_UNREAD_OF = 20  # entities whose imported facts, and whose metadata, are looked for
_UNREAD_AMONG = 100  # of each, among so many of its facts in each direction
_PASSED_DOWN = 0.9  # of its passage's standing that a sentence has which mentions nothing that was reached


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

    def run(self, similarity: Callable[[str], float]) -> None:
        """Gather.

        Args:
            similarity: of a sentence to the question; decides which ones of the best passages are looked at.
        """
        self._hits(sorted(self._sentences(), key=lambda iri: (-similarity(iri), iri)))
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
        self.state.edges = self._edges(sentences, hits, unverified)

    # --- sentences ---------------------------------------------------------------------------------

    def _sentences(self) -> set[str]:
        """The sentences of the best passages."""
        chunks = [hit.chunk for hit in self.state.passages[: self.parameters["passages"]]]
        rows = self.search.rows("retrieval/passage-sentences", chunks=chunks) if chunks else []
        return {node_of(row["sentence"]).value for row in rows}

    def _hits(self, ordered: Sequence[str]) -> None:
        """Score sentences by their words, their meaning, and how surely what they mention was reached.

        Those about an entity that is excluded are no part of them.
        """
        search, state = self.search, self.state
        best = state.passages[0].score if state.passages else 0.0
        standing = {hit.chunk.value: hit.score / best if best else 0.0 for hit in state.passages}
        limit = self.parameters["sentence_limit"]
        asked = ordered if state.exclude else ordered[:limit]
        mentioned = mentions_of(search.context, state, search.step, asked)
        for sentence in [iri for iri in asked if not left_out(state, mentioned[iri])][:limit]:
            entities = mentioned[sentence]
            hit = SentenceHit(
                NamedNode(sentence),
                entities,
                lexical=self.lexical.get(sentence, 0.0),
                vector=search.vector.get(sentence, 0.0) if search.vector else None,
                graph=max(self._reached(entities), standing[chunk_of(sentence)] * _PASSED_DOWN),
            )
            hit.score = search.mean(hit.lexical, hit.vector, hit.graph)
            state.hits.append(hit)
        state.hits.sort(key=lambda hit: (-hit.score, hit.sentence.value))

    def _reached(self, entities: Iterable[NamedNode]) -> float:
        """How surely any of them was reached: activation as a share of the most that any entity has."""
        values = [self.active[e.value].value for e in entities if e.value in self.active]
        return max(values, default=0.0) / self.most if self.most else 0.0

    # --- facts -------------------------------------------------------------------------------------

    def _unread(self) -> list[Row]:
        """Facts of the most active entities that no sentence says: metadata, imported, or given by hand."""
        surest = sorted(self.active.values(), key=lambda a: (-a.value, a.entity.value))
        entities = [active.entity for active in surest[:_UNREAD_OF]]
        if not entities:
            return []
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
        self,
        sentences: Mapping[Triple, Sequence[NamedNode]],
        hits: Mapping[str, SentenceHit],
        unverified: Collection[Triple],
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
        edges = []
        for fact, said_by in sentences.items():
            edge = self._edge(fact, names)
            if excluded.isdisjoint(edge.ends):
                edge.sentences = tuple(said_by)
                edge.unverified = fact in unverified
                self._score(edge, [hits[sentence.value] for sentence in said_by])
                edges.append(edge)
        return sorted(edges, key=lambda edge: (-edge.score, edge.hop, str(edge.triple)))

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

    def _score(self, edge: Edge, said_by: Sequence[SentenceHit]) -> None:
        """The parts of an edge's score, from itself and the sentences that say it."""
        own = self.search.words.coverage(edge.text, edge.asked)
        edge.lexical = 0.5 * max((hit.lexical for hit in said_by), default=own) + 0.5 * own
        if self.search.vector:
            edge.vector = max(((hit.vector or 0.0) for hit in said_by), default=0.0)
        edge.graph = max((hit.graph for hit in said_by), default=self._reached(edge.ends))
        edge.score = self.search.mean(edge.lexical, edge.vector, edge.graph)


def _fact(row: Row) -> Triple:
    return node_of(row["s"]), node_of(row["p"]), row["o"]  # type: ignore[return-value]
