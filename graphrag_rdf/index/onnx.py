"""Models in a folder (`model.onnx`, `tokenizer.json`), run by ONNX Runtime: encoders and rerankers.

One text runs at a time, on one thread: the last bits of a matrix product change with its shape and with how
threads share it, and a result shall depend on nothing but its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphrag_rdf.errors import SearchIndexError, short_cause

MAX_TOKENS = 512
FILES = ("model.onnx", "tokenizer.json")


class OnnxModel:
    """A model with its tokenizer; loaded when first used.

    Args:
        folder: where the files are.
        name: what the model is called in settings.
        kind: what it is for people: "embedding model", "reranker".

    Raises:
        SearchIndexError: a file or the extra `onnx` is missing.
    """

    def __init__(self, folder: Path, name: str, kind: str) -> None:
        self.name, self.kind, self._folder = name, kind, folder
        for file in FILES:
            if not (folder / file).is_file():
                raise SearchIndexError(
                    f"The {kind} {name} lacks {folder / file}.",
                    f"Give a folder with {' and '.join(FILES)}, or choose another {kind}.",
                )
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise missing_extra(kind, name, "onnx", error) from error
        self._onnxruntime, self._tokenizers = onnxruntime, tokenizers
        self._session: Any = None
        self._tokenizer: Any = None
        self.inputs: set[str] = set()

    @property
    def tokenizer(self) -> Any:
        """Cuts what is too long, and pads nothing."""
        self._load()
        return self._tokenizer

    @property
    def outputs(self) -> Mapping[str, Sequence[int | str | None]]:
        """Name of each output → its shape."""
        self._load()
        return {output.name: output.shape for output in self._session.get_outputs()}

    def run(self, output: str, ids: Sequence[int], types: Sequence[int] | None = None) -> Any:
        """An output for one row of tokens.

        Args:
            ids: of the tokens.
            types: 0 or 1 for the first or second text; None: all of the first.
        """
        import numpy as np

        self._load()
        row = np.array([ids], dtype=np.int64)
        segments = np.zeros_like(row) if types is None else np.array([types], dtype=np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": segments}
        (found,) = self._session.run([output], {name: feed[name] for name in self.inputs & feed.keys()})
        return found

    def _load(self) -> None:
        if self._session is not None:
            return
        options = self._onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        # waiting threads that spin take the processor away from everybody else on it
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            tokenizer = self._tokenizers.Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            session = self._onnxruntime.InferenceSession(
                str(self._folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        # both libraries raise bare Exceptions, and classes that they do not export
        except Exception as error:
            raise SearchIndexError(
                f"The {self.kind} {self.name} cannot be loaded: {short_cause(error)}",
                f"Get its files again, or choose another {self.kind}.",
            ) from error
        limit = (tokenizer.truncation or {}).get("max_length", MAX_TOKENS)
        tokenizer.no_padding()
        tokenizer.enable_truncation(min(limit, MAX_TOKENS))
        self.inputs = {tensor.name for tensor in session.get_inputs()}
        self._tokenizer, self._session = tokenizer, session  # last: who sees a session finds all else


def missing_extra(kind: str, model: str, extra: str, error: ImportError) -> SearchIndexError:
    """The error of a model whose library is not installed."""
    return SearchIndexError(
        f"The {kind} {model} needs a library that is not installed: {error}",
        f"pip install 'graphrag-rdf[{extra}]'",
    )
