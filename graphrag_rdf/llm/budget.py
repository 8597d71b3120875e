"""Usage of models so far, its limits, and limits of requests and tokens per minute, kept by waiting."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from graphrag_rdf.errors import LlmError
from graphrag_rdf.i18n import tr

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class LlmUsage:
    """Totals of a run.

    Attributes:
        calls: calls that a server answered.
        cached: calls that the cache answered; they count nowhere else.
        in_tokens, out_tokens: as far as servers report them; None if none does.
        cost_usd: as far as prices are known; None when no call's was.
        cached_in_tokens: prompt tokens from providers' caches.
    """

    calls: int = 0
    cached: int = 0
    in_tokens: int | None = None
    out_tokens: int | None = None
    cost_usd: float | None = None
    cached_in_tokens: int | None = None


def since(before: LlmUsage, now: LlmUsage) -> LlmUsage:
    """The usage between two readings."""
    return LlmUsage(
        calls=now.calls - before.calls,
        cached=now.cached - before.cached,
        in_tokens=_less(now.in_tokens, before.in_tokens),
        out_tokens=_less(now.out_tokens, before.out_tokens),
        cost_usd=_less(now.cost_usd, before.cost_usd),
        cached_in_tokens=_less(now.cached_in_tokens, before.cached_in_tokens),
    )


def _less(now: N | None, before: N | None) -> N | None:
    return None if now is None else now if before is None else now - before


@dataclass(frozen=True, slots=True)
class Reservation:
    """The reserved share of a running call."""

    tokens: int
    cost_usd: float


class Budget:
    """Adds up usage and refuses calls that would go beyond a limit. Safe with several threads.

    A call reserves its expected usage and settles its real usage, so concurrent calls do not spend the same
    remainder.

    Args:
        max_tokens: prompt and answer tokens together; None for no limit.
        max_cost_usd: None for no limit.
    """

    def __init__(self, max_tokens: int | None = None, max_cost_usd: float | None = None) -> None:
        self.max_tokens = max_tokens
        self.max_cost_usd = max_cost_usd
        self._lock = threading.Lock()
        self._usage = LlmUsage()
        self._tokens = 0
        self._cost = 0.0

    @property
    def usage(self) -> LlmUsage:
        """Totals so far."""
        return self._usage

    def reserve(self, tokens: int, cost_usd: float = 0.0) -> Reservation:
        """Reserve the expected usage of a call.

        Raises:
            LlmError: of kind `budget`, when the budget does not allow it.
        """
        with self._lock:
            if self.max_tokens is not None and self._tokens + tokens > self.max_tokens:
                available = max(0, self.max_tokens - self._tokens)
                raise LlmError(
                    tr("the token budget of {max_tokens} is used up: {left} left, {tokens} needed").format(
                        max_tokens=self.max_tokens, left=available, tokens=tokens
                    ),
                    "budget",
                    tr("raise the token limit and run again: finished work is kept"),
                )
            if self.max_cost_usd is not None and (
                self._cost >= self.max_cost_usd or self._cost + cost_usd > self.max_cost_usd
            ):
                raise LlmError(
                    tr("the budget of {max_cost_usd:g} USD is used up: {cost:.4f} spent or in use").format(
                        max_cost_usd=self.max_cost_usd, cost=self._cost
                    ),
                    "budget",
                    tr("raise the cost limit and run again: finished work is kept"),
                )
            self._tokens += tokens
            self._cost += cost_usd
        return Reservation(tokens, cost_usd)

    def release(self, reserved: Reservation) -> None:
        """The call failed and used nothing."""
        with self._lock:
            self._tokens -= reserved.tokens
            self._cost -= reserved.cost_usd

    def settle(
        self,
        reserved: Reservation,
        in_tokens: int | None,
        out_tokens: int | None,
        cost_usd: float | None,
        cached_in_tokens: int | None = None,
    ) -> None:
        """The call was answered. Unreported tokens count as reserved, but not in `usage`."""
        reported = in_tokens is not None
        with self._lock:
            self._tokens += (in_tokens or 0) + (out_tokens or 0) - reserved.tokens if reported else 0
            self._cost += cost_usd - reserved.cost_usd if cost_usd is not None else 0.0
            self._usage = replace(
                self._usage,
                calls=self._usage.calls + 1,
                in_tokens=_plus(self._usage.in_tokens, in_tokens),
                out_tokens=_plus(self._usage.out_tokens, out_tokens),
                cost_usd=_plus(self._usage.cost_usd, cost_usd),
                cached_in_tokens=_plus(self._usage.cached_in_tokens, cached_in_tokens),
            )

    def count_cached(self) -> None:
        """A call was answered from the cache."""
        with self._lock:
            self._usage = replace(self._usage, cached=self._usage.cached + 1)


def _plus(total: N | None, more: N | None) -> N | None:
    return total if more is None else more if total is None else total + more


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
            moment = self._clock()
            while self._slots and self._slots[0].start <= moment - WINDOW:
                self._slots.popleft()
            slot = Slot(self._earliest(moment, tokens), tokens)
            self._slots.append(slot)
        if slot.start > moment:
            self._sleep(slot.start - moment)
        return slot

    def _earliest(self, moment: float, tokens: int) -> float:
        start = max(moment, self._slots[-1].start) if self._slots else moment
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
