"""Bounds of the scores of single entities in a batch of ranges. Import it from kernel modules only: it imports numba.

What an entity has so far of a score, its *total*, and what the terms to come do at most, its *rest*, are added up.
Scores of logarithms whose gains are all the same are multiplied instead, before any logarithm is taken: the product
over the words of an entity is at most

    1 + x / nothing    where it has the word, and
    lack               where it has not;

`nothing` is the most that a word can be without an occurrence, in an entity without tokens, and `lack` what it is in
this entity, as a share of that. Lengths tell it, so no posting is looked at; long entities with few of the words go
first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, njit, uint8, uint32, uint64

from hybridkg.text.index.codec.cursor_kernel import OPTIONS
from hybridkg.text.index.field_lengths import LONG
from hybridkg.text.index.layout import DOC_BLOCK, DOC_BLOCK_SHIFT
from hybridkg.text.index.topk.block_max import SETS
from hybridkg.text.index.topk.bounds_kernel import share_of
from hybridkg.text.models.additive import SMALLEST

BLOCK = 512
"""Entities of which lengths are read together."""

MIN_MISSING_FACTOR = 1e-4
"""A product of as many as a query may have is far above the smallest number."""


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def empty_doc_parts(base: Any, slope: Any, background: Any, constant: Any, upon: Any, out: Any, shares: Any) -> None:
    """Tells what each field is of `nothing`.

    What it takes:
        base, slope, background, constant: of the form.
        upon: of `mixture_kernel.bounds_of_terms`.
        out: float64[terms, fields + 1], gets the share of each field, and last what no length changes.
        shares: float64[fields, LONG + 1], gets what each length leaves of it.
    """
    for f in range(len(base)):
        for length in range(LONG + 1):
            shares[f, length] = base[f] / (base[f] + slope[f] * float64(length)) if base[f] > 0.0 else 1.0
    for t in range(len(constant)):
        nothing, last = constant[t], len(base)
        for f in range(last):
            nothing += background[t, f] / base[f] if background[t, f] > 0.0 else 0.0
        for f in range(last):
            is_part = upon[t] > 0.0 and background[t, f] > 0.0
            out[t, f] = background[t, f] / base[f] / nothing if is_part else 0.0
        out[t, last] = constant[t] / nothing + max(SMALLEST / nothing, MIN_MISSING_FACTOR) if upon[t] > 0.0 else 1.0


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def init_upper_bounds(n: Any, terms: Any, is_sum: Any, step: Any, sets: Any, most: Any, total: Any, rest: Any) -> None:
    """Begins with the entities of some ranges: puts what terms do at most into the rest of those that have them.

    What it takes:
        n: ranges.
        is_sum: whether shares are added up, or factors multiplied.
        step, sets: of `bounds_kernel.steps_of`; those of term t begin at t * most.
        total, rest: float64[RANGE * n or more].
    """
    nothing = 0.0 if is_sum else 1.0
    for j in range(uint64(n)):
        # One for each entity of a range: LLVM keeps them in registers.
        a = b = c = d = nothing
        for t in range(uint64(terms)):
            own, has = max(step[t * most + j], nothing), sets[t * most + j] >> uint8(SETS)
            if is_sum:
                a += own if has & uint8(1) else 0.0
                b += own if has & uint8(2) else 0.0
                c += own if has & uint8(4) else 0.0
                d += own if has & uint8(8) else 0.0
            else:
                a *= own if has & uint8(1) else 1.0
                b *= own if has & uint8(2) else 1.0
                c *= own if has & uint8(4) else 1.0
                d *= own if has & uint8(8) else 1.0
        at = j << uint64(DOC_BLOCK_SHIFT)
        rest[at], rest[at + uint64(1)], rest[at + uint64(2)], rest[at + uint64(3)] = a, b, c, d
        for e in range(at, at + uint64(DOC_BLOCK)):
            total[e] = nothing


# What is compared has a margin for rounding, so a product and a sum may be rounded together.
@njit(**{**OPTIONS, "fastmath": {"contract"}})  # type: ignore[untyped-decorator, unused-ignore]
def tighten_by_length(
    live: Any, n_live: Any, ranges: Any, lengths: Any, narrow: Any, rows: Any, parts: Any, shares: Any, least: Any,
    step: Any, sets: Any, most: Any, total: Any, rest: Any,
) -> None:  # fmt: skip
    """Multiplies the total of entities by their lack of the terms that they have not.

    What it takes:
        live: uint32[n_live or more], which of the ranges live.
        ranges: uint32[n].
        lengths, narrow, rows: as `pruned_kernel.best`.
        parts, shares: of `empty_doc_parts`.
        least: what an entity has to reach; others have a total of 0.
        step ... rest: as of `init_upper_bounds`.
    """
    nodes, is_narrow, n_rows = uint64(lengths.shape[1]), len(narrow) > 0, uint64(len(rows))
    places, entities = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    left, lack, lacks = np.empty(n_rows * BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    i = uint64(0)
    while i < uint64(n_live):
        n = uint64(0)
        while i < uint64(n_live) and n + uint64(DOC_BLOCK) <= uint64(BLOCK):
            j = uint64(live[i])
            i += uint64(1)
            for e in range(uint64(DOC_BLOCK)):
                at = (j << uint64(DOC_BLOCK_SHIFT)) + e
                places[n], entities[n] = at, (uint64(ranges[j]) << uint64(DOC_BLOCK_SHIFT)) + e
                total[at] = 0.0
                n += uint64((not rest[at] < least) & (uint64(entities[n]) < nodes))
        for f in range(n_rows):  # field by field, so that the processor fetches the lengths of many entities at once
            row, own, share_of_length = rows[f], left[f * uint64(BLOCK) :], shares[f]
            if is_narrow:
                for d in range(n):
                    own[d] = share_of_length[narrow[entities[d], row]]
            else:
                for d in range(n):
                    own[d] = share_of_length[min(lengths[row, entities[d]], uint32(LONG))]
        for d in range(n):
            lacks[d] = 1.0
        for t in range(uint64(len(parts))):
            for d in range(n):
                lack[d] = parts[t, n_rows]
            for f in range(n_rows):
                part, own = parts[t, f], left[f * uint64(BLOCK) :]
                for d in range(n):
                    lack[d] += part * own[d]
            of_ranges, of_steps = sets[t * most :], step[t * most :]
            for d in range(n):
                j, e = uint64(places[d]) >> uint64(DOC_BLOCK_SHIFT), uint64(places[d]) & uint64(DOC_BLOCK - 1)
                # Without a branch: whether an entity has a term cannot be foreseen.
                has_it = float64((uint64(of_ranges[j]) >> (uint64(SETS) + e)) & uint64(of_steps[j] >= 0.0))
                lacks[d] *= lack[d] + has_it * (1.0 - lack[d])
        for d in range(n):
            total[places[d]] = lacks[d]


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def replace_bound_by_score(
    having: Any, own: Any, sets: Any, is_sum: Any, gain: Any, k1: Any, background: Any, of_x: Any, absent: Any,
    upon: Any, x: Any, total: Any, rest: Any,
) -> None:  # fmt: skip
    """Puts what a term has done into the total of the entities that have it, and takes it out of their rest.

    What it takes:
        having: uint32[n], the ranges that have the term.
        own, sets: of `bounds_kernel.steps_of`.
        background: the largest of the term.
        of_x: what the least length leaves of an x.
        absent: what the term adds without occurrences.
        upon: of `mixture_kernel.bounds_of_terms`.
        x: float64[RANGE * ranges], of the term; where k1 is above 0 it gets its share.
        total, rest: as of `init_upper_bounds`.
    """
    for j in range(uint64(len(having))):
        slot = uint64(having[j])
        has = sets[slot] >> uint8(SETS)
        for e in range(uint64(DOC_BLOCK)):
            d, has_it = (slot << uint64(DOC_BLOCK_SHIFT)) + e, (has >> e) & uint64(1)
            if k1 > 0.0:
                x[d] = gain * x[d] / (k1 + x[d])
                total[d] += x[d]
                rest[d] -= own[slot] if has_it else 0.0
            elif is_sum:
                if has_it:
                    total[d] += share_of(x[d] * of_x, gain, k1, background) - absent if x[d] > 0.0 else 0.0
                    rest[d] -= own[slot]
            elif has_it:
                # `upon` may be infinite.
                total[d] *= 1.0 + x[d] * upon if x[d] > 0.0 else 1.0
                rest[d] /= own[slot]


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def prune_blocks(
    live: Any, n_live: Any, is_sum: Any, least: Any, total: Any, rest: Any, ranges: Any, slot_of: Any
) -> Any:
    """Leaves those ranges of a batch alive in which an entity can reach the least; how many there are."""
    left = uint64(0)
    for j in range(uint64(n_live)):
        slot = uint64(live[j])
        lives = False
        for d in range(slot << uint64(DOC_BLOCK_SHIFT), (slot + uint64(1)) << uint64(DOC_BLOCK_SHIFT)):
            most = total[d] + rest[d] if is_sum else total[d] * rest[d]
            lives |= not most < least  # what is not a number lives
        if lives:
            live[left] = slot
            left += uint64(1)
        else:
            slot_of[ranges[slot]] = -1
    return left
