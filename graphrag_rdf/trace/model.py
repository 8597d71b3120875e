"""A trace as it is read back: plain data, with the JSON that `trace show --format json` prints.

All keys of a kind of object are always there; what is unknown is null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from graphrag_rdf.trace.items import (
    Activated,
    AnswerSentence,
    Call,
    Considered,
    Decision,
    LookUp,
    Seed,
    Selection,
    Suggestion,
    iso,
)
from graphrag_rdf.trace.passages import Passage


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step; only the fields of its kind are filled.

    Attributes:
        kind: question, grounding, exploration, focus, synthesis, error …
        mode: how it worked: rules, llm, rank …
        query: of a question: its words.
        candidates, edges: of an exploration: edges met, edges kept.
        passages: of an exploration by activation, best first.
        draft: of a synthesis with repair, the stored object of the first answer, if it was corrected.
        evidence_tokens: of a synthesis by a model, how long its evidence is, nearly.
        left_out: of it, how many selections have no room, or not all; of a focus, how many good chunks.
        coverage: of a focus: share of the question's words that the selection speaks of.
        decisions: of a focus with a filter: what that decided.
        look_ups: of a focus: searches for what the model said is missing.
        answer: of a synthesis; None when its text was erased, or is in the blob store and none was given.
        reason, stage: of an error.
        reuses: of an answer that was given again, the step that gave it first.
    """

    iri: str
    kind: str
    before: str | None
    started: datetime | None
    ended: datetime | None
    ms: int | None
    mode: str | None
    model: str | None
    in_tokens: int | None
    out_tokens: int | None
    query: str | None = None
    concepts: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()
    activated: tuple[Activated, ...] = ()
    candidates: int | None = None
    edges: int | None = None
    considered: tuple[Considered, ...] = ()
    passages: tuple[Passage, ...] = ()
    coverage: float | None = None
    evidence_tokens: int | None = None
    left_out: int = 0
    decisions: tuple[Decision, ...] = ()
    look_ups: tuple[LookUp, ...] = ()
    selections: tuple[Selection, ...] = ()
    answer: str | None = None
    stored: str | None = None
    draft: str | None = None
    sentences: tuple[AnswerSentence, ...] = ()
    warnings: tuple[dict[str, str], ...] = ()
    reason: str | None = None
    stage: str | None = None
    reuses: str | None = None
    suggestions: tuple[Suggestion, ...] = ()
    calls: tuple[Call, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The keys of every step, then those of its kind."""
        details: dict[str, dict[str, Any]] = {
            "question": {"query": self.query},
            "grounding": {"concepts": list(self.concepts)},
            "exploration": {
                "seeds": [seed.as_json() for seed in self.seeds],
                "activated": [active.as_json() for active in self.activated],
                "candidates": self.candidates,
                "edges": self.edges,
                "considered": [edge.as_json() for edge in self.considered],
                "passages": [passage.as_json() for passage in self.passages],
            },
            "focus": {
                "coverage": self.coverage,
                "left_out": self.left_out,
                "filter": [decision.as_json() for decision in self.decisions],
                "look_ups": [look_up.as_json() for look_up in self.look_ups],
                "selections": [selection.as_json() for selection in self.selections],
            },
            "synthesis": {
                "answer": self.answer,
                "selections": [selection.as_json() for selection in self.selections],
                "evidence_tokens": self.evidence_tokens,
                "left_out": self.left_out,
                "stored": self.stored,
                "draft": self.draft,
                "reuses": self.reuses,
                "sentences": [sentence.as_json() for sentence in self.sentences],
                "suggestions": [suggestion.as_json() for suggestion in self.suggestions],
            },
            "error": {"reason": self.reason, "stage": self.stage},
        }
        return {
            "iri": self.iri,
            "type": self.kind,
            "derived_from": self.before,
            "started": iso(self.started),
            "ended": iso(self.ended),
            "ms": self.ms,
            "mode": self.mode,
            "model": self.model,
            "in_tokens": self.in_tokens,
            "out_tokens": self.out_tokens,
            **details.get(self.kind, {}),
            "warnings": list(self.warnings),
            "calls": [call.as_json() for call in self.calls],
        }


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody thinks of an answer, or of something that it rests on.

    Attributes:
        target: the step that answered, or a selection.
        rating: helpful or wrong.
        marker, rank: of a selection: its number in the answer, and its rank.
    """

    iri: str
    target: str
    rating: str
    note: str | None = None
    by: str | None = None
    time: datetime | None = None
    marker: int | None = None
    rank: int | None = None

    @property
    def about(self) -> str:
        """What was marked, for people."""
        if self.marker is not None:
            return f"what is cited as [{self.marker}]"
        return "the answer" if self.rank is None else f"selection {self.rank}"

    def as_json(self) -> dict[str, Any]:
        """The keys of `feedback --format json`."""
        return {
            "iri": self.iri,
            "target": self.target,
            "rating": self.rating,
            "note": self.note,
            "by": self.by,
            "time": iso(self.time),
            "citation": self.marker,
            "edge": self.rank,
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that answered a question, with all its steps.

    Attributes:
        iri: the session.
        kind: the pipeline.
        commit: number of the newest commit when the run began.
        outcome: completed, unanswered, failed or cancelled; None while it runs, and after a kill.
        forgotten: whether words of it were erased with a document.
        steps: in order, the question first.
        marks: what people think of it.
        continues: the earlier session that it goes on with.
        pipeline_hash: SHA-256 over the files of the pipeline.
        include, exclude: entities that must be, or must not be, followed.
    """

    iri: str
    kind: str | None
    label: str | None
    question: str
    question_iri: str | None
    started: datetime | None
    ended: datetime | None
    ms: int | None
    outcome: str | None
    model: str | None
    parameters: dict[str, Any] = field(default_factory=dict)
    commit: int | None = None
    forgotten: bool = False
    steps: tuple[TraceStep, ...] = ()
    marks: tuple[Mark, ...] = ()
    continues: str | None = None
    pipeline_hash: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def step(self, iri: str) -> TraceStep | None:
        """The step of an IRI."""
        return next((step for step in self.steps if step.iri == iri), None)

    @property
    def answer(self) -> str | None:
        """The text of the answer."""
        return next((step.answer for step in reversed(self.steps) if step.answer is not None), None)

    @property
    def selections(self) -> tuple[Selection, ...]:
        """What was selected, over all steps."""
        return tuple(selection for step in self.steps for selection in step.selections)

    @property
    def warnings(self) -> tuple[dict[str, str], ...]:
        """What the reader of the answer ought to know."""
        return tuple(warning for step in self.steps for warning in step.warnings)

    def as_json(self) -> dict[str, Any]:
        """The object that `trace show --format json` prints."""
        return {
            "iri": self.iri,
            "kind": self.kind,
            "label": self.label,
            "question": self.question,
            "question_iri": self.question_iri,
            "started": iso(self.started),
            "ended": iso(self.ended),
            "seconds": None if self.ms is None else self.ms / 1000,
            "outcome": self.outcome,
            "model": self.model,
            "parameters": self.parameters,
            "commit": self.commit,
            "source_forgotten": self.forgotten,
            "answer": self.answer,
            "steps": [step.as_json() for step in self.steps],
            "warnings": list(self.warnings),
            "feedback": [mark.as_json() for mark in self.marks],
            "continues": self.continues,
            "pipeline_hash": self.pipeline_hash,
            "include": list(self.include),
            "exclude": list(self.exclude),
        }
