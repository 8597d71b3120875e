"""Queries with many values, a batch at a time: a query takes so many values at once, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from graphrag_rdf.store.base import Row, Store

T = TypeVar("T")

BATCH = 500
"""Values of a query at once, as a rule."""


def in_batches(things: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of at most `size` things, in order; no list if there is nothing."""
    left = iter(things)
    while batch := list(islice(left, size)):
        yield batch


def select_in_batches(
    store: Store, template: str, name: str, things: Iterable[T], size: int = BATCH, **values: Any
) -> Iterator[Row]:
    """The rows of a template, run for a batch of things at a time.

    Args:
        name: the parameter that takes the things.
        values: the other parameters.
    """
    for batch in in_batches(things, size):
        yield from store.select(template, **{name: batch}, **values)


def updates_in_batches(
    template: str, name: str, things: Iterable[T], **values: Any
) -> list[tuple[str, dict[str, Any]]]:
    """An update for each batch of things, for `Changes.updates`."""
    return [(template, {name: batch, **values}) for batch in in_batches(things)]
