"""A retriever for LangChain (`pip install 'graphrag-rdf[langchain]'`)."""

from __future__ import annotations

from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SecretStr, model_validator

from graphrag_rdf.integrations.chunks import ChunkRetrieval


class GraphRagRetriever(BaseRetriever):  # type: ignore[misc]  # untyped where it is not installed
    """Retrieves chunks as documents: the id is the chunk's IRI, `metadata` as of `RankedChunk`.

    Attributes:
        engine, server, token, k, pipeline, trace: see `ChunkRetrieval`.

    Raises:
        UsageError: see `ChunkRetrieval`.
    """

    engine: Any = Field(default=None, exclude=True, repr=False)
    server: str | None = None
    token: SecretStr | None = None
    k: int = 10
    pipeline: str = "graph_rag"
    trace: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._retrieval()
        return self

    def _retrieval(self) -> ChunkRetrieval:
        token = self.token.get_secret_value() if self.token else None
        return ChunkRetrieval(self.engine, self.server, token, self.k, self.pipeline, self.trace)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        return [
            Document(id=chunk.metadata["chunk"], page_content=chunk.text, metadata=chunk.metadata)
            for chunk in self._retrieval().chunks(query)
        ]
