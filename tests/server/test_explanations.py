"""What explanations of empty results cost clients."""

from __future__ import annotations

import asyncio

import pytest

from graphrag_rdf.server.execution import explanations
from graphrag_rdf.server.execution.explanations import Explanations


class _Clock:
    """Time, and explanations that take some of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.made = 0
        monkeypatch.setattr(explanations.time, "monotonic", lambda: self.now)

    def ask(self, kept: Explanations, query: str, commit: int = 1, seconds: float = 0.0) -> str | None:
        async def explain(most: float) -> str | None:
            self.made += 1
            self.now += min(seconds, most)
            return None if query == "unexplained" else f"of {query}"

        return asyncio.run(kept.get((query, str(commit)), explain))


def test_a_polled_query_is_explained_once_for_each_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, kept = _Clock(monkeypatch), Explanations()
    assert [clock.ask(kept, "a") for _ in range(3)] == ["of a"] * 3
    assert [clock.ask(kept, "unexplained") for _ in range(3)] == [None] * 3
    assert clock.made == 2
    assert clock.ask(kept, "a", commit=2) == "of a"
    assert clock.made == 3


def test_slow_explanations_take_a_twentieth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, kept = _Clock(monkeypatch), Explanations()
    for number in range(1000):
        clock.ask(kept, str(number), seconds=9)
        clock.now += 1
    assert clock.made * 0.5 <= 2 + clock.now / 20
    assert clock.made > 50
    clock.now += 60
    assert clock.ask(kept, "later") == "of later"


def test_a_query_that_comes_during_an_explanation_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, inner = Explanations(), []

    async def explain(_: float) -> str | None:
        inner.append(await kept.get(("b",), explain))
        return "of a"

    assert asyncio.run(kept.get(("a",), explain)) == "of a"
    assert inner == [None]
