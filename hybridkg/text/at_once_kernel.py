"""The compiled answer to a plain query of few postings. Import it through `hybridkg.text.kernels` only.

Looks the words up, makes the form of them as `Frame.form` does, and ranks. tests/text/test_at_once.py holds it
together with the steps taken one by one: the operations and their order are the same.
"""

from __future__ import annotations

from typing import Any

from numba import float64, int64, njit, uint8, uint32, uint64
from numba.core import types

from hybridkg.text.address_kernel import matrix, shaped, vector
from hybridkg.text.few_kernel import rank_few
from hybridkg.text.lists_kernel import OPTIONS
from hybridkg.text.lists_kernel import readonly as _input
from hybridkg.text.look_up_kernel import look_up

_THREE: Any = types.Tuple((int64, int64, int64))  # type: ignore[no-untyped-call, unused-ignore]


@njit(**OPTIONS)  # type: ignore[untyped-decorator, unused-ignore]
def _fill(
    df: Any, cf: Any, k1: Any, weight: Any, lambda_: Any, mu: Any, tokens: Any, gain_of: Any,
    coefficient: Any, gain: Any, background: Any, constant: Any,
) -> None:  # fmt: skip
    """The form of words, each of which the query has once; arguments are as of `additive.WordNumbers`."""
    n_fields, n_own = cf.shape[1], len(weight)
    for t in range(len(gain)):
        constant[t], gain[t] = 0.0, gain_of[df[t]]
        if k1 > 0.0:
            for f in range(n_fields):
                coefficient[t, f], background[t, f] = weight[f], 0.0
            continue
        some = False
        for f in range(n_fields):
            background[t, f] = 0.0
        for f in range(n_own):
            own = cf[t, f]
            if n_own < n_fields:  # read as one text
                for g in range(1, n_fields):
                    own += cf[t, g]
            w = weight[f] if own > 0 else 0.0
            share = w * float64(own) / tokens[f]
            constant[t] += lambda_[f] * share
            background[t, f] = 0.0 if lambda_[f] > 0.0 else mu[f] * share
            some |= w > 0.0
            coefficient[t, f] = w * (1.0 - lambda_[f])
        for f in range(n_own, n_fields):
            coefficient[t, f] = coefficient[t, 0]
        if not some:
            gain[t] = 0.0


@njit(
    _THREE(
        _input(int64, 2), _input(int64, 2), _input(int64, 2), _input(uint8), int64, int64, int64, int64
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def answer(
    index: Any, frame: Any, memory: Any, wanted: Any, n: Any, n_fields: Any, k: Any, most: Any
) -> Any:  # fmt: skip
    """The best of a query of n words.

    Args:
        index: addresses, as `at_once.py` has them.
        frame: addresses, as `at_once.py` has them.
        memory: addresses, as `at_once.py` has them; gets what is found.
        wanted: uint8[...], as of `look_up`.
        n: words.
        n_fields: of the index.
        k: how many at most.
        most: postings, and entities of each word, at most.

    Returns:
        how many are the best, -1 where the query has more postings; posting lists; postings.
    """
    fields = vector(frame, 0, int64)
    many = len(fields)
    terms, cf = shaped(memory, 0, int64, 2, n), shaped(memory, 1, int64, n, many)
    lists = shaped(memory, 2, int64, 5, n * many)
    n_lists, postings = look_up(
        wanted, vector(index, 0, uint64), vector(index, 1, uint64), vector(index, 2, uint8), fields, n_fields,
        vector(index, 3, uint32), vector(index, 4, uint32), vector(index, 5, uint32),
        vector(index, 6, uint32), vector(index, 7, uint8), vector(index, 8, uint32), lists, cf, terms,
    )  # fmt: skip
    df = terms[1]
    for t in range(n):
        if df[t] > most:
            return -1, n_lists, postings
    if postings > most:
        return -1, n_lists, postings
    packed_lists = shaped(memory, 3, int64, 5, n_lists)
    for i in range(5):
        for j in range(n_lists):
            packed_lists[i, j] = lists[i, j]
    coefficient, background = shaped(memory, 4, float64, n, many), shaped(memory, 5, float64, n, many)
    gain, constant = vector(memory, 6, float64)[:n], vector(memory, 7, float64)[:n]
    k1 = vector(frame, 11, float64)[0]
    _fill(
        df, cf, k1, vector(frame, 6, float64), vector(frame, 7, float64), vector(frame, 8, float64),
        vector(frame, 9, float64), vector(frame, 10, float64), coefficient, gain, background, constant,
    )  # fmt: skip
    best, none = min(k, postings), vector(memory, 14, uint32)
    found, _ = rank_few(
        vector(index, 9, uint32), vector(index, 10, uint32), vector(index, 11, uint32), matrix(index, 12, uint8),
        packed_lists, none, none, matrix(frame, 2, uint32), matrix(frame, 3, uint8),
        vector(frame, 1, int64), vector(frame, 4, float64), vector(frame, 5, float64), coefficient, gain, k1,
        background, constant, n, vector(index, 13, uint32),
        vector(memory, 8, uint32), vector(memory, 9, uint32)[: 6 * (postings + 4)], vector(memory, 10, float64),
        vector(memory, 11, uint32)[:best], vector(memory, 12, uint32)[:best], vector(memory, 13, float64)[:best],
    )  # fmt: skip
    return found, n_lists, postings
