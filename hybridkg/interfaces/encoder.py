"""The protocols of encoders, which turn texts into vectors, and their registry. A new one is one file and one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.progress import Progress
from hybridkg.registry import Registry

OPENAI_URL = "https://api.openai.com/v1"
"""OpenAI's own API."""

Vectors: TypeAlias = NDArray[np.float32]
"""float32[n, dimensions]; rows have length 1, or are all zeros for a text without any feature of the encoder."""

Texts: TypeAlias = Callable[[], Iterable[Sequence[str]]]
"""All texts of a knowledge base, batch by batch, in the same order every time."""


class VectorSpace(Protocol):
    """The space in which vectors are compared."""

    @property
    def name(self) -> str:
        """Kind, version and settings of the encoder, such as `lsa/1 256`; only vectors of equal names are compared."""

    @property
    def dimensions(self) -> int: ...


class Encoder(VectorSpace, Protocol):
    """Turns texts into vectors of one space. Safe to use from many threads."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions] of texts to be searched."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions] of query texts."""


class Tokenising(Encoder, Protocol):
    """An encoder that reads a text token by token."""

    def token_starts(self, text: str) -> list[int]:
        """Character offsets of the tokens of a text, ascending and distinct, including those beyond its limit."""


@runtime_checkable
class TokenTable(Encoder, Protocol):
    """An encoder whose tokens have vectors of their own, independent of the text around them."""

    def tokens(self, text: str) -> tuple[list[str], Vectors]:
        """The known tokens of a text in its order, and float32[tokens, dimensions], of any length."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model of an encoder and its settings.

    Args:
        model: the part after the colon in `encoder = "KIND:MODEL"`; empty for none.
        folder: the base of a relative path of a model: the folder of the knowledge base.
        device: `cpu`, `cuda`, or `auto` for cuda where there is one.
        batch: texts that cuda encodes at once.
        max_length: tokens of a text that are read; 0 for the model's own limit.
        query_prompt: prefix of every query text; empty for the model's own.
        passage_prompt: prefix of every searched text; empty for the model's own.
        url: of the model server, for kinds that use one.
        timeout: seconds per request to it.
        per_minute: maximum requests to it; 0 for no limit.
    """

    model: str = ""
    folder: Path = Path()
    device: str = "auto"
    batch: int = 32
    max_length: int = 0
    query_prompt: str = ""
    passage_prompt: str = ""
    url: str = OPENAI_URL
    timeout: float = 60.0
    per_minute: int = 0


@dataclass(frozen=True)
class UploadEstimate:
    """The amount of text that an encoder is about to send to a server.

    Args:
        texts: their number.
        characters: of all of them.
        batch: texts in one request.
        where: the address.

    >>> str(UploadEstimate(2_000, 800_000, 32, "http://127.0.0.1/v1"))
    '2,000 texts, about 200,000 tokens, in 63 requests, to http://127.0.0.1/v1'
    """

    texts: int
    characters: int
    batch: int
    where: str

    @property
    def is_large(self) -> bool:
        """Whether it needs confirmation."""
        return self.texts >= MANY_TEXTS or self.characters >= MANY_CHARACTERS

    def __str__(self) -> str:
        tokens, requests = -(-self.characters // 4), -(-self.texts // self.batch)
        many = f"{self.texts:,} text{'' if self.texts == 1 else 's'}, about {tokens:,} tokens"
        return f"{many}, in {requests:,} request{'' if requests == 1 else 's'}, to {self.where}"


MANY_TEXTS, MANY_CHARACTERS = 1_000, 1_000_000
"""Thresholds above which nothing is sent to a server without confirmation; about 250,000 tokens."""

ConfirmUpload: TypeAlias = Callable[[UploadEstimate], bool]
"""Whether an upload is allowed."""


NO_MODEL = ModelChoice()


class EncoderKind(Protocol):
    """Makes encoders of one kind. Constructed with a ModelChoice; without one, it can only `open`."""

    takes_model: bool
    """Whether kb.toml must name a model."""

    has_tokens: bool
    """Whether its encoders are Tokenising."""

    is_billed: bool
    """Whether it sends the texts to a server that may charge for them, so that a large run needs confirmation."""

    def fingerprint(self) -> str:
        """The name of the encoder if it is independent of the texts; empty where it is trained on them.

        Vectors made by an encoder of the same name are reused.

        Raises:
            ConfigError: the model is missing or malformed.
            MissingExtraError: a package is not installed.
            EncoderError: it cannot be fetched.
        """

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> Encoder:
        """The encoder of a knowledge base, with everything that its queries need written to a folder.

        Args:
            folder: existing and empty, or filled by a `train` of the same fingerprint; stays with the vectors.
            texts: the texts to be searched, for encoders that are trained on them.
            count: number of texts that will be encoded.
            progress: gets the progress of the training.

        Raises:
            EncoderError: the model cannot be used.
        """

    def open(self, folder: Path) -> Encoder:
        """The encoder of a folder that `train` has filled.

        Raises:
            CorruptError: a file is missing or damaged.
        """


ENCODERS = Registry(
    "encoder",
    "hybridkg.encoders",
    {
        "lsa": "hybridkg.vector.encoders.lsa:Lsa",
        "openai": "hybridkg.vector.encoders.openai:OpenAI",
        "model2vec": "hybridkg.vector.encoders.static:Model2Vec",
        "published": "hybridkg.vector.encoders.published:Published",
        "sentence-transformers": "hybridkg.vector.encoders.transformer:SentenceTransformers",
    },
    extra="models",
)
"""Classes of EncoderKind."""

NO_ENCODER = "none"
"""The encoder of kb.toml for a knowledge base without vectors."""
