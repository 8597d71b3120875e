"""CPU time of short actions."""

from __future__ import annotations

import time
from collections.abc import Callable


def least_seconds(action: Callable[[], object]) -> float:
    """The least CPU seconds of three runs, of this thread."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        action()
        times.append(time.thread_time() - start)
    return min(times)
