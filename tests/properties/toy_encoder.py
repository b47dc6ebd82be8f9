"""An encoder for tests: a text is the sum of small vectors of its words. Needs no model, and learns nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from hybridkg.interfaces.encoder import ENCODERS, NO_MODEL, ModelChoice, Texts, Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.vector.encoders.lsa import unit

NAME = "toy"


class ToyEncoder:
    """Whole numbers of words, so a sum does not depend on the order; each text is encoded for itself."""

    name, dimensions = "toy/1", 8

    def passages(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row += [(crc32(word.encode()) >> 3 * place) % 8 - 3 for place in range(self.dimensions)]
        return unit(rows)

    queries = passages


class Toy:
    """The encoder kind `toy`."""

    takes_model = has_tokens = is_billed = False

    def __init__(self, choice: ModelChoice = NO_MODEL):
        pass

    def fingerprint(self) -> str:
        return ToyEncoder.name

    def train(self, folder: Path, texts: Texts, count: int, progress: Progress) -> ToyEncoder:
        return ToyEncoder()

    def open(self, folder: Path) -> ToyEncoder:
        return ToyEncoder()


def register(patch: pytest.MonkeyPatch) -> None:
    """Makes `encoder="toy"` known."""
    patch.setitem(ENCODERS._builtin, NAME, f"{__name__}:Toy")
