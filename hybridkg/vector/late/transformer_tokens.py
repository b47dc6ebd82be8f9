"""Token vectors of a transformer: what it gives for each token, of length 1. Runs torch, on one thread.

A model in ColBERT's form has a file `artifact.metadata` with its settings, and perhaps a matrix `linear.weight` in its
weights, which is multiplied with the output. Then, as in ColBERT, a marker follows the first token, questions are
filled with mask tokens up to `query_maxlen`, and punctuation of documents has no vector. For another model of
sentence-transformers, or of transformers, the tokens are those of its text without the special ones around it, since
these were never trained to be compared.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError
from hybridkg.extras import check_extra, needs_extra
from hybridkg.interfaces.encoder import ModelChoice, Vectors
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.encoders.model_folder import ModelFolder, find_model
from hybridkg.vector.late.token_model import QuestionTokens

FEATURE = "late interaction"

METADATA = "artifact.metadata"

MAX_METADATA_BYTES = 1 << 20

VERSION = 1

QUESTION_TOKENS = 64
"""Maximum tokens of a question of a model without a limit for questions."""

LOADED = 2
"""Maximum number of models in memory."""


@dataclass(frozen=True)
class ColbertForm:
    """Settings of a model in ColBERT's form; defaults are those of ColBERTv2.

    Args:
        query_maxlen: tokens to which a question is filled with masks, or cut.
        doc_maxlen: maximum tokens of a document.
        query_token_id: marker of questions.
        doc_token_id: marker of documents.
        mask_punctuation: whether punctuation of documents has no vector.
        attend_to_mask_tokens: whether the tokens of a question attend to the masks.
    """

    query_maxlen: int = 32
    doc_maxlen: int = 220
    query_token_id: str = "[unused0]"
    doc_token_id: str = "[unused1]"
    mask_punctuation: bool = True
    attend_to_mask_tokens: bool = False


def read_form(folder: Path) -> ColbertForm | None:
    """ColBERT's settings of a model; None for another model.

    Raises:
        ConfigError: their file is malformed.
    """
    path = folder / METADATA
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            content = file.read(MAX_METADATA_BYTES + 1)
        values = json.loads(content[:MAX_METADATA_BYTES].decode("utf-8"))
    except (OSError, ValueError, RecursionError) as e:
        raise ConfigError(f"cannot read {METADATA!r} of the model: {e}", place=str(path)) from e
    defaults = ColbertForm()
    own: dict[str, Any] = {}
    for name, default in vars(defaults).items():
        value = values.get(name, default) if isinstance(values, dict) else None
        if type(value) is not type(default) or (type(value) is int and not 3 <= value <= 100_000):
            raise ConfigError(f"{METADATA!r} of the model has no valid {name!r}: {value!r:.60}", place=str(path))
        own[name] = value
    return ColbertForm(**own)


def opened(choice: ModelChoice) -> TransformerTokens:
    """The model of a choice, which stays loaded until the process ends or others take its place.

    Raises:
        ConfigError, EncoderError, MissingExtraError: it cannot be used.
    """
    check_extra("models", FEATURE, "huggingface_hub", "sentence_transformers", "tokenizers", "torch")
    return _opened(choice.model, choice.max_length)


@lru_cache(maxsize=LOADED)
def _opened(model: str, max_length: int) -> TransformerTokens:
    choice = ModelChoice(model, max_length=max_length)
    return TransformerTokens(find_model(choice), choice)


class TransformerTokens:
    """A TokenModel by the output of a transformer.

    Raises:
        ConfigError, EncoderError: the model is malformed, or cannot be loaded.
    """

    def __init__(self, source: ModelFolder, choice: ModelChoice):
        with needs_extra("models", FEATURE):
            from hybridkg.vector.late.torch_tokens import TorchTokens

        self._form = read_form(source.path)
        limit = choice.max_length or (self._form.doc_maxlen if self._form else 0)
        self._torch = TorchTokens(source, ModelChoice(choice.model, max_length=limit))
        self._source, self._limit = source, self._torch.limit

    @cached_property
    def fingerprint(self) -> str:
        form = "" if self._form is None else str(vars(self._form))
        return f"late/{VERSION} {self._source.name} {self._source.digest(self._limit, form)}"

    @property
    def dimensions(self) -> int:
        return int(self._torch.dimensions)

    def question(self, text: str) -> QuestionTokens:
        """As the model was trained: with ColBERT's marker and masks; without special tokens for another model."""
        form, tokenizer = self._form, self._torch.tokenizer
        most = QUESTION_TOKENS if form is None else form.query_maxlen
        ids, special = self._ids(text, "" if form is None else form.query_token_id, most)
        attended = len(ids)
        if form is not None:
            mask = self._torch.id_of("[MASK]")
            ids = [*ids, *[mask] * (most - len(ids))]
            attended = len(ids) if form.attend_to_mask_tokens else attended
        (vectors,) = self._torch.run([ids], [attended])
        kept = np.ones(len(ids), bool) if form is not None else ~special
        names = [str(tokenizer.id_to_token(one)) for one in ids]
        return QuestionTokens(tuple(n for n, keep in zip(names, kept, strict=True) if keep), unit(vectors[kept]))

    def documents(self, texts: Sequence[str]) -> list[Vectors]:
        form = self._form
        marker = "" if form is None else form.doc_token_id
        tokens = [self._ids(text, marker, self._limit) for text in texts]
        vectors = self._torch.run([ids for ids, _ in tokens], [len(ids) for ids, _ in tokens])
        return [unit(own[self._kept(*some)]) for own, some in zip(vectors, tokens, strict=True)]

    def _kept(self, ids: Sequence[int], special: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each token of a document has a vector."""
        if self._form is None:
            return ~special
        punctuation = self._punctuation if self._form.mask_punctuation else frozenset()
        return np.array([one not in punctuation for one in ids], bool)

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        found = (self._torch.tokenizer.encode(sign, add_special_tokens=False).ids for sign in string.punctuation)
        return frozenset(ids[0] for ids in found if ids)

    def _ids(self, text: str, marker: str, most: int) -> tuple[list[int], NDArray[np.bool_]]:
        """The ids of a text, at most so many, and which of them are special tokens."""
        encoding = self._torch.tokenizer.encode(text)
        room = most - (1 if marker else 0)
        ids, special = list(encoding.ids[:room]), np.array(encoding.special_tokens_mask[:room], bool)
        if len(encoding.ids) > room and encoding.special_tokens_mask[-1]:  # the last token that the model expects
            ids[-1], special[-1] = encoding.ids[-1], True
        if marker:
            ids = [*ids[:1], self._torch.id_of(marker), *ids[1:]]
            special = np.array([*special[:1], True, *special[1:]], bool)
        return ids, special
