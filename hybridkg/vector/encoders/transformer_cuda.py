"""CUDA encoder: the library encodes passages on the device, and the ONNX copy encodes queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from hybridkg.errors import EncoderError
from hybridkg.interfaces.encoder import ModelChoice, Vectors
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.transformer import TransformerEncoder
from hybridkg.vector.encoders.transformer_export import as_encoder_error, loaded, without_output


def is_there(*, required: bool) -> bool:
    """Whether torch finds a CUDA device.

    Raises:
        EncoderError: it finds none, and kb.toml requires one.
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
    """Encoder of the passages of `source` on the device; `copy` encodes queries."""

    def __init__(self, copy: TransformerEncoder, source: ModelFolder, choice: ModelChoice):
        self._copy, self._source, self._batch = copy, source, choice.batch
        with without_output(), as_encoder_error(source, doing="loaded"):
            self._model = loaded(source, "cuda", choice)
        self.name, self.dimensions = copy.name, copy.dimensions

    def passages(self, texts: Sequence[str]) -> Vectors:
        """float32[len(texts), dimensions]; the library sorts them by length, and pads within batches."""
        with without_output(), as_encoder_error(self._source, doing="run"):
            vectors = self._model.encode(list(texts), prompt=self._copy.passage_prompt, batch_size=self._batch)
        return unit(np.asarray(vectors, np.float32).reshape(len(texts), self.dimensions))

    def token_starts(self, text: str) -> list[int]:
        return self._copy.token_starts(text)

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._copy.queries(texts)
