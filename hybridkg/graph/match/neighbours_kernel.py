"""The compiled loops of pattern matching. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

Each has a numpy reference beside its call, which gives the same numbers (tests/graph/match/test_counts_equal_rows.py).
Sums are int64; callers check before that they stay below MAX_COUNT.
"""

from __future__ import annotations

from typing import Any

from numba import boolean, int64, njit, uint32, void
from numba.core.types import Array

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

FEW = 4
"""Neighbours of an id that are copied without a loop."""

GALLOP = 8
"""One list is searched in another by galloping when it is this many times shorter, otherwise both are merged."""


def _input(dtype: Any) -> Any:
    return Array(dtype, 1, "C", readonly=True)


_RUNS = (_input(int64), _input(int64), _input(uint32))
"""starts, counts, targets: the neighbours of the ith id are targets[starts[i] : starts[i] + counts[i]]."""


@njit(void(*_RUNS, int64[::1], uint32[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def expand(starts: Any, counts: Any, targets: Any, index: Any, found: Any) -> None:
    """All neighbours, and the place of the id of each.

    Of most ids, FEW places are written whatever their count, so that the processor has no end of a loop to guess:
    0.45 ms for 97,000 ids of one to three neighbours, and 0.7 with a loop (2-core machine).
    """
    n, last, last_target = 0, len(index) - FEW, len(targets) - FEW
    for i in range(len(starts)):
        start, count = starts[i], counts[i]
        done = int64(0)
        if n <= last and start <= last_target:
            for j in range(FEW):
                index[n + j] = i
                found[n + j] = targets[start + j]
            done = int64(FEW)
        for j in range(done, count):
            index[n + j] = i
            found[n + j] = targets[start + j]
        n += count


@njit(void(_input(uint32), int64, _input(uint32), int64[::1], int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def runs_of(ids: Any, first: Any, offsets: Any, starts: Any, counts: Any) -> None:
    """The start and the length of the run of each id, of which the id `first` has the first run; 0 for any other id."""
    n, low = uint32(len(offsets) - 1), uint32(first)
    for i in range(len(ids)):
        place = uint32(ids[i] - low)  # ids below the first wrap around to large numbers
        is_key = place < n
        starts[i] = offsets[place] if is_key else 0
        counts[i] = int64(offsets[place + 1]) - starts[i] if is_key else 0


@njit(int64(_input(uint32), _input(uint32), int64, _input(uint32), _input(uint32), uint32[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def reach(ids: Any, keys: Any, first: Any, offsets: Any, targets: Any, room: Any) -> Any:
    """The set of the neighbours of some ids, at the beginning of `room`; the keys are `first`, first + 1, ..., or
    ascending where that is negative.

    Returns the neighbours with repeats times 2**32, plus those of the set; -1 if `room` is too small for the first.
    """
    n_keys, n, filled = len(keys), int64(0), int64(0)
    for i in range(len(ids)):
        place = int64(ids[i]) - first
        if first < 0:
            place, high = int64(0), int64(n_keys)
            while place < high:
                middle = (place + high) // 2
                if keys[middle] < ids[i]:
                    place = middle + 1
                else:
                    high = middle
            if place == n_keys or keys[place] != ids[i]:
                continue
        elif place < 0 or place >= n_keys:
            continue
        start, end = int64(offsets[place]), int64(offsets[place + 1])
        if n + end - start > len(room):
            return int64(-1)
        for j in range(start, end):
            room[n] = targets[j]
            n += 1
        filled += start < end
    size = n
    if filled > 1:
        room[:n].sort()
        size = int64(0)
        for i in range(n):
            if i == 0 or room[i] != room[size - 1]:
                room[size] = room[i]
                size += 1
    return n * (int64(1) << 32) + size


@njit(void(_input(uint32), int64, _input(uint32), uint32[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def look_up(ids: Any, first: Any, targets: Any, found: Any) -> None:
    """The one target of each id, of which the id `first` has targets[0], the next one targets[1]; else UNBOUND."""
    n, unbound = uint32(len(targets)), uint32(0xFFFFFFFF)
    low = uint32(first)
    for i in range(len(ids)):
        place = uint32(ids[i] - low)  # ids below the first wrap around to large numbers
        found[i] = targets[place] if place < n else unbound


@njit(void(*_RUNS, _input(int64), int64, int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def sum_neighbours(starts: Any, counts: Any, targets: Any, weights: Any, low: Any, sums: Any) -> None:
    """The sum of the weights of the neighbours of each id; that of id x is weights[x - low], 0 outside."""
    size = len(weights)
    for i in range(len(starts)):
        total = int64(0)
        for j in range(starts[i], starts[i] + counts[i]):
            place = int64(targets[j]) - low
            if 0 <= place < size:
                total += weights[place]
        sums[i] = total


@njit(void(int64[::1], _input(uint32), int64, int64), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def add_digit(codes: Any, column: Any, low: Any, size: Any) -> None:
    """codes * size + (column - low), the last digit for all ids above."""
    for i in range(len(codes)):
        digit = int64(column[i]) - low
        codes[i] = codes[i] * size + min(digit, size - 1)


@njit(void(_input(int64), _input(int64), int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def sum_at(places: Any, weights: Any, sums: Any) -> None:
    """Adds each weight to the sum at its place; without weights, ones."""
    if len(weights) == 0:
        for place in places:
            sums[place] += 1
    else:
        for i in range(len(places)):
            sums[places[i]] += weights[i]


@njit(void(*_RUNS, _input(uint32), boolean[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def in_runs(starts: Any, counts: Any, targets: Any, wanted: Any, mask: Any) -> None:
    """Whether each id is in the run of its place, by binary search."""
    for i in range(len(wanted)):
        low, end = starts[i], starts[i] + counts[i]
        high = end
        while low < high:
            middle = (low + high) // 2
            if targets[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        mask[i] = low < end and targets[low] == wanted[i]


@njit(int64(_input(uint32), int64, int64, int64), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _seek(targets: Any, at: Any, end: Any, wanted: Any) -> Any:
    """The first place from `at` on whose target is at least `wanted`, by galloping."""
    step = 1
    while at + step < end and targets[at + step] < wanted:
        at += step
        step *= 2
    high = min(at + step, end)
    while at < high:
        middle = (at + high) // 2
        if targets[middle] < wanted:
            at = middle + 1
        else:
            high = middle
    return at


@njit(void(_input(uint32), _input(uint32), boolean[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def are_members(ids: Any, members: Any, mask: Any) -> None:
    """Whether each id is in an ascending set; a search begins where that of a smaller id before it has ended."""
    at, last, n = int64(0), uint32(0), len(members)
    for i in range(len(ids)):
        wanted = ids[i]
        if wanted < last:
            at = int64(0)
        last = wanted
        at = _seek(members, at, n, int64(wanted))
        mask[i] = at < n and members[at] == wanted


@njit(
    void(
        *_RUNS,
        *_RUNS,
        int64,
        _input(int64),
        _input(uint32),
        _input(int64),
        _input(int64),
        int64,
        _input(int64),
        int64,
        int64[::1],
        int64[::1],
        int64,
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]
def sum_common(
    starts: Any, counts: Any, targets: Any, own_starts: Any, own_counts: Any, own_targets: Any, low: Any, offsets: Any,
    its_targets: Any, weights: Any, middle_weights: Any, middle_low: Any, third_weights: Any, third_low: Any,
    sums: Any, by_third: Any, by_third_low: Any,
) -> None:  # fmt: skip
    """Sums over triangles a - b - v: the neighbours that each id a shares with each of its neighbours b.

    `starts, counts, targets` are the b of each a, `own_*` the v of each a, and `low, offsets, its_targets` the v of
    each b. `weights` are those of each a, none for ones; `middle_*` the weights of b from an id on, none for ones;
    `third_*` the same of v. `sums` gets the sum of each a, its own weight left out; `by_third`, if not empty, that of
    each v from an id on, with the weights of a.
    """
    n_middle, n_third, grouped, n_table = len(middle_weights), len(third_weights), len(by_third) > 0, len(offsets) - 1
    for i in range(len(starts)):
        own, own_end = own_starts[i], own_starts[i] + own_counts[i]
        total, own_weight = int64(0), weights[i] if len(weights) > 0 else int64(1)
        if own == own_end:
            sums[i] = 0
            continue
        least, greatest = own_targets[own], own_targets[own_end - 1]
        for k in range(starts[i], starts[i] + counts[i]):
            b = int64(targets[k])
            place = b - low
            if place < 0 or place >= n_table:
                continue
            q, q_end = offsets[place], offsets[place + 1]
            if q == q_end or its_targets[q] > greatest or its_targets[q_end - 1] < least:
                continue
            weight = int64(1)
            if n_middle > 0:
                b_place = b - middle_low
                weight = middle_weights[b_place] if 0 <= b_place < n_middle else int64(0)
            p, p_end = own, own_end
            gallop_q, gallop_p = q_end - q > GALLOP * (p_end - p), p_end - p > GALLOP * (q_end - q)
            while p < p_end and q < q_end:
                left, right = own_targets[p], its_targets[q]
                if left == right:
                    both = weight
                    if n_third > 0:
                        v_place = int64(left) - third_low
                        both = weight * third_weights[v_place] if 0 <= v_place < n_third else int64(0)
                    total += both
                    if grouped:
                        by_third[int64(left) - by_third_low] += both * own_weight
                    p += 1
                    q += 1
                elif gallop_p and left < right:
                    p = _seek(own_targets, p, p_end, int64(right))
                elif gallop_q and right < left:
                    q = _seek(its_targets, q, q_end, int64(left))
                else:  # without a branch that the processor would have to guess
                    p += left < right
                    q += right < left
        sums[i] = total


@njit(
    void(
        *_RUNS,
        _input(uint32),
        int64,
        _input(uint32),
        _input(int64),
        _input(int64),
        int64,
        _input(int64),
        int64,
        int64[::1],
        int64[::1],
        int64,
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]
def sum_equal(
    starts: Any, counts: Any, targets: Any, own: Any, low: Any, its: Any, weights: Any, middle_weights: Any,
    middle_low: Any, third_weights: Any, third_low: Any, sums: Any, by_third: Any, by_third_low: Any,
) -> None:  # fmt: skip
    """`sum_common` where a and b have one v at most, UNBOUND for none: own[i] of each a, its[b - low] of each b."""
    n_middle, n_third, grouped, n_its = len(middle_weights), len(third_weights), len(by_third) > 0, len(its)
    unbound = uint32(0xFFFFFFFF)
    for i in range(len(starts)):
        value, total = own[i], int64(0)
        if value != unbound:
            for k in range(starts[i], starts[i] + counts[i]):
                b = int64(targets[k])
                place = b - low
                if 0 <= place < n_its and its[place] == value:
                    if n_middle > 0:
                        b_place = b - middle_low
                        total += middle_weights[b_place] if 0 <= b_place < n_middle else int64(0)
                    else:
                        total += 1
            if n_third > 0:
                v_place = int64(value) - third_low
                total *= third_weights[v_place] if 0 <= v_place < n_third else int64(0)
            if grouped and total > 0:
                by_third[int64(value) - by_third_low] += total * (weights[i] if len(weights) > 0 else int64(1))
        sums[i] = total


@njit(
    int64(
        *_RUNS,
        int64,
        _input(int64),
        _input(uint32),
        _input(int64),
        int64,
        int64,
        int64[::1],
        uint32[::1],
        int64,
        int64[::1],
        uint32[::1],
        int64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]
def compose(
    starts: Any, counts: Any, targets: Any, low: Any, offsets: Any, its_targets: Any, weights: Any, weights_low: Any,
    y_low: Any, sums: Any, touched: Any, n: Any, found_counts: Any, found: Any, found_sums: Any,
) -> Any:  # fmt: skip
    """The weighted paths x - v - y by their ends: sparse rows times a sparse matrix (Gustavson, 1978).

    `starts, counts, targets` are the v of each x, `low, offsets, its_targets` the y of each v (RunTable), and `weights`
    those of v from an id on, none for ones. `sums` are zeros and `touched` is room, for each y from `y_low` on.
    `found_counts` gets the number of y of each x; `found` and `found_sums`, from the place `n` on, each y and its sum.
    Returns the place after the last one.
    """
    n_weights, is_single, unbound = len(weights), len(offsets) == 0, uint32(0xFFFFFFFF)
    n_table = len(its_targets) if is_single else len(offsets) - 1
    for i in range(len(starts)):
        n_touched = 0
        for j in range(starts[i], starts[i] + counts[i]):
            v = int64(targets[j])
            place = v - low
            if place < 0 or place >= n_table:
                continue
            weight = int64(1)
            if n_weights > 0:
                w_place = v - weights_low
                weight = weights[w_place] if 0 <= w_place < n_weights else int64(0)
                if weight == 0:
                    continue
            first, end = place, place + 1
            if not is_single:
                first, end = offsets[place], offsets[place + 1]
            elif its_targets[place] == unbound:
                continue
            for k in range(first, end):
                y = int64(its_targets[k]) - y_low
                if sums[y] == 0:
                    touched[n_touched] = y
                    n_touched += 1
                sums[y] += weight
        if n_touched * 16 > len(sums):
            for y in range(len(sums)):
                if sums[y] > 0:
                    found[n], found_sums[n] = y + y_low, sums[y]
                    sums[y] = 0
                    n += 1
        else:
            touched[:n_touched].sort()
            for k in range(n_touched):
                y = int64(touched[k])
                found[n], found_sums[n] = y + y_low, sums[y]
                sums[y] = 0
                n += 1
        found_counts[i] = n_touched
    return n
