"""Passages on a CUDA device, by the library itself; queries by the copy, as everywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from hybridkg.errors import EncoderError
from hybridkg.interfaces.encoder import ModelChoice, Vectors
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.transformer import TransformerEncoder
from hybridkg.vector.encoders.transformer_export import explained, loaded, quietly


def is_there(*, required: bool) -> bool:
    """Whether torch sees a CUDA device.

    Raises:
        EncoderError: it sees none, and kb.toml demands one.
    """
    if torch.cuda.is_available():
        return True
    if required:
        raise EncoderError(
            "there is no CUDA device that torch could use",
            hint='set device = "cpu" or "auto" in the table [vectors] of kb.toml',
        )
    return False


class CudaEncoder:
    """The model on the device.

    Args:
        copy: for queries.
        source: the model.
        choice: how it is used.
    """

    def __init__(self, copy: TransformerEncoder, source: ModelFolder, choice: ModelChoice):
        self._copy, self._source, self._batch = copy, source, choice.batch
        with quietly(), explained(source, doing="loaded"):
            self._model = loaded(source, "cuda", choice)
        self.name, self.dimensions = copy.name, copy.dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; the library sorts them by length, and pads within batches."""
        with quietly(), explained(self._source, doing="run"):
            found = self._model.encode(list(texts), prompt=self._copy.passage_prompt, batch_size=self._batch)
        return unit(np.asarray(found, np.float32).reshape(len(texts), self.dimensions))

    def token_starts(self, text: str) -> list[int]:
        """As Tokenising has it."""
        return self._copy.token_starts(text)

    def queries(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]."""
        return self._copy.queries(texts)
