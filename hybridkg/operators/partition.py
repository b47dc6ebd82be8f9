"""Partition of rows by arrays of integer keys, by tables where the keys are dense and by sorting elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel

Places: TypeAlias = NDArray[np.intp]
Keys: TypeAlias = NDArray[Any]

UINT64_BITS, DIGIT_BITS = 64, 16

KERNEL = LazyKernel("hybridkg.operators.columns_kernel", background=True)
"""The compiled loops over columns."""

FEW = 64
"""Rows that Python handles faster than numpy."""


def partition(keys: Sequence[Keys], size: int) -> tuple[Places, Places]:
    """Partition of rows by arrays of integer keys: (group number of each row, first row of each group).

    Groups are numbered in the order of their keys; without keys there is one.

    >>> [places.tolist() for places in partition([np.array([5, 1, 5])], 3)]
    [[1, 0, 1], [1, 0]]
    """
    if not size:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    if not keys:
        return np.zeros(size, np.intp), np.zeros(1, np.intp)
    if size <= FEW:
        cells = list(zip(*(key.tolist() for key in keys), strict=True))
        number = {own: n for n, own in enumerate(sorted(set(cells)))}
        begins = {own: row for row, own in reversed(list(enumerate(cells)))}
        return np.array([number[own] for own in cells], np.intp), np.array([begins[own] for own in number], np.intp)
    if len(keys) == 1 and (numbered := _numbered(keys[0])) is not None:
        return numbered
    group = dense(keys[0])
    for further in keys[1:]:
        group = finer(group, dense(further))
    first = np.empty(int(group.max()) + 1, np.intp)
    first[group[::-1]] = np.arange(size - 1, -1, -1)  # of equal places, numpy keeps the last value
    return group, first


def is_constant(key: Keys) -> bool:
    """Whether all rows have one key; true without rows.

    >>> is_constant(np.array([5, 5])), is_constant(np.array([5, 1, 5]))
    (True, False)
    """
    return not len(key) or bool(key[0] == key[-1] and (key == key[0]).all())


def are_distinct(keys: Sequence[Keys]) -> bool:
    """Whether no two rows have equal keys. False also where more than two columns, or others than of ids, differ.

    >>> are_distinct([np.array([5, 1, 5], np.uint32), np.array([2, 2, 3], np.uint32), np.zeros(3, np.intp)])
    True
    """
    differing = [key for key in keys if not is_constant(key)]
    if not 0 < len(differing) <= 2 or any(key.dtype != np.uint32 for key in differing):
        return False
    packed = np.zeros(len(differing[0]), np.uint64)
    for key in differing:
        packed <<= np.uint64(32)
        packed |= key
    packed.sort()
    return bool((packed[1:] != packed[:-1]).all())


TABLE_SHARE = 16
"""A table over the span of the keys replaces sorting when the span is at most this many times the number of keys: 1 ns
an entry, against 60 ns for sorting a key (2-core machine, numpy 2)."""


def _numbered(keys: Keys) -> tuple[Places, Places] | None:
    """`partition` by one column of ids whose span is small, by the kernel; None for any other."""
    if keys.dtype != np.uint32 or not keys.flags.c_contiguous:
        return None
    low, span = int(keys.min()), int(keys.max()) - int(keys.min()) + 1
    if span > TABLE_SHARE * len(keys) or (kernel := KERNEL.for_work(len(keys))) is None:
        return None
    group, first = np.empty(len(keys), np.intp), np.empty(min(len(keys), span), np.intp)
    count = kernel.number_groups(keys, low, np.zeros(span, np.int32), group, first)
    return group, first[:count]


def dense(keys: Keys) -> Places:
    """Numbers 0, 1, 2, ... in the order of the keys, equal where they are.

    >>> dense(np.array([7, 3, 7], np.uint32)).tolist()
    [1, 0, 1]
    """
    if not len(keys):
        return np.zeros(0, np.intp)
    low, span = int(keys.min()), int(keys.max()) - int(keys.min()) + 1
    if span > TABLE_SHARE * len(keys):
        offsets = keys.astype(np.uint64) - np.uint64(low % (1 << UINT64_BITS))
        order = radix_order(offsets, (span - 1).bit_length())
        offsets = offsets[order]
        ranks = np.empty(len(keys), np.intp)
        ranks[order] = np.append(0, (offsets[1:] != offsets[:-1]).cumsum())
        return ranks
    place: Places = (keys - keys.dtype.type(low)).astype(np.intp)
    marks = np.zeros(span, np.bool_)
    marks[place] = True
    if marks.all():
        return place
    numbers: Places = np.cumsum(marks, dtype=np.intp) - 1
    return numbers[place]


def finer(place: Places, within: Places) -> Places:
    """Numbers 0, 1, 2, ... in the order of (place, within), equal if both are.

    >>> finer(np.array([1, 0, 1]), np.array([5, 9, 5])).tolist()
    [1, 0, 1]
    """
    return dense(place * (int(within.max(initial=0)) + 1) + within)


def lexical_order(keys: Sequence[Keys]) -> Places:
    """Stable order of rows by arrays of keys, the most significant one first.

    Leading keys are packed into one number, which takes 10 ms for 250,000 rows where numpy's lexsort takes 26
    (2-core machine, numpy 2). Other keys count only where these are equal.

    >>> lexical_order([np.array([2, 1, 2, 0]), np.array([0, 9, 0, 9])]).tolist()
    [3, 1, 0, 2]
    """
    size, bits = len(keys[0]), 0
    if size <= FEW:
        columns = [key.tolist() for key in keys]
        if not any(map(_has_nan, columns, keys)):  # which has no place in the order of Python
            cells = list(zip(*columns, strict=True))
            return np.array(sorted(range(size), key=cells.__getitem__), np.intp)
    if is_sorted(keys):
        return np.arange(size)
    leading: list[tuple[NDArray[np.uint64], int]] = []
    for key in keys if size > FEW else ():
        offsets = _offsets(key)
        width = UINT64_BITS + 1 if offsets is None else int(offsets.max()).bit_length()
        if offsets is None or bits + width > UINT64_BITS:
            break
        leading.append((offsets, width))
        bits += width
    if leading:
        packed = np.zeros(size, np.uint64)
        for offsets, width in leading:
            packed <<= np.uint64(width)
            packed |= offsets
        order = radix_order(packed, bits)
        packed = packed[order]
        tied = np.flatnonzero(packed[1:] == packed[:-1])
        one, next_one = order[tied], order[tied + 1]
        if all((key[one] == key[next_one]).all() for key in keys[len(leading) :]):
            return order
    return np.lexsort(keys[::-1])


def _has_nan(cells: list[Any], key: Keys) -> bool:
    return key.dtype.kind == "f" and any(map(isnan, cells))


def is_sorted(keys: Sequence[Keys]) -> bool:
    """Whether rows ascend by the first key, then by the second, ...; false with a NaN that decides.

    >>> is_sorted([np.array([1, 1, 2]), np.array([5, 6, 0])]), is_sorted([np.array([1, 0])])
    (True, False)
    """
    if len(keys) == 1:
        return bool((keys[0][:-1] <= keys[0][1:]).all())
    tied = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        before, after = key[:-1], key[1:]
        if (tied & ~(before <= after)).any():
            return False
        tied &= before == after
        if not tied.any():
            return True
    return True


def _offsets(key: Keys) -> NDArray[np.uint64] | None:
    """Distances from the least key, in numbers of its type: of a double, its IEEE 754 bits count; None with NaN."""
    if key.dtype.kind == "f":
        if np.isnan(key).any():
            return None
        bits = (key.astype(np.float64) + 0.0).view(np.int64)  # no -0
        key = np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)
    return key.astype(np.uint64) - np.uint64(int(key.min()) % (1 << UINT64_BITS))


def radix_order(keys: NDArray[np.uint64], bits: int) -> Places:
    """Stable ascending order of keys below 2 ** bits, by 16 bits at a time, which numpy sorts by counting.

    >>> radix_order(np.array([70_000, 5, 70_000], np.uint64), 17).tolist()
    [1, 0, 2]
    """
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    for shift in range(DIGIT_BITS, bits, DIGIT_BITS):
        digits = (keys >> np.uint64(shift)).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order


def runs(ordered: Keys, wanted: Keys) -> tuple[Places, Places]:
    """(first place, length) of the run of each wanted key in an ascending array.

    >>> [places.tolist() for places in runs(np.array([3, 5, 5]), np.array([5, 4]))]
    [[1, 1], [2, 0]]
    """
    if len(ordered) and len(wanted) > FEW:
        low, span = int(ordered[0]), int(ordered[-1]) - int(ordered[0]) + 1
        if span <= TABLE_SHARE * (len(ordered) + len(wanted)):
            starts = np.zeros(span + 1, np.intp)
            np.cumsum(np.bincount(ordered - ordered.dtype.type(low), minlength=span), out=starts[1:])
            place = wanted.astype(np.int64) - low
            below = place < 0
            np.clip(place, 0, span, out=place)
            first = starts[place]
            lengths = starts[np.minimum(place + 1, span)] - first
            lengths[below] = 0
            return first, lengths
    first = ordered.searchsorted(wanted)
    return first, ordered.searchsorted(wanted, side="right") - first
