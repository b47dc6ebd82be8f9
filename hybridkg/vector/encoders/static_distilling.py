"""What a sentence-transformers model makes of every token of its vocabulary. Imports torch."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from hybridkg.errors import EncoderError
from hybridkg.interfaces.encoder import ModelChoice, Vectors
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.transformer import TOKENIZER, cores
from hybridkg.vector.encoders.transformer_cuda import is_there
from hybridkg.vector.encoders.transformer_export import explained, loaded, quietly

AT_ONCE = 512
"""Tokens, each a text of its own of about three."""

NEVER = re.compile(r"\[unused\d+\]")
"""Tokens of a vocabulary that stand for nothing."""


def token_vectors(source: ModelFolder, folder: Path, choice: ModelChoice) -> tuple[Vectors, int | None]:
    """Writes the tokenizer into a folder.

    Returns:
        float32[tokens, wide], the mean of what the model makes of a token and of the special ones around it, zeros for
        special tokens and those of NEVER; and the id of the token for what is unknown, where there is one.

    Raises:
        EncoderError: the model cannot be used.
    """
    cuda = choice.device != "cpu" and is_there(required=choice.device == "cuda")
    with quietly(), explained(source, doing="distilled"):
        model = loaded(source, "cuda" if cuda else "cpu", choice)
        first = model[0]
        if type(first).__name__ != "Transformer" or not hasattr(model.tokenizer, "backend_tokenizer"):
            raise EncoderError(f"the model {source.name!r} is no transformer with a fast tokenizer")
        tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.save(str(folder / TOKENIZER), pretty=False)
        special = set(model.tokenizer.all_special_ids)
        names = sorted((number, name) for name, number in tokenizer.get_vocab(with_added_tokens=True).items())
        used = [number for number, name in names if number not in special and not NEVER.fullmatch(name)]
        around = tokenizer.encode("a", add_special_tokens=True)
        own = around.special_tokens_mask.index(0)
        before, behind = around.ids[:own], [t for t, s in zip(around.ids, around.special_tokens_mask, strict=True) if s]
        behind = behind[len(before) :]
        found = np.zeros((names[-1][0] + 1, first.get_embedding_dimension()), np.float32)

        def write(at: int) -> None:
            some = used[at : at + AT_ONCE]
            with torch.no_grad():  # which is said to every thread
                ids = torch.tensor([[*before, token, *behind] for token in some], device=model.device)
                features = first({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
                found[some] = features["token_embeddings"].mean(dim=1).float().cpu().numpy()

        with ThreadPoolExecutor(1 if cuda else cores()) as pool:
            list(pool.map(write, range(0, len(used), AT_ONCE)))
        return found, tokenizer.token_to_id(model.tokenizer.unk_token) if model.tokenizer.unk_token else None
