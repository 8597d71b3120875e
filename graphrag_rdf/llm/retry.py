"""When to try a failed call again: exponential backoff with full jitter, or what the server asks for.

Source of "full jitter": M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from graphrag_rdf.errors import LlmError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long.

    Attributes:
        max_retries: tries after the first.
        base: seconds; the first wait is between 0 and this, the next between 0 and twice this, …
        cap: no drawn wait is longer, seconds.
        patience: the call fails if the server asks for a longer wait.
    """

    max_retries: int = 5
    base: float = 0.5
    cap: float = 30.0
    patience: float = 300.0

    def wait(self, retry: int, retry_after: float | None, draw: Callable[[], float]) -> float | None:
        """Seconds to wait before a retry.

        Args:
            retry: 0 for the first retry.
            retry_after: seconds that the server asked for; None if it did not.
            draw: a random number, 0 to 1.

        Returns:
            the wait, or None to give up.
        """
        if retry >= self.max_retries or (retry_after is not None and retry_after > self.patience):
            return None
        drawn = draw() * min(self.cap, self.base * 2.0 ** min(retry, 63))
        # calls that were refused together got the same moment: the draw spreads them
        return drawn if retry_after is None else retry_after + min(drawn, self.base)


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 §10.2.3: seconds, or an HTTP date).

    Args:
        value: the header's value, None without one.
        now: POSIX time.

    Returns:
        seconds, not negative; None without a valid header.
    """
    if value is None:
        return None
    text = value.strip()
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment - now)


def call_with_retries(
    attempt: Callable[[int], T],
    policy: RetryPolicy,
    retry_after: Callable[[LlmError], float | None],
    *,
    sleep: Callable[[float], object] = time.sleep,
    draw: Callable[[], float] = random.random,
) -> T:
    """Call until it works, or retries are pointless.

    Args:
        attempt: the call, given its number from 1; raises LlmError.
        policy: how often and how long.
        retry_after: seconds that the server asked for when it failed so.
        sleep: waits so many seconds.
        draw: a random number, 0 to 1.

    Raises:
        LlmError: the last failure.
    """
    number = 0
    while True:
        number += 1
        try:
            return attempt(number)
        except LlmError as error:
            wait = policy.wait(number - 1, retry_after(error), draw) if error.retryable else None
            if wait is None:
                raise
        sleep(wait)
