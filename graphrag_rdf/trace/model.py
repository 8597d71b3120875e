"""A trace as it is read back: plain data, with the JSON that `trace show --format json` prints.

All keys of a kind of object are always there; what is unknown is null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from graphrag_rdf.trace.items import AnswerSentence, Call, Selected
from graphrag_rdf.trace.kinds import NodeKind, Warned


@dataclass(frozen=True, slots=True)
class SubRun:
    """A run that a step started."""

    session: str
    question: str | None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step of any kind.

    Attributes:
        declared: what its kind declares.
        derived_from: the steps, of this run or of its sub-runs, that it derives from.
        mode: how it worked: rules, llm, rank …
        values: of the fields that its kind declares, by key.
        items: of the kinds of items that its kind declares, of warnings and of calls, by key.
        sub_runs: runs whose question it asked.
    """

    iri: str
    declared: NodeKind
    derived_from: tuple[str, ...]
    started: datetime | None
    ended: datetime | None
    ms: int | None
    mode: str | None
    model: str | None
    in_tokens: int | None
    out_tokens: int | None
    values: dict[str, Any] = field(default_factory=dict)
    items: dict[str, list[Any]] = field(default_factory=dict)
    sub_runs: tuple[SubRun, ...] = ()

    @property
    def kind(self) -> str:
        """question, grounding, exploration, focus, synthesis, error …"""
        return self.declared.name

    @property
    def answer(self) -> str | None:
        """The text of a step that answers; None once it was erased, or when nobody gave the blob store."""
        return self.values.get("answer")

    @property
    def selections(self) -> list[Selected]:
        """What was selected, by rank."""
        return self.items.get("selections", [])

    @property
    def sentences(self) -> list[AnswerSentence]:
        """The sentences of its answer."""
        return self.items.get("sentences", [])

    @property
    def warnings(self) -> list[Warned]:
        """What the reader of the answer ought to know."""
        return self.items.get("warnings", [])

    @property
    def calls(self) -> list[Call]:
        """Queries and calls to models, in order."""
        return self.items.get("calls", [])

    def json_object(self) -> dict[str, Any]:
        """The keys of every step, then those of its kind."""
        own = {key: found for key, found in self.items.items() if key not in ("warnings", "calls")}
        return {
            "iri": self.iri,
            "type": self.kind,
            "derived_from": self.derived_from[0] if self.derived_from else None,
            "derived_from_all": self.derived_from,
            "started": self.started,
            "ended": self.ended,
            "ms": self.ms,
            "mode": self.mode,
            "model": self.model,
            "in_tokens": self.in_tokens,
            "out_tokens": self.out_tokens,
            **self.values,
            **own,
            "sub_runs": self.sub_runs,
            "warnings": self.warnings,
            "calls": self.calls,
        }


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody thinks of an answer, or of something that it rests on.

    Attributes:
        target: the step that answered, or a selection.
        rating: helpful or wrong.
        marker, rank: of a selection: its number in the answer, and its rank.
    """

    JSON: ClassVar = ("iri", "target", "rating", "note", "by", "time", "citation=marker", "edge=rank")

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


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that answered a question, with all its steps.

    Attributes:
        iri: the session.
        kind: the pipeline.
        commit: number of the newest commit when the run began.
        outcome: completed, unanswered, failed or cancelled; None while it runs, and after a kill.
        stopped_by: what ended the flow: done, empty, or the limit that was reached; None of a sequence.
        source_forgotten: whether words of it were erased with a document.
        steps: in order, the question first.
        marks: what people think of it.
        continues: the earlier session that it goes on with.
        pipeline_hash: SHA-256 over the files of the pipeline.
        include, exclude: entities that must be, or must not be, followed.
    """

    JSON: ClassVar = (
        *("iri", "kind", "label", "question", "question_iri", "started", "ended", "seconds", "outcome"),
        "stopped_by",
        *("model", "parameters", "commit", "source_forgotten", "answer", "steps", "warnings"),
        *("feedback=marks", "continues", "pipeline_hash", "include", "exclude"),
    )

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
    source_forgotten: bool = False
    steps: tuple[TraceStep, ...] = ()
    marks: tuple[Mark, ...] = ()
    continues: str | None = None
    pipeline_hash: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    stopped_by: str | None = None

    def step(self, iri: str) -> TraceStep | None:
        """The step of an IRI."""
        return next((step for step in self.steps if step.iri == iri), None)

    @property
    def answer(self) -> str | None:
        """The text of the answer."""
        return next((step.answer for step in reversed(self.steps) if step.answer is not None), None)

    @property
    def seconds(self) -> float | None:
        """Wall time."""
        return None if self.ms is None else self.ms / 1000

    @property
    def selections(self) -> tuple[Selected, ...]:
        """What was selected, over all steps."""
        return tuple(selection for step in self.steps for selection in step.selections)

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What the reader of the answer ought to know."""
        return tuple(warning for step in self.steps for warning in step.warnings)
