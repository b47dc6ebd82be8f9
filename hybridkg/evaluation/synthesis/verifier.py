"""Verification of candidates: an answer has each property in a passage of its own text.

A property holds if one passage of PASSAGE_WORDS words has the share KEPT_MASS of its idf mass. The postings of its
terms first drop the candidates whose whole text has less, so that few texts are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from hybridkg.evaluation.synthesis.own_text import OwnText, Passage
from hybridkg.evaluation.synthesis.properties import KEPT_MASS, mass

PASSAGE_WORDS = 40

ROUNDING = 1e-9
"""Share of the mass within which two sums of the same numbers may differ."""


class IdfMassVerifier:
    """Keeps the candidates that have all properties."""

    def __init__(self, texts: OwnText):
        self._texts = texts

    def verified(self, candidates: Sequence[str], properties: Sequence[Passage]) -> list[str]:
        """The candidates, IRIs, whose own text has every property; in their order."""
        left = self._with_terms(candidates, properties)
        weights = [self._texts.idf(words) for words in properties]
        return [
            iri
            for iri in left
            if all(
                any(holds(passage, own) for passage in self._texts.passages(iri))
                for own in weights
            )
        ]  # fmt: skip

    def _with_terms(self, candidates: Sequence[str], properties: Sequence[Passage]) -> list[str]:
        """The candidates whose whole text has enough of each property."""
        ids = self._texts.ids(candidates)
        enough = ids >= 0
        for words in properties:
            idf = self._texts.idf(words)
            found = np.zeros(len(ids))
            for term, word in {word.term: word for word in words if word.term}.items():
                found += idf[term] * np.isin(ids, self._texts.having(word))
            enough &= found >= (KEPT_MASS - ROUNDING) * mass(words, idf)
        return [iri for iri, kept in zip(candidates, enough.tolist(), strict=True) if kept]


def holds(passage: Passage, weights: Mapping[str, float]) -> bool:
    """Whether some PASSAGE_WORDS words in a row have the share KEPT_MASS of the weights of all terms.

    >>> from hybridkg.evaluation.synthesis.own_text import Word
    >>> holds((Word("Trees", "tree"), Word("grow", "grow")), {"tree": 4.0, "fast": 1.0})
    True
    """
    wanted = (KEPT_MASS - ROUNDING) * sum(weights.values())
    inside: Counter[str] = Counter()
    for end, word in enumerate(passage):
        inside[word.term] += 1
        if end >= PASSAGE_WORDS:
            inside[passage[end - PASSAGE_WORDS].term] -= 1
        if word.term in weights and sum(weight for term, weight in weights.items() if inside[term]) >= wanted:
            return True
    return False
