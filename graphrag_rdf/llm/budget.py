"""Usage of models so far, and its limits."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TypeVar

from graphrag_rdf.errors import LlmError

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
                left = max(0, self.max_tokens - self._tokens)
                raise LlmError(
                    f"the token budget of {self.max_tokens} is used up: {left} left, {tokens} needed",
                    "budget",
                    "raise the token limit and run again: finished work is kept",
                )
            if self.max_cost_usd is not None and (
                self._cost >= self.max_cost_usd or self._cost + cost_usd > self.max_cost_usd
            ):
                raise LlmError(
                    f"the budget of {self.max_cost_usd:g} USD is used up: {self._cost:.4f} spent or in use",
                    "budget",
                    "raise the cost limit and run again: finished work is kept",
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
