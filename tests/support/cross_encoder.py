"""A cross-encoder small enough to be made in a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

WORDS = {"[UNK]": 0.0, "[SEP]": 0.0, "red": 2.0, "house": 3.0, "harbour": 5.0}
"""What a word of the second text adds to the logit."""


def write_cross_encoder(folder: Path, *, classes: int = 1) -> Path:
    """Write `model.onnx` and `tokenizer.json`: logit = sum of the weights of the second text's words, - 1.

    Args:
        classes: 1 gives the logit, more give zeros before it.
    """
    onnx = pytest.importorskip("onnx")
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto as Type
    from onnx import helper, numpy_helper

    table = np.zeros((len(WORDS), classes), np.float32)
    table[:, -1] = list(WORDS.values())
    bias = np.zeros((1, classes), np.float32)
    bias[0, -1] = -1
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["weights"]),
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["second"]),
        helper.make_node("Cast", ["second"], ["kept"], to=Type.FLOAT),
        helper.make_node("Unsqueeze", ["kept", "last"], ["column"]),
        helper.make_node("Mul", ["weights", "column"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "first"], ["sum"], keepdims=0),
        helper.make_node("Add", ["sum", "bias"], ["logits"]),
    ]
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, Type.INT64, ["n", "length"]) for name in inputs],
        [helper.make_tensor_value_info("logits", Type.FLOAT, ["n", classes])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(bias, "bias"),
            numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
            numpy_helper.from_array(np.array([1], dtype=np.int64), "first"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", vocabulary["[SEP]"])]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
