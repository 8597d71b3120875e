"""Pipelines: read from `pipeline.yaml`, run step by step.

The flow `sequence` runs steps in order; a step with `stop_when_empty` that finds nothing lets only the last
one still run, which says so. Read pipelines/graph_rag/pipeline.yaml and you know what happens.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pyoxigraph import NamedNode

from graphrag_rdf.errors import ConfigError, GraphRagError, short_cause
from graphrag_rdf.rdf import iris
from graphrag_rdf.rdf.namespaces import PREFIXES
from graphrag_rdf.steps import activate, explore, focus, ground, hybrid, synthesise
from graphrag_rdf.steps.answer import give_again
from graphrag_rdf.steps.parameters import FOR_A_MODEL, PARAMETERS, check_parameters
from graphrag_rdf.steps.state import Context, Parameters, State
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.reuse import KeptAnswer

StepFunction: TypeAlias = Callable[[Context, State, Parameters], Iterator[GraphRagResponse]]

STEPS: Mapping[str, Mapping[str, StepFunction]] = {
    "ground": {"rules": ground.by_rules, "llm": ground.by_model},
    "explore": {"hops": explore.hops, "activation": activate.activation, "hybrid": hybrid.hybrid},
    "focus": {
        "rank": focus.rank,
        "llm": focus.by_model,
        "llm-score": focus.score_then_reason,
        "chunks": focus.chunks_alone,
        "edges": focus.edges_alone,
    },
    "synthesise": {"extractive": synthesise.extractive, "llm": synthesise.by_model},
}
"""What implements each step, by the name that `use:` takes."""

AUTO: Mapping[str, tuple[str, str]] = {
    "ground": ("rules", "llm"),
    "focus": ("rank", "llm"),
    "synthesise": ("extractive", "llm"),
}
"""What `use: auto` means: (without a model, with one)."""

FINDING = frozenset({"ground", "explore"})
"""The kinds of steps that find; the others select and answer."""


class StepDefinition(BaseModel):
    """One step of a pipeline.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    step: str
    use: str = "auto"
    trace_class: str = Field(alias="class")
    prompt: str | None = None
    filter_prompt: str | None = None
    suggest_prompt: str | None = None
    repair_prompt: str | None = None
    templates: tuple[str, ...] = ()
    parameters: dict[str, bool | int | float | str] = {}
    stop_when_empty: bool = False


class PipelineDefinition(BaseModel):
    """A pipeline.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str
    flow: Literal["sequence"]
    label: str
    question: tuple[str, ...]
    steps: tuple[StepDefinition, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline with its folder."""

    definition: PipelineDefinition
    folder: Path

    @property
    def hash(self) -> str:
        """SHA-256 over all files of the folder: what an answer depends on beside data and model."""
        return hash_of_folder(self.folder)

    def parameters(self, *, with_model: bool) -> dict[str, dict[str, Any]]:
        """What each step uses, and its parameters."""
        return _parameters([(step, _choose(step, with_model)) for step in self.definition.steps])

    def with_settings(self, settings: Mapping[str, str]) -> Pipeline:
        """The pipeline with `step.parameter` (or `step.use`) set from text.

        Raises:
            ConfigError: for an unknown step or parameter, or a value that does not fit.
        """
        steps = {step.name: step for step in self.definition.steps}
        for key, text in settings.items():
            name, _, parameter = key.partition(".")
            if name not in steps:
                meant = [f"{s.name}.{key}" for s in steps.values() if key in PARAMETERS[s.step]]
                hint = f"did you mean {' or '.join(meant)}?" if meant else f"steps: {', '.join(steps)}"
                raise ConfigError(f"{self.definition.name} has no step {name!r}", hint=hint)
            steps[name] = _set(steps[name], parameter, text)
        definition = self.definition.model_copy(update={"steps": tuple(steps.values())})
        return replace(self, definition=definition)

    def without_effect(self, settings: Iterable[str], *, with_model: bool) -> list[str]:
        """Those of the settings that only a model follows, in steps that do not ask one.

        Args:
            settings: `step.parameter`.
        """
        unheeding = {
            step.name: step
            for step in self.definition.steps
            if step.step in FOR_A_MODEL and _choose(step, with_model) != "llm"
        }
        parts = [(key, *key.partition(".")[::2]) for key in settings]
        return [
            key
            for key, name, parameter in parts
            if name in unheeding
            and parameter in FOR_A_MODEL[unheeding[name].step]
            and unheeding[name].parameters[parameter] is not False
        ]

    def run(
        self,
        context: Context,
        state: State,
        *,
        model: str | None,
        details: Mapping[str, Any],
        kept: KeptAnswer | None = None,
    ) -> Generator[GraphRagResponse, None, None]:
        """Run the pipeline on a question; the messages, in the order of `trace.messages`.

        A step that fails ends the trace with an error node and the run with an error message. Closing the
        iterator (a client that hangs up) closes the trace as cancelled.

        Args:
            details: what else the answer says of the run (e.g. its origin).
            kept: an answer that was given before and is given again, instead of running any step.
        """
        recorder = context.recorder
        steps = [(step, _choose(step, model is not None)) for step in self.definition.steps]
        ended = False
        try:
            yield from _as_stored(
                recorder,
                self._begin(context, state, steps, model),
                self._steps(context, state, steps) if kept is None else give_again(context, state, kept),
            )
            recorder.end("completed" if state.answered else "unanswered")
            ended = True
        except GraphRagError as error:
            ended = True
            yield from recorder.fail(error, type(error).__name__)
            return
        except Exception as error:
            ended = True
            for _ in recorder.fail(error, type(error).__name__):
                pass  # the trace tells of it; the caller hears the error itself
            raise
        finally:
            if not ended:
                recorder.end("cancelled")
        if recorder.barred:
            state.warn("source_forgotten", "a document was forgotten meanwhile: the trace was not kept")
        answer = {
            "question": state.question,
            "question_iri": recorder.question.value,
            "pipeline": self.definition.name,
            **state.final,
            "steps": recorder.steps,
            "usage": {
                "llm_calls": recorder.calls,
                "in_tokens": recorder.in_tokens,
                "out_tokens": recorder.out_tokens,
                "cost_usd": recorder.cost_usd,
            },
            "seconds": recorder.milliseconds() / 1000,
            "cached": kept is not None,
            **({"original": kept.question.value} if kept is not None else {}),
            **details,
        }
        yield recorder.final(answer, model)

    def explore(self, context: Context, state: State, *, model: str | None) -> Iterator[GraphRagResponse]:
        """Run only what finds (grounding and exploration), for retrieval without an answer.

        Raises:
            GraphRagError: of the step that failed, once the trace says so.
        """
        steps = [(step, _choose(step, model is not None)) for step in self.definition.steps]
        finding = [(step, use) for step, use in steps if step.step in FINDING]
        try:
            yield from self._begin(context, state, finding, model)
            for step, use in finding:
                function = STEPS[step.step][use]
                yield from function(_for_step(context, step), state, step.parameters)
        except Exception as error:
            for _ in context.recorder.fail(error, type(error).__name__):
                pass  # the trace tells of it; the caller hears the error itself
            raise
        except BaseException:  # interrupted
            context.recorder.end("cancelled")
            raise
        context.recorder.end()

    def _begin(
        self,
        context: Context,
        state: State,
        steps: Sequence[tuple[StepDefinition, str]],
        model: str | None,
    ) -> Iterator[GraphRagResponse]:
        yield from context.recorder.begin(
            state.question,
            pipeline=self.definition.name,
            pipeline_hash=self.hash,
            question_types=[expand(name) for name in self.definition.question],
            label=self.definition.label,
            parameters=_parameters(steps),
            model=model,
            include=state.include,
            exclude=state.exclude,
        )

    def _steps(
        self, context: Context, state: State, steps: Sequence[tuple[StepDefinition, str]]
    ) -> Iterator[GraphRagResponse | None]:
        stopped = False
        for number, (step, use) in enumerate(steps):
            last = number == len(steps) - 1
            if stopped and not last:
                continue
            if context.gateway is not None or context.reranker is not None:
                yield None
            function = STEPS[step.step][use]
            yield from function(_for_step(context, step), state, step.parameters)
            stopped = stopped or (step.stop_when_empty and state.empty)


def _as_stored(
    recorder: TraceRecorder, *runs: Iterable[GraphRagResponse | None]
) -> Iterator[GraphRagResponse]:
    """Messages in their order, each once what it tells is stored. What comes next is worked out meanwhile,
    not before the first is told: whoever waits sees that something is under way.

    Args:
        runs: a None among the messages says that a wait may come, before which all must be told.
    """
    held: deque[GraphRagResponse] = deque()
    first = True
    try:
        for message in chain.from_iterable(runs):
            if message is not None:
                held.append(message)
            patient = message is not None and message.message_type == "explain" and not first
            first = False
            while held and (not patient or recorder.is_written(held[0])):
                yield recorder.written(held.popleft())
    except Exception:
        while held:
            yield recorder.written(held.popleft())
        raise
    while held:
        yield recorder.written(held.popleft())


def hash_of_folder(folder: Path) -> str:
    """SHA-256 over the names and texts of all files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return iris.digest("\x00".join(f"{path.name}\x00{path.read_text('utf-8')}" for path in files))


def _for_step(context: Context, step: StepDefinition) -> Context:
    names = ("prompt", "filter_prompt", "suggest_prompt", "repair_prompt")
    return replace(context, **{name: getattr(step, name) for name in names})


def _parameters(steps: Sequence[tuple[StepDefinition, str]]) -> dict[str, dict[str, Any]]:
    return {step.name: {"use": use, **step.parameters} for step, use in steps}


def pipeline_names(folders: Sequence[Path]) -> list[str]:
    """The names of all pipelines that answer questions, sorted. `ingest.stages` reads that of the ingest."""
    found = {path.parent.name for folder in folders for path in folder.glob("*/pipeline.yaml")}
    return sorted(found - {"ingest"})


def load_pipeline(name: str, folders: Sequence[Path]) -> Pipeline:
    """The pipeline of a name; later folders override earlier ones.

    Raises:
        ConfigError: when there is none, or its definition is malformed.
    """
    found = [folder / name for folder in folders if (folder / name / "pipeline.yaml").is_file()]
    if name not in (known := pipeline_names(folders)):
        raise ConfigError(f"there is no pipeline named {name!r}", hint=f"known: {', '.join(known)}")
    path = found[-1] / "pipeline.yaml"
    try:
        definition = _definition(path.read_text("utf-8"))
    except (yaml.YAMLError, ValidationError, OSError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    for step in definition.steps:
        if step.step not in STEPS:
            raise ConfigError(f"{path}: step {step.name} is of the unknown kind {step.step!r}")
        _choose(step, with_model=False)
        try:
            check_parameters(step.step, step.name, step.parameters)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}", hint=error.hint) from error
    return Pipeline(definition, found[-1])


@lru_cache(maxsize=64)
def _definition(text: str) -> PipelineDefinition:
    """What a pipeline.yaml says; read once, as reading it takes longer than many a query."""
    return PipelineDefinition.model_validate(yaml.safe_load(text))


def expand(name: str) -> NamedNode:
    """The IRI of a prefixed name written in a pipeline.yaml.

    Raises:
        ConfigError: when the prefix is unknown.
    """
    prefix, _, local = name.partition(":")
    if prefix not in PREFIXES:
        raise ConfigError(f"{name}: the prefix {prefix!r} is unknown", hint=f"known: {', '.join(PREFIXES)}")
    return NamedNode(PREFIXES[prefix] + local)


def _choose(step: StepDefinition, with_model: bool) -> str:
    ways = STEPS[step.step]
    auto = ["auto"] if step.step in AUTO else []
    use = AUTO[step.step][with_model] if auto and step.use == "auto" else step.use
    if use not in ways:
        raise ConfigError(
            f"step {step.name} cannot use {use!r}", hint=f"it can use: {', '.join([*auto, *ways])}"
        )
    return use


def _set(step: StepDefinition, parameter: str, text: str) -> StepDefinition:
    if parameter == "use":
        changed = step.model_copy(update={"use": text})
        _choose(changed, with_model=True)
        return changed
    kind = PARAMETERS[step.step].get(parameter)
    try:
        value = kind.read(text) if kind else text
    except ValueError as error:
        raise ConfigError(f"{step.name}.{parameter}: {text!r} is not {kind}") from error
    parameters = {**step.parameters, parameter: value}
    check_parameters(step.step, step.name, parameters)
    return step.model_copy(update={"parameters": parameters})
