"""Single-call ranking of rare words, compiled. Import it through `hybridkg.compute.kernels` only.

Joins the kernels of word look-up and of few postings. The form has the same bits as that of `FormTemplate.form`, by the
same operations in the same order; tests/text/index/topk/test_single_call.py compares both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, uint8, uint32, uint64
from numba.core import types

from hybridkg.text.index.codec.cursor_kernel import HELPER, OPTIONS, SEGMENT
from hybridkg.text.index.codec.cursor_kernel import readonly as _input
from hybridkg.text.index.topk.small_kernel import rank_small
from hybridkg.text.index.topk.word_lookup_kernel import DAMAGED, look_up

_RANKING: Any = types.Tuple((int64, uint32[::1], float64[::1]))  # type: ignore[no-untyped-call, unused-ignore]


@njit(**HELPER)  # type: ignore[untyped-decorator, unused-ignore]
def _form_of(df: Any, cf: Any, k1: Any, gain_of: Any, weight: Any, lambda_: Any, mu: Any, tokens: Any) -> Any:
    """The form of distinct words, by df, int64[terms], and cf, int64[terms, fields]."""
    n_terms, n_fields, n_own = len(df), cf.shape[1], len(weight)
    coefficient, background = np.empty((n_terms, n_fields)), np.zeros((n_terms, n_fields))
    gain, constant = np.empty(n_terms), np.zeros(n_terms)
    for t in range(n_terms):
        gain[t] = gain_of[df[t]]
        if k1 > 0.0:
            for f in range(n_own):
                coefficient[t, f] = weight[f]
            continue
        is_weighted = False
        for f in range(n_own):
            occurrences = cf[t, f]
            if n_own < n_fields:  # read as one text
                for g in range(1, n_fields):
                    occurrences += cf[t, g]
            w = weight[f] if occurrences > 0 else 0.0
            share = w * float64(occurrences) / tokens[f]
            constant[t] += lambda_[f] * share
            background[t, f] = 0.0 if lambda_[f] > 0.0 else mu[f] * share
            is_weighted |= w > 0.0
            coefficient[t, f] = w * (1.0 - lambda_[f])
        for f in range(n_own, n_fields):
            coefficient[t, f] = coefficient[t, 0]
        if not is_weighted:
            gain[t] = 0.0
    return coefficient, gain, background, constant


@njit(
    _RANKING(
        _input(uint8), int64, int64, int64, int64,
        _input(uint64), _input(uint64), _input(uint8), _input(uint32), _input(uint32), _input(uint32), _input(uint32),
        _input(uint8), _input(uint32), *SEGMENT, _input(uint32),
        _input(int64, 2), _input(float64, 2), _input(float64, 2), _input(float64), float64, _input(uint32, 2),
        _input(uint8, 2), uint32[::1], uint32[::1], float64[::1],
    ),
    **OPTIONS,
)  # type: ignore[untyped-decorator, unused-ignore]  # fmt: skip
def rank_words(
    wanted: Any, n_terms: Any, k: Any, max_postings: Any, n_fields: Any,
    prefixes: Any, offsets: Any, text: Any, postings: Any, tokens: Any, blocks: Any, set_offsets: Any,
    set_fields: Any, set_entities: Any, packed: Any, first: Any, at: Any, widths: Any, rank_of: Any,
    fields: Any, norms: Any, weights: Any, gain_of: Any, k1: Any, lengths: Any, narrow: Any,
    table: Any, uints: Any, floats: Any,
) -> Any:  # fmt: skip
    """The k best entities of distinct words, best first.

    Args beyond those of `look_up` and `rank_small`:
        n_terms: number of words.
        max_postings: maximum number of postings of all words.
        fields: int64[2, fields], the number of each field in the index and its row in `lengths`.
        norms: float64[2, fields], base and slope of the form.
        weights: float64[4, ...], of `additive.FormCoefficients` all but the gains.
        gain_of: float64[max_postings + 1], of `additive.FormCoefficients`.
        table, uints, floats: as of `rank_small`, with room for `max_postings`.

    Returns:
        The number of postings of the words, DAMAGED where their terms are; ids and scores, empty where there are more
        than `max_postings`.
    """
    found, begin_lists = np.empty(n_terms * (2 + 6 * fields.shape[1]), np.int64), n_terms * (2 + fields.shape[1])
    n_lists, n_postings = look_up(
        wanted, n_terms, fields[0], n_fields, prefixes, offsets, text, postings, tokens, blocks, set_offsets,
        set_fields, set_entities, found,
    )  # fmt: skip
    numbers, df, max_df = found[:n_terms], found[n_terms : 2 * n_terms], int64(0)
    cf = found[2 * n_terms : begin_lists].reshape((n_terms, fields.shape[1]))
    lists = found[begin_lists : begin_lists + 5 * n_lists].reshape((5, n_lists))
    for t in range(n_terms):
        if numbers[t] == DAMAGED:
            return int64(DAMAGED), np.empty(0, np.uint32), np.empty(0)
        max_df = max(max_df, df[t])
    if n_postings > max_postings or max_df > max_postings:
        return n_postings, np.empty(0, np.uint32), np.empty(0)
    coefficient, gain, background, constant = _form_of(
        df, cf, k1, gain_of, weights[0], weights[1], weights[2], weights[3]
    )  # fmt: skip
    ids, scores = rank_small(
        packed, first, at, widths, lists, table[:0], table[:0], lengths, narrow, fields[1], norms[0], norms[1],
        coefficient, gain, k1, background, constant, n_terms, rank_of, table, uints[: 6 * (n_postings + 4)], floats,
        min(k, n_postings),
    )  # fmt: skip
    return n_postings, ids, scores
