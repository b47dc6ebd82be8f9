"""Counts of white-space words in bounded memory, and their Shannon entropy.

Words are counted by text; from MAX_WORDS distinct ones on they move to sorted arrays of 64-bit hashes, 16 bytes a word.
Two words of one hash would count as one: with 10 million distinct words, in 3 of a million knowledge bases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import Self

import numpy as np

MAX_WORDS = 1 << 20
"""Distinct words that are counted by text."""


class WordDistribution:
    """The words of texts, as written: case and punctuation count.

    >>> counts = WordDistribution()
    >>> counts.add("a b a c")
    >>> counts.tokens, counts.distinct, counts.entropy
    (4, 3, 1.5)
    """

    def __init__(self) -> None:
        self.tokens = 0
        self._recent: Counter[str] = Counter()
        self._hashes = np.zeros(0, np.uint64)
        self._counts = np.zeros(0, np.int64)

    @classmethod
    def union(cls, parts: Iterable[WordDistribution]) -> Self:
        """The counts of several texts together."""
        found = cls()
        for part in parts:
            part._merge()
            found.tokens += part.tokens
            found._absorb(part._hashes, part._counts)
        return found

    def add(self, text: str) -> None:
        """Counts the words of a text."""
        words = text.split()
        self.tokens += len(words)
        self._recent.update(words)
        if len(self._recent) > MAX_WORDS:
            self._merge()

    @property
    def distinct(self) -> int:
        """The number of distinct words."""
        self._merge()
        return len(self._hashes)

    @property
    def entropy(self) -> float:
        """Shannon entropy of a word drawn from the texts, in bits; 0 without words."""
        self._merge()
        share = self._counts / max(self.tokens, 1)
        return float(-(share * np.log2(share)).sum()) + 0.0  # not -0.0

    def _merge(self) -> None:
        if self._recent:
            hashes = np.fromiter(map(_hash, self._recent), np.uint64, len(self._recent))
            counts = np.fromiter(self._recent.values(), np.int64, len(self._recent))
            self._recent.clear()
            self._absorb(hashes, counts)

    def _absorb(self, hashes: np.ndarray, counts: np.ndarray) -> None:
        self._hashes, place = np.unique(np.concatenate([self._hashes, hashes]), return_inverse=True)
        summed = np.zeros(len(self._hashes), np.int64)
        np.add.at(summed, place, np.concatenate([self._counts, counts]))
        self._counts = summed


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
