"""Exploration: from the concepts to seed entities, and from those hop by hop along the plain edges.

Hop and filter, as TrustGraph does it, with its parameters: per hop the edges of the frontier are fetched by
SPARQL, scored, the best kept, and their ends are the next frontier. The score is not a model's but a weighted
mean of three parts that the trace keeps: the words and the meaning that the edge's evidence shares with the
question, and how surely its entity was reached. Sentences that speak of the question and mention what
was reached are kept beside the facts, since not every sentence yields a fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.steps.dates import DateParameters
from graphrag_rdf.steps.exploration import (
    EXPLORATION,
    Edge,
    PassageHit,
    begin_exploration,
    record_considered,
    record_exploration,
    record_passages,
)
from graphrag_rdf.steps.kinds import Hops, Limit, Share, Some, StepKind, Way, Weight, register
from graphrag_rdf.steps.reranking import rerank_passages, reranks
from graphrag_rdf.steps.same_facts import as_one
from graphrag_rdf.steps.scores import best
from graphrag_rdf.steps.search import QuestionSearch, fact_of
from graphrag_rdf.steps.sources import chunk_of, left_out, mentions_of
from graphrag_rdf.steps.state import Context, Parameters, SentenceHit, State, Triple
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.messages import GraphRagResponse

_SEARCHED = 300  # sentences asked of each index; fetching them is a large part of the time of a question
_RANKED = 200  # chunks asked of the index
_WEIGHTS = {"sentences": 2 / 3, "words": 1 / 3}
_FRONTIER = 20  # entities that the next hop starts from
_SCORED = 100  # facts scored at each hop
_CARRIERS = 10  # best sentences per hop through which mentioned entities are reached


class HopsParameters(DateParameters):
    """Of the walk along facts."""

    entity_limit: Some = Field(50, description="seed entities, shared out among the concepts")
    triple_limit: Some = Field(
        30, description="facts of an entity in each direction; half of them in the second hop, and so on"
    )
    max_path_length: Hops = Field(2, description="hops; 0: only sentences about the seeds")
    edge_limit: Limit = Field(
        25, description="facts kept at each hop; 0: no facts, hops go through sentences alone"
    )
    lexical_weight: Weight = Field(1.0, description="weight of words in the score of a fact or sentence")
    vector_weight: Weight = Field(1.0, description="weight of meaning, with an embedding model")
    graph_weight: Weight = Field(0.6, description="weight of how surely its entity was reached")
    sentence_limit: Limit = Field(50, description="sentences considered")
    passages: Some = Field(10, description="with a reranker: chunks kept in the trace")
    passage_limit: Some = Field(100, description="chunks ranked")
    rerank_weight: Share = Field(
        0.5, description="with a reranker (setting rerank.model): its share of a chunk's score"
    )
    rerank_limit: Some = Field(20, description="chunks that the reranker scores")


def hops(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Explore up to `max_path_length` hops from the seeds."""
    exploration = _Exploration(context, state, parameters)
    exploration.find_seeds()
    exploration.walk()
    yield exploration.finish()


class _Exploration:
    def __init__(self, context: Context, state: State, parameters: Parameters) -> None:
        self.context = context
        self.state = state
        self.parameters = parameters
        self.step = begin_exploration(context, state, parameters, "hops")
        self.search = QuestionSearch(context, state, parameters, self.step, _SEARCHED)
        for predicate, value in self.search.dated.statements if self.search.dated else ():
            context.recorder.say(self.step, predicate, value)
        self.reached: dict[str, float] = {}  # canonical entity -> how surely
        self.edges: dict[Triple, Edge] = {}
        self.known: set[Triple] = set()  # these, and facts that say the same
        self.names: dict[str, Row] = {}  # thing -> its label and canonical entity
        self.hits: dict[str, SentenceHit] = {}
        self.considered = 0
        self.lexical = self.search.lexical
        self.vector = self.search.vector
        self.mentions = self._mentions()
        self.follows_facts = bool(parameters["max_path_length"] and parameters["edge_limit"])

    def find_seeds(self) -> None:
        """Entities that the concepts name: exactly, else by words, else by meaning."""
        self.state.seeds = self.search.find_seeds()
        self.reached = {seed.entity.value: seed.score for seed in self.state.seeds}
        self.mentions = {
            iri: [entity for entity in mentioned if entity not in self.state.exclude]
            for iri, mentioned in self.mentions.items()
            if not left_out(self.state, mentioned)
        }

    def _find_names(self) -> None:
        """A sentence that has all words of what was looked for mentions it, also where none was recorded.

        Only where no facts are followed, which otherwise lead to such sentences: where there are both, this
        finds more answers that are wrong than right ones.
        """
        looked_for = [
            (seed.entity, frozenset(analyse(seed.matched_text, self.state.language)))
            for seed in self.state.seeds
            if seed.matched_by == "exact"
        ]
        unanchored = [
            NamedNode(iri)
            for iri, mentioned in self.mentions.items()
            if not any(entity.value in self.reached for entity in mentioned)
        ]
        if not looked_for or not unanchored:
            return
        for row in self.search.rows("retrieval/sentence-texts", sentences=unanchored):
            words = set(analyse(row["text"], self.state.language))
            named = [entity for entity, name in looked_for if name and name <= words]
            self.mentions[row["sentence"].value] += named

    # --- hops --------------------------------------------------------------------------------------

    def walk(self) -> None:
        """Fetch, score and keep edges hop by hop; the ends of what is kept are the next frontier."""
        if not self.follows_facts:
            self._find_names()
        frontier = [seed.entity for seed in self.state.seeds]
        visited: set[str] = set()
        for hop in range(1, self.parameters["max_path_length"] + 1):
            frontier = [entity for entity in frontier if entity.value not in visited]
            if not frontier:
                break
            visited.update(entity.value for entity in frontier)
            kept = self._hop(hop, frontier) if self.follows_facts else []
            self._sentences()
            reached: dict[str, float] = {}
            for edge in kept:
                for end in edge.ends:
                    reached[end.value] = max(reached.get(end.value, 0.0), edge.score)
            self._through_sentences(reached)
            for iri, score in reached.items():
                self.reached[iri] = max(self.reached.get(iri, 0.0), min(score, 0.95))
            frontier = [NamedNode(iri) for iri in _top(reached, _FRONTIER)]
        self._sentences()

    def _hop(self, hop: int, frontier: list[NamedNode]) -> list[Edge]:
        limit = max(1, self.parameters["triple_limit"] // hop)
        rows = self.search.rows("retrieval/edges", entities=frontier, limit=limit)
        self.search.describe(frontier, limit)
        self.names |= self.search.names(map(fact_of, rows), self.names)
        excluded = {node.value for node in self.state.exclude}
        surest: dict[Triple, Row] = {}  # an edge between two of the frontier is found from both
        for row in rows:
            triple = fact_of(row)
            if triple not in surest or self._sureness(row) > self._sureness(surest[triple]):
                surest[triple] = row
        fresh: dict[Triple, Edge] = {}
        for triple, row in surest.items():
            if triple not in self.known:
                edge = self._edge(row, hop)
                if not any(end.value in excluded for end in edge.ends):
                    fresh[triple] = edge
        self.considered += len(fresh)
        for edge in fresh.values():
            edge.lexical = 0.5 * self.search.words.coverage(edge.text, edge.asked)
        candidates = sorted(fresh.values(), key=lambda edge: (-edge.lexical, str(edge.triple)))
        candidates = as_one(self.search.rows, candidates[:_SCORED])
        self.known |= {fact for edge in candidates for fact in (edge.triple, *edge.also)}
        self._evidence(candidates)
        if self.state.only is not None:
            candidates = [edge for edge in candidates if edge.sentences]
        for edge in candidates:
            self._score_edge(edge)
        candidates.sort(key=lambda edge: (-edge.score, edge.hop, str(edge.triple)))
        for edge in candidates:
            self.edges[edge.triple] = edge
        return candidates[: self.parameters["edge_limit"]]

    def _sureness(self, row: Row) -> float:
        return self.reached[row["from"].value]

    def _edge(self, row: Row, hop: int) -> Edge:
        edge = self.search.edge(fact_of(row), self.names)
        edge.hop, edge.direction, edge.origin = hop, row["direction"], row["from"]
        return edge

    def _evidence(self, edges: list[Edge]) -> None:
        """The sentences that the edges were quoted from: what they share with the question is their score."""
        if not edges:
            return
        by_triple = {fact: edge for edge in edges for fact in (edge.triple, *edge.also)}
        rows = self.search.rows("retrieval/evidence-sentences", edges=list(by_triple))
        for row in rows:
            edge = by_triple.get(fact_of(row))
            if edge is not None:
                sentence = row["sentence"]
                if sentence not in edge.sentences:
                    edge.sentences = (*edge.sentences, sentence)

    def _score_edge(self, edge: Edge) -> None:
        """To the words of the edge itself come those of its evidence, its meaning, and how it was reached. A
        fact that no sentence speaks of (an imported one) has its own words only.
        """
        if not edge.sentences:
            edge.lexical *= 2
        else:
            edge.lexical += 0.5 * max(self.lexical.get(s.value, 0.0) for s in edge.sentences)
            if self.vector:
                edge.vector = max(self.vector.get(s.value, 0.0) for s in edge.sentences)
        edge.graph = self.reached.get(edge.origin.value, 0.0)
        factor = self._factor(edge.sentences)
        edge.lexical, edge.graph = edge.lexical * factor, edge.graph * factor
        edge.vector = edge.vector and edge.vector * factor
        edge.score = self.search.mean(edge.lexical, edge.vector, edge.graph)

    def _factor(self, sentences: Sequence[NamedNode]) -> float:
        dated = self.search.dated
        return dated.factor(*(chunk_of(sentence.value) for sentence in sentences)) if dated else 1.0

    # --- sentences ---------------------------------------------------------------------------------

    def _mentions(self) -> dict[str, list[NamedNode]]:
        """What the best sentences of both searches mention."""
        limit = self.parameters["sentence_limit"]
        best = sorted({*_top(self.lexical, limit), *_top(self.vector, limit)})
        found = mentions_of(self.context, self.state, self.step, best)
        return {sentence: list(found[sentence]) for sentence in best}

    def _sentences(self) -> None:
        """Score the best sentences of both searches by what they mention of what was reached."""
        for iri, mentioned in self.mentions.items():
            entities = [entity for entity in mentioned if entity.value in self.reached]
            factor = self._factor([NamedNode(iri)])
            graph = factor * max((self.reached[entity.value] for entity in entities), default=0.0)
            lexical = factor * self.lexical.get(iri, 0.0)
            vector = factor * self.vector.get(iri, 0.0) if self.vector else None
            score = self.search.mean(lexical, vector, graph)
            self.hits[iri] = SentenceHit(NamedNode(iri), tuple(entities), lexical, vector, graph, score)

    def _through_sentences(self, reached: dict[str, float]) -> None:
        """Entities that the best sentences mention are reached too: a bridge where no fact was extracted."""
        anchored = [hit for hit in self.hits.values() if hit.entities]
        anchored.sort(key=lambda hit: (-hit.score, hit.sentence.value))
        for hit in anchored[:_CARRIERS]:
            for entity in self.mentions[hit.sentence.value]:
                reached[entity.value] = max(reached.get(entity.value, 0.0), hit.score)

    # --- record ------------------------------------------------------------------------------------

    def finish(self) -> GraphRagResponse:
        """Hand over to the state, and write the step."""
        state, recorder, step = self.state, self.context.recorder, self.step
        state.edges = sorted(self.edges.values(), key=lambda edge: (-edge.score, edge.hop, str(edge.triple)))
        state.hits = sorted(self.hits.values(), key=lambda hit: (-hit.score, hit.sentence.value))
        state.empty = not state.edges and not state.hits
        record_exploration(recorder, step, state, self.considered)
        record_considered(recorder, step, state.edges)
        state.passages = _rank_by_sentences(self.search, self.parameters["passage_limit"])
        if reranks(self.context, self.parameters):
            rerank_passages(self.context, state, step, self.parameters)
            record_passages(recorder, step, state.passages[: self.parameters["passages"]])
        return recorder.finish(step)


def _top(scores: dict[str, float], limit: int) -> list[str]:
    return sorted(scores, key=lambda iri: (-scores[iri], iri))[:limit]


def _rank_by_sentences(search: QuestionSearch, limit: int) -> list[PassageHit]:
    """The best chunks by the best of their sentences that exploration found, and by their own words."""
    state, dated = search.state, search.dated
    sentences: dict[str, float] = {hit.sentence.value: hit.score for hit in state.hits}
    for edge in state.edges:
        for sentence in edge.sentences:
            sentences[sentence.value] = max(sentences.get(sentence.value, 0.0), edge.score)
    by_words = {
        iri: share * (dated.factor(iri) if dated else 1.0) for iri, share in search.with_words(_RANKED)
    }
    by_sentences = dict.fromkeys(by_words, 0.0)
    for iri, score in sentences.items():
        chunk = chunk_of(iri)
        by_sentences[chunk] = max(by_sentences.get(chunk, 0.0), score)
    found = []
    for chunk, share in sorted(by_sentences.items()):
        signals = {"sentences": share, "words": by_words.get(chunk, 0.0)}
        score = sum(_WEIGHTS[name] * value for name, value in signals.items())
        found.append(PassageHit(NamedNode(chunk), score, signals, dict(_WEIGHTS)))
    return best(found, lambda hit: hit.score, limit)


HOPS = register(
    StepKind(
        "hops",
        EXPLORATION,
        "Follows facts hop by hop from the entities of the question, and keeps the best of each hop.",
        {
            "hops": Way(
                hops,
                HopsParameters,
                templates=(
                    "retrieval/entities-by-label",  # without the text index
                    "documents/languages",  # the same
                    "retrieval/canonical",
                    "selection/seeds",
                    "facts/validity",  # of questions for what is valid on a date
                    "retrieval/oldest-newest",  # these two of questions with a period
                    "retrieval/chunks-of-period",
                    "retrieval/mentioned-entities",
                    "retrieval/names",
                    "retrieval/relation-names",
                    "retrieval/same-facts",
                    "retrieval/edges",
                    "derived/fact-descriptions",
                    "retrieval/evidence-sentences",
                    "retrieval/sentence-texts",  # where no facts are followed
                    "retrieval/chunks",  # with a reranker
                ),
            )
        },
        finds=True,
    )
)
