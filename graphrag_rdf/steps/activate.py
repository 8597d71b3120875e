"""Exploration by activation: seeds → bridge sentences that name them → entities that these name → chunks.

The idea of a graph of passages, sentences and mentions that needs no model is LinearRAG's (arXiv
2510.10114); formulas and parameters are ours. This module writes what went in (`hits`); three templates work
out the rest from the store.

`retrieval/reached`, once a round: the four sentences that pass on most are bridges, each passes on seed ×
(.3 + .7 × its likeness to the question). What they mention is reached with half of the most that is passed.
A sentence that names the things of a question shares nearly all of its rare words. What leads on from there
shares the others: of "What kind of plane dropped the bomb on the birthplace of …?" the second sentence has
"plane" and "bomb". So in the second round, sentences of what was reached are compared with the words that no
bridge of the first has.

`retrieval/ranked`:

    score = (sureness × entities + words + meaning) with their weights as shares of 1          (0 to 1)

    entities  A/(1 + A) with A = Σ activation × (2.5/(n + 4) if the chunk mentions the entity, which n chunks
              do, + 5/(t + 4) if it is about it, as t chunks are); what more than 25 do says nothing
    words     the mean of the BM25 of the chunk and that of its best sentence, as shares of the best
    meaning   with embeddings, the cosine of the chunk as a share of the best

A question that one chunk answers is answered by its words; what further chunks add is found by the graph. So
after the first chunk, the best by all signals, words and meaning count 1 - .8 × sureness. A question that
names nothing is ranked by words (and meaning) alone.

`retrieval/evidence`: the sentences of the best chunks, in the order in which an answer may rest on them.
"""

from __future__ import annotations

import heapq
import math
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.index.postings import Bm25
from graphrag_rdf.rdf.namespaces import RAG
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.steps.dates import DateParameters
from graphrag_rdf.steps.exploration import (
    EXPLORATION,
    RANKED_LIMIT,
    REACHED,
    WEIGHTS,
    PassageHit,
    Seed,
    begin_exploration,
    record_exploration,
    record_passages,
)
from graphrag_rdf.steps.gather import Gathering
from graphrag_rdf.steps.hits import Hits
from graphrag_rdf.steps.kinds import Hops, Share, Some, StepKind, StepParameters, Way, Weight, register
from graphrag_rdf.steps.reranking import rerank_passages
from graphrag_rdf.steps.search import COMMON, QuestionSearch
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

_SURE = 0.5  # seeds below it do not spread where there are surer ones
_SENTENCES = 60  # hits of each index
_DATED = 3 * RANKED_LIMIT  # chunks that a period is looked for in
_BM25 = Bm25()
_AS_NAME = 0.2  # share of the chunks with a word in which it is a name, for it to be one in a question
_HUB = 25  # chunks that mention an entity which says nothing of them; as in `retrieval/ranked`
_SPECIFIC = 0.5  # how much less a seed starts with the more chunks mention it: 1/(1 + this × ln chunks)
_LIKE = (RAG.bm25, RAG.bm25Left)  # kinds of the hits by which each round finds its bridges


class SpreadParameters(StepParameters):
    """What exploration by activation has in common with the composite score."""

    rounds: Hops = Field(2, le=2, description="rounds in which activation spreads")
    passages: Some = Field(10, description="chunks whose sentences the answer may quote")
    inferred: bool = Field(
        False, description="also facts that were inferred; what the answer says by one is marked"
    )
    rerank_weight: Share = Field(
        0.5, description="with a reranker (setting rerank.model): its share of a chunk's score"
    )
    rerank_limit: Some = Field(20, description="chunks that the reranker scores")
    passage_entities: Weight = Field(1.0, description="weight of the entities that a chunk mentions")


class ActivationParameters(DateParameters, SpreadParameters):
    """Of exploration by activation."""

    passage_words: Weight = Field(
        1.0, description="weight of the words that a chunk shares with the question"
    )
    passage_meaning: Weight = Field(0.5, description="weight of a chunk's meaning, with an embedding model")


SEARCH: Mapping[str, Any] = {
    "entity_limit": 50,  # seed entities, shared out among the concepts
    "passage_limit": 30,  # chunks of each index
    "lexical_weight": 1.0,  # of words, meaning and graph in the score of a fact
    "vector_weight": 1.0,
    "graph_weight": 0.6,
}
"""How seeds are found, and facts weighed."""

_DEFAULTS = {**SEARCH, **ActivationParameters.model_validate({}).model_dump()}


def activation(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Explore by activation from the seeds."""
    run = Activation(context, state, parameters, begin_exploration(context, state, parameters, "activation"))
    run.spread()
    run.rank_passages()
    run.gather()
    yield run.finish()


class Activation:
    """A run of activation, phase by phase: `spread`, `rank_passages`, `gather`, `finish`.

    Args:
        parameters: of any way of exploring; defaults for those that it lacks.
        step: where it is recorded: that of exploration, or another that looks something up.
        node: that has the hits: by default the step's.

    Attributes:
        active: canonical entity → its activation, 0 to 1; seeds first.
    """

    def __init__(
        self,
        context: Context,
        state: State,
        parameters: Parameters,
        step: Step,
        node: NamedNode | None = None,
    ) -> None:
        self.context = context
        self.state = state
        self.parameters: Parameters = ChainMap(parameters, _DEFAULTS)  # type: ignore[arg-type] # only read
        self.step = step
        self.hits = Hits(context, step, node or step.iri)
        self.search = QuestionSearch(context, state, self.parameters, self.step, _SENTENCES)
        with_index = ThreadPoolExecutor(1, "index")  # which lets other threads work while it searches
        self._sentences = with_index.submit(self.search.search_words, state.question, _BM25)
        self._own_words = with_index.submit(self.search.with_words, self.parameters["passage_limit"])
        with_index.shutdown(wait=False)
        self.active: dict[str, float] = {}
        self.sureness = 0.0
        self._ranked = False  # or another way ranks

    def own_words(self) -> list[tuple[str, float]]:
        """Chunks by their own words: BM25 as a share of the best."""
        return self._own_words.result()

    # --- rounds ------------------------------------------------------------------------------------

    def spread(self) -> None:
        """Find the seeds, write the hits, and reach further entities from there."""
        state, search = self.state, self.search
        state.seeds = search.find_seeds()
        self.active = self._start()
        vectors = search.vector
        nearest = max(vectors.values(), default=0.0)
        alike = search.similar(self.parameters["passage_limit"])
        state.inputs = self.hits
        self.hits.write(
            [
                *((NamedNode(iri), RAG.seed, value) for iri, value in self.active.items()),
                *((NamedNode(iri), RAG.bm25, share) for iri, share in self.own_words()),
                *((NamedNode(iri), RAG.bm25, share) for iri, share in self._sentences.result().items()),
                *((NamedNode(iri), RAG.cosine, share) for iri, share in alike),
                *((NamedNode(iri), RAG.cosine, v / nearest) for iri, v in vectors.items() if nearest > 0),
            ],
            [
                (RAG.sureness, double(self.sureness)),
                *((RAG[f"{name}Weight"], double(self.weights[of])) for of, name in WEIGHTS.items()),
                *((RAG.setAside, sentence) for sentence in search.left_out),
                *((RAG.excludedEntity, entity) for entity in state.exclude),
            ],
        )
        bridges: dict[str, None] = {}
        for number in range(self.parameters["rounds"] if self.active else 0):
            if number and not self._go_on(list(bridges)):
                break
            bridges |= self._reach(number)

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each signal, as shares of 1; that of the entities as far as the question is sure."""
        given = {name: self.parameters[f"passage_{name}"] for name in WEIGHTS}
        if not any(self.search.vector.values()):
            given["meaning"] = 0.0
        total = sum(given.values()) or 1.0
        return {
            name: weight / total * (self.sureness if name == "entities" else 1.0)
            for name, weight in given.items()
        }

    def _start(self) -> dict[str, float]:
        """The entities to start from, with how surely they are meant, less the more chunks mention them. The
        surest says how surely the question names something; a word or phrase in lower case says so less.
        """
        seeds = _to_start_from(self.state.seeds)
        if not seeds:
            return {}
        rows = self.search.rows("retrieval/counts", entities=[seed.entity for seed in seeds])
        counts = {row["entity"].value: row["chunks"] for row in rows}
        if not counts and not self.context.store.ask("retrieval/counted"):
            self.state.warn(
                "counts_missing",
                tr("the store does not count mentions yet, so chunks are ranked by words; ingest once"),
            )
        found: dict[str, float] = {}
        for seed in seeds:
            chunks = counts.get(seed.entity.value, 1)
            if not self._is_common_word(seed, chunks):
                less = 1 + _SPECIFIC * math.log(chunks)
                found[seed.entity.value] = seed.score / less
                as_word = seed.matched_text.islower() and seed.entity not in self.state.include
                sure = min(seed.score, COMMON) if as_word else seed.score
                self.sureness = max(self.sureness, min(1.0, sure / less))
        return found

    def _is_common_word(self, seed: Seed, chunks: int) -> bool:
        """Whether the question means no name: a word in lower case, which few of the chunks that have it use
        as a name (Mihalcea and Csomai, Wikify!, 2007: link probability).
        """
        index, language = self.context.text_index, self.state.language
        if index is None or not seed.matched_text.islower() or len(analyse(seed.matched_text, language)) != 1:
            return False
        used = index.holders(seed.matched_text, kind="chunk", language=language)
        return chunks < min(_AS_NAME * used, _HUB)

    def _go_on(self, bridges: Sequence[str]) -> bool:
        """Write how like the question the sentences of what was reached are by the words that no bridge has;
        whether any is.
        """
        rows = self.search.rows("retrieval/sentences-beyond", **self.hits.given)
        beyond = {row["sentence"].value for row in rows}.difference(bridges)
        parts = self.search.word_parts(sorted({*beyond, *bridges, *self._sentences.result()}), _BM25)
        said = {term for iri in bridges for term in parts.get(iri, ())}
        left = {iri: sum(v for t, v in own.items() if t not in said) for iri, own in parts.items()}
        most = max(left.values(), default=0.0)
        best = heapq.nsmallest(_SENTENCES, beyond, key=lambda iri: (-left.get(iri, 0.0), iri))
        self.hits.write((NamedNode(iri), RAG.bm25Left, left.get(iri, 0.0) / most) for iri in best if most)
        return most > 0 and bool(best)

    def _reach(self, number: int) -> dict[str, None]:
        """A round: note what is reached; its bridges."""
        rows = self.search.decide("retrieval/reached", round=number + 1, **self.hits.given)
        fresh: dict[str, float] = {}
        for row in rows:  # the most first
            fresh.setdefault(row["entity"], row["value"])
        self.hits.write((NamedNode(iri), REACHED[number], value) for iri, value in fresh.items())
        self.active |= fresh
        return {row["sentence"].value: None for row in rows}

    # --- chunks ------------------------------------------------------------------------------------

    def rank_passages(self) -> None:
        """Rank chunks, and with a reranker look at the best again."""
        self.state.passages, self._ranked = self.score(), True
        rerank_passages(self.context, self.state, self.step, self.parameters)

    def score(self) -> list[PassageHit]:
        """Chunks, best first, with what their scores are made of."""
        self.date()
        first = self.search.decide("retrieval/ranked", limit=1, **self.hits.given)
        if not first:
            return []
        self.hits.write(statements=[(RAG.first, first[0]["chunk"])])
        rows = self.search.decide("retrieval/ranked", limit=RANKED_LIMIT, **self.hits.given)
        weights = {name: weight for name, weight in self.weights.items() if name != "meaning" or weight}
        return [
            PassageHit(
                row["chunk"],
                row["score"],
                {name: row[f"by{name.capitalize()}"] for name in weights},
                weights,
            )
            for row in rows
        ]

    def date(self) -> None:
        """Write the question's period, and which of the best chunks are of it."""
        if (dated := self.search.dated) is None:
            return
        ranked = self.search.rows("retrieval/ranked", limit=_DATED, **self.hits.given)
        inside = [row["chunk"] for row in ranked if row["chunk"].value in dated.chunks]
        self.hits.write(((chunk, RAG.dated, 1.0) for chunk in inside), dated.statements)

    def gather(self) -> None:
        """What an answer may rest on, from the chunks as they are ranked."""
        Gathering(self.search, self.hits, self.active).run()

    # --- record ------------------------------------------------------------------------------------

    def finish(self) -> GraphRagResponse:
        """Hand over to the state, and write the step."""
        state, recorder, step = self.state, self.context.recorder, self.step
        state.empty = not state.hits and not state.edges
        state.activated = self.active
        record_exploration(recorder, step, state, len(state.edges))
        best = state.passages[: self.parameters["passages"]]
        record_passages(recorder, step, best, computed=self._ranked)
        return recorder.finish(step)


def _to_start_from(seeds: list[Seed]) -> list[Seed]:
    """The sure seeds, if there are any; of what only resembles a concept, the best."""
    sure = [seed for seed in seeds if seed.score >= _SURE] or seeds
    taken: set[str] = set()
    kept = []
    for seed in sure:  # best first
        if seed.matched_by == "exact" or seed.matched_text not in taken:
            kept.append(seed)
            taken.add(seed.matched_text)
    return kept


TEMPLATES = (
    "retrieval/entities-by-label",  # without the text index
    "documents/languages",  # the same
    "retrieval/canonical",  # of names that only resemble a concept
    "selection/seeds",
    "retrieval/counts",
    "retrieval/counted",  # where no seed is counted
    "retrieval/reached",
    "retrieval/sentences-beyond",
    "retrieval/ranked",
    "facts/validity",  # of questions for what is valid on a date
    "retrieval/oldest-newest",  # these two of questions with a period
    "retrieval/chunks-of-period",
    "retrieval/evidence",
    "retrieval/chunks",  # these two with a reranker
    "retrieval/quoted-facts",
    "retrieval/names",
    "retrieval/relation-names",
    "retrieval/same-facts",
    "retrieval/facts-by-hand",
    "retrieval/metadata-facts",
    "retrieval/unread-facts",
    "retrieval/edges",
    "derived/fact-descriptions",  # of imports
    "retrieval/unverified-facts",
    "retrieval/inferred-facts",  # where the answer may rest on them
    "facts/text-wrong",  # of removed facts
)
"""What every exploration runs that gathers facts and sentences from chunks."""

EXPLORE = register(
    StepKind(
        "explore",
        EXPLORATION,
        "Spreads activation from the entities of the question through sentences, and ranks chunks by it.",
        {"activation": Way(activation, ActivationParameters, templates=TEMPLATES)},
        finds=True,
    )
)
