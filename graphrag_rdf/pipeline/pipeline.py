"""Pipelines: found by name, changed by settings, run step by step.

In the place of a step, `call:` runs another pipeline as a run of its own, and `run:` its steps in this run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from graphrag_rdf.errors import (
    ConfigError,
    GraphRagError,
    LlmError,
    UnknownParameterError,
    alternatives,
    short_cause,
)
from graphrag_rdf.i18n import tr
from graphrag_rdf.pipeline.definition import PipelineDefinition, StepDefinition, meant, read_definition
from graphrag_rdf.pipeline.flows import FLOWS, Messages, Plan, Stage
from graphrag_rdf.rdf import iris
from graphrag_rdf.steps.answer import give_again
from graphrag_rdf.steps.kinds import StepKind, kinds, read_value
from graphrag_rdf.steps.state import Answering, Called, Context, Known, Option, State
from graphrag_rdf.trace.messages import GraphRagResponse
from graphrag_rdf.trace.recorder import TraceRecorder
from graphrag_rdf.trace.reuse import KeptAnswer
from graphrag_rdf.wing import absent


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline with its folder.

    Attributes:
        prompt_folders: where its prompts are; the first that has one counts.
        folders: where all pipelines are.
        unused: what its pipeline.yaml holds that no step reads, in words.
        called: the pipelines that it names, by name.
        ignored: settings, `step.parameter`, for which it has no step.
    """

    definition: PipelineDefinition
    prompt_folders: tuple[Path, ...]
    folders: tuple[Path, ...]
    unused: tuple[str, ...] = ()
    called: Mapping[str, Pipeline] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

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

    @property
    def needs_model(self) -> bool:
        """Whether a step of its own cannot do without a model."""
        own = [step for step in self.definition.steps if not step.pipeline]
        return any(step.kind.ways[step.choose(with_model=False)].needs_model for step in own)

    def parameters(self, *, with_model: bool) -> dict[str, dict[str, Any]]:
        """What each step uses, and its parameters; of a called pipeline those of its steps."""
        parameters = _parameters(
            [(step, step.choose(with_model=with_model)) for step in self.definition.steps]
        )
        for step in self.definition.steps:
            if step.pipeline:
                parameters[step.name]["parameters"] = self.called[step.pipeline].parameters(
                    with_model=with_model
                )
        return parameters

    def with_stored(self, settings: Mapping[str, Mapping[str, str]]) -> Pipeline:
        """The pipeline, and those that it calls, with what is set for them.

        Args:
            settings: pipeline → `step.parameter` → value as text.

        Raises:
            ConfigError: as `with_settings`.
        """
        called = {name: pipeline.with_stored(settings) for name, pipeline in self.called.items()}
        return replace(self, called=called).with_settings(settings.get(self.definition.name, {}))

    def with_settings(self, settings: Mapping[str, str]) -> Pipeline:
        """The pipeline with `step.parameter` (or `step.use`) set from text. What it has no step for is set in
        the pipelines whose steps it runs.

        Raises:
            ConfigError: for an unknown step or parameter, or a value that does not fit.
        """
        steps = {step.name: step for step in self.definition.steps}
        called = dict(self.called)
        for key, text in settings.items():
            name, _, parameter = key.partition(".")
            if name not in steps:
                called |= self._passed_on(called, key, text)
                continue
            steps[name] = self._set(steps[name], parameter, text)
        definition = self.definition.model_copy(update={"steps": tuple(steps.values())})
        return replace(self, definition=definition, called=called)

    def _passed_on(self, called: Mapping[str, Pipeline], key: str, text: str) -> dict[str, Pipeline]:
        """The pipelines whose steps this one runs, with a setting; those without such a step ignore it."""
        changed, follows = dict[str, Pipeline](), False
        for name in {step.run for step in self.definition.steps if step.run}:
            try:
                changed[name], follows = called[name].with_settings({key: text}), True
            except UnknownParameterError:
                changed[name] = replace(called[name], ignored=(*called[name].ignored, key))
        if not follows:
            raise self._no_step(key, *key.partition(".")[::2])
        return changed

    def _no_step(self, key: str, name: str, parameter: str) -> UnknownParameterError:
        steps = self.definition.steps
        meant = [f"{step.name}.{key}" for step in steps if key in step.kind.parameters]
        hint = (
            tr("did you mean {names}?").format(names=alternatives(meant))
            if meant
            else tr("steps: {names}").format(names=", ".join(s.name for s in steps))
        )
        elsewhere = self._others(name, lambda kind: parameter == "use" or parameter in kind.parameters)
        return UnknownParameterError(
            tr("{definition} has no step {name!r}").format(definition=self.definition.name, name=name),
            hint=_hint(elsewhere) or hint,
        )

    def _set(self, step: StepDefinition, parameter: str, text: str) -> StepDefinition:
        kind, pipeline = step.kind, self.definition.name
        if parameter == "use":
            if text not in kind.uses:
                elsewhere = self._others(step.name, lambda kind: text in kind.ways)
                hint = _hint(elsewhere) or tr("it can use: {names}").format(names=", ".join(kind.uses))
                message = (
                    tr("step {step} of {pipeline} cannot use {way!r}: {others} can")
                    if elsewhere
                    else tr("step {step} of {pipeline} cannot use {way!r}")
                )
                raise UnknownParameterError(
                    message.format(
                        step=step.name, pipeline=pipeline, way=text, others=alternatives(elsewhere)
                    ),
                    hint=hint,
                )
            return step.model_copy(update={"use": text})
        if parameter not in kind.parameters:
            elsewhere = self._others(step.name, lambda kind: parameter in kind.parameters)
            message = (
                tr("step {step} of {pipeline} has no parameter {parameter!r}: {others} has it")
                if elsewhere
                else tr("step {step} of {pipeline} has no parameter {parameter!r}")
            )
            raise UnknownParameterError(
                message.format(
                    step=step.name, pipeline=pipeline, parameter=parameter, others=alternatives(elsewhere)
                ),
                hint=_hint(elsewhere) or meant(parameter, ["use", *kind.parameters]),
            )
        value = read_value(kind.parameters[parameter], text)
        changed = step.model_copy(update={"parameters": {**step.parameters, parameter: value}})
        changed.check()
        return changed

    def _others(self, step: str, fits: Callable[[StepKind], bool]) -> list[str]:
        """Other pipelines in which the step of this name is of a fitting kind. Invalid ones are left out:
        the error is about none of them.
        """
        pipelines = []
        for name in {*pipeline_names(self.folders)} - {self.definition.name}:
            with suppress(ConfigError):
                step_there = load_pipeline(name, self.folders).step(step)
                if step_there is not None and fits(step_there.kind):
                    pipelines.append(name)
        return sorted(pipelines)

    def without_effect(self, settings: Iterable[str], *, with_model: bool) -> dict[str, str]:
        """Those of the settings that the ways in use do not follow → why, in words.

        Args:
            settings: `step.parameter`.
        """
        reasons = {}
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
            reasons[key] = tr("{name} uses {use}, and only {names} follows it").format(
                name=name, use=use, names=alternatives(follow)
            )
        return reasons

    def run(
        self,
        context: Context,
        state: State,
        *,
        model: str | None,
        kept: KeptAnswer | None = None,
    ) -> Generator[GraphRagResponse, None, None]:
        """Run the pipeline on a question; the messages, in the order of `trace.messages`.

        A step that fails ends the trace with an error node and the run with an error message. Closing the
        iterator (a client that hangs up) closes the trace as cancelled.

        Args:
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
                recorder.cancel()
        if recorder.barred:
            state.warn("source_forgotten", tr("a document was forgotten meanwhile: the trace was not kept"))
        answer = {
            "question": state.question,
            "question_iri": recorder.question.value,
            "pipeline": self.definition.name,
            **state.final,
            "steps": recorder.steps,
            "usage": _usage(recorder, state),
            **({"stopped_by": state.work.stopped_by} if state.work.stopped_by else {}),
            "seconds": recorder.milliseconds() / 1000,
            "cached": kept is not None,
            **({"original": kept.question.value} if kept is not None else {}),
        }
        yield recorder.final(answer, model)

    def explore(self, context: Context, state: State, *, model: str | None) -> Iterator[GraphRagResponse]:
        """Run only what finds (grounding and exploration), for retrieval without an answer.

        Raises:
            ConfigError: when no step does.
            GraphRagError: of the step that failed, once the trace says so.
        """
        finding = [(step, use) for step, use in self._chosen(model) if step.kind.finds]
        if not finding:
            raise ConfigError(
                tr("{definition} has no step that searches").format(definition=self.definition.name),
                hint=tr("retrieve with graph_rag, for instance"),
            )
        try:
            yield from self._begin(context, state, finding, model)
            for step, use in finding:
                yield from _told(_run_step(step, use, context, state))
        except Exception as error:
            for _ in context.recorder.fail(error, type(error).__name__):
                pass  # the trace tells of it; the caller hears the error itself
            raise
        except BaseException:  # interrupted
            context.recorder.cancel()
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
            parameters=self._recorded(steps, model),
            model=model,
            include=state.include,
            exclude=state.exclude,
        )

    def _recorded(
        self, steps: Sequence[tuple[StepDefinition, str]], model: str | None
    ) -> dict[str, dict[str, Any]]:
        """Parameters and limits, also those of pipelines whose steps run in this run."""
        parameters = _parameters(steps)
        for step, _ in steps:
            if step.run:
                inside = self.called[step.run]
                recorded = inside._recorded(inside._chosen(model), model)
                parameters |= {f"{step.name}.{name}": values for name, values in recorded.items()}
        return {**parameters, "limits": self.definition.limits} if self.definition.limits else parameters

    def _flow(
        self, context: Context, state: State, steps: Sequence[tuple[StepDefinition, str]], model: str | None
    ) -> Messages:
        for key in self.ignored:
            detail = tr("{name} has no parameter {parameter}: it has no effect")
            state.warn("setting_ignored", detail.format(name=self.definition.name, parameter=key))
        slots: dict[str, list[Stage]] = {}
        for step, use in steps:
            if step.call:
                run = partial(self._call, step.call, model)
            elif step.run:
                run = partial(self._run, step.run, model)
            else:
                run = partial(_run_step, step, use)
            slots.setdefault(step.slot, []).append(Stage(run, self._option(step), step.stop_when_empty))
        state.answering = next(
            (
                Answering(step.values_of(way), {**way.prompts, **step.prompts})
                for step, use in steps
                if not step.pipeline and (way := step.kind.ways[use]).continues
            ),
            None,
        )
        plan = Plan(slots, self.definition.limits, context.jobs)
        needs = {name: pipeline.definition.needs for name, pipeline in self.called.items()}
        context = replace(context, call=partial(self._answer_of, model=model), callees=needs)
        return FLOWS[self.definition.flow].run(plan, context, state)

    def _option(self, step: StepDefinition) -> Option:
        """A step as a router sees it."""
        if not step.pipeline:
            return Option(step.name)
        inside = self.called[step.pipeline]
        needs = (*inside.definition.needs, *(("model",) if inside.needs_model else ()))
        return Option(step.name, inside.definition.good_for, needs)

    def _run(self, name: str, model: str | None, context: Context, state: State) -> Messages:
        """Run the steps of another pipeline in this run."""
        pipeline = self.called[name]
        inside = replace(context, prompt_folders=pipeline.prompt_folders)
        return pipeline._flow(inside, state, pipeline._chosen(model), model)

    def _call(self, name: str, model: str | None, context: Context, state: State) -> Messages:
        """Run another pipeline on the item in hand, else on the question, as a run of its own."""
        yield None
        question = state.question if state.work.item is None else str(state.work.item)
        called = yield from self._answer_of(name, question, context, state, model=model)
        state.work.results.append(called.answer)

    def _answer_of(
        self,
        name: str,
        question: str,
        context: Context,
        state: State,
        earlier: Sequence[Known] = (),
        *,
        model: str | None,
    ) -> Generator[GraphRagResponse, None, Called]:
        """See `steps.state.Call`."""
        pipeline = self.called.get(name)
        if pipeline is None:
            raise ConfigError(
                tr("{definition} has no pipeline {name} to call").format(
                    definition=self.definition.name, name=name
                ),
                hint=tr("add it to calls: in {folder}").format(folder=self.folder),
            )
        recorder = context.recorder.sub_run(pipeline.definition.question)
        asked = State(question, state.language, known=earlier, include=state.include, exclude=state.exclude)
        inside = replace(context, recorder=recorder, prompt_folders=pipeline.prompt_folders, reuse=None)
        with closing(pipeline.run(inside, asked, model=model)) as messages:
            for last in messages:
                if last.message_type == "explain":
                    yield context.recorder.pass_on(last, recorder)
        context.recorder.last = recorder.last
        if last.answer is None:
            message = (last.error or {}).get("message", tr("it has no answer"))
            raise GraphRagError(
                tr("pipeline {name}, called by {definition}: {said}").format(
                    name=name, definition=self.definition.name, said=message
                )
            )
        state.work.usage.append(last.answer["usage"])
        return Called(last.answer, asked)


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


def _usage(recorder: TraceRecorder, state: State) -> dict[str, Any]:
    """Calls, tokens and cost of a run and of the runs that it called; None when unknown."""
    own = {
        "llm_calls": recorder.calls,
        "in_tokens": recorder.in_tokens,
        "out_tokens": recorder.out_tokens,
        "cost_usd": recorder.cost_usd,
    }
    usages = {
        key: [usage[key] for usage in (own, *state.work.usage) if usage[key] is not None] for key in own
    }
    return {key: sum(counts) if counts else None for key, counts in usages.items()}


def _told(messages: Messages) -> Iterator[GraphRagResponse]:
    return (message for message in messages if message is not None)


def _run_step(step: StepDefinition, use: str, context: Context, state: State) -> Messages:
    if context.gateway is not None or context.reranker is not None:
        yield None
    way = step.kind.ways[use]
    if way.needs_model and context.gateway is None:
        without_model = [name for name, other_way in step.kind.ways.items() if not other_way.needs_model]
        if state.work.options and all("model" in option.needs for option in state.work.options):
            without_model = []  # rules could choose only what needs a model, too
        raise LlmError(
            tr("the step {step} needs a model, and none is set").format(step=step.name),
            "model",
            (
                tr("name one with --model, or use it without one: --set {step}.use={way}").format(
                    step=step.name, way=without_model[0]
                )
                if without_model
                else tr("name one with --model")
            ),
        )
    context = replace(context, prompts={**way.prompts, **step.prompts})
    yield from way.run(context, state, step.values_of(way))


def _parameters(steps: Sequence[tuple[StepDefinition, str]]) -> dict[str, dict[str, Any]]:
    return {
        step.name: {use: step.pipeline}
        if step.pipeline
        else {"use": use, **step.values_of(step.kind.ways[use])}
        for step, use in steps
    }


def pipeline_names(folders: Sequence[Path]) -> list[str]:
    """The names of all pipelines that answer questions, sorted. `ingest.stages` reads that of the ingest."""
    names = {path.parent.name for folder in folders for path in folder.glob("*/pipeline.yaml")}
    return sorted(names - {"ingest"})


def all_pipelines(folders: Sequence[Path]) -> list[Pipeline]:
    """All pipelines, by name. Where wings are absent, those that cannot be read are left out.

    Raises:
        ConfigError: see `load_pipeline`.
    """
    pipelines = []
    for name in pipeline_names(folders):
        try:
            pipelines.append(load_pipeline(name, folders))
        except ConfigError:
            if not absent():
                raise
    return pipelines


def load_pipeline(name: str, folders: Sequence[Path], callers: Sequence[str] = ()) -> Pipeline:
    """The pipeline of a name; later folders override earlier ones.

    Args:
        callers: the pipelines that call it, outermost first.

    Raises:
        ConfigError: when there is none, or its definition is malformed.
    """
    places = [folder / name for folder in folders if (folder / name / "pipeline.yaml").is_file()]
    if name not in (names := pipeline_names(folders)):
        raise ConfigError(
            tr("there is no pipeline named {name!r}").format(name=name),
            hint=tr("known: {known}").format(known=", ".join(names)),
        )
    path = places[-1] / "pipeline.yaml"
    try:
        definition, unused = read_definition(path.read_text("utf-8"))
        definition.check()
    except (yaml.YAMLError, ValidationError, OSError) as error:
        raise ConfigError(f"{path}: {short_cause(error)}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", hint=error.hint) from error
    prompts = [places[-1]]
    if definition.prompts_of is not None:
        if definition.prompts_of not in pipeline_names(folders):
            raise ConfigError(
                tr("{path}: prompts_of: there is no pipeline named {prompts_of!r}").format(
                    path=path, prompts_of=definition.prompts_of
                )
            )
        prompts += [at for folder in reversed(folders) if (at := folder / definition.prompts_of).is_dir()][:1]
    called: dict[str, Pipeline] = {}
    for callee in sorted({step.pipeline for step in definition.steps if step.pipeline} | {*definition.calls}):
        if callee in (path_of := (*callers, name)):
            raise ConfigError(
                tr("{path}: pipelines call each other in a circle: {names}").format(
                    path=path, names=" → ".join((*path_of, callee))
                )
            )
        try:
            called[callee] = load_pipeline(callee, folders, path_of)
        except ConfigError as error:
            raise ConfigError(f"{path}: {callee}: {error}", hint=error.hint) from error
    words = tuple(f"{path}: {words}" for words in unused)
    return Pipeline(definition, tuple(prompts), tuple(folders), words, called)


def _hint(pipelines: Sequence[str]) -> str:
    if not pipelines:
        return ""
    message = tr("choose the pipeline {names}, e.g. with --pipeline")
    return message.format(names=alternatives(pipelines))


kinds()  # readers of traces know the nodes of all steps from now on
