"""What activation adds up to: the ranking of chunks as sums of paths, then their sentences and facts.

    score = Σ weight × signal / Σ weight                                          (0 to 1)

    entities  A/(1 + A) with A = Σ activation × weight over the active entities. The weight is less for later
              rounds, and for entities that many passages mention, or many are about:
              (n/(n + 1)/(1 + ln passages) + t/(1 + ln topics))/(round + 1), where n sentences of the
              passage mention the entity, and t is 1 if the passage is about it. So the one passage about
              something counts in full, however many others mention it
    carrier   the most that one of its sentences passed on: activation × similarity / round
    words     BM25 of the passage itself, as a share of the best
    meaning   with embeddings, its cosine as a share of the best

A question that one passage answers is answered by its words; what further passages add is found by the
graph. So how much each counts depends on two things. One is how surely the question names something: the
weights of entities and carrier are multiplied by its *sureness* (`Activation.sureness`), 0 to 1. The other
is the *first* passage, the best by all signals. In those after it, words count as far as `passage_further`
says, and words that the first has as far as its square, so that those lead that say what the first leaves
open. This fades with sureness too: a question that names nothing is ranked by words (and meaning) alone.

Queries compute all of this. `retrieval/activated-passages` sums over the graph and keeps the best passages.
`retrieval/passage-ranking` adds what the indexes say, first to find the first passage, then to rank all.
`retrieval/passage-paths` has what each entity adds to the best, also one in very many passages, and
`retrieval/best-passages` ranks these once more. This module hands over what SPARQL cannot compute: BM25,
cosines, logarithms.

Signals are added, never fused by rank: fusion destroys what the graph gains. A share is what a path or signal
adds to the score, so the shares of a passage add up to its score; `trace/passage-scores` computes it again.

Once chunks are ranked, an answer may rest on their sentences, on the facts quoted from them, and on facts of
the entities that were reached which no text says.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.namespaces import METADATA
from graphrag_rdf.rdf.terms import node_of, text_of
from graphrag_rdf.steps.exploration import Activated, Edge, PassageHit, PassagePath
from graphrag_rdf.steps.same_facts import as_one, by_preference
from graphrag_rdf.steps.search import QuestionSearch, fact_of, number_of, whole_of
from graphrag_rdf.steps.sources import chunk_of, mentions_of
from graphrag_rdf.steps.state import Carrier, Parameters, SentenceHit, Triple
from graphrag_rdf.store.base import Row

SIGNALS = ("entities", "carrier", "words", "meaning")
_OF_GRAPH = ("entities", "carrier")
_WITH_HUBS = 2  # times the passages that are wanted: so many of the best get what hubs add

Reached: TypeAlias = tuple[NamedNode, float, int, float, float]
"""An entity, its activation and round, 1 + ln of the passages that it is in, and of those about it."""


def score_passages(
    search: QuestionSearch,
    active: Mapping[str, Activated],
    carriers: Sequence[Carrier],
    words: Iterable[str],
    parameters: Parameters,
    *,
    sureness: float,
    explained: int,
) -> list[PassageHit]:
    """Rank passages, and give the best the paths that their scores are made of.

    Args:
        active: entity IRI → what it received.
        carriers: the bridge sentences.
        words: chunk IRIs that the index found by their words.
        parameters: `passage_limit` passages are ranked by the graph and by meaning; `passage_NAME` is the
            weight of a signal, `passage_further` how far words count after the first passage.
        sureness: how surely the question names what activation started from, 0 to 1.
        explained: so many of the best are wanted with their paths.

    Returns:
        best first, ties by IRI.
    """
    limit = parameters["passage_limit"]
    cosines = dict(search.similar(limit))
    weights = _weights(parameters, sureness, with_meaning=bool(cosines))
    given = {f"by_{name}": weights.get(name, 0.0) for name in SIGNALS}
    reached = [_reached(entity) for _, entity in sorted(active.items())]
    hubs = {entity.entity for entity in active.values() if entity.passages > parameters["hub_limit"]}
    by_graph = search.decide(
        "retrieval/activated-passages",
        entities=[one for one in reached if one[0] not in hubs],
        carriers=[
            (carrier.sentence, _activation(active, carrier), carrier.similarity, carrier.round)
            for carrier in carriers
        ],
        left_out=search.left_out,
        limit=limit,
        **{name: given[name] for name in ("by_entities", "by_carrier")},
    )
    graph = {
        text_of(row["passage"]): (number_of(row["activation"]), number_of(row["carrier"])) for row in by_graph
    }
    known = sorted({*graph, *words, *cosines})
    if not known:
        return []
    parts = search.word_parts(known, kind="chunk")
    most = max((sum(own.values()) for own in parts.values()), default=0.0) or 1.0

    def rank(first: list[int], limit: int) -> list[Row]:
        said = parts.get(known[first[0]], {}) if first else {}
        return search.decide(
            "retrieval/passage-ranking",
            known=[
                (
                    number,
                    NamedNode(iri),
                    *graph.get(iri, (0.0, 0.0)),
                    *_split(parts.get(iri, {}), said, most),
                    cosines.get(iri, 0.0),
                )
                for number, iri in enumerate(known)
            ],
            first=first,
            opened=1 - sureness * (1 - parameters["passage_further"]),
            repeated=1 - sureness * (1 - parameters["passage_further"] ** 2),
            limit=limit,
            **given,
        )

    rows = rank([whole_of(rank([], 1)[0]["number"])], len(known))
    hits = [_hit(known[whole_of(row["number"])], row, weights) for row in rows]
    best = hits[: explained * _WITH_HUBS]
    by_chunk = {hit.chunk.value: hit for hit in best}
    numbered = list(enumerate(sorted(best, key=lambda hit: hit.chunk.value)))
    paths = search.decide(
        "retrieval/passage-paths",
        passages=[(number, hit.chunk) for number, hit in numbered],
        entities=reached,
        left_out=search.left_out,
    )
    rows = search.decide(
        "retrieval/best-passages",
        passages=[
            (number, hit.chunk, *(hit.signals.get(name, 0.0) for name in SIGNALS[1:]))
            for number, hit in numbered
        ],
        parts=[(whole_of(row["number"]), number_of(row["part"])) for row in paths],
        **given,
    )
    for row in rows:
        hit = by_chunk[text_of(row["passage"])]
        hit.score, hit.signals["entities"] = number_of(row["score"]), number_of(row["byEntities"])
    hits[: len(best)] = [by_chunk[text_of(row["passage"])] for row in rows]
    _explain(active, carriers, paths, hits[:explained])
    return hits


def _reached(entity: Activated) -> Reached:
    spread = (1 + math.log(number) for number in (entity.passages, entity.topics))
    return (entity.entity, entity.value, entity.round, *spread)  # type: ignore[return-value]


def _activation(active: Mapping[str, Activated], carrier: Carrier) -> float:
    """What the entity has that a bridge sentence starts from; 1 where the question itself found it."""
    return 1.0 if carrier.origin is None else active[carrier.origin.value].value


def _hit(chunk: str, row: Row, weights: Mapping[str, float]) -> PassageHit:
    signals = {name: number_of(row[f"by{name.capitalize()}"]) for name in weights}
    return PassageHit(NamedNode(chunk), number_of(row["score"]), signals, dict(weights))


def _split(own: Mapping[str, float], said: Collection[str], most: float) -> tuple[float, float]:
    """The BM25 of a passage by words that are said already and by others, as shares of the most."""
    again = sum(part for term, part in own.items() if term in said)
    return again / most, sum(part for term, part in own.items() if term not in said) / most


def _weights(parameters: Parameters, sureness: float, *, with_meaning: bool) -> dict[str, float]:
    """The weight of each signal that there is, as shares of 1, those of the graph as far as it is sure."""
    given = {name: parameters[f"passage_{name}"] for name in SIGNALS if with_meaning or name != "meaning"}
    total = sum(given.values())
    return {
        name: (sureness if name in _OF_GRAPH else 1.0) * weight / total if total else 0.0
        for name, weight in given.items()
    }


def _explain(
    active: Mapping[str, Activated],
    carriers: Iterable[Carrier],
    paths: Iterable[Row],
    hits: Sequence[PassageHit],
) -> None:
    """Give passages the paths that led to them, with their shares of the score, largest first."""
    by_chunk = {hit.chunk.value: hit for hit in hits}
    for row in paths:
        if text_of(row["passage"]) not in by_chunk:
            continue
        hit, entity = by_chunk[text_of(row["passage"])], node_of(row["entity"])
        path = PassagePath(
            entity, active[entity.value].value, number_of(row["weight"]), int(text_of(row["n"]))
        )
        # the parts of all entities saturate together: A/(1 + A), and 1/(1 + A) is 1 less that
        path.share = hit.weights["entities"] * path.value * (1 - hit.signals["entities"])
        hit.paths.append(path)
    strongest: dict[str, PassagePath] = {}
    for carrier in carriers:
        chunk = chunk_of(carrier.sentence.value)
        if chunk in by_chunk:
            activation, weight = _activation(active, carrier), 1 / carrier.round
            path = PassagePath(
                carrier.origin, activation, weight, sentence=carrier.sentence, similarity=carrier.similarity
            )
            path.share = by_chunk[chunk].weights["carrier"] * path.value
            strongest[chunk] = min(path, strongest.get(chunk, path), key=_strength)
    for chunk, path in strongest.items():
        by_chunk[chunk].paths.append(path)
    for hit in hits:
        hit.paths.sort(key=lambda path: (-path.share, str(path.sentence), str(path.entity)))


def _in_order(fact: Triple) -> tuple[str, ...]:
    s, p, o = fact
    return (s.value, p.value, text_of(o), str(o))


def _strength(path: PassagePath) -> tuple[float, str, str]:
    return -path.value, str(path.sentence), str(path.entity)


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
                sentences.setdefault(fact_of(row), []).append(node_of(row["sentence"]))
        surest = self._surest() if self.active else []
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

    def _nearest(
        self, likeness: Mapping[str, tuple[float, float]], weights: Mapping[str, float]
    ) -> list[NamedNode]:
        """The sentences of the best passages that are most like the question."""
        state = self.state
        chunks = [hit.chunk for hit in state.passages[: self.parameters["passages"]]]
        among = {chunk.value for chunk in chunks}
        if not chunks:
            return []
        rows = self.search.nearest_sentences(
            chunks,
            [
                (NamedNode(iri), NamedNode(chunk_of(iri)), *like)
                for iri, like in likeness.items()
                if chunk_of(iri) in among
            ],
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
        sentences = sorted(sentences, key=lambda node: node.value)
        rows = search.decide(
            "selection/sentence-ranking",
            sentences=[
                (
                    number,
                    node,
                    self.lexical.get(node.value, 0.0),
                    search.vector.get(node.value, 0.0),
                    standing[chunk_of(node.value)],
                )
                for number, node in enumerate(sentences)
            ],
            mentions=[
                (number, entity, self.active[entity.value].value / self.most)
                for number, node in enumerate(sentences)
                for entity in mentioned[node.value]
                if entity.value in self.active and self.most
            ],
            **search.weights(with_meaning=bool(search.vector)),
        )
        for row in rows:
            sentence = sentences[whole_of(row["number"])]
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

    def _surest(self) -> list[NamedNode]:
        """The most active entities."""
        active = sorted(self.active.values(), key=lambda one: one.entity.value)
        surest = self.search.decide(
            "selection/surest-entities",
            active=[(number, one.entity, one.value) for number, one in enumerate(active)],
            limit=_UNREAD_OF,
        )
        return [active[whole_of(row["number"])].entity for row in surest]

    def _inferred(self, entities: list[NamedNode]) -> list[Row]:
        """What was inferred about entities, if the answer may rest on that."""
        if not entities or not self.parameters["inferred"]:
            return []
        return self.search.rows("retrieval/inferred-facts", entities=entities, limit=_UNREAD_AMONG)

    def _unread(self, entities: list[NamedNode]) -> list[Row]:
        """Facts of entities that no sentence says: metadata, imported, or given by hand."""
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
        return self._ranked({edge.triple: edge for edge in found}) if found else []

    def _ranked(self, edges: Mapping[Triple, Edge]) -> list[Edge]:
        """Edges by their score, from themselves and the sentences that say them."""
        search = self.search
        hits = {hit.sentence: hit for hit in self.state.hits}
        ordered = sorted(edges.items(), key=lambda item: _in_order(item[0]))
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
                for number, (fact, edge) in enumerate(ordered)
            ],
            quotes=[
                (number, hit.lexical, hit.vector or 0.0, hit.graph)
                for number, (_, edge) in enumerate(ordered)
                for hit in (hits[sentence] for sentence in edge.sentences)
            ],
            **search.weights(with_meaning=bool(search.vector)),
        )
        ranked = [ordered[whole_of(row["fact"])][1] for row in rows]
        for row, edge in zip(rows, ranked, strict=True):
            edge.lexical, edge.graph = number_of(row["lexical"]), number_of(row["graph"])
            edge.vector = number_of(row["cosine"]) if search.vector else None
            edge.score = number_of(row["score"])
        return ranked

    def _edge(self, fact: Triple, names: Mapping[str, Row]) -> Edge:
        edge = self.search.edge(fact, names)
        reached = [self.active[end.value] for end in edge.ends if end.value in self.active]
        nearest = min(reached, key=lambda a: (a.round, -a.value, a.entity.value), default=None)
        edge.hop = (nearest.round if nearest else self.parameters["rounds"]) + 1
        if nearest:
            edge.origin = nearest.entity
            edge.direction = "out" if nearest.entity == edge.ends[0] else "in"
        return edge
