"""Explanations of clients' empty results: a polled query has one, and all of them take little time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

_SHARE, _SAVED = 0.05, 2.0
"""Share of the time for explanations, and how many seconds of it can be saved up."""
_BRIEF = 0.5
"""Seconds of one explanation: the response waits for it."""
_KEPT = 256


class Explanations:
    """Makes one explanation at a time, within a share of the time, and keeps it for the query and commit.

    People who try queries get explanations. Clients whose queries are often empty are not slowed down.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], str | None] = {}
        self._left = _SAVED
        self._since = time.monotonic()
        self._busy = False

    async def get(
        self, query: tuple[str, ...], explain: Callable[[float], Awaitable[str | None]]
    ) -> str | None:
        """The explanation of a query; None if it has none, or no time is left for one.

        Args:
            query: its text, all else that its result depends on, and the commit.
            explain: makes the explanation within some seconds.
        """
        if query in self._kept:
            return self._kept[query]
        start = time.monotonic()
        self._left = min(_SAVED, self._left + _SHARE * (start - self._since))
        self._since = start
        if self._busy or self._left < _BRIEF:
            return None
        self._busy = True
        try:
            explanation = await explain(_BRIEF)
        finally:
            self._busy = False
            self._left -= time.monotonic() - start
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[query] = explanation
        return explanation
