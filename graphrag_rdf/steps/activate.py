"""Exploration by activation: seeds → their best bridge sentences → the entities these mention → chunks.

The idea of a graph of passages, sentences and mentions that needs no model is LinearRAG's (arXiv
2510.10114); formulas and parameters are ours. In each round every active entity passes its activation on
through one bridge sentence, that of its sentences not yet used that is most like the question. What arrives
is activation × similarity. What it adds up to for the chunks is in `gather`: a sum over explicit paths, so
the explanation is the computation.

A sentence that names the things of a question shares nearly all of its rare words. What leads on from there
shares the others: of "What kind of plane dropped the bomb on the birthplace of …?" the second sentence has
"plane" and "bomb", which beside the name would count for nothing. So the sentences of an entity are compared
with what the way to it has left open (`WordsLeft`).
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.index.postings import Bm25
from graphrag_rdf.rdf.terms import Term, node_of, text_of, to_python
from graphrag_rdf.steps.exploration import (
    ACTIVATED,
    EXPLORATION,
    Activated,
    PassageHit,
    Seed,
    begin_exploration,
    record_exploration,
    record_passages,
)
from graphrag_rdf.steps.gather import Gathering, score_passages
from graphrag_rdf.steps.kinds import Hops, Limit, Share, Some, StepKind, StepParameters, Way, Weight, register
from graphrag_rdf.steps.reranking import rerank_passages, reranks
from graphrag_rdf.steps.search import COMMON, DESCRIPTIONS, QuestionSearch, as_shares, number_of, whole_of
from graphrag_rdf.steps.state import Carrier, Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step


class WordsLeft:
    """The terms of a question that sentences have, and what each adds to their BM25.

    Args:
        search: the indexes.
        bm25: its constants.
        found: sentences that the index found; the best of them is what others are compared with.
    """

    def __init__(self, search: QuestionSearch, bm25: Bm25, found: Iterable[str]) -> None:
        self._search = search
        self._bm25 = bm25
        self._parts: dict[str, Mapping[str, float]] = {}
        self._best: dict[frozenset[str], float] = {}
        self._found = sorted(found)

    def look_up(self, sentences: Iterable[str]) -> None:
        """Have the parts of these sentences at hand."""
        unknown = sorted({iri for iri in sentences if iri not in self._parts})
        self._parts.update({iri: {} for iri in unknown})
        self._parts.update(self._search.word_parts(unknown, self._bm25))

    def said_by(self, sentence: str) -> frozenset[str]:
        """The terms of the question that a sentence has; look it up before."""
        return frozenset(self._parts[sentence])

    def likeness(self, sentence: str, said: frozenset[str]) -> float:
        """BM25 over the terms that are not `said`, as a share of the best, 0 to 1; look it up before."""
        if said not in self._best:
            self.look_up(self._found)
            self._best[said] = max((self._left(iri, said) for iri in self._found), default=0.0)
        best = self._best[said]
        return min(1.0, self._left(sentence, said) / best) if best else 0.0

    def _left(self, sentence: str, said: frozenset[str]) -> float:
        return sum(part for term, part in self._parts[sentence].items() if term not in said)


_SURE = 0.5  # seeds below it do not spread where there are surer ones
_SEARCHED = 150  # sentences asked of each index
_OF_HUBS = 50  # the best of them, which are looked at for hubs that the question names
_BM25 = Bm25(k1=0.6, b=0.5)  # sentences are short: a word said twice says little more
_FOCUS_WORDS = 0.3  # share of the words outside the names in the similarity by words
_AS_NAME = 0.2  # share of the passages with a word in which it is a name, for it to be one in a question
_NOTHING: frozenset[str] = frozenset()
_SPECIFIC = 0.5  # how much less a seed starts with the more passages mention it: 1/(1 + this × ln passages)


class SpreadParameters(StepParameters):
    """What exploration by activation has in common with the composite score."""

    rounds: Hops = Field(4, description="rounds in which activation spreads")
    threshold: Share = Field(0.1, description="activation below which an entity is not reached")
    hub_limit: Some = Field(
        25, description="an entity in more chunks passes nothing on unless the question names it"
    )
    passages: Some = Field(10, description="chunks whose sentences the answer may quote")
    min_similarity: Share = Field(0.5, description="similarity below which a name is not a seed")
    passage_entities: Weight = Field(1.0, description="weight of the entities that a chunk mentions")
    passage_carrier: Weight = Field(1.0, description="weight of the best bridge sentence of a chunk")
    sentence_limit: Limit = Field(50, description="sentences considered")
    inferred: bool = Field(
        False, description="also facts that were inferred; what the answer says by one is marked"
    )
    considered_limit: Limit = Field(30, description="facts kept in the trace as considered")
    rerank_weight: Share = Field(
        0.5, description="with a reranker (setting rerank.model): its share of a chunk's score"
    )
    rerank_limit: Some = Field(20, description="chunks that the reranker scores")


class ActivationParameters(SpreadParameters):
    """Of exploration by activation."""

    passage_words: Weight = Field(
        2.25, description="weight of the words that a chunk shares with the question"
    )
    passage_meaning: Weight = Field(1.0, description="weight of a chunk's meaning, with an embedding model")
    passage_further: Share = Field(
        0.2, description="how far words count in chunks after the best, if the question names something"
    )


SEARCH: Mapping[str, Any] = {
    "entity_limit": 50,  # seed entities, shared out among the concepts
    "seeds_per_concept": 3,  # of those found by words or meaning; names that match exactly always count
    "lexical_weight": 1.0,  # of words, meaning and graph in the score of a fact or sentence
    "vector_weight": 1.0,
    "graph_weight": 0.6,
    "passage_limit": 100,  # chunks ranked by each signal
}
"""How seeds, facts, sentences and chunks are found."""

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
    """

    def __init__(self, context: Context, state: State, parameters: Parameters, step: Step) -> None:
        self.context = context
        self.state = state
        self.parameters: Parameters = ChainMap(parameters, _DEFAULTS)  # type: ignore[arg-type] # only read
        self.step = step
        self.search = QuestionSearch(context, state, self.parameters, self.step, _SEARCHED)
        with_index = ThreadPoolExecutor(1, "index")  # which lets other threads work while it searches
        self._lexical = with_index.submit(self._like_the_question)
        self._own_words = with_index.submit(self.search.with_words, self.parameters["passage_limit"])
        with_index.shutdown(wait=False)
        self.said: dict[str, frozenset[str]] = {}  # entity -> the question's words on the way to it
        self.nearest = max(self.search.vector.values(), default=0.0)
        self.active: dict[str, Activated] = {}
        self.carriers: list[Carrier] = []
        self.sentences: dict[str, set[NamedNode]] = {}  # entity -> what may pass on its activation
        self.found_by_words: list[str] = []  # where the question names nothing: sentences to start from

    @cached_property
    def lexical(self) -> dict[str, float]:
        """Sentence → likeness to the question by words, 0 to 1."""
        return self._lexical.result()

    @cached_property
    def left(self) -> WordsLeft:
        """What of the question is still to be said."""
        return WordsLeft(self.search, _BM25, self.lexical)

    def _like_the_question(self) -> dict[str, float]:
        """BM25 of the question, and of its words outside names, which say what is asked of them."""
        whole = self.search.search_words(self.state.question, _BM25)
        rest = self.state.question
        for concept in sorted(self.state.concepts, key=len, reverse=True):
            rest = rest.replace(concept, " ")
        focus = (
            self.search.search_words(rest, _BM25) if rest.strip() and rest != self.state.question else whole
        )
        return {
            iri: (1 - _FOCUS_WORDS) * whole.get(iri, 0.0) + _FOCUS_WORDS * focus.get(iri, 0.0)
            for iri in whole.keys() | focus.keys()
        }

    def likeness(self, sentence: str, origin: str | None = None) -> tuple[float, float]:
        """How like the question a sentence is, by words and by meaning; of the words only those count that
        nothing on the way to the entity `origin` has said.
        """
        said = self.said.get(origin) if origin else None
        words = self.left.likeness(sentence, said) if said else self.lexical.get(sentence, 0.0)
        return words, self.search.vector.get(sentence, 0.0) / self.nearest if self.nearest > 0 else 0.0

    @cached_property
    def weights(self) -> dict[str, float]:
        """How far words and meaning count in that, as shares of 1; meaning only with embeddings."""
        if self.nearest <= 0:
            return {"by_words": 1.0, "by_meaning": 0.0}
        return as_shares(
            by_words=self.parameters["lexical_weight"], by_meaning=self.parameters["vector_weight"]
        )

    # --- rounds ------------------------------------------------------------------------------------

    def spread(self) -> None:
        """Pass activation on for some rounds; each entity keeps the most it received."""
        self.state.seeds = self.search.find_seeds()
        for seed in _to_start_from(self.state.seeds):
            self.active[seed.entity.value] = Activated(seed.entity, seed.score)
        self._look_up(list(self.active))
        self._drop_common_words()
        if not any(self.sentences.values()):
            self.found_by_words = self._most_similar(self.parameters["rounds"])
        for active in self.active.values():
            active.value /= 1 + _SPECIFIC * math.log(active.passages)
        for number in range(1, self.parameters["rounds"] + 1):
            passed = self._pick(number)
            if not passed:
                break
            self.carriers += [carrier for carrier, _ in passed]
            self._look_up(self._receive(passed))
        self._settle()

    def _look_up(self, entities: list[str]) -> None:
        """The sentences of entities. A hub, one in more passages than `hub_limit`, gets none
        unless the question names it, and then those that the indexes found: what everything speaks of joins
        nothing, and following it would cost more the larger the store is.
        """
        if not entities:
            return
        limit = self.parameters["hub_limit"] + 1
        nodes = [NamedNode(iri) for iri in sorted(entities)]
        for row in self.search.rows("retrieval/passage-counts", entities=nodes, limit=limit):
            counted = self.active[node_of(row["entity"]).value]
            counted.passages = _count(row["passages"], limit)
            counted.topics = _count(row["topics"], limit)
        hubs = {iri for iri in entities if self.active[iri].passages == limit}
        found = self._sentences_of([node for node in nodes if node.value not in hubs])
        found |= self._found_of({iri for iri in hubs if self.active[iri].round == 0})
        self.sentences |= {iri: found.get(iri, set()) for iri in entities}

    def _sentences_of(self, entities: list[NamedNode]) -> dict[str, set[NamedNode]]:
        """All sentences of entities that are no hubs."""
        if not entities:
            return {}
        found: dict[str, set[NamedNode]] = {}
        for row in self.search.rows("retrieval/carriers", entities=entities):
            found.setdefault(node_of(row["entity"]).value, set()).add(node_of(row["sentence"]))
        return found

    def _found_of(self, entities: set[str]) -> dict[str, set[NamedNode]]:
        """Of the sentences most like the question, those of some entities."""
        found: dict[str, set[NamedNode]] = {}
        sentences = [NamedNode(iri) for iri in sorted(self._most_similar(_OF_HUBS))] if entities else []
        if sentences:
            nodes = [NamedNode(iri) for iri in sorted(entities)]
            for row in self.search.rows("retrieval/sentences-with", sentences=sentences, entities=nodes):
                found.setdefault(node_of(row["entity"]).value, set()).add(node_of(row["sentence"]))
        return found

    def _most_similar(self, limit: int) -> list[str]:
        """Of the sentences that the indexes found those most like the question."""
        found = sorted(self.lexical.keys() | self.search.vector.keys())
        rows = self.search.decide(
            "selection/nearest-sentences",
            sentences=[(number, NamedNode(iri), *self.likeness(iri)) for number, iri in enumerate(found)],
            limit=limit,
            **self.weights,
        )
        return [found[whole_of(row["number"])] for row in rows]

    def _drop_common_words(self) -> None:
        """Do not start from an entity that has a common word as its name: a word in lower case, of which
        few passages use as a name (Mihalcea and Csomai, Wikify!, 2007: link probability).
        """
        index = self.context.text_index
        for seed in self.state.seeds:
            known = self.active.get(seed.entity.value)
            words = analyse(seed.matched_text, self.state.language)
            if index is None or known is None or len(words) != 1 or not seed.matched_text.islower():
                continue
            used = index.holders(seed.matched_text, kind="chunk", language=self.state.language)
            if known.passages < min(_AS_NAME * used, self.parameters["hub_limit"]):
                del self.active[seed.entity.value], self.sentences[seed.entity.value]

    def _pick(self, number: int) -> list[tuple[Carrier, float]]:
        """For each active entity a sentence that no round used yet, with what it passes on, most first."""
        used = {carrier.sentence for carrier in self.carriers}
        left = {iri: sorted(found - used, key=str) for iri, found in sorted(self.sentences.items())}
        self.left.look_up(node.value for iri in left.keys() & self.said.keys() for node in left[iri])
        found = next((iri for iri in self.found_by_words if NamedNode(iri) not in used), None)
        entities = [NamedNode(iri) for iri, nodes in left.items() if nodes]
        known = {node for nodes in left.values() for node in nodes} | ({NamedNode(found)} if found else set())
        sentences = sorted(known, key=lambda node: node.value)
        numbers = {node: place for place, node in enumerate(sentences)}
        rows = self.search.decide(
            "selection/bridge-sentences",
            entities=[(place, node, self.active[node.value].value) for place, node in enumerate(entities)],
            candidates=[
                (place, numbers[node], node, *self.likeness(node.value, entity.value), _number_of(node))
                for place, entity in enumerate(entities)
                for node in left[entity.value]
            ],
            found=[(numbers[NamedNode(found)], NamedNode(found), *self.likeness(found))] if found else [],
            **self.weights,
        )
        passed = []
        for row in rows:
            origin = entities[whole_of(row["entity"])] if "entity" in row else None
            sentence = sentences[whole_of(row["sentence"])]
            carrier = Carrier(sentence, origin, number_of(row["similarity"]), number)
            passed.append((carrier, number_of(row["passed"])))
        return passed

    def _receive(self, passed: list[tuple[Carrier, float]]) -> list[str]:
        """Let the entities that bridge sentences mention receive; returns those reached for the first time.

        Args:
            passed: bridge sentences with what they pass on, most first.
        """
        self.left.look_up(carrier.sentence.value for carrier, _ in passed)
        reached = [active for active in self.active.values() if active.round > 0]
        named = {active.entity for active in self.active.values() if active.round == 0}
        rows = self.search.decide(
            "selection/reached-entities",
            carriers=[(place, carrier.sentence, value) for place, (carrier, value) in enumerate(passed)],
            active=[(active.entity, active.value) for active in reached],
            closed=sorted(named | {*self.state.exclude}, key=str),
            threshold=self.parameters["threshold"],
        )
        fresh = []
        for row in rows:
            carrier, value = passed[int(text_of(row["place"]))]
            entity = node_of(row["entity"])
            known = self.active.get(entity.value)
            if known is None:
                known = self.active[entity.value] = Activated(entity, 0.0, carrier.round)
                fresh.append(entity.value)
            known.value, known.carrier = value, carrier.sentence
            known.origin, known.similarity = carrier.origin, carrier.similarity
            before = self.said.get(carrier.origin.value, _NOTHING) if carrier.origin else _NOTHING
            self.said[entity.value] = before | self.left.said_by(carrier.sentence.value)
        return fresh

    def _settle(self) -> None:
        """An entity that received more after it had passed on: what it passed on becomes more too, so that
        every activation is what its origin has × the similarity of the carrier.
        """
        heirs: dict[str, list[Activated]] = {}
        for active in self.active.values():
            if active.origin is not None:
                heirs.setdefault(active.origin.value, []).append(active)
        told = [active for active in self.active.values() if active.origin is None]
        for active in told:  # grows while it is read; what is passed on is less, so there is no circle
            for heir in heirs.get(active.entity.value, ()):
                heir.value = active.value * (heir.similarity or 0.0)
                told.append(heir)

    # --- passages ----------------------------------------------------------------------------------

    def rank_passages(self) -> None:
        """Score passages, and with a reranker look at the best again."""
        self.state.passages = self.score()
        rerank_passages(self.context, self.state, self.step, self.parameters)

    def score(self) -> list[PassageHit]:
        """Passages by the entities that they mention, their best carrier, their own words."""
        explained = self.parameters["passages"]
        if reranks(self.context, self.parameters):  # any of these may come to be among the best
            explained = max(explained, self.parameters["rerank_limit"])
        return score_passages(
            self.search,
            self.active,
            self.carriers,
            [iri for iri, _ in self.own_words()],
            self.parameters,
            sureness=self.sureness,
            explained=explained,
        )

    @property
    def sureness(self) -> float:
        """How surely the question names something, 0 to 1: what the best of its seeds starts with. A word or
        phrase in lower case is a name less surely.
        """
        return min(1.0, max((self._sureness(seed) for seed in self.state.seeds), default=0.0))

    def _sureness(self, seed: Seed) -> float:
        known = self.active.get(seed.entity.value)
        if known is None:
            return 0.0
        as_word = seed.matched_text.islower() and seed.entity not in self.state.include
        return known.value * COMMON / seed.score if as_word and seed.score > COMMON else known.value

    def own_words(self) -> list[tuple[str, float]]:
        """Passages by their own words: BM25 as a share of the best."""
        return self._own_words.result()

    def gather(self) -> None:
        """What an answer may rest on, from the passages as they are ranked."""
        found = self.lexical.keys() | self.search.vector.keys()
        likeness = {iri: self.likeness(iri) for iri in sorted(found)}
        Gathering(self.search, self.active, self.lexical).run(likeness, self.weights)

    # --- record ------------------------------------------------------------------------------------

    def finish(self) -> GraphRagResponse:
        """Hand over to the state, and write the step."""
        state, recorder, step = self.state, self.context.recorder, self.step
        state.empty = not state.hits and not state.edges
        record_exploration(recorder, step, state, len(state.edges), self.parameters["considered_limit"])
        ordered = sorted(self.active.values(), key=lambda a: (a.round, -a.value, a.entity.value))
        state.activated = ordered
        recorder.items(step, ACTIVATED, ordered)
        record_passages(recorder, step, state.passages[: self.parameters["passages"]])
        return recorder.finish(step)


def _count(number: Term, limit: int) -> int:
    return max(1, min(limit, int(to_python(number))))  # type: ignore[arg-type]


def _number_of(sentence: NamedNode) -> int:
    """The place of a sentence in its passage."""
    number = sentence.value.rpartition("#s")[2]
    return int(number) if number.isdecimal() else 0


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
    "retrieval/passage-counts",
    "retrieval/carriers",
    "retrieval/sentences-with",
    "retrieval/mentioned-entities",
    "retrieval/activated-passages",
    "retrieval/passage-ranking",
    "retrieval/best-passages",
    "retrieval/passage-paths",
    "retrieval/chunks",  # these two with a reranker
    "selection/reranked",
    "selection/nearest-sentences",
    "selection/bridge-sentences",
    "selection/reached-entities",
    "selection/passage-sentences",
    "selection/sentence-ranking",
    "selection/fact-ranking",
    "selection/surest-entities",
    "retrieval/quoted-facts",
    "retrieval/names",
    "retrieval/relation-names",
    "retrieval/same-facts",
    "retrieval/facts-by-hand",
    "retrieval/metadata-facts",
    "retrieval/imports",
    "retrieval/unread-facts",
    "retrieval/edges",
    *DESCRIPTIONS,
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
