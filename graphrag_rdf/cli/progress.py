"""Progress of long work: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from graphrag_rdf.cli.output import is_quiet, note, on_terminal, one_line
from graphrag_rdf.i18n import later, tr

if TYPE_CHECKING:
    from graphrag_rdf.llm.budget import Budget

_EVERY = 10.0
"""Seconds between lines without a terminal."""


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
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        if on_terminal(err=True) and not is_quiet():
            self._bar = _bar(self._things)
            self._task = self._bar.add_task(tr("reading"), total=None, used="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, path: str) -> None:
        """See `ingest.schedule.Progress`."""
        total = max(done, total)
        if self._bar is not None:
            name = one_line(path).rsplit("/", 1)[-1][:30]
            self._bar.update(self._task, completed=done, total=total, description=name, used=self._used())
        elif time.monotonic() - self._said >= _EVERY:
            self._said = time.monotonic()
            parts = (
                tr("{done} {things} done, {total} known").format(done=done, things=self._things, total=total),
                path,
                self._used(),
            )
            note("; ".join(filter(None, parts)))

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


def _bar(things: str) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(things),
        TimeRemainingColumn(),
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
