"""Exploration by a composite score: what search says of a passage, and what it is related to.

    score = Σ weight × signal / Σ weight                                          (0 to 1)
    score = X/(1 + X), X = Σ weight × signal                      with `scheme: additive`

    vector, words   cosine and BM25, min–max normalised over the passages that the indexes found
    activation      what the passage gets by activation; min–max
    degree          to how many others it is related; min–max over those that the other signals know
    relates, follows, causes …
                    X/(1 + X), X = Σ score of a passage found before × strength of the relation to it:
                    n/(n + 1) for n shared entities, the confidence of a typed relation
    cooccurs        the same over entities named near those of the question: n/(n + 1) for n times

One template, `retrieval/composite`, computes it. It is asked first without relations, then once for each hop,
each time with the best passages so far as those that relations start from. Relations are those of `refresh
relations`. Sums over relations saturate instead of being normalised by the greatest, so that a score can be
computed again from what the trace keeps of it (`trace/composite-scores`). The composition of signals is that
of hybrid rankers over property graphs; weights are parameters, and may be changed live in the store.

The additive scheme is the formula of such a ranker as it is: no activation; typed relations count by the sum
of their confidences, shared entities and co-occurrence once. Nothing saturates, or depends on how good the
passages are that relations start from. So the weights mean what the manual of that ranker says of them.
`retrieve` shows X and its parts; traces keep X/(1 + X), because `tg:score` is from 0 to 1, and a reranker is
mixed with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field
from pyoxigraph import NamedNode

from graphrag_rdf.i18n import ngettext
from graphrag_rdf.steps.activate import TEMPLATES, Activation, SpreadParameters
from graphrag_rdf.steps.dates import DateParameters
from graphrag_rdf.steps.exploration import EXPLORATION, PassageHit, RelationPath, begin_exploration
from graphrag_rdf.steps.kinds import Hops, Share, Some, StepKind, Way, Weight, register
from graphrag_rdf.steps.reranking import rerank_passages
from graphrag_rdf.steps.scores import scaled
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse

OWN = ("vector", "words", "activation", "degree")
RELATIONS: Mapping[str, str] = {
    "relates": "relates",
    "cooccurs": "cooccurs",
    "causes": "causes",
    "supports": "supports",
    "references": "references",
    "substepOf": "substep_of",
    "follows": "follows",
    "stepNext": "step_next",
    "partOf": "part_of",
    "contrasts": "contrasts",
    "relatedTo": "related_to",
}
"""Signal, for typed relations the local name of the property → its parameter, `weight_NAME`."""

_ORIGINS = 20  # chunks that relations start from, at each hop
_SCORED = 200  # passages that a hop is asked for


class HybridParameters(DateParameters, SpreadParameters):
    """Of the composite score."""

    scheme: Literal["mean", "additive"] = Field(
        "mean", description="weighted mean of all signals, or the plain sum without activation"
    )
    passage_limit: Some = Field(100, description="chunks ranked by each signal")
    relation_hops: Hops = Field(1, description="how far relations lead from what search found")
    fallback_confidence: Share = Field(
        0.3, description="confidence of a relation to a chunk that is only next to another in its document"
    )
    weight_vector: Weight = Field(1.0, description="weight of meaning, with an embedding model")
    weight_words: Weight = Field(0.4, description="weight of words shared with the question")
    weight_activation: Weight = Field(1.0, description="weight of what a chunk gets by activation")
    weight_degree: Weight = Field(0.0, description="weight of the number of related chunks")
    weight_relates: Weight = Field(0.15, description="weight of entities shared with what was found")
    weight_cooccurs: Weight = Field(
        0.1, description="weight of mentions of what is named near the entities of the question"
    )
    weight_causes: Weight = Field(0.22, description="weight of relations causes")
    weight_supports: Weight = Field(0.2, description="weight of relations supports")
    weight_references: Weight = Field(0.18, description="weight of relations references")
    weight_substep_of: Weight = Field(0.17, description="weight of relations substepOf")
    weight_follows: Weight = Field(0.16, description="weight of relations follows")
    weight_step_next: Weight = Field(
        0.16, description="weight of being next to another chunk in its document, times fallback_confidence"
    )
    weight_part_of: Weight = Field(0.15, description="weight of relations partOf")
    weight_contrasts: Weight = Field(0.14, description="weight of relations contrasts")
    weight_related_to: Weight = Field(0.15, description="weight of relations relatedTo")


def hybrid(context: Context, state: State, parameters: Parameters) -> Iterator[GraphRagResponse]:
    """Explore by the composite score; facts and sentences are gathered as by activation."""
    mode = "additive" if parameters["scheme"] == "additive" else "hybrid"
    run = Activation(context, state, parameters, begin_exploration(context, state, parameters, mode))
    run.spread()
    run.date()
    composite = _Composite(run, state, parameters)
    state.passages = composite.rank()
    composite.warn_of_failures()
    rerank_passages(context, state, run.step, parameters)
    run.gather()
    yield run.finish()


class _Composite:
    def __init__(self, run: Activation, state: State, parameters: Parameters) -> None:
        self.search = run.search
        self.state = state
        self.parameters = parameters
        self.additive = parameters["scheme"] == "additive"
        self.entities = [seed.entity for seed in state.seeds]
        self.own = {
            "vector": minmax(self._of_period(run.search.similar(parameters["passage_limit"]))),
            "words": minmax(self._of_period(run.own_words())),
        }
        self.own["activation"] = minmax(self._activation(run))
        self.own["degree"] = minmax(self._degrees())
        self.weights = self._weights()
        self.origins: dict[str, float] = {}

    def _of_period(self, scored: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
        """Scores; those of chunks that are not of the question's period count less."""
        dated = self.search.dated
        return [(iri, score * dated.factor(iri)) for iri, score in scored] if dated else [*scored]

    def _activation(self, run: Activation) -> list[tuple[str, float]]:
        """What passages get by activation, without their own words and meaning."""
        if self.additive or not self.parameters["weight_activation"]:
            return []
        return [(hit.chunk.value, hit.signals["entities"]) for hit in run.score()]

    def _degrees(self) -> list[tuple[str, float]]:
        """To how many others those passages are related that the other signals know."""
        chunks = sorted({iri for values in self.own.values() for iri in values})
        if not self.parameters["weight_degree"] or not chunks:
            return []
        rows = self.search.rows("retrieval/passage-degrees", chunks=[NamedNode(iri) for iri in chunks])
        return [(row["chunk"], row["degree"]) for row in rows]

    def _weights(self) -> dict[str, float]:
        """The weight of each signal, by the mean as shares of 1; what is not there does not count."""
        weights = {name: self.parameters[f"weight_{name}"] for name in OWN if self.own[name]}
        weights |= {signal: self.parameters[f"weight_{name}"] for signal, name in RELATIONS.items()}
        total = 1.0 if self.additive else sum(weights.values())
        return {name: weight / total if total else 0.0 for name, weight in weights.items()}

    def rank(self) -> list[PassageHit]:
        """Passages, best first; those that may be shown with the relations that led to them."""
        hits = self._ask()
        for hop in range(1, self.parameters["relation_hops"] + 1):
            self._start_from(hits, hop)
            hits = self._ask()
        explained = hits[: max(self.parameters["passages"], self.parameters["rerank_limit"])]
        self._explain(explained)
        return hits

    def warn_of_failures(self) -> None:
        """Say so if no model's answer could be had, or read, for passages that relations started from."""
        origins = [NamedNode(iri) for iri in sorted(self.origins)]
        rows = self.search.rows("relations/failures", chunks=origins) if origins else []
        if not rows:
            return
        number = len({row["failure"] for row in rows})
        why = rows[0]["reason"]
        self.state.warn(
            "relation_parse_fallback",
            ngettext(
                "{number:,} pair with passages that were found: no relation could be read, only their order "
                "relates them; {reason}",
                "{number:,} pairs with passages that were found: no relation could be read, only their order "
                "relates them; {reason}",
                number,
            ).format(number=number, reason=why),
        )

    def _start_from(self, hits: Sequence[PassageHit], hop: int) -> None:
        """Let relations start also from the best passages so far; each hop is worth less than the last."""
        best = hits[0].score if hits else 0.0
        for hit in hits[:_ORIGINS]:
            if best > 0:
                self.origins.setdefault(hit.chunk.value, 1.0 if self.additive else hit.score / best / hop)

    def _ask(self) -> list[PassageHit]:
        rows = self.search.decide(
            "retrieval/composite",
            own=[
                (NamedNode(iri), name, value)
                for name, values in self.own.items()
                for iri, value in sorted(values.items())
                if value > 0
            ],
            origins=[(NamedNode(iri), base) for iri, base in sorted(self.origins.items())],
            entities=self.entities,
            weights=[(name, weight) for name, weight in self.weights.items() if weight > 0],
            fallback=self.parameters["fallback_confidence"],
            additive=self.additive,
            limit=_SCORED,
        )
        return [
            PassageHit(
                row["chunk"],
                score=row["score"],
                signals={name: row[name] for name in self.weights},
                weights=self._shares(row["score"]),
                total=row["score"] / (1 - row["score"]) if self.additive else None,
            )
            for row in rows
            if (only := self.state.only) is None or row["chunk"].value in only
        ]

    def _shares(self, score: float) -> dict[str, float]:
        """Weights with which the signals add up to a score."""
        if not self.additive:
            return self.weights
        return {
            name: weight * (1 - score) for name, weight in self.weights.items()
        }  # X/(1 + X) = X(1 - score)

    def _explain(self, hits: Sequence[PassageHit]) -> None:
        """Say by what relations passages got which part of their score."""
        by_chunk = {hit.chunk.value: hit for hit in hits}
        related = [hit.chunk for hit in hits if any(hit.signals[name] > 0 for name in RELATIONS)]
        if not related:
            return
        rows = self.search.rows(
            "retrieval/passage-relations",
            chunks=related,
            origins=[NamedNode(iri) for iri in sorted(self.origins)],
            entities=self.entities,
            fallback=self.parameters["fallback_confidence"],
        )
        for row in rows:
            path = RelationPath(
                row["signal"],
                None if row["near"] is not None else row["origin"],
                row["origin"] if row["near"] is not None else None,
                row["near"],
                self.origins.get(row["origin"].value, 1.0),
                row["strength"],
            )
            if self.weights[path.signal] > 0:
                by_chunk[row["chunk"]].relations.append(path)
        for hit in hits:
            totals: dict[str, float] = {}
            for path in hit.relations:
                totals[path.signal] = totals.get(path.signal, 0.0) + path.value
            for path in hit.relations:  # the relations of a signal count together
                total = totals[path.signal]
                share = hit.weights[path.signal] * hit.signals[path.signal]
                path.share = share * path.value / total if total else 0.0
            hit.relations.sort(
                key=lambda path: (-path.share, path.signal, str(path.origin), str(path.near_entity))
            )


def minmax(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Scores with the best 1 and the least 0; a single score, or equal ones, are 1."""
    values = dict(scored)
    return dict(zip(values, scaled([*values.values()]), strict=True))


HYBRID = register(
    StepKind(
        "hybrid",
        EXPLORATION,
        "Ranks chunks by a composite score: search, activation, and relations to what was found.",
        {
            "hybrid": Way(
                hybrid,
                HybridParameters,
                templates=(
                    *TEMPLATES,
                    "retrieval/composite",
                    "retrieval/passage-relations",
                    "retrieval/passage-degrees",
                    "relations/failures",
                ),
            )
        },
        finds=True,
    )
)
