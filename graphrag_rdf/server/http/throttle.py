"""Limits of one client: requests per minute, and concurrent queries."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from graphrag_rdf.server.http.problems import Problem

_CLIENTS = 10_000
"""Clients that are remembered; the least recent one is dropped."""


class Rate:
    """A bucket of tokens for each client (token bucket): bursts up to a minute's worth.

    Args:
        per_minute: requests; None for any number.
    """

    def __init__(self, per_minute: int | None) -> None:
        self.per_minute = per_minute
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count one request.

        Raises:
            Problem: 429 with Retry-After when there were too many.
        """
        if self.per_minute is None:
            return
        now = time.monotonic()
        level, then = self._buckets.pop(client, (float(self.per_minute), now))
        level = min(self.per_minute, level + (now - then) * self.per_minute / 60)
        if level < 1:
            self._buckets[client] = level, now
            wait = int((1 - level) * 60 / self.per_minute) + 1
            raise Problem(
                429,
                f"more than {self.per_minute} requests in a minute",
                headers={"Retry-After": str(wait)},
            )
        self._buckets[client] = level - 1, now
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)


class Concurrency:
    """Counts what each client has running.

    Args:
        limit: of one client.
        what: its name in messages.
    """

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._running: Counter[str] = Counter()

    @contextmanager
    def slot(self, client: str) -> Iterator[None]:
        """Hold one place.

        Raises:
            Problem: 429 with Retry-After when all places are taken.
        """
        self.enter(client)
        try:
            yield
        finally:
            self.leave(client)

    def enter(self, client: str) -> None:
        """Take a place; see `slot`."""
        if self._running[client] >= self._limit:
            raise Problem(
                429, f"you have {self._limit} {self._what} running already", headers={"Retry-After": "1"}
            )
        self._running[client] += 1

    def leave(self, client: str) -> None:
        """Give a place back."""
        self._running[client] -= 1
        if self._running[client] <= 0:
            del self._running[client]
