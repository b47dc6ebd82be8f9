"""A sentence-transformers model that is trained, in float32 on the CPU. Imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from hybridkg.errors import ConfigError
from hybridkg.interfaces.encoder import ModelChoice
from hybridkg.storage.tensor_file import TensorFile
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.transformer_export import as_encoder_error, inputs_of, loaded, prompts, without_output
from hybridkg.vector.training.pairs import Numbers

MAX_BYTES = 1 << 35
"""Maximum bytes of a file of weights."""

DOING = "trained"


class TransformerTrainable:
    """A TrainableEncoder by a model of sentence-transformers.

    Args:
        source: its folder.
        limit: tokens of a text that are read; 0 for the model's own.

    Raises:
        ConfigError: a file of weights is damaged, or has numbers that are not finite.
        EncoderError: the model cannot be loaded.
    """

    def __init__(self, source: ModelFolder, limit: int = 0):
        choice = ModelChoice(device="cpu")
        for path in source.files():
            if path.suffix == ".safetensors":
                TensorFile.open(source.path / path, max_bytes=MAX_BYTES)
        with without_output(), as_encoder_error(source, doing=DOING):
            self._model = loaded(source, "cpu", choice)
            self._inputs = inputs_of(source, self._model)
            self._prompts = prompts(self._model, choice)
            own = self._model.max_seq_length
            self._tokenizer = Tokenizer.from_str(self._model.tokenizer.backend_tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(min(limit or own, own), direction=self._model.tokenizer.truncation_side)
        self._source, self._digest = source, source.digest(limit)
        self._parameters = {name: value for name, value in self._model.named_parameters() if value.requires_grad}
        for name, value in self._parameters.items():
            if not bool(torch.isfinite(value).all()):
                raise ConfigError(f"the model {source.name!r} has numbers that are not finite in {name!r}")

    @property
    def digest(self) -> str:
        return self._digest

    def parameters(self) -> Mapping[str, Any]:
        return self._parameters

    def tokenised(self, texts: Sequence[str], *, are_questions: bool) -> list[Numbers]:
        prompt = self._prompts[0 if are_questions else 1]
        encoded = self._tokenizer.encode_batch([prompt + text for text in texts])
        return [np.array(one.ids, np.int64) for one in encoded]

    def vectors(self, tokens: Sequence[Numbers], *, training: bool) -> Any:
        self._model.train(training)
        width = max(1, *map(len, tokens))
        ids = np.full((len(tokens), width), self._model.tokenizer.pad_token_id or 0)
        mask = np.zeros((len(tokens), width), np.int64)
        for i, own in enumerate(tokens):
            ids[i, : len(own)], mask[i, : len(own)] = own, 1
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        features: dict[str, Any] = {name: torch.from_numpy(arrays[name]) for name in self._inputs}
        for module in self._model:
            features = module(features)
        return torch.nn.functional.normalize(features["sentence_embedding"], dim=1)

    def save(self, folder: Path) -> None:
        self._model.eval()
        with without_output(), as_encoder_error(self._source, doing="saved"):
            self._model.save(str(folder), create_model_card=False)
