"""Scores of logarithms, for many entities at once. Import it from kernel modules only: it imports numba."""

from __future__ import annotations

import math
from typing import Any

from numba import float64, njit, uint64

from hybridkg.text.index.codec.cursor_kernel import OPTIONS
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.models.additive import CHUNK, GROUP, SMALLEST
from hybridkg.text.models.logarithm_kernel import log

MARGIN = 1e-6
"""What rounding may cost a bound, as a share, is far less."""


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def bounds_of_terms(base: Any, gain: Any, background: Any, constant: Any, together: Any, used: Any, upon: Any) -> Any:
    """Prepares bounds on scores.

    A score is at most that of an entity without tokens. Divided by what every entity has without any word, its product
    is that of 1 + x / nothing over the words that it has; so no length is looked at, and no logarithm is taken.

    What it takes:
        base, gain, background, constant: of the form.
        together: whether the fields are read as one text.
        used: bool[fields], gets whether the length of the field matters without an occurrence.
        upon: float64[terms], 0 before, gets what x is multiplied with: 1 / nothing.

    Returns:
        The gain of all terms, 0 where there is no bound, and the sum of the logarithms of nothing.
    """
    common, lowest, bounded = 0.0, 0.0, True
    used[0] = together
    for t in range(len(gain)):
        nothing = constant[t]
        for f in range(len(base)):
            if background[t, f] > 0.0:
                used[f] = True
                nothing += background[t, f] / base[f]
        if gain[t] != 0.0:
            bounded &= gain[t] > 0.0 and (common == 0.0 or gain[t] == common) and SMALLEST < nothing < 1e70
            common = gain[t]
            if bounded:
                lowest += log(nothing)
                upon[t] = (1.0 / base[0] if together else 1.0) / nothing
    return (common if bounded else 0.0), lowest


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def least_product(score: Any, common: Any, lowest: Any) -> Any:
    """What the product of an entity must reach whose score reaches another; the rest is of `bounds_of_terms`."""
    least = math.exp(score / common - lowest) * (1.0 - MARGIN)
    return least if least < 1e300 else 0.0


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def logarithms(
    n: Any, slots: Any, entities: Any, x: Any, lengths: Any, narrow: Any, rows: Any, base: Any, slope: Any, gain: Any,
    background: Any, constant: Any, together: Any, used: Any, room: Any,
) -> None:  # fmt: skip
    """Fills room[:n] with the scores of at most CHUNK entities.

    What it takes:
        n: how many.
        slots: uint32[n], where each is in x.
        entities: uint32[n], their ids.
        x: float64[slots * terms], of each term.
        narrow: uint8[nodes, rows], of `narrow_lengths`; empty if not at hand.
        lengths, rows ... constant: of the form.
        together, used: as of `bounds_of_terms`.
        room: float64[(3 + fields) * CHUNK or more].
    """
    n_terms, n_fields, many = len(gain), len(rows), uint64(n)
    total, p, product, inverse = room[:CHUNK], room[CHUNK : 2 * CHUNK], room[2 * CHUNK : 3 * CHUNK], room[3 * CHUNK :]
    for j in range(many):
        total[j] = 0.0
    for f in range(n_fields):
        if used[f]:
            a, b, row, own = base[f], slope[f], rows[f], inverse[f * CHUNK :]
            if len(narrow) > 0 and not together:  # a quarter of the memory
                for j in range(many):
                    own[j] = float64(narrow[entities[j], row])
                for j in range(many):
                    if own[j] == float64(LONG):
                        own[j] = float64(lengths[row, entities[j]])
            else:
                for j in range(many):
                    own[j] = float64(lengths[row, entities[j]])
            for j in range(many):
                own[j] = 1.0 / (a + b * own[j])
    grouped = 0
    for t in range(n_terms):
        g, c = gain[t], constant[t]
        for j in range(many):
            p[j] = x[uint64(slots[j]) * uint64(n_terms) + uint64(t)]
        if together:
            for j in range(many):
                p[j] *= inverse[j]
        for f in range(n_fields):
            w0 = background[t, f]
            if w0 > 0.0:
                for j in range(many):
                    p[j] += w0 * inverse[uint64(f * CHUNK) + j]
        if grouped == 0:
            for j in range(many):
                product[j] = max(p[j] + c, SMALLEST)
        else:
            for j in range(many):
                product[j] *= max(p[j] + c, SMALLEST)
        grouped += 1
        if grouped == GROUP or t + 1 == n_terms or gain[t + 1] != g:
            grouped = 0
            for j in range(many):
                total[j] += g * log(product[j])
