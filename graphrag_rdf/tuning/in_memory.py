"""Documents that are not ingested yet, read into memory, so that a sample can be drawn of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.ingest.files import begin
from graphrag_rdf.ingest.files import plans as planned
from graphrag_rdf.ingest.plan import incoming

if TYPE_CHECKING:
    from graphrag_rdf.documents.discover import Discovery
    from graphrag_rdf.ingest.report import IngestReport

FILES = 200
"""Files that are read at most; of more, those that the seed chooses."""


@contextmanager
def read_into_memory(
    found: Discovery, settings: Settings, seed: int
) -> Iterator[tuple[Engine, IngestReport]]:
    """A store in memory with the passages of documents and what they mention; no model is asked.

    Args:
        settings: how documents are read and cut.
        seed: decides which are read, of more than `FILES`.

    Yields:
        the store, and the report that names what could not be read.
    """
    if len(found.sources) > FILES:
        order = sorted(
            found.sources, key=lambda source: hashlib.sha256(f"{seed} {source.identity}".encode()).digest()
        )
        found = replace(found, sources=tuple(order[:FILES]))
    extract = settings.extract.model_copy(update={"use": "rules", "synonyms": None})
    plain = Settings(store=":memory:", documents=settings.documents, extract=extract)
    with Engine.open(config=plain) as engine, engine.keeping_indexes():
        begun = begin(engine, refresh=False, progress=None, mentions_only=True, stop=None)
        most = settings.documents.max_bytes
        report = begun.run.run(incoming(planned(begun.run.planner(most, found.sources), found), most))
        yield engine, report
