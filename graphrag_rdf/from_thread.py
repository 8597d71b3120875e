"""A generator that works in a thread of its own, read asynchronously."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TypeVar

T = TypeVar("T")


async def from_thread(begin: Callable[[], Generator[T, None, None]]) -> AsyncGenerator[T, None]:
    """What a generator yields. All of it, its end included, happens in one thread.

    Closing this iterator, or cancelling the task that reads it, closes the generator at its next item.

    Args:
        begin: makes the generator, in the thread.

    Raises:
        Exception: what the generator raises.
    """
    loop, left = asyncio.get_running_loop(), threading.Event()
    news: asyncio.Queue[tuple[bool, T | BaseException | None]] = asyncio.Queue()

    def tell(more: bool, item: T | BaseException | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(news.put_nowait, (more, item))

    def work() -> None:
        error: BaseException | None = None
        try:
            items = begin()
            try:
                for item in items:
                    tell(True, item)
                    if left.is_set():
                        break
            finally:
                items.close()
        except BaseException as found:  # noqa: BLE001 - raised again where it is waited for
            error = found
        tell(False, error)

    thread = threading.Thread(target=work, name="run", daemon=True)
    thread.start()
    ended = False
    try:
        while True:
            more, item = await news.get()
            if more:
                yield item  # type: ignore[misc]
                continue
            ended = True
            if isinstance(item, BaseException):
                raise item
            return
    finally:
        left.set()
        if not ended:  # its trace is closed before we go on
            await asyncio.shield(asyncio.to_thread(thread.join))
