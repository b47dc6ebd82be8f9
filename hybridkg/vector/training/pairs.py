"""Examples of a bi-encoder: questions, documents, and which documents are right for which question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions with their right documents.

    Args:
        texts: of the questions.
        rights: for each question the numbers of its right documents, ascending, at least one.
        given: for each question further wrong documents to learn from, the most deceptive first; empty for none.
    """

    texts: Sequence[str]
    rights: Sequence[Numbers]
    given: Sequence[Numbers] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """The documents of a collection, the questions that are learned from, and those that choose the epoch."""

    documents: Sequence[str]
    training: Questions
    held_out: Questions

    def key(self) -> str:
        """Hash of all texts and numbers."""
        whole = hashlib.sha256(json.dumps(list(self.documents)).encode())
        for part in (self.training, self.held_out):
            numbers = [[own.tolist() for own in lists] for lists in (part.rights, part.given)]
            whole.update(json.dumps([list(part.texts), numbers]).encode())
        return whole.hexdigest()


def reciprocal_rank(scores: NDArray[np.float32], rights: Numbers) -> float:
    """1 / the rank of the first right document, by score descending, equal scores by number.

    >>> reciprocal_rank(np.array([0.5, 0.9, 0.7, 0.7], np.float32), np.array([3]))
    0.3333333333333333
    """
    best = scores[rights].max()
    first = rights[scores[rights] == best][0]
    return 1.0 / (1 + int((scores > best).sum()) + int((scores[:first] == best).sum()))


def wrong_of(ranking: Numbers, rights: Numbers) -> Numbers:
    """A ranking without the right documents.

    >>> wrong_of(np.array([4, 2, 7]), np.array([2])).tolist()
    [4, 7]
    """
    return ranking[~np.isin(ranking, rights)]


def drawn(candidates: Numbers, count: int, rng: np.random.Generator) -> Numbers:
    """`count` different candidates by chance; -1 in place of those that are not there."""
    chosen = np.full(count, -1)
    some = rng.permutation(candidates)[:count]
    chosen[: len(some)] = some
    return chosen
