"""The compiled loops over columns of rows. Import it through `hybridkg.compute.kernels` only: importing it compiles it.

Each has a numpy reference beside its call, which gives the same bits (tests/operators/test_columns_kernel.py).
"""

from __future__ import annotations

from math import copysign, isnan
from typing import Any

from numba import boolean, float64, int32, int64, njit, uint32
from numba.core.types import Array

OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _input(dtype: Any) -> Any:
    return Array(dtype, 1, "C", readonly=True)


@njit(int64(_input(uint32), int64, int32[::1], int64[::1], int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def number_groups(keys: Any, low: Any, table: Any, group: Any, first: Any) -> Any:
    """Numbers the groups of equal keys in the order of their keys; returns the number of groups.

    `table` is zeros over the span of the keys from `low` on; `group` gets the number of each key, and `first` the first
    place of each group.
    """
    for key in keys:
        table[int64(key) - low] = 1
    n = 0
    for place in range(len(table)):
        if table[place] > 0:
            table[place] = n
            n += 1
    for i in range(len(keys) - 1, -1, -1):
        number = table[int64(keys[i]) - low]
        group[i] = number
        first[number] = i
    return n


@njit(boolean(_input(int64), _input(float64), _input(int64), float64[::1], int64[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def add_groups(group: Any, numbers: Any, times: Any, totals: Any, counts: Any) -> Any:
    """Adds each number to the total of its group, one after the other; false if one is infinite, NaN or -0.

    Each is added as many times as `times` says, or once if that is empty.
    """
    for i in range(len(group)):
        number = numbers[i]
        if number - number != 0.0 or (number == 0.0 and copysign(1.0, number) < 0.0):
            return False
        n = times[i] if len(times) else 1
        total = totals[group[i]]
        for _ in range(n):
            total += number
        totals[group[i]] = total
        counts[group[i]] += n
    return True


@njit(boolean(_input(int64), _input(float64), float64[::1], boolean), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def extreme_of_groups(group: Any, numbers: Any, best: Any, is_least: Any) -> Any:
    """Lowers or raises the number of each group to the least or greatest one; false if one is NaN or -0."""
    for i in range(len(group)):
        number, known = numbers[i], best[group[i]]
        if isnan(number) or (number == 0.0 and copysign(1.0, number) < 0.0):
            return False
        if (number < known) if is_least else (number > known):
            best[group[i]] = number
    return True


@njit(int64(uint32, _input(uint32), int64), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _place_of(row: Any, ids: Any, at: Any) -> Any:
    """The place of an id, by galloping from a place on that may be behind it."""
    low = at if ids[at] <= row else int64(0)
    step, last = 1, len(ids) - 1
    while low + step <= last and ids[low + step] < row:
        low += step
        step *= 2
    high = min(low + step, last)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit(int64(_input(uint32), _input(uint32), _input(float64), float64[::1], boolean[::1]), **OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def scores_of_rows(rows: Any, ids: Any, scores: Any, found: Any, is_found: Any) -> Any:
    """The score of each row's id, which is one of the ascending `ids`; returns the number of distinct ids.

    Rows in the order of their ids need two comparisons each, others a search.
    """
    n, at, last = 0, 0, len(ids) - 1
    before = ids[0]
    for i in range(len(rows)):
        row = rows[i]
        at += row != before  # neither a branch to be guessed, nor a number to wait for
        before = row
        if at > last or ids[at] != row:
            at = _place_of(row, ids, min(at, last))
        found[i] = scores[at]
        n += not is_found[at]
        is_found[at] = True
    return n
