from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphrag_rdf.errors import SearchIndexError
from graphrag_rdf.index import embedder_for

MINILM = os.environ.get("TEST_MINILM")
TEXTS = [
    "A cat.",
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Paris is the capital of France.",
    "one two three four five six seven eight nine ten " * 20,
    "",
    "What is the capital of France?",
]


def write_model(folder: Path, *, output: str = "last_hidden_state", segment_ids: bool = False) -> Path:
    """A sentence encoder small enough to be made in a test: each token's row of a table."""
    onnx = pytest.importorskip("onnx")
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto as Type
    from onnx import helper, numpy_helper

    words = ["[UNK]", "one", "two", "three"]
    table = np.arange(len(words) * 4, dtype=np.float32).reshape(-1, 4) ** 2 + 1
    tensors = ["input_ids", "attention_mask", *(["token_type_ids"] if segment_ids else [])]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
    nodes.append(helper.make_node("Cast", ["attention_mask"], ["mask"], to=Type.FLOAT))
    nodes.append(helper.make_node("Unsqueeze", ["mask", "axis"], ["column"]))
    nodes.append(helper.make_node("Mul", ["tokens", "column"], [output]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, Type.INT64, ["n", "length"]) for name in tensors],
        [helper.make_tensor_value_info(output, Type.FLOAT, ["n", "length", 4])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([2], dtype=np.int64), "axis"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(exist_ok=True)
    onnx.save(model, str(folder / "model.onnx"))
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize("segment_ids", [False, True])
def test_local_model_takes_the_mean_of_token_states_to_unit_length(tmp_path: Path, segment_ids: bool) -> None:
    embedder = embedder_for(f"local:{write_model(tmp_path, segment_ids=segment_ids)}")
    assert embedder
    assert (embedder.dimension, embedder.name) == (4, f"local:{tmp_path}")
    vectors = embedder.embed(["one three", "two", "one three"])
    table = np.arange(16, dtype=np.float64).reshape(-1, 4) ** 2 + 1
    mean = table[[1, 3]].mean(axis=0)
    assert vectors.dtype == np.float32
    assert vectors[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert vectors[1] == pytest.approx(table[2] / np.linalg.norm(table[2]), abs=1e-6)
    assert (vectors[0] == vectors[2]).all()
    assert embedder.embed([]).shape == (0, 4)
    assert embedder.embed(["one " * 2000]).shape == (1, 4)  # cut, not refused


def test_a_model_without_a_known_output_is_refused(tmp_path: Path) -> None:
    embedder = embedder_for(f"local:{write_model(tmp_path, output='logits')}")
    assert embedder
    with pytest.raises(SearchIndexError, match=r"not a sentence encoder.*logits"):
        embedder.embed(["one"])


def test_an_empty_text_has_a_vector_where_the_tokenizer_gives_no_token(tmp_path: Path) -> None:
    embedder = embedder_for(f"local:{write_model(tmp_path)}")
    assert embedder
    assert embedder.embed([""]).tolist() == [[0.0] * 4]


def test_a_damaged_model_is_named(tmp_path: Path) -> None:
    (write_model(tmp_path) / "model.onnx").write_bytes(b"nonsense")
    embedder = embedder_for(f"local:{tmp_path}")
    assert embedder
    with pytest.raises(SearchIndexError, match="cannot be loaded"):
        embedder.embed(["one"])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SearchIndexError, match=r"lacks .*model\.onnx"):
        embedder_for(f"local:{tmp_path}")


@pytest.mark.parametrize(
    ("module", "spec", "extra"),
    [("onnxruntime", "local:", "onnx"), ("fastembed", "fastembed:x", "fastembed")],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, spec: str, extra: str
) -> None:
    for file in ("model.onnx", "tokenizer.json"):
        (tmp_path / file).touch()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SearchIndexError) as caught:
        embedder_for(spec + str(tmp_path) if extra == "onnx" else spec)
    assert caught.value.hint == f"pip install 'graphrag-rdf[{extra}]'"


@pytest.mark.parametrize("spec", [None, "none"])
def test_no_embedder(spec: str | None) -> None:
    assert embedder_for(spec) is None


def test_other_names_go_to_the_gateway() -> None:
    asked: list[tuple[list[str], str]] = []

    def gateway(texts: Sequence[str], model: str) -> NDArray[np.float32]:
        asked.append((list(texts), model))
        return np.full((len(texts), 3), 2.0, dtype=np.float32)

    embedder = embedder_for("openai/text-embedding-3-small", gateway_embed=gateway)
    assert embedder
    assert embedder.dimension is None
    vectors = embedder.embed(["a", "b"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    assert (embedder.dimension, asked) == (3, [(["a", "b"], "openai/text-embedding-3-small")])
    assert embedder.embed([]).shape == (0, 3)
    with pytest.raises(SearchIndexError, match="needs a connection"):
        embedder_for("openai/text-embedding-3-small")


def test_a_gateway_that_miscounts_is_refused() -> None:
    embedder = embedder_for("m", gateway_embed=lambda _texts, _model: np.ones((1, 3), np.float32))
    assert embedder
    with pytest.raises(SearchIndexError, match="for 2 texts"):
        embedder.embed(["a", "b"])


@pytest.mark.skipif(not MINILM, reason="TEST_MINILM names no folder with all-MiniLM-L6-v2 as ONNX")
def test_minilm_is_right_and_the_same_to_the_digit_in_any_company() -> None:
    embedder = embedder_for(f"local:{MINILM}")
    assert embedder
    together = embedder.embed(TEXTS)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert together.shape == (len(TEXTS), 384)
    assert (together == alone).all()
    assert (embedder.embed(TEXTS[::-1])[::-1] == together).all()
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-6)
    similar = together @ together[5]
    assert np.argsort(-similar)[1] == 2
    assert similar[2] > 0.7
