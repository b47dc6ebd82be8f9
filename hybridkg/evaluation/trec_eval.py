"""What trec_eval takes for the order of a run, and how scores keep an order through it.

trec_eval ignores the rank column: it sorts by score, which it holds as float32, and puts the higher document id
first where two are equal (`form_res_rels.c`; newer versions hold the score as a double). Scores that fall strictly
in float32 fall strictly in both, so they say the same order to every version, and to us.
"""

from __future__ import annotations

import numpy as np

LARGEST = int(np.finfo(np.float32).max.view(np.int32))
"""The place of the largest finite float32 when they are counted from zero upwards."""


def ranked(scored: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """(document, score) pairs in trec_eval's order: float32 score falling, then document id falling.

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
    """The scores of a ranking, best first, changed as little as needed to fall strictly in float32.

    A score that is not below the one before it becomes the next float32 below that; what float32 cannot hold
    becomes its largest or smallest. NaN takes the place that its rank gives it.

    >>> falling([2.0, 2.0, 3.0, 1.0])
    array([2.       , 1.9999999, 1.9999998, 1.       ], dtype=float32)
    """
    given = np.asarray(scores, float)
    with np.errstate(over="ignore"):
        narrow = np.where(np.isnan(given), np.inf, given).astype(np.float32)
    # Every float32 as its place in their order, so that the next one below is one less.
    bits = narrow.view(np.int32).astype(np.int64)
    places = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    rank = np.arange(len(places))
    places = np.minimum.accumulate(np.minimum(places, LARGEST) + rank) - rank
    places = np.maximum(places, -LARGEST + rank[::-1])  # room below for those that follow
    return np.where(places < 0, -places | 0x80000000, places).astype(np.uint32).view(np.float32)


def score_texts(scores: list[float]) -> list[str]:
    """The scores of a ranking as text that falls strictly, read as float32 or as double."""
    values = falling(scores)
    texts: list[str] = values.astype(str).tolist()
    # The shortest text of a float32 may, read as a double first, round to its neighbour.
    again = np.array(texts, dtype=np.float64).astype(np.float32) if texts else values
    for i in np.flatnonzero(again != values).tolist():
        texts[i] = repr(float(values[i]))
    return texts
