"""The output of a transformer for the tokens of texts. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from hybridkg.errors import EncoderError
from hybridkg.interfaces.encoder import ModelChoice, Vectors
from hybridkg.storage.tensor_file import TensorFile
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.transformer import cores
from hybridkg.vector.encoders.transformer_export import as_encoder_error, loaded, without_output

PROJECTION = "linear.weight"
"""ColBERT's matrix, float[dimensions, width of the transformer]."""


MAX_FILE_BYTES = 1 << 36
"""Maximum bytes of a file of weights."""


class TorchTokens:
    """A model of sentence-transformers or transformers, cut before its texts become one vector.

    Attributes:
        tokenizer: its fast tokenizer, without padding and truncation.
        limit: maximum tokens of a text.
        dimensions: of a vector.
    """

    def __init__(self, source: ModelFolder, choice: ModelChoice):
        self._source = source
        source.files()
        with without_output(), as_encoder_error(source, doing="loaded"):
            model = loaded(source, "cpu", choice)
            self._first = model[0]
            if not hasattr(model.tokenizer, "backend_tokenizer"):
                raise EncoderError(f"the model {source.name!r} has no fast tokenizer")
            self.tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
            self.tokenizer.no_padding()
            self.tokenizer.no_truncation()
            self.limit = int(model.max_seq_length)
            names = [type(module).__name__ for module in model]
            # Modules behind the first one that are not for the vector of a whole text.
            self._behind = [] if "Pooling" in names else list(model)[1:]
            self._projection = _projection(source.path)
            self.dimensions = self._run([0], 1).shape[1]

    def id_of(self, token: str) -> int:
        """The id of a token.

        Raises:
            EncoderError: the vocabulary lacks it.
        """
        found = self.tokenizer.token_to_id(token)
        if found is None:
            raise EncoderError(f"the vocabulary of the model {self._source.name!r} has no token {token!r}")
        return int(found)

    def run(self, ids: Sequence[Sequence[int]], attended: Sequence[int]) -> list[Vectors]:
        """float32[len(ids[i]), dimensions] of each text; no token attends to those behind the attended ones.

        Texts are run one by one, on all cores: no slower than a padded batch on a CPU, and the numbers of a text do not
        depend on the other texts.
        """
        with without_output(), as_encoder_error(self._source, doing="run"):
            if len(ids) == 1:
                return [self._run(ids[0], attended[0])]
            with ThreadPoolExecutor(cores()) as pool:
                return list(pool.map(self._run, ids, attended))

    def _run(self, ids: Sequence[int], attended: int) -> Vectors:
        with torch.no_grad():  # a setting of each thread
            row = torch.tensor([list(ids)], dtype=torch.long)
            mask = torch.zeros_like(row)
            mask[0, :attended] = 1
            features = {"input_ids": row, "attention_mask": mask, "token_type_ids": torch.zeros_like(row)}
            output = self._first(features)["token_embeddings"]
            for module in self._behind:
                if type(module).__name__ == "Dense":
                    output = module.activation_function(module.linear(output))
            if self._projection is not None:
                output = output @ self._projection.T
            return np.array(output[0].float().numpy(), np.float32)


def _projection(folder: Path) -> torch.Tensor | None:
    for path in sorted(folder.glob("*.safetensors")):
        file = TensorFile.open(path, max_bytes=MAX_FILE_BYTES)
        if PROJECTION in file.entries:
            return torch.from_numpy(file.read(PROJECTION))
    return None
