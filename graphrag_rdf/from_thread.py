"""Runs a generator in a thread, and reads it asynchronously."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadRun(Generic[T]):
    """A run of a generator, in the thread that calls `work`.

    Args:
        begin: creates the generator, in that thread.
        ended: called in the event loop at the end.
    """

    def __init__(
        self,
        begin: Callable[[], Generator[T, None, None]],
        ended: Callable[[ThreadRun[T]], None] = lambda _: None,
    ) -> None:
        self._begin = begin
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[tuple[bool, T | BaseException | None]] = asyncio.Queue()
        self._stop = threading.Event()

    def work(self) -> None:
        """Run the generator in this thread."""
        error: BaseException | None = None
        try:
            if not self._stop.is_set():
                self._read(self._begin())
        except BaseException as found:  # noqa: BLE001 - raised again in `items`
            error = found
        self._soon(lambda: self._news.put_nowait((False, error)))
        self._soon(lambda: self._ended(self))

    def _read(self, items: Generator[T, None, None]) -> None:
        try:
            for item in items:
                self._soon(lambda item=item: self._news.put_nowait((True, item)))  # type: ignore[misc]
                if self._stop.is_set():
                    return
        finally:
            items.close()  # closes a trace as cancelled, unless it is at its end

    def close(self) -> None:
        """Stop the run at its next item."""
        self._stop.set()

    async def items(self, patience: float | None = None) -> AsyncIterator[T | None]:
        """The items as they arrive; None after `patience` seconds without one.

        Raises:
            Exception: of the generator.
        """
        while True:
            try:
                async with asyncio.timeout(patience):
                    more, item = await self._news.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(item, BaseException):
                raise item
            if not more:
                return
            yield item

    def _soon(self, call: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)


async def from_thread(begin: Callable[[], Generator[T, None, None]]) -> AsyncGenerator[T, None]:
    """The items of a generator that runs in its own thread.

    Closing this iterator, or cancelling the task that reads it, closes the generator at its next item.

    Raises:
        Exception: of the generator.
    """
    run = ThreadRun(begin)
    thread = threading.Thread(target=run.work, name="run", daemon=True)
    thread.start()
    try:
        async for item in run.items():
            assert item is not None  # noqa: S101 - there is no time limit
            yield item
    finally:
        run.close()
        await asyncio.shield(asyncio.to_thread(thread.join))  # wait until its trace is closed
