"""Bi-encoders of sentence-transformers, run without it: a copy of the model in ONNX, made when the index is built.

A text is encoded by itself, not in a batch: on a CPU that is no slower (a batch pads short texts, and pays for what it
pads), and a vector does not depend on what else is encoded, so what is kept from an earlier build is what this one
would have made.
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

from hybridkg.errors import CorruptError, EncoderError, MissingExtraError
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
"""Texts from which it is worth importing torch (12 s) to ask whether there is a CUDA device."""

INDEX_AGAIN = "build the index again: hybridkg index KB"


class SentenceTransformers:
    """The kind.

    Args:
        choice: of the model.
    """

    takes_model, has_tokens, is_billed = True, True, False

    def __init__(self, choice: ModelChoice = NO_MODEL):
        self._choice = choice

    @cached_property
    def _model(self) -> ModelFolder:
        check_extra(
            "models", FEATURE, "huggingface_hub", "sentence_transformers", "torch", "onnx", "onnxruntime", "tokenizers"
        )
        return find_model(self._choice)

    @cached_property
    def _settled(self) -> str:
        choice = self._choice
        digest = self._model.digest(choice.max_length, choice.query_prompt, choice.passage_prompt)
        return f"{KIND}/{LAYOUT.version} {self._model.name} {digest}"

    def fingerprint(self) -> str:
        """Kind, version, model, and what distinguishes its files and settings."""
        return self._settled

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> Encoder:
        """As EncoderKind has it; nothing is learned from the texts, but the copy is compared on some of them."""
        if not (folder / LAYOUT.header).exists():
            with needs_extra("models", FEATURE):
                from hybridkg.vector.encoders.transformer_export import export

            progress.start(f"copying the model {self._model.name}", None)
            export(self._model, folder, self._settled, self._choice, texts)
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
        """As EncoderKind has it."""
        return TransformerEncoder(folder)


class TransformerEncoder:
    """The copy of a model.

    Args:
        folder: filled by `export`.

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
        """Kind, version, model, and what distinguishes its files and settings."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Of the model."""
        return self._dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions], on all cores."""
        return self._encoded(texts, self.passage_prompt)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]."""
        return self._encoded(texts, self.query_prompt)

    def token_starts(self, text: str) -> list[int]:
        """As Tokenising has it; without prompt and special tokens."""
        return token_starts(self._unlimited_tokenizer, text)

    def _encoded(self, texts: Sequence[str], prompt: str) -> Vectors:
        found = np.zeros((len(texts), self._dimensions), np.float32)
        written = [prompt + text for text in texts]
        encoded = self._threads.map(self._one, written) if len(texts) > 1 else map(self._one, written)
        for i, row in enumerate(encoded):
            found[i] = row
        return unit(found)

    def _one(self, text: str) -> NDArray[np.float32] | float:
        """float32[dimensions] of a text as the model reads it; 0 for one without tokens."""
        encoding = self._tokenizer.encode(text)
        if not encoding.ids:
            return 0.0
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        session, inputs = self._session
        try:
            (found,) = session.run(None, {name: np.array([given[name]], np.int64) for name in inputs})
        except Exception as e:  # onnxruntime has no base class for its errors
            raise EncoderError(
                f"the model could not encode a text of {len(encoding.ids):,} tokens: {str(e).splitlines()[0]}",
                hint="where memory is short, set max_length in the table [vectors] of kb.toml",
            ) from e
        return np.asarray(found[0], np.float32)

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
        """What runs the model, and the names of its inputs."""
        path = self._folder / MODEL
        try:
            session = opened_session(path)
        except MissingExtraError:
            raise
        except Exception as e:  # onnxruntime has no base class for its errors
            raise CorruptError(
                f"the copy of the model cannot be run: {str(e).splitlines()[0]}", hint=INDEX_AGAIN, place=str(path)
            ) from e
        return session, [given.name for given in session.get_inputs()]


def opened_tokenizer(kind: str, folder: Path) -> Any:
    """The tokenizer of a folder.

    Raises:
        MissingExtraError: its package is not installed.
        CorruptError: its file is missing or damaged.
    """
    with needs_extra("models", f"encoder {kind!r}"):
        from tokenizers import Tokenizer
    try:
        return Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as e:  # the only class that it raises
        raise CorruptError(
            f"the tokenizer cannot be read: {str(e).splitlines()[0]}", hint=INDEX_AGAIN, place=str(folder / TOKENIZER)
        ) from e


def token_starts(tokenizer: Any, text: str) -> list[int]:
    """Where the tokens of a text begin, in characters, ascending and distinct."""
    offsets = tokenizer.encode(text, add_special_tokens=False).offsets
    return sorted({begin for begin, end in offsets if begin < end})


def opened_session(path: Path, *, optimised: Path | None = None) -> Any:
    """An onnxruntime session of one thread; the graph of an index is optimised already, and its weights are mapped.

    Args:
        path: of the graph.
        optimised: where the optimised graph is written, with its weights beside it; None for a graph that is one.
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
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
