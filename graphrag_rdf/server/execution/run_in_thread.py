"""Work that waits for the system, in a thread of its own: processes that start and end, files that go.

The threads of the event loop are few, and pages use them: no query is to wait for those.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run something in a thread that is started for it, and wait for what it returns.

    Raises:
        Exception: what it raises.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(call: Callable[[Any], None], what: Any) -> None:
        if not done.done():
            call(what)

    def run() -> None:
        try:
            found = work(*args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            told: tuple[Callable[[Any], None], Any] = done.set_exception, error
        else:
            told = done.set_result, found
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, *told)

    threading.Thread(target=run, name="aside").start()
    return await done
