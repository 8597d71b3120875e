"""Runs a function on groups of tasks: one after the other, or several at once while they wait for a model.

An unexpected exception fails one task and not the run. A model that cannot be used, or a budget that is used
up, ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Generic, Protocol, TypeAlias, TypeVar

from graphrag_rdf.errors import GraphRagError, LlmError, defect_in_words
from graphrag_rdf.i18n import later

T = TypeVar("T")
F = TypeVar("F")

ADVICE = later(
    "the program has a defect. Run the command again with -v, and report the traceback that it prints"
)


class UnexpectedError(GraphRagError):
    """A defect of the program made one task fail; the message names the exception and its place."""


def attempt(work: Callable[[], T]) -> T | UnexpectedError:
    """Do the work of one task.

    Returns:
        the result of `work`, or an error that describes the unexpected exception and has it as its cause.

    Raises:
        GraphRagError: of `work`; these are expected.
    """
    try:
        return work()
    except GraphRagError:
        raise
    except Exception as error:  # noqa: BLE001 - the one place where a defect is caught
        unexpected = UnexpectedError(defect_in_words(error))
        unexpected.__cause__ = error
        return unexpected


class Progress(Protocol):
    """Called while a run proceeds."""

    def __call__(self, done: int, total: int, path: str) -> None:
        """`done` of `total` chunks are finished; `path` is the document at hand.

        `total` is estimated until all documents are parsed.
        """


Stop: TypeAlias = Callable[[], bool]
"""Asked between chunks whether the run should end. Running work is completed."""

Failure: TypeAlias = LlmError | UnexpectedError
"""Why a task failed."""

_FATAL = frozenset({"auth", "model"})
_MOST_LOST = 5  # calls in a row without a connection after which a server is taken to be gone
_LISTEN = 0.2  # seconds between looks whether the run should stop


class BudgetSpentError(Exception):
    """The token or cost budget is used up: stop cleanly."""


class Schedule(Generic[T, F]):
    """Finds something for each task and writes it. Only the thread that runs it writes.

    Args:
        find: does the work of a group of tasks, and returns what it found for each, or why it failed. It
            mostly waits for a model. Raises LlmError if all failed.
        write: takes the result, or why the task failed.
        stop: see `Stop`.
    """

    def __init__(
        self,
        find: Callable[[Sequence[T]], Sequence[F | Failure]],
        write: Callable[[T, F | Failure], None],
        stop: Stop,
    ) -> None:
        self._find = find
        self._write = write
        self._stop = stop
        self._answered = False
        self._lost = 0

    def run(self, groups: Iterator[Sequence[T]], jobs: int) -> None:
        """Work through the tasks.

        Args:
            groups: tasks whose work is done together.
            jobs: groups at once.

        Raises:
            LlmError: the model cannot be used at all.
            BudgetSpentError: the budget is used up.
        """
        if jobs > 1:
            self._in_threads(groups, jobs)
        else:
            self._here(groups)

    def _here(self, groups: Iterator[Sequence[T]]) -> None:
        for group in groups:
            self._finish(group, self._outcomes(group))
            if self._stop():
                return

    def _in_threads(self, groups: Iterator[Sequence[T]], jobs: int) -> None:
        """Several calls at once. When the run has to end, running calls are completed: they are paid for."""
        running: dict[Future[Sequence[F | Failure]], Sequence[T]] = {}
        ending: LlmError | BudgetSpentError | None = None
        pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="model")
        try:
            exhausted = False
            while True:
                if ending is not None or self._stop():
                    exhausted = True
                    running = {future: group for future, group in running.items() if not future.cancel()}
                while not exhausted and len(running) < jobs * 2:
                    group = next(groups, None)
                    if group is None:
                        exhausted = True
                        break
                    running[pool.submit(self._outcomes, group)] = group
                if not running:
                    break
                finished, _ = wait(running, timeout=_LISTEN, return_when=FIRST_COMPLETED)
                for future in finished:
                    group = running.pop(future)
                    try:
                        self._finish(group, future.result())
                    except (LlmError, BudgetSpentError) as error:
                        ending = ending or error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if ending is not None:
            raise ending

    def _outcomes(self, group: Sequence[T]) -> Sequence[F | Failure]:
        try:
            found = attempt(partial(self._find, group))
        except LlmError as error:
            return [error] * len(group)
        return [found] * len(group) if isinstance(found, UnexpectedError) else found

    def _finish(self, group: Sequence[T], outcomes: Sequence[F | Failure]) -> None:
        """Write what was found, and first what is no failure: a failure may end the run."""
        ordered = sorted(zip(group, outcomes, strict=True), key=lambda each: isinstance(each[1], Failure))
        judged: F | Failure | None = None
        for task, outcome in ordered:
            if outcome is not judged:  # a call that failed for several tasks is one
                self._judge(outcome)
            judged = outcome
            self._write(task, outcome)

    def _judge(self, outcome: F | Failure) -> None:
        """End the run if no task can succeed any more; otherwise only the task failed.

        That is so if the server never answered, or did not answer several calls in a row.
        """
        if not isinstance(outcome, LlmError):
            self._answered, self._lost = True, 0
        elif outcome.kind == "budget":
            raise BudgetSpentError(outcome.message) from outcome
        elif outcome.kind in _FATAL:
            raise outcome
        elif outcome.kind == "connection":
            self._lost += 1
            if not self._answered or self._lost >= _MOST_LOST:
                raise outcome
        elif outcome.kind != "timeout":
            self._answered, self._lost = True, 0
