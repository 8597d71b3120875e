"""Waits between tries, with an injected clock, sleep and draw."""

from __future__ import annotations

import email.utils

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_rdf.errors import LlmError
from graphrag_rdf.llm.failures import RetryPolicy, call_with_retries, parse_retry_after


def failing(kind, times, answer="done"):
    tried = []

    def attempt(number):
        tried.append(number)
        if len(tried) <= times:
            raise LlmError("no", kind)
        return answer

    return attempt, tried


@pytest.mark.parametrize("kind", ["rate_limit", "timeout", "connection", "server"])
def test_passing_failures_are_tried_again(kind):
    attempt, tried = failing(kind, 2)
    slept = []
    assert (
        call_with_retries(attempt, RetryPolicy(), lambda _: None, sleep=slept.append, draw=lambda: 1.0)
        == "done"
    )
    assert tried == [1, 2, 3]
    assert slept == [0.5, 1.0]


@pytest.mark.parametrize("kind", ["auth", "model", "bad_request", "budget", "unparsable"])
def test_lasting_failures_are_not(kind):
    attempt, tried = failing(kind, 9)
    with pytest.raises(LlmError):
        call_with_retries(attempt, RetryPolicy(), lambda _: None, sleep=pytest.fail)
    assert tried == [1]


def test_gives_up_after_max_retries():
    attempt, tried = failing("server", 99)
    slept = []
    with pytest.raises(LlmError):
        call_with_retries(attempt, RetryPolicy(max_retries=3), lambda _: None, sleep=slept.append)
    assert len(tried) == 4
    assert len(slept) == 3


def test_server_says_how_long():
    """At least what the server asks for, and a little apart from others who were told the same."""
    attempt, _ = failing("rate_limit", 1)
    slept = []
    call_with_retries(attempt, RetryPolicy(), lambda _: 7.0, sleep=slept.append, draw=lambda: 0.5)
    assert slept == [7.25]


def test_no_patience_for_an_hour():
    attempt, tried = failing("rate_limit", 1)
    with pytest.raises(LlmError):
        call_with_retries(attempt, RetryPolicy(), lambda _: 3600.0, sleep=pytest.fail)
    assert tried == [1]


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_waits_stay_between_zero_and_the_cap(retry, drawn):
    wait = RetryPolicy(max_retries=20_000).wait(retry, None, lambda: drawn)
    assert wait is not None
    assert 0 <= wait <= 30.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("3", 3.0),
        (" 1.5 ", 1.5),
        ("soon", None),
        ("", None),
        (email.utils.formatdate(1_000_090, usegmt=True), 90.0),
        (email.utils.formatdate(999_000, usegmt=True), 0.0),
    ],
)
def test_retry_after_header(value, seconds):
    assert parse_retry_after(value, start=1_000_000.0) == seconds


@given(st.text())
def test_retry_after_never_raises(value):
    seconds = parse_retry_after(value, start=0.0)
    assert seconds is None or seconds >= 0
