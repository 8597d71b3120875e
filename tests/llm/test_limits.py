"""Limits per minute, on a clock that only sleeping moves."""

from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.llm.budget import WINDOW, RateLimiter


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds


def limiter(requests=None, tokens=None):
    clock = Clock()
    return RateLimiter(requests, tokens, clock=clock, sleep=clock.sleep), clock


def test_without_limits_nobody_waits():
    limits, clock = limiter()
    for _ in range(1000):
        limits.acquire(10**9)
    assert clock.now == 0.0


def test_requests_per_minute():
    limits, _ = limiter(requests=3)
    assert [limits.acquire().start for _ in range(7)] == [0, 0, 0, 60, 60, 60, 120]


def test_tokens_per_minute():
    limits, clock = limiter(tokens=100)
    starts = []
    for size, later in ((60, 10), (40, 10), (30, 0), (70, 0)):
        starts.append(limits.acquire(size).start)
        clock.now += later
    assert starts == [0, 10, 60, 70]


def test_a_call_above_the_limit_gets_a_minute_for_itself():
    limits, _ = limiter(tokens=100)
    assert [limits.acquire(size).start for size in (1, 500, 1)] == [0, 60, 120]


def test_a_call_counts_what_it_took():
    """After the answer, the expected size is replaced by the real one."""
    limits, _ = limiter(tokens=100)
    limits.acquire(100).tokens = 10
    assert limits.acquire(90).start == 0


@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 30)), max_size=40),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(50, 120),
)
def test_no_window_holds_more_than_the_limits(calls, requests, tokens):
    limits, clock = limiter(requests, tokens)
    slots = []
    for size, pause in calls:
        slots.append(limits.acquire(size))
        clock.now += pause
    for last in slots if requests or tokens else ():
        window = [
            slot for slot in slots if last.start - WINDOW < slot.start - 1e-6 and slot.start <= last.start
        ]
        window = [slot for slot in window if slot.start > last.start - WINDOW + 1e-6]
        assert requests is None or len(window) <= requests
        assert tokens is None or sum(slot.tokens for slot in window) <= tokens


def test_threads_share_the_limit():
    """Ten threads, five places: five wait, each once."""
    slept = []
    limits = RateLimiter(5, clock=lambda: 0.0, sleep=slept.append)
    threads = [threading.Thread(target=limits.acquire) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slept == [60.0] * 5


def test_waiting_takes_no_cpu(monkeypatch):
    monkeypatch.setattr("graphrag_rdf.llm.budget.WINDOW", 0.2)
    limits = RateLimiter(1)
    limits.acquire()
    cpu = time.thread_time()
    limits.acquire()
    assert time.thread_time() - cpu < 0.05
