"""Things in batches: a query takes so many values at once, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def in_batches(things: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most `size` things, in order; none if there is none."""
    left = iter(things)
    while batch := list(islice(left, size)):
        yield batch
