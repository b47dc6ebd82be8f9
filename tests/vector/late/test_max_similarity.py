"""The score of late interaction, against loops over single numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.vector.late.max_similarity import maxima


def slow(question, document):
    """One number at a time."""
    total = []
    for q in question.tolist():
        best = -1.0 if not len(document) else -math.inf
        for d in document.tolist():
            best = max(best, math.fsum(a * b for a, b in zip(q, d, strict=True)))
        total.append(best)
    return total


@given(st.integers(0, 5), st.integers(0, 7), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_each_summand_is_the_greatest_inner_product(tokens, others, wide, seed):
    rng = np.random.default_rng(seed)
    question = rng.standard_normal((tokens, wide)).astype(np.float32)
    document = rng.standard_normal((others, wide)).astype(np.float32)
    assert maxima(question, document).tolist() == pytest.approx(slow(question, document), abs=1e-5)


def test_an_example_by_hand():
    """Tokens of the question east and north, of the document north-east and south.

    East is .7071 like the first and 0 like the second; north .7071 and -1: the sum of maxima is 1.4142.
    """
    question = np.array([[1, 0], [0, 1]], np.float32)
    document = np.array([[math.sqrt(0.5), math.sqrt(0.5)], [0, -1]], np.float32)
    assert maxima(question, document).tolist() == pytest.approx([0.70711, 0.70711], abs=1e-5)
    assert maxima(question, document).sum() == pytest.approx(1.41421, abs=1e-5)


def test_a_score_does_not_depend_on_the_order_of_tokens_of_the_document():
    rng = np.random.default_rng(5)
    question, document = rng.standard_normal((4, 8)), rng.standard_normal((9, 8))
    assert maxima(question, document).tolist() == maxima(question, document[::-1]).tolist()
