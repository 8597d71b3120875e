"""Finishes what a killed process left half-done, when the store is next opened for writing.

The store's folder notes which process has it open (see `store.folder`). A note that its process has not
deleted means that it was killed. Facts and their provenance are whole, as each write is a transaction. What
follows from them may be missing: names, links, declarations, records of indexes, ends of runs. Each part
below finds out from the store what it has to do, and can be repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphrag_rdf.ingest.entity_decisions import settle
from graphrag_rdf.ingest.forget import finish_erasure, sweep_blobs
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from graphrag_rdf.ingest import NeededComponents


def settle_interrupted(engine: NeededComponents) -> None:
    """Finish what killed processes left.

    Raises:
        GraphRagError: a part cannot be finished, such as with a damaged index.
    """
    if isinstance(engine.store, EmbeddedStore):  # behind an endpoint, others may be running
        engine.store.commit(Changes(updates=[("trace/end-sessions", {})], content=False))
        sweep_blobs(engine)
    finish_erasure(engine)
    engine.indexer.recover()
    engine.indexer.changed(entities=settle(engine.store))
    engine.indexer.observe_schema()
    engine.indexer.flush(final=True)
