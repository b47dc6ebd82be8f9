"""The order of a run in trec_eval, and scores that preserve a given order.

trec_eval ignores the rank column: it sorts by score as float32, then by descending document id (`form_res_rels.c`;
newer versions use double). Scores that strictly decrease in float32 have the same order in every version.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LARGEST = int(np.finfo(np.float32).max.view(np.int32))
"""The ordinal of the largest finite float32, counted from zero."""


def ranked(scored: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """(document, score) pairs in trec_eval's order: by float32 score, then document id, both descending.

    >>> ranked([("a", 1.0), ("b", 1.0 + 1e-12), ("c", 2.0)])
    (('c', 2.0), ('b', 1.000000000001), ('a', 1.0))
    """
    with np.errstate(over="ignore"):
        scores = np.fromiter((score for _, score in scored), float, len(scored)).astype(np.float32)
    if np.all(scores[1:] < scores[:-1]):
        return tuple(scored)
    by_document = sorted(range(len(scored)), key=lambda i: scored[i][0], reverse=True)
    order = np.array(by_document)[np.argsort(-scores[by_document], kind="stable")]
    return tuple(scored[i] for i in order.tolist())


def falling(scores: list[float]) -> np.ndarray:
    """The scores of a ranking, best first, minimally changed to decrease strictly in float32.

    A score that is not below its predecessor becomes the next smaller float32; scores out of range become the
    largest or smallest float32. NaN gets a score that fits its rank.

    >>> falling([2.0, 2.0, 3.0, 1.0])
    array([2.       , 1.9999999, 1.9999998, 1.       ], dtype=float32)
    """
    wide = np.asarray(scores, float)
    with np.errstate(over="ignore"):
        narrow = np.where(np.isnan(wide), np.inf, wide).astype(np.float32)
    places = _ordinals(narrow)
    rank = np.arange(len(places))
    places = np.minimum.accumulate(np.minimum(places, LARGEST) + rank) - rank
    places = np.maximum(places, -LARGEST + rank[::-1])  # leaves room for the later scores
    return np.where(places < 0, -places | 0x80000000, places).astype(np.uint32).view(np.float32)


def separated(scores: Sequence[float]) -> int:
    """Number of scores of a ranking, best first, that are the next smaller float32 of their predecessor.

    `falling` writes equal scores so. Scores that were never equal are so close only by chance.

    >>> separated(falling([2.0, 2.0, 2.0, 1.0]).tolist()), separated([2.0, 2.0, 1.0])
    (2, 0)
    """
    with np.errstate(over="ignore"):
        places = _ordinals(np.asarray(scores, float).astype(np.float32))
    return int(np.count_nonzero(places[:-1] - places[1:] == 1))


def _ordinals(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """int64[n], the ordinal of each float32, so that the next smaller one is one less."""
    bits = scores.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def score_texts(scores: list[float]) -> list[str]:
    """The scores of a ranking as texts that decrease strictly, read as float32 or as double."""
    values = falling(scores)
    texts: list[str] = values.astype(str).tolist()
    # The shortest text of a float32, parsed as a double first, may round to its neighbour.
    again = np.array(texts, dtype=np.float64).astype(np.float32) if texts else values
    for i in np.flatnonzero(again != values).tolist():
        texts[i] = repr(float(values[i]))
    return texts
