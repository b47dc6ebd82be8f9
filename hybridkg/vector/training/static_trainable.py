"""A static model that is trained: a table of token vectors, whose mean is the vector of a text. Imports torch."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hybridkg.extras import needs_extra
from hybridkg.interfaces.encoder import Texts
from hybridkg.interfaces.progress import Progress
from hybridkg.vector.encoders.lsa import Lsa
from hybridkg.vector.encoders.static_folder import StaticTable, write_static
from hybridkg.vector.encoders.transformer import tokenizer_of
from hybridkg.vector.training.pairs import Numbers

MAX_WORDS = 100_000
"""Vocabulary of a table that is made from a knowledge base, by frequency."""

UNKNOWN = "[UNK]"


class StaticTrainable:
    """A TrainableEncoder by a table of token vectors.

    Args:
        table: the model before the training.
        limit: tokens of a text that are read; 0 for all.
    """

    def __init__(self, table: StaticTable, limit: int = 0):
        self._table, self._limit = table, limit
        self._tokenizer = tokenizer_of(table.tokenizer, "tokenizer.json")
        self._tokens = torch.nn.Parameter(torch.from_numpy(table.tokens.copy()))

    @property
    def digest(self) -> str:
        whole = hashlib.sha256(f"static {self._limit} {self._table.tokenizer}".encode())
        whole.update(np.ascontiguousarray(self._table.tokens).tobytes())
        return whole.hexdigest()

    def parameters(self) -> Mapping[str, Any]:
        return {"tokens": self._tokens}

    def tokenised(self, texts: Sequence[str], *, are_questions: bool) -> list[Numbers]:
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        limit = self._limit or None
        ids = (np.array(one.ids, np.int64) for one in encoded)
        return [own[own != self._table.unknown][:limit] for own in ids]

    def vectors(self, tokens: Sequence[Numbers], *, training: bool) -> Any:
        begins = np.cumsum([0, *(len(own) for own in tokens[:-1])])
        means = torch.nn.functional.embedding_bag(
            torch.from_numpy(np.concatenate(tokens)), self._tokens, torch.from_numpy(begins), mode="mean"
        )
        return torch.nn.functional.normalize(means, dim=1)

    def save(self, folder: Path) -> None:
        write_static(
            folder, StaticTable(self._table.tokenizer, self._tokens.detach().numpy().copy(), self._table.unknown)
        )


def table_of_words(texts: Texts, count: int, progress: Progress) -> StaticTable:
    """A table of the words of a knowledge base, whose text vectors are nearly those of the encoder `lsa`.

    A word has the vector of its term, times its idf; a word without a term, such as a stop word, has zeros, and can
    learn a vector.

    Args:
        texts: of the knowledge base.
        count: their number.
        progress: gets the progress of `lsa`.
    """
    with needs_extra("models", "training a static encoder"):
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    splitting = pre_tokenizers.Split(Regex(r"\w+"), behavior="removed", invert=True)
    normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    counts: dict[str, int] = {}
    for batch in texts():
        for text in batch:
            for word, _ in splitting.pre_tokenize_str(normalizer.normalize_str(text)):
                counts[word] = counts.get(word, 0) + 1
    words = [UNKNOWN, *sorted(counts, key=lambda word: (-counts[word], word))[:MAX_WORDS]]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitting
    with tempfile.TemporaryDirectory() as folder:
        vectors = Lsa().train(Path(folder), texts, count, progress).word_vectors(words)
    vectors[0] = 0.0
    return StaticTable(tokenizer.to_str(), vectors, 0)
