"""Scores and upper bounds of single entities in a batch of document blocks.

Import it from kernel modules only: it imports numba.

The bound of an entity is the sum of its partial score, `total`, and the maximum gains of the remaining terms, `rest`.
Mixture models of equal gains multiply instead, before any logarithm is taken: the factor of a word is at most

    1 + x / empty_doc_score    where the entity has the word, and
    missing_term_factor        where it lacks it;

`empty_doc_score` is the score of a word in an entity without tokens, `missing_term_factor` that in this entity as a
share of it. The factor depends on lengths alone, so long entities with few of the words are pruned without reading a
posting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, njit, uint8, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import HELPER
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT, FIELD_SETS
from hybridkg.text.index.topk.bounds_kernel import share_of
from hybridkg.text.models.additive import SMALLEST

BLOCK = 512
"""Entities whose lengths are read together."""

MIN_MISSING_FACTOR = 1e-4
"""Lower bound of a factor, so that the product over the terms of a query does not underflow."""


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def empty_doc_parts(
    base: Any, slope: Any, background: Any, constant: Any, inverse_empty_score: Any, out: Any, shares: Any
) -> None:
    """The share of each field in the empty document score.

    out, float64[terms, fields + 1], gets the share of each field, and last the share that no length changes; shares,
    float64[fields, LONG + 1], gets the remaining part of it at each length.
    """
    for f in range(len(base)):
        for length in range(LONG + 1):
            shares[f, length] = base[f] / (base[f] + slope[f] * float64(length)) if base[f] > 0.0 else 1.0
    for t in range(len(constant)):
        empty_doc_score, last = constant[t], len(base)
        for f in range(last):
            empty_doc_score += background[t, f] / base[f] if background[t, f] > 0.0 else 0.0
        for f in range(last):
            is_part = inverse_empty_score[t] > 0.0 and background[t, f] > 0.0
            out[t, f] = background[t, f] / base[f] / empty_doc_score if is_part else 0.0
        out[t, last] = (
            constant[t] / empty_doc_score + max(SMALLEST / empty_doc_score, MIN_MISSING_FACTOR)
            if inverse_empty_score[t] > 0.0
            else 1.0
        )


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def init_upper_bounds(
    n: Any, terms: Any, is_sum: Any, max_gain: Any, sets: Any, stride: Any, total: Any, rest: Any
) -> None:
    """Initialises total and rest, float64[DOC_BLOCK * n or more], with the maximum gains of n blocks.

    max_gain and sets, of `bounds_kernel.block_max_gains`, begin at t * stride for term t.
    """
    neutral = 0.0 if is_sum else 1.0
    for j in range(uint64(n)):
        # One for each entity of a block: LLVM keeps them in registers.
        a = b = c = d = neutral
        for t in range(uint64(terms)):
            gain, has = max(max_gain[t * stride + j], neutral), sets[t * stride + j] >> uint8(FIELD_SETS)
            if is_sum:
                a += gain if has & uint8(1) else 0.0
                b += gain if has & uint8(2) else 0.0
                c += gain if has & uint8(4) else 0.0
                d += gain if has & uint8(8) else 0.0
            else:
                a *= gain if has & uint8(1) else 1.0
                b *= gain if has & uint8(2) else 1.0
                c *= gain if has & uint8(4) else 1.0
                d *= gain if has & uint8(8) else 1.0
        at = j << uint64(DOC_BLOCK_SHIFT)
        rest[at], rest[at + uint64(1)], rest[at + uint64(2)], rest[at + uint64(3)] = a, b, c, d
        for e in range(at, at + uint64(DOC_BLOCK)):
            total[e] = neutral


# The threshold has a margin for rounding, so a product and a sum may be rounded together.
@njit(**{**HELPER, "fastmath": {"contract"}})  # type: ignore[untyped-decorator, unused-ignore]
def tighten_by_length(
    live: Any, n_live: Any, blocks: Any, lengths: Any, narrow: Any, rows: Any, parts: Any, shares: Any,
    min_partial: Any, max_gain: Any, sets: Any, stride: Any, total: Any, rest: Any,
) -> None:  # fmt: skip
    """Multiplies the total of each entity by the missing term factors of the terms that it lacks.

    live, uint32[n_live or more], are the places of the surviving blocks in `blocks`; parts and shares are those of
    `empty_doc_parts`. Entities below min_partial, the threshold, get a total of 0.
    """
    nodes, is_narrow, n_rows = uint64(lengths.shape[1]), len(narrow) > 0, uint64(len(rows))
    places, entities = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    share_left, missing_term_factor, missing_factor = np.empty(n_rows * BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    i = uint64(0)
    while i < uint64(n_live):
        n = uint64(0)
        while i < uint64(n_live) and n + uint64(DOC_BLOCK) <= uint64(BLOCK):
            j = uint64(live[i])
            i += uint64(1)
            for e in range(uint64(DOC_BLOCK)):
                at = (j << uint64(DOC_BLOCK_SHIFT)) + e
                places[n], entities[n] = at, (uint64(blocks[j]) << uint64(DOC_BLOCK_SHIFT)) + e
                total[at] = 0.0
                n += uint64((not rest[at] < min_partial) & (uint64(entities[n]) < nodes))
        for f in range(n_rows):  # field by field, so that the processor fetches the lengths of many entities at once
            row, own, share_of_length = rows[f], share_left[f * uint64(BLOCK) :], shares[f]
            if is_narrow:
                for d in range(n):
                    own[d] = share_of_length[narrow[entities[d], row]]
            else:
                for d in range(n):
                    own[d] = share_of_length[min(lengths[row, entities[d]], uint32(LONG))]
        for d in range(n):
            missing_factor[d] = 1.0
        for t in range(uint64(len(parts))):
            for d in range(n):
                missing_term_factor[d] = parts[t, n_rows]
            for f in range(n_rows):
                part, own = parts[t, f], share_left[f * uint64(BLOCK) :]
                for d in range(n):
                    missing_term_factor[d] += part * own[d]
            own_sets, own_gains = sets[t * stride :], max_gain[t * stride :]
            for d in range(n):
                j, e = uint64(places[d]) >> uint64(DOC_BLOCK_SHIFT), uint64(places[d]) & uint64(DOC_BLOCK - 1)
                # Without a branch, which the processor could not predict.
                has_it = float64((uint64(own_sets[j]) >> (uint64(FIELD_SETS) + e)) & uint64(own_gains[j] >= 0.0))
                missing_factor[d] *= missing_term_factor[d] + has_it * (1.0 - missing_term_factor[d])
        for d in range(n):
            total[places[d]] = missing_factor[d]


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def replace_bound_by_score(
    term_blocks: Any, own: Any, sets: Any, is_sum: Any, gain: Any, k1: Any, max_background: Any, max_inverse_norm: Any,
    empty_share: Any, inverse_empty_score: Any, x: Any, total: Any, rest: Any,
) -> None:  # fmt: skip
    """Adds the score of a term to the total of the entities that have it, and removes its bound from their rest.

    Args (in part):
        term_blocks: uint32[n], the blocks that contain the term.
        own, sets: of `bounds_kernel.block_max_gains`.
        max_inverse_norm: the factor of x at the minimum length.
        empty_share: the share of the term without occurrences.
        x: float64[DOC_BLOCK * blocks], of the term; where k1 is above 0 it gets its share.
    """
    for j in range(uint64(len(term_blocks))):
        slot = uint64(term_blocks[j])
        has = sets[slot] >> uint8(FIELD_SETS)
        for e in range(uint64(DOC_BLOCK)):
            d, has_it = (slot << uint64(DOC_BLOCK_SHIFT)) + e, (has >> e) & uint64(1)
            if k1 > 0.0:
                x[d] = gain * x[d] / (k1 + x[d])
                total[d] += x[d]
                rest[d] -= own[slot] if has_it else 0.0
            elif is_sum:
                if has_it:
                    total[d] += (
                        share_of(x[d] * max_inverse_norm, gain, k1, max_background) - empty_share if x[d] > 0.0 else 0.0
                    )
                    rest[d] -= own[slot]
            elif has_it:
                # `inverse_empty_score` may be infinite.
                total[d] *= 1.0 + x[d] * inverse_empty_score if x[d] > 0.0 else 1.0
                rest[d] /= own[slot]


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def prune_blocks(
    live: Any, n_live: Any, is_sum: Any, min_partial: Any, total: Any, rest: Any, blocks: Any, slot_of: Any
) -> Any:
    """Prunes the blocks in which no entity can reach the threshold; returns the number of surviving ones."""
    n_left = uint64(0)
    for j in range(uint64(n_live)):
        slot = uint64(live[j])
        lives = False
        for d in range(slot << uint64(DOC_BLOCK_SHIFT), (slot + uint64(1)) << uint64(DOC_BLOCK_SHIFT)):
            bound = total[d] + rest[d] if is_sum else total[d] * rest[d]
            lives |= not bound < min_partial  # NaN survives
        if lives:
            live[n_left] = slot
            n_left += uint64(1)
        else:
            slot_of[blocks[slot]] = -1
    return n_left
