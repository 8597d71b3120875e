"""Ranked chunks of an open store or of a server, as retrievers return them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphrag_rdf.client import Client, Question
from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine

_KEYS = ("score", "rank", "title", "page_number", "document", "uri", "char_offset", "char_length", "chunk")
SHOWN = ("title", "page_number")
"""Metadata that a language model can use."""


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A chunk.

    Attributes:
        metadata: `score`, `rank`, `title`, `page_number` (None without pages), `document` (its IRI), `uri`,
            `char_offset` and `char_length` in the document's text, `chunk` (its IRI), and `trace` if there is
            one.
    """

    text: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChunkRetrieval:
    """How a retriever ranks chunks.

    Args:
        engine: an open store, which its owner closes; or
        server: the address of a running server, with its
        token: if it needs one.
        k: number of chunks.
        pipeline: whose exploration ranks them.
        trace: store a trace of each retrieval.

    Raises:
        UsageError: there is neither an engine nor a server, or both.
    """

    engine: Engine | None = None
    server: str | None = None
    token: str | None = None
    k: int = 10
    pipeline: str = "graph_rag"
    trace: bool = False

    def __post_init__(self) -> None:
        if (self.engine is None) == (self.server is None):
            raise UsageError(tr("a retriever needs either an engine or the address of a server"))

    def chunks(self, question: str) -> list[RankedChunk]:
        """The best chunks for a question, the best first.

        Raises:
            GraphRagError: as `Engine.retrieve` or `Client.retrieve`.
        """
        if self.engine is not None:
            ranking = self.engine.retrieve(question, k=self.k, pipeline=self.pipeline, stored=self.trace)
        else:
            client = Client(self.server or "", self.token)
            ranking = client.retrieve(Question(question, self.pipeline), self.k, trace=self.trace)
        traced = {"trace": ranking["trace"]} if "trace" in ranking else {}
        return [
            RankedChunk(result["text"], {**{key: result[key] for key in _KEYS}, **traced})
            for result in ranking["results"]
        ]
