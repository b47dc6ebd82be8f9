"""Vectors in clusters, and the nodes they belong to, for the tests of indexes that may overlook some."""

from __future__ import annotations

import numpy as np

from hybridkg.vector.encoders.lsa import unit

D = 20


def find(node):
    return int(node.value[7:])


def rank(ids):
    return (ids.astype(np.int64) * 7919 % 10_007).astype(np.uint32)


def drawn(n, seed=0):
    """Vectors around 30 centres, ten of them twice."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((30, D))[draw.integers(0, 30, n)] + 0.5 * draw.standard_normal((n, D))
    vectors[-10:] = vectors[:10]
    return unit(vectors.astype(np.float32))
