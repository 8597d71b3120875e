"""Rerankers: by words, by vectors, and a cross-encoder that ONNX Runtime really runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from graphrag_rdf.errors import SearchIndexError
from graphrag_rdf.index.rerankers import OnnxReranker, reranker_for
from tests.support.cross_encoder import write_cross_encoder

QUESTION = "red house"
TEXTS = ["a blue boat", "a red house", "red", ""]


def never(*_: object) -> list[float]:
    raise AssertionError("nobody may ask")


def test_by_words() -> None:
    reranker = reranker_for(
        "lexical", lexical=lambda text: float(len(text)), embedder=None, gateway_rerank=never
    )
    assert reranker.name == "lexical"
    assert reranker.scores(QUESTION, TEXTS) == [11.0, 11.0, 3.0, 0.0]


class Letters:
    """Counts of a few letters, to unit length."""

    name = "letters"
    dimension = 3

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[text.count(letter) + 1e-9 for letter in "aeu"] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_by_vectors() -> None:
    reranker = reranker_for("vector", lexical=len, embedder=Letters(), gateway_rerank=never)
    same, other = reranker.scores("aab", ["aaaa", "uu"])
    assert same == pytest.approx(1)
    assert other == pytest.approx(0, abs=1e-6)
    assert reranker.scores("aab", []) == []


def test_vectors_need_an_embedding_model() -> None:
    with pytest.raises(SearchIndexError, match="needs an embedding model"):
        reranker_for("vector", lexical=len, embedder=None, gateway_rerank=never)


def test_what_is_none_of_ours_is_asked_by_the_gateway() -> None:
    asked: list[tuple[str, Sequence[str], str]] = []

    def gateway(question: str, texts: Sequence[str], model: str) -> list[float]:
        asked.append((question, texts, model))
        return [0.5] * len(texts)

    reranker = reranker_for("cohere/rerank-v3.5", lexical=len, embedder=None, gateway_rerank=gateway)
    assert reranker.scores(QUESTION, TEXTS) == [0.5] * 4
    assert asked == [(QUESTION, TEXTS, "cohere/rerank-v3.5")]
    assert reranker.scores(QUESTION, []) == []


# --- a model in a folder


@pytest.mark.parametrize("classes", [1, 2])
def test_a_cross_encoder_reads_both_texts_together(tmp_path: Path, classes: int) -> None:
    """The tiny model counts, of the words of the second text, those that it knows, by their weights."""
    reranker = OnnxReranker(write_cross_encoder(tmp_path, classes=classes))
    scores = reranker.scores("red house", ["boat", "house", "red house", ""])

    def expected(logit: float) -> float:
        return 1 / (1 + math.exp(-logit))

    # logit = (sum of the weights of the second text's words) - 1; red 2, house 3, others 0
    assert scores == pytest.approx([expected(-1), expected(2), expected(4), expected(-1)], abs=1e-6)


def test_a_score_depends_on_nothing_but_its_pair(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_cross_encoder(tmp_path))
    alone = reranker.scores(QUESTION, ["red house"])[0]
    assert reranker.scores(QUESTION, ["boat " * 300, "red house", "house"])[1] == alone


def test_very_long_pairs_are_cut(tmp_path: Path) -> None:
    reranker = OnnxReranker(write_cross_encoder(tmp_path))
    (score,) = reranker.scores(QUESTION, ["red " * 5000])
    assert 0 <= score <= 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "model.onnx").unlink(), "lacks"),
        (lambda folder: (folder / "model.onnx").write_bytes(b"nonsense"), "cannot be loaded"),
        (lambda folder: write_cross_encoder(folder, classes=3), "gave"),
    ],
)
def test_a_damaged_model_is_named(tmp_path: Path, damage: Callable[[Path], object], message: str) -> None:
    write_cross_encoder(tmp_path)
    damage(tmp_path)
    with pytest.raises(SearchIndexError, match=message):
        OnnxReranker(tmp_path).scores(QUESTION, TEXTS)
