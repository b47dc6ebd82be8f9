"""Field lengths in one byte each, for ranking kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LONG = 255
"""The length at which narrow lengths saturate."""

NO_LENGTHS = np.zeros((0, 0), np.uint8)


def narrow_lengths(lengths: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """uint8[nodes, rows], the minimum of each length and LONG, from uint32[rows, nodes], tokens.

    The lengths of an entity are adjacent, because language models read all of them: one cache miss instead of several.

    >>> narrow_lengths(np.array([[3, 0, 999], [7, 8, 9]], np.uint32)).tolist()
    [[3, 7], [0, 8], [255, 9]]
    """
    narrow = np.empty(lengths.shape[::-1], np.uint8)
    for row, own in enumerate(lengths):
        narrow[:, row] = np.minimum(own, LONG)
    return narrow
