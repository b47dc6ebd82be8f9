"""Compiled kernels of tuning: scores of some topics' entities, and the ranks of the judged ones.

Import them through `LazyKernel` only: importing compiles them. `cached.py` describes the arrays. Both compute like
text/models/additive.py, so that ties agree; a mixture adds the background first, which may change the last digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import boolean, float64, int32, int64, njit, uint16, uint32, void

from hybridkg.text.models.additive import GROUP, SMALLEST
from hybridkg.text.models.logarithm_kernel import log

_OPTIONS: Any = {"nogil": True, "cache": True, "error_model": "numpy"}

BLOCK = 512
"""Rows of a block in the mixture's kernel."""


@njit(void(float64[::1], int64, int64[::1], int64[::1], int64, int64[::1]), **_OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def place_judged(scores: Any, n: Any, judged: Any, order: Any, cap: Any, out: Any) -> Any:
    """Ranks from 0, at most `cap`, of the judged among n entities: by score descending, then by `order`.

    `judged` has indexes into `scores`; -1, for an entity that does not match, gets rank -1.
    """
    count = len(judged)
    worst_first = np.empty(count, np.int64)
    k = 0
    for j in range(count):
        if judged[j] < 0:
            out[j] = -1
            continue
        i = k
        row = judged[j]
        while i > 0:
            other = judged[worst_first[i - 1]]
            if scores[other] < scores[row] or (scores[other] == scores[row] and order[other] >= order[row]):
                break
            worst_first[i] = worst_first[i - 1]
            i -= 1
        worst_first[i] = j
        k += 1
    if k == 0:
        return
    # beaten[i]: number of entities ranked before exactly the i worst of the judged.
    beaten = np.zeros(k + 1, np.int64)
    lowest = scores[judged[worst_first[0]]]
    for row in range(n):
        score = scores[row]
        if score < lowest:
            continue
        i = 0
        while i < k:
            other = judged[worst_first[i]]
            if score < scores[other] or (score == scores[other] and order[row] >= order[other]):
                break
            i += 1
        beaten[i] += 1
    above = 0
    for i in range(k - 1, -1, -1):
        above += beaten[i + 1]
        out[worst_first[i]] = min(above, cap)


@njit(  # type: ignore[untyped-decorator, unused-ignore]
    void(
        int64[::1], int64[::1], int32[::1], int64[::1], uint32[::1], uint16[::1], uint16[::1], int64[::1],
        float64[::1], float64[:, ::1], float64[::1], float64[::1], float64[::1], float64,
        int64[::1], int64[::1], int64[::1], int64, int64[::1],
    ),
    **_OPTIONS,
)  # fmt: skip
def bm25f_ranks(
    topics: Any, rows: Any, entity: Any, starts: Any, tf: Any, term: Any, field: Any, first_term: Any,
    gain: Any, lengths: Any, weight: Any, b: Any, mean: Any, k1: Any,
    order: Any, judged: Any, first_judged: Any, cap: Any, out: Any,
) -> Any:  # fmt: skip
    """Ranks of the judged entities of some topics by BM25F, in `out`."""
    n_entities, n_fields = lengths.shape
    inverse = np.empty((n_entities, n_fields), np.float64)
    for e in range(n_entities):
        for f in range(n_fields):
            inverse[e, f] = 1.0 / ((1.0 - b[f]) + (b[f] / mean[f]) * lengths[e, f])
    largest = 0
    for topic in topics:
        largest = max(largest, rows[topic + 1] - rows[topic])
    scores = np.empty(largest, np.float64)
    for topic in topics:
        first, end = rows[topic], rows[topic + 1]
        gains = first_term[topic]
        for row in range(first, end):
            e = entity[row]
            total = 0.0
            x = 0.0
            p = starts[row]
            last = term[p]
            while p < starts[row + 1]:
                if term[p] != last:
                    total += gain[gains + last] * x / (k1 + x)
                    x = 0.0
                    last = term[p]
                f = field[p]
                x += weight[f] * float64(tf[p]) * inverse[e, f]
                p += 1
            scores[row - first] = total + gain[gains + last] * x / (k1 + x)
        low, high = first_judged[topic], first_judged[topic + 1]
        place_judged(scores, end - first, judged[low:high], order[first:end], cap, out[low:high])


@njit(  # type: ignore[untyped-decorator, unused-ignore]
    void(
        int64[::1], int64[::1], int32[::1], int64[::1], int32[::1], uint32[::1], uint16[::1], int64[::1],
        float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], boolean,
        int64[::1], int64[::1], int64[::1], int64, int64[::1],
    ),
    **_OPTIONS,
)  # fmt: skip
def mixture_ranks(
    topics: Any, rows: Any, entity: Any, starts: Any, row_of: Any, tf: Any, field: Any, first_term: Any,
    factor: Any, background: Any, foreground: Any, inverse: Any, dirichlet: Any,
    order: Any, judged: Any, first_judged: Any, cap: Any, out: Any,
) -> Any:  # fmt: skip
    """Ranks of the judged entities of some topics by a sum of logarithms of mixtures, in `out`.

    p(t|d) = sum_f background[t, f] (times inverse[d, f] for Dirichlet) + foreground[t, f] * tf * inverse[d, f];
    a term with factor 0 is omitted. Blocks of rows fit the cache and fill vector registers.
    """
    n_fields = inverse.shape[1]
    largest, most_terms = 0, 0
    for topic in topics:
        largest = max(largest, rows[topic + 1] - rows[topic])
        most_terms = max(most_terms, first_term[topic + 1] - first_term[topic])
    scores = np.empty(largest, np.float64)
    cursor = np.empty(most_terms, np.int64)
    inside = np.empty((n_fields, BLOCK), np.float64)
    p = np.empty(BLOCK, np.float64)
    product = np.empty(BLOCK, np.float64)
    for topic in topics:
        first, n = rows[topic], rows[topic + 1] - rows[topic]
        low, high = first_term[topic], first_term[topic + 1]
        for t in range(low, high):
            cursor[t - low] = starts[t]
        scores[:n] = 0.0
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            for i in range(m):
                e = entity[first + start + i]
                for f in range(n_fields):
                    inside[f, i] = inverse[e, f]
            held, last = 0, 0.0
            for t in range(low, high):
                if factor[t] == 0.0:
                    continue
                p[:m] = 0.0
                for f in range(n_fields):
                    share = background[t, f]
                    if share == 0.0:
                        continue
                    if dirichlet:
                        for i in range(m):
                            p[i] += share * inside[f, i]
                    else:
                        for i in range(m):
                            p[i] += share
                c = cursor[t - low]
                while c < starts[t + 1] and row_of[c] < start + m:
                    i = row_of[c] - start
                    p[i] += foreground[t, field[c]] * float64(tf[c]) * inside[field[c], i]
                    c += 1
                cursor[t - low] = c
                if held == GROUP or (held and factor[t] != last):
                    for i in range(m):
                        scores[start + i] += last * log(product[i])
                    held = 0
                if held:
                    for i in range(m):
                        product[i] *= max(p[i], SMALLEST)
                else:
                    for i in range(m):
                        product[i] = max(p[i], SMALLEST)
                held += 1
                last = factor[t]
            if held:
                for i in range(m):
                    scores[start + i] += last * log(product[i])
        begin, end = first_judged[topic], first_judged[topic + 1]
        place_judged(scores, n, judged[begin:end], order[first : first + n], cap, out[begin:end])
