"""The float32 arithmetic of Lucene's BM25, as Elasticsearch returns it in `_score`.

Sources: Lucene's BM25Similarity and SmallFloat, Elasticsearch's LegacyBM25Similarity (the factor 1 + k1); compared with
a real server by benchmarks/lucene_scores.py. `bm25` and `combined_fields` differ only in their `TermView`: the source
of a term's frequency, an entity's length and the statistics.

Every operation here is one rounding to float32, in Lucene's order; another order, or float64, gives other last digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.explanation import TERM, FieldShare, TermShare, shares
from hybridkg.interfaces.ranking_model import ModelArgument, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.id_sets import NONE, union
from hybridkg.text.models.additive import places_in

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

ONE = np.float32(1)

DEFAULT_K1 = 1.2
DEFAULT_B = 0.75

ARGUMENTS = (ModelArgument("k1", 0, 1000), ModelArgument("b", 0, 1))
"""Above 1000 a saturation k1 leaves float32 too few digits to distinguish scores."""

MAX_LENGTH = 2**31 - 1
"""The maximum length, Java's int; longer ones count as this."""


def _length_of_byte(byte: int) -> int:
    """SmallFloat.byte4ToInt: exact below 24, then three bits after a leading one."""
    value = byte - 24
    if value < 8:
        return byte
    return 24 + (((value & 7) | 8) << ((value >> 3) - 1))


LENGTHS = np.array([_length_of_byte(byte) for byte in range(256)], np.int64)
"""int64[256], ascending: the decoded length of each length byte."""

_SHORT = 1 << 13
_BYTE_OF_SHORT = (np.searchsorted(LENGTHS, np.arange(_SHORT), side="right") - 1).astype(np.uint8)


def length_bytes(lengths: NDArray[Any]) -> Bytes:
    """SmallFloat.intToByte4 of each length: the byte of the largest decoded length not above it.

    Args:
        lengths: integers, at least 0; above 2^31 - 1 they count as that.

    >>> LENGTHS[length_bytes(np.array([40, 41, 63, 100, 5000]))].tolist()
    [40, 40, 60, 96, 4632]
    """
    if not len(lengths) or int(lengths.max()) < _SHORT:
        return np.asarray(_BYTE_OF_SHORT[lengths])
    bytes_ = np.searchsorted(LENGTHS, np.minimum(lengths, MAX_LENGTH), side="right") - 1
    return np.asarray(bytes_, np.uint8)


def idf(df: int, n: int) -> np.float32:
    """ln(1 + (N - df + 0.5) / (df + 0.5)), computed in float64 and rounded once.

    >>> float(idf(4, 4))
    0.10536051541566849
    """
    return np.float32(math.log(1 + (n - df + 0.5) / (df + 0.5)))


def inverse_norms(k1: float, b: float, mean: np.float32) -> Floats:
    """float32[256]: 1 / (k1 * ((1 - b) + b * length / mean)) for each length byte; infinite where k1 is 0.

    Args:
        k1: saturation, 0..1000.
        b: strength of length normalisation, 0..1.
        mean: mean length, above 0.

    >>> float(inverse_norms(1.2, 0.75, np.float32(2.5))[1])
    1.515151...
    """
    k, strength = np.float32(k1), np.float32(b)
    lengths = LENGTHS.astype(np.float32)
    with np.errstate(divide="ignore"):
        return np.asarray(ONE / (k * ((ONE - strength) + strength * lengths / mean)))


def boosted(idf: np.float32, count: float, k1: float) -> np.float32:
    """The supremum of a term's score: (boost * (1 + k1)) * idf, the boost being its count in the query.

    >>> float(boosted(np.float32(0.5), 2, 1.0))
    2.0
    """
    return (np.float32(count) * (ONE + np.float32(k1))) * idf


def saturated(weight: np.float32, frequency: Floats, inverse: Floats) -> Floats:
    """weight - weight / (1 + frequency * inverse); not frequency / (frequency + norm), which rounds otherwise.

    >>> saturated(np.float32(2), np.array([1, 3], np.float32), np.array([1, 1], np.float32)).tolist()
    [1.0, 1.5]
    """
    # Beyond the largest float32 the quotient is 0 and the score its supremum.
    with np.errstate(over="ignore"):
        return np.asarray(weight - weight / (ONE + frequency * inverse))


@dataclass(frozen=True)
class TermView:
    """The inputs of a term's score.

    Args:
        fields: positions of the fields whose occurrences count, in the order of their addition.
        weights: float32 weight of each of them.
        df: entities that have the term.
        n: the N of the idf.
        inverse: float32[m], `inverse_norms` of each scored entity.
    """

    fields: Sequence[int]
    weights: Sequence[np.float32]
    df: int
    n: int
    inverse: Floats


def score_terms(task: ScoringTask, k1: float, view_of: Callable[[ScoredTerm, Ids], TermView]) -> tuple[Ids, Scores]:
    """(ids uint32[m] ascending, scores float64[m]): the sum of the terms' scores in float64, rounded to float32."""
    ids = union([postings.ids for term in task.terms for postings in term.postings])
    if not len(ids):
        return NONE, np.zeros(0)
    place_of = places_in(ids, sum(len(postings.ids) for term in task.terms for postings in term.postings))
    total = np.zeros(len(ids))
    scratch = np.zeros(len(ids), np.float32)
    for term in task.terms:
        if not any(len(postings.ids) for postings in term.postings):
            continue
        view = view_of(term, ids)
        places, frequency = _frequencies(term, view, place_of, scratch)
        weight = boosted(idf(view.df, view.n), term.count, k1)
        total[places] += saturated(weight, frequency, view.inverse[places])
    return ids, total.astype(np.float32).astype(np.float64)


def explain_terms(task: ScoringTask, k1: float, view_of: Callable[[ScoredTerm, Ids], TermView]) -> list[TermShare]:
    """The parts of the score of the task's only entity; a field's share is its part of the weighted occurrences."""
    ids = union([postings.ids for term in task.terms for postings in term.postings])
    explained = []
    for term in task.terms:
        tf = [int(postings.tf[0]) if len(postings.ids) else 0 for postings in term.postings]
        view = view_of(term, ids)
        weight_of = dict(zip(view.fields, view.weights, strict=True))
        contribution = 0.0
        if any(tf):
            _, frequency = _frequencies(
                term, view, lambda members: np.searchsorted(ids, members), np.zeros(1, np.float32)
            )
            weight = boosted(idf(view.df, view.n), term.count, k1)
            contribution = float(saturated(weight, frequency, view.inverse)[0])
        weights = [float(weight_of.get(i, 0.0)) for i in range(len(tf))]
        own = shares(contribution, [w * n for w, n in zip(weights, tf, strict=True)])
        fields = tuple(
            FieldShare(f.name, tf[i], int(task.lengths[f.row, ids[0]]), weights[i], own[i])
            for i, f in enumerate(task.fields)
        )
        values = {"idf": float(idf(view.df, view.n)), "k1": k1}
        explained.append(TermShare(term.shown, TERM, term.count, term.df, contribution, values, fields))
    return explained


def _frequencies(
    term: ScoredTerm, view: TermView, place_of: Callable[[Ids], NDArray[Any]], scratch: Floats
) -> tuple[NDArray[Any], Floats]:
    """Places ascending, and the weighted occurrences there; `scratch` is all 0 before and after."""
    parts = []
    with np.errstate(over="ignore"):
        for field, weight in zip(view.fields, view.weights, strict=True):
            postings = term.postings[field]
            if len(postings.ids):
                parts.append((place_of(postings.ids), weight * postings.tf.astype(np.float32)))
        if len(parts) == 1:
            return parts[0]
        for places, occurrences in parts:
            scratch[places] += occurrences
    places = union([places for places, _ in parts])
    frequency = scratch[places]
    scratch[places] = 0
    return places, frequency
