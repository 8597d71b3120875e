"""The statements that the rules read in a chunk: each once, the surest, and why others are left out."""

from __future__ import annotations

from graphrag_rdf.documents.model import Sentence
from graphrag_rdf.extract.model import Qualifiers, Rejected, RelationCandidate
from graphrag_rdf.extract.names import RuleSettings, fold


class Collector:
    """Collects statements; the first of several with the same subject, predicate and object stands.

    Args:
        text: the chunk's.
        settings: what to keep.
    """

    def __init__(self, text: str, settings: RuleSettings) -> None:
        self._text = text
        self._settings = settings
        self._relations: dict[tuple[str, str, str], RelationCandidate] = {}
        self._rejected: dict[Rejected, None] = {}

    def __len__(self) -> int:
        return len(self._relations)

    @property
    def relations(self) -> tuple[RelationCandidate, ...]:
        """The surest statements, in text order."""
        surest = sorted(self._relations.values(), key=lambda relation: -(relation.confidence or 0))
        chosen = set(map(id, surest[: self._settings.max_facts]))
        return tuple(relation for relation in self._relations.values() if id(relation) in chosen)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The statements that were left out."""
        return tuple(self._rejected)

    def reject(self, reason: str, *parts: str) -> None:
        """Note a statement that is left out, by its parts."""
        self._rejected.setdefault(Rejected(reason, " | ".join(parts)))

    def add(
        self,
        subject: str,
        predicate: str,
        object_: str,
        sentence: Sentence,
        *,
        confidence: float,
        entity: bool = False,
        datatype: str | None = None,
        qualifiers: Qualifiers = (),
    ) -> str:
        """Add a statement, unless it is unfit.

        Args:
            subject, predicate, object_: its parts, as of `RelationCandidate`.
            sentence: its evidence.
            confidence: 0 to 1.
            entity: whether the object is an entity.
            datatype: absolute XSD IRI of a literal.
            qualifiers: what the sentence says beside it.

        Returns:
            why it is unfit, or "".
        """
        if fold(subject) == fold(object_):
            return "same_subject_and_object"
        if max(len(part.split()) for part in (subject, predicate, object_)) > self._settings.max_words:
            return "too_long"
        if confidence < self._settings.min_confidence:
            return "low_confidence"
        span = (sentence.offset, sentence.length)
        quote = self._text[span[0] : sum(span)]
        self._relations.setdefault(
            (fold(subject), predicate, fold(object_)),
            RelationCandidate(
                subject, predicate, object_, entity, datatype, quote, confidence, span, qualifiers
            ),
        )
        return ""
