"""What of an extraction may become facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from graphrag_rdf.extract.model import EntityCandidate, Extraction, RelationCandidate
from graphrag_rdf.extract.names import fold, reject_reason

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings


@dataclass(frozen=True, slots=True)
class Fit:
    """What of an extraction may become facts, and (reason, candidate) of what may not."""

    entities: list[EntityCandidate] = field(default_factory=list)
    relations: list[RelationCandidate] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)


class CandidateFilter:
    """Holds names and statements to what makes a fact.

    Args:
        min_length, max_length: code points of a name.
    """

    def __init__(self, min_length: int, max_length: int) -> None:
        self._min, self._max = min_length, max_length
        self._reasons: dict[str, str | None] = {}  # a text names the same things over and over

    def fit(self, found: Extraction) -> Fit:
        """What of an extraction may become facts."""
        fit = Fit(rejected=[(item.reason, item.item) for item in found.rejected])
        self._fit_entities(found.entities, fit)
        self._fit_relations(found.relations, fit)
        return fit

    def unfit(self, name: str) -> str | None:
        """Why a name may not become an entity; None if it may."""
        if name not in self._reasons:
            self._reasons[name] = reject_reason(name, min_length=self._min, max_length=self._max)
        return self._reasons[name]

    def _fit_entities(self, candidates: Iterable[EntityCandidate], fit: Fit) -> None:
        for candidate in candidates:
            if reason := self.unfit(candidate.name):
                fit.rejected.append((reason, candidate.name))
            elif candidate.type and not fold(candidate.type):
                fit.entities.append(replace(candidate, type=None))
            else:
                fit.entities.append(candidate)

    def _fit_relations(self, candidates: Iterable[RelationCandidate], fit: Fit) -> None:
        for candidate in candidates:
            ends = [candidate.subject, *([candidate.object] if candidate.object_is_entity else [])]
            reason = next((why for name in ends if (why := self.unfit(name))), None)
            if reason is None and not (fold(candidate.predicate) and fold(candidate.object)):
                reason = "empty"
            if reason:
                item = f"{candidate.subject} | {candidate.predicate} | {candidate.object}"
                fit.rejected.append((reason, item))
            else:
                fit.relations.append(candidate)


def candidate_filter(settings: Settings) -> CandidateFilter:
    """As the settings want it."""
    return CandidateFilter(settings.extract.entity_min_length, settings.extract.entity_max_length)
