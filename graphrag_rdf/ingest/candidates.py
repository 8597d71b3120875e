"""Synonym candidates: entities whose names are nearly the same, as nodes that wait for a decision.

They are what `ingest.normalisation` proposes, each pair with its score, in `urn:graph:derived`: computed from
the store, never a decision. Nothing joins on them; whoever accepts one decides that the two are one, and
exploration passes activation over the others only if its parameter `synonym_weight` says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from graphrag_rdf.errors import UsageError
from graphrag_rdf.ingest.decisions import Decision
from graphrag_rdf.ingest.normalisation import RULE, propose
from graphrag_rdf.ingest.resolution import PERSON, Merge, merge
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PROV, RAG, RDF, Graphs
from graphrag_rdf.rdf.terms import Term, double, text_of, to_python
from graphrag_rdf.store.base import Changes, Store

if TYPE_CHECKING:
    from graphrag_rdf.ingest.protocols import NeededComponents

MIN_SCORE = 0.7
"""What is a candidate by default: names that are spelt alike too."""


@dataclass(frozen=True, slots=True)
class SynonymCandidate:
    """Two entities that may be one.

    Attributes:
        entities: canonical ones, by IRI.
        names: their labels.
        score: 0 to 1.
        reason: for people; without the names.
    """

    iri: NamedNode
    entities: tuple[NamedNode, NamedNode]
    names: tuple[str, str]
    score: float
    reason: str

    def as_json(self) -> dict[str, object]:
        """The keys of `entities synonyms --format json`."""
        pairs = zip(self.entities, self.names, strict=True)
        return {
            "iri": self.iri.value,
            "entities": [{"iri": node.value, "name": name} for node, name in pairs],
            "score": self.score,
            "reason": self.reason,
        }


def build_candidates(engine: NeededComponents, *, min_score: float = MIN_SCORE) -> list[SynonymCandidate]:
    """Compute the candidates anew, in one transaction; the surest first.

    Args:
        min_score: 0 to 1; see `normalisation.propose`.
    """
    add: list[Quad] = []
    for proposal in propose(engine, min_score=min_score):
        pair = sorted((proposal.one, proposal.other), key=str)
        node = iris.decision("synonym", RULE.value, *(entity.value for entity in pair))
        facts: tuple[tuple[NamedNode, Term], ...] = (
            (RDF.type, RAG.SynonymCandidate),
            *((RAG.member, entity) for entity in pair),
            (RAG.confidence, double(round(proposal.score, 4))),
            (RAG.reason, Literal(proposal.reason)),
            (PROV.wasAttributedTo, RULE),
        )
        add += [Quad(node, prop, value, Graphs.DERIVED) for prop, value in facts]
    engine.store.commit(Changes(updates=[("derived/clear-synonyms", {})], add=add, content=False))
    return read_candidates(engine.store)


def clear_candidates(store: Store) -> int:
    """Take all candidates out; how many there were. Decisions stay."""
    number = len(read_candidates(store))
    if number:
        store.commit(Changes(updates=[("derived/clear-synonyms", {})], content=False))
    return number


def read_candidates(store: Store) -> list[SynonymCandidate]:
    """All candidates, the surest first, ties by IRI."""
    found = []
    for row in store.select("entities/synonyms"):
        score = to_python(row["score"])
        found.append(
            SynonymCandidate(
                NamedNode(text_of(row["candidate"])),
                (NamedNode(text_of(row["one"])), NamedNode(text_of(row["other"]))),
                (text_of(row.get("one_name", row["one"])), text_of(row.get("other_name", row["other"]))),
                score if isinstance(score, float) else 0.0,
                text_of(row["reason"]),
            )
        )
    return found


def accept_candidates(engine: NeededComponents, chosen: Sequence[str]) -> list[Decision]:
    """Decide that the entities of candidates are one; the decisions, which can be taken back.

    Args:
        chosen: IRIs of candidates.

    Raises:
        UsageError: when one is no candidate.
    """
    known = {candidate.iri.value: candidate for candidate in read_candidates(engine.store)}
    if unknown := [iri for iri in chosen if iri not in known]:
        raise UsageError(f"there is no candidate {unknown[0]}", hint="graphrag-rdf entities synonyms")
    wanted = [known[iri] for iri in dict.fromkeys(chosen)]
    return merge(
        engine, [Merge(one.entities[0], one.entities, one.reason, one.score) for one in wanted], by=PERSON
    )
