"""Pipelines: read from `pipeline.yaml`, run step by step.

A pipeline.yaml names the steps, in order, and the parameters that differ from the defaults. The kind of a
step declares what it does, its parameters and its prompts (`steps/kinds.py`). The flow says in which order
the steps run (`flows.py`). In the place of a step, `call:` runs another pipeline as a run of its own.
"""

from __future__ import annotations

import difflib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from graphrag_rdf.errors import ConfigError, GraphRagError, short_cause
from graphrag_rdf.flows import FLOWS, Messages, Plan, Stage
from graphrag_rdf.rdf import iris
from graphrag_rdf.steps.answer import give_again
from graphrag_rdf.steps.kinds import StepKind, Way, kinds
from graphrag_rdf.steps.parameters import Value, check_values, read_value
from graphrag_rdf.steps.state import Context, State
from graphrag_rdf.trace.kinds import QUESTION
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.reuse import KeptAnswer

CALL = StepKind("call", QUESTION, "Runs another pipeline.", {"call": Way(lambda *_: iter(()))})
"""The kind of a step that calls a pipeline; it has no parameters."""


class StepDefinition(BaseModel):
    """One step of a pipeline.yaml.

    Attributes:
        step: a kind of step; "" if another pipeline is called.
        call: the name of that pipeline.
        slot: of the flow; "" in a sequence.
        use: a way of it; "" for its default.
        prompts: what a prompt is for → a file other than the default.
        parameters: those that differ from the defaults.
        stop_when_empty: whether the run ends with the last step if this one finds nothing.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    step: str = ""
    call: str = ""
    slot: str = ""
    use: str = ""
    prompts: dict[str, str] = {}
    parameters: dict[str, bool | int | float | str] = {}
    stop_when_empty: bool = False

    @property
    def kind(self) -> StepKind:
        """The kind of the step. Raises ConfigError for an unknown one."""
        if self.call:
            return CALL
        known = kinds()
        if self.step not in known:
            close = difflib.get_close_matches(self.step, known)
            hint = f"did you mean {close[0]}?" if close else f"kinds: {', '.join(known)}"
            raise ConfigError(f"step {self.name} is of the unknown kind {self.step!r}", hint=hint)
        return known[self.step]

    def choose(self, *, with_model: bool) -> str:
        """The way in which the step works."""
        return self.kind.choose(self.use or self.kind.default, with_model=with_model)

    def values(self) -> dict[str, Value]:
        """The values of all parameters of all ways."""
        return {
            name: self.parameters.get(name, parameter.default)
            for name, parameter in self.kind.parameters.items()
        }

    def values_of(self, way: Way) -> dict[str, Value]:
        """The values of the parameters that a way follows. Raises ConfigError for what it does not take."""
        given = {
            name: self.parameters[name] for name in way.parameters.model_fields if name in self.parameters
        }
        return check_values(way.parameters, self.name, given)

    def check(self) -> None:
        """Refuse kinds, ways, prompts and parameters that there are not, and values out of bounds.

        Raises:
            ConfigError: naming what is wrong.
        """
        if bool(self.step) == bool(self.call):
            raise ConfigError(f"step {self.name} needs either step: or call:")
        kind = self.kind
        self.choose(with_model=False)
        for what, known, given in (
            ("parameter", list(kind.parameters), self.parameters),
            ("prompt", list(kind.prompts), self.prompts),
        ):
            for name in given:
                if name not in known:
                    raise ConfigError(f"step {self.name} has no {what} {name!r}", hint=_meant(name, known))
        for way in kind.ways.values():
            self.values_of(way)


class PipelineDefinition(BaseModel):
    """A pipeline.yaml.

    Attributes:
        flow, limits: see `flows`.
        label, question: of the question in traces: what its label begins with, and its classes.
        prompts_of: another pipeline, whose prompts are used where the folder lacks one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str
    flow: str
    limits: dict[str, float] = {}
    label: str
    question: tuple[str, ...]
    prompts_of: str | None = None
    steps: tuple[StepDefinition, ...] = Field(min_length=1)

    def check(self) -> None:
        """Refuse a flow that there is not, or that lacks a slot or limit, and steps that do not fit.

        Raises:
            ConfigError: naming what is wrong.
        """
        if self.flow not in FLOWS:
            raise ConfigError(f"unknown flow {self.flow!r}", hint=_meant(self.flow, list(FLOWS)))
        flow = FLOWS[self.flow]
        slots = {step.slot for step in self.steps}
        for step in self.steps:
            step.check()
            if flow.slots and step.slot not in flow.slots:
                hint = f"its slots are {', '.join(flow.slots)}"
                raise ConfigError(f"step {step.name}: flow {self.flow} has no slot {step.slot!r}", hint=hint)
        if not flow.slots and slots != {""}:
            raise ConfigError(f"flow {self.flow} has no slots: its steps run one after another")
        for slot, needed in flow.slots.items():
            if needed and slot not in slots:
                raise ConfigError(f"flow {self.flow} needs a step with slot: {slot}")
        names = [step.name for step in self.steps]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ConfigError(f"two steps are named {twice[0]}")
        for limit, most in self.limits.items():
            if limit not in flow.limits or not most > 0:
                raise ConfigError(
                    f"limits: {limit}: {most:g} is no limit of flow {self.flow}",
                    hint=f"it obeys {', '.join(flow.limits) or 'none'}, above 0",
                )
        if flow.limits and not self.limits:
            raise ConfigError(f"flow {self.flow} needs limits", hint=f"one of {', '.join(flow.limits)}")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline with its folder.

    Attributes:
        prompt_folders: where its prompts are; the first that has one counts.
        folders: where all pipelines are.
        unused: what its pipeline.yaml holds that no step reads, in words.
        called: the pipelines that its steps call, by name.
    """

    definition: PipelineDefinition
    prompt_folders: tuple[Path, ...]
    folders: tuple[Path, ...]
    unused: tuple[str, ...] = ()
    called: Mapping[str, Pipeline] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where its pipeline.yaml is."""
        return self.prompt_folders[0]

    @property
    def hash(self) -> str:
        """SHA-256 over all files of its folders, and of pipelines that it calls: what an answer depends on
        beside data and model.
        """
        hashes = [hash_of_folder(folder) for folder in self.prompt_folders]
        hashes += [called.hash for called in self.called.values()]
        return hashes[0] if len(hashes) == 1 else iris.digest("\x00".join(hashes))

    def step(self, name: str) -> StepDefinition | None:
        """A step by name."""
        return next((step for step in self.definition.steps if step.name == name), None)

    def parameters(self, *, with_model: bool) -> dict[str, dict[str, Any]]:
        """What each step uses, and its parameters."""
        return _parameters([(step, step.choose(with_model=with_model)) for step in self.definition.steps])

    def with_stored(self, settings: Mapping[str, Mapping[str, str]]) -> Pipeline:
        """The pipeline, and those that it calls, with what is set for them.

        Args:
            settings: pipeline → `step.parameter` → value as text.

        Raises:
            ConfigError: as `with_settings`.
        """
        called = {name: pipeline.with_stored(settings) for name, pipeline in self.called.items()}
        return replace(self.with_settings(settings.get(self.definition.name, {})), called=called)

    def with_settings(self, settings: Mapping[str, str]) -> Pipeline:
        """The pipeline with `step.parameter` (or `step.use`) set from text.

        Raises:
            ConfigError: for an unknown step or parameter, or a value that does not fit.
        """
        steps = {step.name: step for step in self.definition.steps}
        for key, text in settings.items():
            name, _, parameter = key.partition(".")
            if name not in steps:
                raise self._no_step(key, name, parameter)
            steps[name] = self._set(steps[name], parameter, text)
        definition = self.definition.model_copy(update={"steps": tuple(steps.values())})
        return replace(self, definition=definition)

    def _no_step(self, key: str, name: str, parameter: str) -> ConfigError:
        steps = self.definition.steps
        meant = [f"{step.name}.{key}" for step in steps if key in step.kind.parameters]
        hint = (
            f"did you mean {' or '.join(meant)}?" if meant else f"steps: {', '.join(s.name for s in steps)}"
        )
        elsewhere = self._others(name, lambda kind: parameter == "use" or parameter in kind.parameters)
        return ConfigError(f"{self.definition.name} has no step {name!r}", hint=_hint(elsewhere) or hint)

    def _set(self, step: StepDefinition, parameter: str, text: str) -> StepDefinition:
        kind, pipeline = step.kind, self.definition.name
        if parameter == "use":
            if text not in kind.uses:
                elsewhere = self._others(step.name, lambda other: text in other.ways)
                hint = _hint(elsewhere) or f"it can use: {', '.join(kind.uses)}"
                what = f": {_those(elsewhere)} can" if elsewhere else ""
                raise ConfigError(f"step {step.name} of {pipeline} cannot use {text!r}{what}", hint=hint)
            return step.model_copy(update={"use": text})
        if parameter not in kind.parameters:
            elsewhere = self._others(step.name, lambda other: parameter in other.parameters)
            what = f": {_those(elsewhere)} has it" if elsewhere else ""
            raise ConfigError(
                f"step {step.name} of {pipeline} has no parameter {parameter!r}{what}",
                hint=_hint(elsewhere) or _meant(parameter, ["use", *kind.parameters]),
            )
        value = read_value(kind.parameters[parameter], text)
        changed = step.model_copy(update={"parameters": {**step.parameters, parameter: value}})
        changed.check()
        return changed

    def _others(self, step: str, fits: Callable[[StepKind], bool]) -> list[str]:
        """Other pipelines in which the step of this name is of a fitting kind."""
        return [
            name
            for name in pipeline_names(self.folders)
            if name != self.definition.name
            and (found := load_pipeline(name, self.folders).step(step)) is not None
            and fits(found.kind)
        ]

    def without_effect(self, settings: Iterable[str], *, with_model: bool) -> dict[str, str]:
        """Those of the settings that the ways in use do not follow → why, in words.

        Args:
            settings: `step.parameter`.
        """
        found = {}
        for key in settings:
            name, _, parameter = key.partition(".")
            step = self.step(name)
            if step is None or parameter not in step.kind.parameters:
                continue
            use = step.choose(with_model=with_model)
            default = step.kind.parameters[parameter].default
            if (
                parameter in step.kind.ways[use].parameters.model_fields
                or step.values()[parameter] == default
            ):
                continue
            ways = step.kind.ways.items()
            follow = [way for way, how in ways if parameter in how.parameters.model_fields]
            found[key] = f"{name} uses {use}, and only {' or '.join(follow)} follows it"
        return found

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
        steps = self._chosen(model)
        ended = False
        try:
            yield from _as_stored(
                recorder,
                self._begin(context, state, steps, model),
                self._flow(context, state, steps, model)
                if kept is None
                else give_again(context, state, kept),
            )
            recorder.end("completed" if state.answered else "unanswered", stopped_by=state.work.stopped_by)
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
            **({"stopped_by": state.work.stopped_by} if state.work.stopped_by else {}),
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
        finding = [(step, use) for step, use in self._chosen(model) if step.kind.finds]
        try:
            yield from self._begin(context, state, finding, model)
            for step, use in finding:
                yield from _told(_run_step(step, use, context, state))
        except Exception as error:
            for _ in context.recorder.fail(error, type(error).__name__):
                pass  # the trace tells of it; the caller hears the error itself
            raise
        except BaseException:  # interrupted
            context.recorder.end("cancelled")
            raise
        context.recorder.end()

    def _chosen(self, model: str | None) -> list[tuple[StepDefinition, str]]:
        return [(step, step.choose(with_model=model is not None)) for step in self.definition.steps]

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
            label=self.definition.label,
            parameters={
                **_parameters(steps),
                **({"limits": limits} if (limits := self.definition.limits) else {}),
            },
            model=model,
            include=state.include,
            exclude=state.exclude,
        )

    def _flow(
        self, context: Context, state: State, steps: Sequence[tuple[StepDefinition, str]], model: str | None
    ) -> Messages:
        slots: dict[str, list[Stage]] = {}
        for step, use in steps:
            run = partial(self._call, step.call, model) if step.call else partial(_run_step, step, use)
            slots.setdefault(step.slot, []).append(Stage(run, step.stop_when_empty))
        plan = Plan(slots, self.definition.limits, context.jobs)
        return FLOWS[self.definition.flow].run(plan, context, state)

    def _call(self, name: str, model: str | None, context: Context, state: State) -> Messages:
        """Run another pipeline on the item in hand, else on the question, as a run of its own. Its messages
        are not passed on: they are in its trace, to which the next step leads.
        """
        yield None
        pipeline = self.called[name]
        recorder = context.recorder.sub_run(pipeline.definition.question)
        asked = State(
            state.question if state.work.item is None else str(state.work.item),
            state.language,
            include=state.include,
            exclude=state.exclude,
        )
        inside = replace(context, recorder=recorder, prompt_folders=pipeline.prompt_folders, reuse=None)
        *_, last = pipeline.run(inside, asked, model=model, details={})
        context.recorder.last = recorder.last
        state.work.tokens += (recorder.in_tokens or 0) + (recorder.out_tokens or 0) + asked.work.tokens
        if last is None or last.answer is None:
            said = ((last and last.error) or {}).get("message", "it has no answer")
            raise GraphRagError(f"pipeline {name}, called by {self.definition.name}: {said}")
        state.work.results.append(last.answer)


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


def _told(messages: Messages) -> Iterator[GraphRagResponse]:
    return (message for message in messages if message is not None)


def _run_step(step: StepDefinition, use: str, context: Context, state: State) -> Messages:
    if context.gateway is not None or context.reranker is not None:
        yield None
    way = step.kind.ways[use]
    context = replace(context, prompts={**way.prompts, **step.prompts})
    yield from way.run(context, state, step.values_of(way))


def _parameters(steps: Sequence[tuple[StepDefinition, str]]) -> dict[str, dict[str, Any]]:
    return {
        step.name: {"call": step.call} if step.call else {"use": use, **step.values_of(step.kind.ways[use])}
        for step, use in steps
    }


def pipeline_names(folders: Sequence[Path]) -> list[str]:
    """The names of all pipelines that answer questions, sorted. `ingest.stages` reads that of the ingest."""
    found = {path.parent.name for folder in folders for path in folder.glob("*/pipeline.yaml")}
    return sorted(found - {"ingest"})


def load_pipeline(name: str, folders: Sequence[Path], callers: Sequence[str] = ()) -> Pipeline:
    """The pipeline of a name; later folders override earlier ones.

    Args:
        callers: the pipelines that call it, outermost first.

    Raises:
        ConfigError: when there is none, or its definition is malformed.
    """
    found = [folder / name for folder in folders if (folder / name / "pipeline.yaml").is_file()]
    if name not in (known := pipeline_names(folders)):
        raise ConfigError(f"there is no pipeline named {name!r}", hint=f"known: {', '.join(known)}")
    path = found[-1] / "pipeline.yaml"
    try:
        definition, unused = _read(path.read_text("utf-8"))
        definition.check()
    except (yaml.YAMLError, ValidationError, OSError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", hint=error.hint) from error
    prompts = [found[-1]]
    if definition.prompts_of is not None:
        if definition.prompts_of not in pipeline_names(folders):
            raise ConfigError(f"{path}: prompts_of: there is no pipeline named {definition.prompts_of!r}")
        prompts += [at for folder in reversed(folders) if (at := folder / definition.prompts_of).is_dir()][:1]
    called: dict[str, Pipeline] = {}
    for other in {step.call for step in definition.steps if step.call}:
        if other in (path_of := (*callers, name)):
            raise ConfigError(
                f"{path}: pipelines call each other in a circle: {' → '.join((*path_of, other))}"
            )
        try:
            called[other] = load_pipeline(other, folders, path_of)
        except ConfigError as error:
            raise ConfigError(f"{path}: call: {error}", hint=error.hint) from error
    words = tuple(f"{path}: {words}" for words in unused)
    return Pipeline(definition, tuple(prompts), tuple(folders), words, called)


_FIRST_PROMPTS = {"ground": "concepts", "focus": "select", "synthesise": "answer"}
"""Kind of step → what its `prompt:` was for, in files of earlier versions."""


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[PipelineDefinition, tuple[str, ...]]:
    """The definition in a pipeline.yaml, and what is unused in it. Each text is read once, as that takes
    longer than many a query.

    Files of earlier versions are read too. Unused are keys that kinds of steps declare now, and parameters of
    ways of exploring that are pipelines of their own now.
    """
    data = yaml.safe_load(text)
    unused: list[str] = []
    steps = data.get("steps") if isinstance(data, dict) else None
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            unused += _take_unused(step)
    return PipelineDefinition.model_validate(data), tuple(unused)


def _take_unused(step: dict[str, Any]) -> Iterator[str]:
    known = kinds()
    kind = known.get(step.get("step", ""))
    keys = [key for key in ("class", "templates") if step.pop(key, None) is not None]
    if kind is not None:
        prompts = {key: step.pop(key) for key in list(step) if key == "prompt" or key.endswith("_prompt")}
        for key, file in prompts.items():
            role = key.removesuffix("prompt").rstrip("_") or _FIRST_PROMPTS.get(kind.name, "")
            step.setdefault("prompts", {})[role] = file
        parameters = step.get("parameters") or {}
        elsewhere = {name for other in known.values() for name in other.parameters} - kind.parameters.keys()
        for name in [name for name in parameters if name in elsewhere]:
            del parameters[name]
            keys.append(name)
    if keys:
        yield f"step {step.get('name')} does not use {', '.join(keys)}: remove them"


def _meant(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(close)}?" if close else f"it has: {', '.join(known)}"


def _those(pipelines: Sequence[str]) -> str:
    return " or ".join(pipelines)


def _hint(pipelines: Sequence[str]) -> str:
    return f"choose the pipeline {_those(pipelines)}, e.g. with --pipeline" if pipelines else ""


kinds()  # readers of traces know the nodes of all steps from now on
