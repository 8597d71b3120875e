"""Asking a model many things at once, within what a tuning has to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from graphrag_rdf.errors import LlmError
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Progress, Schedule, Stop, UnexpectedError

T = TypeVar("T")
F = TypeVar("F")


class Asking:
    """Counts calls, and ends when it should.

    Args:
        total: calls that there may be.
        jobs: calls at once.
        progress: hears (calls done, calls in all, what was asked).
        stop: asked between calls whether to end; what was answered by then is in the cache.
    """

    def __init__(
        self, total: int, jobs: int, progress: Progress | None = None, stop: Stop | None = None
    ) -> None:
        self._total, self._jobs = total, jobs
        self._progress = progress
        self._stop = stop or (lambda: False)
        self._done = 0

    def one(self, what: str, call: Callable[[], F]) -> F:
        """One call. Raises whatever it raises, and KeyboardInterrupt when it should end."""
        ((_, found),) = self.many(what, lambda _: call(), [None])
        if isinstance(found, LlmError):
            raise found
        return found

    def many(
        self, what: str, call: Callable[[T], F], things: Iterable[T]
    ) -> Sequence[tuple[T, F | LlmError]]:
        """A call for each thing, several at once.

        Returns:
            each thing with what was found, or why nothing was; in the order of things.

        Raises:
            LlmError: when the model cannot be used at all, or the budget is spent.
            KeyboardInterrupt: when it should end.
        """
        listed = list(things)
        found: dict[int, F | LlmError] = {}

        def keep(place: int, outcome: F | Failure) -> None:
            if isinstance(outcome, UnexpectedError):
                raise outcome
            found[place] = outcome
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total, what)

        try:
            Schedule(lambda place: call(listed[place]), keep, self._stop).run(
                iter(range(len(listed))), self._jobs
            )
        except BudgetSpentError as spent:
            hint = "raise it and run the same again: what was answered is not asked again"
            raise LlmError(str(spent), "budget", hint) from spent
        if self._stop():
            raise KeyboardInterrupt
        return [(thing, found[place]) for place, thing in enumerate(listed)]

    def skip(self, number: int) -> None:
        """So many calls are not needed."""
        self._total -= number
