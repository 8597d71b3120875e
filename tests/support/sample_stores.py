"""Real stores to look at: two of the sample documents taken in, one question asked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pyoxigraph import Quad

from graphrag_rdf.config import Settings
from graphrag_rdf.engine import Engine
from graphrag_rdf.resources import folder
from graphrag_rdf.sparql.library import TemplateLibrary
from graphrag_rdf.sparql.render import Dialect
from graphrag_rdf.store.base import Changes
from graphrag_rdf.store.embedded import EmbeddedStore
from tests.support.stores import open_engine

DOCUMENTS = Path(__file__).resolve().parents[2] / "examples" / "documents"
SAMPLES = (DOCUMENTS / "loss-of-the-petrel.txt", DOCUMENTS / "gate-four-inquiry.pdf")
QUESTION = "Who owned the Petrel?"


def sample_engine(place: Path | None = None) -> Engine:
    """An engine over the sample documents, in memory or in a folder, with one trace."""
    engine = open_engine(place or ":memory:", config=Settings())
    engine.ingest(SAMPLES)
    for _ in engine.ask(QUESTION):
        pass
    return engine


@cache
def templates() -> TemplateLibrary:
    """The shipped templates, read once."""
    return TemplateLibrary(folder("queries"))


def store_of(quads: Iterable[Quad], dialect: Dialect = "rdf12") -> EmbeddedStore:
    """A store in memory that holds these quads as its dialect writes them."""
    store = EmbeddedStore(templates(), dialect=dialect)
    store.commit(Changes(add=list(quads)))
    return store
