"""Flows: the order in which the steps of a pipeline run.

    sequence     one after another
    loop         begin; repeat, round by round, until a step is done or a limit is reached; end
    map_reduce   begin; split makes items; each runs for every item, several at once; reduce joins results
    best_first   begin finds items with scores; visit takes the best one, and may find more, until none is
                 left, a step is done or a limit is reached; end
    choice       choose names a step of the slot option, which goes on alone

Each flow has slots, and each step of a pipeline.yaml names its slot. A slot may hold several steps, which run
in order. Steps and flow share `State.work`.
"""

from __future__ import annotations

import copy
import heapq
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from queue import SimpleQueue
from typing import Any, TypeAlias

from graphrag_rdf.errors import LlmError
from graphrag_rdf.steps.state import Context, Option, State, Work
from graphrag_rdf.trace.messages import GraphRagResponse

Messages: TypeAlias = Iterator[GraphRagResponse | None]
"""Messages of steps; None before a step that may take long."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A step, ready to run.

    Attributes:
        option: what it is among others, in the flow `choice`.
        stop_when_empty: whether, of a sequence, only the last step still runs if this one finds nothing.
    """

    run: Callable[[Context, State], Messages]
    option: Option
    stop_when_empty: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a flow runs.

    Attributes:
        slots: slot → its steps, in order; those of a sequence are in the slot "".
        limits: rounds, visits, tokens or seconds → the most.
        jobs: items at once.
    """

    slots: Mapping[str, Sequence[Stage]]
    limits: Mapping[str, float] = field(default_factory=dict)
    jobs: int = 4


def sequence(plan: Plan, context: Context, state: State) -> Messages:
    """See the module."""
    *stages, last = plan.slots[""]
    for stage in stages:
        yield from stage.run(context, state)
        if stage.stop_when_empty and state.empty:
            break
    yield from last.run(context, state)


def loop(plan: Plan, context: Context, state: State) -> Messages:
    """See the module."""
    yield from _all(plan, "begin", context, state)
    limits = _Limits(plan, context, state)
    while not limits.reached("rounds"):
        yield from _limited(plan, "repeat", limits.within(context), state)
    yield from _all(plan, "end", context, state)


def best_first(plan: Plan, context: Context, state: State) -> Messages:
    """See the module."""
    work = state.work
    queue: list[tuple[float, int, Any]] = []
    number = 0

    def queued() -> bool:
        nonlocal number
        for score, item in work.found:
            heapq.heappush(queue, (-score, number, item))  # the first found of equally good ones
            number += 1
        work.found = []
        return bool(queue)

    yield from _all(plan, "begin", context, state)
    limits = _Limits(plan, context, state)
    while queued() and not limits.reached("visits"):
        work.item = heapq.heappop(queue)[2]
        yield from _limited(plan, "visit", limits.within(context), state)
    work.item = None
    work.stopped_by = work.stopped_by or "empty"
    yield from _all(plan, "end", context, state)


def choice(plan: Plan, context: Context, state: State) -> Messages:
    """See the module."""
    state.work.options = [stage.option for stage in plan.slots["option"]]
    yield from _all(plan, "choose", context, state)
    (chosen,) = (stage for stage in plan.slots["option"] if stage.option.name == state.work.choice)
    yield from chosen.run(context, state)


def map_reduce(plan: Plan, context: Context, state: State) -> Messages:
    """See the module. Results are in the order of items, whichever is done first."""
    yield from _all(plan, "begin", context, state)
    yield from _all(plan, "split", context, state)
    branches = [(_branch(context), _copy(state, n, item)) for n, item in enumerate(state.work.items, start=1)]
    yield None
    yield from _at_once(plan, branches)
    if branches:
        context.recorder.last = tuple(node for branch, _ in branches for node in branch.recorder.last)
    for _, branch_state in branches:
        state.work.results += branch_state.work.results
        state.work.usage += branch_state.work.usage
    yield from _all(plan, "reduce", context, state)


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow by what a pipeline.yaml may hold.

    Attributes:
        slots: slot → whether it must have a step; a sequence has none.
        limits: those that it obeys; one of them must be given, if there are any.
    """

    run: Callable[[Plan, Context, State], Messages]
    slots: Mapping[str, bool] = field(default_factory=dict)
    limits: tuple[str, ...] = ()


FLOWS: Mapping[str, Flow] = {
    "sequence": Flow(sequence),
    "loop": Flow(loop, {"begin": False, "repeat": True, "end": True}, ("rounds", "tokens", "seconds")),
    "map_reduce": Flow(map_reduce, {"begin": False, "split": True, "each": True, "reduce": True}),
    "best_first": Flow(
        best_first, {"begin": True, "visit": True, "end": True}, ("visits", "tokens", "seconds")
    ),
    "choice": Flow(choice, {"choose": True, "option": True}),
}


_NEARLY = 0.1  # seconds before a deadline in which no further round begins


class _Limits:
    """Whether a flow goes on; why it does not, in `Work.stopped_by`."""

    def __init__(self, plan: Plan, context: Context, state: State) -> None:
        self._limits, self._recorder, self._work = plan.limits, context.recorder, state.work
        self._began = time.monotonic()
        self._deadline = min(context.deadline, self._began + plan.limits.get("seconds", math.inf))
        self._turns = 0

    def within(self, context: Context) -> Context:
        """A context in which calls to models and tools give up at the limit of seconds."""
        return replace(context, deadline=self._deadline)

    def reached(self, turns: str) -> bool:
        """Whether a limit is reached, or a step is done. Counts one more turn if not."""
        recorder = self._recorder
        spent = {
            turns: self._turns,
            "tokens": (recorder.in_tokens or 0) + (recorder.out_tokens or 0) + self._work.tokens,
            "seconds": time.monotonic() - self._began,
        }
        over = [name for name, most in self._limits.items() if spent[name] >= most]
        over += ["seconds"] if self._deadline - time.monotonic() < _NEARLY else []
        self._turns += 1
        self._work.stopped_by = "done" if self._work.done else next(iter(over), None)
        return self._work.stopped_by is not None


def _all(plan: Plan, slot: str, context: Context, state: State) -> Messages:
    """Run the steps of a slot in order; none after one that is done."""
    for stage in plan.slots.get(slot, ()):
        yield from stage.run(context, state)
        if state.work.done and slot in ("repeat", "visit"):
            break


def _limited(plan: Plan, slot: str, context: Context, state: State) -> Messages:
    """As `_all`; a call that gives up at the deadline ends the slot."""
    try:
        yield from _all(plan, slot, context, state)
    except LlmError as error:
        if error.kind != "deadline":
            raise
        state.work.stopped_by = "seconds"


def _branch(context: Context) -> Context:
    return replace(context, recorder=context.recorder.branch())


def _copy(state: State, number: int, item: Any) -> State:
    """A state to work on an item with, which shares no list with that of the run but the warnings."""
    copied = {field.name: copy.copy(getattr(state, field.name)) for field in fields(state)}
    return State(**{**copied, "warnings": state.warnings, "work": Work(item=item, number=number)})


def _at_once(plan: Plan, branches: Sequence[tuple[Context, State]]) -> Messages:
    """Run the slot `each` for each branch, in threads; messages as they come."""
    arrived: SimpleQueue[GraphRagResponse | None] = SimpleQueue()
    stop = threading.Event()

    def work(context: Context, state: State) -> None:
        messages = iter(()) if stop.is_set() else _all(plan, "each", context, state)
        try:
            for message in messages:
                if message is not None:
                    arrived.put(message)
                if stop.is_set():
                    return
        except BaseException:
            stop.set()
            raise
        finally:
            arrived.put(None)

    with ThreadPoolExecutor(plan.jobs, "each") as pool:
        running = [pool.submit(work, *branch) for branch in branches]
        try:
            running_count = len(running)
            while running_count:
                message = arrived.get()
                if message is None:
                    running_count -= 1
                else:
                    yield message
        finally:
            stop.set()
        for future in running:
            future.result()
