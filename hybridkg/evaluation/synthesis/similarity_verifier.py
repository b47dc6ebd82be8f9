"""Verification of candidates by vectors: an answer has a chunk about as similar to the properties as the gold's best.

A chunk is PASSAGE_WORDS words of a value of the entity's own text; chunks overlap by half. Words that occur together by
chance, such as `time date`, are in many texts that are not about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from hybridkg.evaluation.synthesis.own_text import OwnText
from hybridkg.evaluation.synthesis.verifier import PASSAGE_WORDS
from hybridkg.interfaces.encoder import Encoder

MAX_LESS_SIMILAR = 0.05
"""Cosine by which the best chunk of an answer may be below that of the gold."""

CHUNKS_AT_ONCE = 1_024
"""Chunks that are encoded together, which bounds the memory for 5,000 candidates with long texts."""


class SimilarityVerifier:
    """Keeps the candidates with a chunk that is similar enough."""

    def __init__(self, texts: OwnText, encoder: Encoder):
        self._texts, self._encoder = texts, encoder

    def verified(self, candidates: Sequence[str], properties: Sequence[str], gold: str) -> list[str]:
        """The candidates, IRIs, in their order; those without text are left out, but for the gold.

        Args:
            candidates: IRIs.
            properties: of the question, which are encoded as one text.
            gold: IRI of the answer that the question was made from.
        """
        others = [iri for iri in candidates if iri != gold]
        if not others:
            return list(candidates)
        chunks = ((iri, chunk) for iri in (gold, *others) for chunk in self._chunks(iri))
        question = _unit(self._encoder.queries([", ".join(properties)]))[0]
        best: dict[str, float] = {}
        while some := list(islice(chunks, CHUNKS_AT_ONCE)):
            cosines = (_unit(self._encoder.passages([chunk for _, chunk in some])) @ question).tolist()
            for (iri, _), cosine in zip(some, cosines, strict=True):
                best[iri] = max(best.get(iri, -1.0), cosine)
        least = best.get(gold, -1.0) - MAX_LESS_SIMILAR
        return [iri for iri in candidates if iri == gold or best.get(iri, -2.0) >= least]

    def _chunks(self, iri: str) -> list[str]:
        """The chunks of an entity's own text."""
        words = [[word.text for word in passage] for passage in self._texts.passages(iri)]
        step = PASSAGE_WORDS // 2
        return [
            " ".join(passage[at : at + PASSAGE_WORDS])
            for passage in words
            for at in range(0, max(1, len(passage) - step), step)
        ]


def _unit(vectors: np.ndarray) -> np.ndarray:
    """The vectors with length 1; one of length 0 stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0.0, 1.0, lengths))
