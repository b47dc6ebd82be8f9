"""Static embeddings: a vector for every token, distilled from a sentence-transformers model at index time.

Tulkens, van Dongen: Model2Vec, fast state-of-the-art static embeddings (2024), with its defaults: the vector of a token
is the model's output for it alone, reduced to 256 principal components, and weighted by a / (a + p) as in SIF (Arora,
Liang, Ma: A simple but tough-to-beat baseline for sentence embeddings, ICLR 2017), with p from Zipf's law over the
ranks of the vocabulary. A text is the mean of its tokens, normalised to length 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError, EncoderError
from hybridkg.extras import check_extra, needs_extra
from hybridkg.interfaces.encoder import NO_MODEL, ModelChoice, Texts, Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer
from hybridkg.storage.whole_file import whole_file
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.encoders.model_folder import ModelFolder, find_model
from hybridkg.vector.encoders.static_folder import StaticTable, is_static, read_static
from hybridkg.vector.encoders.transformer import INDEX_AGAIN, TOKENIZER, opened_tokenizer, token_starts

KIND = "model2vec"
FEATURE = f"encoder {KIND!r}"

LAYOUT = FolderLayout("hybridkg static", 1, "static.json", "table of tokens")

DIMENSIONS = 256

SIF = 1e-4
"""Parameter a of a / (a + p)."""


class Model2Vec:
    """The encoder kind `model2vec`."""

    takes_model, has_tokens, is_billed = True, True, False

    def __init__(self, choice: ModelChoice = NO_MODEL):
        self._choice = choice

    @cached_property
    def _model(self) -> ModelFolder:
        check_extra("models", FEATURE, "huggingface_hub", "sentence_transformers", "torch", "tokenizers")
        return find_model(self._choice)

    def fingerprint(self) -> str:
        """Kind, version, model, and a digest of its files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return f"{KIND}/{LAYOUT.version} {self._model.name} {self._model.digest()}"

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> StaticEncoder:
        """Distils the model, or copies one that is static already; the texts do not matter."""
        choice = self._choice
        if choice.query_prompt or choice.passage_prompt or choice.max_length:
            raise EncoderError(
                f"the encoder {KIND!r} has no prompts and no limit of tokens", hint="remove them from [vectors]"
            )
        if not (folder / LAYOUT.header).exists():
            progress.start(f"distilling the model {self._model.name}", None)
            table = static_table(self._model, choice)
            with whole_file(folder / TOKENIZER) as file:
                file.write(table.tokenizer)
            writer = Writer(LAYOUT, folder)
            writer.write("tokens", table.tokens)
            writer.finish({"name": self._fingerprint, "unknown": table.unknown})
            progress.done(len(table.tokens))
        return self.open(folder)

    def open(self, folder: Path) -> StaticEncoder:
        return StaticEncoder(folder)


class StaticEncoder:
    """Encoder by a table of token vectors.

    Raises:
        CorruptError: a file of the folder is missing or damaged.
    """

    def __init__(self, folder: Path):
        reader = MappedArrays(LAYOUT, folder)
        self._folder, self._name = folder, str(reader.about("name"))
        self._unknown: int | None = reader.about("unknown")
        self._tokens: NDArray[Any] = reader.array("tokens")
        if self._tokens.ndim != 2 or self._tokens.dtype != np.dtype("<f4"):
            raise CorruptError("the table of tokens does not fit its header", hint=INDEX_AGAIN, place=str(folder))

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        """DIMENSIONS, or those of a smaller model."""
        return int(self._tokens.shape[1])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; zeros where a text has no known token."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for i, encoding in enumerate(self._tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            ids = self._known(encoding.ids)
            if ids:
                vectors[i] = self._tokens[ids].mean(axis=0)
        return unit(vectors)

    def tokens(self, text: str) -> tuple[list[str], Vectors]:
        """Rows of the table."""
        ids = self._known(self._tokenizer.encode(text, add_special_tokens=False).ids)
        return [self._tokenizer.id_to_token(id) for id in ids], np.array(self._tokens[ids], np.float32)

    def _known(self, tokens: Sequence[int]) -> list[int]:
        ids = [token for token in tokens if token != self._unknown]
        if ids and max(ids) >= len(self._tokens):
            raise CorruptError("the tokenizer does not fit the table of tokens", hint=INDEX_AGAIN)
        return ids

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self.passages(texts)

    def token_starts(self, text: str) -> list[int]:
        return token_starts(self._tokenizer, text)

    @cached_property
    def _tokenizer(self) -> Any:
        return opened_tokenizer(KIND, self._folder)


def static_table(model: ModelFolder, choice: ModelChoice) -> StaticTable:
    """The table of a static model as it is, or that of another one distilled.

    Raises:
        ConfigError: a file of a static model is damaged.
        EncoderError: the model cannot be distilled.
    """
    if is_static(model):
        return read_static(model)
    with needs_extra("models", FEATURE):
        from hybridkg.vector.encoders.static_distilling import token_vectors

    tokenizer, tokens, unknown = token_vectors(model, choice)
    return StaticTable(tokenizer, weighted(tokens, DIMENSIONS), unknown)


def weighted(tokens: Vectors, dimensions: int) -> Vectors:
    """Principal components of the tokens that have a vector, weighted by their rank.

    Args:
        tokens: float32[n, wide], by descending frequency; zeros for a token that no text has.
        dimensions: maximum of the result.

    Returns:
        float32[n, min(dimensions, wide)]; zeros stay.
    """
    used = tokens.any(axis=1)
    rows = tokens[used].astype(np.float64)
    weighted_tokens = np.zeros((len(tokens), min(dimensions, tokens.shape[1])), np.float32)
    if not len(rows):
        return weighted_tokens
    rows -= rows.mean(axis=0)
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, : weighted_tokens.shape[1]]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.sign(axes[largest, np.arange(axes.shape[1])])  # makes the direction of an axis unique
    inverse = 1.0 / np.arange(2, len(rows) + 2)
    weights = SIF / (SIF + inverse / inverse.sum())
    weighted_tokens[used] = (rows @ axes) * weights[:, None]
    return weighted_tokens
