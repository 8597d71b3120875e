"""What a `pipeline.yaml` says, and what is wrong with it.

It names the steps, in order, and the parameters that differ from the defaults. The kind of a step declares
what it does, its parameters and its prompts (`steps/kinds.py`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from graphrag_rdf.errors import ConfigError, alternatives
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.pipeline.flows import FLOWS
from graphrag_rdf.steps.kinds import StepKind, Value, Way, check_values, kinds
from graphrag_rdf.trace.kinds import QUESTION
from graphrag_rdf.wing import in_words

CALL = StepKind("call", QUESTION, later("Runs another pipeline."), {"call": Way(lambda *_: iter(()))})
RUN = StepKind(
    "run", QUESTION, later("Runs the steps of another pipeline."), {"run": Way(lambda *_: iter(()))}
)
"""The kinds of steps that name a pipeline; they have no parameters."""


class StepDefinition(BaseModel):
    """One step of a pipeline.yaml.

    Attributes:
        step: a kind of step; "" if another pipeline is named.
        call: a pipeline to run on the question, or on the item in hand, as a run of its own.
        run: a pipeline whose steps run in this run.
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
    run: str = ""
    slot: str = ""
    use: str = ""
    prompts: dict[str, str] = {}
    parameters: dict[str, bool | int | float | str] = {}
    stop_when_empty: bool = False

    @property
    def pipeline(self) -> str:
        """The pipeline that it names; "" if it is a step of its own."""
        return self.call or self.run

    @property
    def kind(self) -> StepKind:
        """The kind of the step. Raises ConfigError for an unknown one."""
        if self.pipeline:
            return CALL if self.call else RUN
        by_name = kinds()
        if self.step not in by_name:
            close = difflib.get_close_matches(self.step, by_name)
            hint = (
                tr("did you mean {names}?").format(names=close[0])
                if close
                else tr("kinds: {names}").format(names=", ".join(by_name))
            )
            raise ConfigError(
                tr("step {name} is of the unknown kind {step!r}").format(name=self.name, step=self.step)
                + in_words(),
                hint=hint,
            )
        return by_name[self.step]

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
        parameters = {
            name: self.parameters[name] for name in way.parameters.model_fields if name in self.parameters
        }
        return check_values(way.parameters, self.name, parameters)

    def check(self) -> None:
        """Refuse kinds, ways, prompts and parameters that there are not, and values out of bounds.

        Raises:
            ConfigError: naming what is wrong.
        """
        if [bool(self.step), bool(self.call), bool(self.run)].count(True) != 1:
            raise ConfigError(tr("step {name} needs one of step:, call: and run:").format(name=self.name))
        kind = self.kind
        if self.use and self.use not in kind.uses:
            reading_steps = [
                kind_of_step.name for kind_of_step in kinds().values() if self.use in kind_of_step.ways
            ]
            hint = (
                tr("write step: {name}").format(name=reading_steps[0])
                if reading_steps
                else tr("it can use: {names}").format(names=", ".join(kind.uses))
            )
            raise ConfigError(
                tr("step {name} cannot use {use!r}").format(name=self.name, use=self.use), hint=hint
            )
        for missing, available, named in (
            (later("step {step} has no parameter {name!r}"), list(kind.parameters), self.parameters),
            (later("step {step} has no prompt {name!r}"), list(kind.prompts), self.prompts),
        ):
            for name in named:
                if name not in available:
                    raise ConfigError(
                        tr(missing).format(step=self.name, name=name),
                        hint=meant(name, available),
                    )
        for way in kind.ways.values():
            self.values_of(way)


class PipelineDefinition(BaseModel):
    """A pipeline.yaml.

    Attributes:
        flow, limits: see `flows`.
        label, question: of the question in traces: what its label begins with, and its classes.
        prompts_of: another pipeline, whose prompts are used where the folder lacks one.
        calls: further pipelines that its steps may run, e.g. as tools.
        good_for: what kind of question it suits, for a step that chooses between pipelines.
        needs: what the store must have for it to find anything.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str
    flow: str
    limits: dict[str, float] = {}
    label: str
    question: tuple[str, ...]
    prompts_of: str | None = None
    calls: tuple[str, ...] = ()
    good_for: str = ""
    needs: tuple[Literal["facts", "entities", "chunks", "communities"], ...] = ()
    steps: tuple[StepDefinition, ...] = Field(min_length=1)

    def check(self) -> None:
        """Refuse a flow that there is not, or that lacks a slot or limit, and steps that do not fit.

        Raises:
            ConfigError: naming what is wrong.
        """
        if self.flow not in FLOWS:
            raise ConfigError(
                tr("unknown flow {flow!r}").format(flow=self.flow), hint=meant(self.flow, list(FLOWS))
            )
        flow = FLOWS[self.flow]
        slots = {step.slot for step in self.steps}
        for step in self.steps:
            step.check()
            if flow.slots and step.slot not in flow.slots:
                hint = tr("its slots are {names}").format(names=", ".join(flow.slots))
                raise ConfigError(
                    tr("step {step}: flow {flow} has no slot {slot!r}").format(
                        step=step.name, flow=self.flow, slot=step.slot
                    ),
                    hint=hint,
                )
        if not flow.slots and slots != {""}:
            raise ConfigError(
                tr("flow {flow} has no slots: its steps run one after another").format(flow=self.flow)
            )
        for slot, needed in flow.slots.items():
            if needed and slot not in slots:
                raise ConfigError(
                    tr("flow {flow} needs a step with slot: {slot}").format(flow=self.flow, slot=slot)
                )
        names = [step.name for step in self.steps]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ConfigError(tr("two steps are named {twice}").format(twice=twice[0]))
        for limit, most in self.limits.items():
            if limit not in flow.limits or not most > 0:
                raise ConfigError(
                    tr("limits: {limit}: {most:g} is no limit of flow {flow}").format(
                        limit=limit, most=most, flow=self.flow
                    ),
                    hint=tr("it obeys {limits}, above 0").format(limits=", ".join(flow.limits) or tr("none")),
                )
        if flow.limits and not self.limits:
            raise ConfigError(
                tr("flow {flow} needs limits").format(flow=self.flow),
                hint=tr("one of {names}").format(names=", ".join(flow.limits)),
            )


_RETIRED = {"synonym_weight"}
"""Parameters that earlier versions had."""
_FIRST_PROMPTS = {"ground": "concepts", "focus": "select", "synthesise": "answer"}
"""Kind of step → what its `prompt:` was for, in files of earlier versions."""


@lru_cache(maxsize=64)
def read_definition(text: str) -> tuple[PipelineDefinition, tuple[str, ...]]:
    """The definition in a pipeline.yaml, and what is unused in it. Each text is read once, as that takes
    longer than many a query.

    Files of earlier versions are read too. Unused are keys that kinds of steps declare now, and parameters
    that only other kinds, or earlier versions of the program, have.

    Raises:
        ConfigError: if it holds no keys.
        yaml.YAMLError: if it is malformed.
        ValidationError: if keys are missing, unknown, or of another type.
    """
    data = yaml.safe_load(text)
    if not isinstance(data, dict):
        raise ConfigError(tr("the file has no keys"), hint=tr("copy one of the shipped ones"))
    unused: list[str] = []
    steps = data.get("steps")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            unused += _take_unused(step)
    return PipelineDefinition.model_validate(data), tuple(unused)


def _take_unused(step: dict[str, Any]) -> Iterator[str]:
    by_name = kinds()
    kind = by_name.get(step.get("step", ""))
    keys = [key for key in ("class", "templates") if step.pop(key, None) is not None]
    if kind is not None:
        prompts = {key: step.pop(key) for key in list(step) if key == "prompt" or key.endswith("_prompt")}
        for key, file in prompts.items():
            role = key.removesuffix("prompt").rstrip("_") or _FIRST_PROMPTS.get(kind.name, "")
            step.setdefault("prompts", {})[role] = file
        parameters = step.get("parameters") or {}
        elsewhere = (
            _RETIRED.union(*(kind_of_step.parameters for kind_of_step in by_name.values()))
            - kind.parameters.keys()
        )
        for name in [name for name in parameters if name in elsewhere]:
            del parameters[name]
            keys.append(name)
    if keys:
        yield tr("step {step} does not use {names}: remove them").format(
            step=step.get("name"), names=", ".join(keys)
        )


def meant(name: str, available: Sequence[str]) -> str:
    """A way out for a name that is not known: those that are spelt alike, else all."""
    close = difflib.get_close_matches(name, available)
    if close:
        return tr("did you mean {names}?").format(names=alternatives(close))
    return tr("it has: {names}").format(names=", ".join(available))
