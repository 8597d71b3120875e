"""A retriever for LlamaIndex (`pip install 'graphrag-rdf[llama-index]'`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from graphrag_rdf.integrations.chunks import SHOWN, ChunkRetrieval, RankedChunk

if TYPE_CHECKING:
    from graphrag_rdf.engine import Engine


class GraphRagRetriever(BaseRetriever):  # type: ignore[misc]  # untyped where it is not installed
    """Retrieves chunks as nodes with scores: the id is the chunk's IRI, `metadata` as of `RankedChunk`.

    Language models see title and page of the metadata.

    Args:
        engine, server, token, k, pipeline, trace: see `ChunkRetrieval`.
        options: of `BaseRetriever`, such as `callback_manager`.

    Raises:
        UsageError: see `ChunkRetrieval`.
    """

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        server: str | None = None,
        token: str | None = None,
        k: int = 10,
        pipeline: str = "graph_rag",
        trace: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._retrieval = ChunkRetrieval(engine, server, token, k, pipeline, trace)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(chunk) for chunk in self._retrieval.chunks(query_bundle.query_str)]


def _node(chunk: RankedChunk) -> NodeWithScore:
    hidden = [name for name in chunk.metadata if name not in SHOWN]
    node = TextNode(
        id_=chunk.metadata["chunk"],
        text=chunk.text,
        metadata=chunk.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=chunk.metadata["score"])
