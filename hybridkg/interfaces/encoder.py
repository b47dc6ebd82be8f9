"""What turns texts into vectors, and the encoders by name. A new encoder is one file and one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.progress import Progress
from hybridkg.registry import Registry

OPENAI_URL = "https://api.openai.com/v1"
"""The address of OpenAI's own API."""

Vectors: TypeAlias = NDArray[np.float32]
"""float32[n, dimensions]; rows have length 1, or are all zeros for a text that the encoder knows nothing about."""

Texts: TypeAlias = Callable[[], Iterable[Sequence[str]]]
"""All texts of a knowledge base, batch by batch, in the same order every time."""


class VectorSpace(Protocol):
    """What vectors are compared in."""

    @property
    def name(self) -> str:
        """Of what made them: kind, version and settings, such as `lsa/1 256`; vectors of different names are never
        compared.
        """

    @property
    def dimensions(self) -> int:
        """Of its vectors."""


class Encoder(VectorSpace, Protocol):
    """Turns texts into vectors of one space. Safe to use from many threads."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]: of texts that are searched."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]: of texts that are asked."""


class Tokenising(Encoder, Protocol):
    """An encoder that reads a text token by token."""

    def token_starts(self, text: str) -> list[int]:
        """Where the tokens of a text begin, in characters, ascending and distinct; those that it would cut off, too."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model an encoder kind takes, and how it is used.

    Args:
        model: what stands behind the colon in `encoder = "KIND:MODEL"`; empty for none.
        folder: where the path of a model begins, unless it is absolute: that of the knowledge base.
        device: `cpu`, `cuda`, or `auto` for cuda where there is one.
        batch: texts that cuda encodes at once.
        max_length: tokens of a text that are read; 0 for the model's own limit.
        query_prompt: written before every text that is asked; empty for the model's own.
        passage_prompt: written before every text that is searched; empty for the model's own.
        url: of the server that has the model, for kinds that ask one.
        timeout: seconds that one request to it may take.
        per_minute: requests to it at most; 0 for no limit.
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
    """What an encoder that asks a server is about to send it.

    Args:
        texts: how many.
        characters: of all of them.
        batch: texts in one request.
        where: the address.

    >>> str(Sending(2_000, 800_000, 32, "http://127.0.0.1/v1"))
    '2,000 texts, about 200,000 tokens, in 63 requests, to http://127.0.0.1/v1'
    """

    texts: int
    characters: int
    batch: int
    where: str

    @property
    def is_large(self) -> bool:
        """Whether it is to be asked about first."""
        return self.texts >= MANY_TEXTS or self.characters >= MANY_CHARACTERS

    def __str__(self) -> str:
        tokens, requests = -(-self.characters // 4), -(-self.texts // self.batch)
        many = f"{self.texts:,} text{'' if self.texts == 1 else 's'}, about {tokens:,} tokens"
        return f"{many}, in {requests:,} request{'' if requests == 1 else 's'}, to {self.where}"


MANY_TEXTS, MANY_CHARACTERS = 1_000, 1_000_000
"""From so many on, nothing is sent to a server without a yes; about 250,000 tokens."""

ConfirmUpload: TypeAlias = Callable[[UploadEstimate], bool]
"""Whether so much may be sent."""


NO_MODEL = ModelChoice()


class EncoderKind(Protocol):
    """Makes encoders of one kind. Made with a ModelChoice; without one, it can only `open`."""

    takes_model: bool
    """Whether kb.toml must name a model."""

    has_tokens: bool
    """Whether its encoders are Tokenising."""

    is_billed: bool
    """Whether it sends the texts to a server, which costs; a large run is then agreed to first."""

    def fingerprint(self) -> str:
        """The name that the encoder will have whatever the texts are; empty where it learns from them.

        Vectors made by an encoder of the same name are not made again.

        Raises:
            ConfigError: the model is not there, or is none.
            MissingExtraError: a package is not installed.
            EncoderError: it cannot be fetched.
        """

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> Encoder:
        """An encoder for a knowledge base, with everything that its queries will need written to a folder.

        Args:
            folder: existing and empty, or filled by a `prepare` of the same settled name; stays with the vectors.
            texts: what will be searched, for encoders that learn from it.
            count: how many of these will be encoded.
            progress: told how far the work is.

        Raises:
            EncoderError: the model cannot be used.
        """

    def open(self, folder: Path) -> Encoder:
        """The encoder of a folder that `prepare` has filled.

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
        "sentence-transformers": "hybridkg.vector.encoders.transformer:SentenceTransformers",
    },
    extra="models",
)
"""Classes of EncoderKind."""

NO_ENCODER = "none"
"""What kb.toml calls an index without vectors."""
