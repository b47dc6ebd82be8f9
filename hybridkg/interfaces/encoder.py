"""What turns texts into vectors, and the encoders by name. A new encoder is one file and one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.progress import Progress
from hybridkg.registry import Registry

Vectors: TypeAlias = NDArray[np.float32]
"""float32[n, dimensions]; rows have length 1, or are all zeros for a text that the encoder knows nothing about."""

Texts: TypeAlias = Callable[[], Iterable[Sequence[str]]]
"""All texts of a knowledge base, batch by batch, in the same order every time."""


class Encoder(Protocol):
    """Turns texts into vectors of one space. Safe to use from many threads."""

    @property
    def name(self) -> str:
        """Kind, version and settings, such as `lsa/1 256`; vectors of different names are never compared."""

    @property
    def dimensions(self) -> int:
        """Of its vectors."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]: of texts that are searched."""

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]: of texts that are asked."""


class EncoderKind(Protocol):
    """Makes encoders of one kind."""

    def prepare(self, folder: Path, texts: Texts, count: int, progress: Progress) -> Encoder:
        """An encoder for a knowledge base, with everything that its queries will need written to a folder.

        Args:
            folder: existing and empty; stays with the vectors.
            texts: what will be encoded, for encoders that learn from it.
            count: how many these are.
            progress: told how far the work is.
        """

    def open(self, folder: Path) -> Encoder:
        """The encoder of a folder that `prepare` has filled.

        Raises:
            CorruptError: a file is missing or damaged.
        """


ENCODERS = Registry("encoder", "hybridkg.encoders", {"lsa": "hybridkg.vector.lsa:Lsa"})
"""Classes of EncoderKind, made without arguments."""

NO_ENCODER = "none"
"""What kb.toml calls an index without vectors."""
