"""The ranking of passages: what their words say, and what activation adds up to for them, as sums of paths.

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

Queries compute all of this. `retrieval/activated-passages` sums over the graph and keeps the best passages;
`retrieval/passage-ranking` adds what the indexes say, first to find the first passage, then to rank all; and
`retrieval/best-passages` ranks the best once more, with the entities that are in very many passages. This
module hands over what SPARQL cannot compute: BM25, cosines, logarithms.

Signals are added, never fused by rank: fusion destroys what the graph gains. A share is what a path or signal
adds to the score, so the shares of a passage add up to its score; `trace/passage-scores` computes it again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.rdf.terms import Term, node_of, text_of
from graphrag_rdf.steps.mentions import chunk_of
from graphrag_rdf.steps.nodes.exploration import RANKED, Activated, PassageHit, PassagePath
from graphrag_rdf.steps.search import QuestionSearch, number_of
from graphrag_rdf.steps.state import Carrier, Parameters
from graphrag_rdf.store.base import Row
from graphrag_rdf.trace.items import ScoreShare
from graphrag_rdf.trace.recorder import Step, TraceRecorder

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
    cosines = dict(search.similar_passages(limit))
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

    def rank(first: list[Term], limit: int) -> list[Row]:
        said = parts.get(text_of(first[0]), {}) if first else {}
        return search.decide(
            "retrieval/passage-ranking",
            known=[
                (
                    NamedNode(iri),
                    *graph.get(iri, (0.0, 0.0)),
                    *_split(parts.get(iri, {}), said, most),
                    cosines.get(iri, 0.0),
                )
                for iri in known
            ],
            first=first,
            opened=1 - sureness * (1 - parameters["passage_further"]),
            repeated=1 - sureness * (1 - parameters["passage_further"] ** 2),
            limit=limit,
            **given,
        )

    rows = rank([rank([], 1)[0]["passage"]], len(known))
    hits = [_hit(row, weights) for row in rows]
    best = hits[: explained * _WITH_HUBS]
    by_chunk = {hit.chunk.value: hit for hit in best}
    rows = search.decide(
        "retrieval/best-passages",
        passages=[(hit.chunk, *(hit.signals.get(name, 0.0) for name in SIGNALS[1:])) for hit in best],
        entities=reached,
        left_out=search.left_out,
        **given,
    )
    for row in rows:
        hit = by_chunk[text_of(row["passage"])]
        hit.score, hit.signals["entities"] = number_of(row["score"]), number_of(row["byEntities"])
    hits[: len(best)] = [by_chunk[text_of(row["passage"])] for row in rows]
    _explain(search, active, reached, carriers, hits[:explained])
    return hits


def _reached(entity: Activated) -> Reached:
    spread = (1 + math.log(number) for number in (entity.passages, entity.topics))
    return (entity.entity, entity.value, entity.round, *spread)  # type: ignore[return-value]


def _activation(active: Mapping[str, Activated], carrier: Carrier) -> float:
    """What the entity has that a bridge sentence starts from; 1 where the question itself found it."""
    return 1.0 if carrier.origin is None else active[carrier.origin.value].value


def _hit(row: Row, weights: Mapping[str, float]) -> PassageHit:
    signals = {name: number_of(row[f"by{name.capitalize()}"]) for name in weights}
    return PassageHit(node_of(row["passage"]), number_of(row["score"]), signals, dict(weights))


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
    search: QuestionSearch,
    active: Mapping[str, Activated],
    reached: Sequence[Reached],
    carriers: Iterable[Carrier],
    hits: Sequence[PassageHit],
) -> None:
    """Give passages the paths that led to them, with their shares of the score, largest first."""
    by_chunk = {hit.chunk.value: hit for hit in hits}
    for row in search.rows(
        "retrieval/passage-paths",
        passages=[hit.chunk for hit in hits],
        entities=reached,
        left_out=search.left_out,
    ):
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


def _strength(path: PassagePath) -> tuple[float, str, str]:
    return -path.value, str(path.sentence), str(path.entity)


def record_passages(recorder: TraceRecorder, step: Step, passages: Sequence[PassageHit]) -> None:
    """Write chunks with the signals and paths that make up their scores."""
    for rank, hit in enumerate(passages, start=1):
        hit.rank = rank
        hit.shares = [
            ScoreShare(name, weight, weight * hit.signals[name]) for name, weight in hit.weights.items()
        ]
        recorder.item(step, RANKED, hit)
