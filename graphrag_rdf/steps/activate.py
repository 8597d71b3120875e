"""Exploration by activation: seeds → their best carriers → the entities these mention → passages.

The idea of a graph of passages, sentences and mentions that needs no model is LinearRAG's (arXiv
2510.10114); formulas and parameters are ours. Round by round each newly reached entity passes its
activation on through one carrier, the sentence that mentions it and is most like the question; what
arrives is activation × similarity. A passage's score is a sum over explicit paths: what the entities that it
mentions add, its best carrier, and its own words. So the explanation is the computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import double, integer, text_of, to_python
from graphrag_rdf.steps.recording import record_exploration
from graphrag_rdf.steps.search import QuestionSearch, label_of, node_of
from graphrag_rdf.steps.state import Context, Edge, Parameters, PassageHit, SentenceHit, State, Triple
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import Step

_BASE = 0.3  # similarity of a sentence that shares nothing with the question
_SURE = 0.5  # seeds below it do not spread where there are surer ones
_TOGETHER = 25  # entities in one query for carriers: the time of a UNION grows faster than its length
_NAMED_SENTENCES = 10_000  # sentences looked at of an entity that the question names
_SIGNALS = ("entities", "carrier", "words", "meaning")  # what the score of a passage is made of
_FOCUS_WORDS = 0.3  # share of the words outside the names in the similarity by words


@dataclass(slots=True)
class Activated:
    """An entity that was reached.

    Attributes:
        value: its activation, 0 to 1.
        round: 1 for seeds.
        carrier: the sentence that it was reached by; None for seeds.
        origin: the entity that passed it on; its value × `similarity` is this value. None for seeds.
        similarity: of the carrier to the question, 0 to 1; None for seeds.
    """

    entity: NamedNode
    value: float
    round: int
    carrier: NamedNode | None = None
    origin: NamedNode | None = None
    similarity: float | None = None


@dataclass(slots=True)
class Carrier:
    """A sentence that passed activation on: the best of an entity in a round.

    Attributes:
        similarity: to the question, 0 to 1.
        passed: activation of the origin × similarity.
        strength: what was passed on, less for later rounds.
    """

    sentence: NamedNode
    origin: NamedNode
    similarity: float
    passed: float
    strength: float


def activation(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Explore by activation from the seeds."""
    run = _Activation(context, state, parameters)
    run.spread()
    run.rank_passages()
    run.gather()
    yield run.finish()


class _Activation:
    def __init__(self, context: Context, state: State, parameters: Parameters) -> None:
        self.context = context
        self.state = state
        self.parameters = parameters
        self.step: Step = context.recorder.step("exploration", TG.Exploration)
        context.recorder.say(self.step, RAG.mode, Literal("activation"))
        self.search = QuestionSearch(context, state, parameters, self.step)
        self.lexical = self._lexical()
        self.active: dict[str, Activated] = {}
        self.carriers: dict[str, Carrier] = {}

    def _lexical(self) -> dict[str, float]:
        """BM25 of the question, and of its words outside names, which say what is asked of them."""
        whole = self.search.lexical
        rest = self.state.question
        for concept in sorted(self.state.concepts, key=len, reverse=True):
            rest = rest.replace(concept, " ")
        focus = self.search.search_words(rest) if rest.strip() and rest != self.state.question else whole
        return {
            iri: (1 - _FOCUS_WORDS) * whole.get(iri, 0.0) + _FOCUS_WORDS * focus.get(iri, 0.0)
            for iri in whole.keys() | focus.keys()
        }

    def similarity(self, sentence: str) -> float:
        """How like the question a sentence is, by words and, with embeddings, by meaning."""
        likeness = self.lexical.get(sentence, 0.0)
        if self.search.vector:
            weight = self.parameters["vector_weight"]
            total = self.parameters["lexical_weight"] + weight
            meant = weight * self.search.vector.get(sentence, 0.0)
            likeness = (self.parameters["lexical_weight"] * likeness + meant) / total if total else 0.0
        return _BASE + (1 - _BASE) * likeness

    # --- rounds ------------------------------------------------------------------------------------

    def spread(self) -> None:
        """Pass activation on for some rounds; each entity keeps the most it received."""
        self.state.seeds = self.search.find_seeds()
        sure = [seed for seed in self.state.seeds if seed.score >= _SURE] or self.state.seeds
        for seed in sure:
            self.active[seed.entity.value] = Activated(seed.entity, seed.score, 1)
        frontier = [seed.entity for seed in sure]
        excluded = {node.value for node in self.state.exclude}
        for number in range(1, self.parameters["rounds"] + 1):
            best = self._best_carriers(frontier, number)
            if not best:
                break
            rows = self.search.rows(
                "retrieval/mentioned-entities",
                sentences=[NamedNode(iri) for iri in sorted({c.sentence.value for c in best})],
            )
            mentioned: dict[str, list[NamedNode]] = {}
            for row in rows:
                mentioned.setdefault(node_of(row["sentence"]).value, []).append(node_of(row["entity"]))
            frontier = self._receive(best, mentioned, number, excluded)
        self._settle()

    def _settle(self) -> None:
        """An entity that received more after it had passed on, with no round left to tell: what it passed on
        becomes more too, so that every activation is what its origin has × the similarity of the carrier.
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

    def _best_carriers(self, frontier: list[NamedNode], number: int) -> list[Carrier]:
        """For each entity of the frontier the sentence that is most like the question; hubs pass nothing
        on unless the question names them.
        """
        if not frontier:
            return []
        limit = self.parameters["hub_limit"]
        ordered = sorted(frontier, key=lambda node: node.value)
        # what the question names is no hub: all its sentences are looked at
        most = _NAMED_SENTENCES if number == 1 else limit + 1
        sentences: dict[str, list[NamedNode]] = {}
        for start in range(0, len(ordered), _TOGETHER):
            batch = ordered[start : start + _TOGETHER]
            for row in self.search.rows("retrieval/carriers", entities=batch, limit=most):
                sentences.setdefault(node_of(row["entity"]).value, []).append(node_of(row["sentence"]))
        found = []
        for entity in ordered:
            mentioning = sentences.get(entity.value, [])
            if not mentioning or (len(mentioning) > limit and number > 1):
                continue
            best = min(mentioning, key=lambda node: (-self.similarity(node.value), node.value))
            similarity = self.similarity(best.value)
            passed = self.active[entity.value].value * similarity
            found.append(Carrier(best, entity, similarity, passed, passed / number))
        return found

    def _receive(
        self,
        carriers: list[Carrier],
        mentioned: dict[str, list[NamedNode]],
        number: int,
        excluded: set[str],
    ) -> list[NamedNode]:
        """Let the entities that carriers mention receive; those reached anew are the next frontier."""
        fresh: dict[str, NamedNode] = {}
        for carrier in sorted(carriers, key=lambda c: (-c.passed, c.sentence.value, c.origin.value)):
            value = carrier.passed
            key = carrier.sentence.value
            if key not in self.carriers or self.carriers[key].strength < carrier.strength:
                self.carriers[key] = carrier
            if value < self.parameters["threshold"]:
                continue
            for entity in mentioned.get(key, []):
                known = self.active.get(entity.value)
                if entity.value in excluded or (known is not None and known.value >= value):
                    continue
                if known is None or known.round > 1:
                    self.active[entity.value] = Activated(
                        entity, value, number + 1, carrier.sentence, carrier.origin, carrier.similarity
                    )
                    fresh[entity.value] = entity
        return list(fresh.values())

    # --- passages ----------------------------------------------------------------------------------

    def rank_passages(self) -> None:
        """Score passages: entities that they mention, their best carrier, their own words."""
        found: dict[str, PassageHit] = {}
        if self.active:
            for row in self.search.rows(
                "retrieval/passage-activation",
                entities=[(NamedNode(iri), weight) for iri, weight in self._weights()],
                limit=self.parameters["passage_limit"],
            ):
                chunk = node_of(row["chunk"])
                total = float(to_python(row["activation"]))  # type: ignore[arg-type]
                found[chunk.value] = PassageHit(chunk, signals={"entities": total / (1 + total)})
        for carrier in self.carriers.values():
            iri = carrier.sentence.value.partition("#")[0]
            hit = found.setdefault(iri, PassageHit(NamedNode(iri)))
            hit.signals["carrier"] = max(hit.signals.get("carrier", 0.0), carrier.strength)
            hit.carriers.append((carrier.sentence, carrier.strength))
        own = {
            "words": self._words(),
            "meaning": self.search.similar_passages(self.parameters["passage_limit"]),
        }
        for name, scored in own.items():
            for iri, score in scored:
                found.setdefault(iri, PassageHit(NamedNode(iri))).signals[name] = score
        weights = {name: self.parameters[f"passage_{name}"] for name in _SIGNALS}
        for hit in found.values():
            hit.score = sum(weights[name] * hit.signals.get(name, 0.0) for name in _SIGNALS)
        self.state.passages = sorted(found.values(), key=lambda hit: (-hit.score, hit.chunk.value))

    def _weights(self) -> list[tuple[str, float]]:
        """What each active entity may add: its activation, less for later rounds and for common entities."""
        rows = self.search.rows(
            "retrieval/entity-spread", entities=[NamedNode(iri) for iri in sorted(self.active)]
        )
        spread = {text_of(row["entity"]): int(to_python(row["passages"])) for row in rows}  # type: ignore[arg-type]
        return [
            (iri, a.value / a.round / (1 + math.log(max(1, spread.get(iri, 1)))))
            for iri, a in sorted(self.active.items())
        ]

    def _words(self) -> list[tuple[str, float]]:
        """Passages by their own words: BM25, the best 1 and the last 0."""
        index = self.context.text_index
        if index is None:
            return []
        k = self.parameters["passage_limit"]
        hits = index.search(self.state.question, kind="chunk", k=k, language=self.state.language)
        best, least = (hits[0].score, hits[-1].score) if hits else (1.0, 0.0)
        spread = best - least or 1.0
        return [(hit.iri, (hit.score - least) / spread) for hit in hits]

    # --- for the answer ----------------------------------------------------------------------------

    def gather(self) -> None:
        """The sentences of the best passages, and the facts quoted from them: what an answer may rest on."""
        top = self.state.passages[: self.parameters["passages"]]
        if not top:
            return
        share = {hit.chunk.value: hit.score / top[0].score if top[0].score else 0.0 for hit in top}
        rows = self.search.rows("retrieval/passage-sentences", chunks=[hit.chunk for hit in top])
        sentences = sorted({node_of(row["sentence"]) for row in rows}, key=lambda node: node.value)
        sentences.sort(key=lambda node: -self.similarity(node.value))
        sentences = sentences[: self.parameters["sentence_limit"]]
        if not sentences:
            return
        mentions: dict[str, list[NamedNode]] = {}
        for row in self.search.rows("retrieval/mentioned-entities", sentences=sentences):
            if node_of(row["entity"]).value in self.active:
                mentions.setdefault(node_of(row["sentence"]).value, []).append(node_of(row["entity"]))
        for node in sentences:
            entities = tuple(mentions.get(node.value, ()))
            reached = max((self.active[entity.value].value for entity in entities), default=0.0)
            graph = max(reached, share[node.value.partition("#")[0]] * 0.9)
            hit = SentenceHit(
                node,
                entities,
                lexical=self.lexical.get(node.value, 0.0),
                vector=self.search.vector.get(node.value, 0.0) if self.search.vector else None,
                graph=graph,
            )
            hit.score = self.search.mean(hit.lexical, hit.vector, hit.graph)
            self.state.hits.append(hit)
        self.state.hits.sort(key=lambda hit: (-hit.score, hit.sentence.value))
        self._facts({hit.sentence.value: hit for hit in self.state.hits})

    def _facts(self, hits: dict[str, SentenceHit]) -> None:
        edges: dict[Triple, Edge] = {}
        rows = self.search.rows("retrieval/quoted-facts", sentences=[hit.sentence for hit in hits.values()])
        for row in rows:
            s, p, o, sentence = node_of(row["s"]), node_of(row["p"]), row["o"], node_of(row["sentence"])
            triple: Triple = (s, p, o)  # type: ignore[assignment]
            edge = edges.get(triple)
            if edge is None:
                ends = tuple(node_of(row[name]) for name in ("s_canonical", "o_canonical") if name in row)
                reached = [self.active[end.value] for end in ends if end.value in self.active]
                nearest = min(reached, key=lambda a: (a.round, -a.value, a.entity.value), default=None)
                edge = edges[triple] = Edge(
                    triple=triple,
                    s_label=label_of(row.get("s_label"), s),
                    p_label=label_of(row.get("p_label"), p),
                    o_label=label_of(row.get("o_label"), o),
                    hop=nearest.round if nearest else self.parameters["rounds"] + 1,
                    direction="in" if nearest and ends and nearest.entity != ends[0] else "out",
                    origin=nearest.entity if nearest else s,
                    ends=ends,
                )
            edge.sentences = (*edge.sentences, sentence)
        for edge in edges.values():
            of = [hits[node.value] for node in edge.sentences]
            said = self.search.words.coverage(edge.text)
            edge.lexical = 0.5 * max(hit.lexical for hit in of) + 0.5 * said
            edge.vector = max((hit.vector or 0.0) for hit in of) if self.search.vector else None
            edge.graph = max(hit.graph for hit in of)
            edge.score = self.search.mean(edge.lexical, edge.vector, edge.graph)
        self.state.edges = sorted(edges.values(), key=lambda edge: (-edge.score, edge.hop, str(edge.triple)))

    # --- record ------------------------------------------------------------------------------------

    def finish(self) -> GraphRagResponse:
        """Hand over to the state, and write the step."""
        state, recorder, step = self.state, self.context.recorder, self.step
        state.empty = not state.hits
        record_exploration(recorder, step, state, len(state.edges), self.parameters["considered_limit"])
        ordered = sorted(self.active.values(), key=lambda a: (a.round, -a.value, a.entity.value))
        for index, active in enumerate(ordered):
            recorder.item(
                step,
                RAG.activatedEntity,
                "activated",
                index,
                (RDF.type, RAG.ActivatedEntity),
                (TG.entity, active.entity),
                (RAG.activation, double(active.value)),
                (RAG.round, integer(active.round)),
                (RAG.carrier, active.carrier),
                (RAG.fromEntity, active.origin),
                (RAG.similarity, None if active.similarity is None else double(active.similarity)),
            )
        return recorder.finish(step)
