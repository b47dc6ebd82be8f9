"""Distillation of static embeddings: the output of a sentence-transformers model for every token. Imports torch."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from tokenizers import Tokenizer

from hybridkg.errors import EncoderError
from hybridkg.interfaces.encoder import ModelChoice, Vectors
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.transformer import cores
from hybridkg.vector.encoders.transformer_cuda import is_there
from hybridkg.vector.encoders.transformer_export import as_encoder_error, loaded, without_output

AT_ONCE = 512
"""Tokens of a batch, each a text of about three tokens."""

UNUSED = re.compile(r"\[unused\d+\]")
"""Placeholders of a vocabulary."""


def token_vectors(source: ModelFolder, choice: ModelChoice) -> tuple[str, Vectors, int | None]:
    """Tokenizer, and vectors of all its tokens.

    Returns:
        The tokenizer as JSON; float32[tokens, wide], the mean of the model's outputs for a token and the special ones
        around it, zeros for special tokens and UNUSED; and the id of the token for unknown words, if any.

    Raises:
        EncoderError: the model cannot be used.
    """
    cuda = choice.device != "cpu" and is_there(required=choice.device == "cuda")
    with without_output(), as_encoder_error(source, doing="distilled"):
        model = loaded(source, "cuda" if cuda else "cpu", choice)
        first = model[0]
        if type(first).__name__ != "Transformer" or not hasattr(model.tokenizer, "backend_tokenizer"):
            raise EncoderError(f"the model {source.name!r} is not a transformer with a fast tokenizer")
        tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        tokenizer.no_padding()
        tokenizer.no_truncation()
        special = set(model.tokenizer.all_special_ids)
        names = sorted((number, name) for name, number in tokenizer.get_vocab(with_added_tokens=True).items())
        used = [number for number, name in names if number not in special and not UNUSED.fullmatch(name)]
        around = tokenizer.encode("a", add_special_tokens=True)
        own = around.special_tokens_mask.index(0)
        before, after = around.ids[:own], [t for t, s in zip(around.ids, around.special_tokens_mask, strict=True) if s]
        after = after[len(before) :]
        table = np.zeros((names[-1][0] + 1, first.get_embedding_dimension()), np.float32)

        def write(at: int) -> None:
            some = used[at : at + AT_ONCE]
            with torch.no_grad():  # a setting of each thread
                ids = torch.tensor([[*before, token, *after] for token in some], device=model.device)
                features = first({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
                table[some] = features["token_embeddings"].mean(dim=1).float().cpu().numpy()

        with ThreadPoolExecutor(1 if cuda else cores()) as pool:
            list(pool.map(write, range(0, len(used), AT_ONCE)))
        unknown = tokenizer.token_to_id(model.tokenizer.unk_token) if model.tokenizer.unk_token else None
        return tokenizer.to_str(), table, unknown
