"""Wording without a language model: rare words of the answer's text, in the phrasings and frames of a template."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hybridkg.evaluation.synthesis.own_text import OwnText, Passage
from hybridkg.evaluation.synthesis.properties import MAX_PROPERTIES, best_runs, reworded
from hybridkg.evaluation.synthesis.sampler import MAX_CANDIDATES
from hybridkg.evaluation.synthesis.similarity_verifier import SimilarityVerifier
from hybridkg.evaluation.synthesis.templates import PROPERTIES, REQUEST, Role, fill
from hybridkg.evaluation.synthesis.verifier import IdfMassVerifier
from hybridkg.evaluation.synthesis.wording import DrawnSource, Properties
from hybridkg.interfaces.encoder import Encoder


class OfflineWording:
    """The QuestionWording of a seed alone: the same draws give the same words.

    Args:
        texts: of the knowledge base.
        encoder: of its vectors, which verifies candidates as well; None without vectors.
    """

    max_candidates = MAX_CANDIDATES

    def __init__(self, texts: OwnText, encoder: Encoder | None = None):
        self._texts, self._by_words = texts, IdfMassVerifier(texts)
        self._by_vectors = None if encoder is None else SimilarityVerifier(texts, encoder)

    def properties(self, source: DrawnSource, draw: random.Random) -> Properties:
        passages = self._texts.passages(source.gold)
        idf = self._texts.idf(word for passage in passages for word in passage)
        runs = best_runs(passages, idf, [self._texts.words(name) for name in source.names.values()])
        if len(runs) > 1:
            runs = runs[: draw.randint(1, min(MAX_PROPERTIES, len(runs)))]
        asked = tuple(reworded(run, idf, draw) for run in runs)
        return Properties(tuple(map(written, runs)), tuple(map(written, asked)), asked)

    def verified(self, candidates: Sequence[str], properties: Properties, gold: str) -> list[str]:
        left = self._by_words.verified(candidates, properties.runs)
        return left if self._by_vectors is None else self._by_vectors.verified(left, properties.asked, gold)

    def text(self, source: DrawnSource, properties: Properties, role: Role, draw: random.Random) -> str:
        request = fill(draw.choice(source.template.phrasings.of(source.split)), source.anchors)
        frame = draw.choice(role.frames_of(source.split, with_properties=bool(properties.asked)))
        return fill(frame, {REQUEST: request, PROPERTIES: listed(properties.asked)})


def written(run: Passage) -> str:
    """The words of a run."""
    return " ".join(word.text for word in run)


def listed(parts: Sequence[str]) -> str:
    """Parts as in a sentence.

    >>> listed(["a b", "c"]), listed(["a", "b", "c"])
    ('a b and c', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
