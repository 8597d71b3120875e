"""Where vectors come from: a model on this machine (ONNX Runtime), or one behind the LLM gateway.

Of a local model one text runs at a time, on one thread: the last bits of a matrix product change with its
shape and with how threads share it, and a result shall depend on nothing but its text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from graphrag_rdf.errors import SearchIndexError, short_cause
from graphrag_rdf.i18n import later, tr

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


_BLOCK = 64  # vectors scaled at a time: in float64 they take several times their memory
_KIND = later("embedding model")
_OUTPUTS = ("embedding", "sentence_embedding", "last_hidden_state", "token_embeddings")

GatewayEmbed = Callable[[Sequence[str], str], "Vectors"]


class Embedder(Protocol):
    """Makes vectors of unit length from texts."""

    @property
    def name(self) -> str:
        """What the model is called in settings, and in the index made with it."""

    @property
    def dimension(self) -> int | None:
        """Length of its vectors; None until the first call of a remote model."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text: float32, shape [texts, dimension], unit length."""


def embedder_for(spec: str | None, *, gateway_embed: GatewayEmbed | None = None) -> Embedder | None:
    """The embedder that a setting names; models are loaded with the first text.

    Args:
        spec: `none` or None; `local:DIR` (ONNX model, extra `onnx`); `fastembed:NAME` (extra `fastembed`,
            downloads the model); else a model name as litellm has it.
        gateway_embed: embeds texts with a named litellm model: (texts, model) -> vectors of any length.

    Raises:
        SearchIndexError: a local model's files or libraries are missing, or there is no gateway.
    """
    if spec is None or spec == "none":
        return None
    scheme, _, location = spec.partition(":")
    if scheme == "local":
        return OnnxEmbedder(Path(location).expanduser(), name=spec)
    if scheme == "fastembed":
        return FastembedEmbedder(location)
    if gateway_embed is None:
        raise SearchIndexError(
            tr(
                "The embedding model {spec!r} needs a connection to a model service, and there is none."
            ).format(spec=spec),
            tr("Name a local model (local:DIR), or none."),
        )
    return GatewayEmbedder(spec, gateway_embed)


class OnnxEmbedder:
    """A sentence encoder as a folder with `model.onnx` and `tokenizer.json`, run by ONNX Runtime.

    The graph takes `input_ids` and `attention_mask` (and `token_type_ids`, if it has them) and gives
    `embedding` or `sentence_embedding` [n, d], or states of the tokens [n, length, d], of which we take
    the mean. Longer texts are cut at the tokenizer's own limit, or 512 tokens.

    A text's vector depends on nothing but the text: each runs alone on one thread, as the last bits of a
    matrix product change with its shape and with how threads share it; several run side by side instead.

    Raises:
        SearchIndexError: a file or the extra `onnx` is missing, or the model has another interface.
    """

    def __init__(self, folder: Path, *, name: str | None = None) -> None:
        self.name = name or f"local:{folder}"
        self._model = OnnxModel(folder, self.name, _KIND)

    @property
    def dimension(self) -> int:
        size = self._model.outputs[self._output][-1]
        return size if isinstance(size, int) else int(self._run([0]).shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        encoded = [encoding.ids for encoding in self._model.tokenizer.encode_batch(list(texts))]
        if not encoded:
            return np.empty((0, self.dimension), np.float32)
        if len(encoded) == 1:
            return self._run(encoded[0])
        # the longest first, so that no thread is left alone with one at the end
        order = sorted(range(len(encoded)), key=lambda row: -len(encoded[row]))
        result = np.empty((len(encoded), self.dimension), np.float32)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            vectors = threads.map(lambda row: self._run(encoded[row]), order)
            for row, vector in zip(order, vectors, strict=True):
                result[row] = vector[0]
        return result

    def _run(self, ids: Sequence[int]) -> Vectors:
        import numpy as np

        if not ids:  # an empty text, and a tokenizer that frames it with nothing
            return np.zeros((1, self.dimension), np.float32)
        output = self._model.run(self._output, ids)
        return unit_rows(output.mean(axis=1) if output.ndim == 3 else output)

    @cached_property
    def _output(self) -> str:
        return self._model.output(_OUTPUTS, later("a sentence encoder"))


class FastembedEmbedder:
    """A model of the fastembed library, by its name there; downloaded when first used.

    Raises:
        SearchIndexError: the extra `fastembed` is missing, or there is no such model.
    """

    def __init__(self, model: str) -> None:
        self.name = f"fastembed:{model}"
        try:
            import fastembed
        except ImportError as error:
            raise missing_extra(_KIND, self.name, "fastembed", error) from error
        try:
            self._model = fastembed.TextEmbedding(model)
        except ValueError as error:
            raise SearchIndexError(
                tr("fastembed cannot load {model!r}: {error}").format(model=model, error=error),
                tr(
                    "Its models: python -c 'import fastembed; "
                    "print(fastembed.TextEmbedding.list_supported_models())'"
                ),
            ) from error
        self.dimension: int | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        # one text at a time: the library pads batches, and padding changes the last digits
        rows = [unit_rows(np.array(list(self._model.embed([text])))) for text in texts]
        if rows:
            self.dimension = rows[0].shape[1]
        return np.concatenate(rows) if rows else np.empty((0, self.dimension or 0), np.float32)


class GatewayEmbedder:
    """A model that the LLM gateway reaches; its errors are the gateway's."""

    def __init__(self, model: str, gateway_embed: GatewayEmbed) -> None:
        self.name = model
        self.dimension: int | None = None
        self._embed = gateway_embed

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension or 0), np.float32)
        vectors = np.asarray(self._embed(texts, self.name))
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise SearchIndexError(
                tr("The embedding model {name} gave an array of shape {shape} for {count} texts.").format(
                    name=self.name, shape=vectors.shape, count=len(texts)
                )
            )
        self.dimension = vectors.shape[1]
        return unit_rows(vectors)


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """The rows scaled to length 1 in float64, as float32; a row of zeros stays.

    Raises:
        SearchIndexError: a value is not a finite number.
    """
    import numpy as np

    rows = np.empty(vectors.shape, np.float32)
    for start in range(0, len(vectors), _BLOCK):
        wide = np.asarray(vectors[start : start + _BLOCK], dtype=np.float64)
        if not np.isfinite(wide).all():
            raise SearchIndexError(tr("An embedding holds values that are not finite numbers."))
        length = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
        rows[start : start + _BLOCK] = wide / np.where(length > 0, length, 1.0)
    return rows


# --- models in a folder --------------------------------------------------------------------------------


MAX_TOKENS = 512
FILES = ("model.onnx", "tokenizer.json")


class OnnxModel:
    """A model with its tokenizer; loaded when first used.

    Args:
        folder: where the files are.
        name: what the model is called in settings.
        kind: what it is for people: "embedding model", "reranker"; translated in messages.

    Raises:
        SearchIndexError: a file or the extra `onnx` is missing.
    """

    def __init__(self, folder: Path, name: str, kind: str) -> None:
        self.name, self.kind, self._folder = name, kind, folder
        for file in FILES:
            if not (folder / file).is_file():
                raise SearchIndexError(
                    tr("The {kind} {name} lacks {file}.").format(
                        kind=tr(kind), name=name, file=folder / file
                    ),
                    tr("Give a folder with {files}, or choose another {kind}.").format(
                        files=tr(" and ").join(FILES), kind=tr(kind)
                    ),
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
        """The tokenizer; it cuts long texts, and does not pad."""
        self._load()
        return self._tokenizer

    @property
    def outputs(self) -> Mapping[str, Sequence[int | str | None]]:
        """Name of each output → its shape."""
        self._load()
        return {output.name: output.shape for output in self._session.get_outputs()}

    def output(self, names: Sequence[str], what: str, *, sole: bool = False) -> str:
        """The first of these outputs that the model has.

        Args:
            what: the model should be, for people; translated in messages.
            sole: an output of any other name will do if it is the only one.

        Raises:
            SearchIndexError: it has none of them, or does not take `input_ids` and `attention_mask`.
        """
        names_here = [name for name in names if name in self.outputs]
        if not names_here and sole and len(self.outputs) == 1:
            names_here = [*self.outputs]
        if not names_here or not {"input_ids", "attention_mask"} <= self.inputs:
            raise SearchIndexError(
                tr("The {kind} {name} is not {what}: its inputs are {inputs}, its outputs {outputs}.").format(
                    kind=tr(self.kind),
                    name=self.name,
                    what=tr(what),
                    inputs=sorted(self.inputs),
                    outputs=sorted(self.outputs),
                ),
                tr("It needs input_ids, attention_mask and one of: {names}.").format(names=", ".join(names)),
            )
        return names_here[0]

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
        (vectors,) = self._session.run([output], {name: feed[name] for name in self.inputs & feed.keys()})
        return vectors

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
                tr("The {kind} {name} cannot be loaded: {error}").format(
                    kind=tr(self.kind), name=self.name, error=short_cause(error)
                ),
                tr("Get its files again, or choose another {kind}.").format(kind=tr(self.kind)),
            ) from error
        limit = (tokenizer.truncation or {}).get("max_length", MAX_TOKENS)
        tokenizer.no_padding()
        tokenizer.enable_truncation(min(limit, MAX_TOKENS))
        self.inputs = {tensor.name for tensor in session.get_inputs()}
        self._tokenizer, self._session = tokenizer, session  # last: who sees a session finds all else


def missing_extra(kind: str, model: str, extra: str, error: ImportError) -> SearchIndexError:
    """The error of a model whose library is not installed."""
    return SearchIndexError(
        tr("The {kind} {model} needs a library that is not installed: {error}").format(
            kind=tr(kind), model=model, error=error
        ),
        tr("pip install 'graphrag-rdf[{extra}]'").format(extra=extra),
    )
