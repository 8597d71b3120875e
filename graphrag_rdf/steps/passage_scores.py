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

`retrieval/passage-ranking` adds up and sorts. Signals are added, never fused by rank: fusion destroys what
the graph gains. A share is what a path or signal adds to the score, so the shares of a passage add up to
its score, and `trace/passage-scores` computes it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import RAG, RDF, TG
from graphrag_rdf.rdf.terms import Term, double, integer, node_of, to_python
from graphrag_rdf.steps.mentions import chunk_of
from graphrag_rdf.steps.search import QuestionSearch
from graphrag_rdf.steps.state import (
    Activated,
    Carrier,
    Parameters,
    PassageHit,
    PassagePath,
    RelationPath,
)
from graphrag_rdf.trace.recorder import Step, TraceRecorder

SIGNALS = ("entities", "carrier", "words", "meaning")
_OF_GRAPH = ("entities", "carrier")
Extents: TypeAlias = dict[str, dict[str, tuple[int, int]]]
"""Entity → chunk → how many of its sentences mention the entity, and 1 if it is about it, else 0."""

_WITH_HUBS = 2  # times the passages that are wanted: so many of the best get what hubs add


def score_passages(
    search: QuestionSearch,
    active: Mapping[str, Activated],
    carriers: Iterable[Carrier],
    words: Iterable[str],
    parameters: Parameters,
    *,
    sureness: float,
    explained: int,
) -> list[PassageHit]:
    """Rank passages, and say of the best what paths their scores are made of.

    Args:
        active: entity IRI → what it received.
        carriers: the sentences that passed activation on.
        words: chunk IRIs that the index found by their words.
        parameters: `passage_limit` passages are ranked by the graph and by meaning; `passage_NAME` is the
            weight of a signal, `passage_further` how far words count after the first passage.
        sureness: how surely the question names what activation started from, 0 to 1.
        explained: so many of the best are wanted with their paths.

    Returns:
        best first, ties by IRI.
    """
    limit = parameters["passage_limit"]
    best = _best_carriers(active, carriers)
    signals: dict[str, dict[str, float]] = {
        "entities": {iri: value / (1 + value) for iri, value in _activations(active).items()},
        "carrier": {iri: path.value for iri, path in best.items()},
        "meaning": dict(search.similar_passages(limit)),
    }
    weights = _weights(parameters, sureness, with_meaning=bool(signals["meaning"]))
    by_graph = _by_graph(signals, weights)[:limit]
    known = sorted({*by_graph, *words, *signals["meaning"]})
    parts = search.word_parts(known, kind="chunk")
    signals["words"] = _shares({iri: sum(found.values()) for iri, found in parts.items()})
    hits = [
        PassageHit(
            NamedNode(iri), signals={name: signals[name].get(iri, 0.0) for name in weights}, weights=weights
        )
        for iri in known
    ]
    for first in _ranked(search, hits, 1):
        _discount(hits, first, parts, sureness, parameters["passage_further"])
    found = _ranked(search, hits, len(hits))
    with_hubs = found[: explained * _WITH_HUBS]
    _add_entities(active, _extents_of_hubs(search, active, with_hubs, parameters["hub_limit"]), with_hubs)
    found[: len(with_hubs)] = _ranked(search, with_hubs, len(with_hubs))  # hubs can only raise them
    for hit in found[:explained]:
        if hit.chunk.value in best:
            path = best[hit.chunk.value]
            path.share = weights["carrier"] * path.value
            hit.paths.append(path)
        hit.paths.sort(key=lambda path: (-path.share, str(path.sentence), str(path.entity)))
    return found


def _ranked(search: QuestionSearch, hits: Sequence[PassageHit], limit: int) -> list[PassageHit]:
    """The best of some passages, with their scores."""
    if not hits:
        return []
    by_chunk = {hit.chunk.value: hit for hit in hits}
    rows = search.rows(
        "retrieval/passage-ranking",
        signals=[(hit.chunk, *(hit.signals.get(name, 0.0) for name in SIGNALS)) for hit in hits],
        **{name: hits[0].weights.get(name, 0.0) for name in SIGNALS},
        limit=limit,
    )
    found = [by_chunk[node_of(row["passage"]).value] for row in rows]
    for hit, row in zip(found, rows, strict=True):
        hit.score = float(to_python(row["score"]))  # type: ignore[arg-type]
    return found


def _discount(
    hits: Iterable[PassageHit],
    first: PassageHit,
    parts: Mapping[str, Mapping[str, float]],
    sureness: float,
    further: float,
) -> None:
    """Let words, and meaning, count less in all passages but the first; least those words that it has."""
    opened, said = (1 - sureness * (1 - share) for share in (further, further**2))
    of_first = parts.get(first.chunk.value, {})
    for hit in hits:
        own = parts.get(hit.chunk.value)
        if hit is first:
            continue
        if own:
            left = sum(part * (said if term in of_first else opened) for term, part in own.items())
            hit.signals["words"] *= left / sum(own.values())
        if "meaning" in hit.signals:
            hit.signals["meaning"] *= opened


def _by_graph(signals: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]) -> list[str]:
    """Chunks by what the graph says of them, best first."""
    scores: dict[str, float] = {}
    for name in _OF_GRAPH:
        for iri, value in signals[name].items():
            scores[iri] = scores.get(iri, 0.0) + weights[name] * value
    return sorted(scores, key=lambda iri: (-scores[iri], iri))


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores as shares of the best."""
    best = max(scores.values(), default=0.0) or 1.0
    return {iri: score / best for iri, score in scores.items()}


def _weights(parameters: Parameters, sureness: float, *, with_meaning: bool) -> dict[str, float]:
    """The weight of each signal that there is, as shares of 1, those of the graph as far as it is sure."""
    given = {name: parameters[f"passage_{name}"] for name in SIGNALS if with_meaning or name != "meaning"}
    total = sum(given.values())
    return {
        name: (sureness if name in _OF_GRAPH else 1.0) * weight / total if total else 0.0
        for name, weight in given.items()
    }


def _best_carriers(active: Mapping[str, Activated], carriers: Iterable[Carrier]) -> dict[str, PassagePath]:
    """For each chunk the path by its strongest carrier."""
    best: dict[str, PassagePath] = {}
    for carrier in carriers:
        value = 1.0 if carrier.origin is None else active[carrier.origin.value].value
        chunk = chunk_of(carrier.sentence.value)
        path = PassagePath(
            carrier.origin,
            value,
            1 / carrier.round,
            sentence=carrier.sentence,
            similarity=carrier.similarity,
        )
        known = best.get(chunk)
        if known is None or _order(path) < _order(known):
            best[chunk] = path
    return best


def _order(path: PassagePath) -> tuple[float, str, str]:
    return -path.value, str(path.sentence), str(path.entity)


def _activations(active: Mapping[str, Activated]) -> dict[str, float]:
    """What active entities add to each chunk; hubs, whose chunks nobody asked for, add nothing yet."""
    total: dict[str, float] = {}
    for _, entity in sorted(active.items()):
        for chunk, (mentions, topics) in entity.extents.items():
            total[chunk] = total.get(chunk, 0.0) + entity.value * _entity_weight(entity, mentions, topics)
    return total


def _entity_weight(entity: Activated, mentions: int, topics: int) -> float:
    by_mentions = mentions / (mentions + 1) / (1 + math.log(entity.passages))
    as_topic = topics / (1 + math.log(entity.topics))
    return (by_mentions + as_topic) / (entity.round + 1)


def _extents_of_hubs(
    search: QuestionSearch, active: Mapping[str, Activated], hits: Iterable[PassageHit], hub_limit: int
) -> Extents:
    """Of active entities that are hubs, how much they are a matter of some passages."""
    found: Extents = {}
    hubs = [entity.entity for _, entity in sorted(active.items()) if entity.passages > hub_limit]
    nodes = sorted((hit.chunk for hit in hits), key=str)
    if hubs and nodes:
        for row in search.rows("retrieval/passage-entities", chunks=nodes, entities=hubs):
            n, topics = int(to_python(row["mentions"])), int(to_python(row["topics"]))  # type: ignore[arg-type]
            found.setdefault(node_of(row["entity"]).value, {})[node_of(row["chunk"]).value] = n, topics
    return found


def _add_entities(active: Mapping[str, Activated], of_hubs: Extents, hits: Sequence[PassageHit]) -> None:
    """Give passages the paths of all entities that they mention, hubs too, with their shares of the score."""
    by_chunk = {hit.chunk.value: hit for hit in hits}
    for iri, entity in active.items():
        extents = entity.extents or of_hubs.get(iri, {})
        for chunk in extents.keys() & by_chunk.keys():
            by_chunk[chunk].paths.append(_path(entity, *extents[chunk]))
    for hit in hits:
        hit.paths.sort(key=lambda path: str(path.entity))  # sums do not depend on the store's order
        total = sum(path.value for path in hit.paths)
        hit.signals["entities"] = total / (1 + total)
        for path in hit.paths:  # all of them saturate together
            path.share = hit.weights["entities"] * path.value / (1 + total)


def _path(entity: Activated, mentions: int, topics: int) -> PassagePath:
    weight = _entity_weight(entity, mentions, topics)
    return PassagePath(entity.entity, entity.value, weight, mentions)


def record_passages(recorder: TraceRecorder, step: Step, passages: Sequence[PassageHit]) -> None:
    """Write passages with the signals and paths that make up their scores."""
    paths = shares = relations = 0
    for index, hit in enumerate(passages):
        before = hit.before or (None, None)
        node = recorder.item(
            step,
            RAG.rankedPassage,
            "passage",
            index,
            (RDF.type, RAG.RankedPassage),
            (TG.document, hit.chunk),
            (TG.score, double(hit.score)),
            (RAG.rank, integer(index + 1)),
            (RAG.rerankScore, None if hit.reranked is None else double(hit.reranked)),
            (RAG.rankBefore, None if before[0] is None else integer(before[0])),
            (RAG.scoreBefore, None if before[1] is None else double(before[1])),
        )
        for name, weight in hit.weights.items():
            share = iris.trace_item("share", recorder.run, shares)
            shares += 1
            step.quads += [
                recorder.quad(node, RAG.scoreShare, share),
                recorder.quad(share, RDF.type, RAG.ScoreShare),
                recorder.quad(share, RAG.signal, Literal(name)),
                recorder.quad(share, RAG.weight, double(weight)),
                recorder.quad(share, RAG.share, double(weight * hit.signals[name])),
            ]
        for path in hit.paths:
            step.quads += _path_quads(recorder, node, iris.trace_item("path", recorder.run, paths), path)
            paths += 1
        for relation in hit.relations:
            node_of_relation = iris.trace_item("relation", recorder.run, relations)
            step.quads += _relation_quads(recorder, node, node_of_relation, relation)
            relations += 1


def _path_quads(
    recorder: TraceRecorder, passage: NamedNode, node: NamedNode, path: PassagePath
) -> Iterator[Quad]:
    facts: tuple[tuple[NamedNode, Term | None], ...] = (
        (RDF.type, RAG.ActivationPath),
        (RAG.fromEntity, path.entity),
        (RAG.carrier, path.sentence),
        (RAG.activation, double(path.activation)),
        (RAG.similarity, None if path.similarity is None else double(path.similarity)),
        (RAG.weight, double(path.weight)),
        (RAG.mentionCount, None if path.mentions is None else integer(path.mentions)),
        (RAG.share, double(path.share)),
    )
    yield recorder.quad(passage, RAG.activationPath, node)
    for predicate, value in facts:
        if value is not None:
            yield recorder.quad(node, predicate, value)


def _relation_quads(
    recorder: TraceRecorder, passage: NamedNode, node: NamedNode, path: RelationPath
) -> Iterator[Quad]:
    origin = RAG.fromChunk if path.near is None else RAG.fromEntity
    facts: tuple[tuple[NamedNode, Term | None], ...] = (
        (RDF.type, RAG.RelationPath),
        (RAG.signal, Literal(path.signal)),
        (origin, path.origin),
        (RAG.toEntity, path.near),
        (RAG.originScore, double(path.base)),
        (RAG.strength, double(path.strength)),
        (RAG.share, double(path.share)),
    )
    yield recorder.quad(passage, RAG.relationPath, node)
    for predicate, value in facts:
        if value is not None:
            yield recorder.quad(node, predicate, value)
