"""The lengths of fields in the form that rankings read over and over."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LONG = 255
"""A length from which on the narrow copy of the lengths does not tell it."""

NO_LENGTHS = np.zeros((0, 0), np.uint8)


def narrow_lengths(lengths: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """uint8[nodes, rows], the smaller of each length and LONG.

    Those of an entity lie side by side, because language models read all of them: in a large index each of them would
    be waited for.

    Args:
        lengths: uint32[rows, nodes], tokens.

    >>> narrow_lengths(np.array([[3, 0, 999], [7, 8, 9]], np.uint32)).tolist()
    [[3, 7], [0, 8], [255, 9]]
    """
    narrow = np.empty(lengths.shape[::-1], np.uint8)
    for row, own in enumerate(lengths):
        narrow[:, row] = np.minimum(own, LONG)
    return narrow
