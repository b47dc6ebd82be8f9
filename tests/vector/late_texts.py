"""A token model without packages: a random direction for each word."""

from __future__ import annotations

import zlib

import numpy as np

from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.late.token_model import QuestionTokens

WIDE = 6


class WordModel:
    """A TokenModel whose tokens are the words of a text; it counts the texts that it reads."""

    def __init__(self, fingerprint="words/1"):
        self.fingerprint, self.dimensions, self.read = fingerprint, WIDE, 0

    def question(self, text):
        words = text.split()
        return QuestionTokens(tuple(words), self._vectors(words))

    def documents(self, texts):
        self.read += len(texts)
        return [self._vectors(text.split()) for text in texts]

    def _vectors(self, words):
        rows = [np.random.default_rng(zlib.crc32(word.encode())).standard_normal(WIDE) for word in words]
        return unit(np.array(rows, np.float32).reshape(len(words), WIDE))
