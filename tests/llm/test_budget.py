"""Totals and limits of a run."""

from __future__ import annotations

import threading

import pytest

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.budget import Budget, LlmUsage


def test_usage_adds_up():
    budget = Budget()
    budget.settle(budget.reserve(10), 8, 3, 0.5)
    budget.settle(budget.reserve(10), 2, None, None)
    budget.count_cached()
    assert budget.usage == LlmUsage(2, 1, 10, 3, 0.5)


def test_what_nobody_told_is_unknown_not_zero():
    budget = Budget()
    budget.settle(budget.reserve(10), None, None, None)
    assert budget.usage == LlmUsage(1, 0, None, None, None)


def test_tokens_run_out():
    budget = Budget(max_tokens=100)
    budget.settle(budget.reserve(60), 60, 30, None)
    with pytest.raises(LlmError, match="budget of 100") as caught:
        budget.reserve(11)
    assert caught.value.kind == "budget"
    assert not caught.value.retryable
    budget.reserve(10)


def test_silent_servers_are_counted_as_expected():
    budget = Budget(max_tokens=100)
    budget.settle(budget.reserve(60), None, None, None)
    with pytest.raises(LlmError):
        budget.reserve(41)


def test_failed_calls_give_back_what_they_reserved():
    budget = Budget(max_tokens=100)
    budget.release(budget.reserve(100))
    budget.reserve(100)


def test_money_runs_out():
    budget = Budget(max_cost_usd=1.0)
    budget.settle(budget.reserve(5, 0.4), 5, 5, 0.9)
    with pytest.raises(LlmError, match="1 USD"):
        budget.reserve(5, 0.2)
    budget.settle(budget.reserve(5, 0.05), 5, 5, 0.2)
    with pytest.raises(LlmError):
        budget.reserve(1, 0.0)


def test_threads_do_not_spend_the_same_rest():
    budget = Budget(max_tokens=100)
    granted = []

    def work():
        try:
            granted.append(budget.reserve(10))
        except LlmError:
            return

    threads = [threading.Thread(target=work) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 10
