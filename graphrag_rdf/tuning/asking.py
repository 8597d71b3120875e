"""Concurrent model calls with progress, for tunings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from graphrag_rdf.errors import LlmError
from graphrag_rdf.ingest.schedule import BudgetSpentError, Failure, Progress, Schedule, Stop, UnexpectedError

T = TypeVar("T")
F = TypeVar("F")


class Asking:
    """Makes and counts calls.

    Args:
        total: maximum number of calls.
        jobs: number of concurrent calls.
        progress: called with (finished calls, all calls, purpose).
        stop: called between calls; True ends the work. The answers so far are in the cache.
    """

    def __init__(
        self, total: int, jobs: int, progress: Progress | None = None, stop: Stop | None = None
    ) -> None:
        self._total, self._jobs = total, jobs
        self._progress = progress
        self._stop = stop or (lambda: False)
        self._done = 0

    def one(self, what: str, call: Callable[[], F]) -> F:
        """Make one call. Raises its error, or KeyboardInterrupt after a stop."""
        ((_, found),) = self.many(what, lambda _: call(), [None])
        if isinstance(found, LlmError):
            raise found
        return found

    def many(
        self, what: str, call: Callable[[T], F], things: Iterable[T]
    ) -> Sequence[tuple[T, F | LlmError]]:
        """Make a call for each thing, concurrently.

        Returns:
            each thing with the result or error, in order.

        Raises:
            LlmError: when the model cannot be used at all, or the budget is used up.
            KeyboardInterrupt: after a stop.
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
            hint = "raise the budget, and run the same command again to continue"
            raise LlmError(str(spent), "budget", hint) from spent
        if self._stop():
            raise KeyboardInterrupt
        return [(thing, found[place]) for place, thing in enumerate(listed)]

    def skip(self, number: int) -> None:
        """Reduce the total by a number of calls."""
        self._total -= number
