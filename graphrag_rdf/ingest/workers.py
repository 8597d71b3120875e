"""Work of an ingest that other processes do: reading files, and extraction by rules.

Both are functions of what they are given, so where they run makes no difference to the store. Models are
asked from this process, where limits and budget are known. It alone writes, in the order of the documents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from graphrag_rdf.wing import load, wings

if TYPE_CHECKING:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.ingest.extractors import Extracted

T = TypeVar("T")


class Workers(Protocol):
    """Processes that work for an ingest."""

    @property
    def ahead(self) -> int:
        """How many pieces of work to have under way."""

    def submit(self, work: Callable[..., T], *arguments: Any) -> Callable[[], T]:
        """Begin some work elsewhere; a function that waits for its result, or raises its error.

        Args:
            work: a function of a module, or a partial one of it; it may run more than once.
        """


def workers_of(settings: Settings) -> AbstractContextManager[Workers | None]:
    """The workers that the settings name; None without any."""
    for wing in wings():
        if wing.workers and (opened := load(wing.workers)(settings)) is not None:
            workers: AbstractContextManager[Workers] = opened
            return workers
    return nullcontext()


def begun_ahead(items: Iterable[T], begin: Callable[[T], T], most: int) -> Iterator[T]:
    """Items in their order, each begun while some before it are still to come."""
    waiting: deque[T] = deque()
    for item in items:
        waiting.append(begin(item))
        if len(waiting) > most:
            yield waiting.popleft()
    yield from waiting


def extract_by_rules(settings: str, text: str, sentences: Any, described: dict[str, Any]) -> Extracted:
    """What rules find in a chunk.

    Args:
        settings: as JSON.
        described: see `extractors.ChunkExtractor.extract`.
    """
    return _extractor(settings)(text, sentences, **described)


@cache
def _extractor(settings: str) -> Callable[..., Extracted]:
    from graphrag_rdf.config import Settings
    from graphrag_rdf.ingest.extractors import rule_extractor

    return rule_extractor(Settings.model_validate_json(settings)).extract
