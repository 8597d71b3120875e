"""Progress of long work: a bar on a terminal, otherwise a line now and then; with -q nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from graphrag_rdf.cli.output import is_quiet, note, on_terminal, one_line
from graphrag_rdf.i18n import later, listed, tr

if TYPE_CHECKING:
    from graphrag_rdf.llm.budget import Budget

_EVERY = (10.0, 60.0)
"""Least and most seconds between lines without a terminal: the longer the work, the rarer."""
_MEANINGFUL = 3.0
"""Seconds of work before the time left is estimated."""


class IngestProgress:
    """See `ingest.schedule.Progress`; shows the progress, time left, tokens and cost on stderr.

    Args:
        budget: of the model calls; None if a server makes them.
        things: name of the counted things, in the plural.
    """

    def __init__(self, budget: Budget | None = None, things: str = later("chunks")) -> None:
        self._budget = budget
        self._things = tr(things)
        self._bar: Any = None
        self._task: Any = None
        self._begun = self._shown = time.monotonic()
        self._before = 0

    def __enter__(self) -> Self:
        if on_terminal(err=True) and not is_quiet():
            self._bar = _bar(self._things)
            self._task = self._bar.add_task(tr("reading"), total=None, left="", used="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, path: str) -> None:
        """See `ingest.schedule.Progress`."""
        seconds, total = time.monotonic(), max(done, total)
        if done < self._before:  # the next stage
            self._begun = seconds
        self._before = done
        time_left = _time_left(seconds - self._begun, done, total)
        if self._bar is not None:
            name = one_line(path).rsplit("/", 1)[-1][:30]
            self._bar.update(
                self._task, completed=done, total=total, description=name, left=time_left, used=self._used()
            )
        elif seconds - self._shown >= min(max(_EVERY[0], (seconds - self._begun) / 10), _EVERY[1]):
            self._shown = seconds
            counted = tr("{done:,} of {total:,} {things}").format(done=done, total=total, things=self._things)
            note("; ".join(filter(None, (listed(filter(None, (counted, time_left))), path, self._used()))))

    def _used(self) -> str:
        if self._budget is None:
            return ""
        usage = self._budget.usage
        parts = []
        if usage.in_tokens is not None:
            parts.append(f"{usage.in_tokens + (usage.out_tokens or 0):,} tokens")
        if usage.cost_usd is not None:
            parts.append(f"{usage.cost_usd:.4f} USD")
        return ", ".join(parts)


def _time_left(seconds: float, done: int, total: int) -> str:
    """The time left at the rate so far, such as “0:40 left”; empty if it is too early to tell, or at the end.

    Args:
        seconds: that `done` tasks took.
    """
    if seconds < _MEANINGFUL or not 0 < done < total:
        return ""
    minutes, rest = divmod(round(seconds / done * (total - done)), 60)
    hours, minutes = divmod(minutes, 60)
    time_left = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return tr("{time} left").format(time=time_left)


def _bar(things: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(things),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[used]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def question_counter(budget: Budget | None = None) -> Iterator[Callable[[int, int], None]]:
    """Progress of questions."""
    with IngestProgress(budget, later("questions")) as shown:
        yield lambda done, total: shown(done, total, "")


@contextmanager
def reading_then_questions(
    budget: Budget | None = None,
) -> Iterator[tuple[IngestProgress, Callable[[int, int], None]]]:
    """Progress of an ingest, then of questions: the first question ends the bar of the ingest."""
    with ExitStack() as shown:
        reading = shown.enter_context(IngestProgress(budget))
        counters: list[Callable[[int, int], None]] = []

        def asked(done: int, total: int) -> None:
            if not counters:
                shown.close()
                counters.append(shown.enter_context(question_counter(budget)))
            counters[0](done, total)

        yield reading, asked
