"""Rerankers score how well a text answers a question.

A cross-encoder reads text and question together. That is slower and better than an index, so only the best
few hits are reranked (Nogueira and Cho, "Passage re-ranking with BERT", 2019). `lexical` and `vector` need
no such model: they compare words, or vectors.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graphrag_rdf.errors import SearchIndexError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.index.embedders import OnnxModel

if TYPE_CHECKING:
    from graphrag_rdf.index.embedders import Embedder

GatewayRerank = Callable[[str, Sequence[str], str], list[float]]
Likeness = Callable[[str], float]

_KIND = later("reranker")
_OUTPUTS = ("logits", "scores", "score", "output")


class Reranker(Protocol):
    """Scores texts for a question."""

    @property
    def name(self) -> str:
        """What it is called in settings."""

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """A score for each text, in their order, the higher the better; the scale is the reranker's.

        Raises:
            GraphRagError: it cannot be loaded or reached, or gives something else.
        """


def reranker_for(
    spec: str, *, lexical: Likeness, embedder: Embedder | None, gateway_rerank: GatewayRerank
) -> Reranker:
    """The reranker that a setting names, unless it is a local model.

    Args:
        spec: `lexical`; `vector`; else a model name as litellm has it. `local:DIR` is an `OnnxReranker`.
        lexical: how much of the question's words a text speaks of, 0 to 1.
        embedder: of `vector`.
        gateway_rerank: asks a litellm model: (question, texts, model) -> scores.

    Raises:
        SearchIndexError: there are no embeddings.
    """
    if spec == "lexical":
        return LexicalReranker(lexical)
    if spec == "vector":
        if embedder is None:
            raise SearchIndexError(
                tr("The reranker vector needs an embedding model, and none is set."),
                tr("Name one with --embedding-model, or choose another reranker."),
            )
        return VectorReranker(embedder)
    return GatewayReranker(spec, gateway_rerank)


class LexicalReranker:
    """The share of the question's words, by their rarity, that a text speaks of."""

    name = "lexical"

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        del question  # the words are weighed already
        return [self._likeness(text) for text in texts]


class VectorReranker:
    """The cosine of the embeddings of question and text."""

    name = "vector"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        asked, *rows = self._embedder.embed([question, *texts])
        return [float(row @ asked) for row in rows]


class OnnxReranker:
    """A cross-encoder as a folder with `model.onnx` and `tokenizer.json`, run by ONNX Runtime.

    The graph takes `input_ids` and `attention_mask` (and `token_type_ids`, if it has them) of a pair of texts
    and gives `logits` [n, 1], whose logistic function is the score, or [n, 2], of which the second is the
    class "relevant" (softmax). Long pairs are cut at the tokenizer's own limit, or 512 tokens.

    Raises:
        SearchIndexError: a file or the extra `onnx` is missing, or the model has another interface.
    """

    def __init__(self, folder: Path, *, name: str | None = None) -> None:
        self.name = name or f"local:{folder}"
        self._model = OnnxModel(folder, self.name, _KIND)

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        pairs = self._model.tokenizer.encode_batch([(question, text) for text in texts])
        output = self._output

        def score(pair: tuple[list[int], list[int]]) -> float:
            return self._score(self._model.run(output, *pair).reshape(-1).tolist())

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return [*threads.map(score, [(pair.ids, pair.type_ids) for pair in pairs])]

    def _score(self, logits: list[float]) -> float:
        if len(logits) not in (1, 2) or not all(map(math.isfinite, logits)):
            raise SearchIndexError(
                tr("The reranker {name} gave {logits} for a pair of texts.").format(
                    name=self.name, logits=logits[:5]
                )
            )
        return _logistic(logits[0] if len(logits) == 1 else logits[1] - logits[0])

    @cached_property
    def _output(self) -> str:
        return self._model.output(_OUTPUTS, later("a cross-encoder"), sole=True)


class GatewayReranker:
    """A model that the LLM gateway reaches; its errors are the gateway's."""

    def __init__(self, model: str, gateway_rerank: GatewayRerank) -> None:
        self.name = model
        self._rerank = gateway_rerank

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        return self._rerank(question, texts, self.name) if texts else []


def _logistic(value: float) -> float:
    """1/(1 + e^-x), without overflow."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))
