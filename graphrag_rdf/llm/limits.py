"""Limits of requests and tokens per minute, kept by waiting.

A sliding window, as providers count: no sixty seconds have more than the limit. A caller books the earliest
free moment under the lock, and sleeps outside it until then.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW = 60.0
"""Seconds that the limits are counted over."""


@dataclass(slots=True)
class Slot:
    """A booked call.

    Attributes:
        start: when it may begin, on the limiter's clock.
        tokens: the booked number; set it to the real one once it is known.
    """

    start: float
    tokens: int


class RateLimiter:
    """Delays calls so that limits are kept; first come, first served.

    Args:
        requests_per_minute: None for no limit.
        tokens_per_minute: None for no limit. A call that alone is above the limit gets a minute for itself.
        clock: monotonic seconds.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._slots: deque[Slot] = deque()

    def acquire(self, tokens: int = 0) -> Slot:
        """Wait for a free place.

        Args:
            tokens: expected size of the call, prompt and answer.

        Returns:
            the place; correct its `tokens` afterwards.
        """
        if self._requests is None and self._tokens is None:
            return Slot(0.0, tokens)
        with self._lock:
            now = self._clock()
            while self._slots and self._slots[0].start <= now - WINDOW:
                self._slots.popleft()
            slot = Slot(self._earliest(now, tokens), tokens)
            self._slots.append(slot)
        if slot.start > now:
            self._sleep(slot.start - now)
        return slot

    def _earliest(self, now: float, tokens: int) -> float:
        start = max(now, self._slots[-1].start) if self._slots else now
        if self._requests is not None and len(self._slots) >= self._requests:
            start = max(start, self._slots[-self._requests].start + WINDOW)
        if self._tokens is not None:
            counted = [slot for slot in self._slots if slot.start + WINDOW > start]
            used = sum(slot.tokens for slot in counted)
            for slot in counted:
                if used + tokens <= self._tokens:
                    break
                start = slot.start + WINDOW
                used -= slot.tokens
        return start
