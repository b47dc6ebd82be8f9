"""Scores and bounds of mixture models, sums of logarithms. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

import math
from typing import Any

from numba import float64, njit, uint64

from hybridkg.text.index.codec.cursor_kernel import HELPER
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.models.additive import CHUNK, GROUP, SMALLEST
from hybridkg.text.models.logarithm_kernel import log

MARGIN = 1e-6
"""Relative margin of a bound, well above its rounding error."""


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def bounds_of_terms(
    base: Any, gain: Any, background: Any, constant: Any, together: Any, used: Any, inverse_empty_score: Any
) -> Any:
    """Prepares upper bounds of scores as products over the matching terms.

    An entity without tokens has the largest background, so the score divided by the empty document score is at most the
    product of 1 + x / empty_doc_score over the matching words: no length is read, and no logarithm is taken.

    Args beyond the form:
        together: whether the fields are read as one text.
        used: bool[fields], gets whether the length of the field matters without an occurrence.
        inverse_empty_score: float64[terms], 0 before, gets the factor of x, 1 / empty_doc_score.

    Returns:
        The gain of all terms, 0 where there is no bound, and the sum of the logarithms of the empty document scores.
    """
    common_gain, log_empty, bounded = 0.0, 0.0, True
    used[0] = together
    for t in range(len(gain)):
        empty_doc_score = constant[t]
        for f in range(len(base)):
            if background[t, f] > 0.0:
                used[f] = True
                empty_doc_score += background[t, f] / base[f]
        if gain[t] != 0.0:
            bounded &= (
                gain[t] > 0.0 and (common_gain == 0.0 or gain[t] == common_gain) and SMALLEST < empty_doc_score < 1e70
            )
            common_gain = gain[t]
            if bounded:
                log_empty += log(empty_doc_score)
                inverse_empty_score[t] = (1.0 / base[0] if together else 1.0) / empty_doc_score
    return (common_gain if bounded else 0.0), log_empty


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def min_product(score: Any, common_gain: Any, log_empty: Any) -> Any:
    """The lower bound of the product (`bounds_of_terms`) of an entity whose score reaches `score`."""
    product = math.exp(score / common_gain - log_empty) * (1.0 - MARGIN)
    return product if product < 1e300 else 0.0


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def score_mixtures(
    n: Any, slots: Any, entities: Any, x: Any, lengths: Any, narrow: Any, rows: Any, base: Any, slope: Any, gain: Any,
    background: Any, constant: Any, together: Any, used: Any, room: Any,
) -> None:  # fmt: skip
    """Fills room[:n] with the scores of n <= CHUNK entities.

    Args beyond the form and those of `bounds_of_terms`:
        slots, entities: uint32[n], the row of each in x, float64[slots * terms], and its id.
        narrow: uint8[nodes, rows], of `narrow_lengths`; may be empty.
        room: float64[(3 + fields) * CHUNK or more].
    """
    n_terms, n_fields, count = len(gain), len(rows), uint64(n)
    total, p, product, inverse = room[:CHUNK], room[CHUNK : 2 * CHUNK], room[2 * CHUNK : 3 * CHUNK], room[3 * CHUNK :]
    for j in range(count):
        total[j] = 0.0
    for f in range(n_fields):
        if used[f]:
            a, b, row, own = base[f], slope[f], rows[f], inverse[f * CHUNK :]
            if len(narrow) > 0 and not together:  # a quarter of the memory
                for j in range(count):
                    own[j] = float64(narrow[entities[j], row])
                for j in range(count):
                    if own[j] == float64(LONG):
                        own[j] = float64(lengths[row, entities[j]])
            else:
                for j in range(count):
                    own[j] = float64(lengths[row, entities[j]])
            for j in range(count):
                own[j] = 1.0 / (a + b * own[j])
    grouped = 0
    for t in range(n_terms):
        g, c = gain[t], constant[t]
        for j in range(count):
            p[j] = x[uint64(slots[j]) * uint64(n_terms) + uint64(t)]
        if together:
            for j in range(count):
                p[j] *= inverse[j]
        for f in range(n_fields):
            w0 = background[t, f]
            if w0 > 0.0:
                for j in range(count):
                    p[j] += w0 * inverse[uint64(f * CHUNK) + j]
        if grouped == 0:
            for j in range(count):
                product[j] = max(p[j] + c, SMALLEST)
        else:
            for j in range(count):
                product[j] *= max(p[j] + c, SMALLEST)
        grouped += 1
        if grouped == GROUP or t + 1 == n_terms or gain[t + 1] != g:
            grouped = 0
            for j in range(count):
                total[j] += g * log(product[j])
