"""Bi-encoders of sentence-transformers, run by onnxruntime: a copy of the model in ONNX, made when the index is built.

Each text is encoded separately, not in a batch: on a CPU that is no slower (a batch pads short texts), and a vector
does not depend on the other texts, so a cached vector is the one that would be computed again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError, CorruptError, EncoderError, MissingExtraError
from hybridkg.extras import check_extra, needs_extra
from hybridkg.interfaces.encoder import NO_MODEL, Encoder, ModelChoice, Texts, Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.arrays import FolderLayout, MappedArrays
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.encoders.model_folder import find_model

if TYPE_CHECKING:
    from hybridkg.vector.encoders.model_folder import ModelFolder

KIND = "sentence-transformers"
FEATURE = f"encoder {KIND!r}"

LAYOUT = FolderLayout("hybridkg transformer", 1, "transformer.json", "copy of the model")

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"

CUDA_FROM = 1_000
"""Texts from which the import of torch (12 s) pays, to look for a CUDA device."""

INDEX_AGAIN = "build the index again: hybridkg index KB"


class SentenceTransformers:
    """The encoder kind `sentence-transformers`."""

    takes_model, has_tokens, is_billed = True, True, False

    def __init__(self, choice: ModelChoice = NO_MODEL):
        self._choice = choice

    @cached_property
    def _model(self) -> ModelFolder:
        check_extra(
            "models", FEATURE, "huggingface_hub", "sentence_transformers", "torch", "onnx", "onnxruntime", "tokenizers"
        )
        return find_model(self._choice)

    def fingerprint(self) -> str:
        """Kind, version, model, and a digest of its files and settings."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        choice = self._choice
        digest = self._model.digest(choice.max_length, choice.query_prompt, choice.passage_prompt)
        return f"{KIND}/{LAYOUT.version} {self._model.name} {digest}"

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> Encoder:
        """Exports the model, and compares the copy with it on some of the texts."""
        if not (folder / LAYOUT.header).exists():
            with needs_extra("models", FEATURE):
                from hybridkg.vector.encoders.transformer_export import export

            progress.start(f"copying the model {self._model.name}", None)
            export(self._model, folder, self._fingerprint, self._choice, texts)
            progress.done(1)
        encoder = self.open(folder)
        device = self._choice.device
        if device == "cuda" or (device == "auto" and count >= CUDA_FROM):
            with needs_extra("models", FEATURE):
                from hybridkg.vector.encoders.transformer_cuda import CudaEncoder, is_there

            if is_there(required=device == "cuda"):
                return CudaEncoder(encoder, self._model, self._choice)
        return encoder

    def open(self, folder: Path) -> TransformerEncoder:
        return TransformerEncoder(folder)


class TransformerEncoder:
    """Encoder by the ONNX copy of a model, in a folder that `export` has filled.

    Raises:
        CorruptError: a file is missing or damaged.
    """

    def __init__(self, folder: Path):
        reader = MappedArrays(LAYOUT, folder)
        self._folder = folder
        self._name = str(reader.about("name"))
        self._dimensions = int(reader.about("dimensions"))
        self.query_prompt, self.passage_prompt = str(reader.about("query_prompt")), str(reader.about("passage_prompt"))

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions], on all cores."""
        return self._encoded(texts, self.passage_prompt)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._encoded(texts, self.query_prompt)

    def token_starts(self, text: str) -> list[int]:
        """Without prompt and special tokens, as in Tokenising."""
        return token_starts(self._unlimited_tokenizer, text)

    def _encoded(self, texts: Sequence[str], prompt: str) -> Vectors:
        vectors = np.zeros((len(texts), self._dimensions), np.float32)
        written = [prompt + text for text in texts]
        encoded = self._threads.map(self._one, written) if len(texts) > 1 else map(self._one, written)
        for i, row in enumerate(encoded):
            vectors[i] = row
        return unit(vectors)

    def _one(self, text: str) -> NDArray[np.float32] | float:
        """float32[dimensions] of a text as the model reads it; 0 for one without tokens."""
        encoding = self._tokenizer.encode(text)
        if not encoding.ids:
            return 0.0
        arrays = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        session, inputs = self._session
        try:
            (output,) = session.run(None, {name: np.array([arrays[name]], np.int64) for name in inputs})
        except Exception as e:  # onnxruntime has no base class for its errors
            raise EncoderError(
                f"the model could not encode a text of {len(encoding.ids):,} tokens: {str(e).splitlines()[0]}",
                hint="if memory is short, set max_length in the table [vectors] of kb.toml",
            ) from e
        return np.asarray(output[0], np.float32)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(cores())

    @cached_property
    def _tokenizer(self) -> Any:
        return opened_tokenizer(KIND, self._folder)

    @cached_property
    def _unlimited_tokenizer(self) -> Any:
        tokenizer = opened_tokenizer(KIND, self._folder)
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _session(self) -> tuple[Any, list[str]]:
        """onnxruntime session, and the names of its inputs."""
        path = self._folder / MODEL
        try:
            session = opened_session(path)
        except MissingExtraError:
            raise
        except Exception as e:  # onnxruntime has no base class for its errors
            raise CorruptError(
                f"the copy of the model cannot be run: {str(e).splitlines()[0]}", hint=INDEX_AGAIN, place=str(path)
            ) from e
        return session, [value.name for value in session.get_inputs()]


def opened_tokenizer(kind: str, folder: Path) -> Any:
    """Tokenizer of a folder; raises MissingExtraError without its package, and CorruptError for a damaged file."""
    with needs_extra("models", f"encoder {kind!r}"):
        from tokenizers import Tokenizer
    try:
        return Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as e:  # the only class that it raises
        raise CorruptError(
            f"the tokenizer cannot be read: {str(e).splitlines()[0]}", hint=INDEX_AGAIN, place=str(folder / TOKENIZER)
        ) from e


def tokenizer_of(text: str, place: str) -> Any:
    """Tokenizer of a model from its JSON; raises MissingExtraError without its package, ConfigError for other JSON."""
    with needs_extra("models", "a tokenizer"):
        from tokenizers import Tokenizer
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as e:  # the only class that it raises
        raise ConfigError(f"the tokenizer cannot be read: {str(e).splitlines()[0]}", place=place) from e
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def token_starts(tokenizer: Any, text: str) -> list[int]:
    """Starts of the tokens of a text, in characters, ascending and distinct."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    return sorted({begin for begin, end in offsets if begin < end})


def opened_session(path: Path, *, optimised: Path | None = None) -> Any:
    """An onnxruntime session of one thread.

    Args:
        path: of the graph.
        optimised: path to write the optimised graph and its weights to; None for a graph that is optimised already.
    """
    with needs_extra("models", FEATURE):
        import onnxruntime as ort

    ort.set_default_logger_severity(3)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_DISABLE_ALL
    if optimised is not None:
        options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(optimised)
        external = "session.optimized_model_external_initializers"
        options.add_session_config_entry(f"{external}_file_name", f"{optimised.stem}.weights")
        options.add_session_config_entry(f"{external}_min_size_in_bytes", "1024")
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def cores() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
